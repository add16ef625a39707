"""Judge recorded kernels on another target: the last reply of each recorded dialog, on every case of its operator.

    python benchmarks/rejudge.py --target cuda [--recordings vpe-pe64] [--suite opinfo] [--ops GLOBS] [--skip GLOBS]
        [--jobs N]

The kernels were accepted on the target of their recording; this says which of them hold elsewhere, on a real GPU say,
and how many cases per second each judge process does there. Nothing is repaired: a failure is a finding.
"""

from __future__ import annotations

import argparse
import asyncio
import fnmatch
import json
import time
from collections import Counter
from pathlib import Path

from bringup.candidate import Candidate
from bringup.clients.recording import RecordingSet, find_set
from bringup.config import JudgeConfig
from bringup.judge import JobTemplate, open_judge
from bringup.suites import get_suite
from bringup.verdict import Verdict


async def main() -> None:
    """Judge and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", required=True)
    parser.add_argument("--recordings", default="vpe-pe64", help="a shipped set, or the path of one")
    parser.add_argument("--suite", default="opinfo", help="whose operators the set has recorded")
    parser.add_argument("--ops", default="*", help="globs, separated by commas")
    parser.add_argument("--skip", default="", help="globs, separated by commas")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep-going", action="store_true")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    suite = get_suite(options.suite)
    chosen = {
        name: candidate
        for name, candidate in RecordingSet(find_set(options.recordings)).candidates().items()
        if _matches(name, options.ops) and not _matches(name, options.skip)
    }
    if not chosen:
        parser.error("no recorded operator matches --ops and --skip")
    verdicts: dict[str, Verdict] = {}
    template = JobTemplate(options.target, JudgeConfig(case_seconds=60), compiles=False)
    async with open_judge(options.target, jobs=options.jobs) as judge:
        limit = asyncio.Semaphore(options.jobs)

        async def one(name: str, candidate: Candidate) -> None:
            async with limit:
                job = template.job(candidate, suite.operator(name), keep_going=options.keep_going)
                verdict = await judge.judge(job)
            verdicts[name] = verdict
            where = f"{verdict.cases_passed}/{verdict.cases_total}"
            print(
                f"{name:40} {verdict.kind:10} {where:>9} {verdict.seconds:7.1f} s  {verdict.summary[:110]}", flush=True
            )

        began = time.perf_counter()
        await asyncio.gather(*(one(name, candidate) for name, candidate in chosen.items()))
        seconds = time.perf_counter() - began
    cases = sum(v.cases_passed for v in verdicts.values())
    busy = sum(v.seconds for v in verdicts.values())
    kinds = Counter(v.kind for v in verdicts.values())
    print(f"{kinds['passed']} of {len(verdicts)} recorded operators pass on {options.target}: {dict(kinds)}")
    print(f"{cases} cases passed in {seconds:.0f} s; {cases / busy:.0f} cases/s per judge process")
    if options.out:
        data = {name: v.model_dump(mode="json") for name, v in sorted(verdicts.items())}
        options.out.write_text(json.dumps(data, indent=1), encoding="utf-8")


def _matches(name: str, globs: str) -> bool:
    return any(fnmatch.fnmatchcase(name, glob) for glob in globs.split(","))


if __name__ == "__main__":
    asyncio.run(main())
