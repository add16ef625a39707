"""Family `accuracy`: many ordinary values, small and large arguments, sums whose terms cancel or lie far from zero."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch

from bringup.suites._opinfo_samples import Sample, seed_of, seeded
from bringup.suites.audit._generic import Form, forms
from bringup.suites.audit._pool import Pool, distinct
from bringup.suites.audit._structure import among, structured
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import exchanged, spread, turns

_SMALL = 2.0**-12  # arguments where 1 + x and e^x - 1 cancel
_COUNT = 1500
# Exponents of the sizes that the whole range of a dtype is drawn from: up to the last but one before overflow.
_RANGE = {"float32": (-126, 127), "bfloat16": (-126, 127), "float16": (-14, 15)}
# Evenly spread arguments: exponentials of the smaller vanish beside 1, of the larger become subnormal or overflow.
_SIZES = {"float32": (32, 105), "bfloat16": (32, 105), "float16": (12, 18)}
_LARGE = 1e8
_FAR = 1000.0  # what far-off data are shifted by, in steps of 1/8


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield ordinary and small values, the whole range of the dtype, far-off data; the operator's own samples."""
    if subject.dtype not in _RANGE or structured(subject.operator):
        return
    pool = Pool(subject)
    # Drawn apart, so that what comes behind it keeps its values.
    with seeded(seed_of(subject.seed, subject.operator.name, "audit.accuracy.few", subject.dtype)):
        few = [draft for form in forms(subject, pool)[:1] if form.kind == "reduction" for draft in _few(form, subject)]
    yield from few
    for form in forms(subject, pool)[:1]:
        yield from _reduced(form, subject) if form.kind == "reduction" else _elementwise(form, subject)
    for sample in spread(distinct(subject), 3):
        yield Draft("a sample", sample.call, sample.variant, sample.entry)
        for leaf in subject.data(sample.call)[:1]:
            call = exchanged(sample.call, {leaf.index: leaf.tensor + _FAR})
            yield Draft("a sample far from zero", call, sample.variant, sample.entry, group="far")
    for sample in distinct(subject):
        yield from _ended(sample, subject)


def _ended(sample: Sample, subject: Subject) -> Iterator[Draft]:
    """The sample with a large first argument and zeros and ones in the last of three: a weight that picks an end."""
    data = subject.data(sample.call)
    if len(data) < 3:
        return
    weight = torch.randint(0, 2, tuple(data[-1].tensor.shape)).to(data[-1].tensor.dtype)
    large = data[0].tensor * (_LARGE if subject.dtype != "float16" else _FAR)
    call = exchanged(sample.call, {data[0].index: large, data[-1].index: weight})
    yield Draft("the first argument large, the last one 0 or 1", call, sample.variant, sample.entry, group="ended")


def _elementwise(form: Form, subject: Subject) -> Iterator[Draft]:
    draft = form.elementwise((_COUNT,))
    data = [leaf.index for leaf in subject.data(draft.call)]
    if among("recurrences", subject.operator):
        data = data[:1]
    yield replace(draft, what=f"{_COUNT} values")
    if not data:
        return
    ranged = [exchanged(draft.call, {index: _whole_range(subject.dtype) for index in data[:count]}) for count in (2, 1)]
    yield replace(draft, what="the whole range", call=ranged[0])
    small = {leaf.index: leaf.tensor * _SMALL for leaf in subject.data(draft.call)[:1]}
    yield replace(draft, what=f"{_COUNT} small arguments", call=exchanged(draft.call, small))
    for size in _SIZES[subject.dtype]:
        middle = {index: _evenly(subject.torch_dtype, size) for index in data[:1]}
        yield replace(draft, what=f"from -{size} to {size}", call=exchanged(draft.call, middle))
    if len(data) > 1:
        yield replace(draft, what="the whole range against ordinary values", call=ranged[1])


def _whole_range(dtype: str) -> torch.Tensor:
    """Values of both signs whose exponents are spread evenly over the range of the dtype."""
    least, most = _RANGE[dtype]
    exponents = torch.rand(_COUNT, dtype=torch.float64) * (most - least) + least
    signs = torch.randint(0, 2, (_COUNT,)) * 2 - 1
    return (torch.exp2(exponents) * signs).to(getattr(torch, dtype))


def _evenly(dtype: torch.dtype, size: int) -> torch.Tensor:
    return ((torch.rand(_COUNT, dtype=torch.float64) * 2 - 1) * size).to(dtype)


def _reduced(form: Form, subject: Subject) -> Iterator[Draft]:
    ordinary = [replace(draft, what="41x600 over 1") for draft in form.reduction((41, 600), 1)]
    far = [_far_off(draft, subject) for draft in ordinary]
    yield from turns(ordinary, far)


def _few(form: Form, subject: Subject) -> Iterator[Draft]:
    """Lines of few numbers: there a rough mean is far from the right one, and what it is corrected by cancels."""
    for draft in form.reduction((64, 5), 1):
        yield replace(_far_off(draft, subject), what="64x5 over 1, far from zero", group="few")


def _far_off(draft: Draft, subject: Subject) -> Draft:
    """The reduction of `1000 + k/8` (256 + k/8 and less in half precisions): a variance far from its mean."""
    leaf = next(iter(subject.data(draft.call)))
    steps = torch.randint(0, 64, tuple(leaf.tensor.shape)) / 8
    shift = _FAR if subject.dtype == "float32" else 16.0
    values = (steps + shift).to(leaf.tensor.dtype)
    return replace(draft, what="41x600 over 1, far from zero", call=exchanged(draft.call, {leaf.index: values}))
