"""How much of a call its host may make, judged and in use: by the numbers and the tensors of the call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from bringup.device.account import Allowance

# In bytes; docs/decisions/0028-the-wall.md says why.
HOST_BASE, HOST_PER_NUMBER, HOST_WITH_TENSORS = 512, 64, 1 << 12
UPLOADED_PER_NUMBER = 8


def allowance_of(arguments: Any, tensors: Sequence[torch.Tensor], *, data: bool) -> Allowance:
    """Return what the host may make for a call: see `guards.rules.HostBytes`.

    It may upload as much as a table of the call's numbers and tensors has. A tensor has its sizes, strides and offset.

    Args:
        arguments: tree of them.
        tensors: those among them.
        data: whether the operator reads a tensor or draws random numbers, of which the host knows nothing.
    """
    numbers = _numbers_of(arguments) + sum(2 * tensor.dim() + 1 for tensor in tensors)
    return Allowance(
        host_bytes=HOST_BASE + HOST_PER_NUMBER * numbers + (HOST_WITH_TENSORS if data else 0),
        uploaded_bytes=UPLOADED_PER_NUMBER * (numbers + len(tensors)),
    )


def _numbers_of(value: Any) -> int:
    """How many numbers a tree of arguments holds, outside of tensors."""
    if isinstance(value, list | tuple):
        return sum(map(_numbers_of, value))
    if isinstance(value, dict):
        return sum(map(_numbers_of, value.values()))
    return int(isinstance(value, int | float | complex))
