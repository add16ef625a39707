"""Kernels that are refused before a compiler sees them: recursion, texts that are too large, odd constants."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
import pytest_asyncio
from judge_bench import Bench

from bringup.candidate import Candidate
from bringup.config import JudgeConfig
from bringup.device.asked import request_of
from bringup.device.frontend import LONGEST_CONSTANT, KernelRefused, _constant, _Launcher
from bringup.device.wire import LARGEST_TEXT, Malformed
from bringup.judge.guards import IDS
from bringup.suites import get_suite

pytestmark = pytest.mark.asyncio(loop_scope="module")
SOURCE = """
@triton.jit
def again(x, N: tl.constexpr):
    return BODY


@triton.jit
def other(x, N: tl.constexpr):
    return again(x, N)


@triton.jit
def kernel(x_ptr, y_ptr, n, T: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = again(tl.load(x_ptr + i, mask=i < n), 3)
    tl.store(y_ptr + i, tl.abs(x), mask=i < n)


def wrapper(input, *, out=None):
    y = torch.empty(input.shape, dtype=input.dtype, device=input.device)
    kernel[(triton.cdiv(input.numel(), 64),)](input, y, input.numel(), T=TEXT, BLOCK=64)
    return y
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def judge() -> AsyncIterator[Bench]:
    async with Bench("vpe:pe64", JudgeConfig()) as pool:
        yield pool


async def judged(pool: Bench, body: str, text: str = "1") -> Any:
    source = SOURCE.replace("BODY", body).replace("TEXT", text)
    operator = get_suite("opinfo").operator("abs")
    return await pool.candidate(Candidate(source=source), operator, cases={"float32": (0,)}, without_guards=IDS)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("again(x, N)", "'again' calls itself with the same types and constants"),
        ("other(x, N)", "'again' calls itself with the same types and constants"),
        ("again(x, N + 1)", "'again' is called from within 24 other calls"),
    ],
    ids=["itself", "by way of another", "without an end"],
)
async def test_recursion_is_a_refusal_that_says_so(judge: Bench, body: str, words: str) -> None:
    verdict = await judged(judge, body)
    assert verdict.kind == "compile", verdict.summary
    assert words in verdict.summary
    assert "use a loop" in verdict.summary
    assert "KeyError" not in verdict.summary + verdict.log


async def test_recursion_that_a_constant_ends_is_none_and_a_long_text_as_constant_is_no_size(judge: Bench) -> None:
    verdict = await judged(judge, "x if N == 0 else again(x, N - 1)", '"a" * (9 << 20)')
    assert verdict.passed, verdict.summary


async def test_a_text_that_is_too_large_is_refused_by_its_size() -> None:
    launcher: Any = SimpleNamespace(name="kernel_table")
    assert json.loads(_Launcher._told(launcher, {"text": "x"})) == {"text": "x"}
    with pytest.raises(KernelRefused, match=r"'kernel_table' is too large: its text has 9\.0 MiB, 8 are allowed"):
        _Launcher._told(launcher, {"text": "x" * (LARGEST_TEXT + (1 << 20))})


async def test_constants_are_quoted_in_short() -> None:
    assert _constant(10**5000) == f"an integer of {(10**5000).bit_length()} bits"
    assert _constant("a" * 5000) == f"{'a' * LONGEST_CONSTANT}... (5000 characters)"
    assert [_constant(one) for one in (7, None, True, 0.5, "ab")] == [7, None, True, 0.5, "ab"]


async def test_a_number_of_many_digits_in_a_command_is_named() -> None:
    assert request_of(memoryview(b'{"n": 12}')) == {"n": 12}
    with pytest.raises(Malformed, match="a number of 5000 digits, 400 are allowed"):
        request_of(memoryview(b'{"n": ' + b"1" * 5000 + b"}"))
