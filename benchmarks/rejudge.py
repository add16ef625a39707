"""Judge recorded kernels on another target: the last reply of each recorded dialog, on every case of its operator.

    python benchmarks/rejudge.py --target cuda [--recordings vpe-pe64 | --library kernels] [--suite opinfo]
        [--ops GLOBS] [--skip GLOBS] [--jobs N] [--out OUT.jsonl] [--minutes M] [--seed SEED] [--report]

`--library` judges the kernels of a library on disk, on the suite `aten`.

The kernels were accepted on the target of their recording; this says which of them hold elsewhere, on a real GPU say,
and how many cases per second each judge process does there. Nothing is repaired: a failure is a finding; only a launch
option that vpe's compiler alone knows is left out on other targets. With `--out`
every verdict is a line of that file as soon as it is there: a run that is stopped, or whose minutes are over, goes on
with the same command. `--report` prints what the file holds.
"""

from __future__ import annotations

import argparse
import asyncio
import fnmatch
import json
import time
from collections import Counter
from pathlib import Path

from bringup.audit import of_kernels
from bringup.candidate import Candidate
from bringup.clients.recording import RecordingSet, find_set
from bringup.config import JudgeConfig
from bringup.judge import JobTemplate, open_judge
from bringup.library.errors import LibraryError
from bringup.suites import get_suite
from bringup.targets import ported
from bringup.verdict import Verdict


async def main() -> None:
    """Judge and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", required=True)
    parser.add_argument("--recordings", default="vpe-pe64", help="a shipped set, or the path of one")
    parser.add_argument("--library", type=Path, help="a kernel library, in the place of recordings")
    parser.add_argument("--suite", default="opinfo", help="whose operators the set has recorded")
    parser.add_argument("--ops", default="*", help="globs, separated by commas")
    parser.add_argument("--skip", default="", help="globs, separated by commas")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep-going", action="store_true")
    parser.add_argument("--out", type=Path, help="file of verdicts; goes on where it ends")
    parser.add_argument("--minutes", type=float, default=1e6)
    parser.add_argument("--seed", type=int, help="that guards draw with: of a verdict that is to be seen again")
    parser.add_argument("--report", action="store_true", help="judge nothing")
    options = parser.parse_args()
    if options.report and options.out is None:
        parser.error("--report tells of a file: name it with --out")
    suite = get_suite("aten" if options.library else options.suite)
    known, changed = {operator.name for operator in suite.operators()}, 0
    chosen: dict[str, Candidate] = {}
    if options.library:
        try:
            candidates = {one.operator: one.candidate for one in of_kernels(options.library).subjects}
        except LibraryError as error:
            parser.error(f"--library {error}")
    else:
        candidates = RecordingSet(find_set(options.recordings)).candidates()
    for name, candidate in candidates.items():
        if _matches(name, options.ops) and not _matches(name, options.skip):
            if name in known:
                chosen[name] = Candidate(source=ported(candidate.source, options.target))
                changed += chosen[name] != candidate
            else:
                print(f"{name}: the suite of this torch has no such operator")
    if not chosen:
        parser.error("no recorded operator matches --ops and --skip")
    if changed:
        print(f"{changed} name the launch option enable_scatter_stores, which vpe's compiler alone knows: left out")
    verdicts = _read(options.out, options.target, chosen) if options.out else {}
    left = [name for name in chosen if name not in verdicts]
    drawn = {} if options.seed is None else {"fresh_seed": options.seed}
    template = JobTemplate(options.target, JudgeConfig(case_seconds=60, **drawn), compiles=False)
    began, judged = time.perf_counter(), list[Verdict]()
    deadline = began + 60 * options.minutes
    if not options.report:
        async with open_judge(options.target, jobs=options.jobs) as judge:

            async def work() -> None:
                while left and time.perf_counter() < deadline:
                    name = left.pop(0)
                    job = template.job(chosen[name], suite.operator(name), keep_going=options.keep_going)
                    verdict = verdicts[name] = await judge.judge(job)
                    judged.append(verdict)
                    _print(name, verdict)
                    if options.out:
                        _write(options.out, options.target, name, chosen[name], verdict)

            await asyncio.gather(*(work() for _ in range(options.jobs)))
    seconds = time.perf_counter() - began
    if options.report:
        for name, verdict in sorted(verdicts.items()):
            if not verdict.passed:
                _print(name, verdict)
    kinds = Counter(v.kind for v in verdicts.values())
    print(f"{kinds['passed']} of {len(verdicts)} recorded operators pass on {options.target}: {dict(kinds)}")
    if len(verdicts) < len(chosen):
        print(f"{len(chosen) - len(verdicts)} were not judged yet")
    if judged:
        cases = sum(v.cases_passed for v in judged)
        print(
            f"{len(judged)} judged now, {cases} cases passed in {seconds:.0f} s, {cases / seconds:.0f} a second; "
            f"{cases / sum(v.seconds for v in judged):.0f} cases/s per judge process"
        )


def _print(name: str, verdict: Verdict) -> None:
    where = f"{verdict.cases_passed}/{verdict.cases_total}"
    print(f"{name:40} {verdict.kind:10} {where:>9} {verdict.seconds:7.1f} s  {verdict.summary[:110]}", flush=True)
    if not verdict.passed:  # what it takes to see it again: --seed here, --set judge.fresh_seed=SEED elsewhere
        guard, seed = verdict.guard or "none", verdict.environment.fresh_seed
        print(f"{'':40} case {verdict.case or '-'}, guard {guard}, seed {seed}", flush=True)


def _write(out: Path, target: str, name: str, candidate: Candidate, verdict: Verdict) -> None:
    line = {"operator": name, "target": target, "source": candidate.digest, "verdict": verdict.model_dump(mode="json")}
    with out.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def _read(out: Path, target: str, chosen: dict[str, Candidate]) -> dict[str, Verdict]:
    """Return the verdicts of a file on the kernels that are chosen; raises SystemExit for a file of something else."""
    found: dict[str, Verdict] = {}
    for number, text in enumerate(out.read_text(encoding="utf-8").splitlines() if out.exists() else (), start=1):
        try:
            line = json.loads(text)
        except ValueError:
            continue  # the last one, of a run that was killed
        if not isinstance(line, dict) or line.get("target") != target:
            raise SystemExit(f"{out}: line {number}: not a verdict on {target}; choose another file")
        candidate = chosen.get(line["operator"])
        if candidate is not None and candidate.digest == line["source"]:
            found[line["operator"]] = Verdict.model_validate(line["verdict"])
    return found


def _matches(name: str, globs: str) -> bool:
    return any(fnmatch.fnmatchcase(name, glob) for glob in globs.split(","))


if __name__ == "__main__":
    asyncio.run(main())
