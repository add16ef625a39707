"""Family `shapes`: the samples' tensors with other numbers of dimensions or other lengths along them, where allowed.

`mismatch` has those that PyTorch refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from bringup.suites._opinfo_samples import Sample
from bringup.suites.audit._pool import Pool, distinct
from bringup.suites.audit._structure import structured
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import Leaf, exchanged, tensors

Change = Callable[[torch.Tensor], torch.Tensor]
_WAYS: tuple[tuple[str, Change], ...] = (
    ("lengths in reversed order", lambda t: t.permute(tuple(range(t.dim()))[::-1]).contiguous()),
    ("a dimension more", lambda t: torch.stack([t, t])),
    ("a dimension fewer", lambda t: t[0].clone() if t.dim() else t),
)


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield every way for all tensors together, then for one of several at a time."""
    if structured(subject.operator):
        return
    pool = Pool(subject)
    samples = distinct(subject)
    for what, change in _WAYS:
        for sample in samples:
            yield from _changed(subject, pool, sample, tensors(sample.call), change, f"every tensor: {what}")
    for what, change in _WAYS:
        for sample in samples:
            found = tensors(sample.call)
            for leaf in found if len(found) > 1 else ():
                yield from _changed(subject, pool, sample, [leaf], change, f"{leaf.place}: {what}")
    for sample in samples:
        yield from _both_ways(subject, pool, sample)


def _both_ways(subject: Subject, pool: Pool, sample: Sample) -> Iterator[Draft]:
    """Two tensors of one shape, each broadcast along another dimension, the second one transposed besides."""
    data = subject.data(sample.call)
    if len(data) != 2 or data[0].tensor.shape != data[1].tensor.shape or data[0].tensor.dim() < 2:
        return
    one, other = data
    first = pool.like(one, (2, 1, 1))
    second = pool.like(other, (4, 3)).mT
    call = exchanged(sample.call, {one.index: first, other.index: second})
    words = "each of two tensors broadcast"
    yield Draft(words, call, sample.variant, sample.entry, group=words)


def _changed(
    subject: Subject, pool: Pool, sample: Sample, leaves: list[Leaf], change: Change, what: str
) -> Iterator[Draft]:
    """Yield the sample with the tensors changed, data drawn anew, if that makes another shape of one of them."""
    data = {leaf.index for leaf in subject.data(sample.call)}
    new = {leaf.index: change(leaf.tensor) for leaf in leaves}
    if any(new[leaf.index].shape != leaf.tensor.shape for leaf in leaves):
        for leaf in leaves:
            if leaf.index in data:
                new[leaf.index] = pool.like(leaf, new[leaf.index].shape)
        yield Draft(what, exchanged(sample.call, new), sample.variant, sample.entry, group=what)
