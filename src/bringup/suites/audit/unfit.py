"""Family `unfit`: each tensor among the arguments in a dtype, of a rank or of a size that PyTorch refuses.

`mismatch` and `errors` bring a few of these changes, whichever comes first; here every argument has its turn, and then
all data together: where two must be of one dtype, only that shows whether that dtype is looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import torch

from bringup.suites._opinfo_calls import Call
from bringup.suites._opinfo_samples import Sample
from bringup.suites.audit._pool import distinct
from bringup.suites.audit._spoilt import knowable, places, refused, with_value
from bringup.suites.audit._structure import among
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import exchanged, tensors, turns
from bringup.suites.audit._vet import raised

_DTYPES = {
    True: (torch.int64, torch.float16, torch.bool),  # in place of floating point
    False: (torch.float32, torch.int32, torch.bool),  # in place of integers and flags
}
# What the parser refuses before a kernel is called, and what one kind of device refuses.
_OF_THE_BUILD = re.compile(r"^TypeError|\bCPU\b")
_SHAPES: tuple[tuple[str, int, Callable[[torch.Tensor], torch.Tensor]], ...] = (
    ("a dimension more", 0, lambda t: t[None]),
    ("last dimension one longer", 1, lambda t: t.new_zeros((*t.shape[:-1], t.shape[-1] + 1))),
    ("a dimension fewer", 1, lambda t: t[0]),
    ("no dimension", 1, lambda t: t.reshape(-1)[0]),
)


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield, argument by argument in turn, the first sample of which PyTorch refuses the change; under one dtype."""
    if subject.dtype != subject.operator.dtypes[0] or among("crashes_when_misshapen", subject.operator):
        return
    samples = distinct(subject)
    named = dict.fromkeys(
        place
        for sample in samples
        for place, value in places(sample.call)
        if isinstance(value, torch.Tensor) and value.numel()
    )
    yield from turns(_together(subject, samples), *(_of_place(samples, place) for place in named))


def _together(subject: Subject, samples: list[Sample]) -> Iterator[Draft]:
    for other in _DTYPES[subject.torch_dtype.is_floating_point]:
        for sample in samples:
            data = subject.data(sample.call)
            call = exchanged(sample.call, {leaf.index: leaf.tensor.to(other) for leaf in data})
            if len(data) > 1 and _wrong(call):
                words = f"all data in {str(other).removeprefix('torch.')}"
                yield Draft(words, call, sample.variant, sample.entry, fails=True, group=words)


def _of_place(samples: list[Sample], place: int | str) -> Iterator[Draft]:
    for number in range(max(len(_SHAPES), 3)):
        for which in (_dtypes, _shapes):
            yield from which(samples, place, number)


def _dtypes(samples: list[Sample], place: int | str, number: int) -> Iterator[Draft]:
    for sample in samples:
        tensor = dict(places(sample.call)).get(place)
        if not isinstance(tensor, torch.Tensor) or number >= 3 or len(tensors(sample.call)) < 2:
            continue
        other = _DTYPES[tensor.is_floating_point()][number]
        call = with_value(sample.call, place, tensor.to(other))
        if other is not tensor.dtype and _wrong(call):
            words = f"argument {place} in {str(other).removeprefix('torch.')}"
            yield Draft(words, call, sample.variant, sample.entry, fails=True, group=words)


def _wrong(call: Call) -> bool:
    """Whether PyTorch refuses the dtypes: on the meta device as well, since what one build lacks is no rule."""
    error = raised(call)
    return bool(error) and not _OF_THE_BUILD.search(error) and refused(call) and knowable(call)


def _shapes(samples: list[Sample], place: int | str, number: int) -> Iterator[Draft]:
    if number >= len(_SHAPES):
        return
    what, least, change = _SHAPES[number]
    for sample in samples:
        tensor = dict(places(sample.call)).get(place)
        if isinstance(tensor, torch.Tensor) and tensor.dim() >= least and tensor.numel():
            call = with_value(sample.call, place, change(tensor).clone())
            if refused(call) and knowable(call):
                words = f"argument {place}: {what}"
                yield Draft(words, call, sample.variant, sample.entry, fails=True, group=words)
