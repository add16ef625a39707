"""What a problem's process may use."""

from __future__ import annotations

import os
import resource

SHARE = 0.6  # of the machine's memory


def limit_memory() -> None:
    """Limit this process's memory: a reference that takes more gets an error of its own, not the machine."""
    most = int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * SHARE)
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
