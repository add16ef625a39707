"""Plain values: what comes out of the wrapper has exact, known types.

A subclass of a tensor, a number or a list is no result: whoever uses it would run the candidate's code.
"""

from __future__ import annotations

from typing import Any

SCALARS = (int, float, bool, str, complex, bytes, type(None), type(...), range, slice)
DEPTH = 8


def odd_result(value: Any) -> str:
    """Say what in a result is no plain value, in words; empty when all is."""
    return _odd(value)


def _odd(value: Any, depth: int = 0) -> str:
    kind = type(value)
    if kind in SCALARS or _is_returnable(value, kind):
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
        found = _odd(item, depth + 1)
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

    return kind is torch.Tensor and not object.__getattribute__(value, "__dict__")


def _is_returnable(value: Any, kind: type) -> bool:
    import numpy
    import torch

    known = (torch.dtype, torch.device, torch.layout, torch.memory_format, torch.Size)
    return kind in known or _is_tensor(value, kind) or (issubclass(kind, numpy.generic) and kind.__module__ == "numpy")
