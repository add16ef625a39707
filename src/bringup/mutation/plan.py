"""From kernels to the work of a benchmark: which mutants of which operators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from bringup.candidate import Candidate
from bringup.clients.recording import RecordingSet
from bringup.errors import FormatError
from bringup.mutation.benchmark import Task
from bringup.mutation.equivalent import Equivalents
from bringup.mutation.mutants import changed_copies, choose
from bringup.mutation.mutator import Mutator
from bringup.mutation.table import MUTATORS
from bringup.suites import Suite


def recorded_candidates(path: Path) -> dict[str, Candidate]:
    """Return the last candidate of every dialog in a set of recordings, by operator; raises FormatError."""
    return RecordingSet(path).candidates()


def make_task(
    suite: Suite,
    operator: str,
    candidate: Candidate,
    *,
    limit: int | None = None,
    seed: int = 0,
    mutators: Iterable[type[Mutator]] = MUTATORS,
) -> Task:
    """Choose the mutants of one candidate (all of them without a limit); raises FormatError, UnknownOperator."""
    described = suite.operator(operator)
    try:
        mutants = changed_copies(operator, candidate, mutators)
    except ValueError as error:
        raise FormatError(f"{operator}: {error}") from error
    return Task(described, candidate, tuple(choose(mutants, limit, seed)))


def stale_marks(
    kernels: Mapping[str, Candidate], equivalents: Equivalents, suite: str = "opinfo"
) -> dict[str, tuple[str, ...]]:
    """Return a suite's marks, by operator, that belong to no mutant of these kernels: a kernel or class has changed."""
    stale: dict[str, tuple[str, ...]] = {}
    for operator, candidate in kernels.items():
        if equivalents.marks(operator):
            digests = {mutant.digest for mutant in changed_copies(operator, candidate)}
            if gone := equivalents.stale(operator, digests, suite):
                stale[operator] = tuple(mark.mutant for mark in gone)
    return stale
