"""Which numbers a call of a random overload draws: a function of its seed and of each number's place.

Element i of a tensor, counted in the order of its indices, has offset i (`data/aten-random.yaml` says it to a model).
Right is what arithmetic in float32 makes of that, within the bounds given here. Results are held to statements: True,
or in words what is wrong. Imports torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from bringup.suites import _philox

Statements = Callable[[Any], dict[str, bool | str]]

SUPPORT = "every number is in the support"
GIVEN = "every number is what its seed and its place give"
SCALED = "the result is input * mask * scale, and 0 where the mask is False"
MASK = "every element of the mask is what its seed and its place give"
ONCE = "every number is there once"
ORDER = "the order is that of the random keys"
PICKED = "every column is the one that its random number picks"
DISTINCT = "no column of a row comes twice"
UNIT, LOGARITHM = 2.0**-24, 2.0**-21  # a rounding of float32; what a fast logarithm is off by
LEAST = 2.0**-33  # what an exponential number takes for 0
EITHER = 2.0**-23  # 1 - p has two roundings: a number so near to it may fall on either side
TINY = 2.0**-126  # a chip may take what is smaller for 0
DIGITS = {torch.float32: 24, torch.float16: 11, torch.bfloat16: 8, torch.float64: 53}


@dataclass(frozen=True)
class Numbers:
    """What a tensor of drawn numbers is, flat, in float64 or whole numbers, before it is rounded to its dtype."""

    exact: torch.Tensor
    room: torch.Tensor | float = 0.0
    """What arithmetic in float32 may be off by."""
    inside: Callable[[torch.Tensor], torch.Tensor] | None = None
    """Where numbers (float64) are in the support."""
    also: torch.Tensor | None = None
    """Another number that is right in each place; NaN for none."""

    def ends(self, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
        """The least and the largest number that is right in each place: float64, of the dtype."""
        low, high = ((self.exact.double() + sign * self.room).to(dtype).double() for sign in (-1, 1))
        return low, high

    def right(self, dtype: torch.dtype) -> torch.Tensor:
        """A right tensor, flat: the exact number rounded, or what is right beside it and in the support."""
        if not dtype.is_floating_point:
            return self.exact
        found = self.exact.to(dtype).double()
        if self.inside is not None:
            for other in (*self.ends(dtype), self.also):
                if other is not None:
                    found = torch.where(~self.inside(found) & self.inside(other), other, found)
        return found

    def statements(self, given: torch.Tensor) -> dict[str, bool | str]:
        """What holds of a tensor."""
        flat = given.reshape(-1)
        found: dict[str, bool | str] = {}
        if given.is_floating_point() and self.exact.is_floating_point():
            low, high = self.ends(given.dtype)
            value = flat.double()
            wrong = ~((value >= low - TINY) & (value <= high + TINY))
        else:
            wrong = flat.double() != self.exact.double()
            wrong |= flat.long() != self.exact if not given.is_floating_point() else False
        if self.also is not None:
            wrong &= flat.double() != self.also
        if self.inside is not None:  # where the dtype has no number in the support nothing is
            some = self.inside(self.right(given.dtype).double())
            found[SUPPORT] = _first(some & ~self.inside(flat.double()), given, lambda i: "")
        found[GIVEN] = _first(wrong, given, lambda i: f", where its seed gives {_shown(self.exact[i])}")
        return found


def _first(wrong: torch.Tensor, given: torch.Tensor, right: Callable[[int], str]) -> bool | str:
    """True, or which is the first number that is wrong."""
    places = wrong.nonzero().reshape(-1)
    if not len(places):
        return True
    place = int(places[0])
    at = [int(one) for one in torch.unravel_index(torch.tensor(place), given.shape)] if given.dim() else []
    value = _shown(given.reshape(-1)[place])
    return f"{len(places)} of {given.numel()} are not: element {at} is {value}{right(place)}"


def _shown(value: torch.Tensor) -> str:
    number = value.item()
    return f"{number:.9g}" if isinstance(number, float) else str(number)


# ---------------------------------------------------------------------- what is drawn


def _drawn(seed: int, count: int) -> torch.Tensor:
    """The numbers of `tl.rand(seed, i)`, i from 0 on: float64[count]."""
    return torch.from_numpy(_philox.uniform(_philox.words(seed, np.arange(count))[0]).astype(np.float64))


def _single(number: float) -> float:
    """A number among the arguments, as a kernel gets it."""
    return float(np.float32(number))


def _uniform(seed: int, place: torch.Tensor, low: float = 0.0, high: float = 1.0) -> Numbers:
    drawn = _drawn(seed, place.numel())
    exact = low + (high - low) * drawn
    # `from`, the span and the product are rounded, and the sum.
    room = UNIT * (abs(low) + 2 * (high - low) * drawn + exact.abs())
    # What comes out as `to` becomes `from`.
    turned = torch.where(exact + room + UNIT * exact.abs() >= high, low, math.nan).to(place.dtype).double()
    single = place.dtype is torch.float32
    # A half precision that does not hold the ends rounds them.
    least, most = (float(torch.tensor(end).to(place.dtype)) for end in (low, high))
    least, most = min(low, least), max(high, most)
    return Numbers(exact, room, lambda x: (x >= least) & (x < high if single else x <= most), turned)


def _normal(seed: int, place: torch.Tensor, mean: float = 0.0, std: float = 1.0) -> Numbers:
    one, other, _, _ = _philox.words(seed, np.arange(place.numel()))
    first = torch.from_numpy(np.maximum(_philox.uniform(one), _philox.LEAST).astype(np.float64))
    angle = 2 * math.pi * torch.from_numpy(_philox.uniform(other).astype(np.float64))
    length = torch.sqrt(-2 * torch.log(first))
    exact = mean + std * length * torch.cos(angle)
    # The root of a logarithm near 0 is off by more than the logarithm.
    root = torch.minimum(LOGARITHM / length.clamp(min=1e-30), torch.tensor(math.sqrt(2 * LOGARITHM)).double())
    room = abs(std) * (32 * UNIT * (1 + length) + root) + UNIT * (abs(mean) + exact.abs())
    return Numbers(exact, room, torch.isfinite)


def _exponential(seed: int, place: torch.Tensor, rate: float = 1.0) -> Numbers:
    largest_number = torch.finfo(place.dtype).max
    exact = (-torch.log1p(-_drawn(seed, place.numel()).clamp(min=LEAST)) / rate).clamp(max=largest_number)
    single = place.dtype is torch.float32
    # Near 1 `log1p` goes by the logarithm, whose error does not shrink.
    room = 16 * UNIT * exact + torch.where(exact * rate > 0.5, LOGARITHM / rate, 0.0)
    return Numbers(exact, room, lambda x: (x > 0 if single else x >= 0) & x.isfinite())


def _coins(seed: int, chance: torch.Tensor, room: float = 0.0) -> Numbers:
    """Ones with the chances `chance` (float64), and zeros: where the number of the place is below it."""
    known = chance.contiguous().reshape(-1)
    drawn = _drawn(seed, len(known))
    exact = (drawn < known).double()
    near = ((drawn - known).abs() < room) & (known > 0) & (known < 1)
    return Numbers(exact, also=torch.where(near, 1 - exact, math.nan) if room else None)


def _whole(seed: int, place: torch.Tensor, low: int, high: int) -> Numbers:
    """Whole numbers from `low` to `high` - 1, of 64 bits each; in a dtype that does not hold them, next to that."""
    drawn = _philox.scaled(*_philox.wide(seed, np.arange(place.numel())), high - low)
    exact = torch.from_numpy(drawn.view(np.int64).copy()) + low
    if not place.is_floating_point():
        return Numbers(exact)
    # One of its two neighbours: it may be rounded twice, and must stay in the range.
    exact = exact.double()
    step = 2.0 ** (exact.abs().clamp(min=1).log2().floor() + 1 - DIGITS[place.dtype])
    held = exact.to(place.dtype).double() == exact
    room = torch.where(held | (step <= 1), 0.0, step / 2)
    return Numbers(exact, room, lambda x: (x >= low) & (x <= high - 1) & (x == x.floor()))


def _random(seed: int, place: torch.Tensor) -> Numbers:
    """Whole numbers over the range of a dtype: of one word each, in int64 of two."""
    count, places = largest(place.dtype), np.arange(place.numel())
    if place.dtype is torch.int64:
        high, low = _philox.wide(seed, places)
        drawn = (high & np.uint64(0x7FFFFFFF)) << np.uint64(32) | low
    else:
        drawn = _philox.words(seed, places)[0] * np.uint64(count) >> np.uint64(32)
    exact = torch.from_numpy(drawn.view(np.int64).copy())
    return Numbers(exact.double() if place.is_floating_point() else exact)


def largest(dtype: torch.dtype) -> int:
    """One more than the largest number that `random_` draws."""
    return 2 ** DIGITS[dtype] + 1 if dtype.is_floating_point else int(torch.iinfo(dtype).max) + 1


def _keys(seed: int, count: int) -> torch.Tensor:
    """Whole numbers of 63 random bits: int64[count]."""
    high, low = _philox.wide(seed, np.arange(count))
    return torch.from_numpy(((high & np.uint64(0x7FFFFFFF)) << np.uint64(32) | low).view(np.int64).copy())


FILLS: dict[str, Callable[..., Numbers]] = {
    "uniform_": _uniform,
    "normal_": _normal,
    "exponential_": _exponential,
    "bernoulli_.float": lambda seed, place, p=0.5: _coins(seed, torch.full(place.shape, _single(p)).double()),
    "bernoulli_.Tensor": lambda seed, place, p: _coins(seed, p.double().expand(place.shape)),
    "random_": _random,
    "random_.to": lambda seed, place, to: _whole(seed, place, 0, to),
    "random_.from": _whole,
}
"""Overloads that fill a tensor: of the seed, the tensor and the other arguments."""


# ---------------------------------------------------------------------- other results


@dataclass(frozen=True)
class Defined:
    """What one call is held to."""

    right: Callable[[], tuple[torch.Tensor, ...]]
    """Its results, flat."""
    statements: Statements


def _dropout(seed: int, x: torch.Tensor, p: float, train: bool | None) -> Defined:
    kept = 1 - (p if train is not False else 0.0)
    scale = 1 / kept if kept else 0.0
    mask = _coins(seed, torch.full(x.shape, kept, dtype=torch.float64), EITHER)
    held = x.detach().clone(memory_format=torch.contiguous_format)  # the call may be given what it was made of

    def right() -> tuple[torch.Tensor, ...]:
        return held.double().reshape(-1) * mask.exact * scale, mask.exact != 0

    def statements(results: Any) -> dict[str, bool | str]:
        result, given = results
        wanted = torch.where(given, held.double() * scale, 0.0)
        value, room = result.double(), 4 * UNIT * wanted.abs()
        low, high = ((wanted + sign * room).to(held.dtype).double() for sign in (-1, 1))
        near = (value >= low - TINY) & (value <= high + TINY)
        near |= (wanted.isnan() & value.isnan()) | (wanted == value)
        wrong = _first(~near.reshape(-1), result, lambda i: f", where {_shown(wanted.reshape(-1)[i])} is right")
        return {SCALED: wrong, MASK: mask.statements(given)[GIVEN]}

    return Defined(right, statements)


def _permutation(seed: int, n: int) -> Defined:
    keys = _keys(seed, n)
    bits = max(1, (n - 1).bit_length())  # a key may hold its number in these

    def statements(result: torch.Tensor) -> dict[str, bool | str]:
        flat = result.reshape(-1).long()
        there = torch.equal(flat.sort().values, torch.arange(n))
        if not there:
            return {ONCE: "some number is not", ORDER: "it is none"}
        falls = (keys[flat] >> bits).diff() < 0
        return {ONCE: True, ORDER: _first(falls, result[1:], lambda i: ", after a larger key")}

    return Defined(lambda: (keys.argsort(stable=True),), statements)


def _picks(seed: int, weights: torch.Tensor, count: int, again: bool = False) -> Defined:
    rows = weights.detach().double().reshape(-1, weights.shape[-1])
    return _with_replacement(seed, rows, count) if again else _without_replacement(seed, rows, count)


def _with_replacement(seed: int, rows: torch.Tensor, count: int) -> Defined:
    """The column in which a number of 63 bits lies, of the sum of the weights.

    Pick s of row r has offset r * count + s.
    """
    sums = rows.cumsum(1)
    drawn = _keys(seed, rows.shape[0] * count).double().reshape(-1, count) * 2.0**-63
    goal = drawn * sums[:, -1:]

    def right() -> tuple[torch.Tensor, ...]:
        found = torch.searchsorted(sums, goal, right=True)
        last = (rows > 0).double().cumsum(1).argmax(1, keepdim=True)  # the last column that has a weight
        return (torch.minimum(found, last).reshape(-1),)

    def statements(result: torch.Tensor) -> dict[str, bool | str]:
        taken = result.reshape(-1, count)
        inside = (taken >= 0) & (taken < rows.shape[1])
        if not bool(inside.all()):
            return {SUPPORT: _first(~inside.reshape(-1), result, lambda i: ""), PICKED: "some are no columns"}
        room = 2 * UNIT * sums[:, -1:]
        ends, own = sums.gather(1, taken), rows.gather(1, taken)
        near = (goal <= ends + room) & (goal >= ends - own - room)
        expected = right()[0]
        return {
            SUPPORT: _first(~(own > 0).reshape(-1), result, lambda i: ", whose weight is 0"),
            PICKED: _first(~near.reshape(-1), result, lambda i: f", where its seed picks {int(expected[i])}"),
        }

    return Defined(right, statements)


def _without_replacement(seed: int, rows: torch.Tensor, count: int) -> Defined:
    """The largest of weight / exponential number, in descending order: column c of row r has offset r * columns + c."""
    drawn = _drawn(seed, rows.numel()).reshape(rows.shape).clamp(min=LEAST)
    numbers = -torch.log1p(-drawn)
    keys = torch.where(rows > 0, rows.log() - numbers.log(), -math.inf)
    rooms = torch.full_like(keys, 128 * UNIT + 4 * LOGARITHM)  # of two logarithms, of which one is of a logarithm

    def right() -> tuple[torch.Tensor, ...]:
        return (keys.sort(dim=1, descending=True, stable=True).indices[:, :count].reshape(-1),)

    def statements(result: torch.Tensor) -> dict[str, bool | str]:
        taken = result.reshape(-1, count)
        inside = (taken >= 0) & (taken < rows.shape[1])
        if not bool(inside.all()):
            wrong = _first(~inside.reshape(-1), result, lambda i: "")
            return {SUPPORT: wrong, DISTINCT: True, PICKED: "some are no columns"}
        ordered = taken.sort(1).values
        apart = not bool((ordered[:, 1:] == ordered[:, :-1]).any())
        # Each is at least as large as the largest that is left when it is drawn.
        high, low = keys + rooms, keys - rooms
        left = low.scatter(1, taken, -math.inf).amax(1, keepdim=True)
        later = low.gather(1, taken).flip(1).cummax(1).values.flip(1)
        least = torch.maximum(later, left)
        wrong = high.gather(1, taken) < least
        expected = right()[0]
        return {
            SUPPORT: _first(~(rows.gather(1, taken) > 0).reshape(-1), result, lambda i: ", whose weight is 0"),
            DISTINCT: apart or "some does",
            PICKED: _first(wrong.reshape(-1), result, lambda i: f", where its seed picks {int(expected[i])}"),
        }

    return Defined(right, statements)


_OTHERS: dict[str, Callable[..., Defined]] = {
    "native_dropout": _dropout,
    "randperm.generator_out": _permutation,
    "multinomial": _picks,
}
DEFINED = frozenset((*FILLS, *_OTHERS))
"""The overloads of which it is said which numbers they draw."""


def defined(name: str, args: Sequence[Any], seed: int) -> Defined:
    """Return what a call is held to.

    Args:
        name: of the overload, one of `DEFINED`.
        args: host tensors and numbers, as before the call, without an `out`.
        seed: of the call, from 0 to 2**63 - 1.
    """
    if name in _OTHERS:
        return _OTHERS[name](seed, *args)
    numbers = FILLS[name](seed, *args)
    return Defined(lambda: (numbers.right(args[0].dtype),), numbers.statements)
