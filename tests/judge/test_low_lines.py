"""The guard `contents`: numbers far below zero, everywhere or in lines."""

from __future__ import annotations

import math
import random

import pytest
import torch

from bringup.judge.guards.contents import LOW, SEEKING, SQUARED, _low_lines


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_lines_are_far_below_zero_and_the_rest_stays(dtype: torch.dtype) -> None:
    tensor = torch.randn(6, 5).to(dtype)
    for seed in range(5):
        low = _low_lines(tensor, -1, math.inf, random.Random(seed))
        lines = (low <= -LOW * torch.finfo(dtype).max / 1.01).all(1)
        assert lines.any()
        assert torch.equal(low[~lines], tensor[~lines])
        assert torch.softmax(low.double(), 1)[lines].eq(0.2).all()
    everywhere = _low_lines(tensor, None, SQUARED, random.Random(0))
    assert everywhere.unique().numel() == 1
    assert float(everywhere[0, 0]) <= -min(SQUARED, LOW * torch.finfo(dtype).max) * 0.99


def test_operators_that_take_a_maximum_first() -> None:
    for name in ("softmax", "log_softmax", "nn.functional.softmin", "logsumexp", "masked.softmax", "_softmax.out"):
        assert SEEKING.fullmatch(name), name
    assert not SEEKING.fullmatch("std")
    assert not SEEKING.fullmatch("_softmax_backward_data")
