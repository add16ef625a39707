"""Operands that lie just within, or just beyond, what a number of the call allows them to be apart."""

from __future__ import annotations

import random

import torch

WITHIN, BEYOND = (0.5, 0.8), (1.25, 2.0)  # of the number
NEGLIGIBLE = 2.0**-10  # of the number: operands beside a difference that is given by itself
LARGE = 64.0  # operands beside a difference that is relative to them


def operands(
    tensor: torch.Tensor, number: float, chance: random.Random, *, relative: bool
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return three tensors of one shape and dtype: the second is within the number of the first, the third is not.

    Args:
        tensor: of floating-point numbers, whose signs and some of whose digits the first one has.
        number: by which two elements may differ, or their ratio from 1 (`relative`).
        chance: what is drawn with.
        relative: which of the two.
    """
    seed = torch.Generator().manual_seed(chance.getrandbits(32))

    def drawn(low: float, high: float) -> torch.Tensor:
        return low + (high - low) * torch.rand(tensor.shape, generator=seed, dtype=torch.float64)

    mantissa, _ = torch.frexp(torch.nan_to_num(tensor.double(), 1.0, 1.0, -1.0))
    mantissa = torch.where(mantissa == 0, 0.5, mantissa)
    first = mantissa * (LARGE if relative else number * NEGLIGIBLE)
    unit = first * number if relative else torch.full_like(first, number) * chance.choice((-1.0, 1.0))
    beyond = torch.rand(tensor.shape, generator=seed) < chance.choice((0.0, 0.5, 1.0))
    if tensor.numel():
        beyond.view(-1)[chance.randrange(tensor.numel())] = True
    within = drawn(*WITHIN)
    outside = torch.where(beyond, drawn(*BEYOND), within)
    return (
        first.to(tensor.dtype),
        (first + within * unit).to(tensor.dtype),
        (first + outside * unit).to(tensor.dtype),
    )
