"""What a guard is. A guard finds candidates whose answers are right for the wrong reason.

Three kinds, by where they work: a `RuleOfStream` counts in the device process what a call asks of the device; a
`Check` is part of the comparison; a `Rerun` has the judge call the wrapper again under other circumstances once a
case has passed. None of them runs in the candidate's process. Importing this package imports neither torch nor
Triton: the ids are words of the configuration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from bringup.judge._case import CaseJudge
    from bringup.judge._judging import Judging
    from bringup.judge._outcome import Outcome
    from bringup.judge.guards._rerun import Rerunner


MUCH = 1 << 24  # bytes of arguments from which on a device may be full: what a wrapper says of it proves nothing


class Guard:
    """One guard. `catches` and `misses` are what the documentation says of it."""

    id: ClassVar[str]
    catches: ClassVar[str]
    misses: ClassVar[str]
    advice: ClassVar[str] = ""


class RuleOfStream(Guard):
    """An exact rule on the commands that a call sends to the device; checked in the device process."""


class Rerun(Guard):
    """Calls the wrapper again for cases that passed. `per_dtype` None: for every one of them."""

    per_dtype: ClassVar[int | None] = 1

    def applies(self, judging: Judging) -> bool:
        """Whether the guard has a meaning for this operator and target."""
        return True

    def find(self, rerun: Rerunner, cases: Mapping[str, Sequence[CaseJudge]]) -> tuple[Outcome, CaseJudge] | None:
        """Return what is wrong with the candidate, and for which of its cases, by dtype, all of which passed."""
        for of_dtype in cases.values():
            if (found := self.sweep(rerun, of_dtype)) is not None:
                return found
        return None

    def sweep(self, rerun: Rerunner, cases: Sequence[CaseJudge]) -> tuple[Outcome, CaseJudge] | None:
        """Return what is wrong with the candidate, and for which of the cases of one dtype, all of which passed."""
        for case in self.choose(cases):
            outcome = self.check(rerun, case)
            if outcome is not None:
                return outcome, case
        return None

    def choose(self, cases: Sequence[CaseJudge]) -> list[CaseJudge]:
        """Which of the cases of a dtype that passed are called again."""
        return spread(cases, self.per_dtype)

    def check(self, rerun: Rerunner, case: CaseJudge) -> Outcome | None:
        """Return what is wrong, or None."""
        raise NotImplementedError


class Check(Guard):
    """Part of the comparison of every case; switched off, that aspect is not looked at."""


def spread(items: Sequence[Any], count: int | None) -> list[Any]:
    """Choose at most `count` of `items`, evenly from the last to the first: late cases tend to be the larger ones."""
    if count is None or len(items) <= count:
        return list(items)
    if count == 1:
        return [items[-1]]
    step = (len(items) - 1) / (count - 1)
    return [items[round(i * step)] for i in range(count)]


def largest(case: CaseJudge) -> int:
    """Return the number of elements of a case's largest tensor."""
    return max((tensor.numel() for _, tensor in case.tensors), default=0)
