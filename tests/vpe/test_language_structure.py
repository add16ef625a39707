"""Shapes and layouts, control flow, calls, pointers in all forms, atomics, printing."""

from __future__ import annotations

import contextlib

import pytest
import torch
import triton
import triton.language as tl
from hypothesis import given, settings
from hypothesis import strategies as st

from bringup.vpe import prints

pytestmark = pytest.mark.usefixtures("permissive")


@triton.jit
def k_layout(x, o, p, q, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, 2 * N))
    a, b = tl.split(tl.reshape(v, (N, 2)))
    tl.store(o + tl.arange(0, 2 * N), tl.interleave(b, a))
    tl.store(p + tl.arange(0, 2)[:, None] * N + tl.arange(0, N)[None, :], tl.trans(tl.join(a, b)))
    tl.store(q + tl.arange(0, 2 * N), tl.cat(b, a, can_reorder=True) + tl.flip(v, 0))


@pytest.mark.parametrize("n", [2, 16, 64])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bfloat16], ids=str)
def test_split_join_cat_flip(n, dtype):
    x = (torch.randn(2 * n) * 10).to(dtype)
    o, p, q = torch.empty_like(x), torch.empty(2, n, dtype=dtype), torch.empty_like(x)
    k_layout[(1,)](x, o, p, q, N=n)
    pairs = x.view(n, 2)
    assert torch.equal(o, pairs.flip(1).reshape(-1))
    assert torch.equal(p, pairs.T)
    assert torch.equal(q, torch.cat([pairs[:, 1], pairs[:, 0]]) + x.flip(0))


@triton.jit
def k_permute(x, o, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    i = tl.arange(0, A)[:, None, None] * (B * C) + tl.arange(0, B)[None, :, None] * C + tl.arange(0, C)[None, None, :]
    v = tl.permute(tl.load(x + i), (2, 0, 1))
    j = tl.arange(0, C)[:, None, None] * (A * B) + tl.arange(0, A)[None, :, None] * B + tl.arange(0, B)[None, None, :]
    tl.store(o + j, v)


@settings(max_examples=15, deadline=None)
@given(a=st.sampled_from([1, 2, 8]), b=st.sampled_from([1, 4, 16]), c=st.sampled_from([1, 2, 32]))
def test_permute(a, b, c):
    x, o = torch.randn(a, b, c), torch.empty(c, a, b)
    k_permute[(1,)](x, o, A=a, B=b, C=c)
    assert torch.equal(o, x.permute(2, 0, 1))


@triton.jit
def k_reshape(x, o, A: tl.constexpr, B: tl.constexpr):
    v = tl.load(x + tl.arange(0, A)[:, None] * B + tl.arange(0, B)[None, :])
    w = tl.reshape(tl.trans(v), (A * B,))
    tl.store(o + tl.arange(0, A * B), w)


@pytest.mark.parametrize(("a", "b"), [(2, 8), (16, 16), (64, 4), (1, 32)])
def test_reshape_of_transposed(a, b):
    x, o = torch.randn(a, b), torch.empty(a * b)
    k_reshape[(1,)](x, o, A=a, B=b)
    assert torch.equal(o, x.T.reshape(-1))


@triton.jit
def k_control(x, o, n, B: tl.constexpr):
    pid = tl.program_id(0)
    if pid >= n:
        return
    i = tl.arange(0, B)
    v = tl.load(x + pid * B + i)
    c = 0
    while (tl.sum(v, 0) > 1.0) & (c < 50):
        v = v * 0.5
        c += 1
    if c > 3:
        v = v + c
    else:
        v = -v
    a, b = v, v * 2
    for _j in range(c):
        a, b = b, a + 1
    tl.store(o + pid * B + i, a + b)


def test_control_flow_with_loop_carried_tensors():
    x = torch.rand(6, 32) * torch.tensor([[1e-3], [1], [10], [100], [1000], [3]])
    o = torch.zeros(6, 32)
    k_control[(6,)](x, o, 5, B=32)
    for p in range(5):
        v, c = x[p].clone(), 0
        while v.sum() > 1.0 and c < 50:
            v, c = v * 0.5, c + 1
        v = v + c if c > 3 else -v
        a, b = v, v * 2
        for _ in range(c):
            a, b = b, a + 1
        torch.testing.assert_close(o[p], a + b)
    assert (o[5] == 0).all()


@triton.jit(noinline=True)
def collatz(n):
    steps = 0
    while n > 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@triton.jit
def k_call(o):
    pid = tl.program_id(0)
    tl.store(o + pid, collatz(pid + 1))


def test_calls_of_noinline_functions():
    o = torch.zeros(20, dtype=torch.int32)
    k_call[(20,)](o)

    def steps(n):
        count = 0
        while n > 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            count += 1
        return count

    assert o.tolist() == [steps(n) for n in range(1, 21)]


@triton.jit
def k_static(o, N: tl.constexpr):
    tl.static_assert(N == 4)
    total = 0
    for j in tl.static_range(N):
        total += j
    for j in tl.range(0, N, 2, num_stages=3):
        total += 10 * j
    for j in range(N, 0, -1):
        total += 100 * j
    tl.store(o, total)


def test_ranges():
    o = torch.zeros(1, dtype=torch.int32)
    k_static[(1,)](o, N=4)
    assert o.item() == 6 + 20 + 1000


@triton.jit
def k_block_pointer(x, o, M, N, BM: tl.constexpr, BN: tl.constexpr):
    p = tl.make_block_ptr(x, (M, N), (N, 1), (0, 0), (BM, BN), (1, 0))
    q = tl.make_block_ptr(o, (M, N), (N, 1), (0, 0), (BM, BN), (1, 0))
    for _j in range(0, tl.cdiv(N, BN)):
        tl.store(q, tl.load(p, boundary_check=(0, 1), padding_option="zero") * 2, boundary_check=(0, 1))
        p = tl.advance(p, (0, BN))
        q = tl.advance(q, (0, BN))


@triton.jit
def k_descriptor(x, o, M, N, BM: tl.constexpr, BN: tl.constexpr):
    p = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN])
    q = tl.make_tensor_descriptor(o, [M, N], [N, 1], [BM, BN])
    for j in range(0, tl.cdiv(N, BN)):
        q.store([0, j * BN], p.load([0, j * BN]) * 2)


@pytest.mark.filterwarnings("ignore:tl.make_block_ptr")
@pytest.mark.parametrize("kernel", [k_block_pointer, k_descriptor])
def test_block_pointers_and_descriptors(kernel):
    x, o = torch.randn(13, 52), torch.empty(13, 52)
    kernel[(1,)](x, o, 13, 52, BM=16, BN=16)
    assert torch.equal(o, x * 2)


@triton.jit
def k_atomic(x, o, index, n, B: tl.constexpr, KIND: tl.constexpr):
    p = tl.program_id(0) * B + tl.arange(0, B)
    m = p < n
    where = o + tl.load(index + p, mask=m, other=0)
    v = tl.load(x + p, mask=m)
    if KIND == "add":
        tl.atomic_add(where, v, mask=m)
    elif KIND == "max":
        tl.atomic_max(where, v, mask=m)
    elif KIND == "min":
        tl.atomic_min(where, v, mask=m)
    elif KIND == "xor":
        tl.atomic_xor(where, v, mask=m)


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.int32, torch.int64, torch.float16, torch.bfloat16], ids=str
)
@pytest.mark.parametrize("kind", ["add", "max", "min", "xor"])
def test_atomics(kind, dtype):
    if kind == "xor" and dtype.is_floating_point:
        pytest.skip("bits of floats")
    if kind in ("max", "min") and dtype in (torch.float16, torch.bfloat16):
        pytest.skip("the front end has atomic max and min for 32 and 64 bits only")
    x, index = torch.randint(-5, 6, (1000,)).to(dtype), torch.randint(0, 10, (1000,))
    o = torch.zeros(10, dtype=dtype)
    k_atomic[(8,)](x, o, index, 1000, B=128, KIND=kind)
    wanted = torch.zeros(10, dtype=dtype)
    if kind == "xor":
        for i, v in zip(index.tolist(), x.tolist(), strict=True):
            wanted[i] = int(wanted[i]) ^ v
    else:
        wanted.scatter_reduce_(0, index, x, {"add": "sum", "max": "amax", "min": "amin"}[kind])
    assert torch.equal(o, wanted)


@triton.jit
def k_lock(lock, total, n):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(total, tl.load(total) + tl.program_id(0))
    tl.atomic_xchg(lock, 0)


def test_spin_lock():
    lock, total = torch.zeros(1, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    k_lock[(50,)](lock, total, 50)
    assert total.item() == sum(range(50))


@triton.jit
def k_print(x, B: tl.constexpr):
    v = tl.load(x + tl.arange(0, B))
    tl.device_print("value", v, tl.program_id(0))


def test_device_print(capfd):
    k_print[(2,)](torch.tensor([1.5, -2.0]), B=2)
    lines = capfd.readouterr().out.splitlines()
    assert "pid (0, 0, 0) idx (1) value: (operand 0) -2.000000" in lines
    assert "pid (1, 0, 0) idx () value: (operand 1) 1" in lines


def test_no_more_is_made_into_text_than_somebody_reads(monkeypatch):
    made = []
    real = prints._lines
    monkeypatch.setattr(prints, "_lines", lambda *given: made.append(1) or real(*given))
    with contextlib.redirect_stdout(prints.Beginning(200)) as out:
        k_print[(500,)](torch.tensor([1.5, -2.0]), B=2)
        k_print[(500,)](torch.tensor([1.5, -2.0]), B=2)
    assert 200 <= len(out.getvalue()) < 400
    assert out.getvalue().startswith("pid (0, 0, 0) idx (0) value: (operand 0) 1.500000\n")
    assert len(made) < 5


@triton.jit
def k_modulo(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.load(x + (i * 3) % n))


def test_gather_load():
    x, o = torch.randn(10), torch.empty(64)
    k_modulo[(1,)](x, o, 10, B=64)
    assert torch.equal(o, x[(torch.arange(64) * 3) % 10])


@triton.jit
def k_shift(x, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    tl.store(x + i + 1, v)


def test_all_loads_happen_before_the_store():
    x = torch.arange(65.0)
    k_shift[(1,)](x, B=64)
    assert x.tolist() == [0.0, *range(64)]


@triton.jit
def k_bool(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    tl.store(o + i, (~v) & (i % 2 == 0))


def test_bool_tensors():
    x = torch.rand(64) > 0.5
    o = torch.empty(64, dtype=torch.bool)
    k_bool[(1,)](x, o, B=64)
    assert torch.equal(o, ~x & (torch.arange(64) % 2 == 0))


@triton.jit
def k_grid(o, X, Y):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    tl.store(o + (z * Y + y) * X + x, x + 10 * y + 100 * z + 1000 * tl.num_programs(2))


def test_three_grid_axes():
    o = torch.zeros(2, 3, 4, dtype=torch.int32)
    k_grid[(4, 3, 2)](o, 4, 3)
    z, y, x = torch.meshgrid(torch.arange(2), torch.arange(3), torch.arange(4), indexing="ij")
    assert torch.equal(o.long(), x + 10 * y + 100 * z + 2000)
