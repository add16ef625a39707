"""What a kernel library costs: a call from Python to its launch, a step of training, enabling 500, `import torch`.

Usage: python benchmarks/library.py [calls] [step] [enable] [import] [--profile PROFILE]

Times are the best of several rounds, so that other load on the machine counts little. `calls` uses the kernels of
tests/library, written by hand for such purposes. `step` trains examples/train_gpt.py on the library that ships, and
says which share of a step's CPU time, of all threads, is spent outside the kernels' runs in the simulator.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 15


def best(call: Callable[[], object], calls: int = 20) -> float:
    """Microseconds of one call, in the best of the rounds."""
    for _ in range(20):
        call()
    times = []
    for _ in range(10 * ROUNDS):  # short ones: some are not interrupted on a busy machine
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        times.append((time.perf_counter() - begin) / calls)
    return min(times) * 1e6


def library_of(folder: Path, kernels: dict[str, str], profile: str) -> None:
    """Write a library of kernels that nobody judged."""
    from bringup.library import Library
    from bringup.library.adding import add_unjudged

    library = Library.create(folder, f"vpe:{profile}")
    for overload, source in kernels.items():
        add_unjudged(library, overload, source, origin="a benchmark")


def calls(profile: str) -> None:
    """Where the time of a call goes, on tensors of 64 elements."""
    sys.path.insert(0, str(ROOT / "tests" / "library"))
    import torch
    from library_kernels import KERNELS

    import bringup
    from bringup.library import _call

    empty = "def wrapper(self, other, *, alpha=1, out):\n    return out\n"
    cpu = torch.randn(64)
    rows: list[tuple[str, float]] = [("CPU ATen: a + b", best(lambda: cpu + cpu))]
    out = torch.empty(64)
    rows.append(("CPU ATen: add(a, b, out=o)", best(lambda: torch.add(cpu, cpu, out=out))))
    with tempfile.TemporaryDirectory() as scratch:
        library_of(Path(scratch) / "empty", {"add.out": empty}, profile)
        with bringup.enable(Path(scratch) / "empty", device=f"vpe:{profile}", unjudged=True, sealed=False):
            a, o = cpu.to("vpe"), torch.empty(64, device="vpe")
            rows.append(("add(a, b, out=o), a wrapper that does nothing", best(lambda: torch.add(a, a, out=o))))
            rows.append(("a + b, a wrapper that does nothing", best(lambda: a + a)))
            values = [a, a, 1, o]
            rows.append(("  of it: signature of the call", best(lambda: _call.signature(values, False))))
            rows.append(("  of it: torch.empty on the device", best(lambda: torch.empty(64, device="vpe"))))
        library_of(Path(scratch) / "real", {"add.out": KERNELS["add.out"]}, profile)
        rows += real_kernel(Path(scratch) / "real", profile, "sealed, its tape kept", sealed=True)
        rows += real_kernel(Path(scratch) / "real", profile, "unsealed, its launches kept", sealed=False)
    for name, micros in rows:
        print(f"{name:<58} {micros:9.1f} us")


def real_kernel(library: Path, profile: str, kept: str, *, sealed: bool) -> list[tuple[str, float]]:
    """A kernel's calls of a kind that is known; unsealed also without what is known."""
    import torch

    import bringup

    with bringup.enable(library, device=f"vpe:{profile}", unjudged=True, sealed=sealed) as enabled:
        a, o = torch.randn(64).to("vpe"), torch.empty(64, device="vpe")
        rows = [(f"add(a, b, out=o), a real kernel, {kept}", best(lambda: torch.add(a, a, out=o)))]
        with no_runs():
            rows.append(("  of it: all but the simulator's run", best(lambda: torch.add(a, a, out=o))))
        if not sealed:
            kernel = enabled._kernels["add.out"][0]
            rows.append(("where nothing is kept: the wrapper, Triton, the run", best(lambda: kernel([a, a, 1, o]))))
        return rows


@contextmanager
def no_runs() -> Iterator[None]:
    """Let launches do everything but run."""
    from bringup.vpe import launch

    run, launch.run = launch.run, lambda *args, **kwargs: None
    try:
        yield
    finally:
        launch.run = run


def step(steps: int = 10) -> None:
    """Which share of a step of the GPT is spent outside kernels, with the library that ships on its own profile."""
    sys.path.insert(0, str(ROOT / "examples"))
    import train_gpt

    import bringup

    for sealed in (True, False):
        with bringup.enable(ROOT / "kernels", "vpe:pe64", sealed=sealed) as enabled:
            train_gpt.train("vpe", 8)  # every kind of call was made, and step sizes were found to be handed on
            before = sum(enabled.calls().values())
            with timed_runs() as inside:
                begin = time.process_time()
                train_gpt.train("vpe", steps)
                whole = time.process_time() - begin
            count = (sum(enabled.calls().values()) - before) / steps
        outside = whole - sum(inside)
        print(
            f"a step of the GPT, {'sealed' if sealed else 'unsealed'}: {whole / steps * 1e3:.0f} ms of CPU time, "
            f"{count:.0f} calls of kernels; {outside / whole:.0%} of it outside their runs, "
            f"{outside / steps / count * 1e6:.0f} us a call"
        )


@contextmanager
def timed_runs() -> Iterator[list[float]]:
    """Collect the CPU seconds of each kernel's run."""
    from bringup.vpe import launch

    seconds: list[float] = []
    run = launch.run

    def timed(*args: object, **kwargs: object) -> object:
        begin = time.process_time()
        try:
            return run(*args, **kwargs)
        finally:
            seconds.append(time.process_time() - begin)

    launch.run = timed
    try:
        yield seconds
    finally:
        launch.run = run


def enable(profile: str, count: int = 500) -> None:
    """Seconds over importing torch, in fresh processes."""
    import torch

    from bringup.library.adding import add_unjudged  # noqa: F401

    names = [n.removeprefix("aten::") for n in sorted(torch._C._dispatch_get_all_op_names()) if n.startswith("aten::")]
    names = [n for n in names if torch._C._dispatch_has_kernel(f"aten::{n}") and "out" in n.partition(".")[2]][:count]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "library"
        library_of(folder, dict.fromkeys(names, "def wrapper(*args, **kwargs):\n    raise RuntimeError\n"), profile)
        for device in (f"vpe:{profile}",):
            code = (
                "import time, torch, json\nbegin = time.perf_counter(); cpu = time.process_time()\n"
                "import bringup\n"
                f"e = bringup.enable({str(folder)!r}, device={device!r}, unjudged=True)\n"
                "print(json.dumps([time.perf_counter() - begin, time.process_time() - cpu, len(e.choice.serving)]))"
            )
            found = [json.loads(python(code)) for _ in range(5)]
            wall, cpu = (min(one[i] for one in found) for i in (0, 1))
            print(f"enable, {found[0][2]} kernels on {device}: {wall:.3f} s over importing torch ({cpu:.3f} s CPU)")


def importing() -> None:
    """What `import torch` takes with and without our entry point, in turns in fresh processes."""
    code = "import time; begin = time.process_time(); import torch; print(time.process_time() - begin)"
    times: dict[str, list[float]] = {"1": [], "0": []}
    for _ in range(ROUNDS):
        for switch, found in times.items():
            found.append(float(python(code, TORCH_DEVICE_BACKEND_AUTOLOAD=switch)))
    for switch, found in times.items():
        word = "with" if switch == "1" else "without"
        print(f"import torch {word} autoload: {min(found):.3f} s of CPU time (median {statistics.median(found):.3f} s)")
    code = (
        "import sys, time, torch\nfrom importlib.metadata import entry_points\n"
        "def like_torch():\n"
        "    backend_extensions = [p for p in entry_points(group='torch.backends') if p.value.startswith('bringup.')]\n"
        "    begin = time.process_time()\n    point = backend_extensions[0].load()\n    point()\n"
        "    return time.process_time() - begin\nprint(like_torch())"
    )
    alone = [float(python(code, TORCH_DEVICE_BACKEND_AUTOLOAD="0")) for _ in range(ROUNDS)]
    print(
        f"our entry point alone: {min(alone) * 1e3:.2f} ms of CPU time (median {statistics.median(alone) * 1e3:.2f} ms)"
    )


def python(code: str, **environment: str) -> str:
    """Run a program in a fresh process; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}, check=True
    )
    return done.stdout


def main() -> None:
    """Run what is asked for, by default all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", choices=["calls", "step", "enable", "import", []])
    parser.add_argument("--profile", default="permissive")
    arguments = parser.parse_args()
    what = arguments.what or ["calls", "step", "enable", "import"]
    if "calls" in what:
        calls(arguments.profile)
    if "step" in what:
        step()
    if "enable" in what:
        enable(arguments.profile)
    if "import" in what:
        importing()


if __name__ == "__main__":
    main()
