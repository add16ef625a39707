"""Whether the machine ran out of memory: what it then ends is nobody's fault but its own."""

from __future__ import annotations

import contextlib

OUT_OF_MEMORY = (
    "the machine ran out of memory and killed a process of the judge: fewer judge workers (--jobs), or more memory, "
    "then judge again"
)


def memory_kills() -> int:
    """Return how many processes the kernel has killed for want of memory since it started; 0 where it does not say."""
    with contextlib.suppress(OSError, ValueError), open("/proc/vmstat", encoding="ascii") as facts:
        return next((int(line.split()[1]) for line in facts if line.startswith("oom_kill ")), 0)
    return 0
