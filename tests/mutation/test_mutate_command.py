"""`bringup mutate` as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

KERNEL = """@triton.jit
def kernel_double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + i, mask=mask, other=0)
    tl.store(y_ptr + i, x + x, mask=mask)


def wrapper(x):
    y = torch.empty(list(x.shape), dtype=x.dtype, device=x.device)
    n = x.numel()
    if x.dim() > 7:
        return x
    left = 3
    while left > 0:
        left -= 1
    if n > 0:
        kernel_double[(triton.cdiv(n, 64),)](x.contiguous(), y, n, BLOCK=64)
    return y
"""


def bringup(*arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bringup.cli.main", "mutate", *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=200)
    assert done.returncode == code, done.stderr
    return done


@pytest.mark.long
@pytest.mark.slow
def test_known_survivors_of_a_real_kernel(tmp_path: Path) -> None:
    file, out = tmp_path / "double.py", tmp_path / "out"
    file.write_text(KERNEL)
    chosen = ["branch-dropped", "last-program-skipped", "layout-ignored", "tail-skipped", "operator-replaced"]
    options = [*(x for name in chosen for x in ("--mutator", name)), "--suite", "conformance", "--limit", "0"]
    command = ["double", str(file), *options, "--dtype", "float32", "--jobs", "1"]
    command += ["--case-seconds", "5", "--out", str(out), "--json"]
    data = json.loads(bringup(*command).stdout)
    notes = {result["note"]: result["gate"]["kind"] for result in data["survivors"]}
    # No case has eight axes; everything else is noticed: the loop that never ends by the clock, the rest by values.
    assert notes == {"branch `if x.dim() > 7` is dropped": "passed"}
    assert data["total"]["timed_out"] == 1
    assert data["by_mutator"]["last-program-skipped"]["gate_score"] == 1.0
    assert data["by_mutator"]["layout-ignored"]["gate_score"] == 1.0
    mutants = data["total"]["mutants"]
    assert mutants == sum(data["total"][k] for k in ("invalid", "equivalent", "killed", "timed_out", "survived"))
    assert "+    if False:" in (out / "survivors.md").read_text()
    assert data["total"]["unreached"] == 1
    written = (out / "results.jsonl").read_text()
    assert len(written.splitlines()) == mutants + 2  # the original, and once more the survivor that no case gets to
    assert json.loads(bringup(*command, "--so-far").stdout) == data
    # everything is known: the judge does not even start
    again = json.loads(bringup(*command).stdout)
    assert again == data
    assert (out / "results.jsonl").read_text() == written


def test_listing_judges_nothing(tmp_path: Path) -> None:
    file = tmp_path / "double.py"
    file.write_text(KERNEL)
    options = ["double", str(file), "--suite", "conformance", "--list", "--limit", "12"]
    listed = json.loads(bringup(*options, "--json").stdout)
    assert len(listed) == 12
    assert {"operator", "mutator", "line", "note", "diff", "source", "digest"} <= set(listed[0])
    others = json.loads(bringup(*options, "--json", "--draw", "3").stdout)
    assert others == json.loads(bringup(*options, "--json", "--seed", "3").stdout) != listed
    text = bringup(*options).stdout
    assert all(f"{m['mutator']} {m['function'] or 'module'}:{m['line']} {m['digest'][:12]}" in text for m in listed)


def test_a_library_is_a_folder_of_kernels(tmp_path: Path) -> None:
    (tmp_path / "double.py").write_text(KERNEL)
    (tmp_path / "row_sum.py").write_text(KERNEL)
    options = ["--library", str(tmp_path), "--suite", "conformance", "--list", "--json", "--limit", "1"]
    assert {m["operator"] for m in json.loads(bringup(*options).stdout)} == {"double", "row_sum"}
    only = json.loads(bringup(*options, "--ops", "row_*").stdout)
    assert {m["operator"] for m in only} == {"row_sum"}
    assert "matches no operator with a kernel" in bringup(*options, "--ops", "add_one_", code=2).stderr


def test_usage_errors(tmp_path: Path) -> None:
    assert "give one source of kernels" in bringup("double", code=2).stderr
    assert "no such class of mutations" in bringup("double", "x.py", "--mutator", "typo", code=2).stderr
    assert "cannot be read" in bringup("double", str(tmp_path / "x.py"), "--suite", "conformance", code=2).stderr


def test_a_report_of_nothing_so_far(tmp_path: Path) -> None:
    file = tmp_path / "double.py"
    file.write_text(KERNEL)
    options = ["double", str(file), "--suite", "conformance", "--out", str(tmp_path / "out"), "--so-far"]
    data = json.loads(bringup(*options, "--json").stdout)
    assert data["total"]["mutants"] == 0
    assert data["total"]["gate_score"] is None
    assert "0 mutants" in bringup(*options).stdout
