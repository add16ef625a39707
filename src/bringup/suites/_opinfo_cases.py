"""From OpInfo's samples to cases that a judge can run. Imports torch."""

from __future__ import annotations

from typing import Any

import torch

from bringup.suites._base import CaseInputs
from bringup.suites._opinfo_postprocess import postprocess_of
from bringup.suites._opinfo_samples import Sample, samples
from bringup.suites._opinfo_tolerance import widened, written
from bringup.verdict import CaseId


def cases(operator: str, dtype: str, seed: int = 0, *, imprecise: bool = True) -> list[CaseInputs]:
    """Build all cases of one operator in one dtype; the index runs over the variants' samples in op_db order.

    `imprecise`: measure the reference's own error (it costs two calls of the reference a case).
    """
    return [
        _case(CaseId(operator=operator, dtype=dtype, index=index, seed=seed), sample, imprecise)
        for index, sample in enumerate(samples(operator, dtype, seed))
    ]


def _case(case: CaseId, sample: Sample, imprecise: bool) -> CaseInputs:
    call = sample.call
    notes: dict[str, Any] = {}
    post = postprocess_of(case.operator, call)
    tolerance = written(sample.entry, case.dtype)
    if imprecise:
        tolerance = widened(call, case.dtype, tolerance, post.function if post else None)
    if post is not None:
        notes["postprocess"] = post.reason
    places = device_places(call.args, call.kwargs)
    if places:
        notes["device_places"] = places
    if not has_tensor(call.args) and not has_tensor(call.kwargs):
        notes["factory"] = True
    return CaseInputs(
        case=case,
        variant=sample.variant,
        args=call.args,
        kwargs=call.kwargs,
        reference=call.reference,
        rtol=tolerance.rtol,
        atol=tolerance.atol,
        tolerance_reason=tolerance.reason,
        postprocess=post.function if post else None,
        notes=notes,
    )


def has_tensor(value: Any) -> bool:
    """Tell whether a nest of lists, tuples and dicts holds a tensor."""
    if isinstance(value, torch.Tensor):
        return True
    if isinstance(value, dict):
        return any(has_tensor(item) for item in value.values())
    return isinstance(value, list | tuple) and any(has_tensor(item) for item in value)


def device_places(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[int | str, ...]:
    """Return where a call names a device: indices of positional arguments, names of keywords."""
    found: list[int | str] = [index for index, value in enumerate(args) if _is_device(value)]
    found += [name for name, value in kwargs.items() if name == "device" or _is_device(value)]
    return tuple(found)


def _is_device(value: Any) -> bool:
    return isinstance(value, torch.device) or value == "cpu" if isinstance(value, str | torch.device) else False
