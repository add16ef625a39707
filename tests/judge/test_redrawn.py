"""Guards that call again with arguments made anew: what each finds, that it finds nothing where nothing is wrong."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from bringup_testkit import MAXIMUM
from judge_bench import Bench

from bringup.config import NO_CACHE, JudgeConfig
from bringup.judge.guards import IDS
from bringup.suites import get_suite

pytestmark = pytest.mark.asyncio(loop_scope="module")

SEEDS = (1, 2, 3)

CHANNELS_LAST = (
    "input.dim() == 4 and not input.is_contiguous() and input.is_contiguous(memory_format=torch.channels_last)"
)
COLUMN = "input.dim() == 2 and input.shape[0] > 1 and input.shape[1] == 1 and input.stride()[0] > 1"
SAME = "input.numel() > 1 and input.shape == other.shape and input.data_ptr() == other.data_ptr()"
STORAGE = "input.numel() > 1 and input.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()"
ORDER = "input.dim() in (2, 3) and input.stride()[-1] > 1 and input.storage_offset() == 0 and 0 not in input.stride()"
OFFSET = "input.storage_offset() >= 7 or input.stride()[-1:] >= (5,)"
WINDOWS = "input.numel() > 1 + sum((n - 1) * s for n, s in zip(input.shape, input.stride()))"
PART = (
    f"{STORAGE} and input.untyped_storage().nbytes() < 2 * input.numel() * input.element_size() "
    "and (input.data_ptr(), input.stride()) != (other.data_ptr(), other.stride())"
)
OUT = "out is not None and out.data_ptr() in (input.data_ptr(), other.data_ptr())"
RUNS = "y = tl.where((tl.max(a, 0) == tl.min(a, 0)) & (tl.max(i, 0) < n), a + 1, y)"
ROUND = "y = tl.where((a * 4 == tl.floor(a.to(tl.float32) * 4)) & (a != tl.floor(a.to(tl.float32))), a + 1, y)"
NEAR = "y = tl.where((tl.abs(a.to(tl.float32) - b) <= 2e-7 * tl.abs(a.to(tl.float32))) & (a > b), b, y).to(y.dtype)"
SPARSE = "y = tl.where((tl.sum(((a == 0) & (i < n)).to(tl.int32), 0) >= 9) & (a != 0), a + 1, y)"

WRONG = {
    "another order of dimensions": ("relaid", ORDER, "", "bfloat16"),
    "offsets and steps": ("relaid", OFFSET, "", "float32"),
    "windows": ("relaid", WINDOWS, "", "float16"),
    "channels last": ("relaid", CHANNELS_LAST, "", "float32"),
    "a column": ("relaid", COLUMN, "", "int64"),
    "one tensor twice": ("shared", SAME, "", "int32"),
    "two views of one storage": ("shared", STORAGE, "", "int64"),
    "a part of one tensor": ("shared", PART, "", "float16"),
    "out that is an operand": ("shared", OUT, "", "float32"),
    "runs of equal values": ("contents", "False", RUNS, "float32"),
    "round numbers": ("contents", "False", ROUND, "float32"),
    "nearly equal operands": ("contents", "False", NEAR, "float32"),
    "mostly zeros": ("contents", "False", SPARSE, "float32"),
}  # fmt: skip


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def judge() -> AsyncIterator[Bench]:
    async with Bench("vpe:pe64", JudgeConfig(kernel_cache=NO_CACHE)) as pool:
        yield pool


@pytest.mark.thinned
@pytest.mark.parametrize("what", WRONG)
async def test_what_no_case_shows_is_drawn(judge: Bench, what: str) -> None:
    guard, flag, change, dtype = WRONG[what]
    source = MAXIMUM.replace("flag = FLAG", f"flag = {flag}").replace("CHANGE", change or "pass")
    others = tuple(other for other in IDS if other != guard)
    for seed in SEEDS:
        verdict = await judge.maximum(source, dtype, seed, others)
        assert (verdict.kind, verdict.guard) == ("wrong", guard), f"{seed}: {verdict.summary}"
        assert verdict.summary.startswith("with ")
        assert verdict.title in verdict.summary
        assert verdict.environment.reruns[guard]["runs"] >= 1
    assert (await judge.maximum(source, dtype, SEEDS[0], IDS)).passed


@pytest.mark.thinned
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64"])
async def test_a_right_kernel_passes(judge: Bench, dtype: str) -> None:
    source = MAXIMUM.replace("flag = FLAG", "flag = False").replace("CHANGE", "pass")
    for seed in SEEDS:
        verdict = await judge.maximum(source, dtype, seed)
        assert verdict.passed, f"{seed}: {verdict.summary}"
        assert all(verdict.environment.reruns[guard]["runs"] >= 2 for guard in ("relaid", "shared", "contents"))


async def test_one_tensor_given_twice_is_one_object(judge: Bench) -> None:
    source = MAXIMUM.replace("flag = FLAG", "flag = input is other").replace("CHANGE", "pass")
    verdict = await judge.maximum(source, "float32", 1)
    assert (verdict.guard, verdict.title) == ("shared", "with one tensor given twice"), verdict.summary
    source = MAXIMUM.replace("flag = FLAG", "flag = out is input or out is other").replace("CHANGE", "pass")
    verdict = await judge.maximum(source, "float32", 1)
    assert (verdict.guard, verdict.title) == ("shared", "with an `out` that is an operand"), verdict.summary


async def test_values_of_arguments_with_a_structure_stay(judge: Bench) -> None:
    """A search in boundaries that are sorted: other values in their place would not be."""
    suites = get_suite("opinfo"), get_suite("aten"), get_suite("audit")
    for suite, free, bound in zip(suites, ("add", "add.out", "add"), ("bucketize",) * 3, strict=True):
        assert suite.free(free)
        assert not suite.free(bound if bound in {op.name for op in suite.operators()} else "bucketize.Tensor")
    assert not get_suite("aten").free("tanh_backward")
    assert not get_suite("opinfo").free("linalg.cholesky")
    assert not get_suite("tiny").free("double")
