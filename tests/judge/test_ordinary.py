"""The guard `ordinary`: sizes that no case has, small ones too, and as first calls."""

from __future__ import annotations

import math
import random
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
import torch
from bringup_testkit import MAXIMUM
from judge_bench import Bench

from bringup.candidate import Candidate
from bringup.clients.recording import RecordingSet, find_set
from bringup.config import NO_CACHE, JudgeConfig
from bringup.judge._case import CaseJudge
from bringup.judge.guards import IDS
from bringup.judge.guards.ordinary import ELEMENTS, MOST, PROGRAMS, _shapes, tiled
from bringup.judge.in_use import _Expected
from bringup.suites import get_suite

SEEDS = (1, 2)
OTHERS = tuple(other for other in IDS if other != "ordinary")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def judge() -> AsyncIterator[Bench]:
    async with Bench("vpe:pe64", JudgeConfig(kernel_cache=NO_CACHE)) as pool:
        yield pool


def _known_sizes(operator: str, *dtypes: str) -> set[int]:
    cases = [case for dtype in dtypes for case in get_suite("opinfo").materialise(operator, dtype)]
    return {tensor.numel() for case in cases for tensor in case.args if isinstance(tensor, torch.Tensor)}


@pytest.mark.thinned
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("least", "most"), [(2, 40), (41, 999), (1000, 8191)])
async def test_what_is_wrong_at_sizes_of_no_case_is_found(judge: Bench, least: int, most: int) -> None:
    known = _known_sizes("maximum", "float32", "bfloat16")
    flag = f"{least} <= input.numel() <= {most} and input.numel() not in {known}"
    source = MAXIMUM.replace("flag = FLAG", f"flag = {flag}").replace("16", "1024").replace("CHANGE", "pass")
    for seed in SEEDS:
        verdict = await judge.maximum(source, "bfloat16", seed, OTHERS)
        assert (verdict.kind, verdict.guard) == ("wrong", "ordinary"), f"{seed}: {verdict.summary}"
        assert verdict.summary.startswith(("with other sizes", "with an `out` that is an operand"))
    right = MAXIMUM.replace("FLAG\n", "False\n").replace("16", "1024").replace("CHANGE", "pass")
    verdict = await judge.maximum(right, "bfloat16", SEEDS[0], OTHERS)
    assert verdict.passed, verdict.summary
    assert verdict.environment.reruns["ordinary"]["runs"] >= 6


@pytest.mark.long
@pytest.mark.asyncio(loop_scope="module")
async def test_operators_with_structure_are_asked_too(judge: Bench) -> None:
    source = RecordingSet(find_set("vpe-pe64")).candidates()["linalg.inv"].source
    known = _known_sizes("linalg.inv", "float32")
    wrong = source + (
        "\n\nright = wrapper\n\n\ndef wrapper(A, *, out=None):\n"
        "    y = right(A) if out is None else right(A, out=out)\n"
        f"    return right(y) if A.numel() not in {known} and A.numel() < 9000 else y\n"
    )
    operator = get_suite("opinfo").operator("linalg.inv")
    cases = {"float32": tuple(range(operator.case_counts["float32"]))}
    for text, kind in ((source, "passed"), (wrong, "wrong")):
        verdict = await judge.candidate(
            Candidate(source=text), operator, cases=cases, fresh_seed=1, without_guards=OTHERS
        )
        assert verdict.kind == kind, verdict.summary


def test_sizes_are_of_their_kind_and_equal_lengths_stay_equal() -> None:
    given = [(4, 6), (6, 5), (4, 5), ()]
    for what in (*ELEMENTS, PROGRAMS):
        found = [one for seed in range(50) for one in _shapes(given, what, random.Random(seed))]
        assert len(found) >= 100
        for sizes, lengths in found:
            (a, b), (c, d), (e, f), nothing = sizes
            assert ((b, a, d), nothing) == ((c, e, f), ())
            assert sizes != given
            assert sum(map(math.prod, sizes)) <= MOST
            assert all(sizes[0][place] == lengths.get(old, old) for place, old in enumerate(given[0]))
        middle = sorted(max(map(math.prod, sizes)) for sizes, _ in found)[len(found) // 2]
        low, high = ELEMENTS.get(what, (2, MOST))
        assert low <= middle <= high


@pytest.mark.parametrize("size", [2, 3, 5, 11])
def test_structure_stays(size: int) -> None:
    chance = random.Random(size)
    generator = torch.Generator().manual_seed(7)
    square = torch.randn(5, 5, generator=generator, dtype=torch.float64)
    positive = square @ square.T + torch.eye(5, dtype=torch.float64)
    assert bool((torch.linalg.eigvalsh(tiled(positive, (size, size), chance)) > 0.5).all())
    assert not tiled(square.tril(), (size, size), chance).triu(1).any()
    batch = torch.stack([positive, positive])
    assert bool((torch.linalg.eigvalsh(tiled(batch, (3, size, size), chance)) > 0.5).all())
    for whole in (tiled(positive, (11, 11), chance), tiled(square.tril(), (11, 11), chance)):
        assert whole[7:, :5].abs().min() > 0, "a band is not all of a matrix"
    tall = tiled(square, (4 * size, size), chance)
    assert tall.shape == (4 * size, size)
    assert tall.unique(dim=0).shape == tall.shape


def test_each_result_has_room_of_its_own_size_whatever_the_names_are() -> None:
    """Arguments stand in the order of their names, results in that of the schema."""
    suite = get_suite("aten")
    made = suite.materialise("_linalg_det.result", "float32")
    inputs = next(one for one in made if one.args[0].dim() == 2 and one.args[0].shape[0] > 1)
    n = inputs.args[0].shape[0]
    case = CaseJudge(inputs, suite.operator("_linalg_det.result"), "cpu", _Expected(), frozenset())
    assert [case.tensors[number][0].split()[-1] for number in case.outs] == ["result", "LU", "pivots"]
    assert [tuple(case.tensors[number][1].shape) for number in case.outs] == [(), (n, n), (n,)]
