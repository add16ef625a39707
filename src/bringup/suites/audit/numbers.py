"""Family `numbers`: integers, floats, flags and lists among the arguments with other values than any sample's there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bringup.suites._opinfo_calls import Call
from bringup.suites._opinfo_samples import Sample
from bringup.suites.audit._pool import distinct
from bringup.suites.audit._signature import CHOICES, PLACES, alternatives, by_name, names_a_way, value_of
from bringup.suites.audit._spoilt import places, whole_numbers, with_value
from bringup.suites.audit._structure import among, structured
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import tensors, turns


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
    yield from turns(
        _long(subject),
        _merged(samples),
        _unseen(subject, samples),
        *(_of_place(subject, samples, place, values) for place, values in known.items()),
    )


def _unseen(subject: Subject, samples: list[Sample]) -> Iterator[Draft]:
    """Numbers and flags that no sample gives, with another value than their default."""
    ways = alternatives(subject.operator.signature)
    given = {name for sample in subject.samples for way in ways for name in by_name(sample.call, way) or ()}
    for parameter in dict.fromkeys(one for way in ways for one in way if one.default is not None):
        plain, default = value_of(parameter.default or "")
        name = parameter.name
        skipped = name in given or name in (*PLACES, "inplace") or name.startswith("_") or CHOICES.fullmatch(name)
        if skipped or not plain or type(default) not in (bool, int, float):
            continue
        others = (not default,) if type(default) is bool else (type(default)(default + 1), type(default)(default / 2))
        for other in others[: 1 if others[-1] == default else None]:
            for sample in samples:
                call = sample.call
                call = Call(call.reference, call.args, {**call.kwargs, name: other})
                words = f"argument {name} {other}, which no sample gives"
                yield Draft(words, call, sample.variant, sample.entry, group=words)


_LONG, _WIDE = 8193, 500.5


def _long(subject: Subject) -> Iterator[Draft]:
    """Calls without tensors that have one integer and fractions, all of them large: else little shows."""
    for sample in subject.samples:
        kinds = [type(value) for _, value in places(sample.call)]
        if tensors(sample.call) or kinds.count(int) != 1 or float not in kinds:
            continue
        call = sample.call
        for place, value in places(call):
            if type(value) in (int, float):
                call = with_value(call, place, _LONG if type(value) is int else _WIDE)
        yield Draft("all numbers large", call, sample.variant, sample.entry, group="all numbers large")


def _merged(samples: list[Sample]) -> Iterator[Draft]:
    """Lists whose first number goes to the last and leaves a 0: sizes of parts, that must add up, still do."""
    for sample in samples:
        for place, value in places(sample.call):
            if whole_numbers(value) and len(value) > 1 and value[0] > 0:
                new = type(value)([0, *value[1:-1], value[-1] + value[0]])
                words = f"argument {place} begins with 0"
                yield Draft(words, with_value(sample.call, place, new), sample.variant, sample.entry, group=words)


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
