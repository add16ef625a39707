"""Repeatability: the same call gives the same bits, also in another program order."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bringup.judge.guards._base import Rerun

if TYPE_CHECKING:
    from bringup.judge._case import CaseJudge
    from bringup.judge._outcome import Outcome
    from bringup.judge.guards._rerun import Rerunner
    from bringup.operators import Operator

# Operators for which PyTorch itself documents a non-deterministic implementation
# (torch.use_deterministic_algorithms): several elements may be added into one with floating-point atomics, whose order
# is not fixed. Their results stay within tolerance, but need not repeat bit by bit.
ATOMIC = frozenset(
    {"bincount", "histogram", "histogramdd", "index_add", "index_put", "index_reduce", "nn.functional.ctc_loss"}
    | {"nn.functional.embedding_bag", "put", "scatter_add", "scatter_reduce", "_unsafe_masked_index_put_accumulate"}
)
# The same of overloads that no public operator does the work of alone (of others, `start` names it): parts of these
# operators, and gradients of which several meet in an element of what was padded, pooled, sampled or resized.
ATOMIC_OVERLOADS = re.compile(
    r"_histogramdd_from_bin_(cts|tensors)|_ctc_loss_backward|_embedding_bag_backward"
    r"|(_adaptive_avg_pool[23]d|adaptive_max_pool[23]d|avg_pool3d|grid_sampler_[23]d|(reflection|replication)_pad[123]d"
    r"|_?upsample_\w+)_backward(\.grad_input)?"
)


def may_add_in_any_order(operator: Operator) -> bool:
    """Whether results may hang on the order of additions by atomics, as PyTorch documents it for its own."""
    known = operator.name in ATOMIC or operator.start in ATOMIC
    return known or ATOMIC_OVERLOADS.fullmatch(operator.name) is not None


class Repeat(Rerun):
    """Two calls, the second with the programs in another order where the target can do that."""

    id = "repeat"
    catches = "races, uninitialised memory, results that depend on chance or on the order of programs"
    misses = "what happens once in many runs"
    per_dtype = 1

    def check(self, rerun: Rerunner, case: CaseJudge) -> Outcome | None:
        """Compare the bits of two calls."""
        for choice in _choices(case):
            outcome = self._twice(rerun, case, choice)
            if outcome is not None:
                return outcome
        return None

    def _twice(self, rerun: Rerunner, case: CaseJudge, choice: int) -> Outcome | None:
        """Compare two calls with the same alternatives: another kernel may sum in another order."""
        one = rerun.call(case, {"choice": choice})
        # An order that everybody knows would be one that a race suits.
        chance = rerun.chance(self.id, case.inputs.case.dtype, "order")
        other = rerun.call(case, {"choice": choice, "order": chance.getrandbits(31)})
        for run in (one, other):
            if run.outcome.kind != "passed":
                return rerun.failed(self.id, "called once more: ", run.outcome, case)
        if may_add_in_any_order(rerun.operator):
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


def _choices(case: CaseJudge) -> range:
    """The numbers of alternatives that a call has: one where a wrapper tries nothing."""
    return range(case.asked.alternatives)
