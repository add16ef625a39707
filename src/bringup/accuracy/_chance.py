"""Whether values look drawn from a distribution: tests with a stated chance of refusing a right generator.

`ALARM` is that chance for each test, an upper bound: the values of a right generator fail it once in ten million draws.
Each test is of float64 values on the host and depends on nothing else. Imports torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import torch

ALARM = 1e-7
FEW = 256  # of fewer values no mean is asked: it is not normal yet
EVENTS = 100  # of which a sum of products is as good as normal: count >= EVENTS * kurtosis^2
Cdf = Callable[[torch.Tensor], torch.Tensor]


def quantile(tests: int = 1) -> float:
    """Return how many standard errors a mean may be off, on both sides, where so many of them are looked at."""
    return NormalDist().inv_cdf(1 - ALARM / (2 * max(1, tests)))


def follows(values: torch.Tensor, cdf: Cdf, lower: torch.Tensor, upper: torch.Tensor) -> bool:
    """Whether values follow a distribution: the test of Kolmogorov and Smirnov, with Massart's bound (1990).

    P(sup |F_n - F| > d) <= 2 exp(-2 n d^2), for any distribution F and any n. `cdf` is that of the numbers before they
    were rounded, and each of `values` stands for one of [lower, upper]: so rounding is no error.
    """
    count = values.numel()
    if not count:
        return True
    order = values.argsort()
    values, lower, upper = values[order], lower[order], upper[order]
    # Equal values: the empirical function jumps once, from the rank of the first to that of the last of them.
    _, inverse, sizes = values.unique_consecutive(return_inverse=True, return_counts=True)
    last = sizes.cumsum(0).double() / count
    first = last - sizes.double() / count
    above = last[inverse] - cdf(upper)
    below = cdf(lower) - first[inverse]
    return bool(torch.maximum(above, below).max() <= math.sqrt(math.log(2 / ALARM) / (2 * count)))


def balanced(values: torch.Tensor, mean: torch.Tensor | float, variance: torch.Tensor | float) -> bool:
    """Whether a mean of independent values is as near to that of their distributions as chance lets it be.

    By the central limit theorem; `mean` and `variance` are numbers, or those of each value.
    """
    count = values.numel()
    if count < FEW:
        return True
    expected = torch.as_tensor(mean, dtype=torch.float64).expand(values.shape).sum()
    spread = torch.as_tensor(variance, dtype=torch.float64).expand(values.shape).sum()
    if float(spread) < 25:  # too few events for a normal law; Chebyshev's bound holds for any
        return bool((values.sum() - expected).abs() <= math.sqrt(float(spread) / ALARM))
    return bool((values.sum() - expected).abs() <= quantile() * spread.sqrt())


def independent(values: torch.Tensor, *, alike: bool = True) -> bool:
    """Whether no value goes with the one a fixed distance on: no correlation at any lag up to half of their number.

    A stream that is used again by the next program repeats itself at a lag of a block. Correlations of independent
    values are about normal, of variance 1 / n; all lags are looked at, so each has its share of `ALARM`. The same is
    asked of how far the ranks of values of one distribution (`alike`) are from the middle: numbers that differ in sign
    alone are not independent, either.
    """
    if values.numel() < FEW:
        return True
    return _uncorrelated(values) and (not alike or _uncorrelated(_away(values)))


def unrelated(one: torch.Tensor, other: torch.Tensor, *, alike: bool = True) -> bool:
    """Whether two draws of as many values of one distribution have nothing in common: no correlation at any lag.

    Streams that are windows of one stream are the same from some place on, or in another order of halves.
    """
    if one.numel() < FEW:
        return True
    return _uncorrelated(one, other) and (not alike or _uncorrelated(_away(one), _away(other)))


def _away(values: torch.Tensor) -> torch.Tensor:
    """How far the values' ranks are from the middle, as shares; equal values have one rank."""
    _, inverse, sizes = values.unique(return_inverse=True, return_counts=True)
    ranks = (sizes.cumsum(0).double() - sizes / 2)[inverse] / values.numel()
    return (ranks - 0.5).abs()


def _uncorrelated(one: torch.Tensor, other: torch.Tensor | None = None) -> bool:
    """Whether values do not correlate with themselves further on, or with others at any distance.

    Sums of products of rare events are no normal numbers: nothing is said of so few.
    """
    count = one.numel()
    centred = one - one.mean()
    power = float(centred.square().sum())
    if power <= count * 1e-20 * float(one.abs().max()) ** 2:
        return True
    if count < EVENTS * (count * float((centred**4).sum()) / power**2) ** 2:
        return True
    half = count // 2
    spectrum = torch.fft.rfft(centred, n=2 * count)
    if other is None:
        found = torch.fft.irfft(spectrum * spectrum.conj(), n=2 * count) / power
        products, lags = found[1:half], torch.arange(1, half)
    else:
        away = other - other.mean()
        found = torch.fft.irfft(spectrum * torch.fft.rfft(away, n=2 * count).conj(), n=2 * count)
        found = found / max(math.sqrt(power * float(away.square().sum())), 1e-300)
        products = torch.cat([found[:half], found[-(half - 1) :].flip(0)])
        lags = torch.cat([torch.arange(half), torch.arange(1, half)])
    numbers = products * count / (count - lags).sqrt()
    return bool(numbers.abs().max() <= quantile(2 * numbers.numel()))


def unrepeated(values: torch.Tensor, kinds: int, *, least: bool = True) -> bool:
    """Whether about as many values come again as chance makes, of so many that are equally likely.

    Of n values n - k (1 - (1 - 1/k)^n) are expected to have come before; the variance of that number is no larger.
    `least`: whether too few are wrong as well.
    """
    count = values.numel()
    if count < FEW:
        return True
    again = count - values.unique().numel()
    expected = count + kinds * math.expm1(count * math.log1p(-1 / kinds)) if kinds > 1 else count - 1.0
    room = quantile() * math.sqrt(max(expected, 0.0) + 1) + quantile() ** 2
    return again <= expected + room and (not least or again >= expected - room)
