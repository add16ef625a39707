"""Choose the gate's cases of arguments as no sample has them (`bringup.audit.breadth.ARGUMENTS`), and write the file.

    python scripts/gate_arguments.py --ops 'special.*' --recordings vpe-pe64 --failures FILE

Drawn under the seed of `bringup.audit.breadth`, which is not the audit's: these cases are public, its own stay unseen.
With `--recordings` each case is judged on the recorded kernel: one that it fails is not written but told of, a line of
JSON each, in FILE. Once the kernel is repaired, the same command adds the case. `--even-failing` writes it at once, so
that a session shows the failure: that is how a kernel is repaired (docs/recorded.md).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import sys
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

from bringup.audit.breadth import SEED, arguments_of, write_breadth
from bringup.candidate import Candidate
from bringup.clients.recording import RecordingSet, find_set
from bringup.judge import JobTemplate, JudgeFault, open_judge
from bringup.judge.guards import IDS as GUARDS
from bringup.suites import get_suite, select
from bringup.suites._additions import ARGUMENTS, BREADTH_REASON, Addition, Additions, shipped_additions, write_additions

FILE = Path(__file__).parents[1] / "src" / "bringup" / "suites" / "data" / ARGUMENTS
PATIENCE = 300  # seconds without any answer

Chosen = dict[str, dict[str, list[str]]]  # operator -> dtype -> keys


def choice(task: tuple[str, Sequence[str] | None]) -> tuple[str, dict[str, list[str]]]:
    """Return an operator's name and choice, perhaps of some families alone; one process has one thread."""
    import torch

    name, families = task
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    return name, arguments_of(get_suite("audit").operator(name), families)


def chosen_of(names: list[str], families: Sequence[str] | None, jobs: int) -> Chosen:
    """Return the choice for each operator; PyTorch may bring a process down: its operators are named and left out."""
    found: Chosen = {}
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        results = pool.imap_unordered(choice, [(name, families) for name in names])
        for _ in names:
            try:
                name, keys = results.next(timeout=PATIENCE)
            except multiprocessing.TimeoutError:
                print(f"no answer on {', '.join(sorted(set(names) - set(found)))}: a process died")
                break
            found[name] = keys
    return {name: found[name] for name in names if name in found}


async def failing(chosen: Chosen, kernels: Mapping[str, Candidate], target: str, failures: Path) -> Chosen:
    """Judge the chosen cases; return those that their kernels fail, and tell of each in a line of the file."""
    make = {"seed": SEED, "reason": BREADTH_REASON}
    added = {
        name: {dtype: tuple(Addition(key=key, **make) for key in keys) for dtype, keys in by_dtype.items()}
        for name, by_dtype in chosen.items()
    }
    wrong: Chosen = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "chosen.yaml")
        write_additions(path, Additions(additions={name: found for name, found in added.items() if found}))
        old, new = get_suite("opinfo"), get_suite(f"opinfo:{path}")
        template = JobTemplate(target, compiles=False)
        async with open_judge(target, jobs=1) as judge:
            for name, by_dtype in chosen.items():
                before, operator = old.operator(name), new.operator(name)
                first = {dtype: before.case_counts.get(dtype, 0) for dtype in by_dtype}
                cases = {d: tuple(range(first[d], operator.case_counts[d])) for d in by_dtype}
                cases = {dtype: indices for dtype, indices in cases.items() if indices}
                if not cases:
                    continue
                job = template.job(kernels[name], operator, cases=cases, keep_going=True, without_guards=GUARDS)
                try:
                    verdict = await judge.judge(job)
                except JudgeFault as fault:
                    print(f"{name}: not judged: {fault}")
                    wrong[name] = by_dtype
                    continue
                for failure in verdict.failures:
                    dtype = failure.case.dtype
                    key = by_dtype[dtype][failure.case.index - first[dtype]]
                    wrong.setdefault(name, {}).setdefault(dtype, []).append(key)
                    line = {"operator": name, "dtype": dtype, "key": key, "kind": failure.kind}
                    line |= {"case": failure.title, "what": failure.summary}
                    with failures.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(line) + "\n")
                count = sum(map(len, cases.values()))
                print(f"{name:45} {len(verdict.failures)} of {count} fail, {verdict.seconds:.1f} s", flush=True)
    return wrong


def main() -> int:
    """Choose, judge and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", required=True, help="globs, separated by commas: choose for these")
    parser.add_argument("--family", action="append", help="choose of this family alone; may be repeated")
    parser.add_argument("--recordings", default="vpe-pe64", help="a shipped set, or the path of one")
    parser.add_argument("--target", default="vpe:pe64", help="what the recorded kernels are judged on")
    parser.add_argument("--failures", type=Path, required=True, help="where cases that kernels fail are told of")
    parser.add_argument("--even-failing", action="store_true", help="write cases that the recorded kernels fail, too")
    parser.add_argument("--jobs", type=int, default=1, help="processes that choose")
    options = parser.parse_args()
    gate = get_suite("opinfo")
    kernels = RecordingSet(find_set(options.recordings)).candidates()
    shipped: Chosen = json.loads(FILE.read_text(encoding="utf-8"))["operators"] if FILE.is_file() else {}
    names = [o.name for o in select(gate, options.ops.split(",")) if o.name in kernels]
    if not names:
        parser.error("no recorded operator matches")
    chosen = chosen_of(names, options.family, options.jobs)
    # A case that is there already, in this file or another, must not be added once more.
    there = {
        name: {d: {a.key for a in shipped_additions().of(name, d)} for d in found} for name, found in chosen.items()
    }
    fresh = {
        name: {d: kept for d, keys in found.items() if (kept := [key for key in keys if key not in there[name][d]])}
        for name, found in chosen.items()
    }
    wrong = asyncio.run(failing(fresh, kernels, options.target, options.failures))
    for name, found in fresh.items():
        left = {} if options.even_failing else wrong.get(name, {})
        kept = {d: [k for k in keys if k not in left.get(d, ())] for d, keys in found.items()}
        old = shipped.get(name, {})
        merged = {d: [*old.get(d, ()), *kept.get(d, ())] for d in dict.fromkeys([*old, *kept])}
        shipped[name] = {dtype: keys for dtype, keys in merged.items() if keys}
    order = [operator.name for operator in gate.operators() if operator.exclusion is None]
    written = write_breadth(FILE, {name: shipped[name] for name in order if name in shipped})
    left_out = sum(len(keys) for found in wrong.values() for keys in found.values())
    what = "failed by recorded kernels" if options.even_failing else "left out now"
    print(f"{written} cases of {sum(map(bool, shipped.values()))} operators in {FILE.name}; {left_out} {what}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
