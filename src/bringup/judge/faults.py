"""The ledger of compiler faults: kernels that a compiler dies of, kept to be tried again when it changes.

A refusal is the kernel's own doing: it breaks a rule, and its log says which. A fault is the compiler's: a pass fails
without a word on the source, the process dies, or it never ends. An entry holds all that compiling takes, no data, and
nothing of a candidate but the text of the kernel.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from bringup.candidate import digest
from bringup.files import write_atomically
from bringup.verdict import Record

FOLDER = "compiler-faults"  # beside the folder of compiled kernels
MOST_ENTRIES = 500
MOST_LOG = 20_000  # characters
_PASS = re.compile(r"PassManager::run failed|error: Failures have been detected while processing an MLIR pass pipeline")
_DIED = re.compile(r"^the compiler (?:crashed|did not finish)\b")
_PLACED = re.compile(r"^candidate\.py:\d+(?::\d+)?: error: ", re.MULTILINE)
_ASSERTED = re.compile(r"Assertion [`'].*failed|UNREACHABLE executed|LLVM ERROR|PLEASE submit a bug report")
_ASSERTION = re.compile(r"(\w+\.(?:cpp|h):\d+:) .*(Assertion [`'].*' failed)")
_NAMED_PASS = re.compile(r"(?:[Pp]ass |failed while executing \[)['\"`]([\w-]{4,})['\"`]")

_SAID = re.compile(
    rf"^.*(?:{_ASSERTED.pattern}).*$|Pipeline failed while executing \[`\w{{4,}}` on [^\]\n]*\]", re.MULTILINE
)


def asserted(output: str) -> list[str]:
    """The lines by which a compiler says, before it dies, what it holds to be impossible, and which pass says so."""
    return [line[:300] for line in dict.fromkeys(_SAID.findall(output))][:8]


def with_reasons(log: str, output: str) -> str:
    """A log of a pass that failed without a word, with what the compiler's process has printed of the reasons."""
    return "\n".join([log, *asserted(output)]) if _PASS.search(log) and not _PLACED.search(log) else log


ADVICE = (
    "This is a fault of the compiler, not a rule that the kernel breaks: {how}. The same step written in another way "
    "usually compiles: a loop over smaller blocks instead of one scan or sort, another block size, fewer warps "
    "(num_warps), another order of casts, or two kernels in place of one."
)


class CompilerFault(Record):
    """One entry."""

    version: Literal[1] = 1
    toolchain: (
        str  # as the target identifies it, with the compiler's version: what must change before it is tried again
    )
    target: str  # of the compiler: as `get_target` takes it, or a further toolchain (`cuda:sm_90`)
    further: bool = False  # whether it is a further toolchain
    kernel: str = ""
    how: str  # what died, in a few words
    log: str
    request: dict[str, Any]  # text, source, options: what the compiler was given
    seen: str  # when first, ISO 8601, UTC
    fixed_by: str = ""  # the toolchain that compiled it later

    @property
    def key(self) -> str:
        """The name of the entry: of what was compiled, and for what."""
        return digest(f"{self.target}\n{sorted(self.request.items())}")[:24]


def fault_in(log: str) -> str | None:
    """Say in a few words what of the compiler died, where a log shows that; None for a refusal."""
    if _DIED.search(log):
        return log.splitlines()[0][:200]
    if _ASSERTED.search(log):
        line = next(line for line in log.splitlines() if _ASSERTED.search(line))
        placed = _ASSERTION.search(line)
        said = " ".join(placed.groups()) if placed else line.strip()[:200]
        return f"an assertion of the compiler's failed: {said}"
    if _PASS.search(log) and not _PLACED.search(log):
        named = _NAMED_PASS.search(log)
        return f"its pass {named.group(1)} failed without saying why" if named else "a pass failed without saying why"
    return None


def advised(log: str) -> str:
    """A log with advice in front where the compiler is at fault."""
    how = fault_in(log)
    return log if how is None else f"{ADVICE.format(how=how)}\n\n{log}"


class Ledger:
    """Entries in a folder, a file each. What cannot be written is not kept, what cannot be read is left out."""

    def __init__(self, folder: Path) -> None:
        """Use a folder; nothing is made before the first entry."""
        self.folder = folder

    def add(self, fault: CompilerFault) -> None:
        """Keep an entry, unless it is there, or there are too many."""
        path = self.folder / f"{fault.key}.json"
        try:
            if path.exists() or (self.folder.is_dir() and sum(1 for _ in self.folder.iterdir()) >= MOST_ENTRIES):
                return
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.replace(fault)
        except OSError:
            return

    def replace(self, fault: CompilerFault) -> None:
        """Write an entry over the one of its name. Raises OSError."""
        write_atomically(self.folder / f"{fault.key}.json", fault.model_dump_json(indent=1).encode(), durable=False)

    def __iter__(self) -> Iterator[CompilerFault]:
        if not self.folder.is_dir():
            return
        for path in sorted(self.folder.glob("*.json")):
            try:
                yield CompilerFault.model_validate_json(path.read_bytes())
            except (OSError, ValidationError):
                continue


def ledger_beside(kernels: str | None) -> Ledger | None:
    """The ledger that goes with a folder of compiled kernels; None where kernels are not kept."""
    return Ledger(Path(kernels).parent / FOLDER) if kernels else None


def further_toolchain(target: str) -> str:
    """What identifies a further toolchain, `cuda:sm_90` or the like."""
    return f"triton {version('triton')} {target}"


def fault_of(
    log: str, request: dict[str, Any], toolchain: str, target: str, *, further: bool, kernel: str = ""
) -> CompilerFault | None:
    """The entry for a log; None for a refusal."""
    how = fault_in(log)
    if how is None:
        return None
    return CompilerFault(
        toolchain=toolchain,
        target=target,
        further=further,
        kernel=kernel,
        how=how,
        log=log[:MOST_LOG],
        request={key: request.get(key) for key in ("text", "source", "options")},
        seen=datetime.now(UTC).isoformat(timespec="seconds"),
    )
