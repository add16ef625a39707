"""The worked examples of vpe's dialect: right on odd rows, offsets and strides, and true to every rule they teach."""

from __future__ import annotations

import linecache
import math
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
import torch
import triton
import triton.language as tl
from judge_bench import Bench

from bringup.candidate import Candidate
from bringup.config import JudgeConfig
from bringup.prompts import EXAMPLES, load_examples
from bringup.suites import get_suite
from bringup.vpe import device

LIMIT = 65_535  # programs of a launch of pe64


def module(name: str) -> dict[str, Any]:
    """Load an example as a module on the device `vpe`; it must be found by its file name, as Triton asks."""
    device.enable()
    source = next(example.source for example in load_examples("vpe") if example.name == name)
    path = f"<example {name}>"
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
    scope: dict[str, Any] = {"torch": torch, "triton": triton, "tl": tl, "math": math, "__name__": f"example_{name}"}
    exec(compile(source, path, "exec"), scope)
    return scope


def on_device(x: torch.Tensor) -> torch.Tensor:
    """Copy a view with its strides and its offset."""
    whole = torch.empty(0, dtype=x.dtype).set_(x.untyped_storage()).to("vpe")
    return whole.as_strided(x.shape, x.stride(), x.storage_offset())


def view(shape: tuple[int, ...], offset: int, dtype: torch.dtype) -> torch.Tensor:
    generator = torch.Generator().manual_seed(7)
    count = math.prod(shape)
    return (torch.randn(offset + count, generator=generator) * 9).to(dtype)[offset:].view(shape)


SHAPES = [(7, 2051), (33, 65), (1, 1), (3, 4097)]


@pytest.mark.parametrize("offset", [0, 1, 7])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64])
def test_odd_rows_and_offsets(dtype: torch.dtype, offset: int) -> None:
    exp, argmax, diag = (module(name)["wrapper"] for name in ("exp", "argmax", "diag"))
    for shape in SHAPES:
        plain = view(shape, offset, dtype)
        for x in (plain, plain.t()):
            given = on_device(x)
            torch.testing.assert_close(exp(given).cpu(), torch.exp(x))
            for dim in (None, 0, -1):
                assert torch.equal(argmax(given, dim).cpu(), torch.argmax(x, dim)), (shape, dim)
            for diagonal in (0, 5, -3):
                assert torch.equal(diag(given, diagonal).cpu(), torch.diag(x, diagonal)), (shape, diagonal)


def test_strides_of_which_neighbours_lie_side_by_side() -> None:
    diag = module("diag")["wrapper"]
    expanded = view((7,), 3, torch.float32).expand(7, 7)  # strides (0, 1): its diagonals are runs of neighbours
    stepped = view((300,), 3, torch.float32)[::2]
    for diagonal in (0, 1, -2):
        assert torch.equal(diag(on_device(expanded), diagonal).cpu(), torch.diag(expanded, diagonal))
        assert torch.equal(diag(on_device(stepped), diagonal).cpu(), torch.diag(stepped, diagonal))


def test_more_rows_than_programs() -> None:
    x = view((LIMIT + 2, 2), 1, torch.float32)
    assert torch.equal(module("argmax")["wrapper"](on_device(x), 1).cpu(), torch.argmax(x, 1))


def test_float64_out_holds_the_float32_results() -> None:
    exp = module("exp")["wrapper"]
    x = torch.tensor([0.0, 1.0, -200.0, -90.0, -103.2, -87.5, 100.0, math.nan, math.inf, -math.inf])
    narrow = exp(on_device(x)).cpu()
    out = torch.empty(3, dtype=torch.float64).to("vpe")  # of another shape as well
    found = exp(on_device(x), out=out)
    assert found is out
    assert found.dtype is torch.float64
    torch.testing.assert_close(found.cpu(), narrow.double(), rtol=0, atol=0, equal_nan=True)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def judge() -> AsyncIterator[Bench]:
    async with Bench("vpe:pe64", JudgeConfig(compile_for=())) as made:
        yield made


@pytest.mark.long
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", EXAMPLES)
async def test_examples_pass_their_gate(judge: Bench, name: str) -> None:
    source = next(example.source for example in load_examples("vpe") if example.name == name)
    operator = get_suite("opinfo").operator(name)
    verdict = await judge.candidate(Candidate(source=source), operator, dtypes=operator.dtypes, seed=0)
    assert verdict.passed, (verdict.summary, verdict.log)
    assert not verdict.environment.skipped, verdict.environment.skipped  # it takes `out=` where asked
    assert verdict.cases_passed == verdict.cases_total == operator.cases_total
