"""What a user asks of the device by a variable reaches the process that owns it, and the verdict says so."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from bringup_testkit import DOUBLE
from judge_bench import Bench

from bringup.candidate import Candidate
from bringup.config import NO_CACHE, JudgeConfig
from bringup.judge import ReplayJob
from bringup.suites import get_suite
from bringup.verdict import Verdict

RACE, BLOCKING = "BRINGUP_VPE_RACE", "BRINGUP_CUDA_BLOCKING"
# Every block is computed by two programs, which write the same bytes: right in any order, and a race all the same.
TWICE = DOUBLE.replace("tl.program_id(0) *", "tl.program_id(0) // 2 *").replace(
    "(triton.cdiv(n, 16),)", "(2 * triton.cdiv(n, 16),)"
)

# A candidate learns nothing of it.
UNAWARE = f"""
import os
import bringup.vpe.state
assert not os.environ.get("{RACE}")
assert not bringup.vpe.state.mode().race
"""


def judged(source: str, target: str = "vpe:pe64", **options: object) -> Verdict:
    async def once() -> Verdict:
        async with Bench(target, JudgeConfig(kernel_cache=NO_CACHE)) as pool:
            return await pool.candidate(Candidate(source=source), get_suite("tiny").operator("double"), **options)

    return asyncio.run(once())


@pytest.mark.long
def test_a_race_between_programs_that_agree_is_found_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(RACE, raising=False)
    verdict = judged(TWICE)
    assert verdict.passed, verdict.summary
    assert verdict.environment.device_modes == ()
    monkeypatch.setenv(RACE, "1")
    verdict = judged(UNAWARE + DOUBLE)
    assert verdict.passed, verdict.exception or verdict.summary
    verdict = judged(TWICE)
    assert verdict.kind == "crashed", verdict.summary
    assert "two programs write the same address" in verdict.summary
    assert verdict.environment.device_modes == ("race",)


@pytest.mark.long
def test_a_tape_is_replayed_in_race_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(RACE, raising=False)
    assert judged(TWICE, tapes=str(tmp_path)).passed
    tape = max(tmp_path.iterdir(), key=lambda path: path.stat().st_size)

    async def replayed() -> str | None:
        async with Bench("vpe:pe64", JudgeConfig(kernel_cache=NO_CACHE)) as pool:
            return (await pool.replay(ReplayJob(tape=str(tape)))).error

    assert asyncio.run(replayed()) is None
    monkeypatch.setenv(RACE, "1")
    assert "two programs write the same address" in (asyncio.run(replayed()) or "")


@pytest.mark.parametrize("value", ["0", "1"])
@pytest.mark.long
def test_an_engine_is_told_to_wait_after_each_launch(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`third` tells what it was asked for; what the engine of `cuda` makes of it is tested with that."""
    monkeypatch.setenv(BLOCKING, value)
    verdict = judged(DOUBLE, "third", profile=True)
    assert verdict.passed, verdict.summary
    on = value == "1"
    assert {(one["blocking"], one["race"]) for one in verdict.profile} == {(on, False)}
    assert verdict.environment.device_modes == (("blocking",) if on else ())
