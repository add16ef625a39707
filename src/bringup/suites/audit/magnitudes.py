"""Family `magnitudes`: data whose products leave half of the range of the dtype: each element has its own exponent."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from bringup.suites.audit._pool import distinct
from bringup.suites.audit._structure import among
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import elements, exchanged
from bringup.suites.audit._vet import dense_results

_EXPONENTS = {"tiny": (-34, -20), "huge": (8, 24), "mixed": (-26, 26)}  # of two


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield samples with tiny, huge and mixed numbers, for operators that multiply their data many times."""
    if not among("multiplied", subject.operator) or not subject.torch_dtype.is_floating_point:
        return
    # Where the result has most elements, most factors meet.
    samples = sorted(distinct(subject), key=lambda sample: -elements(dense_results(sample.call)))
    for what, (least, most) in _EXPONENTS.items():
        for sample in samples:
            leaves = subject.data(sample.call)[:1]
            new = {leaf.index: _scaled(leaf.tensor, least, most) for leaf in leaves}
            if new:
                words = f"{what} numbers"
                yield Draft(words, exchanged(sample.call, new), sample.variant, sample.entry, group=words)


def _scaled(tensor: torch.Tensor, least: int, most: int) -> torch.Tensor:
    """Return numbers between 1 and 2, of either sign, times a power of two between both."""
    sizes = (1 + torch.rand(tensor.shape)) * (torch.randint(0, 2, tensor.shape) * 2 - 1)
    return torch.ldexp(sizes, torch.randint(least, most, tensor.shape)).to(tensor.dtype)
