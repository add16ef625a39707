"""Family `omitted`: calls by name in which one argument that has a default is missing, or all of them."""

from __future__ import annotations

from collections.abc import Iterator

from bringup.suites._opinfo_calls import Call
from bringup.suites._opinfo_samples import Sample
from bringup.suites.audit._numbers import without_tensors
from bringup.suites.audit._pool import Pool, distinct, lengths
from bringup.suites.audit._signature import PLACES, Parameter, alternatives, by_name, has_rest
from bringup.suites.audit._structure import among
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import tensors

EMPTY = "without elements, all missing that have defaults"


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield calls without one argument, samples in turn, then without all that have defaults.

    Only arguments without which PyTorch's result is of another value or shape say anything; which those are shows when
    a wrapper is wrong, so nothing is compared here.
    """
    if has_rest(subject.operator.signature):
        return
    samples = distinct(subject) or without_tensors(subject)
    for way in alternatives(subject.operator.signature):
        for parameter in way:
            if parameter.default is None or parameter.name in PLACES:
                continue
            for sample in samples:
                named = by_name(sample.call, way)
                if named is None or parameter.name not in named:
                    continue
                kept = {name: value for name, value in named.items() if name != parameter.name}
                words = f"{parameter.name} missing"
                call = Call(sample.call.reference, (), kept)
                yield Draft(words, call, sample.variant, sample.entry, group=words)
        for sample in samples:
            named = by_name(sample.call, way)
            if named is not None and (given := _given(named, way)):
                kept = {name: value for name, value in named.items() if name not in given}
                words = "all missing that have defaults"
                call = Call(sample.call.reference, (), kept)
                yield Draft(words, call, sample.variant, sample.entry, group=words)
    yield from _without_elements(subject, samples)


def _without_elements(subject: Subject, samples: list[Sample]) -> Iterator[Draft]:
    """Yield a call on empty tensors without any of the arguments that have defaults: a size may be such a default."""
    if among("crashes_when_empty", subject.operator) or among("undefined_when_empty", subject.operator):
        return
    pool = Pool(subject)
    for way in alternatives(subject.operator.signature):
        for sample in samples:
            for old in lengths(sample)[:2]:
                # The numbers stay: those that would not fit a length of 0 are left out anyway.
                empty = pool.resized(sample.call, {old: 0}, numbers=False)
                named = by_name(empty, way)
                if (
                    named is None
                    or not (given := _given(named, way))
                    or not any(not t.tensor.numel() for t in tensors(empty))
                ):
                    continue
                kept = {name: value for name, value in named.items() if name not in given}
                call = Call(empty.reference, (), kept)
                yield Draft(EMPTY, call, sample.variant, sample.entry, group=EMPTY)


def _given(named: dict[str, object], way: list[Parameter]) -> set[str]:
    return {p.name for p in way if p.default is not None and p.name not in PLACES} & set(named)
