"""The guard `boundaries`: sizes and values at the numbers that a candidate's source names."""

from __future__ import annotations

import math
import random
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
import torch
from bringup_testkit import MAXIMUM
from judge_bench import Bench

from bringup.config import NO_CACHE, JudgeConfig
from bringup.judge import _grown
from bringup.judge._named import around, named
from bringup.judge.guards import IDS
from bringup.judge.guards.boundaries import ELEMENTS, FAR, LENGTH, LONGEST, far, planted, sizes

SEEDS = (1, 2)
KERNEL = MAXIMUM.replace("16", "1024")
WRONG_AT = "y = tl.where({}, y + 7, y).to(y.dtype)"

WRONG = {
    "a length": ("777 in input.shape", "pass", "float32"),
    "from a length on": ("input.dim() > 0 and input.shape[-1] > 2 * 1024", "pass", "float16"),
    "a number of elements": ("input.numel() == 1 << 11", "pass", "int64"),
    "a far length": ("input.dim() > 0 and input.shape[-1] > 100000", "pass", "float32"),
    "far more elements than": ("input.numel() > 1 << 17", "pass", "float16"),
    "more elements than": ("input.numel() > LIMIT", "pass", "bfloat16"),
    "one value": ("False", WRONG_AT.format("a == 43.25"), "float32"),
    "beyond a value": ("False", WRONG_AT.format("(a > 300) & (a < 400)"), "float16"),
    "just below a value": ("False", WRONG_AT.format("(a < -19.5) & (a > -19.50001)"), "float32"),
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def judge() -> AsyncIterator[Bench]:
    async with Bench("vpe:pe64", JudgeConfig(kernel_cache=NO_CACHE)) as pool:
        yield pool


@pytest.mark.thinned
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("what", WRONG)
async def test_what_is_wrong_at_a_number_of_the_source_is_found(judge: Bench, what: str) -> None:
    flag, change, dtype = WRONG[what]
    source = KERNEL.replace("flag = FLAG", f"flag = {flag}").replace("CHANGE", change) + "\nLIMIT = 3000\n"
    for seed in SEEDS:
        verdict = await judge.maximum(source, dtype, seed, tuple(other for other in IDS if other != "boundaries"))
        assert (verdict.kind, verdict.guard) == ("wrong", "boundaries"), f"{seed}: {verdict.summary}"
        assert "your source names" in verdict.summary


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("dtype", ["bfloat16", "int64"])
@pytest.mark.thinned
async def test_a_right_kernel_passes(judge: Bench, dtype: str) -> None:
    source = KERNEL.replace("flag = FLAG", "flag = False").replace("CHANGE", "pass")
    for seed in SEEDS:
        verdict = await judge.maximum(source, dtype, seed)
        assert verdict.passed, f"{seed}: {verdict.summary}"
        assert verdict.environment.reruns["boundaries"]["runs"] >= 5


def test_numbers_that_are_compared_come_first() -> None:
    found = named(
        """
LIMIT: int = 64 * 1024
OTHER = 5

@triton.jit
def kernel(x_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr) * 2.5
    x = tl.minimum(x, -88.0)

def wrapper(x, chunk=4096, *, eps=1e-05):
    if x.numel() > LIMIT or x.shape[0] < chunk or x.dtype == torch.float32:
        kernel[(7,)](x, n, BLOCK=1 << 10)
    if eps != 2 ** 100 or True:
        return -(2**31)
"""
    )
    assert set(found.compared) == {65536, 4096, -88.0, 1e-05, 0, 2.5, 2**100}
    assert set(found.others) == {5, 7, 1024, -(2**31)}


@pytest.mark.parametrize(
    "source",
    ["def broken(:", "x = 1 << 100000\ny = 1 / 0", "\0", "x = 1000 ** 128", f"x = -0x{300 * 'f'}", "-" * 90000 + "1"],
)
def test_a_source_that_makes_no_sense_names_little(source: str) -> None:
    assert set(named(source).all) <= {0, 1, 128, 1000, 100000}


def test_larger_sizes_that_are_named_are_tried_beyond() -> None:
    names = named("if n > 131072: f(1 << 20, 1 << 21, 7, 1 << 23)")
    for seed in range(10):
        drawn = list(far(names, random.Random(seed), False))
        assert len(drawn) == FAR
        assert {number for _, number in drawn} == {196609}
    several = {number for _, number in far(named("f(1 << 20, 1 << 21)"), random.Random(0), False)}
    assert several == {(3 << 19) + 1, (3 << 20) + 1}
    assert list(far(named("n > 500"), random.Random(0), False)) == []


def test_programs_times_blocks_are_a_size_where_there_is_time() -> None:
    names = named("grid = min(cdiv(n, 1024), 4096)")
    assert list(far(names, random.Random(0), False)) == []
    assert list(far(names, random.Random(0), True)) == [(ELEMENTS, 1536 * 4096 + 1)]


def test_sizes_are_few_and_those_that_are_compared_come_first() -> None:
    names = named("if n > 700 or m < 20000: f(64, 3, 2**30, 1.5)")
    for seed in range(30):
        drawn = list(sizes(names, random.Random(seed)))
        assert len(drawn) >= 15
        numbers = {number for _, number in drawn}
        assert numbers <= {n + by for n in (700, 20000, 64) for by in (-1, 0, 1)}
        assert len(numbers & {699, 700, 701}) >= 2
        assert numbers & {19999, 20000, 20001}
        assert all(number <= LONGEST for kind, number in drawn if kind == LENGTH)
        assert drawn == list(sizes(names, random.Random(seed)))
    assert {kind for kind, _ in drawn} == {LENGTH, ELEMENTS}
    assert not list(sizes(named("x > 2.5"), random.Random(0)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_values_lie_at_a_number_and_right_beside_it(dtype: torch.dtype) -> None:
    values = {*around(20, dtype), *around(1e30, dtype)}
    rounded = torch.tensor(20.0, dtype=dtype)
    beside = torch.nextafter(rounded, torch.tensor(math.inf, dtype=dtype))
    assert {20.0, -20.0, 19.0, 21.0, float(beside), -float(beside)} <= values
    assert all(math.isfinite(value) for value in values)
    assert any(value > 1e29 for value in values) is (dtype is not torch.float16)


def test_a_whole_number_may_be_meant_as_bits() -> None:
    assert float(torch.finfo(torch.float32).tiny) in set(around(0x00800000, torch.float32))


def test_planted_values_leave_the_others_and_respect_a_range() -> None:
    names = named("x > 3 and x < 1000 and x != 0.25")
    tensor = torch.linspace(-5, 5, 101)
    for seed in range(10):
        anywhere = planted(tensor, names, random.Random(seed), math.inf)
        inside = planted(tensor, names, random.Random(seed), 0.0)
        assert anywhere is not None
        assert inside is not None
        assert 1000.0 in anywhere.tolist()
        assert float(inside.abs().max()) <= 5
        assert {3.0, 0.25} <= set(inside.tolist())
        assert int((anywhere == tensor).sum()) >= 50
    whole = torch.arange(0, 200)
    changed = planted(whole, names, random.Random(0), math.inf)
    assert changed is not None
    assert {2, 3, 4} <= set(changed.tolist())
    assert 0 <= int(changed.min()) <= int(changed.max()) <= 199
    assert planted(torch.ones(5, dtype=torch.bool), names, random.Random(0), math.inf) is None
    assert planted(tensor, named("pass"), random.Random(0), math.inf) is None


def test_one_dimension_gets_a_length() -> None:
    for seed in range(20):
        for changed, lengths in _grown.of_length([(3, 5), (5, 2), ()], 777, random.Random(seed)):
            (old,) = lengths
            assert [tuple(777 if n == old else n for n in one) for one in ((3, 5), (5, 2), ())] == changed
        alike = list(_grown.of_length([(4, 6), (4, 6), ()], 9000, random.Random(seed)))
        assert all(one[0] == one[1] and 9000 in one[0] and one[2] == () for one, _ in alike)
        assert all(sum(map(math.prod, one)) <= _grown.MOST + 1 for one, _ in alike)
        assert {one[0].index(9000) for one, _ in alike} == {0, 1}


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_like_tensors_get_so_many_elements(rank: int) -> None:
    for seed in range(20):
        ((changed, _),) = _grown.of_elements([(2,) * rank, (2,) * rank], 3001, random.Random(seed))
        assert changed[0] == changed[1]
        assert len(changed[0]) == rank
        assert math.prod(changed[0]) == 3001
    assert not list(_grown.of_elements([(3, 5), (5, 2)], 3001, random.Random(0)))
