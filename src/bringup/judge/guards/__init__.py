"""The judge's guards: what makes a right answer count. One class each, with an id that can be switched off."""

from __future__ import annotations

from collections.abc import Iterable

from bringup.errors import UnknownName
from bringup.judge.guards._base import Check, Guard, Rerun, RuleOfStream, spread
from bringup.judge.guards.boundaries import Boundaries
from bringup.judge.guards.chained import Chained
from bringup.judge.guards.choices import Choices
from bringup.judge.guards.compared import Aliasing, Launches, Mutation, Outputs, Provenance
from bringup.judge.guards.contents import Contents
from bringup.judge.guards.everyday import Everyday
from bringup.judge.guards.fenced import Fenced
from bringup.judge.guards.fresh import Fresh, Near
from bringup.judge.guards.numbers import Numbers
from bringup.judge.guards.ordinary import Ordinary
from bringup.judge.guards.rehearsed import Rehearsed
from bringup.judge.guards.relaid import Relaid
from bringup.judge.guards.repeat import Repeat
from bringup.judge.guards.rules import HostBytes, Reads, State, Stream
from bringup.judge.guards.shared import Shared
from bringup.judge.guards.shuffled import Shuffled

RULES: tuple[type[RuleOfStream], ...] = (Reads, HostBytes, Stream, State)
CHECKS: tuple[type[Check], ...] = (Provenance, Outputs, Mutation, Aliasing, Launches)
RERUNS: tuple[type[Rerun], ...] = (
    Fresh, Near, Repeat, Fenced, Relaid, Shared, Contents, Chained, Boundaries, Everyday, Ordinary, Numbers, Choices,
    Shuffled, Rehearsed,
)  # fmt: skip
GUARDS: tuple[type[Guard], ...] = (*RULES, *CHECKS, *RERUNS)
ALWAYS = (Stream.id, State.id)
IDS: tuple[str, ...] = tuple(guard.id for guard in GUARDS)


def guards_but(without: Iterable[str]) -> tuple[str, ...]:
    """Return the ids of all guards but some; raises UnknownName for an id that no guard has.

    Without `stream` and `state` nothing else could be counted: they stay.
    """
    left_out = set(without)
    for name in left_out:
        if name not in IDS:
            raise UnknownName("guard", name, IDS)
    return tuple(name for name in IDS if name in ALWAYS or name not in left_out)


def advice_of(guard: str) -> str:
    """What a candidate's author should do about a guard's finding; empty for an unknown id."""
    return next((known.advice for known in GUARDS if known.id == guard), "")


__all__ = [
    "CHECKS", "GUARDS", "IDS", "RERUNS", "RULES", "Check", "Guard", "Rerun", "RuleOfStream", "advice_of",
    "guards_but", "spread",
]  # fmt: skip
