"""Bits of NaNs: what a result may carry in them, and nothing else. Signs aside."""

from __future__ import annotations

import functools

import torch

_WHOLE = {2: torch.int16, 4: torch.int32, 8: torch.int64}
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
def usual_nans(dtype: torch.dtype) -> frozenset[int]:
    """What processors and chips make of no number: the quiet one, and all ones (CUDA)."""
    quiet = nan_bits(torch.tensor([float("nan")], dtype=dtype))
    return frozenset({*quiet, (1 << (8 * dtype.itemsize - 1)) - 1})
