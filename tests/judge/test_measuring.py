"""Measuring on a modelled chip: times are the counters' own, side by side, and worth nothing without a pass."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from bringup_testkit import DOUBLE
from judge_bench import Bench

from bringup.candidate import Candidate
from bringup.config import NO_CACHE, JudgeConfig
from bringup.judge import COMPILE, EAGER, Baseline, JobRefused, Measured, MeasureJob
from bringup.suites import get_suite
from bringup.targets import get_target

pytestmark = pytest.mark.asyncio(loop_scope="module")

CLONES = DOUBLE.replace("x = input.contiguous()", "x = input.clone()")
# each program launched alone: what the call does is the same, the starts of launches are not
MANY_LAUNCHES = DOUBLE.replace(
    "kernel_double[(triton.cdiv(n, 16),)](x, y, n, BLOCK=16)",
    "[kernel_double[(triton.cdiv(n, 16),)](x, y, n, BLOCK=16) for _ in range(3)]",
)
WRONG = DOUBLE.replace("v + v", "v + v + 1")
NOTHING_FOR_ONE = DOUBLE.replace("if n:", "if n == 33:")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bench() -> AsyncIterator[Bench]:
    config = JudgeConfig(case_seconds=60, candidate_seconds=200, kernel_cache=NO_CACHE)
    async with Bench("vpe:pe64", config, jobs=1) as judge:
        yield judge


def job(bench: Bench, source: str, *against: Baseline, op: str = "double", **options: Any) -> MeasureJob:
    options = {"dtypes": ["float32"], "fresh_seed": 7, **options}
    judge = bench.template.job(Candidate(source=source), get_suite("tiny").operator(op), **options)
    return MeasureJob(judge=judge, against=against)


def by_name(source: str, name: str = "other") -> Baseline:
    return Baseline(name=name, source=source)


async def test_the_time_is_what_the_counters_of_the_gates_call_say(bench: Bench) -> None:
    measured = await bench.measure(job(bench, DOUBLE))
    counted = await bench.judge(job(bench, DOUBLE, profile=True).judge)
    assert measured.verdict.passed
    assert (measured.clock, measured.device, measured.error) == ("model", "vpe:pe64", None)
    assert measured.verdict.profile == ()  # nobody asked
    assert counted.environment.reruns
    assert len(counted.profile) == counted.environment.launches
    assert [case.case.index for case in measured.cases] == [0, 1, 2, 4]
    assert measured.notes == ("judged, not timed, since the candidate asks nothing of the device: double[float32:3]",)
    for case in measured.cases:
        launches = [one for one in counted.profile if one["case"] == str(case.case)]
        assert len(launches) == 1  # of the gate's call alone: guards ask again, with other values and layouts
        assert case.device.median == launches[0]["microseconds"] * 1e-6
        assert case.device.low == case.device.median == case.device.high
        assert (case.device.repeats, case.host, case.baselines, case.whole_call) == (1, None, {}, False)
        assert case.diagnosis is not None
        assert case.diagnosis.bound == "launch"
        assert case.diagnosis.figures["launches"] == 1
        assert "counters" in case.diagnosis.profilers
    assert measured.speedup() == 0  # compared with nothing


@pytest.mark.long
async def test_times_are_the_same_in_every_run(bench: Bench) -> None:
    one, other = [await bench.measure(job(bench, DOUBLE, by_name(MANY_LAUNCHES))) for _ in range(2)]
    assert one.cases == other.cases


async def test_a_candidate_beside_itself_has_no_speed_up(bench: Bench) -> None:
    measured = await bench.measure(job(bench, DOUBLE, by_name(DOUBLE)))
    assert measured.speedup() == measured.speedup("other") == pytest.approx(1)


async def test_the_speed_up_is_the_mean_over_cases_against_the_fastest(bench: Bench) -> None:
    measured = await bench.measure(job(bench, DOUBLE, by_name(MANY_LAUNCHES, "slow"), by_name(DOUBLE, "same")))
    each = [case.baselines["slow"].median / case.device.median for case in measured.cases]
    assert all(2 < one < 3.01 for one in each)  # three launches instead of one
    assert measured.speedup() == pytest.approx(1)
    assert measured.speedup("slow") == pytest.approx(math.prod(each) ** (1 / len(each)))


async def test_what_does_not_pass_has_no_time(bench: Bench) -> None:
    measured = await bench.measure(job(bench, WRONG, by_name(DOUBLE)))
    assert (measured.verdict.kind, measured.cases, measured.speedup()) == ("wrong", (), 0)


async def test_a_guard_that_objects_ends_the_measurement(bench: Bench) -> None:
    remembers = "KEPT = []\n" + DOUBLE.replace("    return y", "    KEPT.append(y)\n    return KEPT[0]")
    measured = await bench.measure(job(bench, remembers, cases=[0]))
    assert not measured.verdict.passed
    assert measured.cases == ()


async def test_a_wrong_baseline_is_said_and_counts_for_nothing(bench: Bench) -> None:
    measured = await bench.measure(job(bench, DOUBLE, by_name(WRONG, "bad"), by_name(MANY_LAUNCHES, "good")))
    assert [set(case.baselines) for case in measured.cases] == [{"good"}] * 4
    assert all(case.notes == ("baseline bad has no time here",) for case in measured.cases)
    assert any(note.startswith("baseline bad: wrong: ") for note in measured.notes)
    assert measured.speedup() > 2
    assert measured.speedup("bad") == 0


async def test_pytorch_has_no_time_on_a_modelled_chip(bench: Bench) -> None:
    measured = await bench.measure(job(bench, DOUBLE, Baseline(name=EAGER), Baseline(name=COMPILE)))
    assert measured.verdict.passed
    assert measured.speedup() == 0
    assert sum("PyTorch has no time on a modelled chip" in note for note in measured.notes) == 2


async def test_copies_cost_what_the_chips_memory_takes_for_them(bench: Bench) -> None:
    plain, cloned = [await bench.measure(job(bench, source, cases=[4])) for source in (DOUBLE, CLONES)]
    chip = get_target("vpe:pe64")
    difference = cloned.cases[0].device.median - plain.cases[0].device.median
    assert difference == pytest.approx(chip.copy_seconds(1, 33 * 4, 2), rel=1e-9)
    assert difference > 5e-6  # a copy starts like a launch


async def test_nothing_asked_of_the_device_is_no_time(bench: Bench) -> None:
    source = "def wrapper(input):\n    return input.t() if input.dim() == 2 else input.view(input.shape)\n"
    measured = await bench.measure(job(bench, source, op="transpose"))
    assert measured.verdict.passed
    assert measured.error == "no case was timed: the candidate asks nothing of the device in any"
    assert measured.speedup() == 0


async def test_progress_tells_of_the_gates_cases_alone(bench: Bench) -> None:
    heard: list[tuple[str, str]] = []
    await bench.measure(job(bench, DOUBLE, by_name(MANY_LAUNCHES)), lambda case, kind: heard.append((case, kind)))
    assert heard == [(f"double[float32:{index}]", "passed") for index in range(5)]


async def test_a_job_for_another_target_is_refused(bench: Bench) -> None:
    other = job(bench, DOUBLE)
    judge = other.judge.model_copy(update={"target": other.judge.target.model_copy(update={"name": "cuda:1"})})
    with pytest.raises(JobRefused, match="was given to a judge of"):
        await bench.measure(other.model_copy(update={"judge": judge}))


async def test_an_operator_that_the_target_lacks_is_untested(bench: Bench) -> None:
    needy = get_suite("tiny").operator("double").model_copy(update={"needs": {"complex": "its result is complex"}})
    asked = job(bench, DOUBLE)
    measured = await bench.measure(
        asked.model_copy(update={"judge": asked.judge.model_copy(update={"operator": needy})})
    )
    assert (measured.verdict.kind, measured.cases) == ("untested", ())


async def test_a_measurement_survives_a_journey_as_text() -> None:
    text = '{"verdict": {"kind": "passed", "summary": "all 1 cases passed"}, "clock": "model"}'
    measured = Measured.model_validate_json(text)
    assert Measured.model_validate_json(measured.model_dump_json()) == measured


EXPENSIVE = """
@triton.jit
def kernel_double(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    w = v
    for _ in range(40):
        w = tl.exp(w * 1e-3)
    tl.store(y + i, v + v + w * 0, mask=i < n)

def wrapper(input):
    x = input.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n:
        kernel_double[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)
    return y
"""


async def test_the_lines_that_the_time_goes_to_are_named(bench: Bench) -> None:
    measured = await bench.measure(job(bench, EXPENSIVE))
    assert measured.verdict.passed, measured.verdict.summary
    slowest = max(measured.cases, key=lambda case: case.device.median)
    assert slowest.diagnosis is not None
    first, *_ = slowest.diagnosis.lines
    assert first.text == "w = tl.exp(w * 1e-3)"
    assert EXPENSIVE.splitlines()[first.line - 1].strip() == first.text
    assert next(iter(first.figures)) == "% of the modelled time"
    assert 50 < first.figures["% of the modelled time"] < 100
    assert first.figures["special functions"] % (40 * 1024) == 0
    assert len(slowest.diagnosis.lines) <= 3
    assert slowest.diagnosis.missing == ()


async def test_nothing_is_counted_by_line_where_no_diagnosis_is_asked_for(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = job(bench, EXPENSIVE, profile=True).model_copy(update={"diagnose": False})
    measured = await bench.measure(asked)
    assert measured.verdict.passed
    assert all(case.diagnosis is None for case in measured.cases)
    assert measured.verdict.profile
    assert not any("lines" in launch for launch in measured.verdict.profile)
    again = await bench.measure(asked.model_copy(update={"diagnose": True}))
    assert not any("lines" in launch for launch in again.verdict.profile)
    assert [case.device for case in again.cases] == [case.device for case in measured.cases]
