"""What must hold of what a call of a random overload returns, whatever its seed: told by its arguments alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from bringup.suites import _random_holds as hold
from bringup.suites._random_holds import Holds, Statements

_MANTISSA = {torch.float32: 24, torch.float16: 11, torch.bfloat16: 8, torch.float64: 53}


def statements_of(name: str, args: Sequence[Any], out: torch.Tensor | None = None) -> Statements:
    """Return what holds of a call's results.

    Args:
        name: of the overload, one of `LAWS`.
        args: host tensors and numbers, as before the call.
        out: where the result goes, of overloads that have such an argument.
    """
    return LAWS[name](*args) if out is None else LAWS[name](*args, out)


def largest(dtype: torch.dtype) -> int:
    """One more than the largest number that `random_` draws."""
    return 2 ** _MANTISSA[dtype] + 1 if dtype.is_floating_point else int(torch.iinfo(dtype).max)


def _uniform(place: torch.Tensor, low: float = 0.0, high: float = 1.0) -> Statements:
    def check(result: torch.Tensor) -> Holds:
        inside = result.double()
        top = inside < high if place.dtype is torch.float32 else inside <= high
        return hold.shown(result, (inside >= low) & top, lambda x: ((x - low) / (high - low)).clamp(0, 1),
                          (low + high) / 2, (high - low) ** 2 / 12)  # fmt: skip

    return hold.filled(check)


def _normal(place: torch.Tensor, mean: float = 0.0, std: float = 1.0) -> Statements:
    def check(result: torch.Tensor) -> Holds:
        root = std * math.sqrt(2)
        return hold.shown(result, result.isfinite(), lambda x: 0.5 * (1 + torch.erf((x - mean) / root)),
                          mean, std**2, fourth=3.0)  # fmt: skip

    return hold.filled(check)


def _exponential(place: torch.Tensor, rate: float = 1.0) -> Statements:
    def check(result: torch.Tensor) -> Holds:
        least = result > 0 if place.dtype is torch.float32 else result >= 0
        return hold.shown(result, least & result.isfinite(), lambda x: 1 - torch.exp(-rate * x.clamp(min=0)),
                          1 / rate, 1 / rate**2, fourth=9.0)  # fmt: skip

    return hold.filled(check)


def _bernoulli(place: torch.Tensor, p: float = 0.5) -> Statements:
    return hold.coins(torch.full(place.shape, p, dtype=torch.float64))


def _dropout(x: torch.Tensor, p: float, train: bool | None) -> Statements:
    kept = 1 - (p if train is not False else 0.0)
    held = x.clone()  # the call may be given what it was made of

    def scaled(results: Any) -> Holds:
        result, mask = results
        wanted = torch.where(mask, held.double() * (1 / kept if kept else 0.0), 0.0)
        info = torch.finfo(held.dtype)
        room = wanted.abs() * (2 * info.eps) + info.smallest_normal
        near = (result.double() == wanted) | ((result.double() - wanted).abs() <= room)
        return {"the result is input * mask * scale, and 0 where the mask is False": bool(near.all())}

    return _masked(scaled, torch.full(x.shape, kept, dtype=torch.float64))


def _masked(scaled: Callable[[Any], Holds], kept: torch.Tensor) -> Statements:
    """What holds of results with masks: of each pair, and of the masks alone."""
    mask = hold.coins(kept)

    def one(results: Any) -> Holds:
        return scaled(results) | {f"mask: {words}": right for words, right in mask(results[1]).items()}

    def of_many(results: Sequence[Any]) -> Holds:
        found = hold.both(scaled(one) for one in results)
        return found | {f"mask: {words}": right for words, right in mask.of_many([m for _, m in results]).items()}

    return Statements(one, of_many, lambda a, b: mask.of_two(a[1], b[1]))


LAWS: dict[str, Callable[..., Statements]] = {
    "native_dropout": _dropout,
    "bernoulli_.float": _bernoulli,
    "bernoulli_.Tensor": lambda place, p: hold.coins(p.double().contiguous()),
    "uniform_": _uniform,
    "normal_": _normal,
    "exponential_": _exponential,
    "random_": lambda place: hold.whole(0, largest(place.dtype)),
    "random_.to": lambda place, to: hold.whole(0, to),
    "random_.from": lambda place, low, high: hold.whole(low, high),
    "randperm.generator_out": lambda n, out: hold.permutation(n),
    "multinomial": lambda weights, count, again=False: hold.picks(weights, count, again),
}
