"""The audit's values: integers of every magnitude and in the golden ratio, the largest finite numbers."""

from __future__ import annotations

import math

import pytest
import torch
from families_testkit import family, noticed

from bringup.suites import CaseInputs, get_suite

LARGEST = "values: the largest finite numbers"
MAGNITUDES, GOLDEN = "values: integers of every magnitude", "values: integers in the golden ratio"


def case_of(operator: str, dtype: str, title: str) -> CaseInputs | None:
    return next((case for case in get_suite("audit").materialise(operator, dtype) if case.title == title), None)


def steps(one: int, other: int) -> int:
    """How many divisions Euclid's algorithm takes."""
    taken = 0
    while other:
        one, other, taken = other, one % other, taken + 1
    return taken


@pytest.mark.parametrize(("operator", "dtype", "width"), [("mul", "int64", 63), ("bitwise_xor", "int32", 31)])
def test_integers_have_any_number_of_bits(operator: str, dtype: str, width: int) -> None:
    case = case_of(operator, dtype, MAGNITUDES)
    assert case is not None
    for tensor in case.args:
        bits = {abs(value).bit_length() for value in tensor.reshape(-1).tolist()}
        assert len(bits) > width // 2 or tensor.numel() < width
        assert any(width // 4 < one < 3 * width // 4 for one in bits)
        assert (tensor < 0).any()
        assert (tensor > 0).any()


def test_a_divisor_stays_small_where_any_integer_is_not_defined() -> None:
    case = case_of("remainder", "int64", MAGNITUDES)
    assert case is not None
    dividend, divisor = case.args
    assert dividend.abs().max() > 1 << 40
    assert divisor.abs().max() < 1 << 10
    assert (divisor != 0).all()


@pytest.mark.parametrize(("dtype", "least"), [("int32", 40), ("int64", 80)])
def test_pairs_need_as_many_steps_as_numbers_of_their_size_can(dtype: str, least: int) -> None:
    case = case_of("gcd", dtype, GOLDEN)
    assert case is not None
    pairs = list(zip(*(tensor.reshape(-1).tolist() for tensor in case.args), strict=True))
    assert max(steps(abs(one), abs(other)) for one, other in pairs) >= least
    assert any(abs(one) > abs(other) for one, other in pairs)
    assert any(abs(one) < abs(other) for one, other in pairs)


def test_a_least_common_multiple_stays_in_range() -> None:
    case = case_of("lcm", "int32", GOLDEN)
    assert case is not None
    for one, other in zip(*(tensor.reshape(-1).tolist() for tensor in case.args), strict=True):
        assert math.lcm(one, other) <= torch.iinfo(torch.int32).max


@pytest.mark.parametrize(("operator", "dtype", "title"), [("add", "float32", MAGNITUDES), ("sum", "int32", GOLDEN)])
def test_nothing_of_it_is_asked_elsewhere(operator: str, dtype: str, title: str) -> None:
    assert case_of(operator, dtype, title) is None


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_the_largest_finite_numbers_are_asked_where_nothing_is_computed(dtype: str) -> None:
    most = torch.finfo(getattr(torch, dtype)).max
    for operator in ("isinf", "clamp_max", "sort"):
        (case,) = [case for case in family(operator, "values", dtype) if case.title == LARGEST]
        assert {most, -most} <= set(case.args[0].reshape(-1).tolist())
        assert case.args[0].isfinite().all()
    for operator in ("add", "cumsum", "exp", "sum", "var"):
        assert not [case for case in family(operator, "values", dtype) if case.title == LARGEST]


def test_an_infinity_of_a_narrower_dtype_is_noticed() -> None:
    cases = family("isinf", "values")
    assert noticed(cases, lambda input: input.bfloat16().isinf()) == [LARGEST]
    assert noticed(cases, lambda input: input.half().isinf()) == [LARGEST]
    assert noticed(cases, torch.isinf) == []
