"""Family `places`: lists of places and sizes: all counted from the end, one of 0; lengths of 1 alone in each axis,
beside each option; matrices much wider or taller than samples'.

These are the rules that changes of right kernels had in common which no other family found.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from bringup.suites._opinfo_calls import Call
from bringup.suites._opinfo_samples import Sample
from bringup.suites.audit._generic import forms
from bringup.suites.audit._pool import Pool, distinct
from bringup.suites.audit._spoilt import places, refused, whole_numbers, with_value
from bringup.suites.audit._structure import among, structured
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import elements, exchanged, shuffled, tensors, turns
from bringup.suites.audit._vet import alike, dense_results, raised, run, small_result

_FEW = 1 << 12  # elements of a sample
_SIDES = ((3, 8), (5, 40), (9, 129), (40, 6), (129, 11))


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield one of each sort in turn."""
    samples = [sample for sample in distinct(subject) if elements(sample.call.args) <= _FEW]
    options = _by_options(subject)
    yield from turns(
        _from_the_end(options), _zeros(subject, options), _ones(subject, options), _sides(subject, samples)
    )


def _by_options(subject: Subject) -> list[Sample]:
    """Return a sample for each set of words and flags among the arguments."""
    seen: dict[tuple[object, ...], Sample] = {}
    for sample in shuffled(subject.samples):
        if not elements(sample.call.args) or elements(sample.call.args) > _FEW:
            continue
        words = [v for v in (*sample.call.args, *sample.call.kwargs.values()) if type(v) in (str, bool)]
        kinds = [type(value).__name__ for value in sample.call.args]
        seen.setdefault((sample.variant, *kinds, *sample.call.kwargs, *words), sample)
    return list(seen.values())


def _lists(call: Call) -> Iterator[tuple[int | str, Any]]:
    """Yield the place and value of each argument that is a list of whole numbers."""
    return ((place, value) for place, value in places(call) if whole_numbers(value))


def _from_the_end(samples: list[Sample]) -> Iterator[Draft]:
    """Yield all places of a list counted from the end of an axis, or of the axes: the result is the same."""
    for sample in samples:
        found = tensors(sample.call)
        if not found or raised(sample.call):
            continue
        shape = found[0].tensor.shape
        expected = run(sample.call)
        for place, value in _lists(sample.call):
            for length in dict.fromkeys((*shape, len(shape))):
                if len(value) < 2 or any(one < 0 or one >= length for one in value):
                    continue
                call = with_value(sample.call, place, type(value)([one - length for one in value]))
                if not raised(call) and alike(run(call), expected):
                    words = f"argument {place}, {len(value)} places counted from the end"
                    yield Draft(words, call, sample.variant, sample.entry, group=words)


def _zeros(subject: Subject, samples: list[Sample]) -> Iterator[Draft]:
    """Yield lists of sizes one of which is 0, and, alone, 0."""
    if any(among(group, subject.operator) for group in ("crashes_when_empty", "undefined_when_empty")):
        return
    for sample in samples:
        for place, value in _lists(sample.call):
            ways = [[*value[:at], 0, *value[at + 1 :]] for at in range(len(value))] + ([[0]] if len(value) > 1 else [])
            for way in ways:
                call = with_value(sample.call, place, type(value)(way))
                words = f"argument {place} with 0 {'alone' if len(way) < len(value) else f'at {way.index(0)}'}"
                if not small_result(call):
                    continue
                if not raised(call):
                    yield Draft(words, call, sample.variant, sample.entry, group=words)
                elif refused(call):
                    yield Draft(f"{words}, refused", call, sample.variant, sample.entry, fails=True, group=words)


def _ones(subject: Subject, samples: list[Sample]) -> Iterator[Draft]:
    """Yield a length of 1 in one axis of one tensor, others longer, where PyTorch takes it; beside each word."""
    if structured(subject.operator) or among("crashes_when_misshapen", subject.operator):
        return
    if any(form.kind != "reduction" for form in forms(subject, Pool(subject))):
        return  # of one element after the other: `shapes` has what is broadcast
    yield from turns(*(_ones_of(Pool(subject), sample) for sample in samples))


def _ones_of(pool: Pool, sample: Sample) -> Iterator[Draft]:
    found = [(leaf, axis) for leaf in tensors(sample.call) for axis in range(leaf.tensor.dim())]
    for leaf, axis in shuffled(found):
        shape = leaf.tensor.shape
        if shape[axis] < 2 or sum(n > 1 for n in shape) < 2:
            continue
        call = pool.with_shapes(sample.call, {leaf.index: (*shape[:axis], 1, *shape[axis + 1 :])})
        if dense_results(call):
            chosen = [str(v) for v in (*sample.call.args, *sample.call.kwargs.values()) if type(v) is str]
            words = f"{leaf.place}, axis {axis - len(shape)} alone of length 1{', '.join(['', *chosen])}"
            yield Draft(words, call, sample.variant, sample.entry, group=words)


def _sides(subject: Subject, samples: list[Sample]) -> Iterator[Draft]:
    """Yield matrices with many more columns than rows, and many more rows, of ordinary condition."""
    if subject.operator.category != "Linear Algebra" or not subject.torch_dtype.is_floating_point:
        return
    for rows, columns in _SIDES:
        for sample in samples:
            data = subject.data(sample.call)
            if not data or data[0].index or data[0].tensor.dim() < 2 or not data[0].tensor.numel():
                continue
            lengths = {data[0].tensor.shape[-2]: rows}
            new = {0: torch.randn(*data[0].tensor.shape[:-2], rows, columns).to(subject.torch_dtype)}
            for leaf in data[1:]:  # what has as many rows keeps that
                shape = [lengths.get(n, n) if at == max(0, leaf.tensor.dim() - 2) else n
                         for at, n in enumerate(leaf.tensor.shape)]  # fmt: skip
                new[leaf.index] = torch.randn(shape).to(subject.torch_dtype)
            call = exchanged(sample.call, new)
            if not raised(call):
                words = f"matrices of {rows} rows and {columns} columns"
                yield Draft(words, call, sample.variant, sample.entry, group=words, steady=True)
