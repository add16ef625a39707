"""vpe against Triton's interpreter and PyTorch on the CPU: the same kernels, medians and ratios in one run.

    python benchmarks/vpe_kernels.py [--json] [--repeat 15]

Also measures what poison checks and race detection cost, compilation, and the overhead of a launch.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import torch
import triton
import triton.language as tl

torch.manual_seed(0)


@triton.jit
def vector_add(x, y, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def softmax(x, o, stride, n, B: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, B)
    v = tl.load(x + r * stride + i, mask=i < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(o + r * stride + i, e / tl.sum(e, 0), mask=i < n)


@triton.jit
def layer_norm(x, w, b, o, n, eps, B: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, B)
    v = tl.load(x + r * n + i, mask=i < n, other=0.0)
    mean = tl.sum(v, 0) / n
    d = tl.where(i < n, v - mean, 0.0)
    rstd = tl.rsqrt(tl.sum(d * d, 0) / n + eps)
    y = d * rstd * tl.load(w + i, mask=i < n) + tl.load(b + i, mask=i < n)
    tl.store(o + r * n + i, y, mask=i < n)


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    om = tl.program_id(0) * BM + tl.arange(0, BM)
    on = tl.program_id(1) * BN + tl.arange(0, BN)
    ok = tl.arange(0, BK)
    ap = a + om[:, None] * K + ok[None, :]
    bp = b + ok[:, None] * N + on[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for _k in range(0, K, BK):
        acc = tl.dot(tl.load(ap), tl.load(bp), acc)
        ap += BK
        bp += BK * N
    tl.store(c + om[:, None] * N + on[None, :], acc)


@triton.jit
def gather(x, index, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    at = tl.load(index + i, mask=i < n, other=0)
    tl.store(o + i, tl.load(x + at, mask=i < n), mask=i < n)


@triton.jit
def cumsum(x, o, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(o + i, tl.cumsum(tl.load(x + i), 0))


@triton.jit
def transpose(x, o, M, N, B: tl.constexpr):
    r = tl.program_id(0) * B + tl.arange(0, B)
    c = tl.program_id(1) * B + tl.arange(0, B)
    tl.store(o + c[:, None] * M + r[None, :], tl.trans(tl.load(x + r[:, None] * N + c[None, :])))


@triton.jit
def sort(x, o, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(o + i, tl.sort(tl.load(x + i)))


def cases() -> dict[str, tuple[Callable[[], Any], Callable[[], Any], Callable[[], Any], bool]]:
    """Name -> (launch, reference, result, memory-bound)."""
    n = 1 << 20
    x, y, o = torch.randn(n), torch.randn(n), torch.empty(n)
    m = torch.randn(1024, 1024)
    mo = torch.empty_like(m)
    w, b = torch.randn(1024), torch.randn(1024)
    a1, a2, a3 = torch.randn(256, 256), torch.randn(256, 256), torch.empty(256, 256)
    index, small = torch.randint(0, n, (n,), dtype=torch.int32), torch.randn(64, 512)
    long_index = index.long()
    so = torch.empty_like(small)
    go, co, to, sm = torch.empty(n), torch.empty_like(m), torch.empty_like(m), torch.empty_like(m)
    return {
        "vector add 2^20": (lambda: vector_add[(1024,)](x, y, o, n, B=1024), lambda: x + y, lambda: o, True),
        "softmax 1024x1024": (lambda: softmax[(1024,)](m, sm, 1024, 1024, B=1024), lambda: m.softmax(1),
        lambda: sm, True),
        "layer norm 1024x1024": (
            lambda: layer_norm[(1024,)](m, w, b, mo, 1024, 1e-5, B=1024),
            lambda: torch.nn.functional.layer_norm(m, (1024,), w, b), lambda: mo, True,
        ),
        "matmul 256^3": (
            lambda: matmul[(4, 4)](a1, a2, a3, 256, 256, 256, BM=64, BN=64, BK=32), lambda: a1 @ a2, lambda: a3, False,
        ),
        "gather 2^20": (lambda: gather[(1024,)](x, index, go, n, B=1024), lambda: x[long_index], lambda: go, True),
        "cumsum 1024x1024": (lambda: cumsum[(1024,)](m, co, N=1024), lambda: m.cumsum(1), lambda: co, True),
        "transpose 1024x1024": (
            lambda: transpose[(16, 16)](m, to, 1024, 1024, B=64), m.T.contiguous, lambda: to, True,
        ),
        "sort 64x512": (lambda: sort[(64,)](small, so, N=512), lambda: small.sort(1)[0], lambda: so, False),
    }  # fmt: skip


def median(call: Callable[[], Any], repeat: int) -> float:
    call()
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def interpreter(repeat: int) -> dict[str, float]:
    """The same kernels in a process of the interpreter (it is chosen when a kernel is defined)."""
    env = {**os.environ, "TRITON_INTERPRET": "1"}
    command = [sys.executable, __file__, "--child", "--repeat", str(repeat)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(json.dumps({name: median(launch, args.repeat) for name, (launch, *_) in cases().items()}))
        return
    with tempfile.TemporaryDirectory() as folder:
        os.environ["BRINGUP_VPE_CACHE"] = os.path.join(folder, "objects")
        os.environ["TRITON_CACHE_DIR"] = os.path.join(folder, "triton")
        report = measure(args.repeat)
    if args.json:
        print(json.dumps(report, indent=1))
        return
    print(
        f"{'kernel':24}{'vpe ms':>9}{'torch ms':>10}{'/torch':>8}{'interp ms':>11}"
        f"{'speed-up':>10}{'first ms':>10}{'race ms':>9}"
    )
    for row in report["kernels"]:
        print(
            f"{row['name']:24}{row['vpe_ms']:9.3f}{row['torch_ms']:10.3f}{row['vpe_ms'] / row['torch_ms']:8.2f}"
            f"{row['interpreter_ms']:11.1f}{row['speedup']:10.0f}{row['first_ms']:10.1f}{row['race_ms']:9.1f}"
        )
    print(f"geometric mean against the interpreter: {report['geometric_mean']:.0f}x")
    print(f"launch overhead (one program, five arguments): {report['launch_us']:.0f} us")


def measure(repeat: int) -> dict[str, Any]:
    from bringup import vpe
    from bringup.vpe import native

    vpe.activate("permissive")
    native.runtime()
    slow = interpreter(3)
    rows = []
    for name, (launch, reference, result, bound) in cases().items():
        begin = time.perf_counter()
        launch()
        first = time.perf_counter() - begin
        torch.testing.assert_close(result(), reference(), rtol=1e-4, atol=1e-4)
        fast, eager = median(launch, repeat), median(reference, repeat)
        with vpe.launch_mode(race=True):
            race = median(launch, 3)
        rows.append(
            {
                "name": name, "vpe_ms": fast * 1e3, "torch_ms": eager * 1e3, "interpreter_ms": slow[name] * 1e3,
                "speedup": slow[name] / fast, "first_ms": first * 1e3, "race_ms": race * 1e3, "memory_bound": bound,
            }
        )  # fmt: skip
    x = torch.zeros(64)
    overhead = median(lambda: [vector_add[(1,)](x, x, x, 64, B=64) for _ in range(200)], 5) / 200
    mean = math.exp(statistics.fmean(math.log(row["speedup"]) for row in rows))
    return {"kernels": rows, "geometric_mean": mean, "launch_us": overhead * 1e6}


if __name__ == "__main__":
    main()
