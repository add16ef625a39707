"""Devices without subnormal numbers: what a call gives when its arguments are flushed to zero first.

Flushing is about numbers with float32's exponents, float32 and bfloat16: a subnormal of float16 is a normal number of
float32, in which kernels compute.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.utils import _pytree as pytree

from bringup.accuracy._twin import copy_arguments, leaves
from bringup.errors import EnvironmentFault

SMALLEST = torch.finfo(torch.float32).smallest_normal
FLUSHED = (torch.float32, torch.bfloat16)


def flushed_arguments(args: Any, kwargs: Mapping[str, Any]) -> tuple[Any, Any] | None:
    """Return a call's arguments with zeros (of their sign) in the place of subnormal numbers; None where none is."""
    found = False

    def flush(flat: torch.Tensor) -> torch.Tensor:
        nonlocal found
        tiny = (flat != 0) & (flat.abs() < SMALLEST)
        found = found or bool(tiny.any())
        return torch.where(tiny, torch.zeros_like(flat).copysign(flat), flat)

    def number(value: Any) -> Any:
        nonlocal found
        if type(value) is not float or not 0 < abs(value) < SMALLEST:
            return value
        found = True
        return 0.0

    args, kwargs = copy_arguments(args, dict(kwargs), change=flush, changed=FLUSHED)
    args, kwargs = pytree.tree_map(number, (args, kwargs))
    return (args, kwargs) if found else None


def called(function: Callable[..., Any], args: Any, kwargs: Mapping[str, Any]) -> tuple[Any, tuple[Any, Any]] | None:
    """Return what a call on copies of its arguments gives, and the arguments afterwards; None where it is refused."""
    after = copy_arguments(args, dict(kwargs))
    try:
        with torch.no_grad():
            return function(*after[0], **after[1]), after
    except EnvironmentFault:
        raise  # of a program's own process
    except Exception:  # whatever PyTorch raises
        return None


def same_kind(one: Any, other: Any) -> bool:
    """Whether the tensors of two trees have the same dtypes and shapes: whether they can be compared one by one."""
    return [(t.dtype, t.shape) for t in leaves(one)] == [(t.dtype, t.shape) for t in leaves(other)]
