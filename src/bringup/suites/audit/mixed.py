"""Family `mixed`: numbers where samples have tensors, data of another dtype, other kinds of numbers.

Operators of two operands have the family `promotion` for it.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from bringup.suites.audit._generic import forms
from bringup.suites.audit._pool import Pool, distinct
from bringup.suites.audit._spoilt import places, with_value
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import exchanged, tensors, turns

_OTHERS = {
    torch.float32: (torch.float16,),
    torch.int32: (torch.int64, torch.float16),
    torch.int64: (torch.int32, torch.float16),
}
# PyTorch wants data of one dtype; what its CPU kernels take besides is no rule.
_ALIKE = ("Deep Learning", "Linear Algebra")


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield calls with all other tensors as numbers, one as a number, one in another dtype, an integer as float."""
    if any(form.kind == "binary" for form in forms(subject, Pool(subject))):
        return
    yield from turns(_all_numbers(subject), _one_number(subject), _other_dtype(subject), _other_number(subject))


def _all_numbers(subject: Subject) -> Iterator[Draft]:
    for sample in distinct(subject):
        others = tensors(sample.call)[1:]
        if len(others) > 1:
            call = exchanged(sample.call, {leaf.index: leaf.tensor.reshape(-1)[0].item() for leaf in others})
            words = "all tensors but the first as numbers"
            yield Draft(words, call, sample.variant, sample.entry, group=words)


def _one_number(subject: Subject) -> Iterator[Draft]:
    for sample in distinct(subject):
        for leaf in tensors(sample.call)[1:]:
            call = exchanged(sample.call, {leaf.index: leaf.tensor.reshape(-1)[-1].item()})
            words = f"{leaf.place} a number"
            yield Draft(words, call, sample.variant, sample.entry, group=words)


def _other_dtype(subject: Subject) -> Iterator[Draft]:
    if subject.operator.category in _ALIKE:
        return
    for sample in distinct(subject):
        for leaf in subject.data(sample.call)[1:]:
            for other in _OTHERS.get(leaf.tensor.dtype, (torch.float32,)):
                words = f"{leaf.place} in {str(other).removeprefix('torch.')}"
                call = exchanged(sample.call, {leaf.index: leaf.tensor.to(other)})
                yield Draft(words, call, sample.variant, sample.entry, group=words)


def _other_number(subject: Subject) -> Iterator[Draft]:
    for sample in distinct(subject):
        for place, value in places(sample.call):
            if type(value) is float and abs(value) < 1 << 16:
                other: int | float = round(value) or 1
            elif type(value) is int and subject.torch_dtype.is_floating_point:
                other = value + 0.5
            else:
                continue
            words = f"argument {place} of type {type(other).__name__}"
            yield Draft(words, with_value(sample.call, place, other), sample.variant, sample.entry, group=words)
