"""Bits of NaNs: what a result may carry in them, and nothing else. Signs aside."""

from __future__ import annotations

import functools

import torch

_WHOLE = {2: torch.int16, 4: torch.int32, 8: torch.int64}
_MANTISSA = {torch.bfloat16: 7, torch.float16: 10, torch.float32: 23, torch.float64: 52}  # bits
MOST = 64  # kinds of NaNs of a tensor that are looked at


def nan_bits(tensor: torch.Tensor) -> set[int]:
    """The bits of a tensor's NaNs below the sign: at most `MOST` of them. Of half precisions, float32 and float64."""
    whole = _WHOLE.get(tensor.dtype.itemsize)
    if whole is None or not bool((nans := tensor.isnan()).any()):
        return set()
    mask = (1 << (8 * tensor.dtype.itemsize - 1)) - 1
    found = tensor.detach()[nans].view(whole).to(torch.int64).bitwise_and(mask).unique()
    return set(found[:MOST].tolist())


@functools.cache
def usual_nans(dtype: torch.dtype, silicon: bool) -> frozenset[int]:
    """What processors make of no number: the quiet one. Chips (`silicon`) have their own, CUDA's is all ones.

    That one may come from a narrower dtype, whose bits are the first of a wider one's.
    """
    quiet = nan_bits(torch.tensor([float("nan")], dtype=dtype))
    if not silicon:
        return frozenset(quiet)
    ones, mantissa = (1 << (8 * dtype.itemsize - 1)) - 1, _MANTISSA[dtype]
    return frozenset({*quiet, *(ones >> low << low for m in _MANTISSA.values() if (low := mantissa - m) >= 0)})
