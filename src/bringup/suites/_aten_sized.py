"""The outputs of an `out=` overload as a kernel is given them: sized by PyTorch's meta functions. Imports torch.

PyTorch's own composites hand some kernels an empty output to be resized (`abs` allocates nothing and calls `abs.out`).
A library behind a device asks the meta function of the functional form first, and gives its kernel what that says; the
cases of a suite are such calls.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import torch
from torch.utils import _pytree as pytree

from bringup.suites._aten_record import Recorded


def sized(call: Recorded, writes: Collection[str]) -> Recorded:
    """Return a call whose outputs have the shapes and dtypes that PyTorch gives them; the call where it cannot say.

    `writes` names the parameters that are written. Outputs that fit stay as they are, strides included.
    """
    functional = functional_of(call.operator)
    if functional is None:
        return call
    kwargs = {name: value for name, value in call.kwargs.items() if name not in writes}
    try:
        found = _on_meta(functional, call.args, kwargs)
    except Exception:  # whatever PyTorch raises: no meta function, or a shape that hangs on values
        return call
    names = [a.name for a in call.operator._schema.arguments if a.kwarg_only and a.name in writes]
    if len(found) != len(names):
        return call
    changed = {
        name: torch.empty_strided(one.shape, one.stride(), dtype=one.dtype, device=given.device)
        for name, one in zip(names, found, strict=True)
        if isinstance(given := call.kwargs.get(name), torch.Tensor) and _other(given, one)
    }
    return replace(call, kwargs={**call.kwargs, **changed}) if changed else call


def fits(call: Recorded, writes: Collection[str]) -> bool:
    """Whether the outputs of a call are sized already, as far as PyTorch can say."""
    return sized(call, writes) is call


@functools.cache
def functional_of(operator: Any) -> Any:
    """Return the functional overload with the inputs of an `out=` overload, or None: `add.Tensor` for `add.out`."""
    schema = operator._schema
    inputs = [_form(a) for a in schema.arguments if not _written(a)]
    if len(inputs) == len(schema.arguments) or any(_written(a) and not a.kwarg_only for a in schema.arguments):
        return None
    packet = operator.overloadpacket
    for name in packet.overloads():
        found = getattr(packet, name)
        arguments = found._schema.arguments
        if not any(map(_written, arguments)) and [_form(a) for a in arguments] == inputs:
            return found
    return None


def _written(argument: Any) -> bool:
    return argument.alias_info is not None and bool(argument.alias_info.is_write)


def _form(argument: Any) -> tuple[str, str]:
    return argument.name, str(argument.type)


def _other(given: torch.Tensor, wanted: torch.Tensor) -> bool:
    return bool(given.shape != wanted.shape or given.dtype != wanted.dtype)


def _on_meta(functional: Any, args: Any, kwargs: Any) -> list[torch.Tensor]:
    def empty(value: Any) -> Any:
        if isinstance(value, torch.device):
            return torch.device("meta")
        if not isinstance(value, torch.Tensor):
            return value
        return torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device="meta")

    args, kwargs = pytree.tree_map(empty, (args, kwargs))
    kinds = [str(a.type) for a in functional._schema.arguments]
    numbers = any(kind == "Tensor" and isinstance(value, int | float) for kind, value in zip(kinds, args, strict=False))
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # A number in a tensor's place: PyTorch chooses the overload that takes it.
        result = (functional.overloadpacket if numbers else functional)(*args, **kwargs)
    return [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]
