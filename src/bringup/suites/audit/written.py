"""Family `written`: `out=` of calls without tensors, of unusual strides, and of a wider dtype than a half precision.

`out` and `stores` need a tensor among the arguments, and values that fit: an axis of one element may have any stride,
0 too; what overflows in a half precision is infinite in a wider `out=` as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from bringup.accuracy import rule_of
from bringup.suites._opinfo_calls import Call
from bringup.suites._opinfo_postprocess import postprocess_of
from bringup.suites._opinfo_samples import Sample
from bringup.suites._opinfo_types import CAST_TO
from bringup.suites.audit._generic import forms
from bringup.suites.audit._layouts import hostile, transposed
from bringup.suites.audit._numbers import tensorless
from bringup.suites.audit._pool import Pool, distinct
from bringup.suites.audit._signature import names_of
from bringup.suites.audit._spoilt import refused
from bringup.suites.audit._structure import among, structured
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import exchanged, shuffled, turns
from bringup.suites.audit._vet import dense_results
from bringup.suites.audit.offsets import behind

_FACTORIES = 3
_HALVES = (torch.float16, torch.bfloat16)
_MOST = 1 << 12  # elements of a sample
# Operators of several steps square on the way: of bfloat16's largest numbers, whose range is float32's, no chip can.
_SEVERAL = ("composite", "factors", "undefined")


def _lone(tensor: torch.Tensor) -> torch.Tensor:
    """Stride 0 along every axis of one element."""
    strides = [0 if size == 1 else stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True)]
    return hostile(tuple(tensor.shape), tensor.dtype).as_strided(tensor.shape, strides)


_WAYS: tuple[tuple[str, Callable[[torch.Tensor], torch.Tensor]], ...] = (
    ("of the right shape", lambda t: hostile(tuple(t.shape), t.dtype)),
    ("without elements, to be resized", lambda t: torch.empty(0, dtype=t.dtype)),
    ("transposed", lambda t: transposed(hostile(tuple(t.shape), t.dtype))),
    ("of another dtype that it can be cast to", lambda t: hostile(tuple(t.shape), CAST_TO[t.dtype])),
)
_STRIDES: tuple[tuple[str, Callable[[torch.Tensor], torch.Tensor]], ...] = (
    ("with stride 0 along an axis of one element", _lone),
    ("transposed, behind an odd offset", lambda t: behind(transposed(hostile(tuple(t.shape), t.dtype)))),
)


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield `out=` of factories, then in turn of unusual strides and of wider dtypes."""
    names = names_of(subject.operator.signature)
    if "out" in names:
        yield from _factories(subject)
        yield from turns(_strided(subject), _overflowing(subject))
        yield from _all_behind(subject)
    if "inplace" in names or subject.operator.name.endswith("_"):
        yield from _in_place(subject, "inplace" in names)


def _factories(subject: Subject) -> Iterator[Draft]:
    chosen = tensorless(subject, _FACTORIES)
    for what, make in _WAYS:
        tried = [(sample, made) for sample in chosen if (made := _with_out(sample.call, make)) is not None]
        raises = {refused(call) for _, call in tried}
        if len(raises) != 1:  # what hangs on the sample nobody can know
            continue
        for sample, call in tried:
            words = f"no tensor but out= {what}"
            fails = next(iter(raises))
            yield Draft(words, call, sample.variant, sample.entry, requires="out", fails=fails, group=words)


def _in_place(subject: Subject, asked: bool) -> Iterator[Draft]:
    """What is written in its place has along an axis of one element a stride of 0, as `expand` leaves it.

    `asked`: by `inplace=True`; else the operator always does it.
    """
    for sample in _samples(subject):
        data = subject.data(sample.call)[:1]
        if not data or data[0].index or not data[0].tensor.numel() or "inplace" in sample.call.kwargs:
            continue
        first = data[0].tensor.detach().reshape(-1)[:5].clone().reshape(-1, 1)
        plain = exchanged(sample.call, {0: first})
        call = exchanged(sample.call, {0: first.as_strided(first.shape, (1, 0))})
        if asked:
            call = Call(call.reference, call.args, {**call.kwargs, "inplace": True})
        words = f"{'inplace=True' if asked else 'in place'} with stride 0 along an axis of one element"
        requires = "inplace" if asked else ""
        yield Draft(words, call, sample.variant, sample.entry, plain=plain, requires=requires, group=words)


def _strided(subject: Subject) -> Iterator[Draft]:
    pool = Pool(subject)
    made = [form.elementwise((5, 1)) for form in forms(subject, pool) if form.kind != "reduction"]
    patterns = [(draft.call, draft.variant, draft.entry) for draft in made]
    patterns += [(s.call, s.variant, s.entry) for s in _samples(subject)]
    for what, make in _STRIDES[among("crashes_with_lone_strides", subject.operator) :]:
        for call, variant, entry in patterns:
            written = _with_out(call, make)
            if written is None or not _shows(written.kwargs["out"]) or postprocess_of(subject.operator.name, call):
                continue
            words = f"out= {what}"
            yield Draft(words, written, variant, entry, plain=call, requires="out", group=words)


def _all_behind(subject: Subject) -> Iterator[Draft]:
    """Yield all data and `out=` behind seven elements, as the rest of a longer vector lies."""
    if among("crashes_with_lone_strides", subject.operator):
        return
    pool = Pool(subject)
    made = [form.elementwise((37,)) for form in forms(subject, pool) if form.kind != "reduction"]
    patterns = [(draft.call, draft.variant, draft.entry) for draft in made]
    patterns += [(s.call, s.variant, s.entry) for s in _samples(subject)]
    for call, variant, entry in patterns:
        laid = exchanged(call, {leaf.index: behind(leaf.tensor.detach()) for leaf in subject.data(call)})
        written = _with_out(laid, lambda t: behind(hostile(tuple(t.shape), t.dtype).contiguous()))
        if written is not None and subject.data(call) and not postprocess_of(subject.operator.name, call):
            words = "all data and out= behind an odd offset"
            yield Draft(words, written, variant, entry, plain=call, requires="out", group=words)


def _overflowing(subject: Subject) -> Iterator[Draft]:
    """The largest numbers of a half precision, of which some results are beyond it: before a wider `out=`."""
    dtype = subject.torch_dtype
    if dtype not in _HALVES or structured(subject.operator):
        return
    if dtype is torch.bfloat16 and rule_of(subject.operator.name).kind in _SEVERAL:
        return
    largest = torch.finfo(dtype).max
    for other in (torch.float32, torch.float64):
        tried = []
        for sample in _samples(subject):
            if "dtype" in sample.call.kwargs:  # `out=` must be of that dtype then
                continue
            leaves = subject.data(sample.call)[:1]
            new = {}
            for leaf in leaves:
                flat = leaf.tensor.reshape(-1).clone()
                flat[::2] = torch.tensor([largest, -largest], dtype=dtype)[torch.randint(0, 2, flat[::2].shape)]
                new[leaf.index] = flat.reshape(leaf.tensor.shape)
            call = _with_out(exchanged(sample.call, new), lambda t, to=other: hostile(tuple(t.shape), to), one=True)
            if call is not None:
                tried.append((sample, call))
        if any(refused(call) for _, call in tried):  # what hangs on the sample nobody can know
            continue
        for sample, call in tried:
            words = f"out= of {str(other).removeprefix('torch.')}, the largest numbers of {subject.dtype}"
            wide = other is torch.float64
            yield Draft(
                words, call, sample.variant, sample.entry,
                requires="out", group=words, wide_out=wide, computed=dtype,
            )  # fmt: skip


def _samples(subject: Subject) -> list[Sample]:
    return shuffled([s for s in distinct(subject, largest=_MOST) if "out" not in s.call.kwargs])


def _with_out(call: Call, make: Callable[..., torch.Tensor], one: bool = False) -> Call | None:
    """Return the call with `out=`; None where it has no results of tensors (`one`: not one of the case's dtype)."""
    found = dense_results(call)
    if found is None or any(leaf.dtype not in CAST_TO for leaf in found[1]):
        return None
    result = found[0]
    if one and not (isinstance(result, torch.Tensor) and result.dtype in _HALVES):
        return None
    out: Any = make(result) if isinstance(result, torch.Tensor) else tuple(make(leaf) for leaf in found[1])
    return Call(call.reference, call.args, {**call.kwargs, "out": out})


def _shows(out: Any) -> bool:
    """Whether some stride is another one than that of a new tensor of the shape."""
    found = [out] if isinstance(out, torch.Tensor) else list(out)
    return any(tensor.stride() != torch.empty(tensor.shape, device="meta").stride() for tensor in found)
