"""Local memory of the program that a host thread runs: as large as its kernel asks for, with nothing around it.

An access beyond its end stops the process, in every launch alike: what earlier launches needed gives no room.
"""

from __future__ import annotations

import ctypes
import mmap

GUARD = 16 << 20
"""Bytes before and behind that nobody may touch: no memory is taken for them."""
ALIGNMENT = 64
MOST_SCRATCH = 256 << 20
"""Bytes of one program's local memory as the simulator lays it out: it is wiped before each launch, and kept."""
_ACCESSIBLE = mmap.PROT_READ | mmap.PROT_WRITE


class Arena:
    """Room that grows; each kernel gets the end of it."""

    def __init__(self) -> None:
        self._size, self._end = 0, 0
        self._held: object = None  # the mapping, which ends with the last reference

    def place(self, nbytes: int) -> int:
        """Address of `nbytes` (rounded up to `ALIGNMENT`) that hold zeros, and end where nobody may go on."""
        nbytes = -(-nbytes // ALIGNMENT) * ALIGNMENT
        if nbytes > self._size:
            self._grow(nbytes)
        ctypes.memset(self._end - nbytes, 0, nbytes)
        return self._end - nbytes

    def _grow(self, nbytes: int) -> None:
        size = -(-nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
        room = mmap.mmap(-1, size + 2 * GUARD, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=_ACCESSIBLE)
        held = ctypes.c_char.from_buffer(room)
        start = ctypes.addressof(held)
        libc = ctypes.CDLL(None, use_errno=True)
        for guard in (start, start + GUARD + size):
            if libc.mprotect(ctypes.c_void_p(guard), ctypes.c_size_t(GUARD), 0):
                raise OSError(ctypes.get_errno(), "mprotect: no guard around a program's local memory")
        self._size, self._end = size, start + GUARD + size
        self._held = held
