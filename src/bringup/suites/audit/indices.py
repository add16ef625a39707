"""Family `indices`: tensors of integers that say places, labels or lengths, in the other integer dtype and otherwise.

The other families leave them as samples have them: other values would be out of range. A default of the signature may
be a label of its own (`ignore_index`), which no sample has among its labels.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from bringup.suites.audit._pool import distinct
from bringup.suites.audit._signature import alternatives, value_of
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import Leaf, exchanged, tensors
from bringup.suites.audit._vet import raised

_OTHER = {torch.int64: torch.int32, torch.int32: torch.int64}


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield what PyTorch takes: one of them or all in the other dtype, one without dimension, one with a default."""
    for sample in distinct(subject):
        found = _indices(subject, tensors(sample.call), subject.data(sample.call))
        each = [[leaf] for leaf in found] + ([found] if len(found) > 1 else [])
        for leaves in each:
            call = exchanged(sample.call, {leaf.index: leaf.tensor.to(_OTHER[leaf.tensor.dtype]) for leaf in leaves})
            names = ", ".join(leaf.place.removeprefix("argument ") for leaf in leaves)
            words = f"indices {names} in {str(_OTHER[leaves[0].tensor.dtype]).removeprefix('torch.')}"
            if not raised(call):
                yield Draft(words, call, sample.variant, sample.entry, group=words)
        for leaf in found:
            if leaf.tensor.dim() == 1 and leaf.tensor.numel():
                call = exchanged(sample.call, {leaf.index: leaf.tensor[0].clone()})
                words = f"indices {leaf.place.removeprefix('argument ')} without dimension"
                if not raised(call):
                    yield Draft(words, call, sample.variant, sample.entry, group=words)
    yield from _defaults(subject)


def _defaults(subject: Subject) -> Iterator[Draft]:
    ways = alternatives(subject.operator.signature)
    parameters = [one for way in ways for one in way if one.default is not None]
    numbers = {one.name: value_of(one.default or "")[1] for one in parameters}
    for name, number in numbers.items():
        if type(number) is not int or number > -2:  # -1 counts from the end, what is positive is a place
            continue
        for sample in distinct(subject):
            if name in sample.call.kwargs:
                continue
            for leaf in _indices(subject, tensors(sample.call), subject.data(sample.call)):
                changed = leaf.tensor.clone()
                changed.reshape(-1)[-1] = number
                call = exchanged(sample.call, {leaf.index: changed})
                words = f"the default of {name} among indices {leaf.place.removeprefix('argument ')}"
                if not raised(call):
                    yield Draft(words, call, sample.variant, sample.entry, group=words)


def _indices(subject: Subject, leaves: list[Leaf], data: list[Leaf]) -> list[Leaf]:
    known = {leaf.index for leaf in data}
    return [leaf for leaf in leaves if leaf.tensor.dtype in _OTHER and leaf.index not in known and leaf.tensor.numel()]
