"""Ghost launch: the same case with every launch turned into nothing must not come out right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bringup.judge.guards._base import Rerun

if TYPE_CHECKING:
    from bringup.judge._case import CaseJudge, Outcome
    from bringup.judge.guards._rerun import Rerunner


class Ghost(Rerun):
    """Asked of operators that compute, for every case in which a kernel was launched.

    A case is excused when its answer needs no computing: it is empty, one constant, or one of the inputs.
    """

    id = "ghost"
    catches = "kernels launched for show: the answer came from elsewhere"
    misses = "an answer computed elsewhere that a kernel copies; `veil` sees it"
    per_dtype = None

    def applies(self, job: dict[str, Any]) -> bool:
        """Leave out operators that need no kernel."""
        return bool(job["needs_launch"])

    def check(self, rerun: Rerunner, case: CaseJudge) -> Outcome | None:
        """Run once without launches."""
        if not case.launches or case.trivial():
            return None
        outcome = rerun.outcome(case, {"ghost": True})
        if outcome.kind != "passed":
            return None
        return rerun.cheated(
            self.id,
            "the result is right although no kernel ran: the kernels are not what computes it",
            "compute the result in the kernels that are launched",
        )
