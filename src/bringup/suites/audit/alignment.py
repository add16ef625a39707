"""Family `alignment`: rows as long as an accelerator likes them, which begin where it does not.

Of 64 elements each row is whole; one element before it, or a wider row around it, moves all of them off their places. A
kernel that asks only for the length, or only for the beginning, reads what is not aligned.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import torch

from bringup.suites._opinfo_calls import Call
from bringup.suites._opinfo_samples import Sample
from bringup.suites.audit._generic import forms, others
from bringup.suites.audit._layouts import hostile, shifted
from bringup.suites.audit._pool import Pool, lengths
from bringup.suites.audit._structure import among, structured
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import elements, exchanged, spread, tensors

_ROW = 64
_LARGEST = 1 << 14
_MADE = 1 << 26  # elements of a tensor beyond which a proposal is not even made: a weight of 64^5 is 8 GB


def _within(tensor: torch.Tensor) -> torch.Tensor:
    """Rows inside of wider ones: each begins one element behind an aligned place."""
    if not tensor.dim():
        return shifted(tensor)
    buffer = hostile((*tensor.shape[:-1], 2 * tensor.shape[-1]), tensor.dtype)
    view = buffer[..., 1 : 1 + tensor.shape[-1]]
    view.copy_(tensor)
    return view


_WAYS: tuple[tuple[str, Callable[[torch.Tensor], torch.Tensor]], ...] = (
    ("behind an odd offset", shifted),
    ("within wider rows", _within),
)


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield samples with a length of 64, in both ways in turn."""
    if structured(subject.operator) or among("explosive", subject.operator):
        return
    for number, (call, variant, entry) in enumerate(_whole(subject)):
        what, change = _WAYS[number % len(_WAYS)]
        moved = exchanged(call, {leaf.index: change(leaf.tensor) for leaf in tensors(call)})
        yield Draft(f"rows of {_ROW} {what}", moved, variant, entry)


def _whole(subject: Subject) -> Iterator[tuple[Call, str, object]]:
    """Yield calls with rows of 64 elements: of the generic classes, else samples with one length changed."""
    pool = Pool(subject)
    made = forms(subject, pool)
    for form in made[:2]:
        for shape in ((3, _ROW), (_ROW,)):
            for draft in form.reduction(shape, -1) if form.kind == "reduction" else (form.elementwise(shape),):
                yield draft.call, draft.variant, draft.entry
    for sample in spread(others(subject, made), 4):
        for call in _resized(pool, sample):
            if elements((call.args, call.kwargs)) <= _LARGEST:
                yield call, sample.variant, sample.entry


def _resized(pool: Pool, sample: Sample) -> Iterator[Call]:
    """Yield the sample with the last length changed where all tensors have one shape, else with a length everywhere."""
    found = tensors(sample.call)
    shapes = {tuple(leaf.tensor.shape) for leaf in found}
    if len(shapes) == 1:
        for shape in shapes - {()}:
            yield pool.with_shapes(sample.call, {leaf.index: (*shape[:-1], _ROW) for leaf in found})
    else:
        for old in lengths(sample)[-1:] + lengths(sample)[:1]:
            sizes = (math.prod(_ROW if n == old else n for n in leaf.tensor.shape) for leaf in found)
            if max(sizes, default=0) <= _MADE:
                yield pool.resized(sample.call, {old: _ROW}, numbers=True)
