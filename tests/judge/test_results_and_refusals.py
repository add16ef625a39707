"""What of a result is wrong beside its values, and which exceptions refuse a call."""

from __future__ import annotations

import itertools
import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
import torch
from bringup_testkit import DOUBLE
from hypothesis import given
from hypothesis import strategies as st
from judge_bench import Bench

from bringup.candidate import Candidate
from bringup.clients.recording import RecordingSet, find_set
from bringup.config import NO_CACHE, JudgeConfig
from bringup.judge._sharing import overlaps
from bringup.suites import CaseInputs, get_suite
from bringup.verdict import Verdict

on_the_pool = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool() -> AsyncIterator[Bench]:
    async with Bench("vpe:pe64", JudgeConfig(case_seconds=60, kernel_cache=NO_CACHE), jobs=1) as judge:
        yield judge


async def doubled(pool: Bench, last: str) -> Verdict:
    return await pool.candidate(
        Candidate(source=DOUBLE.replace("return y", last)), get_suite("tiny").operator("double"), keep_going=True
    )


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 9)), max_size=4))
def test_two_elements_overlap_where_their_addresses_are_equal(dims: list[tuple[int, int]]) -> None:
    tensor = torch.empty(128).as_strided([n for n, _ in dims], [stride for _, stride in dims])
    places = itertools.product(*(range(n) for n, _ in dims))
    addresses = [sum(i * stride for i, (_, stride) in zip(place, dims, strict=True)) for place in places]
    assert overlaps(tensor) == (len(set(addresses)) < len(addresses))


@pytest.mark.thinned
@on_the_pool
@pytest.mark.parametrize("strides", ["(0, 1)", "(1, 1)", "(4, 1)", "(1, 2)"])
async def test_elements_at_one_address_are_no_result(pool: Bench, strides: str) -> None:
    verdict = await doubled(pool, f"return y.as_strided((3, 5), {strides}) if y.dim() == 2 else y")
    assert verdict.guard == "aliasing"
    assert "elements of the output share memory" in verdict.summary
    assert len(verdict.failures) == 2  # the matrices of both dtypes


@on_the_pool
async def test_interleaved_elements_with_addresses_of_their_own_are_one(pool: Bench) -> None:
    spread_out = (
        "if y.dim() == 2:\n        kernel_double[(triton.cdiv(n, 16),)](x, y, n, BLOCK=16)\n"
        "        wide = torch.empty(64, dtype=y.dtype, device=y.device)\n"
        "        z = wide.as_strided((3, 5), (2, 7))\n        z.copy_(y)\n        return z\n    return y"
    )
    verdict = await doubled(pool, spread_out)
    assert verdict.passed, verdict.summary


@on_the_pool
@pytest.mark.parametrize(
    ("last", "guard"),
    [
        ("return torch.nn.Parameter(y, requires_grad=False) if y.is_floating_point() else y", "outputs"),
        ("return torch.nn.Parameter(y) if y.is_floating_point() else y", "outputs"),
        ("return y.requires_grad_() if y.is_floating_point() else y", ""),
    ],
)
async def test_a_result_is_plain_and_needs_no_gradient(pool: Bench, last: str, guard: str) -> None:
    verdict = await doubled(pool, last)
    assert (verdict.kind, verdict.guard) == ("wrong", guard), verdict.summary
    assert guard or "requires_grad=True" in verdict.summary
    assert len(verdict.failures) == 5  # every case in float32


def recorded(name: str) -> str:
    return RecordingSet(find_set("vpe-pe64")).candidates()[name].source


def gate(name: str) -> list[CaseInputs]:
    return list(get_suite("opinfo").materialise(name, "float32"))


async def judged(pool: Bench, name: str, source: str, cases: list[CaseInputs]) -> Verdict:
    return await pool.candidate(
        Candidate(source=source), get_suite("opinfo").operator(name), dtypes=["float32"],
        cases=[case.case.index for case in cases], keep_going=True,
    )  # fmt: skip


@on_the_pool
@pytest.mark.parametrize(
    ("raised", "passes"),
    [("ZeroDivisionError", False), ("KeyError", False), ("AttributeError", False), ("ValueError", True)],
)
@pytest.mark.thinned
async def test_an_accident_is_no_refusal(pool: Bench, raised: str, passes: bool) -> None:
    cases = [case for case in gate("stack") if case.raises and not case.raises.startswith(raised)]
    assert cases
    source = re.sub(r"\braise \w+\(", f"raise {raised}(", recorded("stack"))
    assert source.count(f"raise {raised}(") >= 3
    verdict = await judged(pool, "stack", source, cases)
    if passes:
        assert verdict.passed, verdict.summary
    else:
        assert verdict.kind == "raised"
        assert len(verdict.failures) == len(cases)
        assert f"{raised} is no refusal: PyTorch raises" in verdict.summary


@on_the_pool
@pytest.mark.parametrize(
    ("name", "refusal"),
    [
        ("abs", "if input.dim() >= 6: raise RuntimeError('at most five')"),
        ("stack", "if len(tensors) > 8: raise RuntimeError('at most eight tensors')"),
    ],
)
@pytest.mark.thinned
async def test_what_pytorch_takes_must_not_be_refused(pool: Bench, name: str, refusal: str) -> None:
    cases = [case for case in gate(name) if case.title.startswith("ranks: ")]
    assert len(cases) >= 2
    source = recorded(name)
    assert (await judged(pool, name, source, cases)).passed
    limited = re.sub(r"(def wrapper\([^)]*\)[^:]*:\n)", rf"\1    {refusal}\n", source)
    assert limited != source
    verdict = await judged(pool, name, limited, cases)
    assert verdict.kind == "raised", verdict.summary
    assert verdict.failures
