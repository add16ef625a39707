"""In the referee: a candidate is judged on the cases that are timed, then timed beside what it is compared with."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bringup.candidate import Candidate
from bringup.judge._case import Asked, CaseJudge
from bringup.judge._wire import Assignment
from bringup.judge.job import JudgeJob, Report
from bringup.judge.measuring import Baseline, CaseTiming, Measured, MeasureJob, Times, call_kind
from bringup.judge.profilers import Seen, diagnose
from bringup.verdict import CaseId, Verdict

if TYPE_CHECKING:
    from bringup.judge._judging import Judging
    from bringup.judge._referee import Referee

KEPT_BASELINES = 64
MOST_NAMED = 3  # cases that a note names
MOST_BY_LINE = 8  # cases, the slowest, whose call is made once more to count by line


def measure(referee: Referee, job: MeasureJob, assignment: Assignment) -> Measured:
    """Do a measure job."""
    began, clock = time.monotonic(), referee.target.clock
    with tempfile.TemporaryDirectory(dir=referee.scratch, prefix="tapes-") as folder:
        if clock == "device":
            assignment = assignment.model_copy(update={"tapes": folder})
        measured = _measured(referee, job, assignment)
    return measured.model_copy(update={"seconds": time.monotonic() - began})


def _measured(referee: Referee, job: MeasureJob, assignment: Assignment) -> Measured:
    from bringup.judge._judging import Judging

    clock = referee.target.clock
    counts = job.judge.report.model_copy(update={"profile": clock == "model" or job.judge.report.profile})
    judging = Judging(referee, job.judge.model_copy(update={"report": counts}), assignment)
    verdict = judging.run()
    if not job.judge.report.profile:
        verdict = verdict.model_copy(update={"profile": ()})
    # A modelled chip's are in its profile, which travels with the job.
    facts = dict(referee.target.facts()) if clock == "device" else {}
    measured = Measured(verdict=verdict, clock=clock, device=job.judge.target.name, facts=facts)
    if not verdict.passed:
        return measured
    if clock == "model":
        return _Modelled(referee, job, assignment).time(measured, judging)
    from bringup.judge._clocked import Clocked

    return Clocked(referee, job, assignment).time(measured, judging)


def idle_note(cases: Sequence[CaseJudge]) -> str:
    """Name cases in which a candidate asks nothing of the device."""
    names = ", ".join(str(case.inputs.case) for case in cases[:MOST_NAMED])
    rest = f" and {len(cases) - MOST_NAMED} more" if len(cases) > MOST_NAMED else ""
    return f"judged, not timed, since the candidate asks nothing of the device: {names}{rest}"


def baseline_job(job: MeasureJob, baseline: Baseline) -> JudgeJob:
    """The job of judging a baseline that is a candidate: nothing is decided on it but that its answers are right."""
    return job.judge.model_copy(
        update={
            "candidate": Candidate(source=baseline.source),
            "guards": (),
            "report": Report(keep_going=True, profile=True),
            "fresh_seed": 0,
            "compile_for": (),
        }
    )


NOTHING_TIMED = "no case was timed: the candidate asks nothing of the device in any"


@dataclass(frozen=True)
class _BaselineTimes:
    """Modelled seconds of a baseline by case; why there are none for the others."""

    seconds: dict[CaseId, float]
    failed: str = ""


class _Modelled:
    """Times by a model: of counters, the same in every run, so that a call is asked once."""

    def __init__(self, referee: Referee, job: MeasureJob, assignment: Assignment) -> None:
        self.referee, self.job, self.assignment = referee, job, assignment

    def time(self, measured: Measured, judging: Judging) -> Measured:
        """Add the times of cases that have passed."""
        notes: list[str] = []
        baselines: dict[str, _BaselineTimes] = {}
        for baseline in self.job.against:
            found = baselines[baseline.name] = self._baseline(baseline)
            if found.failed:
                notes.append(f"baseline {baseline.name}: {found.failed}")
        seconds = [(case, self._seconds(case.asked)) for case in judging.timed]
        by_line = self._by_line(judging, [pair for pair in seconds if pair[1]]) if self.job.diagnose else {}
        timed = [self._timing(case, own, baselines, by_line.get(case.inputs.case)) for case, own in seconds if own]
        idle = [case for case, own in seconds if not own]
        if idle:
            notes.append(idle_note(idle))
        error = None if timed else NOTHING_TIMED
        return measured.model_copy(update={"cases": tuple(timed), "notes": tuple(notes), "error": error})

    def _by_line(self, judging: Judging, cases: Sequence[tuple[CaseJudge, float]]) -> dict[CaseId, Asked | str]:
        """The slowest cases' calls, made once more to count by line of the source; why one could not be.

        Kernels that count by line are other code: the call that was judged is not made with them.
        """
        found: dict[CaseId, Asked | str] = {}
        try:
            for case, _ in sorted(cases, key=lambda pair: -pair[1])[:MOST_BY_LINE]:
                outcome = judging.exchange.call(case, {"lines": True})
                asked = judging.exchange.latest
                if outcome.kind == "passed":
                    found[case.inputs.case] = asked
                else:
                    found[case.inputs.case] = f"the call that counts them was {outcome.kind}: {outcome.summary}"
        finally:
            judging.exchange.close()
        return found

    def _timing(
        self, case: CaseJudge, seconds: float, baselines: dict[str, _BaselineTimes], by_line: Asked | str | None
    ) -> CaseTiming:
        known = case.inputs.case
        beside = {name: found.seconds.get(known, 0.0) for name, found in baselines.items()}
        return CaseTiming(
            case=known,
            call=case.call,
            called=call_kind(case.inputs.args, case.inputs.kwargs),
            device=_exactly(seconds),
            baselines={name: _exactly(found) for name, found in beside.items() if found},
            notes=tuple(f"baseline {name} has no time here" for name, found in beside.items() if not found),
            diagnosis=diagnose(self._seen(case.asked, seconds, by_line)) if self.job.diagnose else None,
        )

    def _seen(self, asked: Asked, seconds: float, by_line: Asked | str | None) -> Seen:
        return Seen(
            target=self.job.judge.target.name,
            seconds=seconds,
            launches=asked.counters,
            account=asked.account,
            facts=self.referee.target.facts(),
            copy_seconds=self._copies(asked),
            source=self.job.judge.candidate.source,
            by_line=by_line.counters if isinstance(by_line, Asked) else by_line or (),
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
        job = baseline_job(self.job, baseline)
        kept = self.referee.modelled
        if job.digest not in kept:
            kept[job.digest] = self._ask(job)
            while len(kept) > KEPT_BASELINES:
                kept.popitem(last=False)
        kept.move_to_end(job.digest)
        found: _BaselineTimes = kept[job.digest]
        return found

    def _ask(self, job: JudgeJob) -> _BaselineTimes:
        from bringup.judge._judging import Judging

        judging = Judging(self.referee, job, self.assignment.model_copy(update={"progress": False, "tapes": None}))
        verdict: Verdict = judging.run()
        seconds = {case.inputs.case: self._seconds(case.asked) for case in judging.timed}
        return _BaselineTimes(seconds, "" if verdict.passed else f"{verdict.kind}: {verdict.summary}")


def _exactly(seconds: float) -> Times:
    return Times(median=seconds, low=seconds, high=seconds)
