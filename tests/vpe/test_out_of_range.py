"""What a conversion of a number gives that does not fit: LLVM leaves it open, the chip does not."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

VALUES = [
    0.5, -0.5, 255.9, 1e10, -1e10, 2147483648.0, -2147483648.0, -2147483648.9, 2147483647.5, -2147483649.0, 1e19,
    1.8e19, -1e19, 9.3e18, float("nan"), float("inf"), float("-inf"), -1.0, 3e38, 4294967295.0,
]  # fmt: skip
BITS = {torch.int8: 8, torch.int16: 16, torch.int32: 32, torch.int64: 64, torch.uint8: 8, torch.uint32: 32}


@triton.jit
def k_convert(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(o + i, v.to(o.dtype.element_ty), mask=i < n)


@triton.jit
def k_convert_one(x, o, at):
    tl.store(o + at, tl.load(x + at).to(o.dtype.element_ty))


def towards_zero(value: float, bits: int) -> int:
    """In two's complement; the least number for what does not fit."""
    fits = -(2.0 ** (bits - 1)) - (1 if bits == 32 else 0) < value < 2.0 ** (bits - 1)
    return int(value) if fits or value == -(2.0 ** (bits - 1)) else -(1 << (bits - 1))


def wanted(value: float, dtype: torch.dtype) -> int:
    bits, signed = BITS[dtype], dtype.is_signed
    number = towards_zero(value, max(bits, 32) if signed else 64) & ((1 << bits) - 1)
    return number - (1 << bits) if signed and number >> (bits - 1) else number


@pytest.mark.usefixtures("permissive")
@pytest.mark.parametrize("target", BITS, ids=str)
@pytest.mark.parametrize("source", [torch.float32, torch.float64], ids=str)
def test_what_does_not_fit_is_the_least_number(source, target):
    x = torch.tensor(VALUES, dtype=source)
    lanes, alone = torch.zeros(len(VALUES), dtype=target), torch.zeros(len(VALUES), dtype=target)
    k_convert[(1,)](x, lanes, len(VALUES), B=32)
    for at in range(len(VALUES)):
        k_convert_one[(1,)](x, alone, at)
    expected = [wanted(value, target) for value in x.tolist()]
    assert lanes.tolist() == expected
    assert alone.tolist() == expected


@pytest.mark.usefixtures("permissive")
def test_to_64_bits_without_a_sign():
    x = torch.tensor([1.8e19, 9.3e18, 5.5, -1.0, float("nan")], dtype=torch.float64)
    o = torch.zeros(5, dtype=torch.uint64)
    k_convert[(1,)](x, o, 5, B=8)
    assert o.tolist() == [*np.array([1.8e19, 9.3e18, 5.5]).astype(np.uint64).tolist(), 2**64 - 1, 0]
