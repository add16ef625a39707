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
FEW = 256  # of fewer values nothing but their support is asked
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
    if count < FEW:
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


def independent(values: torch.Tensor) -> bool:
    """Whether no value goes with the one a fixed distance on: no correlation at any lag up to half of their number.

    A stream that is used again by the next program repeats itself at a lag of a block. Correlations of independent
    values are about normal, of variance 1 / n; all lags are looked at, so each has its share of `ALARM`.
    """
    count = values.numel()
    if count < FEW:
        return True
    centred = values - values.mean()
    power = float(centred.square().sum())
    if not power:
        return True
    spectrum = torch.fft.rfft(centred, n=2 * count)
    products = torch.fft.irfft(spectrum * spectrum.conj(), n=2 * count)[1 : count // 2]
    lags = torch.arange(1, count // 2, dtype=torch.float64)
    found = products / power * count / (count - lags).sqrt()
    return bool(found.abs().max() <= quantile(found.numel()))
