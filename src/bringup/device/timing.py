"""What a tuner tries: the device measures and chooses, and the guest is told the same time for everything.

A guest that knows how long something takes knows more than its call says. So each trial takes `TOLD` seconds, as it is
told, wherever it runs; a tuner that asks Triton for a choice gets its first configuration that compiles. When it then
launches that one, the launches that it has tried for it with the same arguments are alternatives: kernels of the same
function, with arguments of the same kinds and names, the first `MOST` of them. The device runs whichever it likes, one
number for all launches of a call, up to as many as the launch with most has: in the judge each call is made with each
of these numbers, so that all that can run in use is judged; in use, and where times are taken, the one that is fastest
for the whole call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bringup.device.wire import LAUNCH

TOLD = 2e-5  # seconds
TURNS = 3  # that launches are timed in a trial, of which the shortest counts
MOST_TRIALS = 1 << 10  # of one call
MOST = 8  # alternatives of a launch, itself among them
MOST_MARKS = 8  # a tuner may try what tunes itself
# In a trial all memory holds zeros that may be read and written, and rules on what a call does are not asked.
TRIAL_MODE: dict[str, Any] = {
    "profile": True, "order": None, "tape": None, "host_bytes": None, "uploaded_bytes": None,
    "marks": {}, "written": None, "gaps": {}, "arguments": None, "elements": None, "results": [], "seed": None,
}  # fmt: skip


class Launchable(Protocol):
    """A kernel as one guest launches it."""

    @property
    def name(self) -> str:
        """Of its function: another function is no other configuration of it."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of its arguments."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """Of the same."""


@dataclass(frozen=True)
class Choice:
    """A launch that was tried."""

    kernel: int
    """Its number."""
    grid: tuple[int, int, int]
    seconds: float = 0.0
    """Of the trial, where it was timed."""

    def of(self, body: bytes | memoryview) -> bytes:
        """Return another launch's body with this kernel and grid in their place."""
        _, _, _, _, line, count = LAUNCH.unpack_from(body)
        return LAUNCH.pack(self.kernel, *self.grid, line, count) + bytes(body[LAUNCH.size :])


class Trials:
    """What one call has tried."""

    def __init__(self) -> None:
        self.count = 0
        self._open: list[list[bytes]] = []  # launches since each mark
        self._known: dict[bytes, list[Choice]] = {}  # by arguments

    def __bool__(self) -> bool:
        """Whether something is being tried just now."""
        return bool(self._open)

    def mark(self) -> bool:
        """Begin a trial; False where there are too many within each other."""
        self._open.append([])
        return len(self._open) <= MOST_MARKS

    def launch(self, body: bytes | memoryview) -> None:
        """Note a launch of the trial that was begun last."""
        self._open[-1].append(bytes(body))

    def wrote(self) -> None:
        """Note a copy or an upload: what the trial launches hangs on more than its arguments, and stands for none."""
        if self._open:
            self._open[-1].append(b"")  # which is no launch, and with one there are two

    def end(self, seconds: float = 0.0) -> bool:
        """End the trial that was begun last; False where none was, or where there are too many."""
        if not self._open:
            return False
        launched = self._open.pop()
        self.count += 1
        if len(launched) == 1 and len(launched[0]) >= LAUNCH.size:
            made = _choice(launched[0], seconds)
            known = self._known.setdefault(launched[0][LAUNCH.size :], [])
            if all((one.kernel, one.grid) != (made.kernel, made.grid) for one in known):
                known.append(made)
        return self.count <= MOST_TRIALS

    def alternatives(self, body: bytes | memoryview, launchers: Mapping[int, Launchable]) -> list[Choice]:
        """Return what may be run in the place of a launch, itself first, then as it was tried; empty for nothing else.

        It counts for this launch, and is forgotten then.

        `launchers`: kernels by their numbers.
        """
        if self._open or len(body) < LAUNCH.size:
            return []
        asked = _choice(bytes(body), 0.0)
        own = launchers.get(asked.kernel)
        known = self._known.pop(bytes(body[LAUNCH.size :]), [])
        alike = [one for one in known if own is not None and _alike(own, launchers.get(one.kernel))]
        alike.sort(key=lambda one: (one.kernel, one.grid) != (asked.kernel, asked.grid))
        tried = bool(alike) and (alike[0].kernel, alike[0].grid) == (asked.kernel, asked.grid)
        return alike[:MOST] if tried and len(alike) > 1 else []


def fastest(launches: Iterable[Sequence[float]]) -> int:
    """Return the number that is fastest for a call, of launches that took so many seconds each by alternative."""
    known = [seconds for seconds in launches if seconds]
    numbers = range(max(map(len, known), default=1))
    totals = [sum(seconds[number % len(seconds)] for seconds in known) for number in numbers]
    return totals.index(min(totals))


def _alike(one: Launchable, other: Launchable | None) -> bool:
    return other is not None and (one.name, one.names, one.kinds) == (other.name, other.names, other.kinds)


def _choice(body: bytes, seconds: float) -> Choice:
    kernel, first, second, third, _, _ = LAUNCH.unpack_from(body)
    return Choice(kernel, (first, second, third), seconds)


def told_seconds(microseconds: Iterable[float]) -> float:
    """Return the time of several launches in seconds: each counts in whole nanoseconds, so that sums are exact."""
    return sum(round(one * 1e3) for one in microseconds) / 1e9
