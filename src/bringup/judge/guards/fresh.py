"""Fresh and near inputs: cases of another seed, and cases of which one value or two are changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bringup.judge.guards._base import Rerun, largest

if TYPE_CHECKING:
    from bringup.judge._case import CaseJudge
    from bringup.judge._judging import Judging
    from bringup.judge._outcome import Outcome
    from bringup.judge.guards._rerun import Rerunner

MIN_ELEMENTS = 8
TRIES = 3
DRAWN = 3  # cases of a dtype that are drawn
RANDOM = 10  # of operators that draw: all that a dtype has, with other numbers each
ADDED = 3  # and so many of those that a suite has added: who knows the suite could answer these, and compute the others


class Fresh(Rerun):
    """More calls, on cases of another seed, which nobody could know before; of any shape, drawn by that seed."""

    id = "fresh"
    # The seed is drawn for each verdict and recorded in it: who knows the seed can compute the inputs, and the answers.
    catches = (
        "constants of the source, answers by shape or number of the call, inputs computed anew from the suite's seed"
    )
    misses = "answers that are right for these values, too"
    per_dtype = 1  # what is asked for are the dtype's cases under another seed

    def check(self, rerun: Rerunner, case: CaseJudge) -> Outcome | None:
        """Judge some of the dtype's cases of another seed."""
        for fresh in rerun.reseeded(case, RANDOM if "random" in case.inputs.notes else DRAWN, ADDED):
            if "random" in case.inputs.notes:
                rerun.drawn_first()  # of others such calls find what a guest remembers; other guards make first ones
            outcome = rerun.outcome(fresh, {})
            if outcome.kind != "passed":
                words = "with values of another seed"
                summary = f"{words}: {outcome.summary}"
                return replace(outcome, guard=outcome.guard or self.id, summary=summary).with_call(fresh)
        return None


class Near(Rerun):
    """More calls whose inputs differ from the first in one value or two, inside the largest tensor.

    Found is who answers with the first call's result. Asked of operators that may read values: others know none.
    """

    id = "near"
    catches = "answers cached by a part of the values (first elements, sums)"
    misses = "answers cached by a digest of all values, which are right"
    advice = "compute every call anew from all values"
    per_dtype = 8  # where a changed value changes nothing, the next one is tried

    def applies(self, judging: Judging) -> bool:
        """Only what has been read can be remembered."""
        return bool(judging.reads.nbytes)

    def choose(self, cases: Sequence[CaseJudge]) -> list[CaseJudge]:
        """The largest: in a small one few places are left out."""
        return sorted(cases, key=largest, reverse=True)[: self.per_dtype]

    def check(self, rerun: Rerunner, case: CaseJudge) -> Outcome | None:
        """Change values until the right answer changes, and ask for it; also where all tensors hold the same values."""
        from bringup.judge._outcome import cheated

        for base in (case, rerun.altered(case, _all_alike)):
            every = [] if base is None else self._changed(rerun, base)
            if base is None or not every or rerun.outcome(base, {}).kind != "passed":
                continue  # `fresh` and `repeat` say so
            for words, changed in every:
                run = rerun.call(changed, {})
                if run.outcome.kind in ("crashed", "raised", "cheated"):
                    return rerun.failed(run.outcome.guard or self.id, f"with {words}: ", run.outcome, changed)
                # A small error on the changed values is the audit's business; the old answer is not.
                if run.outcome.kind == "wrong" and rerun.answers(run, base):
                    text = f"with {words} the wrapper still gives the answer to the values before"
                    return cheated(self.id, text).with_call(changed)
        return None

    def _changed(self, rerun: Rerunner, case: CaseJudge) -> list[tuple[str, CaseJudge]]:
        """Return the case with one inner value changed, and with two swapped: each where that changes the answer.

        Both are asked for: who adds the values up, or digests them in any order, sees the first and not the second.
        """
        import torch

        tensors = [t for _, t in case.tensors if t.numel() >= MIN_ELEMENTS and t.dtype is not torch.bool]
        if not tensors:
            return []
        size = max(t.numel() for t in tensors)
        position = next(i for i, (_, t) in enumerate(case.tensors) if t.numel() == size and t.dtype is not torch.bool)
        # Fixed places could be looked at, and no others.
        places = [rerun.random.sample(range(size), 2) for _ in range(TRIES)]
        found: list[tuple[str, CaseJudge]] = []
        for words, swap in (("one value changed", False), ("two values swapped", True)):
            for one, other in places:

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
                    found.append((words, changed))
                    break
        return found


def _all_alike(tensors: list[Any]) -> None:
    """Give every tensor the values of the first one of its shape and dtype."""
    first: dict[Any, Any] = {}
    for tensor in tensors:
        tensor.copy_(first.setdefault((tensor.shape, tensor.dtype), tensor))
