"""The audit's families of borders and corners: changes of right kernels that no other family noticed."""

from __future__ import annotations

import math
from typing import Any

import torch
from families_testkit import family, noticed
from torch.nn import functional as F

MAX = 3.4028234663852886e38  # the largest float32


def test_an_operand_beyond_the_dtype_of_the_others_is_rounded_to_it_first() -> None:
    def late(input: Any, other: Any, **options: Any) -> torch.Tensor:
        wide = (one.double() if isinstance(one, torch.Tensor) else one for one in (input, other))
        return torch.div(*wide, **options).to(torch.result_type(input, other))

    for dtype in ("float16", "bfloat16", "float32"):
        found = noticed(family("div", "borders", dtype), late)
        assert f"borders: argument 0 0-d float64 beyond {dtype}" in found
    assert not noticed(family("div", "borders", "float16"), torch.div)


def test_the_largest_float32_stands_beside_what_is_just_above_it() -> None:
    def single(value: Any, at: float) -> Any:
        double = isinstance(value, float) or value.dtype is torch.float64
        number = float(value) if double else 0.0
        return torch.tensor(math.copysign(math.inf, number)) if abs(number) > at else value

    def earlier(input: Any, other: Any) -> torch.Tensor:
        return torch.lt(single(input, 3.4028235e38), single(other, 3.4028235e38))

    def of_the_largest(input: Any, other: Any) -> torch.Tensor:
        return torch.lt(single(input, MAX), single(other, MAX))

    def later(input: Any, other: Any) -> torch.Tensor:
        if isinstance(other, float) and abs(other) == 3.4028235677973366e38:
            other = math.copysign(MAX, other)
        return torch.lt(input, other)

    cases = family("lt", "borders")
    for wrong in (earlier, of_the_largest, later):
        assert any("just above" in title for title in noticed(cases, wrong))
    assert not noticed(cases, torch.lt)


def test_numbers_among_the_arguments_are_just_above_the_largest_too() -> None:
    def infinite(value: Any) -> Any:
        return math.inf if isinstance(value, float) and value > MAX else value

    def of_infinite_base(input: Any, exponent: Any) -> torch.Tensor:
        return torch.pow(infinite(input), infinite(exponent))

    found = noticed(family("pow", "borders"), of_infinite_base)
    assert found == ["borders: a number just above the largest as first operand"]

    def of_infinite_spacing(y: torch.Tensor, x: Any = None, *, dx: Any = 1, dim: int = -1) -> torch.Tensor:
        return torch.trapezoid(y, dx=infinite(dx), dim=dim) if x is None else torch.trapezoid(y, x, dim=dim)

    assert noticed(family("trapezoid", "borders"), of_infinite_spacing)

    def of_infinite_tolerance(input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, **options: Any) -> bool:
        return bool(torch.allclose(input, other, infinite(rtol), infinite(atol), **options))

    def takes_all(input: torch.Tensor, negative_slope: float = 0.01, inplace: bool = False) -> torch.Tensor:
        return F.leaky_relu(input, min(negative_slope, MAX), inplace)

    assert noticed(family("allclose", "borders"), of_infinite_tolerance)
    assert noticed(family("nn.functional.leaky_relu", "borders"), takes_all)


def test_data_lie_next_to_a_float64_number() -> None:
    def coarse(input: Any, other: Any) -> torch.Tensor:
        return torch.le(*(one.bfloat16() if one.dtype is torch.float64 else one for one in (input, other)))

    found = noticed(family("le", "borders"), lambda input, other: coarse(*map(torch.as_tensor, (input, other))))
    assert sum("data next to" in title for title in found) == 4


def test_a_lone_float64_number_becomes_a_flag() -> None:
    def as_float32(input: torch.Tensor) -> torch.Tensor:
        return torch.isfinite(input.float())

    assert noticed(family("isfinite", "borders"), as_float32) == ["borders: a lone 0-d float64 1e+300, a flag"]

    def magnitude(input: torch.Tensor) -> torch.Tensor:
        return torch.signbit(input.float()) if input.dtype is not torch.float64 else input < 0

    assert "borders: a lone 0-d float64 minus 0, a flag" in noticed(family("signbit", "borders"), magnitude)


def test_rows_overflow_in_the_dtype_that_is_asked_for() -> None:
    def late(input: Any, dim: Any = None, dtype: Any = None) -> torch.Tensor:
        return F.log_softmax(input.float(), dim).to(dtype or input.dtype)

    for dtype in ("float32", "bfloat16"):
        cases = [case for case in family("log_softmax", "precisions", dtype) if "large values" in case.title]
        assert any(bool(case.args[0].gt(65536.0).any()) and case.args[0].numel() > 1 for case in cases)
        assert any(title.endswith("large values") for title in noticed(cases, late))


def test_a_weight_stands_beside_no_elements_many_and_longer_ones() -> None:
    def of_lanes(input: Any, target: Any, *args: Any, weight: Any = None, **options: Any) -> torch.Tensor:
        """The sum of the weights has 1 in each lane without a part."""
        result = F.mse_loss(input, target, *args, weight=weight, **options)
        if weight is None or options.get("reduction", "mean") != "mean":
            return result
        total = weight.sum()
        parts = -(-weight.numel() // 1024)
        return result.nan_to_num() * total / (total + {0: 1, 1: 0}.get(parts, -parts % 4))

    found = noticed(family("nn.functional.mse_loss", "corners"), of_lanes)
    assert {"corners: weight, no elements", "corners: weight, 3000 elements and more"} <= set(found)

    def of_spread_weights(input: Any, target: Any, *args: Any, weight: Any = None, **options: Any) -> torch.Tensor:
        if weight is not None:
            input, target, weight = torch.broadcast_tensors(input, target, weight)
        return F.mse_loss(input, target, *args, weight=weight, **options)

    found = noticed(family("nn.functional.mse_loss", "corners"), of_spread_weights)
    assert found == ["corners: weight, 1000 times as many in argument 1"]


def test_only_one_size_is_found() -> None:
    def not_first(input: torch.Tensor, shape: Any) -> torch.Tensor:
        sizes, seen = list(shape), -1
        for place, size in enumerate(sizes):
            if size == -1:
                if seen > 0:
                    raise RuntimeError("only one dimension can be inferred")
                seen = place
        return torch.reshape(input, [1 if size == -1 and at != seen else size for at, size in enumerate(sizes)])

    assert "corners: argument 1 with minus 1 alone, refused" in noticed(family("reshape", "corners"), not_first)


def test_a_dtype_is_refused_without_elements_too() -> None:
    def by_its_copy(a: torch.Tensor, **options: Any) -> Any:
        return torch.linalg.inv_ex(a if a.numel() else a.float(), **options)

    found = noticed(family("linalg.inv_ex", "corners"), by_its_copy)
    assert "corners: no elements, argument 0 in float16" in found


def test_nothing_lies_along_an_axis_beside_each_word() -> None:
    def refuses(input: torch.Tensor, *args: Any, **options: Any) -> torch.Tensor:
        if min(input.shape[2:]) == 0:
            raise RuntimeError("expected input to have non-zero size for non-batch dimensions")
        return F.interpolate(input, *args, **options)

    found = noticed(family("nn.functional.interpolate", "corners"), refuses)
    assert {title.split(":")[1].strip() for title in found} == {"area"}
    assert any("of 4, every list one" in title for title in found)


def test_labels_lie_one_after_another() -> None:
    def from_the_beginning(log_probs: Any, targets: Any, inputs: Any, sizes: Any, *args: Any, **options: Any) -> Any:
        if targets.dim() == 1:  # each sample's labels begin where the first one's do
            targets = torch.stack([targets[: max(map(int, sizes))]] * len(sizes))
        return F.ctc_loss(log_probs, targets, inputs, sizes, *args, **options)

    cases = [case for case in family("nn.functional.ctc_loss", "corners") if "one after another" in case.title]
    assert noticed(cases, from_the_beginning) == [case.title for case in cases]
    assert cases


def test_channels_lie_last_beside_each_dimension() -> None:
    def forgets_the_last(tensors: Any, dim: int = 0) -> torch.Tensor:
        if dim == tensors[0].dim() and tensors[0].stride(1) == 1:
            raise IndexError("list index out of range")
        return torch.stack(tensors, dim)

    assert noticed(family("stack", "corners"), forgets_the_last) == ["corners: channels last, argument 1 4 of 5"]


def test_eight_axes_are_broadcast_in_turn() -> None:
    def of_seven(input: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        shape = torch.broadcast_shapes(input.shape, mask.shape)
        if len(shape) > 7 and 1 not in shape:
            input = input.narrow(-2, 0, 1)
        return torch.masked_select(input, mask)

    found = noticed(family("masked_select", "corners"), of_seven)
    assert found == ["corners: eight dimensions, broadcast in turn"]


def test_one_dimension_is_named_of_tensors_that_have_none() -> None:
    def counts(a: torch.Tensor, b: torch.Tensor, dims: Any = None, **options: Any) -> torch.Tensor:
        if dims is not None and len(dims) > a.dim():
            raise RuntimeError("more dims than A has dimensions")
        return torch.linalg.tensorsolve(a, b, dims, **options)

    found = noticed(family("linalg.tensorsolve", "corners"), counts)
    assert "corners: no dimension, argument dims with 0 alone" in found
