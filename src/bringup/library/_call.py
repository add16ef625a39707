"""A call of an overload: its arguments in the schema's order, its signature, and what PyTorch's meta functions say.

The signature holds all that a wrapper can see of a call but addresses: kinds of numbers, dtypes, shapes, strides. What
is decided by it is decided once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from bringup.library.schemas import Schema

Signature = tuple[Any, ...]


def filler(schema: Schema) -> Callable[[tuple[Any, ...], dict[str, Any]], list[Any]]:
    """Return what completes a call: all parameters in the schema's order, defaults filled in.

    PyTorch leaves out the arguments that have their default when it calls a kernel in Python.
    """
    names = [p.name for p in schema.parameters]
    defaults = [p.default for p in schema.parameters]
    total = len(names)

    def fill(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        values = list(args)
        for position in range(len(values), total):
            name = names[position]
            if name in kwargs:
                values.append(kwargs[name])
            else:
                default = defaults[position]
                values.append(list(default) if type(default) is list else default)
        return values

    return fill


def _of_float(value: float) -> int:
    """The class of a number: shapes never depend on more where there are tensors, and checks hardly do."""
    if math.isnan(value):
        return 9
    if math.isinf(value):
        return 8 if value > 0 else -8
    if value <= 0:
        return -1 if value < 0 else 0
    return 1 if value <= 1 else 2


def signature(values: Sequence[Any], exact_numbers: bool) -> Signature:
    """Return the signature of completed arguments; `exact_numbers` keeps the values of floats (factories need them)."""
    parts: list[Any] = []
    add = parts.append
    for value in values:
        kind = type(value)
        if isinstance(value, torch.Tensor):
            add(value.dtype)
            add(value.shape)
            add(value.stride())
            add(value.device)
        elif kind is float:
            add(kind)
            add(value if exact_numbers else _of_float(value))
        elif kind is list or kind is tuple:
            add(len(value))
            parts.extend(signature(value, True))
        elif value is None:
            add(None)
        else:
            add(kind)
            add(value if kind.__hash__ is not None else id(value))
    return tuple(parts)


def tensors_in(values: Sequence[Any]) -> Iterator[torch.Tensor]:
    """Yield the tensors among completed arguments, those in lists too."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif type(value) is list or type(value) is tuple:
            yield from tensors_in(value)


def on_meta(value: Any, device: str) -> Any:
    """Return a tensor without data of the same dtype, shape and strides for a tensor, and other values as they are."""
    if isinstance(value, torch.Tensor):
        if value.dim() == 0 and value.device.type == "cpu" != device:
            return value  # a number in a tensor, which any device takes
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
    if type(value) is list or type(value) is tuple:
        return [on_meta(one, device) for one in value]
    if isinstance(value, torch.device):
        return torch.device("meta")
    return value


def _boxed(values: Sequence[Any], schema: Schema) -> list[Any]:
    """Put numbers where the schema says Tensor into tensors: in Python not every overload takes them.

    Their dtype is one that leads to the same result's dtype as the number: that of the first tensor, where it holds
    such numbers, else the number's own.
    """
    first = next(tensors_in(values), None)

    def box(value: Any, kind: str) -> Any:
        if type(value) not in (bool, int, float, complex) or not kind.startswith(("Tensor", "Optional[Tensor]")):
            return value
        holds = (
            first is not None
            and {
                bool: True,
                int: first.dtype != torch.bool,
                float: first.is_floating_point() or first.is_complex(),
                complex: first.is_complex(),
            }[type(value)]
        )
        dtype = first.dtype if first is not None and holds else None
        return torch.tensor(value, dtype=dtype, device="cpu")

    return [box(value, parameter.type) for value, parameter in zip(values, schema.parameters, strict=True)]


class Unsized(Exception):
    """PyTorch has no meta function for this overload, or the result's shape depends on values."""


def ask_meta(operator: Any, values: Sequence[Any], schema: Schema, device: str) -> tuple[torch.Tensor, ...]:
    """Call an overload on tensors without data: its results, sized. Raises what PyTorch raises for bad arguments.

    Raises Unsized where PyTorch cannot say.
    """
    values = _boxed(values, schema)
    args = [on_meta(v, device) for v, p in zip(values, schema.parameters, strict=True) if not p.keyword_only]
    kwargs = {p.name: on_meta(v, device) for v, p in zip(values, schema.parameters, strict=True) if p.keyword_only}
    number = any(
        p.type == "Tensor" and isinstance(v, int | float | complex)
        for v, p in zip(values, schema.parameters, strict=True)
    )
    try:
        with torch.no_grad():
            # Where a number stands for a tensor, PyTorch chooses the overload that takes it.
            result = (operator.overloadpacket if number else operator)(*args, **kwargs)
    except NotImplementedError as error:
        raise Unsized(str(error)) from None
    except RuntimeError as error:
        if type(error).__module__.startswith("torch.fx") or "meta" in str(error).lower():
            raise Unsized(str(error)) from None
        raise
    results = result if isinstance(result, tuple | list) else (result,)
    if not all(isinstance(one, torch.Tensor) for one in results):
        raise Unsized("not tensors only")
    return tuple(results)
