"""The parameter tuner alone over recorded kernels, at three sizes each, beside eager PyTorch and torch.compile.

    python benchmarks/tuner_gpu.py OUT.jsonl [--target cuda] [--ops GLOBS] [--nodes 24] [--minutes 30] [--report]
    python benchmarks/tuner_gpu.py OUT.jsonl --target vpe:pe64 --nodes 8 --ops 'softmax,mm'    # modelled times

Every measurement is a line of OUT.jsonl as soon as it is there: a run that is stopped, or whose minutes are over, goes
on with the same command. `--report` prints the table of what is there and measures nothing. Each kernel is done from
its start to its end by one process, which computes what is right at its sizes once; `--share 0/2` takes every second
one, so that two GPUs do half of them each. Times count beside a passed verdict on the very calls that were timed, of
which the guards that call again are left out; the best choice of each kernel is judged on the operator's whole gate
with all guards at the end, and is set back to the kernel as it was recorded where it fails.
"""

from __future__ import annotations

import argparse
import asyncio
import fnmatch
import json
import time
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

from bringup.candidate import Candidate
from bringup.clients.recording import RecordingSet, find_set
from bringup.config import JudgeConfig
from bringup.judge import COMPILE, EAGER, Baseline, JobTemplate, Judge, Measured, MeasureJob, Timing, open_judge
from bringup.judge.guards import RERUNS
from bringup.operators import Operator
from bringup.search.parameters import Choice, Freedom, Trial, Tuner, apply, freedom_of, space
from bringup.suites import get_suite
from bringup.suites.shaped import ShapedSuite
from bringup.targets import get_target, ported

FORMAT = 2
CALL_AGAIN = tuple(guard.id for guard in RERUNS)  # references and bounds of megabytes anew: the gate has them all
LAST_SECONDS = 100.0  # that are left for the ends of kernels whose search the minutes cut off


def geometric(values: list[float]) -> float:
    """Return the geometric mean; 0 where a value is."""
    return geometric_mean(values) if values and min(values) > 0 else 0.0


class Tuned:
    """One kernel in one dtype, with all that was measured of it."""

    def __init__(self, operator: Operator, dtype: str, cases: tuple[int, ...], source: str, freedom: Freedom) -> None:
        self.operator, self.dtype, self.cases, self.source = operator, dtype, cases, source
        self.space = space(source, freedom)
        self.key = f"{operator.name}[{dtype}]"
        self.lines: list[dict[str, Any]] = []
        self.final: dict[str, Any] | None = None

    @property
    def diagnosed(self) -> bool:
        """Whether it is known which share of the device's ceiling it reaches in the end."""
        return self.final is not None and any(case["share"] is not None for case in self.final["cases"])

    def take(self, line: dict[str, Any]) -> None:
        """Remember a line of the file."""
        if line["what"] == "final":
            self.final = line
        else:
            self.lines.append(line)

    @property
    def start(self) -> dict[str, Any] | None:
        """What the kernel as it was recorded came to."""
        return next((line for line in self.lines if not line["choice"]), None)

    def fitness(self, line: dict[str, Any]) -> float:
        """Return eager's time over the kernel's, else the recorded kernel's modelled time over the kernel's.

        Eager's is what was measured beside the kernel, else beside the recorded one.
        """
        start = self.start
        if not line["cases"] or start is None or not start["cases"]:
            return 0.0
        ratios = []
        for first, own in zip(start["cases"], line["cases"], strict=True):
            eager = own["baselines"].get(EAGER) or first["baselines"].get(EAGER) or first["seconds"]
            ratios.append(eager / own["seconds"])
        return geometric(ratios)

    def best(self) -> dict[str, Any] | None:
        """Return the fittest line; of equal ones the first."""
        return max(self.lines, key=self.fitness, default=None)

    def next(self, nodes: int, patience: int) -> Choice | None:
        """Return the next choice; None where enough were tried, the last `patience` ones were no better than the best
        before them, or the recorded kernel itself does not pass."""
        if self.start is None:
            return Choice()
        if not self.start["cases"] or len(self.lines) > nodes:
            return None
        best = self.best()
        if best is not None and len(self.lines) - self.lines.index(best) > patience:
            return None
        trials = [Trial(choice=Choice(values=line["choice"]), value=self.fitness(line)) for line in self.lines]
        return Tuner(self.space, trials=trials).ask()


class Bench:
    """Measures, and writes down."""

    def __init__(self, options: argparse.Namespace, judge: Judge) -> None:
        self.options, self.judge = options, judge
        self.template = JobTemplate(options.target, JudgeConfig(case_seconds=60), compiles=False)
        self.modelled = get_target(options.target).clock == "model"

    async def measure(self, tuned: Tuned, choice: Choice, what: str) -> dict[str, Any]:
        """Measure a choice and return its line."""
        candidate, began = Candidate(source=apply(tuned.source, choice)), time.monotonic()
        names = [EAGER, COMPILE] if what == "final" else [EAGER] if not choice.values else []
        names = [] if self.modelled else names
        job = MeasureJob(
            judge=self.template.job(
                candidate, tuned.operator, cases={tuned.dtype: tuned.cases}, without_guards=CALL_AGAIN
            ),
            against=tuple(Baseline(name=name) for name in names),
            timing=Timing(repeats=10, seconds=self.options.seconds, rotate=3 if what == "final" else 1),
            diagnose=self.options.diagnose and (what == "final" or not choice.values),
        )
        found = await self.judge.measure(job)
        return {
            "format": FORMAT, "what": what, "key": tuned.key, "source": tuned.space.source, "choice": choice.values,
            "target": self.options.target, "device": found.device, "verdict": found.verdict.kind,
            "summary": (found.error or found.verdict.summary)[:200], "cases": _cases(found),
            "wall": round(time.monotonic() - began, 2), "judged": round(found.verdict.seconds, 2),
            "phases": {name: round(seconds, 2) for name, seconds in found.verdict.environment.phases.items()},
        }  # fmt: skip

    async def finish(self, tuned: Tuned) -> dict[str, Any]:
        """Judge the best choice on the whole gate, and measure it once more beside everything."""
        best = tuned.best()
        choice = Choice(values=best["choice"] if best else {})
        gate = self.template.job(Candidate(source=apply(tuned.source, choice)), tuned.operator)
        cases = {
            dtype: tuple(range(count))
            for dtype, count in get_suite("opinfo").operator(tuned.operator.name).case_counts.items()
        }
        verdict = await self.judge.judge(gate.model_copy(update={"cases": cases}))
        if not verdict.passed:
            choice = Choice()
        return {**await self.measure(tuned, choice, "final"), "gate": verdict.kind}


def _cases(found: Measured) -> list[dict[str, Any]]:
    if not found.verdict.passed or found.error:
        return []
    return [
        {
            "index": one.case.index, "call": one.call, "seconds": one.device.median,
            "host": one.host.median if one.host else None,
            "baselines": {name: times.median for name, times in one.baselines.items()},
            "share": one.diagnosis.share if one.diagnosis else None,
            "bound": one.diagnosis.bound if one.diagnosis else None, "notes": list(one.notes),
        }
        for one in found.cases
    ]  # fmt: skip


def prepared(options: argparse.Namespace) -> list[Tuned]:
    """Return what is to be tuned, with what the file holds already."""
    modelled = get_target(options.target).clock == "model"
    suite = get_suite("shaped:?small=1" if modelled or options.small else "shaped")
    assert isinstance(suite, ShapedSuite)
    freedom = freedom_of(get_target(options.target))
    recorded = RecordingSet(find_set(options.recordings)).candidates()
    sources = {name: ported(candidate.source, options.target) for name, candidate in recorded.items()}
    found: dict[str, Tuned] = {}
    for operator in suite.operators():
        if operator.name in sources and any(fnmatch.fnmatchcase(operator.name, g) for g in options.ops.split(",")):
            for dtype, cases in suite.chosen(operator.name).items():
                one = Tuned(operator, dtype, cases, sources[operator.name], freedom)
                found[one.key] = one
    if options.out.exists():
        for number, text in enumerate(options.out.read_text(encoding="utf-8").splitlines(), start=1):
            try:
                line = json.loads(text)
            except ValueError:
                continue  # the last one, of a run that was killed
            if line.get("format") != FORMAT or line["target"] != options.target:
                raise SystemExit(f"{options.out}: line {number}: of another format or target; choose another file")
            known = found.get(line["key"])
            if known is not None and known.space.source == line["source"]:
                known.take(line)
    number, of = options.share
    return list(found.values())[number::of]


async def run(options: argparse.Namespace, every: list[Tuned]) -> None:
    """Measure until all is done or the minutes are over."""
    deadline = time.monotonic() + 60 * options.minutes
    async with open_judge(options.target, jobs=options.jobs) as judge:
        bench = Bench(options, judge)
        with options.out.open("a", encoding="utf-8") as out:

            def keep(tuned: Tuned, line: dict[str, Any]) -> None:
                tuned.take(line)
                out.write(json.dumps(line) + "\n")
                out.flush()
                words = Choice(values=line["choice"])
                print(f"{tuned.key:36} {line['verdict']:8} {tuned.fitness(line):7.3f}  {words}", flush=True)

            async def work() -> None:
                while left and time.monotonic() < searching:
                    one = left.pop(0)
                    if one.final is not None:
                        final = await bench.measure(one, Choice(values=one.final["choice"]), "final")
                        if final["cases"]:
                            keep(one, {**final, "gate": one.final["gate"]})
                        continue
                    while time.monotonic() < searching:
                        choice = one.next(options.nodes, options.patience)
                        if choice is None:
                            break
                        keep(one, await bench.measure(one, choice, "node"))
                    if one.start is not None and one.start["cases"] and time.monotonic() < deadline:
                        keep(one, await bench.finish(one))

            searching = deadline - min(LAST_SECONDS, 20 * options.minutes)
            left = [one for one in every if one.final is None and (one.start is None or one.start["cases"])]
            left += [one for one in every if options.diagnose and one.final is not None and not one.diagnosed]
            await asyncio.gather(*(work() for _ in range(options.jobs)))


def report(every: list[Tuned]) -> None:
    """Print the table."""
    print(f"{'kernel':36} {'nodes':>5} {'before':>8} {'after':>8} {'compile':>8} {'share':>6}  bound      choice")
    before, after, compiled = [], [], []
    for one in every:
        start, end = one.start, one.final or one.best()
        if start is None or end is None or not start["cases"] or not end["cases"]:
            why = start["summary"] if start else "not measured"
            print(f"{one.key:36} {'':5} {'':8} {'':8} {'':8} {'':6}  {why[:80]}")
            continue
        first, last = one.fitness(start), one.fitness(end)
        before.append(first)
        after.append(last)
        ratios = [case["baselines"][COMPILE] / case["seconds"] for case in end["cases"] if COMPILE in case["baselines"]]
        compiled += [geometric(ratios)] if ratios else []
        shares = [case["share"] for case in end["cases"] if case["share"] is not None]
        share = f"{median(shares):6.0%}" if shares else f"{'':6}"
        ratio = f"{geometric(ratios):8.2f}" if ratios else f"{'':8}"
        bound = str(end["cases"][0]["bound"] or "")
        print(
            f"{one.key:36} {len(one.lines) - 1:5} {first:8.3f} {last:8.3f} {ratio} {share}  {bound:9}  "
            f"{Choice(values=end['choice'])}"
        )
    if before:
        print(
            f"{len(before)} kernels: geometric mean {geometric(before):.3f} before, {geometric(after):.3f} after"
            + (f"; {geometric(compiled):.3f} of torch.compile" if compiled else "")
            + f"; at least 0.5: {sum(v >= 0.5 for v in after)}, at least 1: {sum(v >= 1 for v in after)}"
        )


def _share(text: str) -> tuple[int, int]:
    number, _, of = text.partition("/")
    if not (number.isdecimal() and of.isdecimal() and int(number) < int(of)):
        raise argparse.ArgumentTypeError(f"{text!r} is no share; write 0/2 for the first of two")
    return int(number), int(of)


def main() -> None:
    """Measure what is left, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="file of measurements; goes on where it ends")
    parser.add_argument("--target", default="cuda")
    parser.add_argument("--recordings", default="vpe-pe64", help="a shipped set, or the path of one")
    parser.add_argument("--ops", default="*", help="globs, separated by commas")
    parser.add_argument("--nodes", type=int, default=24, help="choices for each kernel and dtype")
    parser.add_argument("--patience", type=int, default=10, help="choices in a row that are no better: enough")
    parser.add_argument(
        "--share", type=_share, default=(0, 1), metavar="I/N", help="every N-th kernel from the I-th on"
    )
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--jobs", type=int, default=1, help="kernels judged at once; times are taken one after another")
    parser.add_argument("--seconds", type=float, default=0.3, help="of the repeats of one call, at most")
    parser.add_argument("--small", action="store_true", help="the small calls, which a modelled chip takes anyway")
    parser.add_argument("--diagnose", action="store_true", help="say what bounds it, of finished kernels too")
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    every = prepared(options)
    if not every:
        parser.error(f"no recorded kernel with chosen sizes matches --ops {options.ops}")
    if not options.report:
        why = get_target(options.target).unavailable()
        if why is not None:
            parser.error(f"target {options.target}: {why}")
        asyncio.run(run(options, every))
    report(every)


if __name__ == "__main__":
    main()
