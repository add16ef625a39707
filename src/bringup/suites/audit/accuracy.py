"""Family `accuracy`: the error against double precision, compared with PyTorch's own in the case's dtype."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bringup.suites.audit._generic import forms
from bringup.suites.audit._pool import Pool, distinct
from bringup.suites.audit._structure import structured
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import exchanged, spread

# How many times PyTorch's largest error a candidate's may be (the judge adds half a unit in the last place).
# float32: PyTorch's functions are within about 1 unit, those of device libraries within 4 (CUDA documents 1 to 4 for
# most), and sums in another order stay in that range. Half precisions: both sides compute in float32 and round once,
# so the errors are equal but for ties; 2 leaves room for one more rounding.
FACTORS = {"float32": 4.0, "bfloat16": 2.0, "float16": 2.0}
_SMALL = 2.0**-12  # arguments where 1 + x and e^x - 1 cancel


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield many ordinary values, small arguments (elementwise operators), and the operator's own samples."""
    factor = FACTORS.get(subject.dtype)
    if factor is None or structured(subject.operator):
        return
    pool = Pool(subject)
    for form in forms(subject, pool)[:1]:
        if form.kind == "reduction":
            yield from (replace(d, what="41x600 over 1", factor=factor) for d in form.reduction((41, 600), 1))
            continue
        draft = form.elementwise((1500,))
        yield replace(draft, what="1500 values", factor=factor)
        first = form.leaves[0].index
        for leaf in subject.data(draft.call):
            if leaf.index == first:
                small = exchanged(draft.call, {first: leaf.tensor * _SMALL})
                yield replace(draft, what="1500 small arguments", call=small, factor=factor)
    for sample in spread(distinct(subject), 3):
        yield Draft("a sample", sample.call, sample.variant, sample.entry, factor=factor)
