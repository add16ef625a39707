"""Arithmetic on the grid of a floating-point format: units in the last place, overflow, common divisors of values."""

from __future__ import annotations

import torch

FLOATS = (torch.float32, torch.bfloat16, torch.float16)
# assert_close's defaults (torch.testing._comparison._DTYPE_PRECISIONS), by dtype: rtol, atol
PRECISION: dict[torch.dtype, tuple[float, float]] = {
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
    torch.complex32: (1e-3, 1e-5),
    torch.complex64: (1.3e-6, 1e-5),
    torch.complex128: (1e-7, 1e-7),
}


def unit(dtype: torch.dtype) -> float:
    """Return the unit roundoff: half the distance from 1 to the next number."""
    return float(torch.finfo(dtype).eps) / 2


def ulp(value: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return the distance between neighbours of `dtype` around each value (float64), as a float64 tensor.

    The unit of the binade that holds the value: that of the largest finite number above it, the smallest subnormal
    near zero (gradual underflow); NaN counts as the largest.
    """
    info = torch.finfo(dtype)
    size = value.abs().nan_to_num(nan=info.max, posinf=info.max).clamp(info.smallest_normal, info.max)
    exponent = torch.frexp(size).exponent - 1
    return torch.ldexp(torch.full_like(size, info.eps), exponent)


def overflow_from(dtype: torch.dtype) -> float:
    """Return the smallest size that rounds to infinity: half a unit above the largest finite number."""
    largest = torch.tensor(torch.finfo(dtype).max, dtype=torch.float64)
    return float(largest + ulp(largest, dtype) / 2)


def quantum(value: torch.Tensor) -> float:
    """Return the largest power of two that divides every element of a float64 tensor; infinity where all are zero.

    0.0 for values without such a divisor (NaN, infinities). Sums of terms that share one are exact in every order, as
    long as their sizes together stay below 2**24 of it (float32).
    """
    flat = value.reshape(-1)
    if not bool(flat.isfinite().all()):
        return 0.0
    flat = flat[flat != 0]
    if not flat.numel():
        return float("inf")
    fraction, exponent = torch.frexp(flat)
    whole = torch.ldexp(fraction, torch.full_like(exponent, 53)).to(torch.int64).abs()
    lowest = (whole & -whole).to(torch.float64)
    return float(torch.ldexp(lowest, exponent - 53).min())
