"""Family `formats`: every `memory_format=`, for tensors and lists of sizes of three to five dimensions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch

from bringup.suites._opinfo_calls import Call
from bringup.suites.audit._pool import Pool, distinct
from bringup.suites.audit._signature import names_of
from bringup.suites.audit._spoilt import refused, whole_numbers
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import tensors
from bringup.suites.audit._vet import raised

_FOUR, _FIVE, _THREE = (2, 3, 4, 5), (2, 3, 2, 3, 2), (2, 3, 4)
# A format, the shape that it is for, and another.
_FORMATS: tuple[tuple[torch.memory_format, Sequence[int], Sequence[int]], ...] = (
    (torch.channels_last, _FOUR, _FIVE),
    (torch.channels_last_3d, _FIVE, _FOUR),
    (torch.contiguous_format, _FOUR, _THREE),
    (torch.preserve_format, _FOUR, _THREE),
)


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield each format with its own number of dimensions, with another, which PyTorch may refuse, with short axes."""
    if "memory_format" not in names_of(subject.operator.signature):
        return
    pool = Pool(subject)
    for which in (0, 1):
        for form, *shapes in _FORMATS:
            shape = shapes[which]
            for sample in distinct(subject):
                call = _shaped(pool, sample.call, shape)
                call = replace(call, kwargs={**call.kwargs, "memory_format": form})
                name = str(form).removeprefix("torch.")
                words = f"{name}, {len(shape)} dimensions"
                if not raised(call):
                    yield Draft(words, call, sample.variant, sample.entry, group=words)
                elif refused(call):
                    yield Draft(f"{words}, refused", call, sample.variant, sample.entry, fails=True, group=words)
    for form, shape, _ in _FORMATS:
        for sample in distinct(subject):
            call = _shaped(pool, sample.call, (2, *(1 for _ in shape[1:])))
            call = replace(call, kwargs={**call.kwargs, "memory_format": form})
            words = f"{str(form).removeprefix('torch.')}, one element along all axes but the first"
            if not raised(call):
                yield Draft(words, call, sample.variant, sample.entry, group=words)


def _shaped(pool: Pool, call: Call, shape: Sequence[int]) -> Call:
    """Return the call with every tensor in a shape, and every list of sizes."""
    made = pool.with_shapes(call, {leaf.index: shape for leaf in tensors(call)})
    if len(made.args) > 1 and all(type(value) is int for value in made.args[1:]):  # sizes one by one
        return Call(made.reference, (made.args[0], *shape), made.kwargs)
    args = tuple(type(value)(shape) if whole_numbers(value) or value == () else value for value in made.args)
    return Call(made.reference, args, made.kwargs)
