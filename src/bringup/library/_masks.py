"""Masks among the indices of a call: what they select is found out before anybody is asked for a result's size.

PyTorch's own functional form does so, too. A kernel that is given the masks themselves and an `out=` would have to take
the size of that for the number of elements that are selected.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

MASKS = (torch.bool, torch.uint8)


def has_masks(indices: Any) -> bool:
    """Whether a list of indices has a mask in it."""
    return any(isinstance(one, torch.Tensor) and one.dtype in MASKS for one in indices)


def without_masks(itself: torch.Tensor, indices: Sequence[torch.Tensor | None]) -> list[torch.Tensor | None]:
    """Return indices that select the same: each mask is int64[n] for each of its dimensions, by `nonzero`.

    Raises IndexError, as PyTorch, for a mask that has other sizes than the dimensions of `itself` that it stands for.
    """
    found: list[torch.Tensor | None] = []
    for place, one in enumerate(indices):
        if one is None or one.dtype not in MASKS:
            found.append(one)
            continue
        first = len(found)
        if list(one.shape) != list(itself.shape[first : first + one.dim()]):
            raise IndexError(
                f"The shape of the mask {list(one.shape)} at index {place} does not match the shape of the indexed "
                f"tensor {list(itself.shape)} at index {first}"
            )
        found.extend(one.nonzero().unbind(1))
    return found
