"""Family `scales`: the samples' data times a power of two, as large and as small as PyTorch itself takes right.

What multiplies or exponentiates on the way overflows, or loses all digits, long before the result does. Operators that
move or compare values have nothing to lose, and functions of one element or two have `accuracy` for their whole range.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch

from bringup.accuracy import rule_of
from bringup.suites._opinfo_samples import Sample
from bringup.suites.audit._generic import forms
from bringup.suites.audit._pool import Pool, distinct
from bringup.suites.audit._structure import among, structured
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import exchanged, spread

# Powers of two that the sizes of a tensor's values, added up, are brought below, farthest from 1 first: the first that
# PyTorch takes is kept. Their sum, not the largest: no order of summing may overflow where another does not.
_LARGE = {"float32": (126, 100, 62, 40, 20), "bfloat16": (126, 100, 62, 40, 20), "float16": (14, 12, 7, 5)}
_FIRST = {"float32": (110, 62, 40, 20), "bfloat16": (110, 62, 40, 20), "float16": (10, 7, 5)}
_TINY = {"float32": (-100, -62, -40, -20), "bfloat16": (-100, -62, -40, -20), "float16": (-8, -5)}
# Operators of several steps square on the way; that PyTorch's CPU kernels do so in float64 is not asked of others.
_SQUARED = range(-40, 63)
_SAMPLES = 3


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield, for a few samples in turn, all data scaled up, the first tensor alone scaled up, all data scaled down."""
    kind = rule_of(subject.operator.name).kind
    if subject.dtype not in _LARGE or structured(subject.operator) or kind == "exact":
        return
    if among("products", subject.operator):  # one order overflows or vanishes where another does not
        return
    if any(form.kind != "reduction" for form in forms(subject, Pool(subject))):
        return
    samples = [s for s in distinct(subject) if any(leaf.tensor.numel() > 1 for leaf in subject.data(s.call))]
    several = kind in ("composite", "factors", "undefined")
    for what, exponents, first in (
        ("near overflow", _LARGE, False), ("near underflow", _TINY, False), ("the first near overflow", _FIRST, True),
    ):  # fmt: skip
        for sample in spread(samples, _SAMPLES):
            for exponent in exponents[subject.dtype]:
                if several and exponent not in _SQUARED:
                    continue
                yield from _scaled(subject, sample, what, exponent, first)


def _scaled(subject: Subject, sample: Sample, what: str, exponent: int, first: bool) -> Iterator[Draft]:
    data = subject.data(sample.call)
    size = max(float(leaf.tensor.double().abs().nan_to_num(0, 0, 0).sum()) for leaf in data)
    if (first and len(data) < 2) or not size:
        return
    power = exponent - math.frexp(size)[1]
    new = {leaf.index: _times(leaf.tensor, power) for leaf in data[: 1 if first else None]}
    yield Draft(what, exchanged(sample.call, new), sample.variant, sample.entry, group=what)


def _times(tensor: torch.Tensor, power: int) -> torch.Tensor:
    """Return the tensor times a power of two, exactly where nothing becomes subnormal."""
    return torch.ldexp(tensor.detach().double(), torch.tensor(power)).to(tensor.dtype)
