"""Measuring by a device's own clock, on a simulated chip whose clock is this host's: all but the GPU itself."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
import pytest_asyncio
from bringup_testkit import DOUBLE, ClockedEngine
from judge_bench import Bench

from bringup.candidate import Candidate
from bringup.config import NO_CACHE, JudgeConfig
from bringup.device import TimedEngine
from bringup.device.tape import digest_of
from bringup.judge import EAGER, Baseline, MeasureJob, Timing
from bringup.judge._bench import _Bench
from bringup.judge._clocked import Clocked, health_notes
from bringup.suites import get_suite
from bringup.targets import get_target
from bringup.targets._cuda_clock import parsed
from bringup.targets._cuda_engine import CudaEngine
from bringup.verdict import Mismatch

pytestmark = pytest.mark.asyncio(loop_scope="module")

ONCE = Timing(warm_up_seconds=0, repeats=6, seconds=0.05, rotate=1)  # the simulator has each address once
ADD_ONE = """
@triton.jit
def kernel_add(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)

def wrapper(input):
    n = input.numel()
    if n:
        kernel_add[(triton.cdiv(n, 16),)](input, n, BLOCK=16)
    return input
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bench() -> AsyncIterator[Bench]:
    config = JudgeConfig(case_seconds=60, candidate_seconds=200, kernel_cache=NO_CACHE)
    async with Bench("clocked", config, jobs=1) as judge:
        yield judge


def job(bench: Bench, source: str, *against: Baseline, op: str = "double", **options: Any) -> MeasureJob:
    options = {"dtypes": ["float32"], "fresh_seed": 7, **options}
    judge = bench.template.job(Candidate(source=source), get_suite("tiny").operator(op), **options)
    return MeasureJob(judge=judge, against=against, timing=ONCE)


async def test_engines_with_a_clock_are_known() -> None:
    assert isinstance(ClockedEngine(), TimedEngine)
    assert isinstance(CudaEngine(), TimedEngine)


@pytest.mark.long
async def test_a_candidate_is_timed_beside_eager_pytorch(bench: Bench) -> None:
    measured = await bench.measure(job(bench, DOUBLE, Baseline(name=EAGER)))
    assert measured.verdict.passed, measured.verdict.summary
    assert (measured.clock, measured.error) == ("device", None)
    assert measured.facts == dict(get_target("clocked").facts())  # for who has no such device
    assert measured.facts
    assert [case.case.index for case in measured.cases] == [0, 1, 2, 4]
    for case in measured.cases:
        assert case.device.repeats >= 6
        assert case.device.low <= case.device.median <= case.device.high
        assert case.host is not None
        assert case.host.median > 0
        assert set(case.baselines) == {EAGER}
        assert not case.whole_call
        assert "the device was slowed down while it was timed, also after a pause: heat (hardware)" in case.notes
    assert measured.speedup() > 0


async def test_what_the_call_writes_is_given_back_before_each_run(bench: Bench) -> None:
    measured = await bench.measure(job(bench, ADD_ONE, Baseline(name=EAGER), op="add_one_"))
    assert measured.verdict.passed, measured.verdict.summary  # compared after the timed runs as well
    assert measured.error is None
    assert all(EAGER in case.baselines for case in measured.cases)


@pytest.mark.long
async def test_a_target_without_a_stopwatch_says_so() -> None:
    async with Bench("third", JudgeConfig(case_seconds=60, candidate_seconds=200, kernel_cache=NO_CACHE)) as judge:
        measured = await judge.measure(job(judge, DOUBLE, cases=[0]))
    assert measured.verdict.passed
    assert measured.error is not None
    assert "this target's engine has no stopwatch" in measured.error
    assert measured.speedup() == 0


class Copy:
    """A copy of a call's inputs, whose run leaves these results."""

    def __init__(self, *results: bytes) -> None:
        self.kept, self.left, self.asked = list(results), [b""] * len(results), list[str]()

    def restore(self) -> None:
        self.asked.append("restore")

    def run(self) -> None:
        self.asked.append("run")
        self.left = self.kept

    def results(self) -> list[bytes]:
        return self.left


async def test_results_after_the_timed_runs_are_those_of_every_copy() -> None:
    bench = _Bench.__new__(_Bench)
    bench.engine = SimpleNamespace(synchronize=lambda: None)  # type: ignore[assignment]
    tape = SimpleNamespace(result=digest_of([b"right", b"too"]))
    right, wrong, other = Copy(b"right", b"too"), Copy(b"wrong", b"too"), Copy(b"wrong", b"too")
    answer: dict[str, Any] = {}
    assert bench._after([right, right], tape, answer) == []  # type: ignore[list-item, arg-type]
    assert answer["same"]
    assert bench._after([right, wrong, other], tape, answer) == [[b"wrong", b"too"]]  # type: ignore[list-item, arg-type]
    assert not answer["same"]
    assert wrong.asked == other.asked == ["restore", "run"]


async def test_each_of_the_results_is_compared() -> None:
    compared: list[list[bytes]] = []

    def recheck(storages: list[memoryview]) -> Mismatch | None:
        compared.append([bytes(one) for one in storages])
        bad = compared[-1][0] == b"bad"
        return Mismatch(aspect="values", output="output", message="1 of 3 differs") if bad else None

    case = SimpleNamespace(recheck=recheck, inputs=SimpleNamespace(case=None), call="wrapper()")
    clocked = Clocked.__new__(Clocked)
    answer = {"sizes": [[2, 1], [2, 1]]}
    assert clocked._recheck(case, answer, memoryview(b"okxoky")) is None  # type: ignore[arg-type]
    found = clocked._recheck(case, {"sizes": [[3, 1], [3, 1]]}, memoryview(b"oklxbady"))  # type: ignore[arg-type]
    assert found is not None
    assert "1 of 3 differs" in found.summary
    assert compared == [[b"ok", b"x"], [b"ok", b"y"], [b"okl", b"x"], [b"bad", b"y"]]


async def test_states_of_a_device_become_notes() -> None:
    fine = {"sm_mhz": 1980, "most_sm_mhz": 1980, "throttled": []}
    assert health_notes([fine, fine]) == []
    hot = {"sm_mhz": 900, "most_sm_mhz": 1980, "throttled": ["power cap"]}
    assert health_notes([fine, hot]) == [
        "the device was slowed down while it was timed, also after a pause: power cap",
        "the device's clock was at 900 of 1980 MHz",
    ]
    assert health_notes([{"missing": "no NVML"}, {"missing": "no NVML"}]) == ["no NVML"]
    assert health_notes([]) == []


async def test_nvidia_smi_is_read_and_what_it_does_not_know_is_left_out() -> None:
    assert parsed("1755, 1980, 2619, 41, 0x0000000000000004\n") == {
        "sm_mhz": 1755, "most_sm_mhz": 1980, "memory_mhz": 2619, "celsius": 41, "throttled": ["power cap"],
    }  # fmt: skip
    assert parsed("[N/A], 1980, 2619, 41, [N/A]") == {"most_sm_mhz": 1980, "memory_mhz": 2619, "celsius": 41}
    assert "missing" in parsed("")
