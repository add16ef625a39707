"""Family `matrices`: larger matrices with the properties that linear algebra asks for.

The other families change neither values nor sizes of arguments with a structure, and OpInfo's matrices have at most
some ten rows: one tile. Here every square matrix becomes symmetric and positive definite (2 on the diagonal, little
beside it: well conditioned, of full rank, with distinct eigenvalues), and tensors beside it grow with it.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from bringup.suites._opinfo_samples import Sample
from bringup.suites.audit._pool import Pool, distinct
from bringup.suites.audit._structure import structured
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import exchanged, spread, tensors

_SIZES = (70, 33, 129, 17, 11)


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield samples whose square matrices have been made larger, where the operator is of that category."""
    if subject.operator.category != "Linear Algebra" or not structured(subject.operator):
        return
    pool = Pool(subject)
    found = [s for s in distinct(subject) if any(_square(leaf.tensor) for leaf in subject.data(s.call))]
    chosen = spread(found or _others(subject), 4)
    for number, size in enumerate(_SIZES if chosen else ()):
        sample = chosen[number % len(chosen)]
        old = next(leaf.tensor.shape[-1] for leaf in subject.data(sample.call) if _square(leaf.tensor))
        grown = pool.resized(sample.call, {old: size})
        new = {leaf.index: _definite(leaf.tensor) for leaf in tensors(grown) if _square(leaf.tensor)}
        if all(leaf.tensor.dtype is subject.torch_dtype for leaf in tensors(grown)):
            yield Draft(f"{old} rows to {size}", exchanged(grown, new), sample.variant, sample.entry, steady=True)


def _others(subject: Subject) -> list[Sample]:
    """Return samples with square matrices for operators that take others, too."""
    seen: dict[tuple[object, ...], Sample] = {}
    for sample in subject.samples:
        if any(_square(leaf.tensor) for leaf in subject.data(sample.call)):
            seen.setdefault((sample.variant, *(leaf.tensor.dim() for leaf in tensors(sample.call))), sample)
    return list(seen.values())


def _square(tensor: torch.Tensor) -> bool:
    return bool(tensor.is_floating_point() and tensor.dim() > 1 and tensor.shape[-1] == tensor.shape[-2] > 1)


def _definite(tensor: torch.Tensor) -> torch.Tensor:
    size = tensor.shape[-1]
    noise = torch.rand(tensor.shape).sub(0.5).div(size)
    diagonal = (1.5 + torch.arange(size).double() / (size - 1)).float().expand(tensor.shape[:-1])
    return ((noise + noise.mT) / 2 + torch.diag_embed(diagonal)).to(tensor.dtype)
