"""What the parameter tuner finds in recorded kernels, and how many of its proposals are still right.

    python benchmarks/tuner_space.py [--target vpe:pe64] [--recordings vpe-pe64] [--ops GLOBS] [--proposals 4]

Of each kernel: the parameters that its source leaves open, and so many proposals, drawn over the whole space, through
the linter and the judge on the first cases of each dtype (`--cases`, evenly spread). `--proposals 0` only looks.
"""

from __future__ import annotations

import argparse
import asyncio
import fnmatch
import random
import time
from collections import Counter

from bringup.candidate import Candidate
from bringup.clients.recording import RecordingSet, find_set
from bringup.config import JudgeConfig
from bringup.judge import JobTemplate, Judge, open_judge
from bringup.linter import lint
from bringup.operators import Operator
from bringup.search.parameters import Choice, Space, apply, freedom_of, space
from bringup.suites import get_suite
from bringup.targets import get_target


def draw(found: Space, generator: random.Random) -> Choice:
    """Return a choice of one to three parameters at random."""
    some = generator.sample(found.parameters, min(generator.randint(1, 3), len(found.parameters)))
    return found.choice({p.name: generator.choice([c for c in p.choices if c != p.present]) for p in some})


async def outcome(judge: Judge, template: JobTemplate, operator: Operator, source: str, cases: int) -> str:
    """Return what becomes of a candidate: "lint", or the verdict's kind with its first line."""
    dialect = get_target(template.target.name).dialect()
    if violations := lint(Candidate(source=source), dialect, operator):
        return f"lint: {violations[0].message}"
    spread = {
        dtype: tuple(sorted({count * i // cases for i in range(cases)}))
        for dtype, count in operator.case_counts.items()
    }
    verdict = await judge.judge(template.job(Candidate(source=source), operator, cases=spread))
    return verdict.kind if verdict.passed else f"{verdict.kind}: {verdict.summary.splitlines()[0][:100]}"


async def main() -> None:
    """Look, draw, judge, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="vpe:pe64")
    parser.add_argument("--recordings", default="vpe-pe64", help="a shipped set, or the path of one")
    parser.add_argument("--ops", default="*", help="globs, separated by commas")
    parser.add_argument("--proposals", type=int, default=4)
    parser.add_argument("--cases", type=int, default=3, help="of each dtype")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    suite, freedom = get_suite("opinfo"), freedom_of(get_target(options.target))
    chosen = {
        name: candidate.source
        for name, candidate in RecordingSet(find_set(options.recordings)).candidates().items()
        if any(fnmatch.fnmatchcase(name, glob) for glob in options.ops.split(","))
    }
    spaces = {name: space(source, freedom) for name, source in chosen.items()}
    kinds = Counter(kind for found in spaces.values() for kind in {p.kind for p in found.parameters})
    filled = [name for name, found in spaces.items() if found.parameters]
    print(f"{len(filled)} of {len(spaces)} kernels leave something open; kernels with {dict(kinds)}")
    print(f"nothing in {', '.join(name for name in spaces if name not in filled)}")
    outcomes: Counter[str] = Counter()
    template = JobTemplate(options.target, JudgeConfig(case_seconds=60), compiles=False)
    limit = asyncio.Semaphore(options.jobs)
    async with open_judge(options.target, jobs=options.jobs) as judge:

        async def one(name: str) -> None:
            generator = random.Random(name)
            found, operator = spaces[name], suite.operator(name)
            choices = [draw(found, generator) for _ in range(options.proposals)]
            for choice in choices:
                async with limit:
                    began = time.perf_counter()
                    what = await outcome(judge, template, operator, apply(chosen[name], choice), options.cases)
                outcomes[what.split(":")[0]] += 1
                print(f"{name:36} {time.perf_counter() - began:5.1f} s  {choice!s:60} {what}", flush=True)

        await asyncio.gather(*(one(name) for name in filled if options.proposals))
    if total := sum(outcomes.values()):
        print(f"{total} proposals: {dict(outcomes)}; {outcomes['passed'] / total:.0%} still right")


if __name__ == "__main__":
    asyncio.run(main())
