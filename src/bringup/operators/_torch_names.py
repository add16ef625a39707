"""From an operator's name to PyTorch's function, its documentation and its signature. Imports torch."""

from __future__ import annotations

import functools
import inspect
import re
from typing import Any

import torch


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

    A documented object wins over an undocumented one, so that `masked_fill`, say, is found as a method. None when
    PyTorch has no Python name for it (`jiterator_unary`).
    """
    short = name.removeprefix("torch.ops.").removeprefix("torch.")
    paths = [f"{prefix}.{short}" for prefix in ("torch", "torch.Tensor", "torch.nn.functional", "torch.ops")]
    paths.append(f"torch.ops.aten.{short.removeprefix('aten.').split('.', 1)[0]}")
    found = [path for path in paths if _is_function(lookup(path))]
    documented = [path for path in found if len(inspect.getdoc(lookup(path)) or "") > 40 and ".ops." not in path]
    return next(iter(documented or found), None)


def _is_function(found: Any) -> bool:
    return inspect.isgetsetdescriptor(found) or (callable(found) and not inspect.ismodule(found))


def signature(name: str, overloads: tuple[str, ...] = ()) -> str:
    """Return the operator's signature as PyTorch documents it, else by inspection, else from the ATen schema."""
    path = qualified(name)
    found = lookup(path) if path else None
    if inspect.isgetsetdescriptor(found):
        return f"{name}(input) -> Tensor"  # an attribute: input.T
    documented = documented_signatures(name, inspect.getdoc(found) or "") if found is not None else []
    if documented:
        return documented[0]
    written = python_signature(path)
    if written and "*args" not in written:
        return written
    schemas = aten_schemas(name, overloads)
    return schemas[0].removeprefix("aten::") if schemas else written


def python_signature(path: str | None) -> str:
    """Return the signature that Python's inspection gives, empty for built-in functions."""
    found = lookup(path) if path else None
    if found is None or not inspect.isroutine(found):
        return ""
    try:
        return f"{path.rsplit('.', 1)[-1] if path else ''}{inspect.signature(found)}"
    except (TypeError, ValueError):
        return ""


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
