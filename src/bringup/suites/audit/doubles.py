"""Family `doubles`: `dtype=float64`, computed as ever and stored as float64; `dtype=` beside nothing but a tensor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch.utils import _pytree as pytree

from bringup.operators import DTYPES
from bringup.suites._opinfo_calls import Call
from bringup.suites.audit._numbers import without_tensors
from bringup.suites.audit._pool import distinct
from bringup.suites.audit._signature import names_of
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import exchanged, shuffled, tensors
from bringup.suites.audit._vet import raised

_SAMPLES = 3


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield float64 for samples, for a length of 1 in calls without tensors, and other dtypes beside one tensor."""
    if "dtype" not in names_of(subject.operator.signature):
        return
    chosen = shuffled(distinct(subject)) or without_tensors(subject)[:_SAMPLES]
    for sample in chosen:
        if not any(isinstance(value, torch.dtype) for value in sample.call.args):
            yield from _double("dtype=float64", sample.call, Draft("", sample.call, sample.variant, sample.entry))
    for sample in chosen:
        if not tensors(sample.call) and (numbers := _integers(sample.call)):
            call = exchanged(sample.call, {numbers[0]: 1})
            yield from _double("dtype=float64, a length of 1", call, Draft("", call, sample.variant, sample.entry))
    yield from _alone(subject)


def _double(words: str, call: Call, pattern: Draft) -> Iterator[Draft]:
    call = replace(call, kwargs={**call.kwargs, "dtype": torch.float64})
    if not raised(call):
        yield replace(pattern, what=words, call=call, group=words, wide_out=True)


def _alone(subject: Subject) -> Iterator[Draft]:
    """The first tensor and a dtype, where the samples' other arguments leave no room for one (`view(dtype)`)."""
    method = getattr(torch.Tensor, subject.operator.name, None)
    for name in DTYPES:
        for sample in distinct(subject):
            first, *rest = sample.call.args
            dtype = {"dtype": getattr(torch, name)}
            if method is None or name == subject.dtype or not isinstance(first, torch.Tensor) or not rest:
                continue
            if not raised(Call(method, sample.call.args, {**sample.call.kwargs, **dtype})):
                return  # the family `precisions` asks for it
            words = f"a tensor and dtype={name}"
            call = Call(method, (first,), dtype)
            if not raised(call):
                yield Draft(words, call, sample.variant, sample.entry, group=words)


def _integers(call: Call) -> list[int]:
    return [index for index, leaf in enumerate(pytree.tree_leaves((call.args, call.kwargs))) if type(leaf) is int]
