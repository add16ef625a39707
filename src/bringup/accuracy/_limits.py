"""From an operator's rule and one call to what each of its results may be."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import torch

from bringup.accuracy._conditions import (
    SIZES,
    SMALLEST_STEP,
    UNIT,
    WAYS,
    absolute,
    common_divisor,
    counts,
    root,
    spread,
)
from bringup.accuracy._factors import Functions, functions_of, units
from bringup.accuracy._flushing import FLUSHED, SMALLEST, called, flushed_arguments, same_kind
from bringup.accuracy._numbers import FLOATS, PRECISION, overflow_from, ulp, unit
from bringup.accuracy._open import OPEN
from bringup.accuracy._poles import POLES
from bringup.accuracy._positions import POSITIONS
from bringup.accuracy._steps import Stepped
from bringup.accuracy._table import Rule, rule_of
from bringup.accuracy._twin import Twin, held, leaves, with_epsilon
from bringup.errors import EnvironmentFault

LOST_SQUARES = 2.0**-63 * math.sqrt(2)  # a root of n / (n - 1) squares that are no normal numbers of float32, 2**-126
# The twin in float64 is itself rounded; so much of a unit of float32 is allowed beyond every bound.
SLACK = 2.0**-16
# Sums of terms with a common divisor are exact in float32 up to so many times the divisor.
EXACT_SUMS = 2.0**24
# Numbers that are ranges and steps of a factory, not data: a double stays what it is.
FACTORIES = frozenset({"arange"})
_HALVES = (torch.bfloat16, torch.float16)
_NAMES = frozenset(str(dtype).removeprefix("torch.") for dtype in FLOATS)


@dataclass(frozen=True)
class Limit:
    """What one tensor may be. Without `exact`: the expected tensor, bit for bit."""

    words: str  # "within 3 units in the last place of the exact result"
    exact: torch.Tensor | None = None  # float64
    allowed: torch.Tensor | None = None  # float64, of the same shape: the largest error
    zero_sign: bool = True
    least: torch.Tensor | None = None  # float64: at a pole, where `exact` is infinite, all from here on; NaN elsewhere
    sums: torch.Tensor | None = None  # sums of the sizes of the terms, where the result is a sum
    way: torch.Tensor | None = None  # sizes of what is computed on the way, where that may overflow
    open: torch.Tensor | None = None  # bool: where any value is right, because nothing is known of it: see `_open`
    computed: torch.dtype | None = None  # in whose range results are made, where a wider dtype holds them
    rounded: bool = False  # to `computed`: what that cannot hold is infinite, and not merely may be
    close: tuple[float, float] | None = None  # PyTorch's own result is right too, within these: relative, absolute
    flushes: bool = False  # the device has no subnormal numbers
    # What is right too on such a device: the result of arguments without them, and what that may be.
    flushed: tuple[torch.Tensor, Limit] | None = None
    tolerance: bool = False  # PyTorch's own result within the case's tolerance: `within` says which that is

    def within(self, rtol: float, atol: float) -> Limit:
        """Return the limit with the tolerance of a case, relative and absolute, where the limit leaves that open."""
        flushed = self.flushed and (self.flushed[0], self.flushed[1].within(rtol, atol))
        if not self.tolerance:
            return replace(self, flushed=flushed)
        words = f"PyTorch's result on the host, within rtol {rtol:g}, atol {atol:g}"
        return replace(self, words=words, close=(rtol, atol), flushed=flushed, tolerance=False)

    def wrong(self, expected: torch.Tensor, actual: torch.Tensor) -> torch.Tensor:
        """Return where `actual` is wrong: a bool tensor. Both tensors have the dtype and shape of the result."""
        differs = self._wrong(expected, actual)
        if self.close is not None:
            rtol, atol = self.close
            differs &= ~torch.isclose(actual.double(), expected.double(), rtol=rtol, atol=atol, equal_nan=True)
        if self.flushed is not None:
            differs &= self.flushed[1].wrong(self.flushed[0], actual)
        return differs if self.open is None else differs & ~self.open

    def _wrong(self, expected: torch.Tensor, actual: torch.Tensor) -> torch.Tensor:
        nans = expected.isnan()
        if self.exact is None or self.allowed is None:
            differs = (expected != actual) & ~(nans & actual.isnan())
            if self.zero_sign:
                differs |= (expected == 0) & (actual == 0) & (expected.signbit() != actual.signbit())
            return differs
        value, exact, allowed = actual.double(), self.exact, self.allowed
        if self.flushes and (actual.dtype in FLUSHED or self.computed in FLUSHED):
            allowed = torch.where(exact.abs() <= SMALLEST, allowed + SMALLEST, allowed)
        threshold = min(overflow_from(dtype) for dtype in (actual.dtype, self.computed) if dtype is not None)
        finite = (value - exact).abs() <= allowed
        if self.rounded and self.computed is not None:
            finite &= value.abs() <= torch.finfo(self.computed).max
        above = (value == math.inf) & (exact + allowed >= threshold)
        below = (value == -math.inf) & (exact - allowed <= -threshold)
        right = (finite & value.isfinite()) | above | below | (exact.isnan() & value.isnan())
        # PyTorch's own result is right, also where its way to it overflows and the exact one's does not.
        right |= ~value.isfinite() & ((value == expected.double()) | (nans & value.isnan()))
        if self.least is not None:
            right |= value >= self.least
        for terms in (self.sums, self.way):  # where they overflow, infinities of both signs are added in some order
            if terms is not None:
                right |= ~value.isfinite() & (terms >= overflow_from(torch.float32))
        return ~right

    def reordered(self, actual: torch.Tensor) -> bool:
        """Whether errors beyond the limit look like another order of summing, or fewer bits, rather than a mistake."""
        if self.exact is None or self.sums is None or self.allowed is None:
            return False
        error = (actual.double() - self.exact).abs()
        return bool((error <= 16 * self.allowed).all())


@dataclass(frozen=True)
class Limits:
    """The limits of one call: for the tensors of its result, and of its arguments afterwards, depth first.

    None: no exact reference, so that PyTorch's own result and a tolerance decide; `reason` says why.
    """

    outputs: Sequence[Limit | None] = ()
    after: Sequence[Limit | None] = ()
    reason: str = ""
    functions: bool = False  # `outputs` are those of the functions of the result that are compared


@dataclass(frozen=True)
class Arithmetic:
    """What a target's arithmetic has."""

    subnormals: bool = True  # else it may take them for zeros, in arguments and results
    doubles: bool = True  # else a float64 result holds what float32 arithmetic finds

    @property
    def floats(self) -> tuple[torch.dtype, ...]:
        """Dtypes of results that are held to the bound of float32 arithmetic and of the dtype."""
        return FLOATS if self.doubles else (*FLOATS, torch.float64)


COMPLETE = Arithmetic()


class Program(Protocol):
    """`bringup.accuracy.stepwise` of one program, computed where the program runs; results are on the host."""

    def __call__(self, args: Sequence[Any], *, integers: bool, scalars: bool, halves: bool) -> Stepped: ...


@dataclass(frozen=True)
class Standard:
    """What "right" means for one case: an operator's rule, and the function that computes it."""

    operator: str
    reference: Callable[..., Any]
    dtype: str  # of the case
    functions: Functions | None = None  # of the result, which are compared in its place
    written: tuple[str, ...] = ()  # keywords whose tensors hold nothing yet: not data, whatever is in them
    given: Rule | None = None  # in the place of the table's rule, for what the table does not know
    # Of a program of many steps: `stepwise` of the reference, wherever that runs. Keywords are part of the program.
    stepped: Program | None = None
    rounded: bool = False  # results are rounded to the case's dtype before a wider `out=` holds them
    rule: Rule = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rule", rule_of(self.operator) if self.given is None else self.given)

    def limits(
        self,
        args: Any,
        kwargs: Mapping[str, Any],
        expected: Any,
        after: Any,
        *,
        arithmetic: Arithmetic = COMPLETE,
    ) -> Limits:
        """Return the limits of a call with `args` and `kwargs`, whose reference gave `expected` and left `after`.

        `after`: (args, kwargs) as the reference left them. The same on every host, but for the last bits of float64.
        """
        if self.rounded:  # what a half precision holds is no better for a device that has float64
            arithmetic = replace(arithmetic, doubles=False)
        found = self._limits(args, kwargs, expected, after, arithmetic)
        return found if arithmetic.subnormals else self._flushing(found, args, kwargs, expected, after, arithmetic)

    def _flushing(
        self,
        found: Limits,
        args: Any,
        kwargs: Mapping[str, Any],
        expected: Any,
        after: Any,
        arithmetic: Arithmetic,
    ) -> Limits:
        """Return limits that leave it to each element whether it is computed from flushed arguments."""
        if found.functions:
            return replace(found, outputs=[limit and replace(limit, flushes=True) for limit in found.outputs])
        other: list[tuple[torch.Tensor, Limit] | None] = [None] * (len(found.outputs) + len(found.after))
        given = flushed_arguments(args, kwargs)
        made = called(self.reference, *given) if given is not None else None
        if given is not None and made is not None and same_kind([expected, list(after)], [made[0], list(made[1])]):
            limits = self._limits(*given, *made, arithmetic)
            tensors = [*leaves(made[0]), *leaves(list(made[1]))]
            other = [
                (tensor, replace(limit or _by_default(tensor), flushes=True))
                for tensor, limit in zip(tensors, [*limits.outputs, *limits.after], strict=True)
            ]

        def both(limit: Limit | None, tensor: torch.Tensor, flushed: tuple[torch.Tensor, Limit] | None) -> Limit | None:
            if limit is None and (flushed is None or tensor.is_complex()):
                return None  # a tolerance decides
            return replace(limit or _by_default(tensor), flushes=True, flushed=flushed)

        tensors = [*leaves(expected), *leaves(list(after))]
        merged = [both(*one) for one in zip([*found.outputs, *found.after], tensors, other, strict=True)]
        return Limits(merged[: len(found.outputs)], merged[len(found.outputs) :], found.reason)

    def _limits(
        self, args: Any, kwargs: Mapping[str, Any], expected: Any, after: Any, arithmetic: Arithmetic
    ) -> Limits:
        rule = self.rule
        outputs, inputs = leaves(expected), leaves(list(after))
        if rule.kind == "undefined":
            return Limits([None] * len(outputs), [None] * len(inputs), rule.reason)
        if rule.kind == "factors":
            return self._factors(args, kwargs, outputs, inputs)
        if self.dtype in rule.inexact.split():
            return Limits([None] * len(outputs), [None] * len(inputs), "PyTorch computes otherwise in this dtype")
        if rule.kind == "exact" or (rule.without and not _given(rule, args, kwargs)):
            limit = Limit("bit for bit", zero_sign=rule.zero_sign and self.functions is None)
            if not limit.zero_sign:
                limit = Limit("exactly, either sign of zero", zero_sign=False)
            # Moving needs no arithmetic in a dtype: also on a chip that computes with no float64 its bits stay.
            found = [limit if t.dtype in (*FLOATS, torch.float64) else None for t in (*outputs, *inputs)]
            if rule.open:
                for place, mask in enumerate(_again(OPEN[rule.open](args, kwargs, outputs), outputs, inputs)):
                    if mask is not None:
                        words = "bit for bit, where the dtype can hold it"
                        found[place] = replace(limit, words=words, open=mask)
            return Limits(found[: len(outputs)], found[len(outputs) :])
        if self.functions is not None:
            return Limits([None] * len(outputs), [None] * len(inputs), "functions of the result are compared")
        empty = {name: torch.zeros_like(kwargs[name]) for name in self.written}
        found_limits = self._bounds(args, {**kwargs, **empty}, [*outputs, *inputs], len(outputs), arithmetic)
        if isinstance(found_limits, str):
            return Limits([None] * len(outputs), [None] * len(inputs), found_limits)
        bounds = found_limits[: len(outputs)]
        if self.dtype in rule.either.split():
            words = "or PyTorch's result on the host, which overflows on the way"
            bounds = [
                limit and replace(limit, close=PRECISION[tensor.dtype], words=f"{limit.words}, {words}")
                for limit, tensor in zip(bounds, outputs, strict=True)
            ]
        if rule.open:
            masks = _again(OPEN[rule.open](args, kwargs, outputs), outputs, inputs)
            found_limits = [
                limit if limit is None or mask is None else replace(limit, open=mask)
                for limit, mask in zip([*bounds, *found_limits[len(outputs) :]], masks, strict=True)
            ]
            bounds = found_limits[: len(outputs)]
        return Limits(bounds, found_limits[len(outputs) :])

    def _factors(self, args: Any, kwargs: Mapping[str, Any], outputs: list[Any], inputs: list[Any]) -> Limits:
        """The limits of functions of factors; of the factors themselves nothing is known but how PyTorch has them."""
        unknown = Limits([None] * len(outputs), [None] * len(inputs), self.rule.reason)
        if self.functions is None:
            return unknown
        twin = Twin(self.reference, args, dict(kwargs))
        try:
            exact, sizes = functions_of(twin, self.functions)
        except Exception as error:  # whatever PyTorch raises: the function does not exist in double precision
            return replace(unknown, reason=f"no result in double precision ({type(error).__name__})")
        words = "and the rounding of a backward stable factorisation"
        like = torch.empty((), dtype=getattr(torch, self.dtype))
        found = [
            self._limit(like, one, Error(units(twin) * size, size, words), None)
            if self.dtype in _NAMES and one.dtype is torch.float64
            else None
            for one, size in zip(exact, sizes, strict=True)
        ]
        return Limits(found, unknown.after, functions=True)

    def _bounds(
        self, args: Any, kwargs: Mapping[str, Any], expected: list[torch.Tensor], outputs: int, arithmetic: Arithmetic
    ) -> list[Limit | None] | str:
        """Return the limits of results and arguments afterwards; the first `outputs` of `expected` are results."""
        floats = arithmetic.floats
        if not any(tensor.dtype in floats for tensor in expected):
            return [None] * len(expected)
        # Integers are data where there is nothing else; beside floating-point tensors they may be indices.
        given = {name: value for name, value in kwargs.items() if name not in (*self.written, "out")}
        data = self.rule.kind in ("rounding", "composite")
        data = data and not any(t.is_floating_point() for t in leaves([args, given]))
        if data and kwargs.get("out") is not None:  # which may be wider than what is written: sums of integers wrap
            made = called(self.reference, args, given)
            if made is None:  # it wants one: PyTorch writes integers into integers, and refuses the rest
                empty = {name: torch.empty(0, dtype=torch.int64) for name in {*self.written, "out"} if name in kwargs}
                data = called(self.reference, args, {**kwargs, **empty}) is None
            else:
                data = any(t.is_floating_point() for t in leaves(made[0]))
        function = self.reference if self.rule.fixed < 0 else held(self.reference, args, self.rule.fixed)
        if self.rule.epsilon:
            function = with_epsilon(function, self.rule.epsilon, getattr(torch, self.dtype))
        counts = self.rule.counts
        scalars = self.operator not in FACTORIES
        twin = Twin(function, args, dict(kwargs), scalars=scalars, integers=data, counts=counts)
        try:
            if self.stepped is not None:
                return self._program(self.stepped, args, data, expected, outputs, floats)
            exact = leaves(list(twin.run()))
            if [t.shape for t in exact] != [t.shape for t in expected]:  # a number that is rounded decides about a size
                twin = Twin(function, args, dict(kwargs), scalars=False, integers=data, counts=counts)
                exact = leaves(list(twin.run()))
            if [t.shape for t in exact] != [t.shape for t in expected]:
                return "in double precision the result has another shape"
            errors = self._errors(twin, exact)
        except EnvironmentFault:
            raise  # of a program's own process: nothing is known of the function
        except Exception as error:  # whatever PyTorch raises: the function does not exist in double precision
            return f"no result in double precision ({type(error).__name__})"
        coarse = getattr(torch, self.dtype) if kwargs.get("out") is not None else None
        coarse = coarse if coarse in FLOATS else None
        named = kwargs.get("dtype")  # arguments are cast to it, as PyTorch has it: `sum(x, dtype=torch.float16)`
        if self.rule.kind == "accumulating" and named in _HALVES and named is not getattr(torch, self.dtype):
            errors = [replace(made, float32=made.float32 + unit(named) / UNIT * made.half) for made in errors]
        found = [
            self._limit(tensor, one, made, coarse) if tensor.dtype in floats and one.dtype is torch.float64 else None
            for tensor, one, made in zip(expected, exact, errors, strict=True)
        ]
        poles = POLES[self.rule.poles](twin.args, twin.kwargs) if self.rule.poles else None
        return (
            found
            if poles is None
            else [_at_poles(limit, tensor, *poles) for limit, tensor in zip(found, expected, strict=True)]
        )

    def _program(
        self, stepped: Program, args: Any, integers: bool, expected: list[torch.Tensor], outputs: int,
        floats: tuple[torch.dtype, ...],
    ) -> list[Limit | None] | str:  # fmt: skip
        """The same of a program of many steps; its arguments stay as they are, bit for bit."""
        if not any(tensor.dtype in floats for tensor in expected[:outputs]):
            return [None] * len(expected)
        # Half precisions may round on the way: as far as rounding the arguments to them goes.
        halves = self.dtype in ("bfloat16", "float16")
        for scalars in (True, False):  # a number that is rounded may decide about a size
            exact, moved, near = stepped(args, integers=integers, scalars=scalars, halves=halves)
            if [t.shape for t in exact] == [t.shape for t in expected[:outputs]]:
                break
        else:
            return "in double precision the result has another shape"
        words = "and what computing its steps in float32, in any order, can change"
        errors = [Error(one, half, words) for one, half in zip(moved, near or [0.0] * len(moved), strict=True)]
        found = [
            self._limit(tensor, one, made, None) if tensor.dtype in floats and one.dtype is torch.float64 else None
            for tensor, one, made in zip(expected[:outputs], exact, errors, strict=True)
        ]
        return found + [None] * (len(expected) - outputs)

    def _errors(self, twin: Twin, exact: list[torch.Tensor]) -> list[Error]:
        """Return for each tensor the error that arithmetic may make beside the last rounding."""
        rule = self.rule
        if rule.kind == "accumulating":
            return self._sums(twin, exact)
        found = [Error() for _ in exact]
        spreads = rule.spread
        if rule.kind == "composite":
            given = leaves([twin.args, twin.kwargs])
            terms = max([leaf.numel() for leaf in given], default=1)
            # Of equal terms roundings are alike and do not cancel: half a unit of each partial sum, at most.
            alike = all(leaf.numel() < 2 or bool((leaf == leaf.reshape(-1)[0]).all()) for leaf in given)
            spreads = max(1.0, rule.spread) * max(8 + 4 * math.sqrt(terms), terms / 2 if alike else 0.0)
            if rule.root >= 0:
                spreads *= root(twin.args, twin.kwargs, rule.root)
        if spreads:
            words = "and what rounding its arguments to float32 can change"
            moved = spread(twin, exact, numbers=rule.kind == "rounding", poles=bool(rule.poles))
            if rule.norm:
                moved = [_most(one, rule.norm if not number else "row") for number, one in enumerate(moved)]
            if rule.quotient:
                moved = [
                    torch.maximum(one, result.abs().nan_to_num(posinf=0.0))
                    for one, result in zip(moved, exact, strict=True)
                ]
            found = [Error(spreads * one, one, words) for one in moved]
        sizes: Any = 1.0 if rule.one else 0.0
        extra: Any = rule.one
        if rule.argument:
            data = [t.detach().double().abs() for t in leaves([twin.args, twin.kwargs]) if t.is_floating_point()]
            size = max((_largest(t) for t in data), default=0.0)  # NaN and infinities bound nothing
            size = size if rule.kind == "composite" else sum(data)
            extra, sizes = extra + rule.argument * size, sizes + size
        if rule.sizes:
            size = SIZES[rule.sizes](twin.args, twin.kwargs)
            extra, sizes = extra + size, sizes + size
        if isinstance(extra, torch.Tensor) or extra:
            words = "and the roundings of its terms"
            found = [
                Error(made.float32 + _fitting(extra, one), made.half + _fitting(sizes, one), words)
                for made, one in zip(found, exact, strict=True)
            ]
        if rule.sizes in WAYS:
            way = WAYS[rule.sizes](twin.args, twin.kwargs)
            found = [replace(made, way=_fitting(way, one)) for made, one in zip(found, exact, strict=True)]
        if rule.largest:
            words = "and the roundings of the largest element"
            found = [
                Error(made.float32 + rule.largest * _largest(one), made.half + _largest(one), words)
                for made, one in zip(found, exact, strict=True)
            ]
        if rule.positions:
            words = "and what rounding positions on the way can change"
            found = [
                Error(made.float32 + _fitting(moved.error, one) / UNIT, made.half + _fitting(moved.size, one), words)
                for made, one, moved in zip(found, exact, POSITIONS[rule.positions](twin, exact), strict=True)
            ]
        if 0 <= rule.mean < len(found):
            found[rule.mean] = self._sums(twin, exact, divided=True)[rule.mean]
        return found

    def _sums(self, twin: Twin, exact: list[torch.Tensor], *, divided: bool = False) -> list[Error]:
        """`divided`: terms may be divided before they are added, as in a running mean; no sum is exact then."""
        sizes, numbers, divisor = absolute(twin), counts(twin), common_divisor(twin)
        given = leaves([twin.args, twin.kwargs])
        most = max([leaf.numel() for leaf in given], default=1)
        # A product among subnormal numbers is rounded to their grid, and then multiplied by what is left.
        factor = max([1.0, *(_largest(leaf) for leaf in given)])
        lost = SMALLEST_STEP / UNIT * factor
        found: list[Error] = []
        for one, size, number in zip(exact, sizes, numbers, strict=True):
            if one.dtype is not torch.float64 or not one.numel():
                found.append(Error())
                continue
            ratio = most / one.numel()
            terms = number.abs().nan_to_num(nan=1.0).clamp(min=max(1.0, ratio, self.rule.least)) + 2
            # A mean counts 1 in all, and less with a divisor of its own: what is added up before the division is as
            # many times larger.
            total = (size * terms / number.abs()).nan_to_num()
            if not divided and divisor > 0 and float(total.max()) <= EXACT_SUMS * divisor:
                found.append(Error(0.0, size, "(these sums are exact in float32, in any order)"))
            else:
                words = f"and the error bound of summing {int(terms.max()) - 2} terms in float32 in any order"
                found.append(Error(terms / (1 - terms * UNIT).clamp(min=0.5) * size + lost, size, words))
        return found

    def _limit(self, expected: torch.Tensor, exact: torch.Tensor, made: Error, coarse: torch.dtype | None) -> Limit:
        rule, dtype = self.rule, torch.float32 if expected.dtype is torch.float64 else expected.dtype
        if coarse is not None and torch.finfo(coarse).eps > torch.finfo(dtype).eps:
            dtype = coarse  # `out=` may be wider than what the operator computes in
        allowed = (rule.ulps + SLACK) * ulp(exact, torch.float32) + UNIT * made.float32
        if rule.squares:
            allowed = allowed + LOST_SQUARES
        shown, name = rule.ulps, "float32"
        if dtype is not torch.float32:
            step = ulp(exact, dtype)
            allowed = allowed + step / 2 + rule.half * (step + 2 * unit(dtype) * made.half)
            if expected.dtype in _HALVES and dtype is not expected.dtype:  # small numbers of bfloat16 in float16
                allowed = allowed + ulp(exact, expected.dtype) / 2
            shown = 0.5 + rule.half + rule.ulps * torch.finfo(torch.float32).eps / torch.finfo(dtype).eps
            name = str(dtype).removeprefix("torch.")
        allowed = torch.as_tensor(allowed, dtype=torch.float64).nan_to_num(nan=0.0).expand(exact.shape)
        text = f"within {shown:.3g} units in the last place ({name}) of the exact result {made.words}".rstrip()
        sums = made.half if rule.kind == "accumulating" and isinstance(made.half, torch.Tensor) else None
        way = made.way if isinstance(made.way, torch.Tensor) else None
        return Limit(text, exact, allowed, sums=sums, way=way, computed=dtype, rounded=self.rounded)


@dataclass(frozen=True)
class Error:
    """What arithmetic may make of one result beside the last rounding; float64 tensors that broadcast to it, or 0."""

    float32: Any = 0.0  # in units of the unit roundoff of float32
    half: Any = 0.0  # sizes of the intermediate results that may be rounded to a half precision
    words: str = ""
    way: Any = 0.0  # sizes of those that may overflow where the result does not


def _again(
    masks: Sequence[torch.Tensor | None], outputs: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor]
) -> list[torch.Tensor | None]:
    """Return masks of the results, and of the arguments afterwards: that of the result that an argument is (`out=`)."""
    known = {id(tensor): mask for tensor, mask in zip(outputs, masks, strict=True)}
    return [*masks, *(known.get(id(tensor)) for tensor in inputs)]


def _by_default(tensor: torch.Tensor) -> Limit:
    """The limit of a result of which no exact one is known."""
    floats = tensor.is_floating_point()
    return Limit("within the tolerance" if floats else "bit for bit", zero_sign=False, tolerance=floats)


def _given(rule: Rule, args: Any, kwargs: Mapping[str, Any]) -> bool:
    """Whether a call has the argument without which its operator only moves elements."""
    value = args[rule.place] if len(args) > rule.place else kwargs.get(rule.without)
    return value is not None and value is not False


def _at_poles(limit: Limit | None, tensor: torch.Tensor, where: torch.Tensor, least: torch.Tensor) -> Limit | None:
    """Return a limit that takes infinity, and what is as large as arithmetic makes it, where a function has a pole."""
    if limit is None or limit.exact is None or limit.exact.shape != where.shape or not bool(where.any()):
        return limit
    return replace(
        limit,
        words=f"{limit.words}; at a pole infinity, or as large as float32 arithmetic makes it",
        exact=torch.where(where, math.inf, limit.exact),
        least=torch.where(where, least.clamp(max=torch.finfo(tensor.dtype).max), math.nan),
    )


def _most(moved: torch.Tensor, norm: str) -> torch.Tensor:
    """Return for every element what the most sensitive one of its matrix, column or row moves.

    Factors that reflections or rotations make are off by a share of a norm, and so is what is made of them.
    """
    if not moved.dim() or not moved.numel():
        return moved
    axes = {"matrix": (-2, -1), "column": (-2,), "row": (-1,)}[norm if moved.dim() > 1 else "row"]
    return moved.amax(axes, keepdim=True).expand(moved.shape)


def _largest(result: torch.Tensor) -> float:
    finite = result[result.isfinite()] if result.is_floating_point() else result[:0]
    return float(finite.abs().max()) if finite.numel() else 0.0


def _fitting(extra: Any, result: torch.Tensor) -> Any:
    """Return sizes that broadcast to a result, or 0 for a tensor that they are not about (an index, say)."""
    if not isinstance(extra, torch.Tensor):
        return extra
    try:
        return extra.expand(result.shape)
    except RuntimeError:
        return 0.0
