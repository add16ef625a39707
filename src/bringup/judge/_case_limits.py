"""What the results of a case may be, as its standard says it, for a target's arithmetic."""

from __future__ import annotations

from typing import Any

from bringup.accuracy import COMPLETE, FLOATS, Arithmetic, Limit, Limits
from bringup.judge import _codec
from bringup.suites import CaseInputs
from bringup.targets import Target


def arithmetic_of(target: Target) -> Arithmetic:
    """Return what a target's arithmetic has; kernels of a chip whose dialect knows no `tl.float64` have no doubles."""
    return Arithmetic(subnormals=target.subnormals, doubles="tl.float64" in target.dialect().tl_constants)


def limits_of(inputs: CaseInputs, expected: tuple[Any, Any, Any], arithmetic: Arithmetic = COMPLETE) -> Limits:
    """Return what the results of a case may be; `expected`: the output, and the arguments afterwards."""
    output, args, kwargs = expected
    if inputs.standard is None:
        return Limits([None] * len(_codec.tensors_of(output, "output")), (), "the suite knows no class of the operator")
    return inputs.standard.limits(inputs.args, inputs.kwargs, output, (args, kwargs), arithmetic=arithmetic)


def output_limits(inputs: CaseInputs, limits: Limits, expected: Any) -> dict[str, Limit]:
    """Return the limits of outputs by path; `expected` is what is compared: the outputs, or functions of them."""
    found = _codec.tensors_of(expected, "output")
    if inputs.postprocess is not None and not limits.functions:
        # Exact operators stay exact: what is compared are elements, and what indices name.
        exact = (limit for limit in limits.outputs if limit is not None and not limit.tolerance)
        same = next((limit for limit in exact if limit.exact is None), None)
        return {path: same for path, tensor in found if same is not None and tensor.dtype in FLOATS}
    return {path: limit for (path, _), limit in zip(found, limits.outputs, strict=True) if limit is not None}
