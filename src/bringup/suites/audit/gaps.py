"""Family `gaps`: tensors in another order of dimensions that have gaps as well, channels last among them.

`layout` brings the order or the gaps. A kernel that takes a tensor as it lies because its strides are not those of a
contiguous one has to ask whether it lies without gaps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from bringup.suites._opinfo_samples import Sample
from bringup.suites.audit._generic import forms
from bringup.suites.audit._layouts import hostile
from bringup.suites.audit._pool import Pool, distinct
from bringup.suites.audit._structure import among
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import exchanged, tensors

_SHAPE = (2, 3, 4, 5)


def spaced(tensor: torch.Tensor, order: tuple[int, ...]) -> torch.Tensor:
    """Return a tensor whose dimensions lie in `order`, rows of the last of them three elements apart."""
    turned = tensor.permute(order)
    *outer, last = turned.shape
    view = hostile((*outer, last + 3), tensor.dtype)[..., :last]
    view.copy_(turned)
    back = sorted(range(tensor.dim()), key=lambda dim: order[dim])
    return view.permute(back)


def _exchanged(rank: int) -> tuple[int, ...]:
    return (*range(rank - 2), rank - 1, rank - 2)


def _reversed(rank: int) -> tuple[int, ...]:
    return tuple(range(rank))[::-1]


def _channels(rank: int) -> tuple[int, ...]:
    return (0, *range(2, rank), 1)


_WAYS: tuple[tuple[str, int, Callable[[int], tuple[int, ...]]], ...] = (
    ("transposed, with gaps", 2, _exchanged),
    ("channels last, with gaps", 4, _channels),
    ("in reversed order of dimensions, with gaps", 3, _reversed),
)


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield every way once, for all tensors together, with the first sample that shows it."""
    made = [form.elementwise(_SHAPE) for form in forms(subject, Pool(subject)) if form.kind != "reduction"]
    patterns = [Sample(draft.variant, draft.entry, draft.call, None) for draft in made]
    patterns += sorted(distinct(subject), key=lambda s: -max(leaf.tensor.dim() for leaf in tensors(s.call)))
    steady = among("misread_layouts", subject.operator)
    for what, least, order in _WAYS:
        for sample in patterns:
            found = [leaf for leaf in tensors(sample.call) if leaf.tensor.dim() >= least]
            if not any(sum(size > 1 for size in leaf.tensor.shape) > 1 for leaf in found):
                continue  # the order of dimensions does not show
            new = {leaf.index: spaced(leaf.tensor, order(leaf.tensor.dim())) for leaf in found}
            which = "every tensor" if len(new) > 1 else found[0].place
            call = exchanged(sample.call, new)
            yield Draft(f"{which} {what}", call, sample.variant, sample.entry, steady=steady, group=what)
