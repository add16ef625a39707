"""Family `promotion`: pairs of dtypes, 0-d tensors and Python scalars for operators of two operands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from bringup.operators import DTYPES
from bringup.suites._opinfo_samples import samples
from bringup.suites.audit._generic import Form, forms
from bringup.suites.audit._pool import Pool
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import exchanged, tensors

_SCALARS = (2, 0.5, True)  # no zeros: integer division


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield every other dtype as second operand, 0-d tensors of each kind, and Python scalars on either side."""
    pool = Pool(subject)
    for form in [form for form in forms(subject, pool) if form.kind == "binary"][:1]:
        yield from _scalars(form)
        yield from _pairs(subject, form)


def _scalars(form: Form) -> Iterator[Draft]:
    left, right = form.leaves
    call = form.elementwise((3, 5)).call
    for scalar in _SCALARS:
        if form.entry.supports_rhs_python_scalar:
            what = f"a Python {type(scalar).__name__} as second operand"
            yield Draft(what, exchanged(call, {right.index: scalar}), form.sample.variant, form.entry)
    if form.entry.supports_one_python_scalar:
        what = "a Python float as first operand"
        yield Draft(what, exchanged(call, {left.index: 0.5}), form.sample.variant, form.entry)


def _pairs(subject: Subject, form: Form) -> Iterator[Draft]:
    others = [name for name in (*DTYPES, "bool") if name != subject.dtype]
    # One of each kind with dimensions, one of each kind without, then the rest.
    first = [name for name in others if name in ("float32", "int64", "bool")]
    rest = [name for name in others if name not in first]
    for names, shape in ((first, (3, 5)), (first, ()), (rest, (5,))):
        yield from (_pair(subject, form, name, shape) for name in names)


def _pair(subject: Subject, form: Form, other: str, shape: Sequence[int]) -> Draft:
    _, right = form.leaves
    call = form.elementwise((3, 5)).call
    dtype = getattr(torch, other)
    values = _values(subject, right.place, dtype)
    operand = values[torch.randint(0, values.numel(), (torch.Size(shape).numel(),))].reshape(shape)
    kind = "0-d " if not shape else ""
    what = f"{subject.dtype} and {kind}{other}"
    return Draft(what, exchanged(call, {right.index: operand}), form.sample.variant, form.entry)


def _values(subject: Subject, place: str, dtype: torch.dtype) -> torch.Tensor:
    """Return what the operator's own samples in `dtype` hold at a place, or small positive numbers."""
    if any(dtype in entry.supported_dtypes("cpu") for entry in subject.entries):
        drawn = samples(subject.operator.name, str(dtype).removeprefix("torch."), subject.seed)
        found = [
            leaf.tensor.reshape(-1)
            for sample in drawn
            for leaf in tensors(sample.call)
            if leaf.place == place and leaf.tensor.dtype is dtype and leaf.tensor.numel()
        ]
        if found:
            return torch.cat(found)
    return torch.tensor([1, 2, 3], dtype=dtype)
