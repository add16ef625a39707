"""Family `layout`: the operator's own samples with the tensors elsewhere in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from bringup.suites._opinfo_samples import Sample
from bringup.suites.audit._layouts import expanded, reversed_order, shifted, stepped, transposed
from bringup.suites.audit._structure import among, structured
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import exchanged, shuffled, spread, tensors

Change = Callable[[torch.Tensor], torch.Tensor]
# Those with values kept may be applied to any tensor, the last one to data only: equal indices could collide.
_KEEPING: tuple[tuple[str, Change], ...] = (
    ("transposed", transposed),
    ("strided by a step of 3", stepped),
    ("at an odd offset", shifted),
    ("in reversed order of dimensions", reversed_order),
)
_SAMPLES = 4
_MAX_ELEMENTS = 1 << 14


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield every layout for all tensors together, then for one tensor at a time, over a spread of samples."""
    chosen = _chosen(subject)
    if not chosen:
        return
    for number, (name, change) in enumerate(_KEEPING):
        for sample in _rotated(chosen, number)[:1]:
            yield from _together(subject, sample, name, change)
    for sample in chosen[:2]:
        yield from _expanded(subject, sample, each=False)
    alone = [
        draft
        for number, (name, change) in enumerate(_KEEPING)
        for sample in _rotated(chosen, number + 1)[:2]
        for draft in _alone(subject, sample, name, change)
    ]
    alone += [draft for sample in chosen[:2] for draft in _expanded(subject, sample, each=True)]
    yield from spread(alone, 6)
    for number, (name, change) in enumerate(_KEEPING):
        for sample in _rotated(chosen, number + 2)[:1]:
            yield from _together(subject, sample, name, change)


def _chosen(subject: Subject) -> list[Sample]:
    """Return samples with something to move, those of most dimensions first, of different shapes."""
    seen: dict[tuple[object, ...], Sample] = {}
    for sample in shuffled(subject.samples):
        found = [leaf.tensor for leaf in tensors(sample.call)]
        if 1 < max((t.numel() for t in found), default=0) <= _MAX_ELEMENTS:
            seen.setdefault((sample.variant, *(tuple(t.shape) for t in found)), sample)

    def rank(sample: Sample) -> int:
        dims: list[int] = [leaf.tensor.dim() for leaf in tensors(sample.call)]
        return -max(dims)

    return spread(sorted(seen.values(), key=rank), _SAMPLES)


def _rotated(samples: list[Sample], by: int) -> list[Sample]:
    by %= len(samples)
    return samples[by:] + samples[:by]


def _together(subject: Subject, sample: Sample, name: str, change: Change) -> Iterator[Draft]:
    new = {leaf.index: change(leaf.tensor) for leaf in tensors(sample.call)}
    if any(_moved(leaf.tensor, new[leaf.index]) for leaf in tensors(sample.call)):
        which = "every tensor" if len(new) > 1 else tensors(sample.call)[0].place
        call = exchanged(sample.call, new)
        yield Draft(f"{which} {name}", call, sample.variant, sample.entry, steady=_misread(subject))


def _alone(subject: Subject, sample: Sample, name: str, change: Change) -> Iterator[Draft]:
    found = tensors(sample.call)
    if len(found) < 2:
        return
    for leaf in found:
        new = change(leaf.tensor)
        if _moved(leaf.tensor, new):
            call = exchanged(sample.call, {leaf.index: new})
            yield Draft(f"{leaf.place} {name}", call, sample.variant, sample.entry, steady=_misread(subject))


def _misread(subject: Subject) -> bool:
    return among("misread_layouts", subject.operator)


def _expanded(subject: Subject, sample: Sample, *, each: bool) -> Iterator[Draft]:
    if structured(subject.operator):
        return
    data = [leaf for leaf in subject.data(sample.call) if leaf.tensor.numel() > 1]
    groups = [[leaf] for leaf in data] if each else [data] if data else []
    for group in groups:
        if each and len(data) < 2:
            return
        new = {leaf.index: expanded(leaf.tensor) for leaf in group}
        which = group[0].place if len(group) == 1 else "every tensor"
        yield Draft(
            f"{which} expanded (stride 0)", exchanged(sample.call, new), sample.variant, sample.entry, steady=True
        )


def _moved(old: torch.Tensor, new: torch.Tensor) -> bool:
    """Whether the new one lies elsewhere in a way that can be seen: strides of single elements cannot."""
    return new is not old and bool(not new.is_contiguous() or new.storage_offset())
