"""What a guard is. A guard finds candidates whose answers are right for the wrong reason.

Three kinds, by where they work: a `Watch` looks on inside the worker while the wrapper runs; a `Rerun` has the judge
call the wrapper again under other circumstances once a case has passed; a `Check` is part of the comparison itself.
Importing this package imports neither torch nor Triton: the ids are words of the configuration.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from bringup.judge._case import CaseJudge, Outcome
    from bringup.judge.guards._rerun import Rerunner


@dataclass(frozen=True)
class Finding:
    """What a watch saw: one line of words, and the line of the candidate's source (0: unknown)."""

    guard: str
    what: str
    line: int = 0

    def to_json(self) -> list[Any]:
        """Return the finding as the worker sends it."""
        return [self.guard, self.what, self.line]


class Guard:
    """One guard. `catches` and `misses` are what the documentation says of it."""

    id: ClassVar[str]
    catches: ClassVar[str]
    misses: ClassVar[str]


class Watch(Guard):
    """Looks on in the worker. Created once per worker, before the candidate is loaded."""

    advice: ClassVar[str] = ""

    def __init__(self, target: Any, facts: dict[str, Any]) -> None:
        """Take the target and what the judge says of the operator (`reads_values`)."""
        self.target = target
        self.facts = facts
        self.findings: list[Finding] = []

    def start(self) -> None:
        """Prepare, before the candidate's module is executed."""

    def builtins(self) -> dict[str, Any] | None:
        """Return the builtins that the candidate's module gets, None for the usual ones."""
        return None

    def loaded(self, module: Any) -> None:
        """See the candidate's module when it has been executed."""

    def around(self, mode: dict[str, Any]) -> AbstractContextManager[Any]:
        """Return a context for one call of the wrapper (`mode`: how the judge wants this call)."""
        return nullcontext()

    def inputs(self, storages: list[Any]) -> None:
        """See the storages of the arguments before the wrapper runs, with dispatch modes off."""

    def launching(self, kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """See a launch that the wrapper is about to make."""

    def outside(self) -> AbstractContextManager[Any]:
        """Return a context for what is not the wrapper's doing: the launch of a kernel."""
        return nullcontext()

    def inside(self) -> AbstractContextManager[Any]:
        """Return a context for what is the wrapper's doing within a launch: a grid, a hook."""
        return nullcontext()

    def before(self, func: Any, args: Any, kwargs: Any) -> None:
        """See an ATen call that the wrapper is about to make."""

    def broken(self, func: Any) -> None:
        """See that an ATen call raised: nothing comes `after` it."""

    def after(self, func: Any, args: Any, result: Any) -> None:
        """See the result of an ATen call."""

    def finish(self) -> None:
        """Look once more when the wrapper has returned or raised."""

    def take(self) -> list[Finding]:
        """Return what was found since the last call."""
        found, self.findings = self.findings, []
        return found


class Rerun(Guard):
    """Calls the wrapper again for cases that passed. `per_dtype` None: for every one of them."""

    per_dtype: ClassVar[int | None] = 1

    def applies(self, job: dict[str, Any]) -> bool:
        """Whether the guard has a meaning for this operator and target."""
        return True

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
