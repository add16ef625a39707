"""What a report says of the elements that are wrong: how far each is off, and how far it may be."""

from __future__ import annotations

import math

import pytest
import torch

from bringup.accuracy import Limit, Standard
from bringup.judge._compare import compare_tensors

X = torch.tensor([0.5, 1.0, 2.0, 3.0])


def limit_of(name: str, x: torch.Tensor) -> tuple[torch.Tensor, Limit]:
    function = getattr(torch, name)
    expected = function(x)
    limit = Standard(name, function, str(x.dtype).removeprefix("torch.")).limits((x,), {}, expected, ((x,), {}))
    assert limit.outputs[0] is not None
    return expected, limit.outputs[0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_errors_are_measured_from_the_exact_result_and_stand_beside_the_bound(dtype: torch.dtype) -> None:
    expected, limit = limit_of("exp", X.to(dtype))
    actual = expected.clone()
    actual[1] += 0.25
    actual[3] = math.nan
    found = compare_tensors(expected, actual, None, None, "output", limit)
    assert found is not None
    first, second = found.first
    assert (first.index, second.index) == ((1,), (3,))
    exact = X.double().exp()
    assert float(first.off) == pytest.approx(abs(actual[1].item() - exact[1].item()), rel=1e-2)
    # Units in the last place of 2.7 are 2**-22 in float32; half a unit of 2**-6 is all that bfloat16's rounding takes.
    least, most = (1 * 2.0**-22, 16 * 2.0**-22) if dtype is torch.float32 else (2.0**-7, 1.01 * 2.0**-7)
    assert 0.99 * least <= float(first.allowed) <= most  # three digits are shown
    assert second.off == "nan"
    assert float(second.allowed) > 0


def test_where_bits_or_tolerances_decide_no_bound_is_shown() -> None:
    expected, limit = limit_of("neg", X)
    for chosen in (limit, None):
        found = compare_tensors(expected, expected + 1, None, None, "output", chosen)
        assert found is not None
        assert len(found.first) == 4
        assert {(one.off, one.allowed, one.exact) for one in found.first} == {("", "", "")}


def test_a_byte_that_is_no_bool_is_shown() -> None:
    expected = torch.tensor([True, False, True])
    actual = torch.tensor([1, 0, 255], dtype=torch.uint8).view(torch.bool)
    found = compare_tensors(expected, actual, None, None, "output")
    assert found is not None
    (one,) = found.first
    assert (one.expected, one.actual) == ("True", "True, stored as the byte 255 (a bool is 0 or 1)")
