"""Family `forms`: for each form of a call, one whose tensors lie with gaps and in another order of dimensions.

A form is which arguments are given, by place or by name, and as what: a tensor, a number, a list, None, which word or
flag. Wrappers take another path for many of them (no `dim`: the tensor is flattened), and `layout` has few samples.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from bringup.suites._opinfo_calls import Call
from bringup.suites._opinfo_samples import Sample
from bringup.suites.audit._layouts import stepped
from bringup.suites.audit._structure import among
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import exchanged, shuffled, tensors

_MAX_ELEMENTS = 1 << 14

Form = tuple[tuple[str, str], ...]


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield forms that differ in what is given first, then those that differ in words and flags alone."""
    steady = among("misread_layouts", subject.operator)
    found = _by_form(subject)
    kinds: dict[Form, list[tuple[Form, Sample]]] = {}
    for form, sample in found.items():
        kinds.setdefault(_kinds_of(form), []).append((form, sample))
    # The first of each kind, then the second ...: what is given changes more than which flag.
    rows = list(kinds.values())
    for turn in range(max(map(len, rows), default=0)):
        for form, sample in (row[turn] for row in rows if turn < len(row)):
            new = {leaf.index: _elsewhere(leaf.tensor) for leaf in tensors(sample.call)}
            yield Draft(
                f"{_words(form)}, tensors with gaps, transposed",
                exchanged(sample.call, new),
                sample.variant,
                sample.entry,
                steady=steady,
            )


def _by_form(subject: Subject) -> dict[Form, Sample]:
    """The sample of each form of which most can be seen: the one with most dimensions, of these with most elements."""
    found: dict[Form, tuple[tuple[int, int], Sample]] = {}
    for sample in shuffled(subject.samples):
        given = [leaf.tensor for leaf in tensors(sample.call)]
        if not 1 < max((tensor.numel() for tensor in given), default=0) <= _MAX_ELEMENTS:
            continue
        form = _form(sample.call)
        seen = max(sum(size > 1 for size in tensor.shape) for tensor in given), sum(t.numel() for t in given)
        if form not in found or seen > found[form][0]:
            found[form] = seen, sample
    return {form: sample for form, (_, sample) in found.items()}


def _form(call: Call) -> Form:
    given: list[tuple[str, Any]] = [(str(place), value) for place, value in enumerate(call.args)]
    return tuple((place, _kind(value)) for place, value in [*given, *sorted(call.kwargs.items())])


def _kind(value: Any) -> str:
    """What an argument is given as; a flag and a word by themselves."""
    if isinstance(value, torch.Tensor):
        return "tensor" if value.dim() else "0-d tensor"
    if isinstance(value, (list, tuple)):
        kinds = list(dict.fromkeys(_kind(one) for one in value))
        return f"list of {' and '.join(kinds)}" if kinds else "empty list"
    return repr(value) if value is None or isinstance(value, (bool, str)) else type(value).__name__


def _kinds_of(form: Form) -> Form:
    """The form without what words and flags say."""
    return tuple((place, "word" if kind[0] in "'\"" else kind.replace("True", "flag").replace("False", "flag"))
                 for place, kind in form)  # fmt: skip


def _words(form: Form) -> str:
    return "(" + ", ".join(kind if place.isdigit() else f"{place}={kind}" for place, kind in form) + ")"


def _elsewhere(tensor: torch.Tensor) -> torch.Tensor:
    """The same values, the last two dimensions exchanged in memory, every element three from the next."""
    return stepped(tensor) if tensor.dim() < 2 else stepped(tensor.mT).mT
