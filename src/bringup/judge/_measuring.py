"""In the referee: a candidate is judged on the cases that are timed, then timed beside what it is compared with."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bringup.candidate import Candidate
from bringup.judge._case import Asked, CaseJudge
from bringup.judge._wire import Assignment
from bringup.judge.job import JudgeJob, Report
from bringup.judge.measuring import Baseline, CaseTiming, Measured, MeasureJob, Times
from bringup.judge.profilers import Seen, diagnose
from bringup.verdict import CaseId, Verdict

if TYPE_CHECKING:
    from bringup.judge._referee import Referee

KEPT_BASELINES = 64
MOST_NAMED = 3  # cases that a note names


def measure(referee: Referee, job: MeasureJob, assignment: Assignment) -> Measured:
    """Do a measure job."""
    from bringup.judge._referee import Judging

    began, clock = time.monotonic(), referee.target.clock
    counts = job.judge.report.model_copy(update={"profile": True})
    judging = Judging(referee, job.judge.model_copy(update={"report": counts}), assignment)
    verdict = judging.run()
    if not job.judge.report.profile:
        verdict = verdict.model_copy(update={"profile": ()})
    measured = Measured(verdict=verdict, clock=clock, device=job.judge.target.name)
    if verdict.passed and clock == "model":
        measured = _Modelled(referee, job, assignment).time(measured, judging.timed)
    elif verdict.passed:
        measured = measured.model_copy(update={"error": f"target {job.judge.target.name} has no clock for candidates"})
    return measured.model_copy(update={"seconds": time.monotonic() - began})


@dataclass(frozen=True)
class _BaselineTimes:
    """Modelled seconds of a baseline by case; why there are none for the others."""

    seconds: dict[CaseId, float]
    failed: str = ""


class _Modelled:
    """Times by a model: of counters, the same in every run, so that a call is asked once."""

    def __init__(self, referee: Referee, job: MeasureJob, assignment: Assignment) -> None:
        self.referee, self.job, self.assignment = referee, job, assignment

    def time(self, measured: Measured, cases: Sequence[CaseJudge]) -> Measured:
        """Add the times of cases that have passed."""
        notes: list[str] = []
        baselines: dict[str, _BaselineTimes] = {}
        for baseline in self.job.against:
            found = baselines[baseline.name] = self._baseline(baseline)
            if found.failed:
                notes.append(f"baseline {baseline.name}: {found.failed}")
        timed, idle = [], []
        for case in cases:
            seconds = self._seconds(case.asked)
            if seconds:
                timed.append(self._timing(case, seconds, baselines))
            else:
                idle.append(case)
        if idle:
            names = ", ".join(str(case.inputs.case) for case in idle[:MOST_NAMED])
            rest = f" and {len(idle) - MOST_NAMED} more" if len(idle) > MOST_NAMED else ""
            notes.append(f"judged, not timed, since the candidate asks nothing of the device: {names}{rest}")
        error = None if timed else "no case was timed: the candidate asks nothing of the device in any"
        return measured.model_copy(update={"cases": tuple(timed), "notes": tuple(notes), "error": error})

    def _timing(self, case: CaseJudge, seconds: float, baselines: dict[str, _BaselineTimes]) -> CaseTiming:
        known = case.inputs.case
        beside = {name: found.seconds.get(known, 0.0) for name, found in baselines.items()}
        return CaseTiming(
            case=known,
            call=case.call,
            device=_exactly(seconds),
            baselines={name: _exactly(found) for name, found in beside.items() if found},
            notes=tuple(f"baseline {name} has no time here" for name, found in beside.items() if not found),
            diagnosis=diagnose(self._seen(case.asked, seconds)) if self.job.diagnose else None,
        )

    def _seen(self, asked: Asked, seconds: float) -> Seen:
        return Seen(
            target=self.job.judge.target.name,
            seconds=seconds,
            launches=asked.counters,
            account=asked.account,
            facts=self.referee.target.facts(),
            copy_seconds=self._copies(asked),
            source=self.job.judge.candidate.source,
        )

    def _seconds(self, asked: Asked) -> float:
        """The modelled time of a call: of its launches and of its copies."""
        launched = math.fsum(float(launch["microseconds"]) for launch in asked.counters) * 1e-6
        return launched + self._copies(asked)

    def _copies(self, asked: Asked) -> float:
        account = asked.account
        return self.referee.target.copy_seconds(
            int(account["copies"]) + int(account["uploads"]),
            int(account["copied_bytes"]) + int(account["uploaded_bytes"]),
            int(account["copied_pieces"]),
        )

    # Baselines -----------------------------------------------------------------------------------------------

    def _baseline(self, baseline: Baseline) -> _BaselineTimes:
        """Times of a baseline, from memory where the same was asked before."""
        if not baseline.source:
            return _BaselineTimes({}, "PyTorch has no time on a modelled chip; compare with a candidate's source")
        job = self.job.judge.model_copy(
            update={
                "candidate": Candidate(source=baseline.source),
                "guards": (),  # nothing is decided on it but that its answers are right
                "report": Report(keep_going=True, profile=True),
                "fresh_seed": 0,
                "compile_for": (),
            }
        )
        kept = self.referee.modelled
        if job.digest not in kept:
            kept[job.digest] = self._ask(job)
            while len(kept) > KEPT_BASELINES:
                kept.popitem(last=False)
        kept.move_to_end(job.digest)
        found: _BaselineTimes = kept[job.digest]
        return found

    def _ask(self, job: JudgeJob) -> _BaselineTimes:
        from bringup.judge._referee import Judging

        judging = Judging(self.referee, job, self.assignment.model_copy(update={"progress": False, "tapes": None}))
        verdict: Verdict = judging.run()
        seconds = {case.inputs.case: self._seconds(case.asked) for case in judging.timed}
        return _BaselineTimes(seconds, "" if verdict.passed else f"{verdict.kind}: {verdict.summary}")


def _exactly(seconds: float) -> Times:
    return Times(median=seconds, low=seconds, high=seconds)
