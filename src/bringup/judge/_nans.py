"""Bits of NaNs: what a result may carry in them, and nothing else. Signs aside."""

from __future__ import annotations

import functools
from collections.abc import Iterable

import torch

_WHOLE = {2: torch.int16, 4: torch.int32, 8: torch.int64}
_MANTISSA = {torch.bfloat16: 7, torch.float16: 10, torch.float32: 23, torch.float64: 52}  # bits
_NONE = torch.zeros(0, dtype=torch.int64)


def odd_nan(tensor: torch.Tensor, known: Iterable[torch.Tensor], silicon: bool) -> int | None:
    """The bits of a NaN of a result that are neither the usual ones nor those of a NaN in `known`; None for none."""
    found = nan_bits(tensor)
    if not found.numel():
        return None
    allowed = [nan_bits(one.to(tensor.dtype)) for one in known if one.is_floating_point()]
    allowed.append(torch.tensor(sorted(usual_nans(tensor.dtype, silicon))))
    odd = found[~torch.isin(found, torch.cat(allowed))]
    return int(odd[0]) if odd.numel() else None


def nan_bits(tensor: torch.Tensor) -> torch.Tensor:
    """int64[kinds]: the bits of a tensor's NaNs below the sign, sorted. Of half precisions, float32 and float64."""
    whole = _WHOLE.get(tensor.dtype.itemsize)
    if not tensor.is_floating_point() or whole is None or not bool((nans := tensor.isnan()).any()):
        return _NONE
    mask = (1 << (8 * tensor.dtype.itemsize - 1)) - 1
    return tensor.detach()[nans].view(whole).to(torch.int64).bitwise_and(mask).unique()


@functools.cache
def usual_nans(dtype: torch.dtype, silicon: bool) -> frozenset[int]:
    """What no number looks like: the quiet NaN, and all ones, which vpe's unwritten memory holds and CUDA computes.

    On chips (`silicon`) the latter may come from a narrower dtype, whose bits are the first of a wider one's.
    """
    quiet = nan_bits(torch.tensor([float("nan")], dtype=dtype)).tolist()
    ones, mantissa = (1 << (8 * dtype.itemsize - 1)) - 1, _MANTISSA[dtype]
    narrower = [low for m in _MANTISSA.values() if (low := mantissa - m) > 0] if silicon else []
    return frozenset({*quiet, ones, *(ones >> low << low for low in narrower)})
