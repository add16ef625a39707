"""Family `alone`: calls by name with one of the arguments that have defaults, or without those that are their default.

Data may be such that only one value of an option suits them (triangular matrices with ones on the diagonal, and
without): a default shows where it is what the sample gives.
"""

from __future__ import annotations

from collections.abc import Iterator

from bringup.suites._opinfo_calls import Call
from bringup.suites._opinfo_samples import Sample
from bringup.suites.audit._numbers import without_tensors
from bringup.suites.audit._pool import distinct
from bringup.suites.audit._signature import PLACES, Parameter, alternatives, by_name, has_rest, positional, value_of
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import elements, turns

_SMALL = 1 << 12  # elements of a sample


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield, parameter by parameter in turn, samples that give several of which only one is kept."""
    if has_rest(subject.operator.signature):
        return
    samples = distinct(subject)
    # All of them: of the samples that differ in an option's value alone, `distinct` keeps any one.
    small = [s for s in subject.samples if elements((s.call.args, s.call.kwargs)) <= _SMALL]
    if not samples:
        samples = without_tensors(subject)
        small = samples or small
    ways = alternatives(subject.operator.signature)
    yield from turns(
        *(_as_default(small, way, parameter) for way in ways for parameter in way),
        *(_kept(samples, way, parameter) for way in ways for parameter in way),
    )


def _as_default(samples: list[Sample], way: list[Parameter], parameter: Parameter) -> Iterator[Draft]:
    if parameter.default is None or parameter.name in PLACES:
        return
    known, default = value_of(parameter.default)
    for sample in samples:
        named = by_name(sample.call, way)
        if not known or named is None or parameter.name not in named or default is None:
            continue
        given = named[parameter.name]
        if type(given) is type(default) and given == default:
            words = f"{parameter.name} left out where it is the default"
            for call in _without(sample.call, way, {parameter.name}):
                yield Draft(words, call, sample.variant, sample.entry, plain=sample.call, group=words)


def _kept(samples: list[Sample], way: list[Parameter], parameter: Parameter) -> Iterator[Draft]:
    if parameter.default is None or parameter.name in PLACES:
        return
    optional = {p.name for p in way if p.default is not None and p.name not in PLACES}
    for sample in samples:
        named = by_name(sample.call, way)
        if named is None or parameter.name not in named or len(optional & set(named)) < 2:
            continue
        words = f"{parameter.name} and no other that has a default"
        for call in _without(sample.call, way, optional - {parameter.name}):
            yield Draft(words, call, sample.variant, sample.entry, group=words)


def _without(call: Call, way: list[Parameter], gone: set[str]) -> Iterator[Call]:
    """Yield a call by name without some of its arguments; then with what is left by position, which PyTorch may ask."""
    named = by_name(call, way)
    assert named is not None
    yield Call(call.reference, (), {name: value for name, value in named.items() if name not in gone})
    names = positional(way)[: len(call.args)]
    if not gone & set(names):
        kept = {name: value for name, value in call.kwargs.items() if name not in gone}
        yield Call(call.reference, call.args, kept)
