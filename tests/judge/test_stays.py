"""What a call leaves as it was, and what its metadata decide, by the reference's word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from bringup.judge._decided import decided
from bringup.judge._stays import Output, stays
from bringup.suites import CaseInputs
from bringup.verdict import CaseId

RESULT = Output("result", 0)
ROW = torch.tensor([1])


def call(reference: Callable[..., Any], *args: Any, **kwargs: Any) -> CaseInputs:
    return CaseInputs(CaseId(operator="a test", dtype="float32", index=0, seed=0), "", args, kwargs, reference)


def kept(inputs: CaseInputs, elements: list[bool], output: Output = RESULT) -> bool:
    return stays(inputs, 0, output, torch.tensor(elements))


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.bfloat16, torch.int64, torch.uint8, torch.bool, torch.complex64]
)
def test_rows_that_no_index_names_stay(dtype: torch.dtype) -> None:
    x = torch.ones(3, 2).to(dtype)
    inputs = call(torch.index_copy, x, 0, ROW, torch.zeros(1, 2).to(dtype))
    assert kept(inputs, [True, True, False, False, True, True])
    assert not kept(inputs, [True, True, True, False, True, True])


@pytest.mark.parametrize(
    "reference",
    [
        lambda x: x.clamp(-1e4, 1e4),
        lambda x: x.clamp(max=1e30),
        torch.relu,
        torch.abs,
        torch.nan_to_num,
        lambda x: x.renorm(2, 0, 1e5),
        lambda x: torch.where(x < 1e8, x, 0.0),
    ],
)
def test_what_hangs_on_the_value_does_not_stay(reference: Callable[..., Any]) -> None:
    for x in (torch.rand(3, 3), torch.rand(1, 1)):
        assert torch.equal(reference(x), x)
        assert not kept(call(reference, x), [True] * x.numel())


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32, torch.int64, torch.bool])
def test_what_hangs_on_the_other_operand_does_not_stay(dtype: torch.dtype) -> None:
    x, zero = torch.tensor([1, 0, 1]).to(dtype), torch.zeros(3).to(dtype)
    assert not kept(call(torch.logical_or if dtype is torch.bool else torch.add, x, zero), [True] * 3)
    out = torch.empty(3, dtype=dtype)
    assert not kept(call(torch.add, x, zero, out=out), [True] * 3, Output("argument", 2))
    if dtype is not torch.float32:
        assert not kept(call(torch.bitwise_or, x, zero), [True] * 3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool])
def test_masks_and_indices_are_no_data(dtype: torch.dtype) -> None:
    x, mask, at = torch.ones(4).to(dtype), torch.tensor([True, False, True, False]), torch.tensor([1, 3])
    assert kept(call(torch.masked_fill, x, mask, 0), [False, True, False, True])
    assert not kept(call(torch.masked_fill, x, mask, 0), [True] * 4)
    where = call(torch.where, mask, x, torch.zeros(4).to(dtype))
    assert stays(where, 1, RESULT, mask)
    assert not stays(where, 1, RESULT, ~mask)
    assert kept(call(torch.scatter, x, 0, at, torch.zeros(2).to(dtype)), [True, False, True, False])
    assert kept(call(torch.index_put, x, (at,), torch.zeros(2).to(dtype)), [True, False, True, False])
    assert kept(
        call(torch.Tensor.put_, x, at, torch.zeros(2).to(dtype)), [True, False, True, False], Output("argument", 0)
    )


def test_arguments_after_the_call_stay_or_not() -> None:
    after = Output("argument", 0)
    assert kept(call(torch.Tensor.index_fill_, torch.rand(4), 0, ROW, 2.0), [True, False, True, True], after)
    assert not kept(call(torch.Tensor.abs_, torch.rand(4)), [True] * 4, after)
    assert not kept(call(torch.Tensor.add_, torch.rand(4), torch.rand(4), alpha=0.0), [True] * 4, after)  # NaN
    assert kept(call(torch.Tensor.floor_, torch.arange(4)), [True] * 4, after)


def test_a_reference_that_refuses_other_values_is_asked_with_its_own() -> None:
    def picky(x: torch.Tensor) -> torch.Tensor:
        if not ((x >= 0) & (x <= 3)).all():
            raise RuntimeError("expected probabilities")
        return torch.where(x < 2, x, torch.arange(4.0))

    x = torch.tensor([1.0, 0.5, 2.0, 3.0])
    assert torch.equal(picky(x), x)
    assert not kept(call(picky, x), [True] * 4)


def test_what_may_be_counts_is_small() -> None:
    """Large ones would fill the memory."""
    asked: list[int] = []

    def counts(x: torch.Tensor) -> torch.Tensor:
        asked.append(int(x.max()))
        return torch.bincount(x, minlength=2)[:2].to(torch.int32)

    inputs = call(counts, torch.tensor([0, 1], dtype=torch.int32))
    assert not stays(inputs, 0, RESULT, torch.tensor([True, False]), counts=True)
    assert 1 < max(asked) < 10


def test_nothing_is_divided_that_ends_the_process() -> None:
    smallest = torch.tensor([torch.iinfo(torch.int64).min, 5])
    assert not kept(call(lambda x, y: y // x, torch.ones(2, dtype=torch.int64), smallest), [True, True])


@pytest.mark.parametrize(
    ("reference", "args", "wanted"),
    [
        (torch.equal, (torch.ones(3), torch.zeros(3)), False),
        (torch.equal, (torch.ones(3), torch.ones(3)), False),
        (torch.equal, (torch.ones(3), torch.ones(4)), True),
        (torch.equal, (torch.ones(0), torch.ones(0)), True),
        (torch.nonzero, (torch.zeros(5),), False),
        (torch.nonzero, (torch.ones(5),), False),
        (torch.nonzero, (torch.ones(0, 3),), True),
        (torch.bincount, (torch.arange(5),), False),
        (torch.bincount, (torch.arange(5), None, 50), False),
        (torch.nonzero, (torch.zeros(1).expand(5),), False),
        (torch.masked_select, (torch.ones(3), torch.zeros(3, dtype=torch.bool)), False),
        (torch.unique, (torch.ones(4),), False),
        (torch.unique, (torch.ones(1),), True),
        (torch.Tensor.item, (torch.ones(1),), False),
    ],
)
def test_sizes_and_truth_values_that_data_decide(reference: Any, args: tuple[Any, ...], wanted: bool) -> None:
    assert decided(call(reference, *args), reference(*args)) is wanted
