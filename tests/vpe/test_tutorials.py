"""Whole kernels as people write them for GPUs, unmodified on the profile without limits."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl

pytestmark = pytest.mark.usefixtures("permissive")


@triton.jit
def softmax_rows(o, x, stride_o, stride_x, rows, cols, BLOCK: tl.constexpr, num_stages: tl.constexpr):
    first = tl.program_id(0)
    step = tl.num_programs(0)
    for row in tl.range(first, rows, step, num_stages=num_stages):
        at = tl.arange(0, BLOCK)
        mask = at < cols
        v = tl.load(x + row * stride_x + at, mask=mask, other=-float("inf"))
        v = v - tl.max(v, axis=0)
        e = tl.exp(v)
        tl.store(o + row * stride_o + at, e / tl.sum(e, axis=0), mask=mask)


def test_persistent_softmax():
    x = torch.randn(123, 781)
    o = torch.empty_like(x)
    softmax_rows[(17,)](o, x, o.stride(0), x.stride(0), 123, 781, BLOCK=1024, num_stages=4, num_warps=8)
    torch.testing.assert_close(o, x.softmax(1))


@triton.autotune(
    configs=[
        triton.Config({"BM": 64, "BN": 32, "BK": 32, "GROUP": 4}, num_stages=3, num_warps=4),
        triton.Config({"BM": 32, "BN": 64, "BK": 16, "GROUP": 2}, num_stages=4, num_warps=2),
    ],
    key=["M", "N", "K"],
)
@triton.jit
def grouped_matmul(
    a_ptr, b_ptr, c_ptr, M, N, K, sam, sak, sbk, sbn, scm, scn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, ACTIVATION: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(axis=0)
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    in_group = GROUP * tiles_n
    group = pid // in_group
    first_m = group * GROUP
    size = min(tiles_m - first_m, GROUP)
    pid_m = first_m + ((pid % in_group) % size)
    pid_n = (pid % in_group) // size
    rows = (pid_m * BM + tl.arange(0, BM)) % M
    cols = (pid_n * BN + tl.arange(0, BN)) % N
    inner = tl.arange(0, BK)
    a = a_ptr + (rows[:, None] * sam + inner[None, :] * sak)
    b = b_ptr + (inner[:, None] * sbk + cols[None, :] * sbn)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        x = tl.load(a, mask=inner[None, :] < K - k * BK, other=0.0)
        y = tl.load(b, mask=inner[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(x, y, acc)
        a += BK * sak
        b += BK * sbk
    if ACTIVATION == "leaky_relu":
        acc = leaky_relu(acc)
    c = acc.to(tl.float16)
    rows = pid_m * BM + tl.arange(0, BM)
    cols = pid_n * BN + tl.arange(0, BN)
    tl.store(c_ptr + scm * rows[:, None] + scn * cols[None, :], c, mask=(rows[:, None] < M) & (cols[None, :] < N))


@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


def test_autotuned_grouped_matmul():
    m, n, k = 100, 77, 130
    a, b = torch.randn(m, k).half(), torch.randn(k, n).half()
    c = torch.empty(m, n, dtype=torch.float16)

    def grid(meta):
        return (triton.cdiv(m, meta["BM"]) * triton.cdiv(n, meta["BN"]),)

    grouped_matmul[grid](a, b, c, m, n, k, *a.stride(), *b.stride(), *c.stride(), ACTIVATION="leaky_relu")
    wanted = torch.nn.functional.leaky_relu(a.float() @ b.float()).half()
    torch.testing.assert_close(c, wanted, atol=1e-2, rtol=1e-2)


@triton.jit
def norm_forward(x, y, w, b, mean_ptr, rstd_ptr, stride, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    y += row * stride
    x += row * stride
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for off in range(0, n, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        total += tl.load(x + cols, mask=cols < n, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / n
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for off in range(0, n, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        v = tl.load(x + cols, mask=cols < n, other=0.0).to(tl.float32)
        v = tl.where(cols < n, v - mean, 0.0)
        total += v * v
    rstd = 1 / tl.sqrt(tl.sum(total, axis=0) / n + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    for off in range(0, n, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        mask = cols < n
        v = tl.load(x + cols, mask=mask, other=0.0).to(tl.float32)
        tl.store(y + cols, (v - mean) * rstd * tl.load(w + cols, mask=mask) + tl.load(b + cols, mask=mask), mask=mask)


@triton.jit
def norm_backward(dx, dy, dw, db, x, w, mean_ptr, rstd_ptr, lock, stride, n, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x += row * stride
    dy += row * stride
    dx += row * stride
    mine = row % GROUP
    lock += mine
    count = lock + GROUP
    dw = dw + mine * n + cols
    db = db + mine * n + cols
    xs = tl.load(x + cols, mask=mask, other=0).to(tl.float32)
    dys = tl.load(dy + cols, mask=mask, other=0).to(tl.float32)
    ws = tl.load(w + cols, mask=mask).to(tl.float32)
    mean = tl.load(mean_ptr + row)
    rstd = tl.load(rstd_ptr + row)
    xhat = tl.where(mask, (xs - mean) * rstd, 0.0)
    wdy = tl.where(mask, ws * dys, 0.0)
    c1 = tl.sum(xhat * wdy, axis=0) / n
    c2 = tl.sum(wdy, axis=0) / n
    tl.store(dx + cols, (wdy - (xhat * c1 + c2)) * rstd, mask=mask)
    part_w = (dys * xhat).to(ws.dtype)
    part_b = dys.to(ws.dtype)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    seen = tl.load(count)
    if seen == 0:
        tl.atomic_xchg(count, 1)
    else:
        part_w += tl.load(dw, mask=mask)
        part_b += tl.load(db, mask=mask)
    tl.store(dw, part_w, mask=mask)
    tl.store(db, part_b, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


def test_layer_norm_forward_and_backward():
    rows, n, group = 50, 200, 8
    x, dy = torch.randn(rows, n, requires_grad=True), torch.randn(rows, n)
    w, b = torch.rand(n, requires_grad=True), torch.rand(n, requires_grad=True)
    y, mean, rstd = torch.empty(rows, n), torch.empty(rows), torch.empty(rows)
    with torch.no_grad():
        norm_forward[(rows,)](x, y, w, b, mean, rstd, x.stride(0), n, 1e-5, BLOCK=64)
    wanted = torch.nn.functional.layer_norm(x, (n,), w, b)
    torch.testing.assert_close(y, wanted, rtol=1e-4, atol=1e-5)
    wanted.backward(dy)
    dx, locks = torch.empty(rows, n), torch.zeros(2 * group, dtype=torch.int32)
    dw, db = torch.zeros(group, n), torch.zeros(group, n)
    norm_backward[(rows,)](dx, dy, dw, db, x, w, mean, rstd, locks, n, n, GROUP=group, BLOCK=256)
    torch.testing.assert_close(dx, x.grad, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(dw.sum(0), w.grad, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(db.sum(0), b.grad, rtol=1e-4, atol=1e-4)


@triton.jit
def attention(q, k, v, o, scale, stride, n, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr):
    start = tl.program_id(0)
    base = tl.program_id(1) * stride
    rows = start * BM + tl.arange(0, BM)
    cols = tl.arange(0, BN)
    d = tl.arange(0, D)
    queries = tl.load(q + base + rows[:, None] * D + d[None, :])
    top = tl.full([BM], float("-inf"), tl.float32)
    norm = tl.zeros([BM], tl.float32) + 1.0
    acc = tl.zeros([BM, D], tl.float32)
    last = (start + 1) * BM if CAUSAL else n
    for s in range(0, last, BN):
        s = tl.multiple_of(s, BN)
        keys = tl.load(k + base + (s + cols)[:, None] * D + d[None, :])
        scores = tl.dot(queries, tl.trans(keys)) * scale
        if CAUSAL:
            scores = scores + tl.where(rows[:, None] >= (s + cols)[None, :], 0, -1.0e6)
        new_top = tl.maximum(top, tl.max(scores, 1))
        p = tl.math.exp2(scores - new_top[:, None])
        alpha = tl.math.exp2(top - new_top)
        norm = norm * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        values = tl.load(v + base + (s + cols)[:, None] * D + d[None, :])
        acc = tl.dot(p.to(values.dtype), values, acc)
        top = new_top
    tl.store(o + base + rows[:, None] * D + d[None, :], (acc / norm[:, None]).to(o.type.element_ty))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
@pytest.mark.parametrize("causal", [False, True])
def test_fused_attention(dtype, causal):
    q, k, v = (torch.randn(2, 3, 128, 32).to(dtype) for _ in range(3))
    o = torch.empty_like(q)
    scale = 32**-0.5 * 1.4426950408889634
    attention[(2, 6)](q, k, v, o, scale, q.stride(1), 128, D=32, BM=64, BN=32, CAUSAL=causal)
    wanted = torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), v.float(), is_causal=causal)
    torch.testing.assert_close(o.float(), wanted, rtol=2e-3, atol=2e-3 if dtype == torch.float16 else 1e-5)


@triton.jit
def seeded_dropout(x, o, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    v = tl.load(x + at, mask=mask)
    tl.store(o + at, tl.where(tl.rand(seed, at) > p, v / (1 - p), 0.0), mask=mask)


def test_seeded_dropout():
    x = torch.ones(10_000)
    first, second, third = torch.empty(10_000), torch.empty(10_000), torch.empty(10_000)
    for o, seed in ((first, 1), (second, 1), (third, 2)):
        seeded_dropout[(10,)](x, o, 10_000, 0.25, seed, BLOCK=1024)
    assert torch.equal(first, second)
    assert not torch.equal(first, third)
    assert abs(first.mean() - 1) < 0.05
