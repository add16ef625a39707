"""Judge mutants: the gate until the first failure, then the audit for those that the gate lets pass."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeVar

from bringup.candidate import Candidate
from bringup.config import JudgeLimits
from bringup.dialect import Dialect
from bringup.errors import UnknownName
from bringup.judge import JobTemplate, Judge, JudgeFault
from bringup.judge.guards import IDS as GUARDS
from bringup.linter import lint
from bringup.mutation.mutants import Mutant
from bringup.mutation.results import Original, Result, ResultLog, VerdictSummary
from bringup.operators import Operator
from bringup.suites import Suite
from bringup.verdict import Verdict

# A mutant may take this much longer than the original's slowest case before it counts as hanging.
TIME_FACTOR = 10.0
TIME_EXTRA = 2.0  # seconds
ALONE_FACTOR = 2  # a mutant that ran out of time gets this much more when it is judged once more, alone
# From this many cases on, a few spread over them are judged first: most mutants die there.
FIRST_CASES_FROM = 40
FIRST_CASES = 5

T = TypeVar("T")
Done = Callable[[Result], None]
Pair = tuple[Mutant, Result]


@dataclass(frozen=True)
class Task:
    """One candidate and the mutants to judge."""

    operator: Operator
    candidate: Candidate
    mutants: Sequence[Mutant]


@dataclass
class Clock:
    """Notes when the cases of a judge job end."""

    ends: list[float] = field(default_factory=list)

    def __call__(self, case: str, kind: str) -> None:
        """Note that a case ended."""
        self.ends.append(time.monotonic())

    def slowest(self, seconds: float) -> float:
        """Return the time of the slowest case of a job that took `seconds` without waiting for its turn."""
        if not self.ends:
            return seconds
        gaps = [after - before for before, after in pairwise(self.ends)]
        return round(max([seconds - sum(gaps), *gaps]), 3)


class Quiet:
    """Lets jobs run side by side, and one of them alone: that one waits for all others, and no new one begins."""

    def __init__(self) -> None:
        self._running = 0
        self._waiting = 0
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def turn(self, *, alone: bool) -> AsyncIterator[None]:
        """Wait until the job may run, and hold its place."""
        async with self._changed:
            if alone:
                self._waiting += 1
                try:
                    await self._changed.wait_for(lambda: self._running == 0)
                finally:
                    self._waiting -= 1
                    self._changed.notify_all()
                self._running = -1
            else:
                await self._changed.wait_for(lambda: self._running >= 0 and self._waiting == 0)
                self._running += 1
        try:
            yield
        finally:
            async with self._changed:
                self._running = 0 if alone else self._running - 1
                self._changed.notify_all()


class Benchmark:
    """Judges the mutants of one candidate after the other; every result is written before the next begins."""

    def __init__(
        self, judge: Judge, template: JobTemplate, dialect: Dialect, log: ResultLog, audit: Suite | None = None, *,
        reach: bool = True,
    ) -> None:  # fmt: skip
        """Take the judge, the template of its jobs, whose time limits hold for originals, and where results go.

        `audit` is the suite whose cases the survivors of the gate are judged on; None: the gate alone. With `reach`
        it is found out which survivors are in code that no case gets to.
        """
        self.judge = judge
        self.template = template
        self.dialect = dialect
        self.log = log
        self.audit = audit
        self.reach = reach
        self.settings = log.settings
        self.quiet = Quiet()

    async def run(self, task: Task, progress: Done) -> tuple[Original, list[Result]]:
        """Judge the original and every mutant, unless the log knows them already.

        `progress` is called for each mutant when the gate has judged it. Of an original that does not pass no mutant
        is judged.
        """
        known = [self.log.results.get((mutant.operator, mutant.digest)) for mutant in task.mutants]
        original = self.log.originals.get((task.operator.name, task.candidate.digest))
        if original is None:
            original = await self._original(task)
        if original.gate.kind != "passed":
            return original, []
        limits = self._limits(original.slowest, original.gate.seconds)

        async def gate(mutant: Mutant, result: Result | None) -> Pair:
            result = result or await self._gate(task, original, mutant, limits)
            progress(result)
            return mutant, result

        pairs = await _together(gate(mutant, result) for mutant, result in zip(task.mutants, known, strict=True))
        if self.reach:
            pairs = await self._reach(task.operator, pairs, limits)
        if self.audit is not None and any(self._wants_audit(result) for _, result in pairs):
            pairs = await self._audit_all(task, original, pairs)
        return self.log.originals[original.operator, original.digest], [result for _, result in pairs]

    async def run_all(
        self, tasks: Sequence[Task], turns: int, progress: Done, ended: Callable[[Task, int], None] = lambda *_: None
    ) -> tuple[list[tuple[Original, list[Result]]], dict[str, str]]:
        """Run every task, `turns` of them at once; return what `run` does in the order of the tasks, and faults.

        A candidate has a last job that the others of it wait for: meanwhile the next ones keep the workers busy. The
        faults name the operators on which the judge itself failed: they have no result and are judged by the next call.
        `ended` is called with each task and the number of its mutants that were judged.
        """
        turn = asyncio.Semaphore(turns)
        faults: dict[str, str] = {}

        async def one(task: Task) -> tuple[Original, list[Result]] | None:
            async with turn:
                try:
                    original, results = await self.run(task, progress)
                except (JudgeFault, BaseExceptionGroup) as error:
                    fault = error.exceptions[0] if isinstance(error, BaseExceptionGroup) else error
                    if not isinstance(fault, JudgeFault):
                        raise
                    faults[task.operator.name] = str(fault)
                    return None
                ended(task, len(results))
                return original, results

        found = await _together(one(task) for task in tasks)
        return [pair for pair in found if pair is not None], faults

    def _wants_audit(self, result: Result) -> bool:
        return self.audit is not None and result.status == "survived" and result.audit is None

    def _limits(self, slowest: float, seconds: float) -> JudgeLimits:
        """Return the limits of changed copies, from the times of the original."""
        usual = self.template.config.limits
        return usual.model_copy(
            update={
                "case_seconds": min(usual.case_seconds, TIME_FACTOR * slowest + TIME_EXTRA),
                "candidate_seconds": min(usual.candidate_seconds, TIME_FACTOR * seconds + 20 * TIME_EXTRA),
            }
        )

    async def _judge(
        self,
        candidate: Candidate,
        operator: Operator,
        limits: JudgeLimits | None = None,
        cases: Sequence[int] | None = None,
        *,
        keep_going: bool = False,
        progress: Clock | None = None,
        without: Sequence[str] = (),
        alone: bool = False,
    ) -> Verdict:
        job = self.template.job(
            candidate,
            operator,
            dtypes=self.settings.dtypes or None,
            cases=cases,
            seed=self.settings.seed,
            keep_going=keep_going,
            without_guards=without,
            limits=limits,
        )
        async with self.quiet.turn(alone=alone):
            return await self.judge.judge(job, progress)

    async def _changed(
        self,
        candidate: Candidate,
        operator: Operator,
        limits: JudgeLimits,
        cases: Sequence[int] | None = None,
        without: Sequence[str] = (),
    ) -> Verdict:
        """Judge a changed copy; one that ran out of time once more, alone and with more of it.

        Most changes cannot make a kernel hang: then other work on the machine took the time.
        """
        verdict = await self._judge(candidate, operator, limits, cases, without=without)
        if verdict.kind != "timed_out":
            return verdict
        more = {name: ALONE_FACTOR * getattr(limits, name) for name in ("case_seconds", "candidate_seconds")}
        longer = limits.model_copy(update=more)
        return await self._judge(candidate, operator, longer, cases, without=without, alone=True)

    async def _original(self, task: Task) -> Original:
        clock = Clock()
        verdict = await self._judge(task.candidate, task.operator, progress=clock)
        original = Original(
            settings=self.settings,
            operator=task.operator.name,
            digest=task.candidate.digest,
            gate=VerdictSummary.of(verdict),
            cases=verdict.cases_total,
            slowest=clock.slowest(verdict.seconds),
        )
        self.log.add(original)
        return original

    async def _gate(self, task: Task, original: Original, mutant: Mutant, limits: JudgeLimits) -> Result:
        verdict = self._lint(task, mutant) or await self._all_cases(task.operator, mutant.candidate, limits)
        result = Result(
            settings=self.settings,
            operator=mutant.operator,
            original=original.digest,
            digest=mutant.digest,
            mutator=mutant.mutator,
            place=mutant.place,
            function=mutant.function,
            line=mutant.line,
            note=mutant.note,
            diff=mutant.diff,
            gate=VerdictSummary.of(verdict),
        )
        self.log.add(result)
        return result

    async def _all_cases(self, operator: Operator, candidate: Candidate, limits: JudgeLimits) -> Verdict:
        """Judge a candidate as the gate does; of many cases, a few spread over them are compared first."""
        indices = max((operator.case_counts.get(d, 0) for d in operator.dtypes), default=0)
        if operator.cases_total >= FIRST_CASES_FROM and indices > FIRST_CASES:
            first = await self._changed(candidate, operator, limits, spread(indices, FIRST_CASES), without=GUARDS)
            if not first.passed:
                return first
        return await self._changed(candidate, operator, limits)

    def _lint(self, task: Task, mutant: Mutant) -> Verdict | None:
        """Refuse a mutant for a rule that the original keeps."""
        if not self.settings.lint:
            return None
        found = lint(mutant.candidate, self.dialect, task.operator)
        if not found:
            return None
        old = {(v.rule, v.message) for v in lint(task.candidate, self.dialect, task.operator)}
        new = [v for v in found if (v.rule, v.message) not in old]
        return Verdict(kind="lint", summary=f"[{new[0].rule}] {new[0].message}") if new else None

    async def _reach(self, operator: Operator, pairs: list[Pair], limits: JudgeLimits) -> list[Pair]:
        """Find out which of the gate's survivors are in code that it gets to."""
        asked = [
            (mutant, result)
            for mutant, result in pairs
            if result.status == "survived" and result.gate.reached is None and mutant.trap is not None
        ]
        reached = await self._reached(operator, [mutant for mutant, _ in asked], limits)
        for mutant, result in asked:
            gate = result.gate.model_copy(update={"reached": reached[mutant.trap]})
            self.log.add(result.model_copy(update={"gate": gate}))
        return [(mutant, self.log.results[mutant.operator, mutant.digest]) for mutant, _ in pairs]

    async def _reached(
        self, operator: Operator, mutants: Sequence[Mutant], limits: JudgeLimits, cases: Sequence[int] | None = None
    ) -> dict[str | None, bool]:
        """Judge the original with a trap at each changed place; return by trap whether a case fails for it."""
        traps = sorted({mutant.trap for mutant in mutants if mutant.trap is not None})
        # A trap stops the first call that runs into it; what the guards look at is of no interest here.
        verdicts = await _together(
            self._changed(Candidate(source=trap), operator, limits, cases, without=GUARDS) for trap in traps
        )
        return {trap: not verdict.passed for trap, verdict in zip(traps, verdicts, strict=True)}

    async def _audit_all(self, task: Task, original: Original, pairs: list[Pair]) -> list[Pair]:
        """Judge the gate's survivors by the audit; operators that it does not know stay as they are."""
        assert self.audit is not None
        try:
            operator = self.audit.operator(task.operator.name)
        except UnknownName:
            return pairs
        if original.audit is None:
            original = await self._audit_original(task, original, operator)
        assert original.audit is not None
        cases = original.audit_cases
        limits = self._limits(original.audit_slowest, original.audit.seconds)

        async def one(mutant: Mutant, result: Result) -> Result:
            # Cases that the original itself fails say nothing about a mutant.
            verdict = (
                Verdict(kind="untested", summary="the original passes no case of the audit")
                if cases == ()
                else await self._changed(mutant.candidate, operator, limits, cases)
            )
            judged = result.model_copy(update={"audit": VerdictSummary.of(verdict)})
            self.log.add(judged)
            return judged

        asked = [(mutant, result) for mutant, result in pairs if self._wants_audit(result)]
        judged = await _together(one(mutant, result) for mutant, result in asked)
        # Only code that the gate never gets to is asked about again.
        hidden = [m for (m, _), r in zip(asked, judged, strict=True) if _lives(r) and r.gate.reached is False]
        if self.reach and hidden and cases != ():
            reached = await self._reached(operator, hidden, limits, cases)
            for mutant in hidden:
                result = self.log.results[mutant.operator, mutant.digest]
                assert result.audit is not None
                audit = result.audit.model_copy(update={"reached": reached[mutant.trap]})
                self.log.add(result.model_copy(update={"audit": audit}))
        return [(mutant, self.log.results[mutant.operator, mutant.digest]) for mutant, _ in pairs]

    async def _audit_original(self, task: Task, original: Original, operator: Operator) -> Original:
        clock = Clock()
        verdict = await self._judge(task.candidate, operator, keep_going=True, progress=clock)
        failing = {failure.case.index for failure in verdict.failures}
        indices = range(max((operator.case_counts.get(d, 0) for d in operator.dtypes), default=0))
        judged = original.model_copy(
            update={
                "audit": VerdictSummary.of(verdict),
                "audit_slowest": clock.slowest(verdict.seconds),
                "audit_cases": tuple(i for i in indices if i not in failing) if failing else None,
            }
        )
        self.log.add(judged)
        return judged


def _lives(result: Result) -> bool:
    return result.status == "survived" and result.audit_status in {None, "survived"}


def spread(count: int, wanted: int) -> list[int]:
    """Return at most `wanted` indices below `count`, from the first to the last."""
    if count <= wanted:
        return list(range(count))
    return sorted({round(i * (count - 1) / (wanted - 1)) for i in range(wanted)})


async def _together(jobs: Iterable[Coroutine[None, None, T]]) -> list[T]:
    """Await all jobs; when one fails, or this task is cancelled, the others end too."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(job) for job in jobs]
    return [task.result() for task in tasks]
