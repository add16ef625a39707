"""Points where double precision gives noise, or PyTorch rounds an argument on the way: no right kernel is refused."""

from __future__ import annotations

import math

import mpmath
import pytest
import torch

from bringup.accuracy import Limit, Rule, Standard, copy_arguments

CHEBYSHEV = ("chebyshev_polynomial_t", "chebyshev_polynomial_u")


def limit(
    name: str, function: object, *args: object, dtype: str = "float32", kwargs: dict[str, float] | None = None
) -> tuple[Limit, torch.Tensor]:
    assert callable(function)
    after = copy_arguments(args, kwargs or {})
    expected = function(*after[0], **after[1])
    found = Standard(name, function, dtype).limits(args, kwargs or {}, expected, after).outputs[0]
    assert found is not None
    return found, expected


@pytest.mark.parametrize("name", ["polygamma", "special.polygamma"])
def test_a_pole_is_infinite_or_as_large_as_arithmetic_makes_it(name: str) -> None:
    x = torch.tensor([0.0, -1.0, -2.0, -50.0, -0.5, 2.0])
    found, y = limit(name, torch.polygamma, 1, x)
    assert not found.wrong(y, y).any()
    infinite = torch.tensor([math.inf] * 4 + y[4:].tolist())
    assert not found.wrong(y, infinite).any()
    assert "pole" in found.words
    for wrong in (0.0, 1e6, -math.inf, math.nan):
        assert found.wrong(y, torch.full_like(y, wrong)).all(), wrong
    assert found.wrong(y, y * (1 + 1e-4)).tolist() == [False] * 4 + [True] * 2  # the rest is held to its units
    far = torch.tensor([-math.inf])
    found, y = limit(name, torch.polygamma, 1, far)
    assert not found.wrong(y, torch.full_like(y, math.nan)).any()  # no pole: the sine of an infinity
    half = x.to(torch.float16)
    found, y = limit(name, torch.polygamma, 1, half, dtype="float16")
    assert not found.wrong(y, infinite.to(torch.float16)).any()
    assert found.wrong(y, torch.full_like(y, 60000.0)).tolist()[1:4] == [True] * 3


def test_orders_without_noise_have_no_exception() -> None:
    x = torch.tensor([-1.0, -2.0])
    found, y = limit("polygamma", torch.polygamma, 2, x)
    assert found.least is None
    assert not found.wrong(y, y).any()
    assert found.wrong(y, torch.full_like(y, -1e30)).all()


@pytest.mark.parametrize("name", CHEBYSHEV)
@pytest.mark.parametrize("degree", [3, 7, 9, 11, 51, 101])
def test_zeros_of_chebyshev_polynomials_at_zero(name: str, degree: int) -> None:
    function = getattr(torch.special, name)
    x = torch.tensor([0.0, 0.0, 0.0])
    found, y = limit(f"special.{name}", function, x, degree)
    assert not found.wrong(y, y).any()  # by angles, in float32
    assert not found.wrong(y, torch.tensor([0.0, -0.0, 0.0])).any()  # by the recurrence
    assert found.wrong(y, torch.tensor([1e-3, -1.0, math.nan])).all()
    found, y = limit(f"special.{name}", function, x, degree + 1)
    assert found.wrong(y, -y).all()
    assert found.wrong(y, y * (1 + 1e-3)).all()


@pytest.mark.parametrize("name", CHEBYSHEV)
def test_chebyshev_polynomials_far_out_are_held_to_their_units(name: str) -> None:
    found, y = limit(f"special.{name}", getattr(torch.special, name), torch.tensor([1.5, 3.0]), 9)
    assert not found.wrong(y, y).any()
    assert found.wrong(y, y * (1 + 1e-4)).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_number_as_first_factor_may_be_rounded_to_a_half_precision(dtype: str) -> None:
    x = torch.linspace(-3, 3, 255).to(getattr(torch, dtype))
    number = 1.2345678
    found, y = limit("mul", torch.mul, number, x, dtype=dtype)
    rounded = (x.double() * torch.tensor(number).to(x.dtype).double()).to(x.dtype)
    exact = (x.double() * number).to(x.dtype)
    assert not torch.equal(rounded, exact)
    for right in (y, rounded, exact):
        assert not found.wrong(y, right).any()
    step = float(torch.finfo(x.dtype).eps)
    assert found.wrong(y, (x.double() * number * (1 + 3 * step)).to(x.dtype))[y != 0].all()
    found, y = limit("mul", torch.mul, x, number, dtype=dtype)  # PyTorch keeps the second one
    assert not found.wrong(y, exact).any()
    assert found.wrong(y, rounded).any()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_pytorchs_own_product_with_an_output_given(dtype: str) -> None:
    x = torch.linspace(-3, 3, 255).to(getattr(torch, dtype))
    kwargs = {"out": torch.empty_like(x)}
    after = copy_arguments((1.2345678, x), kwargs)

    def function(*args: object, **given: object) -> torch.Tensor:
        return torch.ops.aten.mul.out(torch.tensor(args[0]), args[1], **given)

    y = function(*after[0], **after[1])
    found = Standard("mul", function, dtype).limits((1.2345678, x), kwargs, y, after).outputs[0]
    assert found is not None
    assert not found.wrong(y, y).any()


def test_what_pytorch_never_writes_may_hold_anything() -> None:
    """log_alpha of CTC beyond a sample's own input and target; what is part of the recursion is compared."""
    generator = torch.Generator().manual_seed(3)
    probabilities = torch.randn(6, 2, 5, generator=generator).log_softmax(-1)
    targets = torch.randint(1, 5, (2, 3), generator=generator)
    function = torch.ops.aten._ctc_loss
    call = (probabilities, targets, [6, 4], [3, 1])
    expected = function(*call)
    rule = Rule("composite", ulps=2, half=0.1, open="ctc_alpha")
    loss, alpha = Standard("", function, "float32", given=rule).limits(call, {}, expected, (call, {})).outputs
    assert loss is not None
    assert alpha is not None
    assert not alpha.wrong(expected[1], expected[1]).any()
    refused = alpha.wrong(expected[1], torch.full_like(expected[1], 7.0))
    assert refused[0].all()
    assert refused[1, :4, :3].all()
    assert not refused[1, 4:].any()
    assert not refused[1, :, 3:].any()
    assert loss.wrong(expected[0], expected[0] + 1e-3).all()


@pytest.mark.parametrize("name", ["i0", "special.i1", "special.modified_bessel_i0", "special.modified_bessel_i1"])
def test_infinity_where_the_formula_makes_nan(name: str) -> None:
    function = getattr(torch.special, name.removeprefix("special."))
    x = torch.tensor([math.inf, -math.inf, 1.5])
    found, y = limit(name, function, x)
    assert not found.wrong(y, y).any()
    assert not found.wrong(y, torch.tensor([math.inf, math.inf, float(y[2])])).any()
    assert found.wrong(y, torch.full_like(y, 7.0)).tolist() == [False, False, True]


def test_zeta_beyond_what_its_series_can_do() -> None:
    x, q = torch.tensor([1e33, 3e12, 4.0, 1e33]), torch.tensor([2.0, 1.5, 2.0, -0.5])
    found, y = limit("special.zeta", torch.special.zeta, x, q)
    assert not found.wrong(y, y).any()
    right = torch.tensor([0.0, 0.0, *y[2:].tolist()])
    assert not found.wrong(y, right).any()
    assert found.wrong(y, torch.full_like(y, 7.0)).tolist() == [False, False, True, True]


def test_incomplete_gamma_of_an_a_that_one_swallows() -> None:
    a, x = torch.tensor([5.88e-39, 1e-9, 0.5]), torch.tensor([5.88e-39, 2.0, 2.0])
    for name in ("igamma", "igammac"):
        found, y = limit(name, getattr(torch, name), a, x)
        assert not found.wrong(y, y).any()
        assert found.wrong(y, y * (1 + 1e-4)).tolist() == [False, False, True]


def test_a_loss_that_overflows_in_halves() -> None:
    x = torch.tensor([12.0, -30.0, 0.5], dtype=torch.float16)
    target = torch.tensor([-1.0, 1.0, 1.0], dtype=torch.float16)
    found, y = limit("nn.functional.soft_margin_loss", loss, x, target, dtype="float16")
    right = loss(x.double(), target.double()).half()
    assert float(y[0]) == math.inf
    assert float(right[0]) == 12.0
    for accepted in (y, right):
        assert not found.wrong(y, accepted).any()
    assert found.wrong(y, right * 1.25).all()


def loss(x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.soft_margin_loss(x, target, reduction="none")


def test_airys_function_is_right_as_mathematics_has_it_and_as_pytorch_has_it() -> None:
    x = torch.cat([torch.linspace(-2.2, -2.08, 101), torch.linspace(-12, 3, 151)])
    found, y = limit("special.airy_ai", torch.special.airy_ai, x)
    true = torch.tensor([float(mpmath.airyai(float(value))) for value in x])
    assert float((true - y).abs().max()) > 2e-6
    for right in (y, true):
        assert not found.wrong(y, right).any()
    assert found.wrong(y, true + torch.where(x > 0, 1e-4 * true, 2e-5)).all()


@pytest.mark.parametrize("name", ["short", "int", "long", "byte", "to"])
def test_what_an_integer_cannot_hold_may_become_any(name: str) -> None:
    dtype = {"short": torch.int16, "long": torch.int64, "byte": torch.uint8}.get(name, torch.int32)
    x = torch.tensor([math.nan, math.inf, -math.inf, -1e20, 1e20, 1.75, -2.5, 100.0])
    found, y = limit(name, lambda given: given.to(dtype), x)
    other = y.clone()
    other[:5] = 7
    assert not found.wrong(y, other).any()
    other[5:] += 1
    assert found.wrong(y, other)[5:].all()
    edge = torch.tensor([-32768.0, 32767.0, 32768.0, -32769.0, 2147483520.0, 2147483648.0, -(2.0**63), 2.0**63])
    found, y = limit(name, lambda given: given.to(dtype), edge)
    held = {"short": 2, "byte": 7, "long": 7}.get(name, 5)
    assert int(found.wrong(y, y + 1).sum()) == held


def test_a_running_product_may_lose_what_subnormal_numbers_lose_and_no_more() -> None:
    x = torch.tensor([1e-20, 1e-20, 3e-5, 2.5, 2.5, 2.5, 1e30, 2.0])
    found, y = limit("cumprod", torch.cumprod, x, 0)
    rounded = x.clone()
    for place in range(1, len(x)):
        rounded[place] = rounded[place - 1] * x[place]  # each step in float32
    assert not found.wrong(y, rounded).any()
    assert bool(found.wrong(y, torch.where(y.abs() > 1e-39, y * (1 + 1e-5), y)).any())
    plain, z = limit("cumprod", torch.cumprod, torch.full((20,), 1.5), 0)
    assert plain.wrong(z, z * (1 + 1e-3)).all()
    assert "its terms" not in plain.words


def test_a_product_may_overflow_where_the_sum_does_not() -> None:
    a, b, c = (torch.tensor([one, one]) for one in (3.9187e36, -24.0, 4.53373e36))
    for name, function, kwargs, small in (
        ("addcmul", torch.addcmul, {"value": 3.14}, (a / 8, b, c / 8)),
        ("addcdiv", torch.addcdiv, {"value": 3.14}, (a / 8, b, 1 / (c / 8))),
        ("sub", torch.sub, {"alpha": 75.36}, (a / 8, c / 8)),
    ):
        large = {"addcmul": (a, b, c), "addcdiv": (a, b, 1 / c), "sub": (a, c)}[name]
        found, y = limit(name, function, *large, kwargs=kwargs)
        assert not found.wrong(y, torch.full_like(y, -math.inf)).any(), name
        assert found.wrong(y, torch.full_like(y, -1e38)).all(), name
        found, y = limit(name, function, *small, kwargs=kwargs)  # nothing overflows
        assert found.wrong(y, torch.full_like(y, -math.inf)).all(), name
