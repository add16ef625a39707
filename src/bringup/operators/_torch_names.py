"""From an operator's name to PyTorch's function, its documentation and its signature. Imports torch."""

from __future__ import annotations

import functools
import inspect
import re
from importlib.resources import files
from typing import Any, TypedDict

import torch
import yaml


class Note(TypedDict, total=False):
    """Our own documentation of one operator."""

    signature: str
    see: list[str]
    text: str


@functools.cache
def notes() -> dict[str, Note]:
    """Return our own documentation of operators for which PyTorch has none (reviewed data)."""
    source = files("bringup.operators").joinpath("data", "doc_notes.yaml")
    loaded: dict[str, Note] = yaml.safe_load(source.read_text(encoding="utf-8"))
    return loaded


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
    """Return the operator's signature: ours where we wrote one, PyTorch's documented ones joined by "; ", else by
    inspection, else the ATen schemas' under the operator's name. A method's begins with `input`.
    """
    own = notes().get(name, {}).get("signature")
    if own:
        return own
    path = qualified(name)
    found = lookup(path) if path else None
    method = path is not None and path.startswith("torch.Tensor.")
    if inspect.isgetsetdescriptor(found):
        return f"{name}(input) -> Tensor"  # an attribute: input.T
    documented = documented_signatures(name, inspect.getdoc(found) or "") if found is not None else []
    if documented:
        lines = [completed(_with_input(line) if method else line) for line in documented]
        return "; ".join(dict.fromkeys(_with_defaults(lines[0], found) if len(lines) == 1 else line for line in lines))
    written = python_signature(path)
    if written and "*args" not in written:
        return completed(written)
    short = name.rsplit(".", 1)[-1]
    schemas = [schema for schema in aten_schemas(name, overloads) if "(a!) out" not in schema]
    return f"{short}{schemas[0][schemas[0].index('(') :]}" if schemas else written


# An optional parameter up to the next comma or the end: PyTorch's generated docstrings leave its default out.
_OPTIONAL = re.compile(r"(\b\w+: Optional\[(?:[^\[\]]|\[(?:[^\[\]]|\[[^\[\]]*\])*\])*\])(?=\s*[,)])")
_BARE_OUT = re.compile(r"(\*,(?:[^()]*,)? *out)(?=\s*[,)])")


def completed(line: str) -> str:
    """Return a signature with what PyTorch's text of it leaves out: `= None` of what is optional, `out` among it.

    Annotations that are None are taken away: what TorchScript's `BroadcastingList2[int]` is at run time says nothing.
    """
    head, arrow, result = line.partition(" ->")
    head = _OPTIONAL.sub(r"\1 = None", head)
    head = _BARE_OUT.sub(r"\1=None", head)
    head = re.sub(r"(\b\w+): (?:None|NoneType) = ", r"\1=", head)
    return re.sub(r"(\b\w+): (?:None|NoneType)(?=\s*[,)])", r"\1", head) + arrow + result


def _with_defaults(line: str, function: Any) -> str:
    """Return a documented signature with the defaults that Python's inspection knows and the text leaves out."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return line
    head, arrow, result = line.partition(" ->")
    for name, parameter in parameters.items():
        default = parameter.default
        if default is None or isinstance(default, bool | int | float | str):
            head = re.sub(rf"([(,] ?{name})(?=\s*[,)])", rf"\1={default!r}", head, count=1)
    return head + arrow + result


def _with_input(line: str) -> str:
    head, _, rest = line.partition("(")
    if rest.startswith(("input", "self")):
        return line
    return f"{head}(input{'' if rest.startswith(')') else ', '}{rest}"


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
            line = line.replace("\\*", "*").partition(" # ")[0].strip()
            found.append(f"{name.rsplit('.', 1)[-1]}{line}")
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
