"""Whole kernels as people write them for GPUs, unmodified on the profile without limits.

Those of the example run here on tensors in host memory, with other shapes and launches than it has itself; attention
is written with pointers where the example has descriptors.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl

pytestmark = pytest.mark.usefixtures("permissive")


EXAMPLE = Path(__file__).parents[2] / "examples" / "triton_tutorials.py"


@pytest.fixture(scope="module")
def tutorials():
    spec = importlib.util.spec_from_file_location("triton_tutorials", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_persistent_softmax(tutorials):
    x = torch.randn(123, 781)
    o = torch.empty_like(x)
    tutorials.softmax_kernel[(17,)](o, x, x.stride(0), o.stride(0), 123, 781, BLOCK=1024, STAGES=4, num_warps=8)
    torch.testing.assert_close(o, x.softmax(1))


def test_autotuned_grouped_matmul(tutorials):
    a, b = torch.randn(100, 130).half(), torch.randn(130, 77).half()
    wanted = torch.nn.functional.leaky_relu(a.float() @ b.float()).half()
    torch.testing.assert_close(tutorials.matmul(a, b, "leaky_relu"), wanted, atol=1e-2, rtol=1e-2)


def test_layer_norm_forward_and_backward(tutorials):
    rows, n = 50, 200
    leaves = [torch.randn(rows, n), torch.rand(n), torch.rand(n)]
    mine, theirs = ([leaf.clone().requires_grad_() for leaf in leaves] for _ in range(2))
    y = tutorials.LayerNorm.apply(*mine, 1e-5)
    wanted = torch.nn.functional.layer_norm(theirs[0], (n,), *theirs[1:])
    torch.testing.assert_close(y, wanted, rtol=1e-4, atol=1e-5)
    dy = torch.randn(rows, n)
    y.backward(dy)
    wanted.backward(dy)
    for one, other in zip(mine, theirs, strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-4, atol=1e-4)


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
