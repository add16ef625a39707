"""What the wall costs: processes ready, commands of the stream, first launches, measured as a candidate meets them.

    python benchmarks/wall.py [--target vpe:pe64] [--rounds 7]

A candidate that is judged like any other holds the clock: it launches, allocates, copies, uploads and reads inside its
guest, and raises its figures as an error. Guests have no clock; these have one, by a switch that is there for tests.
The rule on reads is off, so that it can make commands run and wait for them.
Prints medians over the rounds; each round has a pool of its own, so that device processes are forked anew. `issued` is
what the wrapper waits for, `done` counts until the device has answered.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import statistics
import tempfile

from rich.console import Console
from rich.table import Table

from bringup.candidate import Candidate
from bringup.config import JudgeConfig
from bringup.judge import JobTemplate, Judge, _processes, open_judge
from bringup.suites import get_suite
from bringup.verdict import Verdict

SOURCE = """
import json
import statistics
import time

@triton.jit
def kernel_move(x, y, n, SALT: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n, other=0) + SALT, mask=i < n)

def wrapper(input):
    device, found = input.device, {}
    x, y = (torch.empty(1024, device=device) for _ in range(2))
    wait = x[:1].cpu  # a read makes everything before it run
    large = torch.empty(1 << 18, device=device)
    host, large_host = torch.ones(1024), torch.ones(1 << 18)
    x.copy_(host)

    def launch():
        kernel_move[(1,)](x, y, 1000, SALT=SALT_HERE, BLOCK=1024)

    def piped(name, count, act):
        act()
        wait()
        began = time.perf_counter()
        for _ in range(count):
            act()
        issued = time.perf_counter()
        wait()
        found[name] = [(issued - began) / count * 1e6, (time.perf_counter() - began) / count * 1e6]

    def turns(name, count, act):
        act()
        times = []
        for _ in range(count):
            began = time.perf_counter()
            act()
            times.append(time.perf_counter() - began)
        found[name] = [None, statistics.median(times) * 1e6]

    began = time.perf_counter()
    launch()
    issued = time.perf_counter()
    wait()
    found["first"] = [(issued - began) * 1e6, (time.perf_counter() - began) * 1e6]
    turns("read of 4 bytes: round trip", 1000, wait)
    piped("launch, pipelined", 2000, launch)
    turns("launch and wait", 1000, lambda: (launch(), wait()))
    piped("empty and free", 2000, lambda: torch.empty(1024, device=device))
    piped("view", 2000, lambda: x[1:])
    piped("copy of 4 KB on the device", 1000, lambda: y.copy_(x))
    piped("upload of 4 KB", 500, lambda: y.copy_(host))
    piped("upload of 1 MB", 50, lambda: large.copy_(large_host))
    launch()
    turns("read of 4 KB", 500, y.cpu)
    turns("read of 1 MB", 50, large.cpu)
    raise RuntimeError("FIGURES " + json.dumps(found))
"""
FIGURES = re.compile(r"FIGURES (\{.*\})")
FREE = ("reads", "host-bytes")  # the rules that would end a candidate of this kind
DEVICE, GUEST = "device process: fork until its first answer", "guest: asked for until its candidate is loaded"
FIRST = {
    "unknown": "first launch: unknown kernel",
    "kept": "first launch: kernel of the store",
    "loaded": "first launch: kernel that the device process has loaded",
}


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="vpe:pe64")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    os.environ["BRINGUP_SANDBOX_WITHOUT"] = "clock"
    _processes.PASSED_ENVIRONMENT += ("BRINGUP_SANDBOX_WITHOUT",)
    operator = get_suite("opinfo").operator("exp")
    rows: dict[str, list[tuple[float | None, float]]] = {row: [] for row in (DEVICE, GUEST, *FIRST.values())}

    async def once(pool: Judge, salt: int) -> tuple[Verdict, dict[str, list[float]]]:
        candidate = Candidate(source=SOURCE.replace("SALT_HERE", str(salt)))
        verdict = await pool.judge(template.job(candidate, operator, dtypes=["float32"], cases=[0]))
        figures = FIGURES.search(verdict.exception)
        if figures is None:
            raise SystemExit(f"the measuring candidate ended early: {verdict.kind}: {verdict.summary}")
        rows[GUEST].append((None, verdict.environment.start_ms * 1e3))
        return verdict, json.loads(figures[1])

    with tempfile.TemporaryDirectory() as folder:
        config = JudgeConfig(kernel_cache=folder, without_guards=FREE, compile_for=(), case_seconds=120)
        template = JobTemplate(options.target, config)
        for number in range(options.rounds):
            for name in ("unknown", "kept"):
                async with open_judge(options.target, config) as pool:
                    verdict, figures = await once(pool, number + 1)
                    device = verdict.environment.device_ms * 1e3
                    rows[DEVICE].append((None, device))
                    rows[FIRST[name]].append(tuple(figures["first"]))
                    _, figures = await once(pool, number + 1)
                    rows[FIRST["loaded"]].append(tuple(figures.pop("first")))
                    for row, pair in figures.items():
                        rows.setdefault(row, []).append(tuple(pair))
    table = Table("", "issued", "done")
    for row, pairs in rows.items():
        issued = [one for one, _ in pairs if one is not None]
        table.add_row(
            row, _time(statistics.median(issued)) if issued else "", _time(statistics.median(d for _, d in pairs))
        )
    Console().print(table)
    print(f"{options.target}, medians of {options.rounds} rounds of two pools")


def _time(micros: float) -> str:
    return f"{micros:.1f} µs" if micros < 1000 else f"{micros / 1000:.1f} ms"


if __name__ == "__main__":
    asyncio.run(main())
