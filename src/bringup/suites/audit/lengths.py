"""Family `lengths`: lists of integers among the arguments with larger numbers: sizes of results of several blocks."""

from __future__ import annotations

from collections.abc import Iterator

from bringup.suites.audit._pool import distinct
from bringup.suites.audit._spoilt import places, whole_numbers, with_value
from bringup.suites.audit._structure import among, structured
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import tensors
from bringup.suites.audit._vet import raised

_LONG = (5003, 2051, 40009)  # odd, and of several blocks


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield samples with one length of a list made long, the last, the first, the last again, where PyTorch takes it.

    Of calls without tensors the family `sizes` changes the numbers.
    """
    if structured(subject.operator) or among("explosive", subject.operator):
        return
    for number, long in enumerate(_LONG):
        for sample in distinct(subject):
            for place, value in places(sample.call):
                if not tensors(sample.call) or not whole_numbers(value) or min(value) < 0:
                    continue
                longer = [long, *value[1:]] if number == 1 else [*value[:-1], long]
                call = with_value(sample.call, place, type(value)(longer))
                if not raised(call):
                    words = f"argument {place} {'first' if number == 1 else 'last'} {long}"
                    yield Draft(words, call, sample.variant, sample.entry, group=words)
