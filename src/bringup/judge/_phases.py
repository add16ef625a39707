"""Where the time of a judgement goes: seconds by phase, each second in the innermost one that is open."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager


class Phases:
    """A clock with named phases that may lie within one another. Nothing is decided by it."""

    def __init__(self) -> None:
        """Begin; what lies in no phase counts as `rest`."""
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._open = ["rest"]
        self._since = time.monotonic()

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Count the time of a block as `name`, but for phases within it."""
        self._charge()
        self._open.append(name)
        try:
            yield
        finally:
            self._charge()
            self._open.pop()

    def move(self, seconds: float, name: str) -> None:
        """Count seconds of the phase that is open as another one's: something known to have happened meanwhile."""
        self._seconds[self._open[-1]] -= seconds
        self._seconds[name] += seconds

    def seconds(self) -> dict[str, float]:
        """Return the seconds of each phase so far."""
        self._charge()
        return {name: round(max(0.0, seconds), 4) for name, seconds in sorted(self._seconds.items())}

    def _charge(self) -> None:
        now = time.monotonic()
        self._seconds[self._open[-1]] += now - self._since
        self._since = now
