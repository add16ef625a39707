"""How a prompt shows the calls of an operator's cases: `wrapper(input: Tensor, dim: int, keepdim=bool)`.

Names come from the documented signature. Where it has several forms, a call is shown under the names of the form that
takes its types, and one that several forms share, as many times. What `*name` collects is annotated as Python
annotates it: `*size: int` is any number of integers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bringup.operators import CallShape, Operator

# What a parameter of this name takes, where forms of one signature differ in nothing but names.
_TAKES: dict[str, frozenset[str]] = {
    "input": frozenset({"Tensor"}),
    "other": frozenset({"Tensor"}),
    "self": frozenset({"int", "float", "bool", "complex"}),  # beside a form with `input`: pow(self, exponent)
    "dim": frozenset({"int"}),
    "sections": frozenset({"int"}),
    "indices": frozenset({"list", "tuple"}),
    "shape": frozenset({"int", "list", "tuple", "torch.Size"}),
    "size": frozenset({"int", "list", "tuple", "torch.Size"}),
    "dtype": frozenset({"torch.dtype"}),
    "device": frozenset({"str", "torch.device"}),
}


@dataclass(frozen=True)
class _Form:
    """One form of a signature: names by position, the name of its `*rest`, and all words in it."""

    names: tuple[str, ...]
    rest: str
    words: frozenset[str]

    def at(self, place: int) -> str:
        return self.names[place] if place < len(self.names) else self.rest and f"*{self.rest}"

    def fits(self, call: CallShape) -> bool:
        """Whether it has a name for every position, and no name twice."""
        named = set(self.names[: call.positional])
        return (len(self.names) >= call.positional or bool(self.rest)) and not named & set(call.keywords)


def call_texts(operator: Operator, docstring: str = "") -> list[str]:
    """Return the calls of an operator's cases with the types of their arguments, each once.

    `docstring` is asked for names that the signature lacks. An argument that neither names is shown by its type alone.
    """
    forms = [_form(text, docstring) for text in operator.signature.split("; ") if "(" in text]
    return list(dict.fromkeys(text for shape in operator.call_shapes for text in _texts(shape, forms)))


def _texts(call: CallShape, forms: Sequence[_Form]) -> Iterator[str]:
    """A call's text, under the names of each form that takes a part of its types."""
    fitting = [form for form in forms if form.fits(call)]
    yield from _under(call, call.types or ("...",) * (call.positional + len(call.keywords)), fitting)


def _under(call: CallShape, types: tuple[str, ...], forms: Sequence[_Form]) -> Iterator[str]:
    place = next((i for i in range(call.positional) if len({form.at(i) for form in forms}) > 1), None)
    if place is None:
        yield _text(call, types, forms[0] if forms else None)
        return
    parts: dict[tuple[_Form, ...], list[str]] = {}  # the forms that take it best -> alternatives of the type
    for kind in _alternatives(types[place]):
        # Keywords decide last: documentation omits some of them.
        marks = [(_mark(form.at(place), kind), form.words.issuperset(call.keywords)) for form in forms]
        best = tuple(form for form, mark in zip(forms, marks, strict=True) if mark == max(marks))
        parts.setdefault(best, []).append(kind)
    for best, kinds in parts.items():
        narrowed = (*types[:place], " | ".join(kinds), *types[place + 1 :])
        if len({form.at(place) for form in best}) > 1:
            yield _text(call, narrowed, None)
        else:
            yield from _under(call, narrowed, best)


def _mark(name: str, kind: str) -> int:
    """How well a parameter takes a type: 2 by its name, 1 as far as is known, 0 not."""
    known = _TAKES.get(name.removeprefix("*"))
    if known is None or kind == "...":
        return 1
    return 2 if kind.partition("[")[0] in known else 0


def _text(call: CallShape, types: tuple[str, ...], form: _Form | None) -> str:
    shown: dict[str, list[str]] = {}  # a `*rest` has the types of all that it collects
    for place, kind in enumerate(types[: call.positional]):
        name = form.at(place) if form else ""
        known = shown.setdefault(name or f"{place}", [])
        known.extend(one for one in _alternatives(kind) if one not in known)
    positional = [_annotated("" if name.isdigit() else name, kinds, bool(call.types)) for name, kinds in shown.items()]
    keywords = [f"{name}={kind}" for name, kind in zip(call.keywords, types[call.positional :], strict=True)]
    return f"wrapper({', '.join([*positional, *keywords])})"


def _annotated(name: str, kinds: list[str], typed: bool) -> str:
    kind = " | ".join(kinds)
    if not name:
        return kind
    return f"{name}: {kind}" if typed else name


def _form(text: str, docstring: str) -> _Form:
    """Read one form: "max(input, dim, keepdim=False, *, out=None) -> ..."."""
    inside = text[text.index("(") + 1 :].partition(") ->")[0].rstrip(") ")
    names: list[str] = []
    rest = ""
    for part in re.split(r",\s*(?![^\[(]*[\])])", inside):
        name = re.split(r"[:=]", part)[0].strip().rpartition(" ")[2]
        if name.startswith("*") or not name.isidentifier():
            rest = name[1:] if name[1:].isidentifier() else ""
            break
        names.append(name)
    else:
        described = _described(docstring)
        if names and len(described) > len(names):
            names += [name for name in described[len(names) :] if name not in names]
    return _Form(tuple(names), rest, frozenset(re.findall(r"\w+", text)))


def _described(docstring: str) -> list[str]:
    """The parameters that a docstring describes under "Args:", in order."""
    section = re.search(r"(?m)^(?:Args|Arguments|Parameters):\n((?:[ \t]+.*\n|\n(?=[ \t]))*)", f"{docstring}\n")
    return re.findall(r"(?m)^ {2,4}(\w+) \(", section.group(1)) if section else []


def _alternatives(kind: str) -> list[str]:
    """Split "Tensor | tuple[int | float, ...]" at its own bars."""
    parts = [""]
    depth = 0
    for piece in re.split(r"(\[|\]| \| )", kind):
        depth += (piece == "[") - (piece == "]")
        if piece == " | " and not depth:
            parts.append("")
        else:
            parts[-1] += piece
    return parts
