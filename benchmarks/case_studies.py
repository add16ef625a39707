"""The KernelEvolve paper's six case studies: kernels of a folder beside eager PyTorch, torch.compile and the paper.

    python benchmarks/case_studies.py KERNELS OUT.jsonl [--problems GLOBS] [--minutes 6] [--nodes 8]
    python benchmarks/case_studies.py KERNELS OUT.jsonl --target vpe:permissive --references cpu --sizes checks
    python benchmarks/case_studies.py KERNELS OUT.jsonl --report

KERNELS has a folder for each problem, with one or more candidates for it (`conv1d/taps.py`). Each candidate is judged
at the problem's small sizes, all guards on, then at each timed size, compared there without the guards that call again,
and timed. The fastest of a size is measured once more, all guards on, beside eager PyTorch and torch.compile: that is
its row of the table; where PyTorch has a faster way round (`examples/case-study-detours`), it is measured beside
that, too. With `--nodes` the parameter tuner then varies, size after size in turns, what the source of the fastest
kernel leaves open; what it finds goes through the same measurement. References of the timed sizes are computed
in float64 on the GPU (`--references cpu`: on the host, minutes each), by the problem's own process.

Every measurement is a line of OUT.jsonl as soon as it is there; the same command goes on with what the file lacks.
`--report` prints the table of what is there.
"""

from __future__ import annotations

import argparse
import asyncio
import fnmatch
import json
import time
from pathlib import Path
from typing import Any

from bringup.candidate import Candidate, digest, parse_module
from bringup.config import JudgeConfig
from bringup.errors import BringupError
from bringup.judge import COMPILE, EAGER, Baseline, JobTemplate, Judge, Measured, MeasureJob, Timing, open_judge
from bringup.judge.guards import RERUNS
from bringup.operators import Operator
from bringup.search.parameters import Choice, Freedom, Trial, Tuner, apply, freedom_of, space
from bringup.suites import get_suite
from bringup.targets import get_target
from bringup.verdict import Verdict

FORMAT = 1
STUDIES = Path(__file__).parents[1] / "examples" / "case-studies"
DETOURS = STUDIES.with_name("case-study-detours")  # another way over PyTorch, as the paper compares with
CALL_AGAIN = tuple(guard.id for guard in RERUNS)  # guards that cost as much as the gate itself
GAIN = 1.02  # of a choice over the kernel as it was, for it to be measured with everything
# KernelEvolve's published speed-ups over PyTorch, by problem and size; two of the problems were measured on MTIA.
PAPER: dict[tuple[str, int], str] = {
    ("conv1d", 0): "2.30", ("conv1d", 1): "0.63", ("optimized_fm", 0): "3.6", ("optimized_fm", 1): "2.1",
    ("pffn", 0): "2.0", ("event_truncation", 0): "1.4-14.5", ("event_truncation", 1): "1.4-14.5",
    ("map_id", 0): "0.8-4.07 (MTIA)", ("map_id", 1): "0.8-4.07 (MTIA)", ("bucketing", 0): "2.3-9.25 (MTIA)",
    ("bucketing", 1): "2.3-9.25 (MTIA)",
}  # fmt: skip


class Study:
    """One problem at one timed size, with all that was measured of it."""

    def __init__(self, operator: Operator, size: int, words: str, kernels: dict[str, str]) -> None:
        self.operator, self.size, self.words, self.kernels = operator, size, words, kernels
        (self.dtype,) = operator.case_counts
        self.key = f"{operator.name}:{size}"
        self.detour: Operator | None = None
        self.lines: list[dict[str, Any]] = []

    def of(self, what: str) -> list[dict[str, Any]]:
        """Return the lines of one kind about kernels that the folder still has."""
        return [
            x for x in self.lines if x["what"] == what and digest(self.kernels.get(x["variant"], "")) == x["source"]
        ]

    def fastest(self, *what: str) -> dict[str, Any] | None:
        """Return the fastest line of these kinds."""
        timed = [line for one in what for line in self.of(one) if line["times"]]
        return min(timed, key=lambda line: float(line["times"]["kernel"]), default=None)


class Bench:
    """Measures, and writes down."""

    def __init__(self, options: argparse.Namespace, judge: Judge, out: Any) -> None:
        self.options, self.judge, self.out = options, judge, out
        config = JudgeConfig(case_seconds=120, memory_mb=options.memory)
        self.template = JobTemplate(options.target, config, compiles=False)
        self.modelled = get_target(options.target).clock == "model"
        self.deadline: float = time.monotonic() + 60 * options.minutes
        self.until: float = self.deadline

    def late(self) -> bool:
        """Whether the minutes, or those of the problem at hand, are over."""
        return time.monotonic() > self.until

    def turn(self, left: int) -> None:
        """Give the next of so many problems half as much again as its share of the time that is left."""
        now = time.monotonic()
        self.until = min(self.deadline, now + 1.5 * max(0.0, self.deadline - now) / left)

    def keep(self, study: Study, line: dict[str, Any], began: float) -> dict[str, Any]:
        """Write a line down and show it."""
        line |= {"format": FORMAT, "key": study.key, "target": self.options.target, "suite": study.operator.suite}
        line["wall"] = round(time.monotonic() - began, 1)
        study.lines.append(line)
        self.out.write(json.dumps(line) + "\n")
        self.out.flush()
        times = " ".join(f"{name} {1e6 * t:.1f}" for name, t in line["times"].items()) + " us" if line["times"] else ""
        words = str(Choice(values=line["choice"])) if line["choice"] else ""
        print(
            f"{line['wall']:6.1f} s  {study.key:20} {line['what']:6} {line['variant']:14} {line['verdict']:8} "
            f"{times or line['summary'][:150]} {words}",
            flush=True,
        )
        return line

    async def measure(self, study: Study, what: str, variant: str, choice: Choice) -> dict[str, Any]:
        """Measure a kernel at a study's size: `screen` and `node` alone, `final` beside PyTorch and with all guards."""
        began, source = time.monotonic(), study.kernels[variant]
        whole = what in {"final", "detour"}
        operator = study.detour if what == "detour" and study.detour else study.operator
        names = (EAGER, COMPILE) if whole and not self.modelled else ()
        job = MeasureJob(
            judge=self.template.job(
                Candidate(source=apply(source, choice)), operator, cases={study.dtype: (study.size,)},
                without_guards=() if what == "final" else CALL_AGAIN,
            ),
            against=tuple(Baseline(name=name) for name in names),
            timing=Timing(repeats=15, seconds=self.options.seconds),
            diagnose=self.options.diagnose and whole,
        )  # fmt: skip
        try:
            found = await self.judge.measure(job)
        except BringupError as error:  # a problem's process that fails, a device that falls off
            found = Measured(verdict=Verdict(kind="untested", summary=str(error)), clock="device")
        line: dict[str, Any] = {
            "what": what, "variant": variant, "source": digest(source), "choice": choice.values, "device": found.device,
            "verdict": found.verdict.kind, "summary": (found.error or found.verdict.summary)[:400], "times": None,
        }  # fmt: skip
        if found.verdict.passed and found.cases:
            case = found.cases[0]
            line["times"] = {"kernel": case.device.median, **{name: t.median for name, t in case.baselines.items()}}
            line["spread"] = [case.device.low, case.device.high]
            line["host"] = case.host.median if case.host else None
            line["notes"] = list(case.notes)
            line["diagnosis"] = case.diagnosis.model_dump(mode="json") if case.diagnosis else None
        return self.keep(study, line, began)

    async def gate(self, study: Study, operator: Operator, variant: str) -> None:
        """Judge a kernel at the problem's small sizes."""
        began, source = time.monotonic(), study.kernels[variant]
        try:
            verdict = await self.judge.judge(self.template.job(Candidate(source=source), operator))
        except BringupError as error:
            verdict = Verdict(kind="untested", summary=str(error))
        line: dict[str, Any] = {
            "what": "gate", "variant": variant, "source": digest(source), "choice": {}, "times": None,
            "verdict": verdict.kind, "summary": verdict.summary[:400],
        }  # fmt: skip
        self.keep(study, line, began)

    async def study(self, study: Study, small: Operator, others: list[Study]) -> None:
        """Do what is missing of a study, up to its row of the table."""
        for variant in study.kernels:
            known = {line["variant"] for one in (study, *others) for line in one.of("gate")}
            if variant not in known and not self.late():
                await self.gate(study, small, variant)
            right = {x["variant"] for one in (study, *others) for x in one.of("gate") if x["verdict"] == "passed"}
            if variant in right and variant not in {x["variant"] for x in study.of("screen")} and not self.late():
                await self.measure(study, "screen", variant, Choice())
        await self.finish(study)

    async def finish(self, study: Study) -> None:
        """Measure the fastest kernel with everything, unless that was done; of those that fail, the next one."""
        while not self.late():
            done = {(x["variant"], str(x["choice"])) for x in study.of("final")}
            open_ = [
                x for what in ("screen", "node") for x in study.of(what)
                if x["times"] and (x["variant"], str(x["choice"])) not in done
            ]  # fmt: skip
            best = min(open_, key=lambda x: float(x["times"]["kernel"]), default=None)
            known = study.fastest("final")
            if best is None or (known is not None and known["times"]["kernel"] < GAIN * best["times"]["kernel"]):
                break
            line = await self.measure(study, "final", best["variant"], Choice(values=best["choice"]))
            if line["times"]:
                break
        best = study.fastest("final")
        if study.detour is None or best is None or self.late():
            return
        if (best["variant"], str(best["choice"])) not in {(x["variant"], str(x["choice"])) for x in study.of("detour")}:
            await self.measure(study, "detour", best["variant"], Choice(values=best["choice"]))

    async def tune(self, study: Study, freedom: Freedom) -> bool:
        """Try one more choice of the parameters of the fastest kernel; False where there is none left to try."""
        start = study.fastest("screen")
        if start is None:
            return False
        nodes = [x for x in study.of("node") if x["variant"] == start["variant"]]
        if len(nodes) >= self.options.nodes:
            return False
        first = float(start["times"]["kernel"])
        trials = [Trial(choice=Choice(), value=1.0)] + [
            Trial(
                choice=Choice(values=x["choice"]),
                value=first / float(x["times"]["kernel"]) if x["times"] else 0.0,
            )
            for x in nodes
        ]
        choice = Tuner(space(study.kernels[start["variant"]], freedom), trials=trials).ask()
        if choice is None:
            return False
        await self.measure(study, "node", start["variant"], choice)
        return True


def kernels_of(folder: Path, problem: str) -> dict[str, str]:
    """Return a problem's candidates by file name; raises SystemExit for a file that is none."""
    found = {}
    for path in sorted((folder / problem).glob("*.py")):
        parsed = parse_module(path.read_text(encoding="utf-8"))
        if not isinstance(parsed, Candidate):
            raise SystemExit(f"{path}: {parsed.explanation}")
        found[path.stem] = parsed.source
    return found


def prepared(options: argparse.Namespace) -> tuple[list[Study], dict[str, Operator]]:
    """Return the studies with what the file holds already, in their order, and the small operators."""
    if not options.kernels.is_dir():
        raise SystemExit(f"{options.kernels}: no such folder; give one with a folder of kernels for each problem")
    where = f"&device={options.references}" if options.references != "cpu" else ""
    timed: dict[str, Operator] = {}
    small: dict[str, Operator] = {}
    words: dict[str, list[str]] = {}
    for path in sorted(STUDIES.glob("*.py")):
        name = path.stem
        if any(fnmatch.fnmatchcase(name, glob) for glob in options.problems.split(",")):
            small[name] = get_suite(f"modules:{path}?sizes=checks").operator(name)
            timed[name] = get_suite(f"modules:{path}?sizes={options.sizes}{where}").operator(name)
            words[name] = _sizes(path, options.sizes)
    if not timed:
        raise SystemExit(f"no case study matches --problems {options.problems}: there are {_names()}")
    studies = []
    for name in sorted(timed, key=lambda n: ORDER.index(n) if n in ORDER else len(ORDER)):
        operator = timed[name]
        if operator.exclusion:
            raise SystemExit(f"{name}: {operator.exclusion}")
        found = kernels_of(options.kernels, name)
        (count,) = operator.case_counts.values()
        mine = [Study(operator, size, words[name][size], found) for size in range(count)]
        if (path := DETOURS / f"{name}.py").exists():
            detour = get_suite(f"modules:{path}?sizes={options.sizes}{where}").operator(name)
            for study in mine:
                study.detour = detour
        studies += mine
    for number, text in enumerate(_lines(options.out), start=1):
        try:
            line = json.loads(text)
        except ValueError:
            continue  # the last one, of a run that was killed
        if line.get("format") != FORMAT or line["target"] != options.target:
            raise SystemExit(f"{options.out}: line {number}: of another format or target; choose another file")
        for study in studies:
            if study.key == line["key"] and (options.report or study.operator.suite == line["suite"]):
                study.lines.append(line)
    return studies, small


ORDER = ("optimized_fm", "pffn", "conv1d", "event_truncation", "bucketing", "map_id")  # the paper's on GPUs first


def _names() -> str:
    return ", ".join(sorted(path.stem for path in STUDIES.glob("*.py")))


def _sizes(path: Path, which: str) -> list[str]:
    from bringup.suites.problems._program import Problem

    problem = Problem("modules", path.stem, path.read_text(encoding="utf-8"))
    return [", ".join(f"{key} {value}" for key, value in one.items()) for one in problem.sizes(which)]


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


async def run(options: argparse.Namespace, studies: list[Study], small: dict[str, Operator]) -> None:
    """Measure until all is done or the minutes are over."""
    freedom = freedom_of(get_target(options.target))
    names = list(dict.fromkeys(study.operator.name for study in studies))
    left = [*names, *(names if options.nodes else [])]  # first all are measured, then all are tuned
    with options.out.open("a", encoding="utf-8") as out:

        async def work() -> None:
            async with open_judge(options.target) as judge:  # of its own, which keeps a problem's bounds
                bench = Bench(options, judge, out)
                while left:
                    bench.turn(-(-len(left) // options.jobs))
                    tunes, name = len(left) <= len(names) and bool(options.nodes), left.pop(0)
                    mine = [study for study in studies if study.operator.name == name]
                    if not tunes:
                        for study in mine:
                            await bench.study(study, small[name], [other for other in mine if other is not study])
                        continue
                    open_ = mine.copy()
                    while open_ and not bench.late():
                        open_ = [study for study in open_ if not bench.late() and await bench.tune(study, freedom)]
                    for study in mine:
                        await bench.finish(study)

        await asyncio.gather(*(work() for _ in range(options.jobs)))


def report(studies: list[Study], timed: bool) -> None:
    """Print the table; the paper's figures are about the timed sizes."""
    print(f"{'problem':18} {'size':60} {'kernel':>12} {'ours us':>9} {'eager us':>9} {'compile':>9} {'/eager':>7} "
          f"{'/compile':>8}  paper")  # fmt: skip
    for study in studies:
        paper = PAPER.get((study.operator.name, study.size), "") if timed else ""
        head = f"{study.operator.name:18} {study.words[:60]:60}"
        line = study.fastest("final") or study.fastest("screen", "node")
        if line is None:
            said = next((f"{x['verdict']}: {x['summary']}" for x in study.lines if x["verdict"] != "passed"), "")
            print(f"{head} no right kernel was timed; {said[:100]}")
            continue
        own, times = line["times"]["kernel"], line["times"]
        cells = [f"{1e6 * times[name]:9.1f}" if name in times else f"{'':9}" for name in (EAGER, COMPILE)]
        ratios = [f"{times[name] / own:.2f}" if name in times else "" for name in (EAGER, COMPILE)]
        beside = study.fastest("detour")
        took = beside["times"] if beside else {}
        over = [f"{took[name] / took['kernel']:.2f}" for name in (EAGER, COMPILE) if name in took]
        detour = f"  over the detour {', '.join(over)}" if over else ""
        print(f"{head} {line['variant'][:12]:>12} {1e6 * own:9.1f} {' '.join(cells)} {ratios[0]:>7} {ratios[1]:>8}  "
              f"{paper}{detour}{'  ' + str(Choice(values=line['choice'])) if line['choice'] else ''}")  # fmt: skip


def main() -> None:
    """Measure what is left, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", type=Path, help="folder with a folder of candidates for each problem")
    parser.add_argument("out", type=Path, help="file of measurements; goes on where it ends")
    parser.add_argument("--target", default="cuda")
    parser.add_argument("--problems", default="*", help="globs, separated by commas")
    parser.add_argument("--sizes", default="timed", choices=["timed", "checks"], help="of the problem: what is timed")
    parser.add_argument("--references", default="cuda", choices=["cuda", "cpu"], help="where float64 is computed")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--nodes", type=int, default=0, help="choices of the parameter tuner for each size")
    parser.add_argument("--jobs", type=int, default=1, help="problems at once; times are taken one after another")
    parser.add_argument("--seconds", type=float, default=0.5, help="of the repeats of one kernel, at most")
    parser.add_argument("--memory", type=int, default=8192, help="megabytes that a candidate may use")
    parser.add_argument("--diagnose", action="store_true", help="say what bounds the fastest: takes half a minute each")
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    studies, small = prepared(options)
    if not options.report:
        why = get_target(options.target).unavailable()
        if why is not None:
            parser.error(f"target {options.target}: {why}")
        asyncio.run(run(options, studies, small))
    report(studies, options.sizes == "timed")


if __name__ == "__main__":
    main()
