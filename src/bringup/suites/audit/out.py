"""Family `out`: results written into a given tensor, and `inplace=True`, for wrappers that have the parameter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch
from torch.utils import _pytree as pytree

from bringup.suites._opinfo_calls import Call
from bringup.suites._opinfo_postprocess import postprocess_of
from bringup.suites._opinfo_samples import Sample
from bringup.suites._opinfo_types import CAST_TO
from bringup.suites.audit._layouts import hostile, transposed
from bringup.suites.audit._pool import distinct
from bringup.suites.audit._signature import names_of
from bringup.suites.audit._spoilt import refused
from bringup.suites.audit._structure import among, structured
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import exchanged, spread
from bringup.suites.audit._vet import dense_results

# Whatever the five dtypes give can be cast to it. A kernel that has no numbers of it writes their bits, by other code
# than its usual store; results of integers come there by code of their own.
DOUBLE = "out= of float64"
LARGE = "out= of float64, large integers"

# What is made of a tensor of the result, and whether PyTorch raises: None where that is the operator's own rule.
_WAYS: tuple[tuple[str, Callable[[torch.Tensor], torch.Tensor], bool | None], ...] = (
    ("out= of the right shape", lambda t: hostile(tuple(t.shape), t.dtype), False),
    ("out= transposed", lambda t: transposed(hostile(tuple(t.shape), t.dtype)), False),
    ("out= without elements, to be resized", lambda t: torch.empty(0, dtype=t.dtype), False),
    ("out= of another shape, to be resized", lambda t: hostile((*t.shape[:-1], 5, 2), t.dtype), False),
    ("out= of a dtype that the result cannot be cast to", lambda t: hostile(tuple(t.shape), _poorer(t.dtype)), True),
    ("out= of another dtype that it can be cast to", lambda t: hostile(tuple(t.shape), CAST_TO[t.dtype]), None),
    (DOUBLE, lambda t: hostile(tuple(t.shape), torch.float64), None),
)

_WHOLE = {torch.bfloat16: 1 << 8, torch.float16: 1 << 11, torch.float32: 1 << 24}  # whole numbers up to here are exact
_WHOLE |= {torch.int32: 1 << 31, torch.int64: 1 << 62}


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield `out=` in seven ways and `inplace=True` where the signature has them, with different samples.

    Some operators cast to an `out=` of another dtype, others refuse it: what PyTorch does, the case asks for. Where
    that changes from sample to sample, nobody can know it, and nothing is asked.
    """
    names = names_of(subject.operator.signature)
    chosen = spread([s for s in distinct(subject) if "out" not in s.call.kwargs], 4)
    if "inplace" in names:
        for sample in chosen[:2]:
            call = Call(sample.call.reference, sample.call.args, {**sample.call.kwargs, "inplace": True})
            yield Draft("inplace=True", call, sample.variant, sample.entry, plain=sample.call, requires="inplace")
    if "out" not in names:
        return
    # The judge compares what was written as it is. Where only a function of the result is defined, because equal
    # elements may be named in any order, there are none.
    if any(postprocess_of(subject.operator.name, sample.call) for sample in chosen):
        if subject.operator.category == "Linear Algebra":
            return
        chosen = [made for sample in chosen if (made := _without_ties(subject, sample)) is not None]
    for number, (what, make, fails) in enumerate(_WAYS):
        if fails is None:
            tried = [written for sample in chosen if (written := _with_out(sample, make)) is not None]
            if len({refused(one) for one in tried}) != 1:
                continue
        for sample in [*chosen[number % max(1, len(chosen)) :], *chosen[: number % max(1, len(chosen))]]:
            written = _with_out(sample, make)
            if written is not None and (what != "out= transposed" or _strided(written.kwargs["out"])):
                raises = refused(written) if fails is None else fails
                plain = sample.call if fails is False else None
                yield Draft(
                    what,
                    written,
                    sample.variant,
                    sample.entry,
                    plain=plain,
                    requires="out",
                    fails=raises,
                    group=what,
                    wide_out=what == DOUBLE,
                )

    if subject.torch_dtype is torch.int64 and not (
        structured(subject.operator) or among("recurrences", subject.operator)  # which leave the range
    ):
        for sample in chosen:
            large = _large(subject, sample)
            written = _with_out(large, lambda t: hostile(tuple(t.shape), torch.float64))
            if written is not None and not refused(written):
                yield Draft(LARGE, written, sample.variant, sample.entry, requires="out", group=LARGE, wide_out=True)


def _large(subject: Subject, sample: Sample) -> Sample:
    """Return the sample with most of its integers so large that float32, and a product of halves, do not hold them."""
    new = {
        leaf.index: (leaf.tensor.sign() * torch.randint(1 << 15, 1 << 20, tuple(leaf.tensor.shape))).to(
            leaf.tensor.dtype
        )
        for leaf in subject.data(sample.call)[:1]
    }
    return replace(sample, call=exchanged(sample.call, new))


def _with_out(sample: Sample, make: Callable[[torch.Tensor], torch.Tensor]) -> Call | None:
    found = dense_results(sample.call)
    if found is None:  # nothing to write
        return None
    result, leaves = found
    if any(leaf.dtype not in CAST_TO for leaf in leaves):
        return None
    out: Any = make(result) if isinstance(result, torch.Tensor) else tuple(make(leaf) for leaf in leaves)
    return Call(sample.call.reference, sample.call.args, {**sample.call.kwargs, "out": out})


def _without_ties(subject: Subject, sample: Sample) -> Sample | None:
    """Return the sample with whole numbers, all different, for its data's values; None where the dtype has too few."""
    if max((leaf.tensor.numel() for leaf in subject.data(sample.call)), default=0) > _WHOLE[subject.torch_dtype]:
        return None
    new = {
        leaf.index: torch.randperm(leaf.tensor.numel()).reshape(leaf.tensor.shape).to(leaf.tensor.dtype)
        for leaf in subject.data(sample.call)
    }
    return replace(sample, call=exchanged(sample.call, new))


def _strided(out: Any) -> bool:
    return any(not leaf.is_contiguous() for leaf in pytree.tree_leaves(out))


def _poorer(dtype: torch.dtype) -> torch.dtype:
    """Return a dtype of a lower kind: integers for floating point, bool for the rest (and itself for bool)."""
    return torch.int32 if dtype.is_floating_point else torch.bool
