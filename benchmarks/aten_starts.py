"""How many overloads do the recorded kernels of public operators serve as they are?

    python benchmarks/aten_starts.py [--recordings vpe-pe64] [--target vpe:pe64] [--ops GLOB] [--jobs N]

For each overload of `aten` whose function is a public operator's (`Operator.start`), the recorded kernel of that one is
judged on the overload's whole gate, unchanged: what `bringup run --suite aten --refine-from SET` does before the first
call of a session. Prints one JSON line an overload, and totals by kind of verdict.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import Counter
from pathlib import Path

from bringup.candidate import Candidate
from bringup.config import JudgeConfig, load_config
from bringup.judge import JobTemplate, open_judge
from bringup.runs.starts import starting_kernels
from bringup.suites import get_suite, select


async def measure(recordings: str, target: str, ops: str, jobs: int) -> Counter[str]:
    suite = get_suite("aten")
    chosen = {operator.name: operator for operator in select(suite, ops.split(","))}
    config = load_config(None, {"suite": "aten", "refine_from": recordings})
    kernels = starting_kernels(config, chosen.values(), Path())
    limits = JudgeConfig(case_seconds=30, candidate_seconds=200)
    template, free, kinds = JobTemplate(target, limits), asyncio.Semaphore(jobs), Counter[str]()
    async with open_judge(target, limits, jobs=jobs) as judge:

        async def one(name: str) -> None:
            async with free:
                verdict = await judge.judge(template.job(Candidate(source=kernels[name]), chosen[name]))
            kinds[verdict.kind] += 1
            passed = f"{verdict.cases_passed}/{verdict.cases_total}"
            print(json.dumps([name, chosen[name].start, verdict.kind, passed, verdict.summary[:120]]), flush=True)

        await asyncio.gather(*(one(name) for name in kernels))
    return kinds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recordings", default="vpe-pe64")
    parser.add_argument("--target", default="vpe:pe64")
    parser.add_argument("--ops", default="all")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    kinds = asyncio.run(measure(options.recordings, options.target, options.ops, options.jobs))
    print(f"{kinds['passed']} of {kinds.total()} overloads served as they are; {dict(kinds)}")


if __name__ == "__main__":
    main()
