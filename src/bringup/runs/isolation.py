"""Warn once a run of what the judge's sandbox lacks on this system."""

from __future__ import annotations

from collections.abc import Callable

from bringup.judge import (
    Judge,
    JudgeJob,
    Measured,
    MeasureJob,
    Progress,
    Replayed,
    ReplayJob,
    isolation_warning,
)
from bringup.verdict import Verdict


class IsolationWarner:
    """A judge that warns, with its first verdict of an isolated candidate, where the isolation is incomplete."""

    def __init__(self, judge: Judge, notify: Callable[[str], None]) -> None:
        """Wrap `judge`; `notify` takes the warning, if there is one."""
        self._judge, self._notify = judge, notify
        self._warned = False

    async def judge(self, job: JudgeJob, progress: Progress | None = None, *, tapes: str | None = None) -> Verdict:
        """Judge as the wrapped one does."""
        verdict = await self._judge.judge(job, progress, tapes=tapes)
        self._look_at(verdict)
        return verdict

    async def measure(self, job: MeasureJob, progress: Progress | None = None) -> Measured:
        """Measure as the wrapped one does."""
        measured = await self._judge.measure(job, progress)
        self._look_at(measured.verdict)
        return measured

    def _look_at(self, verdict: Verdict) -> None:
        if not self._warned and verdict.environment.isolation:
            self._warned = True
            warning = isolation_warning(verdict.environment)
            if warning is not None:
                self._notify(f"warning: {warning}")

    async def replay(self, job: ReplayJob) -> Replayed:
        """Replay as the wrapped one does."""
        return await self._judge.replay(job)

    async def close(self) -> None:
        """Close the wrapped judge."""
        await self._judge.close()

    async def __aenter__(self) -> IsolationWarner:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()
