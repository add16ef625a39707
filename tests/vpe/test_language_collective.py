"""Reductions, scans, sorting, dots, gathers, histograms, random numbers."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl

pytestmark = pytest.mark.usefixtures("permissive")
SHAPES = [(4, 8), (32, 64), (1, 16), (16, 1), (2, 128), (64, 4), (8, 2)]


@triton.jit
def k_reduce(x, total, most, least, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, K: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    v = tl.load(x + i)
    k = tl.arange(0, K)
    tl.store(total + k, tl.sum(v, AXIS))
    tl.store(most + k, tl.max(v, AXIS))
    tl.store(least + k, tl.argmin(v, AXIS))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(("m", "n"), SHAPES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int32, torch.int64], ids=str)
def test_reduce(m, n, axis, dtype):
    torch.manual_seed(0)
    x = (torch.randn(m, n) * 10).to(dtype)
    k = n if axis == 0 else m
    total, most = torch.empty(k, dtype=dtype), torch.empty(k, dtype=dtype)
    least = torch.empty(k, dtype=torch.int32)
    k_reduce[(1,)](x, total, most, least, M=m, N=n, AXIS=axis, K=k)
    if dtype.is_floating_point:
        half = dtype == torch.float16
        wanted = x.double().sum(axis).to(dtype)
        torch.testing.assert_close(total, wanted, rtol=3e-3 if half else 1e-5, atol=1e-1 if half else 1e-4)
    else:
        assert torch.equal(total, x.sum(axis).to(dtype))
    assert torch.equal(most, x.max(axis)[0])
    assert torch.equal(x.gather(axis, least.long().unsqueeze(axis)).squeeze(axis), x.min(axis)[0])


def test_argmin_breaks_ties_to_the_left():
    x = torch.zeros(4, 64)
    least = torch.empty(4, dtype=torch.int32)
    k_reduce[(1,)](x, torch.empty(4), torch.empty(4), least, M=4, N=64, AXIS=1, K=4)
    assert least.tolist() == [0, 0, 0, 0]


@triton.jit
def welford(mean1, sq1, n1, mean2, sq2, n2):
    delta = mean2 - mean1
    n = n1 + n2
    w = tl.where(n == 0.0, 0.0, n2 / n)
    return mean1 + delta * w, sq1 + sq2 + delta * delta * n1 * w, n


@triton.jit
def k_welford(x, o, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, K: tl.constexpr):
    v = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    _mean, sq, n = tl.reduce((v, tl.zeros_like(v), tl.zeros_like(v) + 1.0), AXIS, welford)
    tl.store(o + tl.arange(0, K), sq / n)


@pytest.mark.parametrize("axis", [0, 1])
def test_tuple_reduce(axis):
    x = torch.randn(32, 64)
    k = 64 if axis == 0 else 32
    o = torch.empty(k)
    k_welford[(1,)](x, o, M=32, N=64, AXIS=axis, K=k)
    torch.testing.assert_close(o, x.var(axis, correction=0))


@triton.jit
def affine_compose(a1, b1, a2, b2):
    return a1 * a2, a2 * b1 + b2


@triton.jit
def k_compose(a, b, o, p, N: tl.constexpr):
    i = tl.arange(0, N)
    x, y = tl.reduce((tl.load(a + i), tl.load(b + i)), 0, affine_compose)
    tl.store(o, x)
    tl.store(o + 1, y)
    _, s = tl.associative_scan((tl.load(a + i), tl.load(b + i)), 0, affine_compose)
    tl.store(p + i, s)


@triton.jit
def _first(a, b):
    return tl.where(a != 0, a, b)


@triton.jit
def _last_largest(a, i, b, j):
    return tl.where(a > b, a, b), tl.where(a > b, i, j)


@triton.jit
def _first_largest(a, i, b, j):
    take = (a > b) | ((a == b) & (i < j))
    return tl.where(take, a, b), tl.where(take, i, j)


@triton.jit
def kernel_choices(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    tl.store(o, tl.reduce(v, 0, _first))
    _, last = tl.reduce((v, i), 0, _last_largest)
    tl.store(o + 1, last)
    _, first = tl.reduce((v, i), 0, _first_largest)
    tl.store(o + 2, first)


@triton.jit
def _of_many(a, b, c, d, e, f, g, h, i, j):
    take = (a > f) & (b > g) & (c > h) & (d > i) & (e > j)
    for _ in tl.static_range(40):
        take = (take & (a > f)) | (take & (b > g))
    return tl.where(take, a, f), tl.where(take, b, g), tl.where(take, c, h), tl.where(take, d, i), tl.where(take, e, j)


@triton.jit
def kernel_many(x, o, B: tl.constexpr):
    v = tl.load(x + tl.arange(0, B))
    a, _, _, _, _ = tl.reduce((v, v, v, v, v), 0, _of_many)
    tl.store(o, a)


def test_a_choice_of_many_values_is_not_tried_in_all_orders():
    x, o = torch.randperm(64).to(torch.int32), torch.zeros(1, dtype=torch.int32)
    kernel_many[(1,)](x, o, B=64)
    assert o.item() == 63


@pytest.mark.parametrize("places", [(17, 20, 40), (1, 33, 17), (63, 62, 5)])
def test_choices_that_do_not_commute_keep_order(places):
    """Lanes that lie 16 apart are not combined first where it shows."""
    x, o = torch.zeros(64, dtype=torch.int32), torch.zeros(3, dtype=torch.int32)
    for place, value in zip(places, (5, 7, 7), strict=True):
        x[place] = value
    kernel_choices[(1,)](x, o, B=64)
    largest = sorted(places[1:])
    assert o.tolist() == [x[min(places)], largest[1], largest[0]]


def test_combine_that_does_not_commute_keeps_order():
    a, b = torch.rand(64, dtype=torch.float64), torch.randn(64, dtype=torch.float64)
    o, p = torch.empty(2, dtype=torch.float64), torch.empty(64, dtype=torch.float64)
    k_compose[(1,)](a, b, o, p, N=64)
    h, hs = 0.0, []
    for i in range(64):
        h = a[i].item() * h + b[i].item()
        hs.append(h)
    torch.testing.assert_close(o[1].item(), h)
    torch.testing.assert_close(p, torch.tensor(hs, dtype=torch.float64))


@triton.jit
def k_scan(x, o, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr, PROD: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    v = tl.load(x + i)
    if PROD:
        tl.store(o + i, tl.cumprod(v, AXIS, reverse=REVERSE))
    else:
        tl.store(o + i, tl.cumsum(v, AXIS, reverse=REVERSE))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("m", "n"), SHAPES)
def test_scan(m, n, axis, reverse):
    x = torch.randn(m, n)
    for prod in (False, True):
        o = torch.empty(m, n)
        k_scan[(1,)](x, o, M=m, N=n, AXIS=axis, REVERSE=reverse, PROD=prod)
        y = x.flip(axis) if reverse else x
        y = y.cumprod(axis) if prod else y.cumsum(axis)
        torch.testing.assert_close(o, y.flip(axis) if reverse else y, rtol=1e-4, atol=1e-5)


@triton.jit
def k_sort(x, o, p, N: tl.constexpr, K: tl.constexpr, DESCENDING: tl.constexpr):
    r = tl.program_id(0)
    v = tl.load(x + r * N + tl.arange(0, N))
    tl.store(o + r * N + tl.arange(0, N), tl.sort(v, descending=DESCENDING))
    tl.store(p + r * K + tl.arange(0, K), tl.topk(v, K))


@pytest.mark.thinned
@pytest.mark.parametrize("n", [2, 8, 64, 256])
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int32], ids=str)
def test_sort_and_topk(n, descending, dtype):
    x = (torch.randn(3, n) * 100).to(dtype)
    k = max(n // 4, 2)
    o, p = torch.empty_like(x), torch.empty(3, k, dtype=dtype)
    k_sort[(3,)](x, o, p, N=n, K=k, DESCENDING=descending)
    assert torch.equal(o, x.sort(descending=descending)[0])
    assert torch.equal(p, x.topk(k)[0])


@triton.jit
def k_dot(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, ACC: tl.constexpr):
    x = tl.load(a + tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :])
    y = tl.load(b + tl.arange(0, K)[:, None] * N + tl.arange(0, N)[None, :])
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    if ACC:
        acc = tl.load(c + i)
        tl.store(c + i, tl.dot(x, y, acc, out_dtype=acc.dtype))
    else:
        tl.store(c + i, tl.dot(x, y))


@pytest.mark.parametrize(
    ("m", "n", "k"), [(16, 16, 32), (1, 1, 1), (4, 8, 2), (32, 64, 16), (128, 16, 8), (2, 128, 64)]
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int8], ids=str)
@pytest.mark.parametrize("acc", [False, True])
def test_dot(m, n, k, dtype, acc):
    if dtype == torch.int8:
        a, b = torch.randint(-128, 127, (m, k), dtype=dtype), torch.randint(-128, 127, (k, n), dtype=dtype)
        c = torch.ones(m, n, dtype=torch.int32)
        wide, start = torch.int32, c.clone()
    else:
        a, b = torch.randn(m, k).to(dtype), torch.randn(k, n).to(dtype)
        wide = torch.float64 if dtype == torch.float64 else torch.float32
        c = torch.ones(m, n, dtype=wide)
        start = c.clone()
    k_dot[(1,)](a, b, c, M=m, N=n, K=k, ACC=acc)
    wanted = a.to(wide) @ b.to(wide) + (start if acc else 0)
    torch.testing.assert_close(c, wanted.to(wide), rtol=1e-5, atol=1e-4)


@triton.jit
def k_dot3(a, b, c, B: tl.constexpr, M: tl.constexpr):
    z = tl.arange(0, B)[:, None, None]
    i = z * M * M + tl.arange(0, M)[None, :, None] * M + tl.arange(0, M)[None, None, :]
    tl.store(c + i, tl.dot(tl.load(a + i), tl.load(b + i)))


def test_batched_dot():
    a, b, c = torch.randn(4, 16, 16), torch.randn(4, 16, 16), torch.empty(4, 16, 16)
    k_dot3[(1,)](a, b, c, B=4, M=16)
    torch.testing.assert_close(c, a @ b)


@triton.jit
def k_matmul(a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    rows = tl.cdiv(M, BM)
    om = (pid % rows) * BM + tl.arange(0, BM)
    on = (pid // rows) * BN + tl.arange(0, BN)
    ok = tl.arange(0, BK)
    ap = a + om[:, None] * sam + ok[None, :] * sak
    bp = b + ok[:, None] * sbk + on[None, :] * sbn
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        x = tl.load(ap, mask=(om[:, None] < M) & (ok[None, :] < K - k * BK), other=0.0)
        y = tl.load(bp, mask=(ok[:, None] < K - k * BK) & (on[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc)
        ap += BK * sak
        bp += BK * sbk
    tl.store(c + om[:, None] * scm + on[None, :] * scn, acc, mask=(om[:, None] < M) & (on[None, :] < N))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("transposed", [False, True])
def test_blocked_matmul(dtype, transposed):
    a, c = torch.randn(100, 70).to(dtype), torch.empty(100, 90)
    b = torch.randn(90, 70).to(dtype).T if transposed else torch.randn(70, 90).to(dtype)
    k_matmul[(16,)](a, b, c, 100, 90, 70, *a.stride(), *b.stride(), *c.stride(), BM=32, BN=32, BK=16)
    torch.testing.assert_close(c, a.float() @ b.float(), rtol=1e-4, atol=1e-4)


@triton.jit
def k_gather(x, index, o, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(o + i, tl.gather(tl.load(x + i), tl.load(index + i), AXIS))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bfloat16], ids=str)
def test_gather(axis, dtype):
    x = (torch.randn(8, 32) * 9).to(dtype)
    index = torch.randint(0, (8, 32)[axis], (8, 32), dtype=torch.int32)
    o = torch.empty_like(x)
    k_gather[(1,)](x, index, o, M=8, N=32, AXIS=axis)
    assert torch.equal(o, x.gather(axis, index.long()))


def test_no_index_of_a_gather_is_negative():
    """Of 256 bytes each names an element, as on a GPU: TTIR's integers have no sign."""
    x, index, o = torch.randn(1, 256), torch.arange(255, -1, -1, dtype=torch.uint8).view(1, 256), torch.zeros(1, 256)
    k_gather[(1,)](x, index, o, M=1, N=256, AXIS=1)
    assert torch.equal(o, x.flip(1))


@triton.jit
def k_histogram(x, o, N: tl.constexpr, BINS: tl.constexpr):
    tl.store(o + tl.arange(0, BINS), tl.histogram(tl.load(x + tl.arange(0, N)), BINS))


def test_histogram():
    x = torch.randint(0, 16, (256,), dtype=torch.int32)
    o = torch.empty(16, dtype=torch.int32)
    k_histogram[(1,)](x, o, N=256, BINS=16)
    assert torch.equal(o.long(), torch.bincount(x, minlength=16))


@triton.jit
def k_philox(o, p, seed, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.rand(seed, i))
    tl.store(p + i, tl.randn(seed, i))


def test_random_numbers():
    o, p, again = torch.empty(4096), torch.empty(4096), torch.empty(4096)
    k_philox[(1,)](o, p, 42, B=4096)
    k_philox[(1,)](again, torch.empty(4096), 42, B=4096)
    assert torch.equal(o, again)
    assert o.min() >= 0 and o.max() < 1  # noqa: PT018
    assert abs(o.mean() - 0.5) < 0.02
    assert abs(p.std() - 1) < 0.05


def test_philox_matches_the_interpreters_bits():
    # known answer of Philox4x32-10: counter 0, key 0 starts with 6627e8d5
    o = torch.empty(16, dtype=torch.int32)
    k_randint[(1,)](o, B=16)
    assert o[0].item() & 0xFFFFFFFF == 0x6627E8D5


@triton.jit
def k_randint(o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.randint(0, i))


@pytest.mark.parametrize(("dtype", "bins"), [(torch.bool, 2), (torch.uint8, 256), (torch.int8, 256), (torch.int64, 4)])
def test_histogram_of_types_that_count_no_further_than_the_bins(dtype, bins):
    x = torch.randint(0, min(bins, 100), (256,)).to(dtype)
    o = torch.empty(bins, dtype=torch.int32)
    k_histogram[(1,)](x, o, N=256, BINS=bins)
    assert torch.equal(o.long(), torch.bincount(x.long(), minlength=bins))
