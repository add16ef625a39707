"""Family `numbers`: integers, floats and flags among the arguments with other values than any sample has there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bringup.suites._opinfo_samples import Sample
from bringup.suites.audit._pool import distinct
from bringup.suites.audit._signature import names_a_way
from bringup.suites.audit._spoilt import places, with_value
from bringup.suites.audit._structure import among, structured
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import turns


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield, argument by argument in turn, samples with the next, the opposite and a small number; flags the other way.

    A number that PyTorch refuses makes no case.
    """
    if structured(subject.operator):
        return
    samples = distinct(subject)
    known: dict[int | str, set[Any]] = {}
    for sample in subject.samples:
        for place, value in places(sample.call):
            if type(value) in (bool, int, float):
                known.setdefault(place, set()).add(value)
    yield from turns(*(_of_place(subject, samples, place, values) for place, values in known.items()))


def _of_place(subject: Subject, samples: list[Sample], place: int | str, known: set[Any]) -> Iterator[Draft]:
    for way in range(len(_others(0))):
        for sample in samples:
            value = dict(places(sample.call)).get(place)
            if type(value) not in (bool, int, float) or (type(value) is bool and among("open_flags", subject.operator)):
                continue
            number = _others(value)[way]
            if number in known and type(value) is not bool:
                continue
            if type(value) is int and names_a_way(subject.operator.signature, place):
                continue  # samples have them all; PyTorch does not check that another one is none
            words = f"argument {place} {number}"
            yield Draft(words, with_value(sample.call, place, number), sample.variant, sample.entry, group=words)


def _others(value: Any) -> tuple[Any, ...]:
    if type(value) is bool:
        return (not value,) * 4
    if type(value) is int:
        return (value + 1, -value - 1, value - 1, 3)
    return (value + 0.5, value / 2, value * 2, 0.0)
