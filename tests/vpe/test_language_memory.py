"""Loads and stores: boxes and other masks, scalar conditions, carried offsets, three axes, pointers from memory."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl
from hypothesis import given, settings
from hypothesis import strategies as st

import bringup.vpe as vpe

pytestmark = pytest.mark.usefixtures("permissive")


@triton.jit
def k_box(x, o, a, b, c, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    ia = tl.arange(0, A)[:, None, None]
    ib = tl.arange(0, B)[None, :, None]
    ic = tl.arange(0, C)[None, None, :]
    inside = (ia < a) & (ib < b) & (ic < c) & (ic >= 1)
    v = tl.load(x + (ia * b + ib) * c + ic, mask=inside, other=-1)
    tl.store(o + (ia * B + ib) * C + ic, v)
    tl.store(x + (ia * b + ib) * c + ic, v * 2, mask=inside)


@settings(max_examples=30, deadline=None)
@given(a=st.integers(0, 4), b=st.integers(0, 8), c=st.integers(0, 8))
def test_boxes(a, b, c):
    x = torch.randn(a, b, c)
    before, o = x.clone(), torch.zeros(4, 8, 8)
    k_box[(1,)](x, o, a, b, c, A=4, B=8, C=8)
    wanted = torch.full((4, 8, 8), -1.0)
    wanted[:a, :b, 1:c] = before[:, :, 1:]
    assert torch.equal(o, wanted)
    before[:, :, 1:] *= 2
    assert torch.equal(x, before)


@triton.jit
def k_condition(x, o, n, flag, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i, mask=(i < n) & (flag > 0), other=5.0)
    tl.store(o + i, v, mask=(n > i) & (i > 0))
    tl.store(o + B, tl.load(x + n, mask=flag > 0, other=9.0), mask=n > 2)


@pytest.mark.parametrize("n", [0, 1, 3, 15])
@pytest.mark.parametrize("flag", [0, 1])
def test_scalar_conditions_in_masks(n, flag):
    x, o, wanted = torch.randn(16), torch.zeros(17), torch.zeros(17)
    k_condition[(1,)](x, o, n, flag, B=16)
    wanted[1:n] = x[1:n] if flag else 5.0
    wanted[16] = (x[n] if flag else 9.0) if n > 2 else 0.0
    assert torch.equal(o, wanted)


@triton.jit
def k_holes(x, o, n, B: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)
    tl.store(o + i, tl.load(x + i, mask=(i < n) & (i >= 3) & (i % 2 == 0), other=7), mask=i < n)


@settings(max_examples=20, deadline=None)
@given(n=st.integers(1, 200), block=st.sampled_from([1, 4, 16, 64]))
def test_masks_with_holes(n, block):
    x, o = torch.randn(n), torch.empty(n)
    k_holes[(triton.cdiv(n, block),)](x, o, n, B=block)
    at = torch.arange(n)
    assert torch.equal(o, torch.where((at >= 3) & (at % 2 == 0), x, 7.0))


@triton.jit
def k_carried(x, o, n, B: tl.constexpr):
    offsets = tl.arange(0, B)
    carry = 0.0
    for _k in range(0, n, B):
        v = tl.load(x + offsets, mask=offsets < n, other=0.0)
        tl.store(o + offsets, tl.cumsum(v, 0) + carry, mask=offsets < n)
        carry += tl.sum(v, 0)
        offsets += B


def test_carried_offsets():
    x, o = torch.randn(100), torch.empty(100)
    k_carried[(1,)](x, o, 100, B=16)
    torch.testing.assert_close(o, x.cumsum(0), rtol=1e-4, atol=1e-4)


@triton.jit
def k_strided(x, o, sm, sn, M: tl.constexpr, N: tl.constexpr):
    m = tl.arange(0, M)[:, None]
    n = tl.arange(0, N)[None, :]
    tl.store(o + n * M + m, tl.load(x + m * sm + n * sn))


def test_strides_and_broadcast_views():
    x, o = torch.randn(64, 100)[::2, ::3], torch.empty(32, 32)
    k_strided[(1,)](x, o, *x.stride(), M=32, N=32)
    assert torch.equal(o, x[:32, :32].T)
    x, o = torch.randn(5).expand(32, 5), torch.empty(4, 32)
    k_strided[(1,)](x, o, *x.stride(), M=32, N=4)
    assert torch.equal(o, x[:, :4].T)


@triton.jit
def k_axes(x, o, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, AXIS: tl.constexpr):
    i = tl.arange(0, A)[:, None, None] * B * C + tl.arange(0, B)[None, :, None] * C + tl.arange(0, C)[None, None, :]
    v = tl.load(x + i)
    total, place = tl.sum(v, AXIS), tl.argmax(v, AXIS)
    tl.store(o + i, tl.cumsum(v, AXIS) - tl.expand_dims(total, AXIS) * 0.5 + tl.expand_dims(place, AXIS))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("shape", [(2, 4, 8), (8, 2, 16), (1, 16, 2), (4, 4, 4)], ids=str)
def test_three_axes(shape, axis):
    x, o = torch.randn(shape), torch.empty(shape)
    k_axes[(1,)](x, o, A=shape[0], B=shape[1], C=shape[2], AXIS=axis)
    wanted = x.cumsum(axis) - x.sum(axis, keepdim=True) * 0.5 + x.argmax(axis, keepdim=True)
    torch.testing.assert_close(o, wanted, rtol=1e-4, atol=1e-4)


@triton.jit
def k_pointers(pointers, o, B: tl.constexpr):
    p = tl.load(pointers + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    i = tl.arange(0, B)
    tl.store(o + tl.program_id(0) * B + i, tl.load(p + i))


def test_pointers_read_from_memory_reach_only_arguments():
    a, o = torch.randn(16), torch.empty(1, 16)
    with pytest.raises(vpe.VpeFault, match="out of bounds"):
        k_pointers[(1,)](torch.tensor([a.data_ptr()]), o, B=16)
    k_pointers[(1,)](torch.tensor([o.data_ptr()]), o, B=16)


@triton.jit
def k_wrap(x, big, B: tl.constexpr):
    i = tl.program_id(0) * big + tl.arange(0, B)
    tl.store(x + i, i)


def test_offsets_overflow_as_on_the_chip():
    x = torch.zeros(64, dtype=torch.int32)
    with vpe.launch_mode(threads=1), pytest.raises(vpe.VpeFault) as caught:
        k_wrap[(3,)](x, 1 << 30, B=64)
    assert caught.value.dump["nearest"]["offset"] == 4 << 30


@triton.jit
def k_tuple(parts, o, B: tl.constexpr):
    i = tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    for j in tl.static_range(len(parts)):
        total += tl.load(parts[j] + i)
    tl.store(o + i, total)


def test_tuples_of_tensors():
    parts, o = tuple(torch.randn(16) for _ in range(3)), torch.empty(16)
    k_tuple[(1,)](parts, o, B=16)
    torch.testing.assert_close(o, sum(parts))


@triton.jit
def k_host_descriptor(x, o):
    p = tl.program_id(0)
    o.store([p * 16, 0], x.load([p * 16, 0]) + 1)


def test_descriptors_made_on_the_host():
    from triton.tools.tensor_descriptor import TensorDescriptor

    x, o = torch.randn(50, 32), torch.zeros(50, 32)
    k_host_descriptor[(4,)](TensorDescriptor.from_tensor(x, [16, 32]), TensorDescriptor.from_tensor(o, [16, 32]))
    assert torch.equal(o, x + 1)


@triton.jit
def k_descriptor_gather(x, index, o, B: tl.constexpr):
    d = tl.make_tensor_descriptor(x, [64, 32], [32, 1], [1, 32])
    v = d.gather(tl.load(index + tl.arange(0, B)), 0)
    tl.store(o + tl.arange(0, B)[:, None] * 32 + tl.arange(0, 32)[None, :], v)


def test_descriptor_gather():
    x, index, o = torch.randn(64, 32), torch.randint(0, 64, (16,), dtype=torch.int32), torch.empty(16, 32)
    k_descriptor_gather[(1,)](x, index, o, B=16)
    assert torch.equal(o, x[index.long()])


@triton.jit
def k_overwritten(x, o, n, B: tl.constexpr, HOW: tl.constexpr):
    """Blocks that are used after, or while, their memory is written: a load takes the values of its own time."""
    i = tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=3.0)
    if HOW == "store":
        tl.store(x + i, v * 0 - 1, mask=i < n)
        tl.store(o + i, v * 2)
    elif HOW == "shifted":
        tl.store(x + i + 1, v, mask=i < n - 1)
        tl.store(o + i, tl.load(x + i, mask=i < n, other=3.0) * 2)
    elif HOW == "loop":
        for k in range(3):
            tl.store(x + i, v + k, mask=i < n)
        tl.store(o + i, v * 2)
    elif HOW == "branch":
        if n > 2:
            tl.store(x + i, v * 0, mask=i < n)
        tl.store(o + i, v * 2)
    elif HOW == "atomic":
        tl.atomic_add(x + i, v, mask=i < n)
        tl.store(o + i, v * 2)
    elif HOW == "both":
        w = tl.sum(v, 0)
        tl.store(x + i, v + 1, mask=i < n)
        tl.store(o + i, tl.load(x + i, mask=i < n, other=3.0) - v + w)


@pytest.mark.parametrize("n", [100, 128])
@pytest.mark.parametrize("how", ["store", "shifted", "loop", "branch", "atomic", "both"])
def test_a_block_keeps_the_values_of_its_load(how, n):
    x, o = torch.randn(n), torch.zeros(128)
    seen = torch.full((128,), 3.0)
    seen[:n] = x
    k_overwritten[(1,)](x, o, n, B=128, HOW=how)
    if how == "shifted":
        wanted = seen.clone()
        wanted[1:n] = seen[: n - 1]
        torch.testing.assert_close(o, wanted * 2)
    elif how == "both":
        one = torch.zeros(128)
        one[:n] = 1
        torch.testing.assert_close(o, one + seen.sum(), rtol=1e-5, atol=1e-4)
    else:
        assert torch.equal(o, seen * 2)


@triton.jit
def k_stays(x, w, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    e = tl.exp(v - tl.max(v, 0))
    tl.store(o + i, e / tl.sum(e, 0) * tl.load(w + i, mask=i < n), mask=i < n)


def test_blocks_read_where_they_lie_are_checked_and_counted_as_copied_ones():
    n = 4 * 256 - 60  # three whole blocks, and one that is cut
    x, w, o = torch.randn(n), torch.randn(n), torch.empty(n)
    k_stays[(4,)](x, w, o, n, B=256)
    wanted = torch.cat([part.softmax(0) for part in x.split(256)]) * w
    torch.testing.assert_close(o[: 3 * 256], wanted[: 3 * 256])
    totals = vpe.last_launches(1)[0].totals
    assert totals["bytes_in"] == 2 * 4 * n
    assert totals["bytes_out"] == 4 * n
    assert totals["requests"] == 12
    with pytest.raises(vpe.VpeFault) as caught:
        k_stays[(4,)](x, w, o, 4 * 256, B=256)
    assert caught.value.dump["kind"] == "out_of_bounds"
    assert caught.value.dump["program"] == [3, 0, 0]
