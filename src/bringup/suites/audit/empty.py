"""Family `empty`: tensors without elements, of no dimension, and of one element, where the reference takes them."""

from __future__ import annotations

from collections.abc import Iterator

from bringup.suites._opinfo_samples import Sample
from bringup.suites.audit._generic import Form, forms, others
from bringup.suites.audit._pool import Pool, lengths
from bringup.suites.audit._structure import among, structured
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import exchanged, mapped, spread, tensors, turns


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield empty and 0-d calls: of any shape for the generic classes, else samples with one length made 0."""
    if among("crashes_when_empty", subject.operator) or among("undefined_when_empty", subject.operator):
        return
    pool = Pool(subject)
    made = forms(subject, pool)
    chosen = spread(others(subject, made), 4)
    yield from turns(
        *(_generic(form) for form in spread(made, 2)),
        (draft for sample in chosen for draft in _shrunk(pool, sample)),
        (draft for sample in chosen[:2] for draft in _zero_dimensional(subject, sample)),
    )
    if not structured(subject.operator):
        for sample in chosen:
            call = mapped(sample.call, lambda t: t[(slice(1),) * t.dim()].clone())
            yield Draft("one element of each tensor", call, sample.variant, sample.entry, group="one element")


def _generic(form: Form) -> Iterator[Draft]:
    if form.kind == "reduction":
        for shape, dim in (((0, 3), 1), ((0, 3), 0), ((), 0), ((3, 0, 2), 2), ((0,), 0)):
            yield from list(form.reduction(shape, dim))[:1]
    elif form.kind == "binary":
        for shapes in (((0, 3), (3,)), ((), ()), ((0,), (1,)), ((2, 0, 3), (2, 0, 3))):
            yield form.elementwise(*shapes)
    else:
        for shape in ((0, 3), (), (0,), (2, 0, 3)):
            yield form.elementwise(shape)


def _shrunk(pool: Pool, sample: Sample) -> Iterator[Draft]:
    for old in lengths(sample)[:2]:
        for numbers in (True, False):
            call = pool.resized(sample.call, {old: 0}, numbers=numbers)
            if any(not leaf.tensor.numel() for leaf in tensors(call)):
                what = f"length {old} to 0"
                yield Draft(what, call, sample.variant, sample.entry, group=f"{id(sample)} {old}")


def _zero_dimensional(subject: Subject, sample: Sample) -> Iterator[Draft]:
    if structured(subject.operator):
        return
    data = [leaf for leaf in subject.data(sample.call) if leaf.tensor.dim()]
    if data:
        new = {leaf.index: leaf.tensor.reshape(-1)[0].clone() for leaf in data}
        yield Draft("0-d", exchanged(sample.call, new), sample.variant, sample.entry)
