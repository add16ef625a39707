"""Bits of NaNs: which a result may carry on vpe, whose arithmetic gives one, and on silicon."""

from __future__ import annotations

import pytest
import torch

from bringup.judge._nans import nan_bits, usual_nans

WHOLE = {
    torch.bfloat16: torch.int16,
    torch.float16: torch.int16,
    torch.float32: torch.int32,
    torch.float64: torch.int64,
}


@pytest.mark.parametrize("dtype", WHOLE)
def test_vpe_has_one_nan_and_silicon_all_ones_too(dtype: torch.dtype) -> None:
    ones = torch.tensor([-1], dtype=WHOLE[dtype]).view(dtype)
    assert nan_bits(ones) <= usual_nans(dtype, silicon=True)
    assert nan_bits(torch.tensor([float("nan")], dtype=dtype)) == usual_nans(dtype, silicon=False)
    assert not nan_bits(ones) <= usual_nans(dtype, silicon=False)


@pytest.mark.parametrize("narrow", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("wide", [torch.float32, torch.float64])
def test_a_nan_of_silicon_may_come_from_a_narrower_dtype(narrow: torch.dtype, wide: torch.dtype) -> None:
    """An `out=` of float64 holds what a kernel has computed in float32."""
    ones = torch.tensor([-1], dtype=WHOLE[narrow]).view(narrow)
    assert nan_bits(ones.to(wide)) <= usual_nans(wide, silicon=True)


def test_any_other_nan_is_a_mark() -> None:
    marked = torch.tensor([0x7FC00001], dtype=torch.int32).view(torch.float32)
    assert not nan_bits(marked) <= usual_nans(torch.float32, silicon=True)
