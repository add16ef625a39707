"""Plain values: what goes into a launch and comes out of the wrapper has exact, known types.

A subclass of a tensor, a number or a list can compute when somebody looks at it: the launcher inside a launch, where
the watches stand aside, or the judge when it writes results down. So nobody looks before the types are known.
"""

from __future__ import annotations

import sys
from typing import Any

from bringup.judge.guards._base import Finding, Watch
from bringup.judge.guards._frames import candidate_line

SCALARS = (int, float, bool, str, complex, bytes, type(None), type(...), range, slice)
DEPTH = 8


class Arguments(Watch):
    """Launches take plain tensors, numbers, Triton's own constants and descriptors, kernels, and tuples of them."""

    id = "arguments"
    catches = "objects that compute when the launcher touches them; Python functions passed into a kernel"
    misses = "nothing that a kernel could use"
    advice = "pass tensors, numbers and jit functions to a kernel"

    def launching(self, kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Look at what a kernel is about to get."""
        for value in (*args, *kwargs.values()):
            odd = _odd(value, _is_launchable)
            if odd:
                self.findings.append(Finding(self.id, f"a kernel is passed {odd}", candidate_line()))


def odd_result(value: Any) -> str:
    """Say what in a result is no plain value, in words; empty when all is."""
    return _odd(value, _is_returnable)


def _odd(value: Any, accepted: Any, depth: int = 0) -> str:
    kind = type(value)
    if kind in SCALARS or accepted(value, kind):
        return ""
    if depth > DEPTH:
        return "something nested without end"
    items: Any
    if kind is dict:
        items = (*value.keys(), *value.values())
    elif kind is list or _is_tuple(kind):
        items = tuple.__iter__(value) if kind is not list else list.__iter__(value)
    else:
        return f"a value of type {kind.__module__}.{kind.__qualname__}"
    for item in items:
        found = _odd(item, accepted, depth + 1)
        if found:
            return found
    return ""


def _is_tuple(kind: type) -> bool:
    """Tuples, and named tuples that do not change how a tuple is read."""
    return issubclass(kind, tuple) and all(
        getattr(kind, name) is getattr(tuple, name) for name in ("__iter__", "__getitem__", "__len__")
    )


def _is_tensor(value: Any, kind: type) -> bool:
    """A tensor without a class or a method of its own."""
    import torch

    return kind in (torch.Tensor, torch.nn.Parameter) and not object.__getattribute__(value, "__dict__")


def _is_returnable(value: Any, kind: type) -> bool:
    import numpy
    import torch

    known = (torch.dtype, torch.device, torch.layout, torch.memory_format, torch.Size)
    return kind in known or _is_tensor(value, kind) or (issubclass(kind, numpy.generic) and kind.__module__ == "numpy")


def _is_launchable(value: Any, kind: type) -> bool:
    import torch

    if kind is torch.dtype or _is_tensor(value, kind):
        return True
    # Triton's own objects: constants, dtypes, jit functions, tensor descriptors. A class may say that it is Triton's.
    name = type.__getattribute__(kind, "__module__")
    module = sys.modules.get(name) if type(name) is str and name.partition(".")[0] == "triton" else None
    return module is not None and vars(module).get(type.__getattribute__(kind, "__name__")) is kind
