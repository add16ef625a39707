"""Where pointers go, on devices whose hardware does not say: calls of kernels that check each of their accesses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bringup.device.engine import FENCE
from bringup.judge.guards._base import Rerun

if TYPE_CHECKING:
    from bringup.judge._case import CaseJudge
    from bringup.judge._judging import Judging
    from bringup.judge._outcome import Outcome
    from bringup.judge.guards._rerun import Rerunner

DRAWN = 2  # cases of a dtype, beside the last one


class Fenced(Rerun):
    """More calls for each dtype, of the same kernels with a fence: the compiler puts a check before each access.

    For targets that can compile one (`fences`). Elsewhere the device itself knows where each access goes.
    """

    id = "fenced"
    catches = (
        "kernels that go from one argument to another's memory, or to nobody's, on devices that check no addresses"
    )
    misses = "on a GPU, an access that leaves its argument in calls that are not drawn"
    advice = "mask what lies beyond a tensor, and reach each tensor through its own pointer"

    def applies(self, judging: Judging) -> bool:
        """Whether the target compiles such kernels."""
        return bool(judging.referee.target.fences)

    def sweep(self, rerun: Rerunner, cases: Sequence[CaseJudge]) -> tuple[Outcome, CaseJudge] | None:
        """Call the last case, and some that are drawn."""
        if not cases:
            return None
        *others, last = cases
        chance = rerun.chance(self.id, last.inputs.case.dtype, "")
        for case in [last, *chance.sample(others, min(DRAWN, len(others)))]:
            outcome = rerun.call(case, {FENCE: True}).outcome
            if outcome.kind != "passed":
                return rerun.failed(self.id, "with each access checked: ", outcome, case), case
        return None
