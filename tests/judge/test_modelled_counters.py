"""What bounds a call, read from a simulated chip's counters: each cause by counters that make it the largest."""

from __future__ import annotations

from typing import Any

import pytest

from bringup.judge import Diagnosis
from bringup.judge.profilers import Seen, diagnose, profilers
from bringup.judge.profilers._base import combined
from bringup.judge.profilers._counters import CAUSES, ModelledCounters, time_by_cause
from bringup.targets import get_target

FACTS = get_target("vpe:pe64").facts()
COUNTERS = dict.fromkeys(
    ["bytes_in", "bytes_out", "transactions_in", "transactions_out", "requests", "special", "programs"]
    + [f"vector_{width}" for width in (8, 16, 32, 64)]
    + [f"dot_{dtype}" for dtype in ("fp32", "fp16", "bf16", "int8", "fp64", "fp8")],
    0,
)
UNITS = ("dma", "waits", "vector", "special", "dot", "atomics", "programs")


def launch(
    balance: float = 1.0, chip_cycles: float = 0.0, counters: dict[str, int] | None = None, **cycles: float
) -> Any:
    slowest = {unit: cycles.get(unit, 0.0) for unit in UNITS}
    computing = slowest["vector"] + slowest["special"] + slowest["dot"]
    slowest["total"] = slowest["programs"] + slowest["atomics"] + max(slowest["dma"], computing)
    return {
        "kernel": "kernel_k", "slowest": slowest, "chip_cycles": chip_cycles, "balance": balance, "busy": 64,
        "pes": 64, "local_bytes": 1024, "counters": {**COUNTERS, **(counters or {})},
    }  # fmt: skip


def seen(*launches: Any, **more: Any) -> Seen:
    cost = FACTS["cost"]
    seconds = sum(
        cost["launch_us"] * 1e-6 + max(one["slowest"].get("total", 0), one["chip_cycles"]) / cost["clock_ghz"] / 1e9
        for one in launches
    ) + more.get("copy_seconds", 0)
    return Seen("vpe:pe64", seconds, launches, facts=FACTS, **more)


def said(*launches: Any, **more: Any) -> Diagnosis:
    found = ModelledCounters().diagnose(seen(*launches, **more))
    assert isinstance(found, Diagnosis)
    return found


@pytest.mark.parametrize(
    ("cause", "one"),
    [
        ("launches", launch(vector=10)),
        ("program starts", launch(programs=1e6, vector=10)),
        ("device memory", launch(chip_cycles=1e6, dma=1e5)),
        ("DMA", launch(dma=1e6, waits=1e4, vector=5e5)),
        ("DMA requests", launch(dma=1e6, waits=9e5, vector=5e5)),
        ("atomics", launch(atomics=1e6, vector=10)),
        ("vector unit", launch(vector=1e6, special=1e5, dma=1e6)),
        ("dot unit", launch(dot=1e6, vector=1e5, dma=1e6)),
        ("special functions", launch(special=1e6, vector=1e5, dma=1e6)),
        ("idle PEs", launch(vector=1e6, balance=0.1)),
    ],
)
def test_time_goes_to_what_it_hangs_on(cause: str, one: Any) -> None:
    spent = time_by_cause(seen(one))
    assert next(iter(spent)) == cause
    assert sum(spent.values()) == pytest.approx(seen(one).seconds)
    found = said(one)
    assert found.bound == CAUSES[cause][0]
    assert CAUSES[cause][1] in found.summary


def test_every_cause_adds_up_over_launches_and_copies() -> None:
    launches = [launch(dma=1e5, waits=5e4), launch(chip_cycles=3e5), launch(dot=2e5, balance=0.5)]
    spent = time_by_cause(seen(*launches, copy_seconds=3e-5, account={"copies": 2}))
    assert sum(spent.values()) == pytest.approx(seen(*launches, copy_seconds=3e-5).seconds)
    assert spent["copies' starts"] == pytest.approx(1e-5)
    assert spent["copies"] == pytest.approx(2e-5)


def test_the_share_is_of_the_nearest_ceiling_of_the_whole_chip() -> None:
    cost = FACTS["cost"]
    cycles = 1e6
    moved = int(cost["dma_bytes_per_cycle_chip"] * cycles)
    full = launch(chip_cycles=cycles, dma=1e5, counters={"bytes_in": moved // 2, "bytes_out": moved // 2})
    found = said(full)
    start = cost["launch_us"] * 1e-6
    assert found.share == pytest.approx(1 - start / seen(full).seconds, rel=1e-3)
    assert found.figures["GB/s"] == pytest.approx(moved / seen(full).seconds / 1e9, rel=1e-3)
    half = said(launch(chip_cycles=2 * cycles, dma=1e5, counters={"bytes_in": moved}))
    assert half.share == pytest.approx(found.share / 2, rel=0.01)


def test_matrix_work_is_weighed_by_the_rate_of_its_dtype() -> None:
    rates, cycles = FACTS["cost"]["dot_macs_per_cycle"], 1_000_000
    for slot, dtype in (("dot_fp16", "fp16"), ("dot_fp32", "fp32")):
        one = launch(dot=cycles, counters={slot: rates[dtype] * cycles * 64})
        assert said(one).share == pytest.approx(1, abs=0.01)


def test_few_busy_pes_and_useful_bytes_are_told() -> None:
    one = launch(dma=1e6, waits=0, counters={"bytes_in": 400, "transactions_in": 100, "requests": 50})
    found = said({**one, "busy": 3, "balance": 3 / 64})
    assert "3 of 64 PEs have work" in found.summary
    assert found.figures["useful share of DMA bytes"] == pytest.approx(400 / 3200)
    assert found.figures["bytes a DMA request"] == 8
    assert found.bound == "latency"


def test_a_device_that_is_not_simulated_is_left_to_others() -> None:
    assert ModelledCounters().diagnose(Seen("cuda", 1e-3, [{"kernel": "k"}], facts={"name": "H100"})) is None
    assert ModelledCounters().diagnose(seen()) == "nothing was launched"


def test_a_profiler_that_fails_is_named_and_costs_nothing() -> None:
    class Broken:
        name = "broken"

        def diagnose(self, seen: Seen) -> Diagnosis:
            raise OSError("no counters today")

    profilers.register("broken")(Broken)
    try:
        found = diagnose(seen(launch(vector=1e6)))
    finally:
        del profilers._factories["broken"]
    assert found.bound == "compute"
    assert "broken: failed: OSError: no counters today" in found.missing


def test_the_first_that_knows_decides_and_the_others_add_figures() -> None:
    unsure = Diagnosis(bound="unknown", summary="facts alone", figures={"registers": 64, "us": 1}, profilers=("facts",))
    sure = Diagnosis(bound="memory", summary="moves", share=0.5, figures={"us": 2}, profilers=("counters",))
    found = combined([unsure, sure], ["ncu: not installed"])
    assert (found.bound, found.summary, found.share) == ("memory", "moves", 0.5)
    assert found.figures == {"us": 2, "registers": 64}
    assert found.profilers == ("counters", "facts")
    assert found.missing == ("ncu: not installed",)
    assert combined([], ["a: no"]).bound == "unknown"


SOURCE = "first\nsecond\nthird\nfourth\nfifth\nsixth\n"


def counted_by_line(**cycles: float) -> dict[str, Any]:
    """A launch whose lines have so many cycles each; `l2=5` is line 2."""
    lines = [
        {"line": int(name[1:]), "cycles": spent, "counters": {"bytes_in": 64, "requests": 2, "special": 0}}
        for name, spent in cycles.items()
    ]
    return {**launch(vector=sum(cycles.values())), "lines": lines}


def test_the_most_expensive_lines_are_named_with_their_share_of_all_launches() -> None:
    launches = [counted_by_line(l0=1e3, l2=1e6, l3=2e6, l5=1e4), counted_by_line(l2=3e6, l6=1e6, l4=9e5)]
    found = said(*launches, source=SOURCE, by_line=launches)
    assert [(one.line, one.text) for one in found.lines] == [(2, "second"), (3, "third"), (6, "sixth")]
    whole = seen(*launches).seconds
    cycle = 1e-9 / FACTS["cost"]["clock_ghz"]
    assert found.lines[0].figures["% of the modelled time"] == pytest.approx(100 * 4e6 * cycle / whole, rel=1e-3)
    assert found.lines[0].figures["DMA bytes"] == 128
    assert "special functions" not in found.lines[0].figures
    assert found.lines[0].words.startswith("line 2, `second`: % of the modelled time ")


def test_lines_of_no_weight_and_lines_that_the_source_has_not_are_left_out() -> None:
    launches = [counted_by_line(l2=1e6, l3=1e4, l7=1e6)]
    assert [one.line for one in said(*launches, source=SOURCE, by_line=launches).lines] == [2]


def test_why_lines_are_not_known_is_told() -> None:
    found = said(launch(vector=1e6), by_line="the call that counts them was timed_out")
    assert found.lines == ()
    assert found.missing == ("counters: lines of the source: the call that counts them was timed_out",)
    assert said(launch(vector=1e6)).missing == ()
