"""Family `offsets`: tensors without gaps in another order of dimensions, channels last among them, off their places.

`layout` brings the order or the offset. A kernel that takes a tensor as it lies because it has no gaps asks for its
beginning at another place of its code than for a contiguous one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from bringup.suites._opinfo_samples import Sample
from bringup.suites.audit._generic import forms
from bringup.suites.audit._layouts import hostile, reversed_order, transposed
from bringup.suites.audit._pool import Pool, distinct
from bringup.suites.audit._structure import among
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import exchanged, tensors

_CHANNELS = {4: torch.channels_last, 5: torch.channels_last_3d}
_SHAPE = (2, 3, 4, 5)


def behind(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor without gaps in the same order of dimensions, seven elements after its memory's beginning."""
    strides = torch.empty_like(tensor, memory_format=torch.preserve_format).stride()  # without the gaps that it has
    view = hostile((tensor.numel() + 12,), tensor.dtype).as_strided(tensor.shape, strides, 7)
    view.copy_(tensor)
    return view


def channels_last(tensor: torch.Tensor) -> torch.Tensor:
    """Channels last in memory; a tensor of fewer than four dimensions as it is."""
    if tensor.dim() not in _CHANNELS:
        return tensor
    return tensor.contiguous(memory_format=_CHANNELS[tensor.dim()])


_WAYS: tuple[tuple[str, Callable[[torch.Tensor], torch.Tensor]], ...] = (
    ("transposed, behind an odd offset", lambda t: behind(transposed(t))),
    ("channels last, behind an odd offset", lambda t: behind(channels_last(t))),
    ("in reversed order of dimensions, behind an odd offset", lambda t: behind(reversed_order(t))),
    ("channels last", channels_last),
)


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield every way once, for all tensors together, with the first sample that shows it."""
    pool = Pool(subject)
    made = [form.elementwise(_SHAPE) for form in forms(subject, pool) if form.kind != "reduction"]
    patterns = [Sample(draft.variant, draft.entry, draft.call, None) for draft in made]
    patterns += sorted(distinct(subject), key=lambda s: -max(leaf.tensor.dim() for leaf in tensors(s.call)))
    for what, change in _WAYS:
        for sample in patterns:
            new = {leaf.index: change(leaf.tensor) for leaf in tensors(sample.call)}
            if all(tensor.is_contiguous() for tensor in new.values()):
                continue  # the order of dimensions does not show
            which = "every tensor" if len(new) > 1 else tensors(sample.call)[0].place
            steady = among("misread_layouts", subject.operator)
            call = exchanged(sample.call, new)
            yield Draft(f"{which} {what}", call, sample.variant, sample.entry, steady=steady, group=what)
