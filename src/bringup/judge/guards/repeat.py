"""Repeatability: the same call gives the same bits, also in another program order and with other fresh memory."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from bringup.judge.guards._base import Rerun

if TYPE_CHECKING:
    from bringup.judge._case import CaseJudge, Outcome
    from bringup.judge.guards._rerun import Rerunner

_SUMS = "several elements may be added into one with floating-point atomics, whose order is not fixed"
# Operators for which PyTorch itself documents a non-deterministic implementation
# (torch.use_deterministic_algorithms); their results stay within tolerance, but need not repeat bit by bit.
ATOMIC = {
    "bincount": _SUMS,
    "index_add": _SUMS,
    "index_put": _SUMS,
    "index_reduce": _SUMS,
    "nn.functional.ctc_loss": _SUMS,
    "nn.functional.embedding_bag": _SUMS,
    "put": _SUMS,
    "scatter_add": _SUMS,
    "scatter_reduce": _SUMS,
    "histogram": _SUMS,
    "histogramdd": _SUMS,
}
ORDER_SEED = 1


class Repeat(Rerun):
    """Two calls, the second with the other poison and, where the target can, programs in another order."""

    id = "repeat"
    catches = "races, uninitialised memory, results that depend on chance or on the order of programs"
    misses = "what happens once in many runs"
    per_dtype = 1

    def check(self, rerun: Rerunner, case: CaseJudge) -> Outcome | None:
        """Compare the bits of two calls."""
        one = rerun.call(case, {})
        other = rerun.call(case, {"second_poison": secrets.randbelow(254) + 1, "order": ORDER_SEED})
        for run in (one, other):
            if run.outcome.kind != "passed":
                return rerun.failed(self.id, "called once more: ", run.outcome, case)
        if rerun.operator.name in ATOMIC:
            return None
        difference = rerun.first_difference(one, other)
        if difference is None:
            return None
        return rerun.wrong(
            self.id,
            f"two calls on the same input differ: {difference}; memory is read or returned that nothing has written, "
            "or the result depends on the order of programs",
            case,
        )


def reason(operator: Any) -> str | None:
    """Return why an operator need not repeat bit by bit, or None."""
    return ATOMIC.get(operator)
