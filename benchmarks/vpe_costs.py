"""What vpe itself costs: compiling after Triton's front end, loading from the disk cache, launching, checking.

python benchmarks/vpe_costs.py [--repeat 15]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import torch

from vpe_kernels import cases, median, vector_add


def timed(module: Any, name: str, log: dict[str, list[float]]) -> None:
    """Measure every call of a function of a module."""
    function: Callable[..., Any] = getattr(module, name)

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        begin = time.perf_counter()
        result = function(*args, **kwargs)
        log.setdefault(name, []).append(time.perf_counter() - begin)
        return result

    setattr(module, name, wrapper)


def compilation(which: str) -> None:
    """Launch every kernel once in this process and print what compiling or loading took."""
    from bringup import vpe
    from bringup.vpe import compile as compiler
    from bringup.vpe import kernel, native

    vpe.activate("permissive")
    native.runtime()
    log: dict[str, list[float]] = {}
    timed(compiler, "compile_ttir", log)
    timed(kernel, "load", log)
    for launch, *_ in cases().values():
        launch()
    load = log["load"]
    total = [a + b for a, b in zip(log.get("compile_ttir", [0.0] * len(load)), load, strict=True)]
    shown = ", ".join(f"{seconds * 1e3:.1f}" for seconds in total)
    print(f"{which}: median {statistics.median(total) * 1e3:.1f} ms ({shown})")


def running(repeat: int) -> None:
    from bringup import vpe
    from bringup.vpe import device

    device.enable()
    vpe.activate("permissive")
    n = 1 << 20
    x, y, small = (torch.randn(size).to("vpe") for size in (n, n, 64))

    def fresh() -> None:
        o = torch.empty(n, device="vpe")
        vector_add[(1024,)](x, y, o, n, B=1024)

    o = torch.empty(n, device="vpe")
    rows = {"into fresh memory": median(fresh, repeat)}
    with vpe.launch_mode(checks=False):
        rows["into fresh memory, no poison check"] = median(fresh, repeat)
    rows["into written memory"] = median(lambda: vector_add[(1024,)](x, y, o, n, B=1024), repeat)
    with vpe.launch_mode(race=True):
        rows["with race detection"] = median(lambda: vector_add[(1024,)](x, y, o, n, B=1024), 3)
    for name, seconds in rows.items():
        print(f"vector add 2^20 {name}: {seconds * 1e3:.2f} ms")
    overhead = median(lambda: [vector_add[(1,)](small, small, small, 64, B=64) for _ in range(200)], 5) / 200
    print(f"launch of one program: {overhead * 1e6:.0f} us")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child == "running":
        running(args.repeat)
        return
    if args.child:
        compilation(args.child)
        return
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "BRINGUP_VPE_CACHE": f"{folder}/objects", "TRITON_CACHE_DIR": f"{folder}/triton"}
        for part in ("compiled after the front end", "loaded from the disk cache", "running"):
            command = [sys.executable, "-W", "ignore", __file__, "--child", part, "--repeat", str(args.repeat)]
            subprocess.run(command, env=env, check=True)


if __name__ == "__main__":
    main()
