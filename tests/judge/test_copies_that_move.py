"""`copies` of a dialect: `move` lets the runtime's copies make results, `prepare`, the default, does not."""

from __future__ import annotations

import asyncio

import pytest
from judge_bench import Bench

from bringup.candidate import Candidate
from bringup.config import NO_CACHE, JudgeConfig
from bringup.linter import lint
from bringup.suites import get_suite
from bringup.targets import get_target
from bringup.verdict import Verdict

OPERATOR, CASE = "roll", 7  # a shift along one dimension
BY_COPIES = """
def wrapper(input, shifts, dims=None):
    y = torch.empty_like(input)
    n = input.shape[dims]
    for i in range(n):
        y.select(dims, (i + shifts) % n).copy_(input.select(dims, i))
    return y
"""
WITH_A_KERNEL = """
@triton.jit
def kernel_touch(y):
    tl.store(y, tl.load(y))
""" + BY_COPIES.replace("    return y", "    kernel_touch[(1,)](y)\n    return y")
UPLOADED = (
    "def wrapper(input, shifts, dims=None):\n    return torch.tensor([0.0] * input.numel(), device=input.device)\n"
)


async def judged(pool: Bench, source: str) -> Verdict:
    operator = get_suite("opinfo:alone").operator(OPERATOR)
    # what is copied piece by piece in a loop goes by sizes: calls of others are no part of this
    return await pool.candidate(
        Candidate(source=source), operator, dtypes=["float32"], cases=[CASE], fresh_seed=5,
        without_guards=["rehearsed", "relaid", "fresh"],
    )  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("target", ["third", "moving"])
def test_a_result_made_by_copies(target: str) -> None:
    async def both() -> tuple[Verdict, ...]:
        async with Bench(target, JudgeConfig(kernel_cache=NO_CACHE)) as pool:
            return tuple([await judged(pool, source) for source in (BY_COPIES, WITH_A_KERNEL, UPLOADED)])

    alone, touched, uploaded = asyncio.run(both())
    if target == "moving":
        assert alone.passed, alone.summary
        assert touched.passed, touched.summary
    else:
        assert (alone.kind, alone.guard) == ("cheated", "provenance"), alone.summary
    assert not uploaded.passed


@pytest.mark.parametrize("target", ["third", "moving"])
def test_the_linter_asks_for_a_kernel_where_copies_may_not_make_the_result(target: str) -> None:
    found = lint(
        Candidate(source=BY_COPIES), get_target(target).dialect(), get_suite("opinfo:alone").operator(OPERATOR)
    )
    assert any(one.rule == "requires-kernel" for one in found) == (target == "third")
    by_nothing = Candidate(source="def wrapper(input):\n    return torch.empty_like(input)\n")
    found = lint(by_nothing, get_target(target).dialect(), get_suite("opinfo:alone").operator("exp"))
    assert any(one.rule == "requires-kernel" for one in found)
