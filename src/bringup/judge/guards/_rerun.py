"""What reruns use: call the wrapper again under other circumstances, with other values, and say what came out."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from bringup.judge import _codec
from bringup.judge._case import CaseJudge
from bringup.judge._outcome import Outcome

if TYPE_CHECKING:
    from bringup.judge._referee import Judging


@dataclass(frozen=True)
class Run:
    """One more call: what it was worth and the tensors it returned."""

    outcome: Outcome
    tensors: tuple[tuple[str, torch.Tensor], ...]


class Rerunner:
    """The judge's side of reruns for one candidate."""

    def __init__(self, judging: Judging) -> None:
        """Rerun for a candidate whose cases have passed."""
        self._judging = judging
        self.operator = judging.operator
        self.runs = 0
        self.random = random.Random(judging.job.fresh_seed)

    def call(self, case: CaseJudge, mode: dict[str, Any]) -> Run:
        """Call the wrapper on a case in a mode (`order`: a seed)."""
        self.runs += 1
        outcome = self._judging.call(case, mode)
        return Run(outcome, tuple(case.tensors_returned))

    def outcome(self, case: CaseJudge, mode: dict[str, Any]) -> Outcome:
        """Return what such a call is worth."""
        return self.call(case, mode).outcome

    def reseeded(self, case: CaseJudge, count: int) -> list[CaseJudge]:
        """Draw up to `count` cases of a case's dtype under the job's other seed, such that compute something first."""
        judging, known = self._judging, case.inputs.case
        offered = judging.referee.other_cases(known, self.operator.suite, judging.job)
        self.random.shuffle(offered)
        telling: list[CaseJudge] = []
        others: list[CaseJudge] = []
        for inputs in offered:
            fresh = self._judging.case(inputs, self._judging.expect_anew)
            if not self._answers(fresh):
                continue
            (others if fresh.trivial() else telling).append(fresh)
            if len(telling) == count:
                break
        return telling or others[:count]

    def altered(self, case: CaseJudge, alter: Callable[[list[torch.Tensor]], None]) -> CaseJudge | None:
        """Return the case with some values changed; None where that is no valid call or has the same answer."""
        args, kwargs = _codec.clone_tree([tuple(case.args), case.kwargs])
        inputs = replace(case.inputs, args=args, kwargs=kwargs)
        changed = self._judging.case(inputs, self._judging.expect_anew)
        with contextlib.suppress(Exception):
            alter([tensor for _, tensor in changed.tensors])
            if self._answers(changed) and not changed.same_answer(case):
                return changed
        return None

    def given(self, case: CaseJudge, **changes: Any) -> CaseJudge:
        """Return the case with other keyword arguments."""
        inputs = replace(case.inputs, kwargs={**case.kwargs, **changes})
        return self._judging.case(inputs, self._judging.expect_anew)

    def _answers(self, case: CaseJudge) -> bool:
        try:
            case.answer()
        except Exception:
            return False
        return True

    def answers(self, run: Run, case: CaseJudge) -> bool:
        """Whether a call returned the right answer of another case, tensor by tensor."""
        return case.accepts(list(run.tensors))

    def first_difference(self, one: Run, other: Run) -> str | None:
        """Say where the bits of two runs differ first."""
        for (path, left), (_, right) in zip(one.tensors, other.tensors, strict=False):
            a, b = (t.detach().clone(memory_format=torch.contiguous_format).reshape(-1) for t in (left, right))
            if a.dtype != b.dtype or a.shape != b.shape:
                return f"{path} has another dtype or shape"
            width = a.element_size()
            bits = (a.view(torch.uint8).reshape(-1, width) != b.view(torch.uint8).reshape(-1, width)).any(1).nonzero()
            if bits.numel():
                index = int(bits[0])
                where = tuple(int(i) for i in torch.unravel_index(torch.tensor(index), left.shape))
                return f"{path}{list(where)} is {a[index].item()!r} once and {b[index].item()!r} then"
        return None

    def wrong(self, guard: str, summary: str, case: CaseJudge) -> Outcome:
        """Return the outcome of a result that cannot be relied on."""
        return Outcome("wrong", summary, guard=guard).with_call(case)

    def failed(self, guard: str, words: str, outcome: Outcome, case: CaseJudge) -> Outcome:
        """Return a failure in a rerun, with the circumstances in its summary."""
        return replace(outcome, guard=guard, summary=words + outcome.summary).with_call(case)
