"""What a guest is told of times: the same in the judge and in sealed use, to the last bit.

A wrapper that could tell the two apart by a time would be right in one and not in the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

TURNS = 3  # that launches are timed in a trial, of which the shortest counts
MOST_TRIALS = 1 << 10  # of one call
INFINITE = ("fault", "launch", "time")  # kinds of faults of the launches that are timed, which a tuner may pass over
# In a trial all memory holds zeros that may be read and written, and rules on what a call does are not asked.
TRIAL_MODE: dict[str, Any] = {
    "profile": True, "order": None, "tape": None, "host_bytes": None, "uploaded_bytes": None,
    "marks": {}, "written": None, "gaps": {}, "arguments": None, "results": [],
}  # fmt: skip


def told_seconds(microseconds: Iterable[float]) -> float:
    """Return the time of several launches in seconds: each counts in whole nanoseconds, so that sums are exact."""
    return sum(round(one * 1e3) for one in microseconds) / 1e9
