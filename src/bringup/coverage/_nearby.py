"""How far PyTorch itself is off around one call: its errors in float32 on arguments close by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from bringup.accuracy._twin import Twin, copy_arguments, leaves, perturbation

NEARBY = 2.0**-10  # relative: far beyond float32's own rounding, so that every draw rounds otherwise
DRAWS = 4


def nearby_errors(
    reference: Callable[..., Any], args: Any, kwargs: Mapping[str, Any], draws: int = DRAWS
) -> list[float]:
    """Return the largest finite error of each result on the host, over `draws` fixed choices of arguments close by.

    One call may be right by chance: where terms cancel that are larger than the result, its error is a draw from what
    rounding these terms makes. `reference` is a function of float32 tensors (dense results), run once in float32 and
    once in double precision for each choice. Raises what PyTorch raises.
    """
    worst: list[float] = []
    for draw in range(draws):
        moved = perturbation(NEARBY, draw)
        near = copy_arguments(args, dict(kwargs), change=_rounded(moved), changed=(torch.float32,))
        again = copy_arguments(*near)
        made = leaves(reference(*again[0], **again[1]))
        exact = leaves(Twin(reference, near[0], near[1], scalars=False).run()[0])
        errors = [_error(one, right) for one, right in zip(made, exact, strict=True)]
        worst = [max(pair) for pair in zip(worst, errors, strict=True)] if worst else errors
    return worst


def _rounded(change: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda flat: change(flat).to(flat.dtype)


def _error(made: torch.Tensor, exact: torch.Tensor) -> float:
    if made.shape != exact.shape or exact.dtype is not torch.float64:
        return 0.0
    off = (made.detach().double() - exact.detach()).abs()
    off = off[off.isfinite()]
    return float(off.max()) if off.numel() else 0.0
