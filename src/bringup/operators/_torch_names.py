"""From an operator's name to PyTorch's function, its documentation and its signature. Imports torch."""

from __future__ import annotations

import functools
import inspect
import re
from typing import Any

import torch

# Where an operator's name may live, in the order in which documentation is looked for.
_NAMESPACES: tuple[tuple[str, Any], ...] = (
    ("torch", torch),
    ("torch.Tensor", torch.Tensor),
    ("torch.nn.functional", torch.nn.functional),
)


def lookup(path: str) -> Any:
    """Return the object at a dotted path below `torch`, or None."""
    target: Any = torch
    for part in path.split(".")[1:]:
        try:
            target = getattr(target, part)
        except (AttributeError, RuntimeError):
            return None
    return target


@functools.cache
def qualified(name: str) -> str | None:
    """Return the dotted path of an operator: `softmax` -> `torch.softmax`, `T` -> `torch.Tensor.T`.

    A private function without documentation (`torch._softmax_backward_data`) still counts; None when PyTorch has no
    Python name for it (`jiterator_unary`, an entry of a library namespace such as `torch.ops.aten.x`).
    """
    candidates = [name]
    if "." in name:
        candidates.append(name.rsplit(".", 1)[0])
    for candidate in candidates:
        for prefix, _ in _NAMESPACES:
            path = f"{prefix}.{candidate}"
            if _is_function(lookup(path)):
                return path
    for candidate in candidates:
        path = f"torch.ops.aten.{candidate.removeprefix('torch.ops.').removeprefix('aten.').split('.', 1)[0]}"
        if lookup(path) is not None:
            return path
    return None


def _is_function(found: Any) -> bool:
    return inspect.isgetsetdescriptor(found) or (callable(found) and not inspect.ismodule(found))


def signature(name: str, overloads: tuple[str, ...] = ()) -> str:
    """Return the operator's signature as PyTorch documents it, else by inspection, else from the ATen schema."""
    path = qualified(name)
    found = lookup(path) if path else None
    documented = documented_signatures(name, inspect.getdoc(found) or "") if found is not None else []
    if documented:
        return documented[0]
    short = name.rsplit(".", 1)[-1]
    try:
        return f"{short}{inspect.signature(found)}" if found is not None else ""
    except (TypeError, ValueError):
        schemas = aten_schemas(name, overloads)
        return schemas[0] if schemas else ""


def documented_signatures(name: str, doc: str) -> list[str]:
    """Return the signature lines of a docstring: `softmax(input, dim, *, dtype=None) -> Tensor`."""
    short = re.escape(name.rsplit(".", 1)[-1])
    found = []
    for match in re.finditer(rf"(?m)^(?:\.\. (?:function|method|py:method)::\s*)?(?:[\w.]+\.)?{short}(\(.*)$", doc):
        line = match.group(1)
        if line.count("(") == line.count(")") or "->" in line:
            found.append(f"{name.rsplit('.', 1)[-1]}{line}".replace("\\*", "*").strip())
    return found


def aten_schemas(name: str, overloads: tuple[str, ...] = ()) -> list[str]:
    """Return the ATen schemas of the operator's own packet, or else of the overloads that it dispatches to."""
    packet = getattr(torch.ops.aten, name.rsplit(".", 1)[-1].removeprefix("aten."), None)
    if packet is not None:
        return [str(getattr(packet, overload)._schema) for overload in packet.overloads()]
    found = []
    for overload in overloads:
        target = lookup(f"torch.ops.{overload}")
        if target is not None:
            found.append(str(target._schema))
    return found
