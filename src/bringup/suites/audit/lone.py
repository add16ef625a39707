"""Family `lone`: the only tensor of a call in a dtype, or of a shape, that PyTorch refuses.

`unfit` asks for dtypes where there are two tensors: what one of them may be hangs on the other. One alone has rules of
its own: no half precision for a factorisation, no flags where there is a sign, no matrix of one row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import torch

from bringup.suites._opinfo_samples import Sample
from bringup.suites.audit._pool import distinct
from bringup.suites.audit._spoilt import knowable, refused
from bringup.suites.audit._structure import among
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import exchanged, tensors, turns
from bringup.suites.audit._vet import raised

# What the parser refuses before a kernel is called, and what one kind of device refuses.
_OF_THE_BUILD = re.compile(r"^TypeError: (\w+\(\)[: ]|argument|invalid combination)|\bCPU\b")
_DTYPES = (torch.float16, torch.bool, torch.int64, torch.bfloat16, torch.float32)
_SHAPES: tuple[tuple[str, int, Callable[[torch.Tensor], torch.Tensor]], ...] = (
    ("one row", 2, lambda t: t[..., :1, :]),
    ("no columns", 2, lambda t: t[..., :0]),
    ("one column", 2, lambda t: t[..., :1]),
)


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield dtypes and shapes in turn, under one dtype, with the first sample of which PyTorch refuses the change."""
    if subject.dtype != subject.operator.dtypes[0] or among("crashes_when_misshapen", subject.operator):
        return
    samples = [sample for sample in distinct(subject) if len(tensors(sample.call)) == 1]
    yield from turns(_dtypes(samples), _shapes(samples))


def _dtypes(samples: list[Sample]) -> Iterator[Draft]:
    for other in _DTYPES:
        for sample in samples:
            leaf = tensors(sample.call)[0]
            call = exchanged(sample.call, {leaf.index: leaf.tensor.to(other)})
            # What a build of PyTorch lacks is no rule: it must show on the meta device as well, which has no kernels.
            error = "" if other is leaf.tensor.dtype else raised(call)
            if error and not _OF_THE_BUILD.search(error) and knowable(call):
                words = f"{leaf.place} in {str(other).removeprefix('torch.')}"
                yield Draft(words, call, sample.variant, sample.entry, fails=True, group=words)


def _shapes(samples: list[Sample]) -> Iterator[Draft]:
    for what, least, change in _SHAPES:
        for sample in sorted(samples, key=lambda s: tensors(s.call)[0].tensor.dim()):
            leaf = tensors(sample.call)[0]
            if leaf.tensor.dim() < least or min(leaf.tensor.shape[-2:]) < 2:
                continue
            call = exchanged(sample.call, {leaf.index: change(leaf.tensor).clone()})
            if refused(call) and knowable(call):
                words = f"{leaf.place} of {what}"
                yield Draft(words, call, sample.variant, sample.entry, fails=True, group=words)
