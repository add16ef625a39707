"""Family `singles`: tensors of float64 without dimension beside data of floating point, as NumPy's numbers become.

They do not widen the data, so a chip without float64 can serve them: it reads the number's bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch

from bringup.accuracy import rule_of
from bringup.suites._opinfo_calls import Call
from bringup.suites.audit._generic import forms
from bringup.suites.audit._layouts import hostile
from bringup.suites.audit._pool import Pool, distinct
from bringup.suites.audit._signature import names_of
from bringup.suites.audit._structure import among, takes_nonfinite
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import exchanged, tensors
from bringup.suites.audit._vet import dense_results

_VALUES = (1.2345678901234567, float("inf"), 1e300, -0.75, float("nan"), -0.0, 1.5e-40, 6e-39)
_TIES = (2049.0, 257.0, 16777217.0)  # between two numbers of float16, of bfloat16, of float32
_FRACTIONS = (
    2.5,
    -3.75,
    9007199254740994.0,
)  # for casts to integers; float32 has no such as the last
_FIRST = (6e-39, 1.5e-40, 1e300)
_BESIDE = (10.0, 5e-324, 2.5, -0.75)
# PyTorch wants data of one dtype; what its CPU kernels take besides is no rule.
ALIKE = ("Deep Learning", "Linear Algebra")


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield one such tensor in place of one of two tensors or more, and of the only one of a cast.

    The results are not of float64.
    """
    if subject.operator.category in ALIKE:
        return
    if not subject.torch_dtype.is_floating_point:
        yield from _beside_integers(subject)
        return
    made = [form for form in forms(subject, Pool(subject)) if form.kind == "binary"]
    patterns = [made[0].elementwise((3, 5))] if made else []
    patterns += [Draft("", s.call, s.variant, s.entry) for s in distinct(subject)] if not made else []
    yield from _stored(subject)
    values = [value for value in _VALUES if math.isfinite(value) or takes_nonfinite(subject.operator)]
    if among("recurrences", subject.operator):  # a degree that no integer holds becomes what the processor likes
        values = [value for value in values if abs(value) < 1 << 31]
    for number, value in enumerate(values):
        for pattern in patterns:
            if len(tensors(pattern.call)) == 1 and (data := subject.data(pattern.call)):
                call = exchanged(pattern.call, {data[0].index: torch.tensor(value, dtype=torch.float64)})
                if (found := _dtypes(call)) and all(dtype.is_floating_point for dtype in found):  # it casts
                    words = f"a lone 0-d float64 {value}".replace("-0.", "minus 0.")
                    yield Draft(words, call, pattern.variant, pattern.entry, group=words, doubled=True)
        for pattern in patterns:
            data = subject.data(pattern.call)
            for leaf in (data[-1], *data[: number == 0]) if len(data) > 1 else ():
                call = exchanged(pattern.call, {leaf.index: torch.tensor(value, dtype=torch.float64)})
                if not _dtypes(call):
                    continue
                words = f"{leaf.place} 0-d float64 {value}".replace("-0.", "minus 0.")
                yield Draft(words, call, pattern.variant, pattern.entry, group=words, doubled=True)
    yield from _others(subject, patterns)


def _others(subject: Subject, patterns: list[Draft]) -> Iterator[Draft]:
    """Ties of a cast's dtype, casts to integers, and the first operand in the place of the last."""
    for pattern in patterns:
        data = subject.data(pattern.call)
        if len(tensors(pattern.call)) == 1 and data:
            for value in (*_TIES, *_FRACTIONS):
                call = exchanged(pattern.call, {data[0].index: torch.tensor(value, dtype=torch.float64)})
                found = _dtypes(call)
                floats = all(dtype.is_floating_point for dtype in found)
                if found and (among("casts", subject.operator) or (floats and value in _TIES)):
                    words = f"a lone 0-d float64 {_said(value)}"
                    yield Draft(words, call, pattern.variant, pattern.entry, group=words, doubled=True)
        for value in _FIRST if len(data) > 1 else ():
            call = exchanged(pattern.call, {data[0].index: torch.tensor(value, dtype=torch.float64)})
            if _dtypes(call):
                words = f"{data[0].place} 0-d float64 {value}"
                yield Draft(words, call, pattern.variant, pattern.entry, group=words, doubled=True)


def _beside_integers(subject: Subject) -> Iterator[Draft]:
    """Such a number beside integers widens them to float64: what is left are flags, which a comparison gives."""
    made = [form.elementwise((3, 5)) for form in forms(subject, Pool(subject)) if form.kind == "binary"][:1]
    for pattern in made:
        for value in _BESIDE:
            for leaf in subject.data(pattern.call):
                call = exchanged(pattern.call, {leaf.index: torch.tensor(value, dtype=torch.float64)})
                if _dtypes(call) == {torch.bool}:
                    words = f"{leaf.place} 0-d float64 {_said(value)} beside integers"
                    yield Draft(words, call, pattern.variant, pattern.entry, group=words, doubled=True)


def _said(value: float) -> str:
    return f"minus {-value}" if value < 0 else f"{value}"


def _stored(subject: Subject) -> Iterator[Draft]:
    """Yield lists of tensors without dimension, the first of float64, whose values are moved into a narrower `out=`."""
    if subject.torch_dtype is not torch.float32 or "out" not in names_of(subject.operator.signature):
        return
    if rule_of(subject.operator.name).kind != "exact":  # what is computed is computed in float64
        return
    for sample in distinct(subject):
        data = subject.data(sample.call)
        if (
            len(data) < 2
            or not data[0].place.endswith("[0]")
            or "out" in sample.call.kwargs
            or not all(leaf.tensor.numel() for leaf in data)
        ):
            continue
        for value in _VALUES[:3]:
            new = {leaf.index: leaf.tensor.detach().reshape(-1)[0].clone() for leaf in data[1:]}
            call = exchanged(sample.call, {**new, data[0].index: torch.tensor(value, dtype=torch.float64)})
            found = dense_results(call)
            if found is None or not isinstance(found[0], torch.Tensor) or found[0].dtype is not torch.float64:
                continue
            out = hostile(tuple(found[0].shape), torch.float32)
            call = Call(call.reference, call.args, {**call.kwargs, "out": out})
            words = f"{data[0].place} 0-d float64 {value}, into a narrower out="
            yield Draft(words, call, sample.variant, sample.entry, group=words, doubled=True, requires="out")


def _dtypes(call: Call) -> set[torch.dtype]:
    """Return the dtypes of the results; none where PyTorch refuses the call, or one is of float64."""
    found = dense_results(call)
    dtypes = {one.dtype for one in found[1]} if found is not None else set[torch.dtype]()
    return dtypes if torch.float64 not in dtypes else set()
