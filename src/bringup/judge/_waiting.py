"""How long processes have waited for a processor, which a limit of wall time must not count against a candidate."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

PROC = Path("/proc")
STARVED = 1 / 3  # of a call's seconds: who waited so long for a processor is judged once more


def run_delay(pid: int) -> float:
    """Return the seconds for which the first thread of a process was ready to run and did not; 0.0 where unknown.

    The second field of `/proc/PID/schedstat`, in nanoseconds. A thread cannot make it larger than the time that went
    by, whatever others it starts.
    """
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int((PROC / str(pid) / "schedstat").read_text().split()[1]) * 1e-9
    return 0.0


def children(pid: int) -> list[int]:
    """Return the processes that a process has started and that are still there; none where the kernel does not say."""
    with contextlib.suppress(OSError, ValueError):
        return [int(word) for word in (PROC / str(pid) / "task" / str(pid) / "children").read_text().split()]
    return []


class Waiting:
    """What some processes wait from now on."""

    def __init__(self, pids: Iterable[int]) -> None:
        """Begin to count; who is not there waits for nothing."""
        self._before = {pid: run_delay(pid) for pid in pids}

    def starved(self, seconds: float) -> bool:
        """Whether one of them has waited for a large part of so many seconds."""
        return any(run_delay(pid) - before >= STARVED * seconds for pid, before in self._before.items())
