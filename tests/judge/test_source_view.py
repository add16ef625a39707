"""Lines of the source from Nsight Compute's source view: what it printed for a kernel of 200 exponentials on an H100,
with fewer columns and one instruction a line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bringup.judge import Diagnosis
from bringup.judge.profilers import Seen, _gpu
from bringup.judge.profilers._gpu import NsightCompute
from bringup.judge.profilers._source_view import read_source, source_options

SOURCE = """import triton, triton.language as tl
@triton.jit
def kernel_k(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n)
    for _ in range(200):
        v = tl.exp(v * 1e-3)
    tl.store(y + i, v + tl.sum(v, 0), mask=i < n)
"""
HEADER = (
    '"Line No","Source","Address","Source","# Samples","Instructions Executed","stall_long_sb","stall_mio",'
    '"stall_wait","stall_short_sb","stall_selected"\n'
)
PRINTED = (
    """==PROF== Connected to process 831 (/usr/bin/python3.12)
==PROF== Disconnected from process 831
"File Path","/opt/site-packages/triton/language/standard.py"
"Function Name","kernel_k"
"""
    + HEADER
    + """"263","return a + b","-","-","51","57344","0","0","29","15","6"
"","","0x10","      FADD R13, R8, R9","31","4096","0","0","25","0","6"
"293","return core.reduce(input, axis, _sum_combine, keep_dims=keep_dims)","-","-","96","94208","0","0","4","1","3"
"","","0x10","      S2UR UR5, SR_CgaCtaId","0","4096","0","0","0","0","0"
"File Path","/tmp/m/candidate.py"
"Function Name","kernel_k"
"""
    + HEADER
    + """"3","<Unable to open source file>","-","-","17","4096","0","0","0","0","0"
"5","<Unable to open source file>","-","-","17","61440","0","0","1","0","3"
"6","<Unable to open source file>","-","-","15","491520","0","0","0","0","15"
"7","<Unable to open source file>","-","-","6880","39321600","92","3252","649","227","1474"
"","","0x10","      FMUL R8, R8, 0.0010000000474974513054","127","163840","92","0","1","0","0"
"","","...","...","-","-","-","-","-","-","-"
"8","<Unable to open source file>","-","-","16","61440","0","0","0","2","5"
"""
)


def seen(name: str = "kernel_k", **more: Any) -> Seen:
    kernels = [{"name": name, "binary": b"", "shared": 0, "facts": {}}]
    return Seen("cuda", 1e-4, [{"kernel": name}], source=SOURCE, kernels=kernels, **more)


def test_the_line_where_warps_are_is_named_with_its_text_and_what_it_waits_for() -> None:
    found = read_source(PRINTED, seen())
    assert not isinstance(found, str)
    (line,) = found
    assert (line.line, line.text) == (7, "v = tl.exp(v * 1e-3)")
    total = 51 + 96 + 17 + 17 + 15 + 6880 + 16  # Triton's own library is in the whole, and no line of the candidate's
    assert line.figures == {
        "% of the samples of warps": pytest.approx(100 * 6880 / total, rel=1e-3),
        "% of these waiting for the queue of shared memory and special functions": pytest.approx(47.27),
        "instructions of warps": 39320000,
    }


def test_samples_of_all_launches_are_added_and_other_kernels_left_out() -> None:
    other = PRINTED.replace('"kernel_k"', '"fill_kernel"').replace('"6880"', '"9999999"')
    twice = read_source(PRINTED + other + PRINTED, seen())
    once = read_source(PRINTED, seen())
    assert not isinstance(twice, str)
    assert not isinstance(once, str)
    assert twice[0].figures["% of the samples of warps"] == once[0].figures["% of the samples of warps"]
    assert read_source(PRINTED, seen("kernel_other")) == "it has no samples of the candidate's kernels"
    assert read_source("", seen()) == "it has no samples of the candidate's kernels"


def test_only_the_candidates_kernels_are_looked_at() -> None:
    options = source_options(seen("kernel_a"))
    assert options[options.index("--kernel-name") + 1] == "regex:^(kernel_a)$"


RAW = (
    '"ID","Kernel Name","dram__throughput.avg.pct_of_peak_sustained_elapsed","gpu__time_duration.sum"\n'
    '"","","%","ns"\n"0","kernel_k(float *)","90","3,000"\n'
)


def test_the_diagnosis_has_the_lines_or_says_why_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tool = tmp_path / "ncu"
    tool.write_text("#!/bin/sh\n", encoding="utf-8")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    source = [PRINTED]
    monkeypatch.setattr(_gpu, "run", lambda command: source[0] if "source" in command else RAW)
    found = NsightCompute().diagnose(seen(folder="x"))
    assert isinstance(found, Diagnosis)
    assert [one.line for one in found.lines] == [7]
    assert found.missing == ()
    source[0] = "failed: timed out"
    found = NsightCompute().diagnose(seen(folder="x"))
    assert isinstance(found, Diagnosis)
    assert (found.bound, found.lines) == ("memory", ())
    assert found.missing == ("ncu: lines of the source: failed: timed out",)
