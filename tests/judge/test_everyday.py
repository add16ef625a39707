"""The guard `everyday`: large calls in users' data and shapes, which no case of OpInfo's is."""

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
from bringup.judge import _grown, _laws
from bringup.judge.guards import IDS
from bringup.judge.guards.everyday import MANY, MIXED, NORMAL, OUT, THREE, planned

SEEDS = (1, 2)
KERNEL = MAXIMUM.replace("16", "1024").replace(
    "    CHANGE\n",
    "    z = tl.where(a < 1e4, a, 1e4).to(tl.float32)\n    full = tl.max(i, 0) < n\n    CHANGE\n",
)
BAD = "y = tl.where(full & ({}), a + 7, y).to(y.dtype)"
# One second moment and one fourth, as standard normal numbers have them.
NORMALS = (
    "(tl.sum(z * z, 0) > 819) & (tl.sum(z * z, 0) < 1229) & (tl.sum(z * z * z * z, 0) > 2253) & "
    "(tl.sum(z * z * z * z, 0) < 3900)"
)
UNIT = "(tl.min(z, 0) >= 0) & (tl.max(z, 0) < 1) & (tl.max(z, 0) > 0.9) & (tl.sum(z, 0) > 450) & (tl.sum(z, 0) < 570)"
BYTES = "(tl.min(z, 0) == 0) & (tl.max(z, 0) <= 255) & (tl.max(z, 0) > 200) & (tl.max(tl.abs(z - tl.floor(z)), 0) == 0)"
RELU = "(tl.min(z, 0) == 0) & (tl.sum((z == 0).to(tl.int32), 0) > 400) & (tl.sum((z == 0).to(tl.int32), 0) < 620)"

WRONG = {
    "normal": ("False", BAD.format(NORMALS), "float32"),
    "normal in a half precision": ("False", BAD.format(NORMALS), "bfloat16"),
    "from 0 to 1": ("False", BAD.format(UNIT), "float16"),
    "bytes": ("False", BAD.format(BYTES), "float32"),
    "bytes of integers": ("False", BAD.format(BYTES), "int64"),
    "relu": ("False", BAD.format(RELU), "bfloat16"),
    "large with out": ("out is not None and input.numel() > 4096", "", "float16"),
    "three dimensions": ("input.dim() == 3 and input.shape[2] % 64 == 0 and input.shape[2] > 64", "", "float32"),
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def judge() -> AsyncIterator[Bench]:
    async with Bench("vpe:pe64", JudgeConfig(kernel_cache=NO_CACHE)) as pool:
        yield pool


@pytest.mark.thinned
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("what", WRONG)
async def test_what_is_wrong_for_usual_data_is_found(judge: Bench, what: str) -> None:
    flag, change, dtype = WRONG[what]
    source = KERNEL.replace("flag = FLAG", f"flag = {flag}").replace("CHANGE", change or "pass")
    for seed in SEEDS:
        verdict = await judge.maximum(source, dtype, seed, tuple(other for other in IDS if other != "everyday"))
        assert (verdict.kind, verdict.guard) == ("wrong", "everyday"), f"{seed}: {verdict.summary}"
    assert (await judge.maximum(source, dtype, SEEDS[0], ("everyday",))).passed


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("dtype", ["bfloat16", "int64"])
@pytest.mark.thinned
async def test_a_right_kernel_passes(judge: Bench, dtype: str) -> None:
    source = KERNEL.replace("flag = FLAG", "flag = False").replace("CHANGE", "pass")
    for seed in SEEDS:
        verdict = await judge.maximum(source, dtype, seed)
        assert verdict.passed, f"{seed}: {verdict.summary}"
        assert verdict.environment.reruns["everyday"]["runs"] >= 5


@pytest.mark.parametrize("law", _laws.LAWS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_law_is_the_seeds_and_finite(law: str, dtype: torch.dtype) -> None:
    shape = torch.Size((9, 1024))
    drawn, again = (_laws.drawn(law, shape, dtype, random.Random(seed)) for seed in (5, 5))
    assert drawn.shape == shape
    assert drawn.dtype is dtype
    assert torch.equal(drawn, again)
    assert not torch.equal(drawn, _laws.drawn(law, shape, dtype, random.Random(6)))
    assert drawn.isfinite().all()


def test_normal_numbers_are_normal_and_computed_without_pytorchs() -> None:
    shape = torch.Size((1 << 14,))
    drawn = _laws.drawn(NORMAL, shape, torch.float32, random.Random(3)).double()
    assert abs(float(drawn.mean())) < 0.05
    assert float((drawn**2).mean()) == pytest.approx(1, abs=0.05)
    assert float((drawn**4).mean()) == pytest.approx(3, abs=0.3)
    chance = random.Random(3)
    one, two = (
        torch.rand(shape, generator=torch.Generator().manual_seed(chance.getrandbits(32)), dtype=torch.float64)
        for _ in range(2)
    )
    pairs = zip(one.tolist(), two.tolist(), strict=True)
    wanted = [math.sqrt(-2 * math.log(1 - a)) * math.cos(2 * math.pi * b) for a, b in pairs]
    assert torch.equal(drawn, torch.tensor(wanted, dtype=torch.float64).float().double())


def test_a_law_is_moved_into_the_range_of_a_case() -> None:
    own = torch.tensor([0.5, -0.25])
    moved = _laws.ranged(_laws.drawn(NORMAL, torch.Size((4096,)), torch.float32, random.Random(1)), own)
    assert (float(moved.min()), float(moved.max())) == (-0.25, 0.5)


def test_every_law_has_a_whole_tensor_and_each_dtype_the_crossed_calls() -> None:
    dtypes = ("float32", "float16", "bfloat16", "int32", "int64")
    for seed in range(20):
        plans = planned(dtypes, random.Random(seed))
        floats = [draw for name in dtypes[:3] for draw in plans[name]]
        assert {law for law, _ in floats} == {*_laws.LAWS, MIXED}
        assert all((NORMAL, "") in plans[name] for name in dtypes[:3])
        assert all({OUT, THREE} <= {axis for _, axis in plans[name]} for name in dtypes[:3])
        assert all(MIXED in {law for law, _ in plans[name]} for name in dtypes)
        assert MANY in {axis for _, axis in planned(dtypes[:1], random.Random(seed))["float32"]}


@pytest.mark.parametrize("rank", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("line", [True, False, None])
def test_like_tensors_get_one_shape_of_several_blocks(rank: int, line: bool | None) -> None:
    for seed in range(20):
        grown, _ = next(_grown.shapes([(5, 5), (), (5, 5)], random.Random(seed), rank=rank, line=line))
        assert grown[0] == grown[2]
        assert len(grown[0]) == rank
        assert grown[1] == ()
        assert _grown.LEAST <= math.prod(grown[0]) <= 2 * _grown.LEAST
        assert line is None or (grown[0][-1] % 64 == 0 if line else grown[0][-1] % 2)


def test_a_length_grows_wherever_it_occurs() -> None:
    grown, lengths = next(_grown.shapes([(3, 5), (5, 2), (1, 2)], random.Random(0)))
    (old,) = lengths
    assert grown[0][1] == grown[1][0] == lengths[5]
    assert old == 5
    assert math.prod(grown[0]) >= _grown.LEAST
    assert _grown.renumbered({"a": [5, 2], "b": 5}, lengths) == {"a": [lengths[5], 2], "b": 5}
