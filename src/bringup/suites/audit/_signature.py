"""The parameters in an operator's documented signature, as the prompt shows it: PyTorch's or ATen's notation."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any

import torch

from bringup.suites._opinfo_calls import Call

CHOICES = re.compile(r"(\w+_)?(mode|reduction)")  # parameters whose whole numbers name one of a few ways
PLACES = ("device", "pin_memory", "requires_grad")  # not of an operator: where a tensor lives, and autograd


@dataclass(frozen=True)
class Parameter:
    """One parameter; `default` is None where it has none, else its text."""

    name: str
    keyword_only: bool
    default: str | None


def alternatives(signature: str) -> list[list[Parameter]]:
    """Return the parameters of each alternative ("max(input) -> Tensor; max(input, dim) -> ..."), in order.

    An alternative with `*name` ends there: what follows cannot be told apart by position.
    """
    return [_parameters(text[text.index("(") + 1 : _end(text)]) for text in _split(signature, ";") if "(" in text]


def names_of(signature: str) -> set[str]:
    """Return the names of the parameters of all alternatives."""
    return {parameter.name for way in alternatives(signature) for parameter in way}


def names_a_way(signature: str, place: int | str) -> bool:
    """Whether whole numbers of the parameter at a position, or of a name, stand for one of a few ways."""
    if isinstance(place, str):
        return bool(CHOICES.fullmatch(place))
    return any(place < len(way) and CHOICES.fullmatch(way[place].name) for way in alternatives(signature))


def _end(text: str) -> int:
    depth = 0
    for position, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if character in ")]}" and not depth:
            return position
    return len(text)


def _split(text: str, separator: str) -> list[str]:
    parts, depth, begin = [], 0, 0
    for position, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if character == separator and not depth:
            parts.append(text[begin:position].strip())
            begin = position + 1
    return [*parts, text[begin:].strip()]


def _parameters(text: str) -> list[Parameter]:
    found: list[Parameter] = []
    keyword_only = False
    for part in _split(text, ","):
        if part == "*":
            keyword_only = True
            continue
        if part.startswith("*"):
            keyword_only = True
            continue
        head, equals, default = part.partition("=")
        head = head.strip()
        name = head.partition(":")[0].strip() if ":" in head else head.rpartition(" ")[2]
        if re.fullmatch(r"[A-Za-z_]\w*", name):
            found.append(Parameter(name, keyword_only, default.strip() if equals else None))
    return found


def positional(way: list[Parameter]) -> list[str]:
    """Return the names of the parameters that can be given by position."""
    return [parameter.name for parameter in way if not parameter.keyword_only]


def by_name(call: Call, way: list[Parameter]) -> dict[str, Any] | None:
    """Return all arguments of a call by name; None where a position has no name, or a name is given twice."""
    names = positional(way)
    if len(call.args) > len(names) or set(names[: len(call.args)]) & set(call.kwargs):
        return None
    return {**dict(zip(names, call.args, strict=False)), **call.kwargs}


def argument_of(signature: str, call: Call, name: str) -> Any:
    """What a call gives for a parameter; None for nothing."""
    found = (by_name(call, way) for way in alternatives(signature))
    return next((named[name] for named in found if named is not None and name in named), None)


def with_argument(signature: str, call: Call, name: str, value: object) -> Call | None:
    """Return the call with an argument given otherwise, where it stands or else by name; None without such a name."""
    for way in alternatives(signature):
        names = positional(way)
        if name in names[: len(call.args)]:
            place = names.index(name)
            return Call(call.reference, (*call.args[:place], value, *call.args[place + 1 :]), call.kwargs)
        if name in {one.name for one in way}:
            return Call(call.reference, call.args, {**call.kwargs, name: value})
    return None


def has_rest(signature: str) -> bool:
    """Whether an alternative takes any number of positional arguments (`*size`)."""
    return re.search(r"[(,]\s*\*\w", signature) is not None


def value_of(default: str) -> tuple[bool, Any]:
    """Return (True, the default's value), or (False, None) where the text is no plain value."""
    if re.fullmatch(r"torch\.\w+", default):
        found = getattr(torch, default.removeprefix("torch."), None)
        return isinstance(found, torch.dtype | torch.layout | torch.memory_format), found
    try:
        return True, ast.literal_eval(default)
    except (ValueError, SyntaxError):
        return False, None
