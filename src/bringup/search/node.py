"""One node: the session engine's repair loop with a goal of its own, and the clock before the gate.

The timed cases come first: they are few, and a candidate that fails them needs no whole gate. What passes them is
timed, and then judged on the whole gate. Both are seen by the loop as one verdict, so that it repairs either.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Self

from bringup.candidate import Candidate, digest
from bringup.errors import BringupError, StoreError
from bringup.judge import Judge, JudgeJob, Progress, Replayed, ReplayJob
from bringup.judge.measuring import Measured, MeasureJob
from bringup.search.problem import Problem
from bringup.session import End, RepairLoop, State, Stopping
from bringup.session.work import clean, one_line
from bringup.store import NodeFinished, NodeMeasured, SessionFinished, SessionResumed, StoredEvent
from bringup.verdict import Verdict

GateNeeded = Callable[[Measured], Awaitable[bool]]


class MeasuringJudge:
    """A judge that times a candidate on the problem's cases before it judges it on the gate.

    It is a `Judge` for the repair loop of one node. `measured` and `gate` say what came of the latest candidate.
    """

    def __init__(self, judge: Judge, problem: Problem, start: str | None, gate_needed: GateNeeded) -> None:
        """Judge through `judge`; `gate_needed` says, of a candidate that was timed, whether the gate must be passed."""
        self._judge = judge
        self._problem = problem
        self._start = start
        self._gate_needed = gate_needed
        self.weights = problem.weights
        self.measured: Measured | None = None
        self.gate = False

    async def judge(self, job: JudgeJob, progress: Progress | None = None, *, tapes: str | None = None) -> Verdict:
        """Time the candidate of `job`, and judge it on the whole gate where that is needed."""
        self.measured, self.gate = None, False
        measured = await self._judge.measure(self._problem.measuring(job.candidate, self._start), progress)
        verdict = measured.verdict
        if verdict.passed and await self._gate_needed(measured):
            verdict = await self._judge.judge(job, progress, tapes=tapes)
            self.gate = verdict.passed
        self.measured = measured
        return verdict

    async def measure(self, job: MeasureJob, progress: Progress | None = None) -> Measured:
        """Pass the job on."""
        return await self._judge.measure(job, progress)

    async def replay(self, job: ReplayJob) -> Replayed:
        """Pass the job on."""
        return await self._judge.replay(job)

    async def close(self) -> None:
        """Leave the judge open: it serves other nodes."""

    async def __aenter__(self) -> Self:
        """Return itself."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Leave the judge open."""


class NodeLoop(RepairLoop):
    """The loop of one node. `run` brings it to its end, or raises Stopping on request."""

    judge: MeasuringJudge  # the one in the node's parts
    passed_gate = False  # the latest candidate that was timed; of an earlier process's: by its event

    async def wanted(self, candidate: Candidate, verdict: Verdict, *, start: bool) -> str | None:
        """Store the times of a candidate that passed; nothing more is wanted of it."""
        measured = self.judge.measured
        assert measured is not None
        await self._store_measured(candidate, measured)
        return None

    async def run(self) -> None:
        """Go on until the node has ended, and store that."""
        began = time.monotonic()
        self.goal = self
        try:
            if self.state.at is State.STOPPED:
                await self._store(SessionResumed())
            if self.state.at is State.START:
                source = self._refine
                await self.begin_session(source)
                await self.begin_attempt(self.state.refine)
            end = await self.repair()
        except Stopping as request:
            if not self._parts.stop.budget:
                raise
            await self._end("stopped", str(request), began)
            return
        except (StoreError, asyncio.CancelledError):
            raise
        except BringupError as error:
            self.error = error
            await self._end("stopped", str(error), began)
            return
        except Exception as error:
            # a fault of bringup or of a plug-in must not take the other nodes along; it is named, and resumable
            self.error = error
            await self._end("stopped", f"unexpected error: {type(error).__name__}: {error}", began)
            return
        if end is End.REACHED:
            await self._end("passed", "", began)
        elif end is End.CALLS_USED:
            await self._end(*self._failure(), began)
        elif end is End.NO_ANSWER:
            self.error = self.unanswered
            await self._end("unanswered", one_line(str(self.unanswered)), began)
        # else: the loop has stored why it stopped; the node stays open and is gone on with

    def remember_measured(self, earlier: Iterable[StoredEvent]) -> None:
        """Take over what an earlier process has stored of the node: whether its candidate passed the gate."""
        for stored in earlier:
            if isinstance(stored.event, NodeMeasured):
                self.passed_gate = stored.event.gate

    def _failure(self) -> tuple[str, str]:
        """What was wrong with the latest reply."""
        told = self.state.feedback
        if told is not None and told.judged is not None:
            return told.judged.result, told.judged.summary
        if told is not None and told.violations:
            return "lint", f"line {told.violations[0].line}: {told.violations[0].message}"
        explanation = told.problem.explanation if told is not None and told.problem is not None else "no module"
        return "no_module", explanation.partition("\n")[0]

    async def _store_measured(self, candidate: Candidate, measured: Measured) -> None:
        text = clean(measured.model_dump_json())
        event = measured_event(candidate.digest, digest(text), measured, self.judge.gate, self.judge.weights)
        await self._store(event, texts=[text])
        self.passed_gate = event.gate

    async def _end(self, result: str, summary: str, began: float) -> None:
        outcome = {"passed": "covered", "stopped": "stopped", "unanswered": "unanswered"}.get(result, "exhausted")
        candidate = self.state.candidate
        end = NodeFinished.model_validate(
            {
                "result": result,
                "candidate": candidate,
                "gate": result == "passed" and self.passed_gate,
                "summary": one_line(summary) if summary else "",
                "calls": self.state.turn,
                "seconds": time.monotonic() - began,
            }
        )
        if outcome == "stopped":  # resumable: the node is not finished
            await self._stop(summary, "budget" if self._parts.stop.budget else "error")
            return
        await self._store(
            SessionFinished.model_validate({"outcome": outcome, "reason": end.summary, "candidate": candidate}), end
        )


def measured_event(
    candidate: str, blob: str, measured: Measured, gate: bool, weights: Mapping[str, float]
) -> NodeMeasured:
    """Return the headline of a measurement, for the graph. `weights`: how much cases count, by case."""
    bounds = [case.diagnosis.bound for case in measured.cases if case.diagnosis is not None]
    return NodeMeasured(
        candidate=candidate,
        measured=blob,
        result=measured.verdict.kind,
        gate=gate,
        seconds={str(case.case): case.device.median for case in measured.cases},
        baselines={
            str(case.case): {name: times.median for name, times in case.baselines.items()}
            for case in measured.cases
            if case.baselines
        },
        doubts={str(case.case): case.doubt for case in measured.cases if case.doubt},
        calls={str(case.case): case.called for case in measured.cases if case.called is not None},
        weights=dict(weights) if measured.cases else {},
        clock=measured.clock,
        device=measured.device,
        bound=max(sorted(set(bounds)), key=bounds.count) if bounds else "",
        problem=measured.error or "",
    )
