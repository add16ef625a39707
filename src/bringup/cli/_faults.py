"""What `bringup targets faults` does: the ledger of compiler faults, and compiling its entries again."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bringup.judge.faults import CompilerFault, Ledger

RETRY_SECONDS = 300
# A compiler that dies takes its process along: each entry has one of its own.
_COMPILE = """
import json, sys
given = json.load(sys.stdin)
from bringup.targets import compile_with_triton, get_target, gpu_target
if given["further"]:
    compile_with_triton(gpu_target(given["target"]), given["request"])
else:
    target = get_target(given["target"])
    target.warm_up()
    target.compile_text(given["request"])
"""


def ledger_of(kernel_cache: str) -> Ledger:
    """The ledger beside a folder of compiled kernels, by default the user's. Raises ConfigError for `none`."""
    from bringup.errors import ConfigError
    from bringup.judge._kernels import kernels_folder
    from bringup.judge.faults import ledger_beside

    ledger = ledger_beside(kernels_folder(kernel_cache))
    if ledger is None:
        raise ConfigError("--kernel-cache", "without a folder there is no ledger", "name the folder of a run's kernels")
    return ledger


def toolchain_of(fault: CompilerFault) -> str:
    """What compiles the entry today; "" where its target is not here any more."""
    from bringup.errors import BringupError
    from bringup.judge.faults import further_toolchain
    from bringup.targets import get_target

    if fault.further:
        return further_toolchain(fault.target)
    try:
        return get_target(fault.target).toolchain()
    except BringupError:
        return ""


def try_again(ledger: Ledger, *, everything: bool) -> dict[str, bool]:
    """Compile entries again; return by entry whether they compile now, and note it in the ledger."""
    found = {}
    for fault in list(ledger):
        today = toolchain_of(fault)
        if fault.fixed_by or not today or (today == fault.toolchain and not everything):
            continue
        found[fault.key] = _compiles(fault)
        ledger.replace(fault.model_copy(update={"fixed_by" if found[fault.key] else "toolchain": today}))
    return found


def _compiles(fault: CompilerFault) -> bool:
    given = json.dumps({"further": fault.further, "target": fault.target, "request": fault.request})
    with tempfile.TemporaryDirectory() as folder:  # core dumps and caches go with it
        try:
            done = subprocess.run(
                [sys.executable, "-c", _COMPILE], input=given, text=True, capture_output=True, timeout=RETRY_SECONDS,
                check=False, cwd=folder,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return False
    return done.returncode == 0


def rows_of(ledger: Ledger, tried: dict[str, bool]) -> list[dict[str, Any]]:
    """The entries for a person: what died, when, and how it stands."""
    rows = []
    for fault in ledger:
        state = f"compiles with {fault.fixed_by}" if fault.fixed_by else "fails"
        if fault.key in tried:
            state += " (tried now)"
        elif not fault.fixed_by and toolchain_of(fault) not in ("", fault.toolchain):
            state = "the compiler has changed since: --retry"
        rows.append(
            {"entry": fault.key, "target": fault.target, "kernel": fault.kernel, "how": fault.how, "seen": fault.seen,
             "toolchain": fault.toolchain, "state": state}
        )  # fmt: skip
    return rows
