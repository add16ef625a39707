"""Doubles for the engine's neighbours: replies say what will become of them, and everything else obeys."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import random
import time
from collections.abc import Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self

from bringup.candidate import Candidate, FormatProblem, digest, parse_reply
from bringup.clients import Client
from bringup.clients.scripted import ScriptedClient
from bringup.config import RunConfig
from bringup.judge import JudgeJob, Replayed, ReplayJob
from bringup.operators import Operator
from bringup.prompts import Prompt
from bringup.session import Budget, Parts, Session, SessionState, Stop
from bringup.store import RunLog, create_run, open_run
from bringup.verdict import CaseId, Verdict, Violation

_numbers = itertools.count()
KINDS = ("format", "lint", "compile", "long_compile", "raised", "crashed", "wrong", "cheated", "timed_out", "passed")


def reply(kind: str, note: object = 0) -> str:
    """Return a reply that will be treated as `kind`; `note` makes it differ from others."""
    if kind == "format":
        return f"I would rather talk about {note}."
    return f"Here it is.\n```python\ndef wrapper(x):\n    return '{kind}', {note!r}\n```\n"


def candidate_kind(source: str) -> str:
    return source.split("'")[1]


class Prompts:
    """Short prompts that hold what they were given, so that tests can look for it."""

    def _prompt(self, template: str, text: str) -> Prompt:
        return Prompt(text=f"[{template}] {text}", template=template, template_digest=digest(template))

    def first(self, operator: Operator) -> Prompt:
        return self._prompt("first", operator.name)

    def refine(self, operator: Operator, candidate: Candidate, report: Prompt | None = None) -> Prompt:
        return self._prompt("refine", f"{operator.name}\n{candidate.source}{report.text if report else ''}")

    def again(self, operator: Operator, report: Prompt, repeats: int) -> Prompt:
        return self._prompt("again", f"{repeats} {report.text}")

    def system(self) -> Prompt:
        return self._prompt("system", "You write kernels.")

    def format_error(self, operator: Operator, problem: FormatProblem, module: str = "") -> Prompt:
        return self._prompt("format", problem.explanation + (f"\nmodule:\n{module}" if module else ""))

    def lint(self, operator: Operator, violations: Sequence[Violation]) -> Prompt:
        return self._prompt("lint", " ".join(v.message for v in violations))

    def verdict(self, operator: Operator, verdict: Verdict, debugger: str | None, summary: str | None) -> Prompt:
        return self._prompt(verdict.kind, f"{verdict.summary} debugger={debugger} summary={summary}")

    def summarise(self, operator: Operator, log: str) -> Prompt:
        return self._prompt("summarise", log[:100])


class FakeJudge:
    """Gives the verdict that the candidate names; counts its jobs."""

    def __init__(self, delay: float = 0.0) -> None:
        self.delay = delay
        self.judged: list[str] = []

    async def judge(self, job: JudgeJob, progress: object = None, *, tapes: str | None = None) -> Verdict:
        candidate, operator = job.candidate, job.operator
        self.judged.append(candidate.digest)
        await asyncio.sleep(self.delay)
        kind = candidate_kind(candidate.source)
        total = operator.cases_total
        if kind == "boom":
            raise ZeroDivisionError("the judge has a bug")
        log = ""
        if kind in {"compile", "long_compile"}:
            log = "error: no such op\n" * (1000 if kind == "long_compile" else 1)
            kind = "compile"
        if kind == "crashed":
            log = "PE 3 read beyond the tensor"
        return Verdict.model_validate(
            {
                "kind": kind,
                "summary": f"{kind} on {operator.name}",
                "log": log,
                "case": None if kind == "passed" else CaseId(operator=operator.name, dtype="float32", index=0),
                "cases_passed": total if kind == "passed" else 0,
                "cases_total": total,
                "seconds": 0.001,
            }
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
    if candidate_kind(candidate.source) == "lint":
        return [Violation(rule="R1", message="tl.magic does not exist", line=2)]
    return []


def operator(name: str = "exp", cases: int = 3, needs: dict[str, str] | None = None) -> Operator:
    return Operator(
        name=name, suite="conformance", category="Elementwise", case_counts={"float32": cases}, needs=needs or {}
    )


def dice(seed: int, weights: dict[str, int] | None = None) -> Callable[..., str]:
    """Return a script that draws each reply from the call's key alone, so that a resumed run draws the same."""
    names = list(weights or dict.fromkeys(KINDS, 1))
    chances = list((weights or dict.fromkeys(KINDS, 1)).values())

    def script(messages: object, sampling: object, call: object) -> str:
        place = f"{seed}/{call.operator}/{call.attempt}/{call.turn}/{call.role}"  # type: ignore[attr-defined]
        rng = random.Random(int.from_bytes(hashlib.sha256(place.encode()).digest()[:8], "big"))
        return reply(rng.choices(names, chances)[0], place)

    return script


def config(**sections: object) -> RunConfig:
    return RunConfig.model_validate({"client": {"name": "scripted", "model": "scripted"}, **sections})


class Bench:
    """One run log and the parts of sessions on it."""

    def __init__(self, log: RunLog, run_config: RunConfig, client: Client, summariser: Client | None = None) -> None:
        self.log = log
        self.client = client
        self.judge = FakeJudge()
        self.stop = Stop()
        self.budget = Budget(run_config.budget)
        self.config = run_config
        self.summariser = summariser
        self.then: tuple[Client, ...] = ()
        self.features = frozenset({"defined_values"})

    @property
    def parts(self) -> Parts:
        return Parts(
            config=self.config,
            client=self.client,
            judge=self.judge,
            prompts=Prompts(),
            parse=parse_reply,
            lint=lint,
            budget=self.budget,
            stop=self.stop,
            features=self.features,
            summariser=self.summariser,
            then=self.then,
        )

    def session(self, op: Operator | None = None, refine: str | None = None) -> Session:
        """A session that goes on from whatever the log already holds."""
        op = op or operator()
        with open_run(self.log.folder) as run:
            earlier = list(run.events(op.name))
        return Session(self.parts, self.log, op, earlier=earlier, refine=refine)

    async def run(self, op: Operator | None = None, refine: str | None = None) -> SessionState:
        return await self.session(op, refine).run()

    def kinds(self) -> list[str]:
        with open_run(self.log.folder) as run:
            return [stored.event.kind for stored in run.events()]


async def until(condition: Callable[[], object], seconds: float = 20.0) -> None:
    """Wait for something to become true, however busy the machine is."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        await asyncio.sleep(0.005)


@asynccontextmanager
async def bench(root: Path, script: object, summary_script: object = None, **sections: object):
    """A bench in a new run directory under `root`."""
    run_config = config(**sections)
    log = create_run(root, f"run-{next(_numbers)}")
    summariser = ScriptedClient(script=summary_script) if summary_script is not None else None  # type: ignore[arg-type]
    try:
        yield Bench(log, run_config, ScriptedClient(script=script), summariser)  # type: ignore[arg-type]
    finally:
        log.close()


class Faster:
    """A goal that says what it still wants, until it has been asked often enough; remembers who it was asked of."""

    def __init__(self, satisfied_after: int = 1) -> None:
        self.left = satisfied_after
        self.asked: list[bool] = []

    async def wanted(self, candidate: Candidate, verdict: Verdict, *, start: bool) -> str | None:
        assert verdict.passed
        self.asked.append(start)
        self.left -= 1
        return f"{self.left + 2:.1f} times as fast is wanted" if self.left >= 0 else None
