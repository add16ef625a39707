"""Family `equations`: other equations of `einsum` than those of the samples, one of each kind."""

from __future__ import annotations

import random
from collections.abc import Iterator

import torch

from bringup.suites._opinfo_calls import Call
from bringup.suites.audit._subject import Draft, Subject

_SIZES = {"a": 3, "b": 5, "c": 7, "d": 2, "e": 1, "f": 131}
# kind -> equations; an ellipsis stands for (4, 3), or for as much of it as is given
_KINDS: dict[str, tuple[str, ...]] = {
    "row by row": ("ab,ab->a", "ab,ab->b", "abc,abc->ab", "abc,abc->b"),
    "diagonals": ("aa->a", "baa->ba", "aab->b", "aa,ab->b"),
    "an ellipsis": ("...ab,...bc->...ac", "...ab->...ba", "a...,b...->ab...", "...a,...a->..."),
    "without an arrow": ("ab,bc", "ba", "aa", "bac,ca"),
    "three operands": ("ab,bc,cd->ad", "a,b,c->abc", "ab,ab,ab->a", "abc,c,b->a"),
    "nothing in common": ("a,b->ab", "ab,cd->acbd", "ab,c->", "a,bc->b"),
    "many rows": ("fa,fa->f", "bf,bf->f", "fc,cf->f"),
    "lengths of 1": ("ea,ab->eb", "ae,be->ab", "eab,ebc->ac"),
}


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield an equation of each kind, for operators whose first argument is one; small whole numbers as data."""
    sample = next((s for s in subject.samples if s.call.args and isinstance(s.call.args[0], str)), None)
    if sample is None or "->" not in "".join(str(s.call.args[0]) for s in subject.samples):
        return
    for kind, equations in _KINDS.items():
        for equation in random.sample(equations, len(equations)):
            terms = equation.split("->")[0].split(",")
            operands = [torch.randint(-3, 4, _shape(term)).to(subject.torch_dtype) for term in terms]
            first = sample.call.args[1]
            args = (equation, operands) if isinstance(first, list | tuple) else (equation, *operands)
            call = Call(sample.call.reference, args, {})
            yield Draft(f"{kind}: {equation}", call, sample.variant, sample.entry, group=kind)


def _shape(term: str) -> tuple[int, ...]:
    found: list[int] = []
    for part in term.replace("...", "."):
        found += [4, 3] if part == "." else [_SIZES[part]]
    return tuple(found)
