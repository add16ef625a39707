"""vpe against Triton's interpreter and PyTorch on the CPU: the same kernels, medians and ratios in one run.

    python benchmarks/vpe_kernels.py [--json] [--repeat 25] [--threads 1] [--cpu] [--no-interpreter]

Every call makes its result anew, as PyTorch does. Also measures what checks for memory never written and race detection
cost, and the overhead of a launch.
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


Case = tuple[Callable[[], Any], Callable[[], Any], bool]


def cases(where: str) -> dict[str, Case]:
    """Name -> (kernel on a device into a fresh tensor, PyTorch on the CPU, whether memory bounds it)."""
    n = 1 << 20
    host = {
        "x": torch.randn(n), "y": torch.randn(n), "m": torch.randn(1024, 1024), "w": torch.randn(1024),
        "b": torch.randn(1024), "p": torch.randn(256, 256), "q": torch.randn(256, 256), "s": torch.randn(64, 512),
        "i": torch.randint(0, n, (n,), dtype=torch.int32),
    }  # fmt: skip
    hx, hy, hm, hw, hb, hp, hq, hs, hi = host.values()
    x, y, m, w, b, p, q, s, i = (tensor.to(where) for tensor in host.values())
    long_index = hi.long()

    def into(like: Any, launch: Callable[[Any], Any]) -> Callable[[], Any]:
        def run() -> Any:
            o = torch.empty(like.shape, device=where)
            launch(o)
            return o

        return run

    return {
        "vector add 2^20": (into(x, lambda o: vector_add[(1024,)](x, y, o, n, B=1024)), lambda: hx + hy, True),
        "softmax 1024x1024": (
            into(m, lambda o: softmax[(1024,)](m, o, 1024, 1024, B=1024)), lambda: hm.softmax(1), True,
        ),
        "layer norm 1024x1024": (
            into(m, lambda o: layer_norm[(1024,)](m, w, b, o, 1024, 1e-5, B=1024)),
            lambda: torch.nn.functional.layer_norm(hm, (1024,), hw, hb), True,
        ),
        "matmul 256^3": (
            into(p, lambda o: matmul[(4, 4)](p, q, o, 256, 256, 256, BM=64, BN=64, BK=32)), lambda: hp @ hq, False,
        ),
        "gather 2^20": (into(x, lambda o: gather[(1024,)](x, i, o, n, B=1024)), lambda: hx[long_index], True),
        "cumsum 1024x1024": (into(m, lambda o: cumsum[(1024,)](m, o, N=1024)), lambda: hm.cumsum(1), True),
        "transpose 1024x1024": (
            into(m, lambda o: transpose[(16, 16)](m, o, 1024, 1024, B=64)), hm.T.contiguous, True,
        ),
        "sort 64x512": (into(s, lambda o: sort[(64,)](s, o, N=512)), lambda: hs.sort(1)[0], False),
    }  # fmt: skip


clock = time.perf_counter


def interleaved(calls: dict[str, Callable[[], Any]], repeat: int) -> dict[str, list[float]]:
    """Seconds of every call, taken in turns, so that a busy machine is busy for all of them; sorted."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        for _ in range(5):  # also brings kernels to their better code
            call()
    for _ in range(repeat):
        for name, call in calls.items():
            begin = clock()
            call()
            times[name].append(clock() - begin)
    return {name: sorted(values) for name, values in times.items()}


def median(call: Callable[[], Any], repeat: int) -> float:
    """Median seconds of a call after one that does not count."""
    return statistics.median(interleaved({"": call}, repeat)[""])


def once(call: Callable[[], Any]) -> float:
    """Seconds of one call, of the second one if the first was quick."""
    begin = clock()
    call()
    first = clock() - begin
    return first if first > 0.5 else median(call, 3)


def interpreter(cpu: bool) -> dict[str, float]:
    """The same kernels in a process of the interpreter (it is chosen when a kernel is defined)."""
    env = {**os.environ, "TRITON_INTERPRET": "1"}
    command = [sys.executable, __file__, "--child", *(["--cpu"] if cpu else [])]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--repeat", type=int, default=25)
    parser.add_argument("--threads", type=int, help="host threads of vpe and of PyTorch; all by default")
    parser.add_argument("--cpu", action="store_true", help="CPU time on one thread, for a machine that others use")
    parser.add_argument("--no-interpreter", action="store_true", help="it takes minutes, most of them for the sort")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    global clock
    if args.cpu:
        clock, args.threads = time.process_time, 1
    if args.child:
        print(json.dumps({name: once(launch) for name, (launch, *_) in cases("cpu").items()}))
        return
    with tempfile.TemporaryDirectory() as folder:
        os.environ["BRINGUP_VPE_CACHE"] = os.path.join(folder, "objects")
        os.environ["TRITON_CACHE_DIR"] = os.path.join(folder, "triton")
        report = measure(args.repeat, args.threads, not args.no_interpreter, args.cpu)
    if args.json:
        print(json.dumps(report, indent=1))
        return
    print("milliseconds; 'best' of the run beside medians; ratios are vpe with all checks over torch eager")
    print(
        f"{'kernel':22}{'vpe':>8}{'best':>8}{'no checks':>11}{'race':>8}{'torch':>8}{'best':>8}{'ratio':>8}{'best':>7}"
        f"{'interpreter':>13}{'speed-up':>10}"
    )
    for row in report["kernels"]:
        line = (
            f"{row['name']:22}{row['vpe_ms']:8.2f}{row['vpe_best_ms']:8.2f}{row['unchecked_ms']:11.2f}"
            f"{row['race_ms']:8.1f}{row['torch_ms']:8.2f}{row['torch_best_ms']:8.2f}{row['ratio']:8.2f}"
            f"{row['best_ratio']:7.2f}"
        )
        if "speedup" in row:
            line += f"{row['interpreter_ms']:13.1f}{row['speedup']:10.0f}"
        print(line + ("" if row["memory_bound"] else "   (not memory-bound)"))
    if "geometric_mean" in report:
        print(f"geometric mean against the interpreter: {report['geometric_mean']:.0f}x")
    print(f"launch overhead (one program, five arguments): {report['launch_us']:.0f} us")


def measure(repeat: int, threads: int | None, slowly: bool, cpu: bool) -> dict[str, Any]:
    from bringup import vpe
    from bringup.vpe import device, native

    device.enable()
    vpe.activate("permissive")
    native.runtime()
    if threads is not None:
        torch.set_num_threads(threads)
    slow = interpreter(cpu) if slowly else {}
    rows = []
    with vpe.launch_mode(threads=threads):
        for name, (launch, reference, bound) in cases("vpe").items():
            torch.testing.assert_close(launch().cpu(), reference(), rtol=1e-4, atol=1e-4)

            def unchecked(launch: Callable[[], Any] = launch) -> Any:
                with vpe.launch_mode(checks=False):
                    return launch()

            times = interleaved({"vpe": launch, "torch": reference, "unchecked": unchecked}, repeat)
            with vpe.launch_mode(race=True):
                race = median(launch, 3)
            middle = {kind: statistics.median(values) for kind, values in times.items()}
            best = {kind: values[0] for kind, values in times.items()}
            row = {
                "name": name, "memory_bound": bound, "vpe_ms": middle["vpe"] * 1e3, "vpe_best_ms": best["vpe"] * 1e3,
                "torch_ms": middle["torch"] * 1e3, "torch_best_ms": best["torch"] * 1e3,
                "unchecked_ms": middle["unchecked"] * 1e3, "race_ms": race * 1e3,
                "ratio": middle["vpe"] / middle["torch"], "best_ratio": best["vpe"] / best["torch"],
            }  # fmt: skip
            if name in slow:
                row |= {"interpreter_ms": slow[name] * 1e3, "speedup": slow[name] / middle["vpe"]}
            rows.append(row)
        x = torch.zeros(64).to("vpe")
        overhead = median(lambda: [vector_add[(1,)](x, x, x, 64, B=64) for _ in range(200)], 5) / 200
    report: dict[str, Any] = {"kernels": rows, "launch_us": overhead * 1e6}
    if slow:
        report["geometric_mean"] = math.exp(statistics.fmean(math.log(row["speedup"]) for row in rows))
    return report


if __name__ == "__main__":
    main()
