"""Bits of NaNs: which a result may carry on vpe, and on silicon."""

from __future__ import annotations

import pytest
import torch

from bringup.judge._nans import odd_nan

WHOLE = {
    torch.bfloat16: torch.int16,
    torch.float16: torch.int16,
    torch.float32: torch.int32,
    torch.float64: torch.int64,
}


@pytest.mark.parametrize("silicon", [True, False])
@pytest.mark.parametrize("dtype", WHOLE)
def test_a_nan_is_the_quiet_one_or_all_ones(dtype: torch.dtype, silicon: bool) -> None:
    assert odd_nan(torch.tensor([-1], dtype=WHOLE[dtype]).view(dtype), (), silicon) is None
    assert odd_nan(torch.tensor([float("nan"), -float("nan")], dtype=dtype), (), silicon) is None


@pytest.mark.parametrize("narrow", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("wide", [torch.float32, torch.float64])
def test_a_nan_of_silicon_may_come_from_a_narrower_dtype(narrow: torch.dtype, wide: torch.dtype) -> None:
    """An `out=` of float64 holds what a kernel has computed in float32."""
    ones = torch.tensor([-1], dtype=WHOLE[narrow]).view(narrow)
    assert odd_nan(ones.to(wide), (), silicon=True) is None


def test_any_other_nan_is_a_mark() -> None:
    marked = torch.tensor([0x7FC00001], dtype=torch.int32).view(torch.float32)
    assert odd_nan(marked, (), silicon=True) == 0x7FC00001
    assert odd_nan(marked, (torch.ones(2, dtype=torch.int32), marked.clone()), silicon=True) is None


def test_an_argument_may_have_as_many_kinds_as_it_likes() -> None:
    kinds = (torch.arange(1000, dtype=torch.int32) + 0x7FC00000).view(torch.float32)
    assert odd_nan(kinds[700:].clone(), (kinds,), silicon=False) is None
    assert odd_nan(kinds, (kinds[:999],), silicon=False) == 0x7FC00000 + 999
