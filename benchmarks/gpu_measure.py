"""Measuring on a GPU, unattended: first whether it does what it must, then what recorded kernels reach.

python benchmarks/gpu_measure.py [--device 0] [--recordings vpe-pe64] [--ops exp,softmax] [--skip checks|kernels]
                                 [--limit SECONDS]

The checks print a line each; what fails is named again at the end, and is the exit code's reason. The kernels are
those of recorded dialogs, at a few of the suite's own cases in float32 beside eager PyTorch. Without a GPU it says so
and ends with code 3.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import statistics
import sys
import tempfile
import time
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from bringup.candidate import Candidate
from bringup.clients.recording import RecordingSet, find_set
from bringup.config import JudgeConfig
from bringup.judge import COMPILE, EAGER, Baseline, JobTemplate, Judge, Measured, MeasureJob, Timing, open_judge
from bringup.suites import get_suite
from bringup.targets import get_target

EXP = """
@triton.jit
def kernel_exp(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, libdevice.exp(v.to(tl.float32)).to(y.dtype.element_ty), mask=i < n)

def wrapper(input):
    x = input.contiguous()
    dtype = x.dtype if x.dtype.is_floating_point else torch.float32
    y = torch.empty(x.shape, dtype=dtype, device=x.device)
    n = x.numel()
    if n:
        kernel_exp[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)
    return y
"""
MANY = EXP.replace(
    "        kernel_exp[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)",
    "        for _ in range(8):\n            kernel_exp[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)",
)
WILD = EXP.replace("tl.load(x + i, mask=i < n)", "tl.load(x + i + (1 << 40))")
FIRST_CASES = (0, 2, 3)

Check = Callable[["Bench"], Awaitable[str]]


class Bench:
    """A judge on the GPU, and jobs for it."""

    def __init__(self, judge: Judge, target: str) -> None:
        self.judge, self.target = judge, target
        self.template = JobTemplate(target, JudgeConfig(case_seconds=120), compiles=False)
        self.suite = get_suite("opinfo")

    async def measure(
        self, source: str, *against: str | tuple[str, str], op: str = "exp", cases: tuple[int, ...] | None = (3, 4),
        dtypes: tuple[str, ...] = ("float32",), **timing: Any,
    ) -> Measured:  # fmt: skip
        """Measure a candidate; `against`: names, or names with sources."""
        baselines = [Baseline(name=b) if isinstance(b, str) else Baseline(name=b[0], source=b[1]) for b in against]
        chosen = dict.fromkeys(dtypes, cases)
        job = self.template.job(Candidate(source=source), self.suite.operator(op), cases=chosen)
        return await self.judge.measure(MeasureJob(judge=job, against=tuple(baselines), timing=Timing(**timing)))


def wanted(condition: object, text: str) -> None:
    """Fail a check."""
    if not condition:
        raise AssertionError(text)


def passed(measured: Measured) -> Measured:
    """Fail a check whose candidate did not pass, or was not timed."""
    wanted(
        measured.verdict.passed, f"verdict {measured.verdict.kind}: {measured.verdict.summary}\n{measured.verdict.log}"
    )
    wanted(not measured.error, f"error: {measured.error}")
    return measured


async def check_eager(bench: Bench) -> str:
    measured = passed(await bench.measure(EXP, EAGER))
    for case in measured.cases:
        wanted(EAGER in case.baselines, f"no eager time: {case.notes}")
        wanted(1e-7 < case.device.median < 1e-2, f"an odd time: {case.device}")
    return f"speed-up {measured.speedup():.2f}; notes: {[n for c in measured.cases for n in c.notes]}"


async def check_compile(bench: Bench) -> str:
    measured = passed(await bench.measure(EXP, EAGER, COMPILE, cases=(4,)))
    wanted(COMPILE in measured.cases[0].baselines, f"no time of torch.compile: {measured.cases[0].notes}")
    return f"{ {name: f'{t.median * 1e6:.2f} us' for name, t in measured.cases[0].baselines.items()} }"


async def check_itself(bench: Bench) -> str:
    measured = passed(await bench.measure(EXP, ("same", EXP), cases=(4,), seconds=3.0))
    wanted(0.93 < measured.speedup() < 1.07, f"beside itself it has a speed-up of {measured.speedup():.3f}")
    return f"{measured.speedup():.4f}"


async def check_more_work(bench: Bench) -> str:
    measured = passed(await bench.measure(EXP, ("eight times", MANY), cases=(4,), seconds=2.0))
    wanted(measured.speedup() > 3, f"eight launches take only {measured.speedup():.2f} times as long as one")
    return f"{measured.speedup():.2f}x"


async def check_repeatable(bench: Bench) -> str:
    medians = [passed(await bench.measure(EXP, cases=(4,), seconds=2.0)).cases[0].device.median for _ in range(4)]
    spread = (max(medians) - min(medians)) / statistics.median(medians)
    wanted(spread < 0.1, f"four measurements differ by {spread:.1%}: {medians}")
    return f"spread of four measurements {spread:.2%}"


async def check_host(bench: Bench) -> str:
    measured = passed(await bench.measure(EXP, cases=(4,)))
    host = measured.cases[0].host
    wanted(host is not None, f"the wrapper's own time is not known: {measured.cases[0].notes}")
    assert host is not None
    return f"wrapper {host.median * 1e6:.0f} us, device {measured.cases[0].device.median * 1e6:.2f} us"


async def check_health(bench: Bench) -> str:
    measured = passed(await bench.measure(EXP, cases=(4,)))
    missing = [note for note in measured.cases[0].notes if "not known" in note]
    wanted(not missing, f"clocks: {missing}")
    return str(measured.cases[0].notes)


async def check_diagnosis(bench: Bench) -> str:
    measured = passed(await bench.measure(EXP, cases=(4,)))
    found = measured.cases[0].diagnosis
    assert found is not None
    wanted("compiled" in found.profilers, f"no facts of kernels: {found}")
    wanted(found.figures.get("registers"), f"no registers: {found.figures}")
    tools = {"ncu": shutil.which("ncu")}
    late = [one for one in found.missing if not (one.startswith("ncu") and not tools["ncu"])]
    return f"{found.bound}: {found.summary} profilers {found.profilers}; missing {found.missing}" + (
        f"; LOOK AT {late}" if late else ""
    )


async def check_crash(bench: Bench) -> str:
    measured = await bench.measure(WILD, cases=(4,))
    wanted(measured.verdict.kind == "crashed", f"a wild read is {measured.verdict.kind}: {measured.verdict.summary}")
    if shutil.which("compute-sanitizer"):
        wanted("kernel_exp" in measured.verdict.log, f"the sanitizer names no kernel:\n{measured.verdict.log}")
    return measured.verdict.log.strip().splitlines()[0]


async def check_after_crash(bench: Bench) -> str:
    passed(await bench.measure(EXP, cases=(4,)))
    return "the next candidate is measured"


CHECKS: tuple[Check, ...] = (
    check_eager, check_itself, check_more_work, check_repeatable, check_host, check_health, check_diagnosis,
    check_compile, check_crash, check_after_crash,
)  # fmt: skip


async def run_checks(bench: Bench) -> list[str]:
    """Run every check; returns what failed."""
    failed = []
    for check in CHECKS:
        name, began = check.__name__.removeprefix("check_"), time.monotonic()
        try:
            said = await check(bench)
            print(f"ok    {name:12} {time.monotonic() - began:6.1f} s  {said}", flush=True)
        except Exception as error:
            failed.append(f"{name}: {error}")
            print(f"FAIL  {name:12} {time.monotonic() - began:6.1f} s  {error}", flush=True)
            if not isinstance(error, AssertionError):
                traceback.print_exc()
    return failed


async def run_kernels(bench: Bench, ops: list[str], recordings: str, until: float) -> list[str]:
    """Time recorded kernels on their first cases beside eager PyTorch; print a row each and the geometric mean."""
    known = RecordingSet(find_set(recordings)).candidates()
    failed, ratios = [], []
    print(f"\n{len(ops) or len(known)} recorded kernels of {recordings}, at OpInfo's own (small) cases beside eager")
    for name in ops or sorted(known):
        if time.monotonic() > until:
            failed.append(f"kernels: stopped at the limit before {name}")
            break
        operator = bench.suite.operator(name)
        if "float32" not in operator.case_counts:
            continue
        try:
            measured = await bench.measure(known[name].source, EAGER, op=name, cases=FIRST_CASES, seconds=0.2)
        except Exception as error:
            failed.append(f"{name}: {type(error).__name__}: {error}")
            continue
        if not measured.verdict.passed or measured.error:
            failed.append(f"{name}: {measured.error or measured.verdict.summary[:120]}")
            continue
        ratio = measured.speedup(EAGER)
        ratios += [ratio] if ratio else []
        times = ", ".join(f"{case.device.median * 1e6:.2f} us" for case in measured.cases)
        print(f"{name:40} {ratio:6.2f}x  {times}", flush=True)
    if ratios:
        print(f"geometric mean over {len(ratios)} operators: {statistics.geometric_mean(ratios):.3f}x of eager")
    return failed


async def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--recordings", default="vpe-pe64")
    parser.add_argument("--ops", default="")
    parser.add_argument("--skip", choices=("checks", "kernels"), default="")
    parser.add_argument("--limit", type=float, default=540.0, help="Seconds after which no further kernel is begun.")
    given = parser.parse_args()
    until = time.monotonic() + given.limit
    target = f"cuda:{given.device}"
    why = get_target(target).unavailable()
    if why:
        print(f"no GPU to measure on: {why}")
        return 3
    print(json.dumps(get_target(target).facts()))
    failed: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        async with open_judge(target, JudgeConfig(kernel_cache=str(Path(folder, "kernels")))) as judge:
            bench = Bench(judge, target)
            if given.skip != "checks":
                failed += await run_checks(bench)
            if given.skip != "kernels":
                names = [op for op in given.ops.split(",") if op]
                failed += await run_kernels(bench, names, given.recordings, until)
    print(f"\n{len(failed)} failed" if failed else "\nall as it must be")
    for one in failed:
        print(f"  {one}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
