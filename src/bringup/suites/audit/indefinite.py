"""Family `indefinite`: symmetric matrices whose diagonal is 0, so that a pivot has two rows; samples' are definite."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from bringup.suites.audit._pool import distinct
from bringup.suites.audit._structure import among
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import exchanged


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield samples whose first tensor is such a matrix, where any symmetric one will do."""
    if not among("any_symmetric", subject.operator):
        return
    for sample in distinct(subject):
        for leaf in subject.data(sample.call)[:1]:
            shape = leaf.tensor.shape
            if leaf.tensor.dim() > 1 and shape[-1] == shape[-2] > 1:
                words = f"diagonal 0, {leaf.tensor.dim()} dimensions, {shape[-1]} rows"
                matrix = _pairs(shape[-1]).expand(shape).clone().to(leaf.tensor.dtype)
                call = exchanged(sample.call, {leaf.index: matrix})
                yield Draft(words, call, sample.variant, sample.entry, group=words, steady=True)


def _pairs(rows: int) -> torch.Tensor:
    """Rows in pairs that belong together, of different sizes, and little beside them; an odd last row stands alone."""
    matrix = torch.zeros(rows, rows)
    for first in range(0, rows - 1, 2):
        matrix[first, first + 1] = 2.0 + first
    noise = torch.triu((torch.rand(rows, rows) - 0.5) / (2 * rows), 1)
    matrix = matrix + noise
    matrix = matrix + matrix.T
    if rows % 2:
        matrix[-1, -1] = 1.5
    return matrix
