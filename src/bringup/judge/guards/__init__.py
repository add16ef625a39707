"""The judge's guards: what makes a right answer count. One class each, with an id that can be switched off."""

from __future__ import annotations

from collections.abc import Iterable

from bringup.errors import UnknownName
from bringup.judge.guards._base import Check, Finding, Guard, Rerun, Watch, spread
from bringup.judge.guards.compared import Aliasing, Launches, Mutation, Outputs
from bringup.judge.guards.events import HostEvents
from bringup.judge.guards.fresh import Fresh, Near
from bringup.judge.guards.ghost import Ghost
from bringup.judge.guards.plain import Arguments
from bringup.judge.guards.poison import Poison
from bringup.judge.guards.repeat import Repeat
from bringup.judge.guards.seal import Seal
from bringup.judge.guards.spy import DispatchSpy
from bringup.judge.guards.veil import Veil, VeilCurtain

# In the order in which they look on; `seal` first, so that the others are still what they were.
WATCHES: tuple[type[Watch], ...] = (Seal, HostEvents, Arguments, DispatchSpy, Poison, VeilCurtain)
CHECKS: tuple[type[Check], ...] = (Outputs, Mutation, Aliasing, Launches)
# The cheap and telling ones first.
RERUNS: tuple[type[Rerun], ...] = (Ghost, Veil, Fresh, Near, Repeat)
GUARDS: tuple[type[Guard], ...] = (
    DispatchSpy, HostEvents, Seal, Arguments, Poison, *CHECKS, *RERUNS,
)  # fmt: skip
IDS: tuple[str, ...] = tuple(guard.id for guard in GUARDS)


def guards_but(without: Iterable[str]) -> tuple[str, ...]:
    """Return the ids of all guards but some; raises UnknownName for an id that no guard has."""
    left_out = set(without)
    for name in left_out:
        if name not in IDS:
            raise UnknownName("guard", name, IDS)
    return tuple(name for name in IDS if name not in left_out)


__all__ = [
    "CHECKS", "GUARDS", "IDS", "RERUNS", "WATCHES", "Check", "Finding", "Guard", "Rerun", "Watch", "guards_but",
    "spread",
]  # fmt: skip
