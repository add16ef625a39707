"""Fresh and near inputs: the same shapes again with other values, all of them or one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bringup.judge.guards._base import Rerun

if TYPE_CHECKING:
    from bringup.judge._case import CaseJudge, Outcome
    from bringup.judge.guards._rerun import Rerunner

OTHER_SEED = 7_919  # added to the run's seed: the same cases with values that nothing has seen
MIN_ELEMENTS = 8
TRIES = 3


class Fresh(Rerun):
    """A second call in the same process with the values of another seed."""

    id = "fresh"
    catches = "state kept between calls, constants, answers cached by shape or address"
    misses = "answers cached by a digest of all values"
    per_dtype = 2

    def check(self, rerun: Rerunner, case: CaseJudge) -> Outcome | None:
        """Judge the same case of another seed right after the known one."""
        fresh = rerun.reseeded(case, OTHER_SEED)
        if fresh is None:
            return None
        first = rerun.outcome(case, {})
        outcome = first if first.kind != "passed" else rerun.outcome(fresh, {})
        if outcome.kind == "passed":
            return None
        words = "after another call" if outcome is first else "with other values of the same shapes"
        return replace(outcome, guard=self.id, summary=f"{words}: {outcome.summary}").with_call(
            case if outcome is first else fresh
        )


class Near(Rerun):
    """A second call whose inputs differ from the first in one value or two, inside the largest tensor.

    Found is who answers with the first call's result.
    """

    id = "near"
    catches = "answers cached by a part of the values (first elements, sums)"
    misses = "answers cached by a digest of all values, which are right"
    per_dtype = 1

    def check(self, rerun: Rerunner, case: CaseJudge) -> Outcome | None:
        """Change values until the right answer changes, and ask for it."""
        changed = self._changed(rerun, case)
        if changed is None:
            return None
        if rerun.outcome(case, {}).kind != "passed":
            return None  # `fresh` and `repeat` say so
        run = rerun.call(changed, {})
        # A small error on the changed values is the audit's business; the old answer is not.
        if run.outcome.kind != "wrong" or not rerun.answers(run, case):
            return None
        return rerun.cheated(
            self.id,
            "with one value changed the wrapper still gives the answer to the values before",
            "compute every call anew from all values",
        ).with_call(changed)

    def _changed(self, rerun: Rerunner, case: CaseJudge) -> CaseJudge | None:
        """Return the case with two inner values swapped, or one repeated; None where the answer stays the same."""
        import torch

        tensors = [t for _, t in case.tensors if t.numel() >= MIN_ELEMENTS and t.dtype is not torch.bool]
        if not tensors:
            return None
        size = max(t.numel() for t in tensors)
        position = next(i for i, (_, t) in enumerate(case.tensors) if t.numel() == size and t.dtype is not torch.bool)
        for attempt in range(TRIES):
            for swap in (True, False):
                one, other = size // 2 + attempt, size - 3 - attempt

                def alter(tensors: list[Any], one: int = one, other: int = other, swap: bool = swap) -> None:
                    tensor = tensors[position]
                    left = tuple(torch.unravel_index(torch.tensor(one), tensor.shape))
                    right = tuple(torch.unravel_index(torch.tensor(other), tensor.shape))
                    value = tensor[left].clone()
                    tensor[left] = tensor[right]
                    if swap:
                        tensor[right] = value

                changed = rerun.altered(case, alter)
                if changed is not None:
                    return changed
        return None
