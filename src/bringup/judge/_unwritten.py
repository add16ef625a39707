"""A reference that hands out memory which it has not written gives another result once new memory is full of bytes."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Iterator

_changing = threading.Lock()
_within: list[None] = []  # one for each thread that is
_PERTURB, FILLING = -6, 0x5A  # of glibc's `mallopt`; the bytes of what is allocated, their complement of what is freed


@contextlib.contextmanager
def filled_memory() -> Iterator[None]:
    """Within this, what this process allocates holds bytes of which no result is made; with glibc alone.

    `circular` padding of PyTorch's, for one, copies what it has not written where one side is cropped.
    """
    options = getattr(ctypes.CDLL(None), "mallopt", None)
    if options is None:
        yield
        return
    with _changing:
        _within.append(None)
        options(_PERTURB, FILLING)
    try:
        yield
    finally:
        with _changing:  # other threads may be within, too
            _within.pop()
            if not _within:
                options(_PERTURB, 0)
