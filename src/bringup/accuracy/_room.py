"""How much memory a reference may ask for beyond what its process has."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_STATUS = Path("/proc/self/statm")  # its first number: the size of the address space in pages
MOST = 8 << 30  # bytes: results of the cap's size in double precision, and all that leads to them, have room


@contextmanager
def limited_memory(most: int = MOST) -> Iterator[None]:
    """Refuse requests for memory that let this process grow by more than `most` bytes.

    Without it a result of 100 GB, which no meta kernel has foretold, is refused on one host, swapped on another, and
    ends the process on a third. Where there is no /proc, or limits may not be asked for, nothing is limited.
    """
    try:
        size = int(_STATUS.read_text().split()[0]) * resource.getpagesize()
        before, highest = resource.getrlimit(resource.RLIMIT_AS)
        bounds = [bound for bound in (before, highest) if bound != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_AS, (min([size + most, *bounds]), highest))
    except (OSError, ValueError, IndexError):
        yield
        return
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (before, highest))
