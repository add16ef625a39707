"""What an error is measured by beside the result: sizes of the terms that are added up, and how the result moves.

All functions return float64 tensors that broadcast to the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.nn._reduction import get_enum, legacy_get_enum
from torch.nn.functional import pairwise_distance

from bringup.accuracy._flushing import SMALLEST
from bringup.accuracy._numbers import quantum
from bringup.accuracy._twin import Change, Twin, copy_arguments, leaves, perturbation, shares_memory

STEP = 2.0**-20  # relative; far above the rounding of float64, small enough for the change to be linear
UNIT = 2.0**-24  # unit roundoff of float32
SMALLEST_STEP = 2.0**-149  # between subnormal numbers of float32
DRAWS = 4
_FACTORS = ("alpha", "beta")
_TRIPLET = ("anchor", "positive", "negative", "margin", "p", "eps", "swap", "size_average", "reduce", "reduction")


def spread(
    twin: Twin, exact: list[torch.Tensor], draws: int = DRAWS, *, numbers: bool = False, poles: bool = False
) -> list[torch.Tensor]:
    """Return how much each result moves when all arguments move by one unit roundoff of float32, for units of 1.

    The largest of `draws` fixed choices of directions, and of all values growing alike, divided by the unit roundoff;
    0 where a result ceases to be. Choices alone let the changes of many terms cancel, as roundings do that have nothing
    to do with each other: those of equal terms are equal, and their sum is off to one side, in any order but a tree's.
    Elements that share memory (an expanded tensor, one that is given twice) move apart as well: each is rounded
    wherever it is used, and a difference of two that are equal would never move.
    `numbers`: floats among the positional arguments are operands, and move as elements do.
    `poles`: arguments stay where the first result is infinite or no number: beside a pole far out, PyTorch's series
    take as many steps as the argument is large.
    """
    still = ~exact[0].isfinite().reshape(-1) if poles and exact and exact[0].is_floating_point() else None
    moved = [torch.zeros_like(one) for one in exact]
    ways = [twin]
    if shares_memory([twin.args, twin.kwargs]):
        apart = twin.apart()
        if _alike(leaves(list(apart.run())), exact):  # nothing is written to what they share
            ways.append(apart)
    runs: list[tuple[Twin, Change | None]] = [
        (way, change) for way in ways for change in (*(perturbation(STEP, draw) for draw in range(draws)), _grown)
    ]
    if numbers and any(type(value) is float for value in twin.args):
        grown = tuple(value * (1 + STEP) if type(value) is float else value for value in twin.args)
        other_numbers = Twin(twin.function, grown, twin.kwargs, scalars=False)
        runs += [(other_numbers, None), (other_numbers, _grown)]
    for way, change in runs:
        result, args, kwargs = way.run(change if change is None or still is None else _but(still, change))
        for size, one, other in zip(moved, exact, leaves([result, args, kwargs]), strict=True):
            if one.shape == other.shape and one.dtype is torch.float64 and other.dtype is torch.float64:
                by = ((other - one).abs() / STEP).nan_to_num(nan=0.0, posinf=0.0)
                torch.maximum(size, by, out=size)
    return moved


def _alike(one: list[torch.Tensor], other: list[torch.Tensor]) -> bool:
    """Whether two runs of one function have given the same, but for the last bits of float64."""
    pairs = list(zip(one, other, strict=True))
    return all(a.shape == b.shape and a.dtype == b.dtype for a, b in pairs) and all(
        torch.allclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True) for a, b in pairs if a.dtype is torch.float64
    )


def _but(still: torch.Tensor, change: Change) -> Change:
    """A change that leaves some elements as they are, of tensors that have as many."""
    return lambda flat: torch.where(still, flat, change(flat)) if flat.numel() == still.numel() else change(flat)


def _grown(flat: torch.Tensor) -> torch.Tensor:
    return flat * (1 + STEP)


def absolute(twin: Twin) -> list[torch.Tensor]:
    """Return the sums of the sizes of the terms: a multilinear operator on the absolute values of its data."""
    made = leaves(list(_factored(twin, torch.abs, abs)))
    return [leaf if leaf.dtype is torch.bool else leaf.abs() for leaf in made]  # a mask among the arguments


def counts(twin: Twin) -> list[torch.Tensor]:
    """Return the numbers of terms: a multilinear operator on ones."""
    return leaves(list(_factored(twin, torch.ones_like, lambda value: type(value)(value != 0))))


def _factored(twin: Twin, change: Callable[[torch.Tensor], torch.Tensor], scalar: Callable[[Any], Any]) -> Any:
    kwargs = {
        name: scalar(value) if name in _FACTORS and isinstance(value, int | float) else value
        for name, value in twin.kwargs.items()
    }
    return Twin(twin.function, twin.args, kwargs, scalars=False).run(change)


def common_divisor(twin: Twin) -> float:
    """Return a power of two that divides every term of a multilinear operator; 0.0 where none is known."""
    args, kwargs = copy_arguments(twin.args, twin.kwargs, widen=True)
    factors = [quantum(leaf) for leaf in leaves([args, kwargs]) if leaf.dtype is torch.float64]
    factors += [
        quantum(torch.tensor(float(value), dtype=torch.float64))
        for name, value in twin.kwargs.items()
        if name in _FACTORS and isinstance(value, int | float)
    ]
    return math.prod(min(1.0, factor) for factor in factors)


Sizes = Callable[[tuple[Any, ...], Mapping[str, Any]], Any]


def _argument(args: tuple[Any, ...], kwargs: Mapping[str, Any], place: int, *names: str) -> Any:
    """Return an argument that was given by position, or by one of its names."""
    return args[place] if len(args) > place else next(kwargs[name] for name in names if name in kwargs)


def root(args: tuple[Any, ...], kwargs: Mapping[str, Any], place: int) -> float:
    """Return by how much a norm of degree p multiplies the relative error of its sum of powers: 1/|p|, at least 1.

    d(s^(1/p)) / s^(1/p) = (1/p) ds/s. `place` is that of p among the arguments.
    """
    try:
        degree = _argument(args, kwargs, place, "p", "ord", "norm_type")
    except StopIteration:
        return 1.0
    if isinstance(degree, bool) or not isinstance(degree, int | float) or not degree:
        return 1.0
    return max(1.0, 1 / abs(degree))


def _factor(kwargs: Mapping[str, Any], name: str) -> float:
    value = kwargs.get(name, 1)
    return 1.0 if value is None else float(value)


def _scaled_second(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """`a + alpha * b`: the product is rounded before it is added, unless it is exact."""
    factor = abs(_factor(kwargs, "alpha"))
    return 0.0 if factor == 1 else factor * _size(_argument(args, kwargs, 1, "other"))


def _scaled_first(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """`b - alpha * a`."""
    factor = abs(_factor(kwargs, "alpha"))
    return 0.0 if factor == 1 else factor * _size(_argument(args, kwargs, 0, "input", "self"))


def _products(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """`a + value * b * c`: two products are rounded before the sum."""
    one, two = (_size(_argument(args, kwargs, place, f"tensor{place}")) for place in (1, 2))
    return 2 * abs(_factor(kwargs, "value")) * one * two


def _quotients(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """`a + value * b / c`: a product, and a quotient of 2.5 units, before the sum."""
    one, two = (_size(_argument(args, kwargs, place, f"tensor{place}")) for place in (1, 2))
    return 6 * abs(_factor(kwargs, "value")) * one / two


def _steps(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """`a + w * (b - a)`, from the nearer end: the difference, the product and the sum are rounded.

    Outside of [0, 1] neither end is near, and either formula will do.
    """
    start, end = _wide(_argument(args, kwargs, 0, "input", "self")), _wide(_argument(args, kwargs, 1, "end"))
    weight = _wide(_argument(args, kwargs, 2, "weight"))
    one, other = weight.abs(), (1 - weight).abs()
    near = torch.where((weight < 0) | (weight > 1), torch.maximum(one, other), torch.minimum(one, other))
    return 3 * near * (end - start).abs()


def _largest_product(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """`a * b - c * d`: two products of elements of the first two tensors."""
    one, two = (_size(_argument(args, kwargs, place, name)) for place, name in ((0, "input"), (1, "other")))
    return 4 * float(one.max()) * float(two.max()) if one.numel() and two.numel() else 0.0


def _distances(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Distances of which a loss takes the difference, summed or averaged as its result is.

    Each is rounded by itself: what moves the anchor moves both and the difference hardly, but roundings do not cancel.
    A distance sums squares in any order: 2 + sqrt(n) / 2 units of it, n its terms.
    """
    given = {**dict(zip(_TRIPLET, args, strict=False)), **kwargs}
    anchor, positive, negative = (_wide(given[name]) for name in _TRIPLET[:3])
    norm, eps = float(given.get("p", 2.0)), float(given.get("eps", 1e-6))
    distance = given.get("distance_function") or (lambda one, other: pairwise_distance(one, other, norm, eps))
    size = distance(anchor, positive).abs() + distance(anchor, negative).abs()
    if given.get("swap"):
        size = size + distance(positive, negative).abs()
    size = (2 + math.sqrt(anchor.shape[-1] if anchor.dim() else 1) / 2) * size
    older = given.get("size_average"), given.get("reduce")
    how = get_enum(given.get("reduction", "mean")) if older == (None, None) else legacy_get_enum(*older, False)
    return size if how == 0 else size.mean() if how == 1 else size.sum()


def _rounded_quotient(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """`div` to whole numbers in a half precision: PyTorch rounds the quotient first, which decides by 1."""
    first = _argument(args, kwargs, 0, "input", "self")
    dtype = first.dtype if isinstance(first, torch.Tensor) else torch.float32
    if kwargs.get("rounding_mode") is None or dtype not in (torch.float16, torch.bfloat16):
        return 0.0
    return 1.0 / float(torch.finfo(dtype).eps)


def _wide(value: Any) -> torch.Tensor:
    return value.detach().double() if isinstance(value, torch.Tensor) else torch.tensor(float(value)).double()


def _size(value: Any) -> Any:
    return _wide(value).abs()


def _added_logarithm(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """`max(a, b) + log(1 + exp(-|a - b|))`: the second term takes three roundings."""
    one, two = (_wide(_argument(args, kwargs, place, name)) for place, name in ((0, "input"), (1, "other")))
    return 3 * torch.log1p(torch.exp(-(one - two).abs()))


def _added_binary_logarithm(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """The same in base 2."""
    one, two = (_wide(_argument(args, kwargs, place, name)) for place, name in ((0, "input"), (1, "other")))
    return 3 * torch.log1p(torch.exp2(-(one - two).abs())) / math.log(2)


def _asymptotic(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Bessel functions of order 0 and 1 by their asymptotic expansions.

    PyTorch's own results in double precision are off by up to 8.4e-7 beyond 5, and CUDA's published error is 2.2e-6
    beyond 8: 16 and 37 units of 1. The functions are of that size there; near 0 `bessel_j1` is small as its argument.
    """
    size = _size(_argument(args, kwargs, 0, "input", "self"))
    return torch.where(size > 8, 37.0, torch.where(size > 5, 16.0, 0.0)).double()


def _airy(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Airy's function below -2.09, where PyTorch's asymptotic quotients are off, in double precision too.

    By 2.96e-6 at -2.092, 2.53e-6 at -2.119, 5.3e-9 at -3 (held against mpmath): below 3e-6 exp(6.5 (x + 2.09)). So much
    lies between PyTorch's result and the true one, and either is right.
    """
    x = _wide(_argument(args, kwargs, 0, "input", "x"))
    return torch.where(x < -2.09, 64 * torch.exp(6.5 * (x + 2.09).clamp(max=0)), 0.0).double()


def _angle(args: tuple[Any, ...], kwargs: Mapping[str, Any], *, divided: bool) -> Any:
    """Chebyshev polynomials of degree n within (-1, 1): cos(n t), sin((n + 1) t) / sin(t), where t = acos(x).

    The angle is rounded (OpenCL allows acos 4 units in the last place), and so is its product with n: at a zero of
    the polynomial that is all there is, x = 0 too, which no relative change of the argument moves.
    """
    x, degree = (_wide(_argument(args, kwargs, place, name)) for place, name in ((0, "input"), (1, "n")))
    angle = torch.acos(x.clamp(-1, 1))
    size = 4 * (degree.trunc().clamp(min=0) + 1) * angle
    size = size / torch.sin(angle) if divided else size
    return torch.where(x.abs() < 1, size, torch.zeros_like(size))


def _cosine(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    return _angle(args, kwargs, divided=False)


def _sine(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    return _angle(args, kwargs, divided=True)


def _rounded_number(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """`mul` with a number as first factor and a half precision: PyTorch rounds the number to that dtype first.

    A number as second factor stays as exact as float32.
    """
    first, second = _argument(args, kwargs, 0, "input", "self"), _argument(args, kwargs, 1, "other")
    numbers = isinstance(first, torch.Tensor) or not isinstance(second, torch.Tensor)
    if numbers or second.dtype not in (torch.float16, torch.bfloat16):
        return 0.0
    return float(torch.finfo(second.dtype).eps) / 2 / UNIT * _size(first) * _size(second)


def _clamped_logit(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Of a logit of 1 - eps, which is rounded: 1 / eps, the derivative there times 1 - eps; else 0."""
    eps = args[1] if len(args) > 1 else kwargs.get("eps")
    if eps is None or not 0 < eps < 1:
        return 0.0
    return torch.where(_wide(_argument(args, kwargs, 0, "input", "self")) > 1 - eps, 1 / eps, 0.0).double()


def _running_product(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """What is lost where a running product is no normal number: a step of the grid, times what comes after it.

    Backward error analysis of products (Higham 2002, section 3.1) has no underflow; this adds it, factor by factor.
    """
    data, dim = _wide(args[0]), int(_argument(args, kwargs, 1, "dim"))
    if kwargs.get("mask") is not None:
        data = data.where(kwargs["mask"].broadcast_to(data.shape), torch.ones_like(data))
    if not data.dim() or not data.numel():
        return 0.0
    small = data.cumprod(dim).abs() < SMALLEST
    if not bool(small.any()):
        return 0.0
    lost = torch.zeros_like(data.select(dim, 0))
    rows = []
    for factor, tiny in zip(data.abs().unbind(dim), small.unbind(dim), strict=True):
        lost = lost * factor + tiny
        rows.append(lost)
    return torch.stack(rows, dim).nan_to_num(nan=0.0, posinf=0.0) * SMALLEST_STEP / UNIT


def _cosine_terms(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """`alpha - (1 - alpha) * cos(x)`, or a sum of cosines with the factors `a`: four roundings of each term."""
    if "a" in kwargs or len(args) > 1:
        factors = _argument(args, kwargs, 1, "a")
        return 4 * sum(abs(float(factor)) for factor in factors)
    alpha = float(kwargs.get("alpha", 0.54))
    return 4 * (abs(alpha) + abs(1 - alpha))


def _largest_term(args: tuple[Any, ...], kwargs: Mapping[str, Any], divided: bool) -> Any:
    """The largest of `b * c`, `value * b` and `value * b * c`, or of the same quotients."""
    one, two = (_size(_argument(args, kwargs, place, f"tensor{place}")) for place in (1, 2))
    factor, two = abs(_factor(kwargs, "value")), 1 / two if divided else two
    product = one * two
    return torch.maximum(torch.maximum(product, factor * product), (factor * one).expand(product.shape))


def _product_of(args: tuple[Any, ...], kwargs: Mapping[str, Any], part: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """The product of a part of the sizes of the elements, along the dimension that a call of `prod` says."""
    data = part(_size(_argument(args, kwargs, 0, "input", "self")))
    dim, keepdim = (args[n] if len(args) > n else kwargs.get(name) for n, name in ((1, "dim"), (2, "keepdim")))
    return data.prod(dim, keepdim=bool(keepdim)) if type(dim) is int else data.prod()


def _product(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """All of a product where its small factors alone are no normal number: multiplied first, they are gone."""
    small = _product_of(args, kwargs, lambda data: data.clamp(max=1.0))
    return torch.where(small < SMALLEST, _product_of(args, kwargs, lambda data: data) / UNIT, 0.0)


SIZES: Mapping[str, Sizes] = {
    "product": _product,
    "running_product": _running_product,
    "clamped_logit": _clamped_logit,
    "cosine": _cosine,
    "sine": _sine,
    "rounded_number": _rounded_number,
    "scaled_second": _scaled_second,
    "scaled_first": _scaled_first,
    "products": _products,
    "quotients": _quotients,
    "steps": _steps,
    "largest_product": _largest_product,
    "distances": _distances,
    "cosine_terms": _cosine_terms,
    "rounded_quotient": _rounded_quotient,
    "added_logarithm": _added_logarithm,
    "airy": _airy,
    "asymptotic": _asymptotic,
    "added_binary_logarithm": _added_binary_logarithm,
}

# What is computed on the way to a result, where that may be beyond the range of the result's dtype, and the result not.
WAYS: Mapping[str, Sizes] = {
    "product": lambda args, kwargs: _product_of(args, kwargs, lambda data: data.clamp(min=1.0)),
    "scaled_second": _scaled_second,
    "scaled_first": _scaled_first,
    "products": lambda args, kwargs: _largest_term(args, kwargs, divided=False),
    "quotients": lambda args, kwargs: _largest_term(args, kwargs, divided=True),
}
