"""KernelBench's fast_p of kernels in a folder: how many are right, and faster than eager PyTorch and torch.compile.

    python benchmarks/kernelbench.py PROBLEMS KERNELS OUT.jsonl [--target cuda] [--gate 16M] [--timed 256M]
    python benchmarks/kernelbench.py PROBLEMS KERNELS OUT.jsonl --target vpe:pe64 --gate 1M --timed 1M

PROBLEMS is a level's folder, KERNELS a folder of candidates, each named as its problem (`19_ReLU.py`), or a set of
recorded dialogs (`benchmarks/recordings/kernelbench-level1`), of which the last candidates count. A kernel is judged at
sizes that are cut to `--gate` bytes, then measured, judged once more, at those of `--timed` (0: the file's own; the
reference is computed in float64 on the host, so that gigabytes take minutes each). Every result is a line of OUT.jsonl;
the same command goes on with the kernels that it lacks, or that have changed. `--report` only prints.

fast_p is the share of all problems of the folder with a right kernel that is more than p times as fast as the reference
(Ouyang et al., "KernelBench: Can LLMs Write Efficient GPU Kernels?", 2025); p = 0 is the share of right ones. Problems
that cannot be judged, or are vacuous, count as not solved.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from pathlib import Path
from typing import Any

from bringup.candidate import Candidate, parse_module
from bringup.clients.recording import RecordingSet
from bringup.config import JudgeConfig
from bringup.errors import BringupError, FormatError
from bringup.judge import COMPILE, EAGER, Baseline, JobTemplate, Judge, MeasureJob, Timing, open_judge
from bringup.operators import Operator
from bringup.suites import Suite, get_suite
from bringup.targets import get_target

FORMAT = 1
FASTER = (0.0, 0.5, 1.0, 1.5, 2.0)


async def measure(
    judge: Judge,
    template: JobTemplate,
    candidate: Candidate,
    gate: Operator,
    timed: Operator,
    options: argparse.Namespace,
) -> dict[str, Any]:
    """Judge a kernel at the gate's sizes, then measure it at the others."""
    verdict = await judge.judge(template.job(candidate, gate))
    if not verdict.passed:
        return {"verdict": verdict.kind, "summary": verdict.summary[:200], "times": None}
    modelled = get_target(template.target.name).clock == "model"
    job = MeasureJob(
        judge=template.job(candidate, timed, cases={"float32": (0,)}),
        against=() if modelled else (Baseline(name=EAGER), Baseline(name=COMPILE)),
        timing=Timing(seconds=options.seconds),
        diagnose=options.diagnose,
    )
    found = await judge.measure(job)
    line: dict[str, Any] = {
        "verdict": found.verdict.kind, "summary": (found.error or found.verdict.summary)[:200], "device": found.device,
        "times": None,
    }  # fmt: skip
    if found.verdict.passed and found.cases:
        case = found.cases[0]
        line["times"] = {"kernel": case.device.median, **{name: t.median for name, t in case.baselines.items()}}
        line["notes"] = list(case.notes)
        line["bound"] = case.diagnosis.bound if case.diagnosis else None
    return line


def candidates(folder: Path) -> dict[str, Candidate]:
    """Return the kernels of a folder by problem; raises FormatError for a file that holds none."""
    if list(folder.glob("*.jsonl")):
        return RecordingSet(folder).candidates()
    found: dict[str, Candidate] = {}
    for path in sorted(folder.glob("*.py")):
        parsed = parse_module(path.read_text(encoding="utf-8"))
        if not isinstance(parsed, Candidate):
            raise FormatError(f"{path}: {parsed.explanation}")
        found[path.stem] = parsed
    return found


def read(path: Path, target: str) -> dict[str, dict[str, Any]]:
    """Return the last result of each problem; raises SystemExit for a file of something else."""
    found: dict[str, dict[str, Any]] = {}
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines() if path.exists() else (), start=1):
        try:
            line = json.loads(text)
        except ValueError:
            continue  # the last one, of a run that was killed
        if line.get("format") != FORMAT or line["target"] != target:
            raise SystemExit(f"{path}: line {number}: of another format or target; choose another file")
        found[line["problem"]] = line
    return found


async def run(options: argparse.Namespace, gate: Suite, kernels: dict[str, Candidate]) -> None:
    """Measure the kernels that the file lacks until the minutes are over."""
    timed_at = f"?memory={options.timed}" if options.timed != "0" else ""
    timed = get_suite(f"kernelbench:{options.problems}{timed_at}")
    known, deadline = read(options.out, options.target), time.monotonic() + 60 * options.minutes
    template = JobTemplate(options.target, JudgeConfig(case_seconds=120), compiles=False)
    left = [
        name
        for name, candidate in kernels.items()
        if not gate.operator(name).exclusion
        and not timed.operator(name).exclusion
        and known.get(name, {}).get("source") != candidate.digest
    ]
    async with open_judge(options.target, jobs=options.jobs) as judge:
        with options.out.open("a", encoding="utf-8") as out:

            async def work() -> None:
                while left and time.monotonic() < deadline:
                    name = left.pop(0)
                    line = await measure(
                        judge, template, kernels[name], gate.operator(name), timed.operator(name), options
                    )
                    line |= {"format": FORMAT, "problem": name, "target": options.target}
                    line["source"] = kernels[name].digest
                    out.write(json.dumps(line) + "\n")
                    out.flush()
                    print(f"{name:50} {line['verdict']:9} {line['summary'][:80]}", flush=True)

            await asyncio.gather(*(work() for _ in range(options.jobs)))


def report(gate: Suite, found: dict[str, dict[str, Any]]) -> None:
    """Print the table, and why the rest is not in it."""
    names = [operator.name for operator in gate.operators()]
    right = {name: found[name] for name in names if name in found and found[name]["verdict"] == "passed"}
    for name in sorted(right, key=lambda name: int(name.partition("_")[0]) if name[0].isdigit() else 0):
        times = right[name]["times"] or {}
        ratios = [f"{times[b] / times['kernel']:8.2f}" if b in times else f"{'':8}" for b in (EAGER, COMPILE)]
        print(f"{name:48} {times['kernel'] * 1e6:10.1f} us  eager x {ratios[0]}  compile x {ratios[1]}")
    print(f"{'fast_p over ' + str(len(names)) + ' problems':28}" + "".join(f"{f'p = {p:g}':>10}" for p in FASTER))
    for baseline in (EAGER, COMPILE):
        timed = [line["times"] for line in right.values() if line["times"] and baseline in line["times"]]
        if not timed:
            print(f"over {baseline:23} no times beside it")
            continue
        ratios = [times[baseline] / times["kernel"] for times in timed]
        shares = [len(right) if p == 0 else sum(ratio > p for ratio in ratios) for p in FASTER]
        print(f"over {baseline:23}" + "".join(f"{share / len(names):10.0%}" for share in shares))
    print(f"{len(right)} right; not solved:")
    for operator in gate.operators():
        if operator.name not in right:
            line = found.get(operator.name)
            why = operator.exclusion or (f"{line['verdict']}: {line['summary']}" if line else "no kernel was measured")
            print(f"  {operator.name:48} {why[:120]}")


def main() -> None:
    """Measure what is left, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", type=Path, help="folder of a level")
    parser.add_argument("kernels", type=Path, help="folder of candidates, named as their problems")
    parser.add_argument("out", type=Path, help="file of results; goes on where it ends")
    parser.add_argument("--target", default="cuda")
    parser.add_argument("--gate", default="16M", help="bytes that the gate's sizes are cut to")
    parser.add_argument("--timed", default="256M", help="bytes that timed sizes are cut to; 0: the file's own sizes")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--jobs", type=int, default=1, help="kernels judged at once; times are taken one after another")
    parser.add_argument("--seconds", type=float, default=1.0, help="of the repeats of one problem, at most")
    parser.add_argument("--diagnose", action="store_true", help="say what bounds it: takes half a minute each")
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    gate = get_suite(f"kernelbench:{options.problems}?memory={options.gate}")
    known = {operator.name for operator in gate.operators()}
    try:
        kernels = candidates(options.kernels)
    except BringupError as error:
        parser.error(str(error))
    if unknown := [name for name in kernels if name not in known]:
        parser.error(f"{options.kernels}: there is no problem {unknown[0]} in {options.problems}")
    if not options.report:
        why = get_target(options.target).unavailable()
        if why is not None:
            parser.error(f"target {options.target}: {why}")
        asyncio.run(run(options, gate, kernels))
    report(gate, read(options.out, options.target))


if __name__ == "__main__":
    main()
