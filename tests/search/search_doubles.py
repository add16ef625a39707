"""A search whose candidates say themselves what will become of them: no device, no model."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self

from bringup.candidate import Candidate, parse_reply
from bringup.clients import Client
from bringup.clients.scripted import ScriptedClient
from bringup.config import RunConfig
from bringup.judge import JudgeJob, Replayed, ReplayJob
from bringup.judge.measuring import CaseTiming, Diagnosis, Measured, MeasureJob, Times
from bringup.operators import Operator
from bringup.prompts import PromptBook
from bringup.runs import Services
from bringup.search import running
from bringup.search.graph import Graph
from bringup.search.problem import make_problem
from bringup.search.running import Plan, SearchResult
from bringup.search.starts import Start
from bringup.store import open_run
from bringup.suites import get_suite
from bringup.targets import get_target
from bringup.verdict import CallKind, CaseId, Verdict, Violation

OPERATOR = "double"


Seconds = float | tuple[float, ...]
"""The same in all timed cases, or one for each of them in turn."""


def module(seconds: Seconds = 1.0, kind: str = "passed", gate: str = "", note: object = "") -> str:
    """A candidate that takes `seconds` and gets verdict `kind`; `gate`: another verdict on the whole gate."""
    said = "/".join(map(repr, seconds)) if isinstance(seconds, tuple) else repr(seconds)
    return f"def wrapper(input):\n    return input  # kind={kind} gate={gate or kind} seconds={said} {note}\n"


def reply(seconds: Seconds = 1.0, kind: str = "passed", gate: str = "", note: object = "") -> str:
    return f"Change: {note or 'another block'}\n```python\n{module(seconds, kind, gate, note)}```\n"


def fields(source: str) -> dict[str, str]:
    return dict(re.findall(r"(kind|gate|seconds)=(\S+)", source))


class FakeJudge:
    """Gives the verdicts and times that candidates name; counts its jobs."""

    def __init__(self, delay: float = 0.0, on_measure: Callable[[str], None] | None = None, width: float = 0.0) -> None:
        self.delay = delay
        self.width = width  # of the times, see `Times.width`
        self.measured: list[str] = []
        self.judged: list[str] = []
        self.on_measure = on_measure
        self.under_way = self.most = 0

    def _verdict(self, job: JudgeJob, kind: str) -> Verdict:
        total = job.operator.cases_total
        return Verdict.model_validate(
            {
                "kind": kind,
                "summary": f"{kind} on {job.operator.name}",
                "case": None if kind == "passed" else CaseId(operator=job.operator.name, dtype="float32", index=0),
                "cases_passed": total if kind == "passed" else 0,
                "cases_total": total,
            }
        )

    async def judge(self, job: JudgeJob, progress: object = None, *, tapes: str | None = None) -> Verdict:
        self.judged.append(job.candidate.digest)
        await asyncio.sleep(self.delay)
        return self._verdict(job, fields(job.candidate.source)["gate"])

    async def measure(self, job: MeasureJob, progress: object = None) -> Measured:
        source = job.judge.candidate.source
        self.measured.append(job.judge.candidate.digest)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        if self.on_measure is not None:
            self.on_measure(source)
        await asyncio.sleep(self.delay)
        self.under_way -= 1
        said = fields(source)
        verdict = self._verdict(job.judge, said["kind"])
        cases: list[CaseTiming] = []
        if verdict.passed:
            times = [float(text) for text in said["seconds"].split("/")]
            names = [(dtype, index) for dtype, indices in job.judge.cases.items() for index in indices or ()]
            for place, (dtype, index) in enumerate(names):
                case = CaseId(operator=job.judge.operator.name, dtype=dtype, index=index)
                cases.append(self.timing(case, times[place % len(times)]))
        return Measured(verdict=verdict, cases=tuple(cases), clock="model", device="made up")

    def timing(self, case: CaseId, seconds: float) -> CaseTiming:
        times = Times(median=seconds, low=seconds, high=seconds, width=self.width)
        called = CallKind(dtype=case.dtype, rank=case.index + 1, elements=(4, 15)[case.index % 2])
        diagnosis = Diagnosis(bound="memory", summary=f"moves 3 bytes for each of 2 in {case}", figures={"GB/s": 12.5})
        return CaseTiming(
            case=case, call=f"wrapper(case {case.index})", called=called, device=times, diagnosis=diagnosis
        )

    async def replay(self, job: ReplayJob) -> Replayed:
        raise NotImplementedError

    async def close(self) -> None:
        pass

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass


def lint(candidate: Candidate, operator: Operator) -> list[Violation]:
    if fields(candidate.source).get("kind") == "lint":
        return [Violation(rule="R1", message="tl.magic does not exist", line=2)]
    return []


def config(client: dict[str, Any] | None = None, **search: Any) -> RunConfig:
    sections = {name: search.pop(name) for name in ("budget", "seed", "prices", "attempts") if name in search}
    fast = {"nodes": 4, "drafts": 0, "remember": False, "look_up": False, "cases": {"float32": (0, 1)}}
    return RunConfig.model_validate(
        {
            "suite": "conformance",
            "ops": (OPERATOR,),
            "dtypes": ("float32",),
            "client": client or {"name": "scripted", "model": "scripted"},
            "search": {**fast, **search},
            **sections,
        }
    )


class Bench:
    """Searches under one folder, with one judge and one client."""

    def __init__(self, root: Path, script: Any, judge: FakeJudge | None = None, **client: Any) -> None:
        self.root = root
        self.judge = judge or FakeJudge()
        self.client: Client = ScriptedClient(script=script, **client)

    @asynccontextmanager
    async def assemble(self, run_config: RunConfig, run_dir: Path):
        suite = get_suite(run_config.suite)
        dialect = get_target(run_config.target).dialect()
        yield Services(
            client=self.client,
            judge=self.judge,  # type: ignore[arg-type]
            prompts=PromptBook(dialect, run_config.target, suite.docs, run_config.dtypes, suite.words),
            parse=parse_reply,
            lint=lint,
            features=frozenset(),
        )

    def plan(self, run_config: RunConfig, starts: Sequence[str] = (module(),)) -> Plan:
        operator = get_suite(run_config.suite).operator(run_config.ops[0])
        found = tuple(Start(source, f"start {number}") for number, source in enumerate(starts))
        return Plan(run_config, operator, make_problem(run_config, operator), found)

    async def start(self, run_config: RunConfig, starts: Sequence[str] = (module(),), **options: Any) -> SearchResult:
        return await running.start(self.plan(run_config, starts), self.root, assemble=self.assemble, **options)

    async def resume(self, folder: Path, **options: Any) -> SearchResult:
        return await running.resume(folder, assemble=self.assemble, **options)


def graph_of(folder: Path) -> Graph:
    with open_run(folder) as run:
        return Graph.of(run.events())
