"""What one result may be: exact, rounding and accumulating operators, overflow, subnormal numbers, signs of zero."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import mpmath
import pytest
import torch

from bringup.accuracy import Arithmetic, Limit, Standard, copy_arguments

FLUSHING = Arithmetic(subnormals=False)


def limit(name: str, function: Callable[..., Any], *args: Any, dtype: str = "float32", **kwargs: Any) -> Limit:
    """The limit of the only output of a call."""
    after = copy_arguments(args, kwargs)
    found = Standard(name, function, dtype).limits(args, kwargs, function(*after[0], **after[1]), after)
    assert found.outputs[0] is not None, found.reason
    return found.outputs[0]


def test_integers_are_data_where_an_overload_wants_its_out() -> None:
    """`aten::sinc.out` cannot be called without: what its result would be is asked with integers for it."""

    def sinc(x: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor:
        return torch.sinc(x, out=out)

    x, out = torch.tensor([1, 2, -3], dtype=torch.int32), torch.zeros(3)
    after = ((x,), {"out": torch.sinc(x)})
    standard = Standard("sinc", sinc, "int32", written=("out",))
    [found] = standard.limits((x,), {"out": out}, after[1]["out"], after).outputs
    assert found is not None
    assert not found.wrong(after[1]["out"], torch.zeros(3)).any()  # sin(pi) is 0, whatever float64 makes of it
    assert found.wrong(after[1]["out"], torch.full((3,), 1e-5)).all()


def right(found: Limit, expected: torch.Tensor, *values: float) -> list[bool]:
    """Which of the values may stand for a result of one element."""
    return [not bool(found.wrong(expected, torch.full_like(expected, value)).any()) for value in values]


def test_a_nan_in_one_row_narrows_no_other() -> None:
    x = torch.tensor([[0.5, -1.0, 6.375], [math.nan, 1.0, 2.0]], dtype=torch.bfloat16)
    found = limit("log_softmax", torch.log_softmax, x, 1, dtype="bfloat16")
    assert bool((found.allowed[0] > 1e-6).all())  # 2 and the largest argument, in units of float32
    assert not found.wrong(torch.log_softmax(x, 1), torch.log_softmax(x, 1)).any()


def test_exact_operators_keep_the_sign_of_zero_and_any_nan() -> None:
    x = torch.tensor([-0.0, math.nan, 3.0])
    found = limit("ceil", torch.ceil, x)
    expected = torch.ceil(x)
    assert not found.wrong(expected, expected).any()
    assert found.wrong(expected, torch.tensor([0.0, math.nan, 3.0])).tolist() == [True, False, False]
    other = torch.tensor([0x7FC00001], dtype=torch.int32).view(torch.float32)
    assert not found.wrong(expected, torch.cat([expected[:1], -other, expected[2:]])).any()
    assert found.wrong(expected, torch.tensor([-0.0, 0.0, 3.0])).tolist() == [False, True, False]


def test_which_of_two_equal_zeros_a_maximum_gives_is_open() -> None:
    a, b = torch.tensor([0.0]), torch.tensor([-0.0])
    assert right(limit("maximum", torch.maximum, a, b), torch.maximum(a, b), 0.0, -0.0, 1e-40) == [True, True, False]


def test_rounding_operators_have_their_units_around_the_exact_result() -> None:
    x = torch.tensor([3.0])
    found, y = limit("exp", torch.exp, x), torch.exp(x)
    step = 2.0**-19  # of numbers around 20
    assert right(found, y, float(y) + 2 * step, float(y) + 4 * step) == [True, False]
    assert "3 units in the last place" in found.words
    half = torch.tensor([3.0], dtype=torch.bfloat16)
    found, y = limit("exp", torch.exp, half, dtype="bfloat16"), torch.exp(half)
    assert right(found, y, float(y), float(y) + 0.125) == [True, False]


def test_overflow_and_gradual_underflow_are_part_of_the_result() -> None:
    for value, good, bad in ((89.0, math.inf, 3.4e38), (88.5, 2.7189e38, math.inf)):
        x = torch.tensor([value])
        y = torch.exp(x)
        found = limit("exp", torch.exp, x)
        assert right(found, y, float(y), bad) == [True, False], (value, good)
    x = torch.tensor([-95.0])
    found, y = limit("exp", torch.exp, x), torch.exp(x)
    assert 0 < float(y) < torch.finfo(torch.float32).smallest_normal
    assert right(found, y, float(y), 0.0) == [True, False]


def test_an_added_logarithm_cancels_with_the_larger_argument() -> None:
    """Float32 arithmetic, each step rounded, is right where the terms cancel; a lost second term is not."""
    a = torch.tensor([-0.6, -0.1, 0.0])
    b = torch.log(-torch.expm1(a)) + 1e-3  # the sum of the exponentials is nearly 1
    b[2] = -40.0
    for name, function in (("logaddexp", torch.logaddexp), ("logaddexp2", torch.logaddexp2)):
        scale = 1.0 if name == "logaddexp" else math.log(2)
        found, expected = limit(name, function, a, b), function(a, b)
        steps = torch.maximum(a, b) + torch.log1p(torch.exp(-(a - b).abs() * scale)) / scale
        assert not found.wrong(expected, steps).any(), name
        assert found.wrong(expected, torch.maximum(a, b)).tolist() == [True, True, True], name


def test_bessel_functions_far_out_are_right_by_pytorch_and_by_mathematics() -> None:
    """PyTorch's expansion beyond 5 is not exact in double precision either; mpmath's value is 3.2e-7 off it."""
    x = torch.tensor([5.0746846199, 1e-6])
    found, expected = limit("special.bessel_j1", torch.special.bessel_j1, x), torch.special.bessel_j1(x)
    exact = torch.tensor([float(mpmath.besselj(1, mpmath.mpf(float(value)))) for value in x])
    assert float((exact - expected)[0].abs()) > 2e-7
    assert not found.wrong(expected, exact).any()
    assert found.wrong(expected, exact * (1 + 1e-5)).tolist() == [True, True]
    assert found.wrong(expected, torch.zeros(2)).all()


def test_the_mean_beside_a_variance_is_bounded_as_a_mean() -> None:
    x = torch.linspace(-3, 3, 1 << 16) * torch.tensor([1.0, -1.0]).repeat(1 << 15) + 1e-4
    for name, function in (("var_mean", torch.var_mean), ("std_mean", torch.std_mean)):
        after = copy_arguments((x,), {})
        expected = function(*after[0])
        found = Standard(name, function, "float32").limits((x,), {}, expected, after).outputs
        assert found[0] is not None
        assert found[1] is not None
        blocks = torch.stack([block.sum() for block in x.split(1 << 8)]).sum() / x.numel()
        assert not found[1].wrong(expected[1], blocks).any()
        assert found[1].wrong(expected[1], expected[1] + 1e-1).all()
        assert "summing 65536 terms" in found[1].words
        assert "summing" not in found[0].words


def test_squares_of_tiny_numbers_may_be_lost() -> None:
    x = torch.tensor([1.0, 3.0, -2.0]) * 2.0**-70
    found, y = limit("std", torch.std, x), torch.std(x)
    assert right(found, y, float(y), 0.0) == [True, True]
    x = x * 2.0**20
    found, y = limit("std", torch.std, x), torch.std(x)
    assert right(found, y, float(y), 0.0) == [True, False]


def test_a_chip_may_flush_subnormal_numbers() -> None:
    x = torch.tensor([-95.0, 1.0])
    after = copy_arguments((x,), {})
    y = torch.exp(x)
    [found] = Standard("exp", torch.exp, "float32").limits((x,), {}, y, after, arithmetic=FLUSHING).outputs
    assert found is not None
    assert found.wrong(y, torch.tensor([0.0, float(y[1])])).tolist() == [False, False]
    assert found.wrong(y, torch.tensor([0.0, 0.0])).tolist() == [False, True]


def flushing(name: str, function: Callable[..., Any], *args: Any, dtype: str = "float32") -> tuple[Limit, torch.Tensor]:
    """The limit of the only output of a call on a device that flushes, and PyTorch's result."""
    after = copy_arguments(args, {})
    result = function(*after[0])
    [found] = Standard(name, function, dtype).limits(args, {}, result, after, arithmetic=FLUSHING).outputs
    assert found is not None
    return found, result


def test_a_chip_may_flush_subnormal_arguments() -> None:
    x = torch.tensor([1e-40, -1e-40, 2e-38, 0.5])
    found, y = flushing("ceil", torch.ceil, x)
    assert not found.wrong(y, y).any()
    assert not found.wrong(y, torch.tensor([0.0, -0.0, 1.0, 1.0])).any()  # 1e-40 taken for zero: 0, not 1
    assert found.wrong(y, torch.tensor([0.0, 0.0, 0.0, 0.0])).tolist() == [False, True, True, True]
    found, y = flushing("hypot", torch.hypot, torch.tensor([1e-40]), torch.tensor([2e-40]))
    assert right(found, y, float(y), 0.0, 1e-30) == [True, True, False]
    x = torch.tensor([1e-40, 1.0])
    [limit_of_flags] = (
        Standard("gt", torch.gt, "float32").limits((x, 0), {}, x > 0, ((x, 0), {}), arithmetic=FLUSHING).outputs
    )
    assert limit_of_flags is not None
    assert limit_of_flags.wrong(x > 0, torch.tensor([False, True])).tolist() == [False, False]
    assert limit_of_flags.wrong(x > 0, torch.tensor([False, False])).tolist() == [False, True]


def test_arguments_may_be_flushed_where_a_tolerance_decides() -> None:
    args, kwargs = (torch.tensor([1e-40, 3.0]), torch.tensor([-2.0, -2.0])), {"out": torch.empty(2).double()}
    after = copy_arguments(args, kwargs)
    y = torch.remainder(*after[0], **after[1])
    standard = Standard("remainder", torch.remainder, "float32", written=("out",))
    [found] = standard.limits(args, kwargs, y, after).outputs
    assert found is None
    [found] = standard.limits(args, kwargs, y, after, arithmetic=FLUSHING).outputs
    assert found is not None
    assert found.tolerance
    found = found.within(1e-6, 1e-5)
    assert not found.wrong(y, y + 1e-6).any()  # -2 and -1
    assert not found.wrong(y, torch.tensor([0.0, -1.0]).double()).any()
    assert found.wrong(y, torch.tensor([-1.0, 0.0]).double()).all()
    x = torch.tensor([0.5, 2.0])
    y = torch.remainder(x, 2.0, out=kwargs["out"])
    [found] = standard.limits((x, 2.0), kwargs, y, ((x, 2.0), kwargs), arithmetic=FLUSHING).outputs
    assert found is None  # nothing to flush


def test_subnormals_of_float16_are_numbers_like_others() -> None:
    x = torch.tensor([1e-6, 6e-8], dtype=torch.float16)
    found, y = flushing("neg", torch.neg, x, dtype="float16")
    assert not found.wrong(y, y).any()
    assert found.wrong(y, torch.zeros_like(y)).all()
    found, y = flushing("exp", torch.exp, torch.tensor([-12.0], dtype=torch.float16), dtype="float16")
    assert right(found, y, float(y), 0.0) == [True, False]


def test_without_subnormal_arguments_nothing_else_is_allowed() -> None:
    x = torch.tensor([0.25, -3.5])
    found, y = flushing("ceil", torch.ceil, x)
    assert found.flushed is None
    assert found.wrong(y, y + 1).all()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("offset", [0.0, 100.0])
def test_any_order_of_summing_is_right(seed: int, offset: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(3000, generator=generator) + offset
    found, y = limit("sum", torch.sum, x), torch.sum(x)
    for order in (torch.arange(3000), torch.argsort(x), torch.argsort(x.abs(), descending=True)):
        assert not found.wrong(y, x[order].cumsum(0)[-1]).any()
        blocks = x[order].reshape(30, 100).sum(1)
        assert not found.wrong(y, blocks.flip(0).cumsum(0)[-1]).any()
    assert right(found, y, float(y) + 8.0) == [False] or offset


def test_short_sums_show_a_lower_precision() -> None:
    x = torch.randn(40, generator=torch.Generator().manual_seed(3))
    found, y = limit("sum", torch.sum, x), torch.sum(x)
    assert right(found, y, float(x.flip(0).cumsum(0)[-1]), float(x.bfloat16().sum())) == [True, False]


def test_sums_that_are_exact_in_any_order_are_held_to_it() -> None:
    x = torch.ones(1 << 20)
    x[::3] = -1.0
    found, y = limit("sum", torch.sum, x), torch.sum(x)
    assert right(found, y, float(y), float(y) + 1, float(y) - 1) == [True, False, False]
    assert "exact in float32" in found.words


def test_condition_is_the_sum_of_sizes_not_the_size_of_the_result() -> None:
    a, b = torch.tensor([[1e4, 1.0, -1e4]]), torch.tensor([[1.0], [0.3], [1.0]])
    found, y = limit("mm", torch.mm, a, b), torch.mm(a, b)
    assert right(found, y, 0.3, 0.3 + 2**-10, 0.4, 0.0) == [True, True, False, False]
    found = limit("mm", torch.mm, a[:, 1:2], b[1:2])
    assert right(found, torch.mm(a[:, 1:2], b[1:2]), 0.3 + 2**-10) == [False]


def test_the_difference_of_two_distances_is_as_good_as_the_distances() -> None:
    """However little it is itself: each of them is rounded, and both begin at the same point."""
    draw = torch.Generator().manual_seed(3)
    anchor = (10.0 ** (torch.rand(47, 427, generator=draw) * 5 - 0.3)).int()
    near, far = (torch.randint(-9, 9, (47, 427), generator=draw).int() for _ in range(2))

    def other_order(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        apart = one.float() - other.float() + 1e-6
        return (apart * apart).cumsum(-1)[:, -1].sqrt()

    loss = torch.nn.functional.triplet_margin_loss
    for how in ("sum", "mean", "none"):
        found = limit("nn.functional.triplet_margin_loss", loss, anchor, near, far, dtype="int32", reduction=how)
        y = loss(anchor, near, far, reduction=how)
        every = (other_order(anchor, near) - other_order(anchor, far) + 1.0).relu()
        by_hand = every.sum() if how == "sum" else every.mean() if how == "mean" else every
        assert not found.wrong(y, by_hand).any()
        assert found.wrong(y, by_hand * 1.2).any()


def test_a_number_in_the_place_of_an_operand_is_rounded_as_an_element_is() -> None:
    """Next to a zero of the polynomial what rounding changes is more than the result's own units."""
    x, n = 0.3453837978032905, torch.tensor([4.374])
    found = limit("special.legendre_polynomial_p", torch.special.legendre_polynomial_p, x, n)
    y = torch.special.legendre_polynomial_p(x, n)
    beside = torch.special.legendre_polynomial_p(torch.tensor([x]), n)
    other = limit("special.legendre_polynomial_p", torch.special.legendre_polynomial_p, torch.tensor([x]), n)
    assert right(found, y, -0.010080665349960327, -0.01009) == [True, False]
    assert right(other, beside, -0.010080665349960327, -0.01009) == [True, False]


def test_a_naive_variance_is_wrong() -> None:
    x = 1000 + torch.arange(64) / 8
    found, y = limit("var", torch.var, x), torch.var(x)
    naive = ((x * x).mean() - x.mean() ** 2) * 64 / 63
    assert right(found, y, float(y), float(naive), float(y) * 1.001) == [True, False, False]
    two_pass = ((x - x.mean()) ** 2).sum() / 63
    assert right(found, y, float(two_pass)) == [True]


def test_lerp_is_held_to_the_nearer_end() -> None:
    one, other, weight = torch.tensor([1e8]), torch.tensor([1.0]), torch.tensor([1.0])
    found, y = limit("lerp", torch.lerp, one, other, weight), torch.lerp(one, other, weight)
    assert right(found, y, 1.0, 0.0) == [True, False]


def test_integers_become_float32_first() -> None:
    x = torch.tensor([(1 << 24) + 1])
    found, y = limit("sin", torch.sin, x, dtype="int64"), torch.sin(x)
    assert right(found, y, float(y), math.sin((1 << 24) + 1)) == [True, False]


def test_a_written_argument_has_a_limit_of_its_own() -> None:
    x, out = torch.tensor([1.0]), torch.zeros(1)
    after = ((x,), {"out": torch.exp(x)})
    found = Standard("exp", torch.exp, "float32").limits((x,), {"out": out}, torch.exp(x), after)
    assert [one is not None for one in (*found.outputs, *found.after)] == [True, True, True]
    assert found.after[1] is not None
    assert right(found.after[1], torch.exp(x), math.e, 2.7) == [True, False]


def test_an_argument_may_make_an_exact_operator_compute() -> None:
    weight, index = torch.tensor([[3.0, 4.0]]), torch.tensor([0])
    call = torch.nn.functional.embedding
    assert limit("nn.functional.embedding", call, index, weight).exact is None
    found = limit("nn.functional.embedding", lambda i, w, **k: call(i, w.clone(), **k), index, weight, max_norm=1.0)
    assert found.exact is not None


def test_no_exact_reference_is_said() -> None:
    x = torch.eye(2)
    found = Standard("linalg.svd", torch.linalg.svd, "float32").limits((x,), {}, torch.linalg.svd(x), ((x,), {}))
    assert list(found.outputs) == [None, None, None]
    assert "sign" in found.reason


def test_another_order_in_fewer_bits_is_told_from_a_mistake() -> None:
    x = torch.randn(4096, generator=torch.Generator().manual_seed(3))
    found = limit("sum", torch.sum, x)
    assert found.allowed is not None
    near = (torch.sum(x).double() + 3 * found.allowed).float()
    assert found.reordered(near)
    assert not found.reordered(torch.sum(x) + 50.0)


def test_sums_under_a_mask_have_the_bound_of_sums() -> None:
    x, mask = torch.arange(1.0, 9.0) / 3, torch.tensor([True, False] * 4)

    def masked(x: torch.Tensor, *, mask: torch.Tensor) -> torch.Tensor:
        return x.masked_fill(~mask, 0).sum()

    found = limit("masked.sum", masked, x, mask=mask)
    assert "the error bound of summing" in found.words
    exact = float(x.double()[mask].sum())
    assert right(found, masked(x, mask=mask), exact, exact * (1 + 2.0**-20), float(x.sum())) == [True, False, False]


def test_float64_results_where_nothing_computes_in_float64() -> None:
    x = torch.tensor([0.1, -3.7, 9.2])
    call = (x,), {"dim": 0, "dtype": torch.float64}
    exact = torch.softmax(*call[0], **call[1])
    [wide] = Standard("softmax", torch.softmax, "float32").limits(*call, exact, call).outputs
    assert wide is None  # PyTorch's own result and the tolerance of float64 decide
    chip = Arithmetic(doubles=False)
    [limit] = Standard("softmax", torch.softmax, "float32").limits(*call, exact, call, arithmetic=chip).outputs
    assert limit is not None
    found = torch.softmax(x, 0).double()  # what float32 arithmetic finds
    assert not bool(limit.wrong(exact, found).any())
    assert bool(limit.wrong(exact, found * (1 + 1e-4)).all())
    # An out of float64 is no data: the integers are, and become float32.
    number, out = torch.tensor([4]), torch.empty(1, dtype=torch.float64)
    exact = torch.sinc(number, out=out)
    kwargs = {"out": out}
    limits = Standard("sinc", torch.sinc, "int64").limits(
        (number,), kwargs, exact, ((number,), kwargs), arithmetic=chip
    )
    assert limits.outputs[0] is not None
    assert right(limits.outputs[0], exact, 0.0, 2.8e-8, 1e-6) == [True, True, False]
    # What float32 has no number for is infinite in a float64, too.
    x = torch.tensor([3e38])
    call = ((x, x), kwargs)
    limits = Standard("add", torch.add, "float32").limits(*call, torch.add(x, x, out=out), call, arithmetic=chip)
    assert limits.outputs[0] is not None
    assert right(limits.outputs[0], out, 2 * float(x), math.inf, -math.inf) == [True, True, False]
    # But where they stay integers they wrap.
    number = torch.tensor([(1 << 63) - 1])
    wrapped = torch.add(number, number, out=out)
    call = ((number, number), kwargs)
    limits = Standard("add", torch.add, "int64").limits(*call, wrapped, call, arithmetic=chip)
    assert limits.outputs[0] is not None
    assert right(limits.outputs[0], wrapped, -2.0, 2.0**64) == [True, False]


def test_terms_of_sums_may_be_rounded_to_the_dtype_that_a_call_names() -> None:
    x = torch.tensor([1.0 + 2.0**-11, 1.0 + 2.0**-11, -2.0])
    call = ((x,), {"dtype": torch.float16})
    y = torch.sum(x, dtype=torch.float16)
    [found] = Standard("sum", torch.sum, "float32").limits(*call, y, call).outputs
    assert found is not None
    assert right(found, y, 0.0, 2.0**-10, 2.0**-7) == [True, True, False]
    half = torch.tensor([1.0 + 2.0**-10] * 5, dtype=torch.float16)  # ten bits behind the point: bfloat16 has seven
    call = ((half,), {"dtype": torch.bfloat16})
    y = torch.sum(half, dtype=torch.bfloat16)
    [found] = Standard("sum", torch.sum, "float16").limits(*call, y, call).outputs
    assert found is not None
    assert right(found, y, 5.0, 5.25) == [True, False]
    call = ((half,), {"dtype": torch.float16})
    [found] = Standard("sum", torch.sum, "float16").limits(*call, torch.sum(half), call).outputs
    assert found is not None
    assert right(found, torch.sum(half), 5.0) == [False]


def test_roundings_of_equal_terms_are_equal() -> None:
    """Float32 sums from first to last: where most squares are the same number, so is the error of each."""
    x = torch.zeros(7, 2051)
    for row in range(7):
        x[row, : 200 + 37 * row] = -1.0
        x[row, 1500:] = 1.0 / (1 + row)
    call = ((x,), {"dim": -1})
    y = torch.var(x, dim=-1)
    [found] = Standard("var", torch.var, "float32").limits(*call, y, call).outputs
    assert found is not None
    off = x - x.mean(-1, keepdim=True)
    squares = torch.zeros(7)
    for column in range(x.shape[1]):
        squares = squares + off[:, column] * off[:, column]
    assert not found.wrong(y, squares / 2050).any()
    assert found.wrong(y, squares / 2051).all()  # another divisor
    shifted = x + 1000.0
    call = ((shifted,), {"dim": -1})
    [found] = Standard("var", torch.var, "float32").limits(*call, torch.var(shifted, dim=-1), call).outputs
    assert found is not None
    naive = (shifted.square().mean(-1) - shifted.mean(-1).square()) * 2051 / 2050
    assert found.wrong(torch.var(shifted, dim=-1), naive).any()


def test_the_cosine_of_opposite_vectors_is_rounded_on_the_way() -> None:
    """Its slope is nearly zero there: what rounding the arguments can change says nothing of the norms' roundings."""
    a = torch.tensor([[4.914023399353027, -7.777543544769287]])
    b = torch.tensor([[-2.5431482791900635, 3.5795207023620605]])
    call = ((a, b), {"dim": -1})
    y = torch.nn.functional.cosine_similarity(a, b, dim=-1)
    function = torch.nn.functional.cosine_similarity
    [found] = Standard("nn.functional.cosine_similarity", function, "float32").limits(*call, y, call).outputs
    assert found is not None
    exact = function(a.double(), b.double(), dim=-1)
    assert not found.wrong(y, (exact - 2.1e-7).float()).any()
    assert found.wrong(y, (exact + 2e-6).float()).all()


@pytest.mark.parametrize("degree", [0.07, 0.3, 1.0, 3.0, -0.2])
def test_the_root_of_a_norm_multiplies_what_its_sum_is_off_by(degree: float) -> None:
    """A sum of 125 powers, each within two units, in a straight line; one that is off by 2^-12 never passes."""
    draw = torch.Generator().manual_seed(0)
    x, y = torch.rand(125, generator=draw) + 0.5, torch.rand(125, generator=draw) - 1
    found = limit("dist", torch.dist, x, y, degree)
    total = torch.zeros(())
    for term in (x - y).abs().pow(degree) * (1 + 2.0**-22):
        total = total + term
    result = total.pow(torch.tensor(1 / degree))
    expected = torch.dist(x, y, degree)
    assert right(found, expected, result.item(), result.item() * (1 + 2.0**-12)) == [True, False]


def test_elements_that_share_memory_are_rounded_apart() -> None:
    """The mean of three equal numbers need not be that number, and their deviation not 0."""
    x = torch.tensor([[-1.857764482498169], [2.5]]).expand(2, 3)
    found, expected = limit("std", torch.std, x, 1), torch.zeros(2)
    assert not found.wrong(expected, torch.tensor([1.46e-7, 0.0])).any()
    assert found.wrong(expected, torch.full((2,), 1e-4)).all()


def test_a_tensor_that_is_given_twice_is_rounded_twice() -> None:
    """The integral of x over x telescopes; its terms, added one by one, are off by more than two ends can tell."""
    for seed in range(20):
        x = torch.randn(5, 7, generator=torch.Generator().manual_seed(seed)) * 5
        found = limit("cumulative_trapezoid", torch.cumulative_trapezoid, x, x)
        expected = torch.cumulative_trapezoid(x, x)
        terms = (x[:, 1:] - x[:, :-1]) * (x[:, 1:] + x[:, :-1]) / 2
        added = [terms[:, 0]]
        for term in terms.T[1:]:
            added.append(added[-1] + term)
        assert not found.wrong(expected, torch.stack(added, 1)).any()
        assert found.wrong(expected, expected * (1 + 1e-3)).double().mean() > 0.5


def test_what_is_written_through_shared_memory_stays_shared() -> None:
    x = torch.tensor([0.5, 2.0, 3.0])
    found = limit("mul", lambda a, b: a.mul_(b), x, x)
    assert right(found, torch.tensor([0.25, 4.0, 9.0]), 1.0) == [False]
    assert not found.wrong(torch.tensor([0.25, 4.0, 9.0]), torch.tensor([0.25, 4.0, 9.0])).any()


def test_a_sum_is_not_exact_because_its_divisor_is_large() -> None:
    x = torch.rand(1, 2, 6, 6, 6, generator=torch.Generator().manual_seed(3))
    windows = x.unfold(2, 3, 3).unfold(3, 3, 3).unfold(4, 3, 3).reshape(1, 2, 2, 2, 2, 27)
    for divisor in (7, 65931, -65931):
        total = torch.zeros(1, 2, 2, 2, 2)
        for term in windows.unbind(-1):
            total = total + term
        found = limit("nn.functional.avg_pool3d", torch.nn.functional.avg_pool3d, x, 3, divisor_override=divisor)
        assert "exact in float32" not in found.words
        assert not found.wrong(total / divisor, total / divisor).any()
    whole = torch.arange(16.0).reshape(1, 1, 2, 2, 4)
    found = limit("nn.functional.avg_pool3d", torch.nn.functional.avg_pool3d, whole, 2, divisor_override=65931)
    assert "exact in float32" in found.words


def test_nothing_is_known_of_the_same_elements_of_an_out() -> None:
    """`igammac` of an `a` below what 1 + a can hold, as a result and as what is written."""
    a, x = torch.tensor([1e-38, 0.5]), torch.tensor(2.0)

    def function(a: torch.Tensor, x: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor:
        return torch.special.gammaincc(a, x, out=out)

    out = torch.empty(2)
    function(a, x, out=out)
    standard = Standard("igammac", function, "float32", written=("out",))
    found = standard.limits((a, x), {"out": torch.zeros(2)}, out, ((a, x), {"out": out}))
    for one in (found.outputs[0], found.after[2]):
        assert one is not None
        assert one.wrong(out, torch.full((2,), 0.75)).tolist() == [False, True]
    assert found.after[0] is not None
    assert found.after[0].open is None


@pytest.mark.parametrize(("name", "turned"), [("fmod", False), ("remainder", False), ("__rmod__", True)])
def test_of_a_remainder_whose_quotient_overflows_nothing_is_known(name: str, turned: bool) -> None:
    """PyTorch's vectorised kernels say NaN there, and those for few elements 0: what it says hangs on the processor."""
    x, y = torch.tensor([3e38, 7.0, 3e38]), torch.tensor([0.5, 2.0, 1e30])
    function = torch.remainder if name == "remainder" else torch.fmod
    args = (y, x) if turned else (x, y)
    standard = Standard(name, lambda one, other: function(other, one) if turned else function(one, other), "float32")
    right = function(x, y)
    (limit,) = standard.limits(args, {}, right, (args, {})).outputs
    assert limit is not None
    assert limit.wrong(right, torch.tensor([0.0, 1.0, float(right[2])])).tolist() == [False, False, False]
    assert limit.wrong(right, torch.tensor([0.0, 0.0, float(right[2]) + 1e29])).tolist() == [False, True, True]


def test_what_is_rounded_first_is_infinite_beyond_the_half_precisions_range() -> None:
    x, out = torch.tensor([60000.0], dtype=torch.float16), torch.empty(1, dtype=torch.float64)
    infinite, finite = torch.tensor([math.inf], dtype=torch.float64), torch.tensor([120000.0], dtype=torch.float64)

    def limit_of(rounded: bool) -> Limit | None:
        standard = Standard("add", torch.add, "float16", rounded=rounded)
        return standard.limits((x, x), {"out": out}, infinite, ((x, x), {"out": infinite})).outputs[0]

    assert limit_of(False) is None  # a device with float64 is held against PyTorch's own result
    found = limit_of(True)
    assert found is not None
    assert found.wrong(infinite, finite).all()
    assert not found.wrong(infinite, infinite).any()


def test_beside_a_pole_far_out_nothing_is_asked() -> None:
    """PyTorch's series take a step for each whole number from there to 0."""
    x = torch.tensor([1.0, 2.5, -1e10])
    standard = Standard("polygamma", torch.polygamma, "float32")
    began = time.monotonic()
    (limit,) = standard.limits((5, x), {}, torch.polygamma(5, x), ((5, x), {})).outputs
    assert limit is not None
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("args", [(1,), (-1, True), ()])
def test_a_product_may_be_multiplied_in_any_order(args: tuple[Any, ...]) -> None:
    x = torch.tensor([[1e-30, 1e-20, 1e30, 3.0], [1e30, 1e20, 1e-30, 1.0], [1.5, 2.0, 3.0, 1.0]])
    for row, right in zip(x, ([3e-20, 0.0], [1e20, math.inf, math.nan], [9.0]), strict=True):
        data = row[None] if args else row
        found, y = limit("prod", torch.prod, data, *args), torch.prod(data, *args)
        for value in (3e-20, 0.0, 1e20, math.inf, 9.0, 10.0):
            assert bool(found.wrong(y, torch.full_like(y, value)).any()) == (value not in right)
        assert bool(found.wrong(y, torch.full_like(y, math.nan)).any()) == (not any(map(math.isnan, right)))
