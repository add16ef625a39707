"""Family `pivots`: matrices that are well conditioned and begin with a 0, so that elimination must exchange rows.

In larger ones the pivot lies in another tile, below numbers that are small and not 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch

from bringup.suites._opinfo_samples import Sample
from bringup.suites.audit._pool import Pool, distinct
from bringup.suites.audit._structure import among
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import exchanged, tensors

_ROWS, _TILE, _SMALL = 100, 64, 1e-4


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield samples whose first tensor is such a matrix, where any invertible one will do."""
    if not among("any_invertible", subject.operator):
        return
    for sample in distinct(subject):
        for leaf in subject.data(sample.call)[:1]:
            shape = leaf.tensor.shape
            if leaf.tensor.dim() > 1 and shape[-1] == shape[-2] > 1:
                matrix = _exchanging(shape[-1]).expand(shape).clone()
            elif (rows := math.isqrt(leaf.tensor.numel())) ** 2 == leaf.tensor.numel() and rows > 1:
                matrix = _exchanging(rows).reshape(shape)  # what is a matrix once its dimensions are gathered
            else:
                continue
            words = f"first pivot 0, {leaf.tensor.dim()} dimensions"
            call = exchanged(sample.call, {leaf.index: matrix.to(leaf.tensor.dtype)})
            yield Draft(words, call, sample.variant, sample.entry, group=words, steady=True)
    yield from _far_down(subject)


def _far_down(subject: Subject) -> Iterator[Draft]:
    pool = Pool(subject)
    for sample in sorted(subject.samples, key=_least):
        for leaf in subject.data(sample.call)[:1]:
            rows = leaf.tensor.shape[-1] if leaf.tensor.dim() > 1 else 0
            if rows < 2 or leaf.tensor.shape[-2] != rows:
                continue
            grown = pool.resized(sample.call, {rows: _ROWS})
            found = {one.index: one.tensor for one in tensors(grown)}[leaf.index]
            matrix = torch.roll(torch.eye(_ROWS), _TILE, 0) + _SMALL * torch.randn(_ROWS, _ROWS)
            call = exchanged(grown, {leaf.index: matrix.expand(found.shape).clone().to(found.dtype)})
            words = "pivots in another tile, below small numbers"
            yield Draft(words, call, sample.variant, sample.entry, group=words, steady=True)


def _least(sample: Sample) -> int:
    """The least whole number among the arguments: a negative power is one of the inverse."""
    return min((value for value in sample.call.args if type(value) is int), default=0)


def _exchanging(rows: int) -> torch.Tensor:
    """A permutation without fixed rows, in steps of its own, and little beside it; its diagonal is 0."""
    sizes = 1.5 + torch.arange(rows) / max(rows - 1, 1)
    noise = (torch.rand(rows, rows) - 0.5) / rows
    matrix = torch.roll(torch.diag(sizes), 1, 0) + noise
    return matrix - torch.diag(matrix.diagonal())
