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
