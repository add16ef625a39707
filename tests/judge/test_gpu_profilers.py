"""Profilers of GPUs, by what their tools print; the player of tapes, on an engine that computes on the host."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bringup.judge import Diagnosis
from bringup.judge._sanitizing import examine, report
from bringup.judge.profilers import Seen, _gpu, diagnose
from bringup.judge.profilers._gpu import NsightCompute, decided, environment, judged, read_ncu

H100 = {"name": "H100", "capability": 90, "memory_gb_s": 3350.0}
NAMES = [
    "ID", "Kernel Name", "dram__bytes.sum", "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "gpu__time_duration.sum", "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
]  # fmt: skip
UNITS = ["", "", "Mbyte", "%", "ns", "%", "%"]


def table(*rows: list[str]) -> str:
    lines = [",".join(f'"{cell}"' for cell in row) for row in (NAMES, UNITS, *rows)]
    return "==PROF== Connected to process 7\n" + "\n".join(lines) + "\n"


def seen(seconds: float = 1e-4, nbytes: int = 0, launches: tuple[float, ...] = (100.0,), **more: Any) -> Seen:
    counted = [{"kernel": "kernel_k", "microseconds": one} for one in launches]
    kernels = [{"name": "kernel_k", "binary": b"", "shared": 0, "facts": {}}]
    return Seen("cuda", seconds, counted, facts=H100, least_bytes=nbytes, kernels=kernels, **more)


def test_counters_of_kernels_are_weighed_by_their_time() -> None:
    found = read_ncu(
        table(
            ["0", "kernel_k(float *, int)", "2", "90", "3,000", "20", "80"],
            ["1", "kernel_k(float *, int)", "2", "50", "1,000", "40", "40"],
            ["2", "fill_kernel", "900", "99", "9,000", "99", "99"],  # PyTorch's
        ),
        seen(),
    )
    assert isinstance(found, Diagnosis)
    assert found.bound == "memory"
    assert found.figures["% of DRAM peak"] == 80
    assert found.figures["% of warps active"] == 70
    assert found.figures["ns"] == 4000
    assert found.figures["DRAM bytes"] == 4e6
    assert found.share == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("memory", "compute", "special", "bound"),
    [(90, 30, 10, "memory"), (30, 90, 10, "compute"), (30, 80, 85, "special"), (20, 30, 10, "latency")],
)
def test_what_is_nearest_its_ceiling_bounds(memory: float, compute: float, special: float, bound: str) -> None:
    figures = {"% of DRAM peak": memory, "% of SM peak": compute, "% of special-function peak": special}
    assert decided({name: float(value) for name, value in figures.items()}).bound == bound


def test_what_ncu_cannot_say_is_a_reason() -> None:
    assert "may not read the GPU's counters" in str(read_ncu("==ERROR== ERR_NVGPUCTRPERM - ...", seen()))
    assert read_ncu("", seen()) == "it saw none of the candidate's kernels"
    assert read_ncu(table(["0", "other", "1", "1", "1", "1", "1"]), seen()) == "it saw none of the candidate's kernels"


def test_least_traffic_launches_and_facts_decide_without_counters() -> None:
    full = judged(seen(1e-4, nbytes=int(0.8 * 3350e9 * 1e-4)), {}, "compiled")
    assert (full.bound, round(full.share or 0, 2)) == ("memory", 0.8)
    assert judged(seen(1e-5, 100, (2.0, 3.0)), {}, "compiled").bound == "launch"
    assert judged(seen(1e-4, 100), {"local bytes a thread": 64.0}, "compiled").bound == "memory"
    assert judged(seen(1e-4, 100), {"share of most warps": 0.125}, "compiled").bound == "latency"
    assert judged(seen(1e-4, 100), {"share of most warps": 1.0}, "compiled").bound == "unknown"


FULL_H100 = {**H100, "multiprocessors": 132, "clock_mhz": 1830}


def multiplied(
    share: float = 0.7, dots: Any = "known", least: int = 0, nbytes: int = 0, facts: Any = None, figures: Any = None
) -> Diagnosis:
    """A call of 100 us whose two launches of ten programs make `share` of the peak in bf16."""
    whole = share * 132 * 4096 * 1830e6 * 1e-4
    if dots == "known":
        dots = {"unit": "bf16", "times": 1, "operations": round(whole / 20)}
    launches = [{"kernel": "kernel_k", "microseconds": 50.0, "grid": [5, 2, 1]}] * 2
    kernels = [{"name": "kernel_k", "binary": b"", "shared": 0, "facts": {} if dots == "old" else {"dots": dots}}]
    one = Seen(
        "cuda", 1e-4, launches, facts=facts or FULL_H100, least_bytes=nbytes, least_operations=least, kernels=kernels
    )
    return judged(one, figures or {}, "compiled")


def test_matrix_products_near_their_peak_bound_a_call() -> None:
    found = multiplied(0.7)
    assert (found.bound, round(found.share or 0, 3)) == ("compute", 0.7)
    assert found.figures["peak TFLOP/s in bf16"] == pytest.approx(989, rel=1e-3)
    assert found.figures["TFLOP/s in bf16"] == pytest.approx(0.7 * 989, rel=1e-3)
    assert "692.6 TFLOP/s in bf16 (70% of 989.4)" in found.summary


def test_the_greater_share_of_the_two_ceilings_decides() -> None:
    moved = int(0.9 * 3350e9 * 1e-4)
    assert multiplied(0.7, nbytes=moved).bound == "memory"
    assert multiplied(0.95, nbytes=moved).bound == "compute"
    assert multiplied(0.4).bound == "compute"
    assert multiplied(0.4, nbytes=int(0.5 * 3350e9 * 1e-4)).bound == "unknown"
    assert multiplied(0.2).bound == "unknown"
    assert multiplied(0.4, figures={"local bytes a thread": 64.0}).bound == "memory"  # spills are a cause of their own


def test_what_the_text_does_not_count_is_the_references() -> None:
    whole = round(0.7 * 132 * 4096 * 1830e6 * 1e-4)
    open_loop = {"unit": "bf16", "times": 1, "operations": None}
    assert multiplied(dots=open_loop, least=whole).bound == "compute"
    three = multiplied(dots={"unit": "tf32", "times": 3, "operations": None}, least=whole // 6)
    assert (three.bound, round(three.share or 0, 2)) == ("compute", 0.7)
    found = multiplied(dots=open_loop)
    assert (found.bound, found.share) == ("unknown", 0.0)
    assert found.summary.endswith("; arithmetic unknown: how often its dots run is not known.")


@pytest.mark.parametrize(
    ("dots", "least", "facts", "why"),
    [
        ("old", 10, None, "what its kernels multiply was not looked at"),
        ({}, 10, None, "its matrix products are not made by tl.dot, so that their ceiling is not known"),
        ({"unit": "", "times": 1, "operations": None}, 10, None, "its dots multiply what has no one ceiling"),
        ("known", 10, {**FULL_H100, "capability": 75}, "the peak of this chip in bf16 is not known"),
    ],
)
def test_arithmetic_that_is_not_known_is_told_and_not_guessed(dots: Any, least: int, facts: Any, why: str) -> None:
    found = multiplied(0.9, dots=dots, least=least, facts=facts)
    assert found.bound == "unknown"
    assert f"arithmetic unknown: {why}." in found.summary
    assert not any("TFLOP/s" in name for name in found.figures)


def test_a_call_without_matrix_products_says_nothing_of_them() -> None:
    assert "arithmetic" not in multiplied(dots={}).summary


@pytest.mark.long
def test_tools_that_are_not_there_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "not installed" in str(NsightCompute().diagnose(seen(folder=str(tmp_path))))
    assert "not installed" in examine(tmp_path, 0)
    found = diagnose(seen(folder=str(tmp_path)))  # an empty folder: the player fails as well
    assert {one.partition(":")[0] for one in found.missing} == {"ncu", "proton", "torch"}
    assert "compiled" in found.profilers


def test_profilers_of_gpus_leave_other_targets_alone() -> None:
    other = Seen("vpe:pe64", 1e-6, [], facts={}, folder="x")
    for kind in (_gpu.CompiledFacts, _gpu.NsightCompute, _gpu.Proton, _gpu.TorchProfiler):
        assert kind().diagnose(other) is None


def test_the_player_sees_the_gpus_that_the_user_sees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setenv("BRINGUP_DEVICES", "all")
    assert "CUDA_VISIBLE_DEVICES" not in environment({})
    monkeypatch.setenv("BRINGUP_DEVICES", "3")
    assert environment({"A": "b"})["CUDA_VISIBLE_DEVICES"] == "3"


def test_times_by_kernel_come_from_the_players_last_line(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "noise\n" + json.dumps({"blocks": [], "kernels": {"kernel_k": 12.5}})
    monkeypatch.setattr(_gpu, "run", lambda command: said)
    found = _gpu.TorchProfiler().diagnose(seen(folder="x"))
    assert isinstance(found, Diagnosis)
    assert found.figures == {"us in kernel_k (torch)": 12.5}
    monkeypatch.setattr(_gpu, "run", lambda command: "noise\n")
    assert _gpu.TorchProfiler().diagnose(seen(folder="x")) == "the player says nothing that can be read"
    monkeypatch.setattr(_gpu, "run", lambda command: "failed: no CUDA")
    assert _gpu.TorchProfiler().diagnose(seen(folder="x")) == "failed: no CUDA"


SANITIZED = """========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 4 bytes
=========     at kernel_exp+0x90 in candidate.py:5
=========     by thread (33,0,0) in block (2,0,0)
=========     Address 0x7f2a4e200214 is out of bounds
=========     and is 21 bytes after the nearest allocation at 0x7f2a4e200000 of size 512 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========
========= Invalid __global__ read of size 4 bytes
=========     at kernel_exp+0x90 in candidate.py:5
=========     by thread (34,0,0) in block (2,0,0)
=========     Address 0x7f2a4e200218 is out of bounds
=========
========= ERROR SUMMARY: 2 errors
"""


def test_the_sanitizers_words_become_kernel_line_thread_and_address() -> None:
    assert report(SANITIZED) == (
        "Invalid __global__ read of size 4 bytes in kernel 'kernel_exp', candidate.py:5, program (2,0,0), thread "
        "(33,0,0): address 0x7f2a4e200214 is out of bounds"
    )
    assert report("========= ERROR SUMMARY: 0 errors\n") == ""
