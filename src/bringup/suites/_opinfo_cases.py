"""From OpInfo's samples to cases that a judge can run. Imports torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch

from bringup.accuracy import Standard
from bringup.suites._base import CaseInputs
from bringup.suites._opinfo_calls import has_tensor, is_factory
from bringup.suites._opinfo_postprocess import postprocess_of
from bringup.suites._opinfo_samples import Sample, samples
from bringup.suites._opinfo_tolerance import widened, written
from bringup.verdict import CaseId

_NAN = "PyTorch's CPU kernel gives NaN for ordinary matrices in this dtype; its float64 result, rounded, is expected"
# (operator, dtype) whose CPU kernel is broken in this dtype and right in float64.
ROUNDED = {("matrix_exp", "bfloat16"): _NAN, ("matrix_exp", "float16"): _NAN}


def _rounded(reference: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that computes a reference of one tensor in float64 and rounds the result to its dtype."""

    def compute(matrix: torch.Tensor) -> torch.Tensor:
        return reference(matrix.double()).to(matrix.dtype)

    return compute


def cases(operator: str, dtype: str, seed: int = 0, *, imprecise: bool = True) -> list[CaseInputs]:
    """Build all cases of one operator in one dtype; the index runs over the variants' samples in op_db order.

    `imprecise`: measure the reference's own error (it costs two calls of the reference a case).
    """
    return [
        case_of(CaseId(operator=operator, dtype=dtype, index=index, seed=seed), sample, imprecise)
        for index, sample in enumerate(samples(operator, dtype, seed))
    ]


def case_of(case: CaseId, sample: Sample, imprecise: bool, *, post: bool = True) -> CaseInputs:
    """Make a case of one sample: tolerance, post-processing, device arguments; `imprecise` as for `cases`.

    `post=False`: without post-processing (for calls that name what post-processing looks for by position).
    """
    call = sample.call
    notes: dict[str, Any] = {}
    reference = call.reference
    if (case.operator, case.dtype) in ROUNDED:
        reference = _rounded(reference)
        notes["reference"] = ROUNDED[case.operator, case.dtype]

    def function_for(args: tuple[Any, ...], options: Mapping[str, Any]) -> Callable[[Any], Any] | None:
        found = postprocess_of(case.operator, replace(call, args=args, kwargs=dict(options)))
        return found.function if found else None

    compared = postprocess_of(case.operator, call) if post else None
    standard = Standard(case.operator, reference, case.dtype, compared.function if compared else None)
    tolerance = written(sample.entry, case.dtype)
    if imprecise and standard.rule.kind == "undefined":
        tolerance = widened(call, case.dtype, tolerance, compared.function if compared else None)
    if compared is not None:
        notes["postprocess"] = compared.reason
    places = device_places(call.args, call.kwargs)
    if places:
        notes["device_places"] = places
    if is_factory(case.operator) and not has_tensor(call.args):
        notes["factory"] = True
    args, kwargs = _with_devices(call.args, call.kwargs, places)
    return CaseInputs(
        case=case,
        variant=sample.variant,
        args=args,
        kwargs=kwargs,
        reference=reference,
        rtol=tolerance.rtol,
        atol=tolerance.atol,
        tolerance_reason=tolerance.reason,
        postprocess=compared.function if compared else None,
        postprocess_for=function_for if post else None,
        notes=notes,
        standard=standard,
    )


def device_places(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[int | str, ...]:
    """Return where a call names a device: indices of positional arguments, names of keywords."""
    found: list[int | str] = [index for index, value in enumerate(args) if _is_device(value)]
    found += [name for name, value in kwargs.items() if name == "device" or _is_device(value)]
    return tuple(found)


def _with_devices(
    args: tuple[Any, ...], kwargs: dict[str, Any], places: tuple[int | str, ...]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Make every named device a torch.device, so that nothing has to guess whether a string is one."""
    if not places:
        return args, kwargs
    host = torch.device("cpu")
    fixed = tuple(host if index in places else value for index, value in enumerate(args))
    return fixed, {name: host if name in places else value for name, value in kwargs.items()}


def _is_device(value: Any) -> bool:
    return isinstance(value, torch.device) or (isinstance(value, str) and value == "cpu")
