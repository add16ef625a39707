"""Family `omitted`: calls by name in which one argument that has a default is missing, or all of them."""

from __future__ import annotations

from collections.abc import Iterator

from bringup.suites._opinfo_calls import Call
from bringup.suites.audit._pool import distinct
from bringup.suites.audit._signature import PLACES, Parameter, alternatives, by_name, has_rest
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import tensors


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield calls without one argument, samples in turn, then without all that have defaults.

    Only arguments without which PyTorch's result is of another value or shape say anything; which those are shows when
    a wrapper is wrong, so nothing is compared here.
    """
    if has_rest(subject.operator.signature):
        return
    samples = distinct(subject) or [sample for sample in subject.samples if not tensors(sample.call)]
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


def _given(named: dict[str, object], way: list[Parameter]) -> set[str]:
    return {p.name for p in way if p.default is not None and p.name not in PLACES} & set(named)
