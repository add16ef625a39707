"""Family `calls`: the operator's own samples, spelt otherwise: by name, by position, defaults written out, left out."""

from __future__ import annotations

from collections.abc import Iterator

from bringup.suites._opinfo_calls import Call
from bringup.suites._opinfo_samples import Sample
from bringup.suites.audit._numbers import without_tensors
from bringup.suites.audit._signature import PLACES, Parameter, alternatives, by_name, has_rest, positional, value_of
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import elements, spread, tensors

_SMALL = 1 << 12
_DEFAULTS = 2  # defaults written out, one a case
_LEFT = 3  # arguments left to their defaults, one a case
_TRIED = 4  # samples for each of them: the first that PyTorch accepts without it is kept


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield, over a spread of samples: all by name backwards, the last one by name, by position, defaults.

    An argument that is left out changes the result: it is asked of samples that give another value than the default.
    """
    if has_rest(subject.operator.signature):
        return
    shapes: dict[tuple[int, tuple[str, ...]], Sample] = {}
    small = [s for s in subject.samples if 0 < elements((s.call.args, s.call.kwargs)) <= _SMALL or not tensors(s.call)]
    if not any(tensors(sample.call) for sample in small):
        small = without_tensors(subject)
    for sample in small:
        shapes.setdefault((len(sample.call.args), tuple(sample.call.kwargs)), sample)
    chosen = sorted(shapes.values(), key=lambda s: -len(s.call.args) - len(s.call.kwargs))[:3]
    ways = alternatives(subject.operator.signature)
    for sample in chosen[:2]:
        yield from _first(sample, [_all_by_name(sample, way) for way in ways])
    for sample in chosen[:1]:
        yield from _first(sample, [_last_by_name(sample, way) for way in ways])
        yield from _first(sample, [_by_position(sample, way) for way in ways])
    for sample in chosen[-1:]:
        yield from _spelt_out(subject, sample, ways)
    yield from _left_out(small, ways)


def _first(sample: Sample, found: list[tuple[str, Call] | None]) -> Iterator[Draft]:
    """Yield the spellings of one sample by each alternative: the first that PyTorch accepts is kept."""
    for spelling in found:
        if spelling is not None:
            what, call = spelling
            group = f"{id(sample)} {what.split()[0]}"
            yield Draft(what, call, sample.variant, sample.entry, plain=sample.call, group=group)


def _all_by_name(sample: Sample, way: list[Parameter]) -> tuple[str, Call] | None:
    named = by_name(sample.call, way)
    if named is None:
        return None
    backwards = dict(reversed(named.items()))
    return f"every argument by name: {', '.join(backwards)}", Call(sample.call.reference, (), backwards)


def _last_by_name(sample: Sample, way: list[Parameter]) -> tuple[str, Call] | None:
    names, call = positional(way), sample.call
    last = len(call.args) - 1
    if last < 1 or last >= len(names) or names[last] in call.kwargs:
        return None
    kwargs = {**call.kwargs, names[last]: call.args[last]}
    return f"last positional argument by name: {names[last]}", Call(call.reference, call.args[:last], kwargs)


def _by_position(sample: Sample, way: list[Parameter]) -> tuple[str, Call] | None:
    names, call = positional(way), sample.call
    args, kwargs = list(call.args), dict(call.kwargs)
    moved = []
    for name in names[len(args) :]:
        if name not in kwargs:
            break
        args.append(kwargs.pop(name))
        moved.append(name)
    return (f"by position: {', '.join(moved)}", Call(call.reference, tuple(args), kwargs)) if moved else None


def _spelt_out(subject: Subject, sample: Sample, ways: list[list[Parameter]]) -> Iterator[Draft]:
    call = sample.call
    offered: dict[str, Draft] = {}
    for way in ways:
        given = {*positional(way)[: len(call.args)], *call.kwargs}
        for parameter in way:
            if parameter.name in given or parameter.name in PLACES or parameter.default is None:
                continue
            known, value = value_of(parameter.default)
            if known:
                spelt = Call(call.reference, call.args, {**call.kwargs, parameter.name: value})
                what = f"{parameter.name}={parameter.default} spelt out"
                draft = Draft(what, spelt, sample.variant, sample.entry, plain=call, requires=parameter.name)
                offered.setdefault(parameter.name, draft)
    yield from spread(list(offered.values()), _DEFAULTS)


def _left_out(samples: list[Sample], ways: list[list[Parameter]]) -> Iterator[Draft]:
    offered: dict[str, list[Draft]] = {}
    for sample in samples:
        call = sample.call
        for way in ways:
            names = positional(way)
            last = names[len(call.args) - 1] if 0 < len(call.args) <= len(names) else ""
            for parameter in way:
                name = parameter.name
                if parameter.default is None or name in PLACES or len(offered.get(name, ())) == _TRIED:
                    continue
                if name in call.kwargs:
                    given, args = call.kwargs[name], call.args
                elif name == last:
                    given, args = call.args[-1], call.args[:-1]
                else:
                    continue
                known, value = value_of(parameter.default)
                if known and isinstance(given, bool | int | float | str) and given != value:
                    kwargs = {key: one for key, one in call.kwargs.items() if key != name}
                    what = f"{name} left to its default"
                    draft = Draft(what, Call(call.reference, args, kwargs), sample.variant, sample.entry, group=what)
                    offered.setdefault(name, []).append(draft)
    for drafts_of in spread(list(offered.values()), _LEFT):
        yield from drafts_of
