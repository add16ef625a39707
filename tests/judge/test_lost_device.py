"""A device that fails under a candidate is an error of the environment: nobody is judged for it."""

from __future__ import annotations

import asyncio

import pytest
from bringup_testkit import DOUBLE
from judge_bench import Bench

from bringup.candidate import Candidate
from bringup.config import NO_CACHE, JudgeConfig
from bringup.judge import EAGER, Baseline, JudgeFault, MeasureJob, Timing
from bringup.suites import get_suite
from bringup.verdict import Verdict

pytestmark = pytest.mark.own_servers  # one of them leaves a chip that is gone
ONCE = Timing(warm_up_seconds=0, repeats=6, seconds=0.05, rotate=1)


def with_constant(name: str) -> str:
    """The engines of the test kit look at the constants' names."""
    return DOUBLE.replace("BLOCK: tl.constexpr", f"BLOCK: tl.constexpr, {name}: tl.constexpr").replace(
        "BLOCK=16", f"BLOCK=16, {name}=1"
    )


async def judged(pool: Bench, source: str) -> Verdict:
    return await pool.candidate(Candidate(source=source), get_suite("tiny").operator("double"))


@pytest.mark.long
def test_only_a_device_that_still_works_makes_a_crash_of_a_fault() -> None:
    async def all_of_them() -> None:
        async with Bench("third", JudgeConfig(kernel_cache=NO_CACHE)) as pool:
            stopped = await judged(pool, with_constant("STOPPED"))
            assert stopped.kind == "crashed"
            assert stopped.summary.startswith("a kernel was stopped: nobody knows why")
            with pytest.raises(JudgeFault, match=r"^the third chip has failed: its memory is worn out$"):
                await judged(pool, with_constant("LOST"))
            assert (await judged(pool, DOUBLE)).passed
            for source in (with_constant("GONE"), DOUBLE):
                with pytest.raises(JudgeFault, match="the third chip does not answer"):
                    await judged(pool, source)

    asyncio.run(all_of_them())


@pytest.mark.long
def test_a_device_that_fails_at_the_clock_makes_no_time() -> None:
    async def once() -> None:
        async with Bench("clocked", JudgeConfig(kernel_cache=NO_CACHE)) as pool:
            operator, candidate = get_suite("tiny").operator("double"), Candidate(source=with_constant("WORN"))
            judge = pool.template.job(candidate, operator, dtypes=["float32"], fresh_seed=7)
            job = MeasureJob(judge=judge, against=[Baseline(name=EAGER)], timing=ONCE)
            with pytest.raises(JudgeFault, match=r"^the clocked chip has failed: its memory is worn out$"):
                await pool.measure(job)

    asyncio.run(once())
