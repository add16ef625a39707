"""Calls without tensors (factories, windows, shapes): the same with other numbers."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence

from torch.utils import _pytree as pytree

from bringup.suites._opinfo_calls import Call
from bringup.suites._opinfo_samples import Sample
from bringup.suites.audit._families import MAX_OUTPUT
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import elements, exchanged, spread, tensors
from bringup.suites.audit._vet import dense_results

_SAMPLES = 8
_SEVERAL = 4  # elements of a result; in fewer most options do not show


def without_tensors(subject: Subject) -> list[Sample]:
    """Return the samples that have no tensors, those first whose results have the most elements up to four."""
    found = [sample for sample in subject.samples if not tensors(sample.call)]
    return sorted(found, key=lambda sample: -min(_SEVERAL, _results(sample.call)))


def _results(call: Call) -> int:
    found = dense_results(call)
    return 0 if found is None else elements(found[1])


def tensorless(subject: Subject, most: int) -> list[Sample]:
    """Return a spread of the samples that have no tensors, no `out=` and a result with elements."""
    found = [s for s in subject.samples if not tensors(s.call) and "out" not in s.call.kwargs]
    return spread([sample for sample in found if elements(dense_results(sample.call))], most)


def changed(subject: Subject, numbers: Sequence[int]) -> Iterator[Draft]:
    """Yield samples that have no tensor with one integer after another exchanged for each of `numbers`."""
    chosen = spread([s for s in subject.samples if not tensors(s.call) and _integers(s.call)], _SAMPLES)
    for turn, number in enumerate(numbers):
        for sample in chosen[turn % len(chosen) :][:1] if chosen else ():
            places = _integers(sample.call)
            place = random.choice(places)
            call = exchanged(sample.call, {place: number})
            if (
                number != _value(sample.call, place)
                and math.prod(max(1, abs(_value(call, index))) for index in places) <= MAX_OUTPUT
            ):
                old = _value(sample.call, place)
                yield Draft(f"{old} replaced by {number}", call, sample.variant, sample.entry)


def _integers(call: Call) -> list[int]:
    leaves = pytree.tree_leaves((call.args, call.kwargs))
    return [index for index, leaf in enumerate(leaves) if type(leaf) is int]


def _value(call: Call, index: int) -> int:
    return int(pytree.tree_leaves((call.args, call.kwargs))[index])
