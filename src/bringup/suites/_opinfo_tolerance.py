"""How far a result may be from the reference: PyTorch's defaults, wider only with a reason that is written down.

1. `torch.testing.assert_close`'s defaults for the dtype of the output.
2. What OpInfo itself writes (`toleranceOverride`) for the tests that, like the judge, run one operator on the same
   samples in the same dtype through two implementations on the CPU: another layout or out= (TestCommon), or a
   decomposition (TestDecomp). Its other overrides are for comparisons with NumPy or
   SciPy in another precision on extreme inputs; taking them (0.7 for `deg2rad` in bfloat16, say) would accept zeros.
3. Twice the reference's own error, where that exceeds 1 and 2. PyTorch's CPU kernels round to float16 or bfloat16
   between steps, or add up long sums in float32; where the reference is off from the same function in float64 by e,
   a candidate that is as accurate in the other direction is 2e away from it. `rtol` grows at most four-fold, and
   `atol` to a share of the largest expected magnitude: beyond that the result hangs on a rounding decision (a
   `floor`, a threshold, an overflow), and the default stays.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from bringup.accuracy import copy_arguments
from bringup.suites._opinfo_calls import Call

# assert_close's defaults (torch.testing._comparison): dtype -> (rtol, atol)
DEFAULTS: dict[torch.dtype, tuple[float, float]] = {
    torch.float32: (1.3e-6, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float16: (1e-3, 1e-5),
}
# Largest atol that the reference's own error may lead to, as a share of the largest expected magnitude: 8 units in
# the last place of that magnitude, 100 in float32.
CEILING: dict[torch.dtype, float] = {
    torch.float32: 100 * torch.finfo(torch.float32).eps,
    torch.bfloat16: 8 * torch.finfo(torch.bfloat16).eps,
    torch.float16: 8 * torch.finfo(torch.float16).eps,
}
# Functions whose result depends on the dtype's own grid or epsilon: the float64 twin computes something else.
DTYPE_BOUND = {torch.nextafter, torch.linalg.pinv, torch.linalg.matrix_rank}
_SAME_SAMPLES = {
    "TestCommon": {
        None,
        "test_compare_cpu",
        "test_noncontiguous_samples",
        "test_variant_consistency_eager",
        "test_out",
    },
    "TestDecomp": {None, "test_comprehensive", "test_quick"},
}


@dataclass(frozen=True)
class Tolerance:
    """Tolerances of one case; `reason` is empty where the defaults hold."""

    rtol: float | None = None
    atol: float | None = None
    reason: str = ""


def written(entry: Any, dtype: str) -> Tolerance:
    """Return the widest tolerance that OpInfo writes for a test of kind 2 in `dtype`, never below the defaults."""
    torch_dtype = getattr(torch, dtype)
    if torch_dtype not in DEFAULTS:
        return Tolerance()
    rtol, atol = DEFAULTS[torch_dtype]
    reasons = []
    for info in entry.decorators:
        tests = _SAME_SAMPLES.get(getattr(info, "cls_name", None) or "")
        if tests is None or info.test_name not in tests or info.device_type not in (None, "cpu"):
            continue
        if info.dtypes is not None and torch_dtype not in info.dtypes:
            continue
        for decorator in info.decorators:
            override = getattr(decorator, "d", {}).get(torch_dtype)
            if override is None or not hasattr(override, "rtol"):
                continue
            if override.rtol > rtol or override.atol > atol:
                rtol, atol = max(rtol, override.rtol), max(atol, override.atol)
                reasons.append(f"{info.cls_name}.{info.test_name or '*'}")
    if not reasons:
        return Tolerance()
    return Tolerance(rtol, atol, f"OpInfo's toleranceOverride for {', '.join(dict.fromkeys(reasons))}")


def widened(call: Call, dtype: str, base: Tolerance, postprocess: Callable[[Any], Any] | None) -> Tolerance:
    """Return `base`, or with a wider atol where the reference's own error asks for it (kind 3)."""
    torch_dtype = getattr(torch, dtype)
    if torch_dtype not in DEFAULTS:
        return base
    rtol = DEFAULTS[torch_dtype][0] if base.rtol is None else base.rtol
    atol = DEFAULTS[torch_dtype][1] if base.atol is None else base.atol
    if call.reference in DTYPE_BOUND:
        return base
    error = reference_error(call, torch_dtype, rtol, atol, postprocess)
    if error is None:
        return base
    own = f"the CPU reference is itself inexact in {dtype}: this allows twice its distance to the float64 result"
    return Tolerance(*error, f"{base.reason}; {own}" if base.reason else own)


def by_length(call: Call, dtype: str, base: Tolerance) -> Tolerance:
    """Return `base`, or that of a factorisation: each step of it adds roundings to what the steps before have left.

    Nobody knows what is right where ties of pivots are decided by rounding, and PyTorch's own factors are off by
    fewer than n / 2 of the default tolerances from those in float64 for normal random numbers: for matrices of n = 32
    to 500 rows (LU: 0.13 n at most, LDL: 0.22 n), and n / 16 for smaller ones. So are those of a kernel.
    """
    torch_dtype = getattr(torch, dtype)
    given = [t for t in pytree.tree_leaves([call.args, dict(call.kwargs)]) if isinstance(t, torch.Tensor)]
    longest = max((max(t.shape[-2:]) for t in given if t.dim() >= 2), default=1)
    times = longest if longest >= 32 else max(1.0, longest / 8)
    if torch_dtype not in DEFAULTS or times <= 1:
        return base
    rtol, atol = (times * one for one in DEFAULTS[torch_dtype])
    if base.atol is not None and base.rtol is not None:
        rtol, atol = max(rtol, base.rtol), max(atol, base.atol)
    own = f"a factorisation of {longest} rows: {times:g} times the default tolerances"
    return Tolerance(rtol, atol, f"{base.reason}; {own}" if base.reason else own)


def reference_error(
    call: Call, dtype: torch.dtype, rtol: float, atol: float, postprocess: Callable[[Any], Any] | None
) -> tuple[float, float] | None:
    """Return the (rtol, atol) that allow twice the reference's distance to its float64 twin.

    None where the given tolerance does already; where there is no twin (the function does not take float64, or gives
    another shape); where results are whole numbers, so that a difference is a decision; or above the ceiling.
    """
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            args, kwargs = copy_arguments(call.args, call.kwargs)
            result = call.reference(*args, **kwargs)
            args, kwargs = copy_arguments(call.args, call.kwargs, widen=True)
            twin = call.reference(*args, **kwargs)
            if postprocess is not None:
                result, twin = postprocess(result), postprocess(twin)
    except Exception:  # whatever PyTorch raises: there is no twin then
        return None
    outputs = []
    for value, exact in zip(pytree.tree_leaves(result), pytree.tree_leaves(twin), strict=False):
        if not isinstance(value, torch.Tensor) or value.dtype != dtype or value.layout is not torch.strided:
            continue
        if not isinstance(exact, torch.Tensor) or exact.shape != value.shape:
            continue
        expected, exact = value.double(), exact.to(dtype).double()
        usable = expected.isfinite() & exact.isfinite()
        expected, exact = expected[usable], exact[usable]
        if not expected.numel():
            continue
        error = 2 * (expected - exact).abs()
        if bool((error <= atol + rtol * expected.abs()).all()):
            continue
        if torch.equal(expected, expected.round()) and torch.equal(exact, exact.round()):
            return None
        outputs.append((error, expected.abs()))
    return _fit(outputs, dtype, rtol, atol) if outputs else None


def _fit(
    outputs: list[tuple[torch.Tensor, torch.Tensor]], dtype: torch.dtype, rtol: float, atol: float
) -> tuple[float, float] | None:
    """Return the tightest (rtol, atol) for the errors, by what they allow at the mean magnitude."""
    errors, sizes = (torch.cat(list(parts)) for parts in zip(*outputs, strict=True))
    mean, largest = float(sizes.mean()), float(sizes.max())
    choices = []
    for factor in (1, 2, 3, 4):
        needed = max(float((errors - factor * rtol * sizes).max()), atol)
        choices.append((factor * rtol * mean + needed, factor * rtol, needed))
    _, best_rtol, best_atol = min(choices)
    if best_atol > max(CEILING[dtype] * largest, atol):
        return None
    # Two digits, rounded up, so that the figure does not hang on the last bits of a BLAS.
    return best_rtol, float(f"{best_atol * 1.05:.1e}") if best_atol > atol else atol
