"""Family `empty`: tensors without elements, and of no dimension, where the reference takes them."""

from __future__ import annotations

from collections.abc import Iterator

from bringup.suites._opinfo_samples import Sample
from bringup.suites.audit._generic import Form, forms
from bringup.suites.audit._pool import Pool, distinct, lengths
from bringup.suites.audit._structure import structured
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import exchanged, spread, tensors


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield empty and 0-d calls: of any shape for the generic classes, else samples with one length made 0."""
    pool = Pool(subject)
    made = forms(subject, pool)
    for form in spread(made, 2):
        yield from _generic(form)
    if not made:
        chosen = spread(distinct(subject), 4)
        for sample in chosen:
            yield from _shrunk(pool, sample)
        if not structured(subject.operator):
            for sample in chosen[:2]:
                yield from _zero_dimensional(subject, sample)


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
        call = pool.resized(sample.call, {old: 0})
        if any(not leaf.tensor.numel() for leaf in tensors(call)):
            yield Draft(f"length {old} to 0", call, sample.variant, sample.entry)


def _zero_dimensional(subject: Subject, sample: Sample) -> Iterator[Draft]:
    data = [leaf for leaf in subject.data(sample.call) if leaf.tensor.dim()]
    if data:
        new = {leaf.index: leaf.tensor.reshape(-1)[0].clone() for leaf in data}
        yield Draft("0-d", exchanged(sample.call, new), sample.variant, sample.entry)
