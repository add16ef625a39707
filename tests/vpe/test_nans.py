"""Which NaN arithmetic gives, and which zero of two: the same by every code generator, on every host."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl

from bringup.vpe import kernel as kernels

ONE, OTHER = 0x7FC00001, 0x7FC00002
CANONICAL = {torch.float32: 0x7FC00000, torch.float16: 0x7E00, torch.bfloat16: 0x7FC0}
WHOLE = {torch.float32: torch.int32, torch.float16: torch.int16, torch.bfloat16: torch.int16}


@triton.jit
def k_bits(out, n, B: tl.constexpr):
    """NaNs with payloads, from numbers that no compiler knows, and what arithmetic makes of them."""
    z = n >> 31
    a = (z | 0x7FC00001).to(tl.float32, bitcast=True)
    b = (z | 0x7FC00002).to(tl.float32, bitcast=True)
    tl.store(out + 0, (a + b).to(tl.int32, bitcast=True))
    tl.store(out + 1, (b + a).to(tl.int32, bitcast=True))
    tl.store(out + 2, (a * b).to(tl.int32, bitcast=True))
    tl.store(out + 3, (a - b).to(tl.int32, bitcast=True))
    tl.store(out + 4, tl.fma(a, b, a).to(tl.int32, bitcast=True))
    o = tl.arange(0, B)
    va = (z + 0x7FC00001 + (o >> 10)).to(tl.float32, bitcast=True)
    vb = (z + 0x7FC00002 + (o >> 10)).to(tl.float32, bitcast=True)
    for i in range(0, n):
        va = va * vb + i
    tl.store(out + 16 + o, va.to(tl.int32, bitcast=True))
    tl.store(out + 32 + o, tl.where(o > n, va, vb + va).to(tl.int32, bitcast=True))
    tl.store(out + 5, a.to(tl.int32, bitcast=True))  # moved only


@pytest.mark.usefixtures("permissive")
@pytest.mark.parametrize("worth", [0.0, 1e9], ids=["better code", "quick code"])
def test_nans_have_one_pattern_whoever_made_the_code(worth, monkeypatch):
    monkeypatch.setattr(kernels, "WORTH_BETTER_CODE", worth)
    for _ in range(3):
        out = torch.zeros(48, dtype=torch.int32)
        k_bits[(1,)](out, 5, B=16)
    assert set(out[:5].tolist()) == set(out[16:].tolist()) == {0x7FC00000}
    assert out[5].item() == ONE


@triton.jit
def k_double(x, o, n, B: tl.constexpr, HOW: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    if HOW == 0:
        v = v + v
    elif HOW == 1:
        v = tl.where(i > 1, v, v * 2)
    tl.store(o + i, v, mask=i < n)


@pytest.mark.usefixtures("permissive")
@pytest.mark.parametrize("dtype", CANONICAL, ids=str)
def test_what_is_stored_is_one_nan_and_what_is_moved_keeps_its_bits(dtype):
    whole = WHOLE[dtype]
    given = torch.tensor([CANONICAL[dtype] | 1, CANONICAL[dtype] | 2, CANONICAL[dtype]], dtype=whole)
    given = torch.cat([given, given | torch.iinfo(whole).min])  # of both signs
    found = [torch.zeros(6, dtype=whole) for _ in range(3)]
    for how, out in enumerate(found):
        k_double[(1,)](given.view(dtype), out.view(dtype), 6, B=8, HOW=how)
    assert found[0].tolist() == [CANONICAL[dtype]] * 6
    assert found[1].tolist() == [CANONICAL[dtype]] * 6  # somewhere in it is arithmetic
    assert found[2].tolist() == given.tolist()


@triton.jit
def k_other(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    z = n >> 31
    a = (z | 0x7FC00001 + (i >> 10)).to(tl.float32, bitcast=True)
    b = (z | 0x7FC00002 + (i >> 10)).to(tl.float32, bitcast=True)
    v = tl.load(x + i, mask=i < n, other=a * b)  # what is not loaded is made
    tl.store(o + i, v.to(tl.int32, bitcast=True))


@pytest.mark.usefixtures("permissive")
@pytest.mark.parametrize("worth", [0.0, 1e9], ids=["better code", "quick code"])
def test_what_stands_for_elements_that_are_not_loaded_is_arithmetic_too(worth, monkeypatch):
    monkeypatch.setattr(kernels, "WORTH_BETTER_CODE", worth)
    x = torch.full((16,), OTHER, dtype=torch.int32)
    for _ in range(3):
        out = torch.zeros(16, dtype=torch.int32)
        k_other[(1,)](x.view(torch.float32), out, 5, B=16)
    assert out.tolist() == [OTHER] * 5 + [0x7FC00000] * 11


@triton.jit
def k_extremes(a, b, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    m = i < n
    x = tl.load(a + i, mask=m, other=0.0)
    y = tl.load(b + i, mask=m, other=0.0)
    tl.store(o + i, tl.maximum(x, y), mask=m)
    tl.store(o + 8 + i, tl.minimum(x, y), mask=m)


@pytest.mark.usefixtures("permissive")
@pytest.mark.parametrize("worth", [0.0, 1e9], ids=["better code", "quick code"])
def test_of_two_zeros_the_positive_one_is_larger_and_a_nan_is_no_number(worth, monkeypatch):
    monkeypatch.setattr(kernels, "WORTH_BETTER_CODE", worth)
    nan, signalling = float("nan"), torch.tensor(0x7F800001, dtype=torch.int32).view(torch.float32)
    a = torch.tensor([0.0, -0.0, 1.0, nan, 2.0, 3.0, nan, -0.0])
    b = torch.tensor([-0.0, 0.0, nan, 1.0, 3.0, 2.0, nan, -0.0])
    b[2] = signalling
    for _ in range(3):
        out = torch.zeros(16)
        k_extremes[(1,)](a, b, out, 8, B=8)
    for start, wanted in ((0, [0.0, 0.0, 1.0, 1.0, 3.0, 3.0]), (8, [-0.0, -0.0, 1.0, 1.0, 2.0, 2.0])):
        assert [str(x) for x in out[start : start + 6].tolist()] == [str(x) for x in wanted]
        assert out[start + 6].isnan()
        assert str(out[start + 7].item()) == "-0.0"


@triton.jit
def k_window(x, y, o, n, at, R: tl.constexpr):
    i = tl.arange(0, R)[:, None]
    v = tl.load(y + i)
    for turn in range(n):
        v = tl.load(x + at + turn * 4 + i)
    tl.store(o + i, v)


@pytest.mark.usefixtures("pe64")
@pytest.mark.parametrize("at", [0, 1, 4, 8])
def test_a_block_that_lies_in_device_memory_need_not_be_aligned(at):
    x, y = torch.arange(128.0), -torch.arange(64.0)
    out = torch.zeros(64)
    k_window[(1,)](x, y, out, 5, at, R=64)
    assert out.tolist() == x[at + 16 : at + 80].tolist()
