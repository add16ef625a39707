"""Family `words`: a text among the arguments that is none of those that the operator knows: PyTorch refuses it."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from bringup.suites._opinfo_calls import Call
from bringup.suites.audit._pool import distinct
from bringup.suites.audit._signature import alternatives
from bringup.suites.audit._spoilt import places, refused, with_value
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import turns
from bringup.suites.audit._vet import raised

_NONE = "nothing"


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield, argument by argument in turn, the first sample of which PyTorch refuses the word; under one dtype."""
    if subject.dtype != subject.operator.dtypes[0]:
        return
    samples = distinct(subject) or subject.samples[:4]
    ways = alternatives(subject.operator.signature)
    defaults = [p.name for way in ways for p in way if (p.default or "").startswith(("'", '"'))]
    given = [place for sample in samples for place, value in places(sample.call) if isinstance(value, str)]
    yield from turns(*(_of_place(subject, place) for place in dict.fromkeys([*given, *defaults])))


def _of_place(subject: Subject, place: int | str) -> Iterator[Draft]:
    for sample in distinct(subject) or subject.samples[:4]:
        call = sample.call
        value = dict(places(call)).get(place, "" if isinstance(place, str) else None)
        if not isinstance(value, str) or isinstance(value, torch.Tensor):
            continue
        if isinstance(place, int) or place in call.kwargs:
            made = with_value(call, place, _NONE)
        else:
            made = Call(call.reference, call.args, {**call.kwargs, place: _NONE})
        error = raised(made)
        if error and not error.startswith("TypeError") and refused(made):
            words = f"argument {place} a word that it does not know"
            yield Draft(words, made, sample.variant, sample.entry, fails=True, group=words)
