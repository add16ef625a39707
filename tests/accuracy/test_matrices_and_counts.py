"""Arguments that count, tolerances that hang on a dtype, bounds by norms, sums whose terms overflow."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from bringup.accuracy import Limit, Standard, copy_arguments
from bringup.accuracy._conditions import STEP, spread
from bringup.accuracy._twin import Twin, leaves, perturbation


def limits(name: str, function: Callable[..., Any], *args: Any, dtype: str = "float32", **kwargs: Any) -> list[Any]:
    """The limits of the outputs of a call, and what it returns."""
    after = copy_arguments(args, kwargs)
    result = function(*after[0], **after[1])
    found = Standard(name, function, dtype).limits(args, kwargs, result, after)
    assert not found.reason
    return [result, *found.outputs]


def test_two_tensors_of_one_size_do_not_move_together() -> None:
    """Else a quotient of equal ones would not move at all, and nothing would be allowed beside the last rounding."""
    x = torch.linspace(1.0, 2.0, 50)
    twin = Twin(torch.div, (x, x.clone()), {})
    moved = spread(twin, leaves(list(twin.run())))[0]
    assert float(moved.min()) > 0.05
    assert float(moved.median()) > 0.5
    one = perturbation(STEP, 0)
    assert torch.equal(one(torch.ones(3)), perturbation(STEP, 0)(torch.ones(3)))  # the first of each run alike


def test_weights_that_count_stay_integers() -> None:
    """`cov` of integers has an exact reference: its data become numbers, how often each counts does not."""
    x = torch.tensor([[1, 2, 4, 7], [5, 5, 1, 0]], dtype=torch.int32)
    often = torch.tensor([1, 3, 2, 1])
    y, found = limits("cov", torch.cov, x, fweights=often, dtype="int32")
    assert isinstance(found, Limit)
    repeated = torch.cov(x.double().repeat_interleave(often, 1))
    assert found.exact is not None
    torch.testing.assert_close(found.exact, repeated)
    assert not found.wrong(y, repeated.float()).any()
    assert found.wrong(y, torch.cov(x.float())).any()


@pytest.mark.parametrize("spelt", [(), (1e-9,), ("input",), ("rtol",)])
def test_small_singular_values_count_as_zero_by_the_dtype_of_the_data(spelt: tuple[Any, ...]) -> None:
    """A singular value of 1e-7 is none in float32; the exact result must leave it out too, unless a call says other."""
    x = torch.diag(torch.tensor([1.0, 0.5, 1e-7]))
    given = () if "input" in spelt else (x, *(value for value in spelt if value != "rtol"))
    named = {name: {"input": x, "rtol": 1e-9}[name] for name in spelt if name in ("input", "rtol")}
    y, found = limits("linalg.pinv", torch.linalg.pinv, *given, **named)[:2]
    told = spelt not in ((), ("input",))
    inverse = 1 / float(x[2, 2]) if told else 0.0
    assert found.exact[2, 2].item() == pytest.approx(inverse)
    assert not found.wrong(y, y).any()
    assert found.wrong(y, torch.diag(torch.tensor([1.0, 2.0, 0.0 if told else 1e7]))).any()


def test_solutions_may_be_off_by_a_share_of_their_column() -> None:
    """Reflections mix the elements of a column: its small ones are off by what its large ones may be."""
    draw = torch.Generator().manual_seed(3)
    a = torch.eye(24) + 0.01 * torch.randn(24, 24, generator=draw)
    solution = torch.eye(24) + 1e-5 * torch.randn(24, 24, generator=draw)
    b = (a.double() @ solution.double()).float()
    result, found = limits("linalg.lstsq", torch.linalg.lstsq, a, b)[:2]
    y = result.solution
    assert not found.wrong(y, y).any()
    exact = found.exact.float()
    assert not found.wrong(y, exact + 1e-6).any()
    assert found.wrong(y, exact + 1e-4).all()
    scaled, bound = limits("linalg.lstsq", torch.linalg.lstsq, a, b * torch.logspace(-6, 0, 24))[:2]
    smallest = bound.exact.float()
    smallest[:, 0] += 1e-8  # of a column of 1e-6
    assert bound.wrong(scaled.solution, smallest)[:, 0].all()


def test_sums_of_terms_that_overflow_are_infinite_or_no_number() -> None:
    """Products of 1e72, of both signs: which infinity comes first is a matter of order."""
    a, b = torch.tensor([[1e36, -2e36, 1e36]]), torch.tensor([[1e36], [1e36], [2e36]])
    y, found = limits("mm", torch.mm, a, b)
    for value in (math.inf, -math.inf, math.nan):
        assert not found.wrong(y, torch.full_like(y, value)).any()
    y, found = limits("mm", torch.mm, a / 1e30, b)
    assert found.wrong(y, torch.full_like(y, math.nan)).all() == (abs(float(found.exact)) < 1e30)
    y, found = limits("mm", torch.mm, torch.ones(1, 3), torch.ones(3, 1))
    for value in (math.inf, -math.inf, math.nan):
        assert found.wrong(y, torch.full_like(y, value)).all()


def test_small_numbers_are_rounded_again_where_they_are_stored() -> None:
    """bfloat16 has a normal 1e-6, of which float16 has multiples of 6e-8 alone."""
    x, degree = torch.tensor([1e-6], dtype=torch.bfloat16), torch.tensor([0.5], dtype=torch.bfloat16)
    out = torch.zeros(1, dtype=torch.float16)
    given = ((degree, x), {"out": out})
    y = torch.igammac(degree, x).to(torch.float16)
    found = Standard("igammac", torch.igammac, "bfloat16").limits(*given, y, given).outputs[0]
    assert found is not None
    assert not found.wrong(y, y).any()
    assert found.wrong(y, y * 0.97).all()


def test_a_quotient_by_a_norm_has_the_roundings_of_the_norm() -> None:
    """One large element: its quotient is all but 1 and moves with nothing, while the norm's sum loses small squares."""
    x = torch.cat([torch.tensor([4.75]), torch.full((1000,), 2.0**-11)])
    function = torch.nn.functional.normalize
    y, found = limits("nn.functional.normalize", function, x, dim=0)
    total = torch.zeros(())
    for square in x.square():
        total = total + square  # each square of the small ones is lost
    assert not found.wrong(y, x / total.sqrt()).any()
    assert found.wrong(y, x / total.sqrt() * (1 + 1e-4)).any()
