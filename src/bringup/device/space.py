"""The reserved range of addresses: the same in the guest, without any access right, and in the device process.

A handle is an address in this range. The guest's own allocations lie in the lower half, inputs that the referee puts
in lie in the upper half; neither half hands out an address twice in the life of a guest, so a stale handle never
names somebody else's memory.
"""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

BASE = 0x5000_0000_0000
SPAN = 64 << 30
MIDDLE = BASE + (SPAN >> 1)
END = BASE + SPAN
PAGE = mmap.PAGESIZE
ALIGNMENT = 64  # of every allocation, as device allocators promise; never less than a profile's
GAP = 64  # bytes between neighbours, so that one past the end is nobody's

_PROT_NONE, _PROT_READ_WRITE = 0, 3
_PRIVATE, _ANONYMOUS, _NORESERVE, _FIXED_NOREPLACE = 0x02, 0x20, 0x4000, 0x100000
_DONTNEED = 4


def _libc() -> Any:
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    library.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return library


def reserve(accessible: bool) -> None:
    """Reserve the range for this process and its forks; raises OSError where something else lies there.

    Not `accessible`: any touch of it is a segmentation fault. Otherwise pages come with the first touch.
    """
    rights = _PROT_READ_WRITE if accessible else _PROT_NONE
    flags = _PRIVATE | _ANONYMOUS | _NORESERVE | _FIXED_NOREPLACE
    got = _libc().mmap(BASE, SPAN, rights, flags, -1, 0)
    if got != BASE:
        raise OSError(ctypes.get_errno(), "the device's range of addresses cannot be reserved")


def drop(address: int, nbytes: int) -> None:
    """Give the whole pages between two addresses back to the system; they read as zeros afterwards."""
    first, end = -(-address // PAGE) * PAGE, (address + nbytes) // PAGE * PAGE
    if end > first:
        _libc().madvise(first, end - first, _DONTNEED)


def after(base: int, nbytes: int, alignment: int = ALIGNMENT) -> int:
    """The first address for an allocation behind one of `nbytes` at `base`."""
    alignment = max(alignment, ALIGNMENT)
    return -(-(base + nbytes + GAP) // alignment) * alignment
