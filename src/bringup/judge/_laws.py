"""The laws that users' data follow, drawn whole: numbers of the same bits on every host.

PyTorch's `normal_` rounds otherwise under another instruction set. Here uniform numbers are drawn, which do not, and
the rest is computed in float64 before it is rounded to the dtype.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

SCALES = (-3.0, 3.0)  # decimal logarithms of what normal numbers are multiplied by
BYTES = 256
WORDS = 50257  # of a vocabulary
ONES = (0.02, 0.3)  # share of ones in a mask
MIXED_BLOCK = 1 << 11  # elements of each law where blocks of several lie in one tensor
SHARP = (0.5, 4.0)  # by what numbers are multiplied before a softmax

Law = Callable[["torch.Size", random.Random], "torch.Tensor"]  # in float64


def drawn(law: str, shape: torch.Size, dtype: torch.dtype, chance: random.Random) -> torch.Tensor:
    """Return a tensor of a shape and dtype whose values follow a law of `LAWS`, or of `WHOLE` for integers."""
    return (LAWS if dtype.is_floating_point else WHOLE)[law](shape, chance).to(dtype)


def laws(dtype: torch.dtype) -> tuple[str, ...]:
    """Return the names of the laws that there are for a dtype."""
    return tuple(LAWS if dtype.is_floating_point else WHOLE)


def ranged(values: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor:
    """Return values moved into the range of those that a tensor has."""
    wide, own = values.double(), tensor.double()
    least, most = own.min(), own.max()
    span = float(wide.max() - wide.min()) or 1.0
    return (least + (wide - wide.min()) / span * (most - least)).to(tensor.dtype)


def _uniform(shape: torch.Size, chance: random.Random) -> torch.Tensor:
    import torch

    generator = torch.Generator().manual_seed(chance.getrandbits(32))
    return torch.rand(shape, generator=generator, dtype=torch.float64)


def _normal(shape: torch.Size, chance: random.Random) -> torch.Tensor:
    import torch

    radius = (-2 * torch.log(1 - _uniform(shape, chance))).sqrt()
    return radius * torch.cos(2 * math.pi * _uniform(shape, chance))


def _scaled(shape: torch.Size, chance: random.Random) -> torch.Tensor:
    return _normal(shape, chance) * 10 ** chance.uniform(*SCALES)


def _rectified(shape: torch.Size, chance: random.Random) -> torch.Tensor:
    return _normal(shape, chance).clamp(min=0)


def _bytes(shape: torch.Size, chance: random.Random) -> torch.Tensor:
    return (_uniform(shape, chance) * BYTES).floor()


def _mask(shape: torch.Size, chance: random.Random) -> torch.Tensor:
    return (_uniform(shape, chance) < chance.uniform(*ONES)).double()


def _one_hot(shape: torch.Size, chance: random.Random) -> torch.Tensor:
    """A one in each row, or ones at random places."""
    import torch

    if not shape or shape[-1] < 2 or chance.random() < 0.5:
        return _mask(shape, chance)
    places = (_uniform(torch.Size([*shape[:-1], 1]), chance) * shape[-1]).long()
    return torch.zeros(shape, dtype=torch.float64).scatter_(-1, places, 1.0)


def _softmax(shape: torch.Size, chance: random.Random) -> torch.Tensor:
    values = _normal(shape, chance) * chance.uniform(*SHARP)
    return (values - values.amax(-1, keepdim=True)).softmax(-1) if values.dim() else values.sigmoid()


def _log_softmax(shape: torch.Size, chance: random.Random) -> torch.Tensor:
    return _softmax(shape, chance).clamp(min=1e-30).log()


def _sorted(shape: torch.Size, chance: random.Random) -> torch.Tensor:
    values = _normal(shape, chance).reshape(-1).sort(descending=chance.random() < 0.5).values
    return values.reshape(shape)


def _words(shape: torch.Size, chance: random.Random) -> torch.Tensor:
    """Numbers of words: the more frequent, the smaller, by Zipf's law."""
    return (WORDS ** _uniform(shape, chance)).floor() - 1


def _counts(shape: torch.Size, chance: random.Random) -> torch.Tensor:
    return (_normal(shape, chance).abs() * 2).round()


def _around(shape: torch.Size, chance: random.Random) -> torch.Tensor:
    return (_normal(shape, chance) * 100).round()


def _ascending(shape: torch.Size, chance: random.Random) -> torch.Tensor:
    import torch

    first = chance.randrange(100)
    return torch.arange(first, first + shape.numel(), dtype=torch.float64).reshape(shape)


LAWS: dict[str, Law] = {
    "standard normal numbers": _normal,
    "normal numbers times a scale": _scaled,
    "numbers from 0 to 1": _uniform,
    "numbers as a relu leaves them": _rectified,
    "bytes of an image": _bytes,
    "ones among zeros": _one_hot,
    "rows of a softmax": _softmax,
    "logarithms of probabilities": _log_softmax,
    "sorted numbers": _sorted,
}
WHOLE: dict[str, Law] = {
    "bytes of an image": _bytes,
    "ones among zeros": _one_hot,
    "numbers of words": _words,
    "counts": _counts,
    "whole numbers around 0": _around,
    "consecutive numbers": _ascending,
}
