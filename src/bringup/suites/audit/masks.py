"""Family `masks`: truth values in place of indices, with as many true ones as there were indices, and with one.

Besides, masks of different lengths in place of two indices.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from bringup.suites._opinfo_calls import Call
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import shuffled, turns

_INDICES = (torch.int64, torch.int32)


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield samples of operators that take a list of indices, one or two of which become masks."""
    yield from turns(_both(subject), _masked(subject, lone=False), _masked(subject, lone=True))
    yield from _beside_two(subject)


def _both(subject: Subject) -> Iterator[Draft]:
    """Yield two masks of different lengths; the one true element of the first goes with each of the second."""
    for sample in subject.samples:
        call = sample.call
        data = next((value for value in call.args if isinstance(value, torch.Tensor)), None)
        for place, value in enumerate(call.args):
            if data is None or data.dim() < 2 or not _indices(value) or min(data.shape[:2]) < 3:
                continue
            rows, columns = (torch.zeros(size, dtype=torch.bool) for size in data.shape[:2])
            rows[1] = columns[0] = columns[-1] = True
            words = "two masks, the first with one true"
            yield Draft(words, _indexed(call, place, [rows, columns]), sample.variant, sample.entry, group=words)


def _beside_two(subject: Subject) -> Iterator[Draft]:
    """Yield a mask beside indices of two dimensions, whose first length is not the number of its true elements."""
    for sample in shuffled(subject.samples):
        call = sample.call
        data = next((value for value in call.args if isinstance(value, torch.Tensor)), None)
        for place, value in enumerate(call.args):
            if data is None or not _indices(value) or data.dim() < 2 or data.shape[0] < 3 or not data.shape[1]:
                continue
            count = data.shape[0] - 1
            mask = torch.ones(data.shape[0], dtype=torch.bool)
            mask[torch.randint(0, data.shape[0], ())] = False
            other = torch.randint(0, data.shape[1], (4, count))
            words = "a mask beside indices of two dimensions"
            yield Draft(words, _indexed(call, place, [mask, other]), sample.variant, sample.entry, group=words)


def _indexed(call: Call, place: int, indices: list[torch.Tensor]) -> Call:
    """Return the call with other indices, and one value for all places."""
    rest = [_single(item) if isinstance(item, torch.Tensor) else item for item in call.args[place + 1 :]]
    args = (*call.args[:place], type(call.args[place])(indices), *rest)
    return Call(call.reference, args, call.kwargs)


def _single(values: torch.Tensor) -> torch.Tensor:
    """The first of the values for all places: it fits any indices, and places may be written twice."""
    return values.reshape(-1)[:1].reshape([])


def _masked(subject: Subject, lone: bool) -> Iterator[Draft]:
    for sample in shuffled(subject.samples):
        call = sample.call
        data = next((value for value in call.args if isinstance(value, torch.Tensor)), None)
        for place, value in enumerate(call.args):
            if data is None or not _indices(value):
                continue
            for dim, index in enumerate(value):
                if index is None or index.dim() != 1 or index.dtype not in _INDICES or dim >= data.dim():
                    continue
                size, count = data.shape[dim], 1 if lone else index.numel()
                if not (1 if lone else 2) <= count < size:
                    continue
                mask = torch.zeros(size, dtype=torch.bool)
                mask[torch.randperm(size)[:count]] = True
                new = type(value)([mask if d == dim else old for d, old in enumerate(value)])
                args = (*call.args[:place], new, *call.args[place + 1 :])
                made = Call(call.reference, args, call.kwargs)
                words = f"index {dim} of {len(value)} a mask with {'one' if lone else 'several'} true"
                yield Draft(words, made, sample.variant, sample.entry, group=words)


def _indices(value: Any) -> bool:
    return (
        isinstance(value, list | tuple)
        and any(isinstance(item, torch.Tensor) for item in value)
        and all(item is None or (isinstance(item, torch.Tensor) and item.dtype in _INDICES) for item in value)
    )
