"""What must hold of numbers that chance draws: of the results of one call, and of small ones under many seeds.

Each statement is True for PyTorch's own result; its wording is what a report shows. Every test is of float64 values or
whole numbers on the host, and refuses a right generator with a chance of about `accuracy.ALARM`. Imports torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from bringup.accuracy import balanced, follows, independent, unrelated, unrepeated

Holds = dict[str, bool]

SUPPORT = "every number is in the support"
SHAPE = "the numbers follow the distribution"
MEAN = "their mean is right"
SPREAD = "their spread is right"
APART = "no number goes with one a fixed distance on"
MANY = "as many of them are different as chance gives"
DIGITS = "their remainders are as likely as each other"
LIKELY = "what is more likely comes more often, as much as it should"
ONCE = "no column of a row comes twice"
STRANGERS = "the numbers of two seeds have nothing in common"
RESOLUTION = 20  # bits of what is drawn, at least; PyTorch's generator has 24 for float32
MODULI = (2, 3, 16, 256)
CORRELATED = 1 << 14  # numbers of the picks of all rows whose correlations are looked at
RANKED = 12  # the longest permutations whose ranks are looked at: 12! ranks are whole numbers of float64


@dataclass(frozen=True)
class Statements:
    """What holds of a call's result, of those of the same call under many seeds, and of two of these.

    Few numbers say nothing of a distribution; those of many seeds do. Two draws have nothing in common.
    """

    one: Callable[[Any], Holds]
    of_many: Callable[[Sequence[Any]], Holds]
    of_two: Callable[[Any, Any], Holds]

    def __call__(self, result: Any) -> Holds:
        return self.one(result)


def both(found: Iterable[Holds]) -> Holds:
    """Return the statements that hold in all of them."""
    together: Holds = {}
    for holds in found:
        together |= {words: right and together.get(words, True) for words, right in holds.items()}
    return together


def strangers(one: Any, other: Any) -> Holds:
    """What holds of the results of two seeds: numbers of continuous kinds, or counts."""
    found = [
        unrelated(a.double().reshape(-1), b.double().reshape(-1))
        for a, b in zip(pytree.tree_leaves(one), pytree.tree_leaves(other), strict=True)
    ]
    return {STRANGERS: all(found)}


def filled(check: Callable[[torch.Tensor], Holds]) -> Statements:
    """Numbers of one distribution: those of many seeds follow it, too, seed by seed and place by place."""

    def of_many(results: Sequence[Any]) -> Holds:
        numbers = torch.stack([leaf.reshape(-1) for result in results for leaf in pytree.tree_leaves(result)])
        return both(check(one) for one in (numbers, numbers.t().contiguous()))

    return Statements(check, of_many, strangers)


def shown(
    result: torch.Tensor,
    inside: torch.Tensor,
    cdf: Callable[[torch.Tensor], torch.Tensor],
    mean: float,
    variance: float,
    *,
    fourth: float = 1.8,
) -> Holds:
    """Return what holds of numbers of a continuous distribution.

    Args:
        result: the numbers.
        inside: where they are in the support.
        cdf: the distribution function, of float64 numbers.
        mean: the distribution's.
        variance: the distribution's.
        fourth: the distribution's kurtosis.
    """
    if not bool(inside.all()):
        return dict.fromkeys((SUPPORT, SHAPE, MEAN, SPREAD, APART, MANY), False)
    values = result.double().reshape(-1)
    # A number stands for those that are rounded to it, in the generator and in the store.
    info = torch.finfo(result.dtype)
    room = values.abs() * info.eps + info.tiny + 2.0**-22 * math.sqrt(variance)
    lower, upper = values - room, values + room
    rounding = float((upper - lower).mean()) if values.numel() else 0.0
    squares = (values - mean).square()
    loose = variance + rounding**2
    return {
        SUPPORT: True,
        SHAPE: follows(values, cdf, lower, upper),
        MEAN: _about(values, mean, variance, rounding),
        SPREAD: _about(squares, variance, (fourth - 1) * variance**2, 3 * rounding * math.sqrt(loose)),
        APART: independent(values),
        MANY: result.dtype is not torch.float32 or unrepeated(values, 2**RESOLUTION, least=False),
    }


def whole(low: int, high: int) -> Statements:
    """What holds of whole numbers from `low` to `high` - 1, all equally likely."""
    width = high - low

    def check(result: torch.Tensor) -> Holds:
        wide = result.double()
        if not bool(((wide >= low) & (wide <= high - 1) & (wide == wide.floor())).all()):
            return dict.fromkeys((SUPPORT, SHAPE, MEAN, SPREAD, APART, MANY, DIGITS), False)
        values, exact = wide.reshape(-1), result.long().reshape(-1)
        mean, variance = (low + high - 1) / 2, (float(width) ** 2 - 1) / 12
        return {
            SUPPORT: True,
            SHAPE: _even(values - low, width),
            MEAN: balanced(values, mean, variance),
            SPREAD: balanced((values - mean).square(), variance, 0.8 * variance**2),
            APART: independent(values),
            MANY: unrepeated(exact, width),
            DIGITS: all(_remainders(exact, low, high, m) for m in MODULI if width >= m),
        }

    return filled(check)


def _remainders(values: torch.Tensor, low: int, high: int, m: int) -> bool:
    """Whether remainders of whole numbers from `low` to `high` - 1 come as often as they should."""
    each = [(high - low) // m + ((place - low) % m < (high - low) % m) for place in range(m)]
    known = torch.tensor([0, *each], dtype=torch.float64).cumsum(0) / (high - low)
    found = (values % m).double()
    return follows(found, lambda x: known[(x.floor().long() + 1).clamp(0, m)], found - 1, found)


def coins(p: torch.Tensor) -> Statements:
    """What holds of numbers that are 1 with the chances `p` (float64, of the result's shape), else 0."""

    def of_many(results: Sequence[Any]) -> Holds:
        hits = torch.stack([leaf.reshape(-1) for result in results for leaf in pytree.tree_leaves(result)])
        chances = p.reshape(-1).expand(hits.shape)
        return both(thrown(a, b) for a, b in ((hits, chances), (hits.t().contiguous(), chances.t().contiguous())))

    def of_two(one: Any, other: Any) -> Holds:
        (a,), (b,) = pytree.tree_leaves(one), pytree.tree_leaves(other)
        known = p.reshape(-1)
        return {STRANGERS: unrelated(a.double().reshape(-1) - known, b.double().reshape(-1) - known, alike=False)}

    return Statements(lambda result: thrown(result, p), of_many, of_two)


def thrown(result: torch.Tensor, p: torch.Tensor) -> Holds:
    """The same of one tensor of them."""
    wide, chance = result.double().reshape(-1), p.reshape(-1)
    inside = ((wide == 0) | (wide == 1)) & ~((chance == 0) & (wide == 1)) & ~((chance == 1) & (wide == 0))
    spread = chance * (1 - chance)
    order = chance.argsort(stable=True)
    quarters = order.tensor_split(4) if chance.numel() and float(chance.min()) < float(chance.max()) else ()
    return {
        SUPPORT: bool(inside.all()),
        MEAN: balanced(wide, chance, spread),
        LIKELY: all(balanced(wide[part], chance[part], spread[part]) for part in quarters),
        APART: independent(wide - chance, alike=False),
    }


def permutation(n: int) -> Statements:
    """What holds of the numbers from 0 to n - 1 in an order that chance draws."""

    def one(result: torch.Tensor) -> Holds:
        values, at = result.double(), torch.arange(n, dtype=torch.float64)
        # Spearman's rank correlation with the places, variance 1 / (n - 1); as a mean of products.
        centred = (values - (n - 1) / 2) * (at - (n - 1) / 2)
        spread = ((n * n - 1) / 12) ** 2 * n / max(n - 1, 1)  # of each product, as if they were independent
        return {
            "every number is there once": bool(torch.equal(result.long().sort().values, torch.arange(n))),
            "places and numbers are not correlated": balanced(centred, 0.0, spread),
            APART: independent(values),
            "neighbours are any two numbers": _steps([values], n),
        }

    def of_many(results: Sequence[Any]) -> Holds:
        orders = [leaf.double() for result in results for leaf in pytree.tree_leaves(result)]
        holds = both(one(order) for order in orders)
        if 1 < n <= RANKED:
            ranks = torch.stack([_rank(order) for order in orders])
            holds["every order is as likely as any other"] = _even(ranks, math.factorial(n))
        elif n > RANKED:
            first = torch.stack([order[0] for order in orders])
            holds["every number is as likely to be the first"] = _even(first, n)
            holds["neighbours are any two numbers"] = _steps(orders, n)
        return holds

    def of_two(one: Any, other: Any) -> Holds:
        (a,), (b,) = pytree.tree_leaves(one), pytree.tree_leaves(other)
        a, b = a.double(), b.double()
        away, steps = (b - a) % n if n else b, [order.diff() % n if n else order for order in (a, b)]
        return {STRANGERS: _even(away, n) and unrelated(a, b) and unrelated(*steps)}

    return Statements(one, of_many, of_two)


def _steps(orders: Sequence[torch.Tensor], n: int) -> bool:
    """Whether steps from number to number, modulo n, are from 1 to n - 1 as it comes."""
    return n < 2 or _even(torch.cat([order.diff() % n for order in orders]) - 1, n - 1)


def _even(values: torch.Tensor, count: int) -> bool:
    """Whether whole numbers are from 0 to `count` - 1, all equally likely."""
    return follows(values, lambda x: ((x.floor() + 1) / count).clamp(0, 1), values - 1, values)


def _rank(order: torch.Tensor) -> torch.Tensor:
    """Which permutation it is in the order of their digits, from 0 on (Lehmer's code)."""
    n = order.numel()
    smaller = (order[:, None] > order[None, :]).triu(1).sum(1).double()
    return (smaller * torch.tensor([float(math.factorial(n - 1 - k)) for k in range(n)], dtype=torch.float64)).sum()


def picks(weights: torch.Tensor, count: int, again: bool) -> Statements:
    """What holds of `count` columns that are picked of each row by its weights, with replacement (`again`) or without.

    `weights`: (rows, columns) or (columns,).
    """
    rows = weights.double().reshape(-1, weights.shape[-1])

    def check(taken: torch.Tensor, rows: torch.Tensor) -> Holds:
        if not bool(((taken >= 0) & (taken < rows.shape[1])).all()):
            return dict.fromkeys((SUPPORT, ONCE, MEAN, LIKELY, APART), False)
        ordered = taken.sort(1).values
        hits = torch.nn.functional.one_hot(taken, rows.shape[1]).double()  # (rows, picks, columns)
        left = rows[:, None].expand(hits.shape)
        if not again:  # given the picks before it, each is drawn by the weights of what is left
            left = left * (1 - (hits.cumsum(1) - hits)).clamp(min=0)
        chances = left / left.sum(2, keepdim=True).clamp(min=1e-300)
        flat, hit = chances.reshape(-1, rows.shape[1]), hits.reshape(-1, rows.shape[1])
        heavy = (chances > chances.sum(2, keepdim=True) / (chances > 0).sum(2, keepdim=True)).double()
        chance, came = (chances * heavy).sum(2), (hits * heavy).sum(2)
        spread = (chance * (1 - chance)).clamp(min=0)
        return {
            SUPPORT: bool((rows.gather(1, taken) > 0).all()),
            ONCE: again or not bool((ordered[:, 1:] == ordered[:, :-1]).any()),
            MEAN: all(
                balanced(hit[:, c], flat[:, c], flat[:, c] * (1 - flat[:, c])) for c in range(rows.shape[1])
            ),
            LIKELY: balanced(came.reshape(-1), chance.reshape(-1), spread.reshape(-1))
            and all(balanced(came[:, k], chance[:, k], spread[:, k]) for k in range(came.shape[1])),
            APART: not again or _rows_apart(taken, rows),
        }  # fmt: skip

    def of_many(results: Sequence[Any]) -> Holds:
        found = [leaf.reshape(-1, count) for result in results for leaf in pytree.tree_leaves(result)]
        return check(torch.cat(found), rows.repeat(len(found), 1))

    def of_two(one: Any, other: Any) -> Holds:
        (a,), (b,) = pytree.tree_leaves(one), pytree.tree_leaves(other)
        if not again or rows.shape[0] > 1:  # rows of other weights, or what is left of one: no values of one law
            return {}
        return strangers(a, b)

    return Statements(lambda result: check(result.reshape(-1, count), rows), of_many, of_two)


def _rows_apart(taken: torch.Tensor, rows: torch.Tensor) -> bool:
    """Whether picks with replacement hang on none before them: in the first row, and over all of them."""
    columns = torch.arange(rows.shape[1], dtype=torch.float64)
    mean = (rows * columns).sum(1, keepdim=True) / rows.sum(1, keepdim=True)
    away = taken.double() - mean
    return independent(away[0]) and independent(away.reshape(-1)[:CORRELATED], alike=False)


def _about(values: torch.Tensor, mean: float, variance: float, room: float) -> bool:
    """Whether a mean is right, but for what rounding every number may move it: a fixed number of values is tested."""
    return any(balanced(values, mean + shift, variance) for shift in (0.0, -room / 2, room / 2))
