"""Family `stores`: `out=` of every other dtype that a result can be cast to, with values that only such a cast shows.

NaN, infinities, zeros of both signs, subnormal numbers and the extreme integers: a kernel whose chip has no numbers of
the other dtype writes their bits by code of its own, and what is rounded or wraps once more shows only there.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from bringup.suites._opinfo_calls import Call
from bringup.suites._opinfo_postprocess import postprocess_of
from bringup.suites._opinfo_samples import Sample
from bringup.suites.audit._layouts import hostile
from bringup.suites.audit._pool import Pool, distinct
from bringup.suites.audit._signature import names_of
from bringup.suites.audit._spoilt import refused
from bringup.suites.audit._structure import among, structured, takes_nonfinite
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import exchanged
from bringup.suites.audit._vet import dense_results, run

_OTHERS = {
    torch.float32: (torch.float64, torch.float16, torch.bfloat16),
    torch.bfloat16: (torch.float64, torch.float32, torch.float16),
    torch.float16: (torch.float64, torch.float32, torch.bfloat16),
    torch.int32: (torch.float64, torch.int64, torch.float16),
    torch.int64: (torch.float64, torch.int32, torch.float16),
    torch.bool: (torch.float64, torch.int64, torch.float32),
}
_SAMPLES = 3  # what PyTorch does with another dtype is found out on so many


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield one case a dtype, the sample with the most elements first."""
    names = names_of(subject.operator.signature)
    if "out" not in names or structured(subject.operator):
        return
    samples = [s for s in distinct(subject) if "out" not in s.call.kwargs and subject.data(s.call)]
    samples.sort(key=lambda s: -max(leaf.tensor.numel() for leaf in subject.data(s.call)))
    samples = samples[:_SAMPLES]
    if any(postprocess_of(subject.operator.name, sample.call) for sample in samples):
        return
    pool = Pool(subject)
    filled = [_filled(subject, pool, sample) for sample in samples]
    for number in range(3):
        tried = [
            made for sample, call in zip(samples, filled, strict=True) if (made := _with_out(sample, call, number))
        ]
        # Some operators cast, others refuse; where that changes from sample to sample, nobody can know it.
        if len({refused(call) for _, _, call in tried}) != 1:
            continue
        for sample, dtype, call in tried:
            raises, words = refused(call), f"out= of {dtype}, special values"
            wide = dtype == "float64"
            yield Draft(
                words, call, sample.variant, sample.entry, requires="out", fails=raises, group=words, wide_out=wide
            )


def _filled(subject: Subject, pool: Pool, sample: Sample) -> Call:
    """The sample's call with special values among the ordinary ones."""
    dtype = subject.torch_dtype
    if dtype.is_floating_point:
        tiny = torch.finfo(dtype).smallest_normal
        values = [0.0, -0.0, tiny / 2, -tiny]
        if takes_nonfinite(subject.operator):
            values += [float("nan"), float("inf"), float("-inf")]
    else:
        info = torch.iinfo(dtype)
        values = [0, info.max, info.min + 1 if among("divides", subject.operator) else info.min]
        if _floating(sample.call):  # where the largest integers have no exact image
            values = [0, 1, -1]
    leaves = subject.data(sample.call)
    if not among("any_integers", subject.operator):  # two special values at once hang on the formula
        leaves = leaves[:1]
    new = {}
    for leaf in leaves:
        flat = pool.like(leaf, leaf.tensor.shape).reshape(-1).clone()
        order = torch.randperm(flat.numel())[: max(1, flat.numel() // 2)]
        flat[order] = torch.tensor(values, dtype=dtype)[torch.randint(0, len(values), order.shape)]
        new[leaf.index] = flat.reshape(leaf.tensor.shape)
    return exchanged(sample.call, new)


def _floating(call: Call) -> bool:
    try:
        result = run(call)
    except Exception:  # whatever PyTorch raises: it makes no case
        return False
    return isinstance(result, torch.Tensor) and result.is_floating_point()


def _with_out(sample: Sample, call: Call, number: int) -> tuple[Sample, str, Call] | None:
    """The call with an `out=` of the `number`-th other dtype; None where it has no results of tensors."""
    found = dense_results(call)
    if found is None or not isinstance(found[0], torch.Tensor) or found[0].dtype not in _OTHERS:
        return None
    result = found[0]
    dtype = _OTHERS[result.dtype][number]
    kwargs = {**call.kwargs, "out": hostile(tuple(result.shape), dtype)}
    return sample, str(dtype).removeprefix("torch."), Call(call.reference, call.args, kwargs)
