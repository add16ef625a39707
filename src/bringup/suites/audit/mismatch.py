"""Family `mismatch`: tensors of sizes that do not fit, and numbers that do not fit tensors of few dimensions.

As in `errors`, PyTorch refuses each call for a reason that sizes and numbers show. Tensors are exchanged for ones with
a dimension fewer or more, with a length of 1, or one longer; numbers are out of range for the samples with the fewest
dimensions, where an operator often has a rule of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from bringup.suites.audit._pool import distinct
from bringup.suites.audit._spoilt import places, rank_of, refused, with_value
from bringup.suites.audit._structure import among
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import turns

_SHAPES: tuple[tuple[str, Callable[[torch.Tensor], torch.Tensor]], ...] = (
    ("a dimension fewer", lambda t: t[0]),
    ("a dimension more", lambda t: t[None]),
    ("last dimension 1", lambda t: t[..., :1]),
    ("first dimension one longer", lambda t: t.new_zeros((t.shape[0] + 1, *t.shape[1:]))),
    ("two dimensions fewer", lambda t: t[0, 0]),
)


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield misshapen tensors and numbers out of range in turn, under one dtype, where PyTorch refuses them."""
    if subject.dtype == subject.operator.dtypes[0]:
        yield from turns(_misshapen(subject), _out_of_range(subject))


def _misshapen(subject: Subject) -> Iterator[Draft]:
    if among("crashes_when_misshapen", subject.operator):
        return
    samples = distinct(subject)
    for what, change in _SHAPES:
        for sample in samples:
            for place, value in places(sample.call):
                if not isinstance(value, torch.Tensor) or value.dim() < 1 + ("two" in what) or not value.numel():
                    continue
                call = with_value(sample.call, place, change(value).clone())
                if refused(call):
                    words = f"argument {place}: {what}"
                    yield Draft(words, call, sample.variant, sample.entry, fails=True, group=words)


def _out_of_range(subject: Subject) -> Iterator[Draft]:
    for sample in sorted(distinct(subject), key=lambda sample: rank_of(sample.call)):
        rank = rank_of(sample.call)
        for place, value in places(sample.call):
            if type(value) is not int:
                continue
            for number in (max(rank, 1), -max(rank, 1) - 1):
                call = with_value(sample.call, place, number)
                if refused(call):
                    words = f"argument {place}: {number} with {rank} dimensions"
                    group = f"{place} {number > 0}"
                    yield Draft(words, call, sample.variant, sample.entry, fails=True, group=group)
