"""What the parent of guests does before it imports anything: what its imports note, its guests find in their memory.

The modules of Python and PyTorch note when they were imported, in which folder, on which host, and draw a key. A
wrapper that goes by these is right where it is judged and wrong elsewhere, or later.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import posix
import re
import struct

from bringup.judge.sandbox import _kernel, _timeless

HOST = "guest"
RELEASE = "6.0.0"  # of the kernel: NumPy asks whether it is older than 4.6
AT_RANDOM, RANDOM_BYTES = 25, 16  # of the auxiliary vector: getauxval(3)


def begin() -> str:
    """Stop the clock, and give this process a host's name, a folder and a key that every such process has.

    Returns why the clock goes on, or "". `imported` ends what holds for the imports alone.
    """
    os.chdir("/")
    named = os.uname_result(("Linux", HOST, RELEASE, "", _kernel.machine()))
    os.uname = lambda: named
    os.urandom = bytes  # n bytes of zero: multiprocessing's key
    if "clock" in os.environ.get("BRINGUP_SANDBOX_WITHOUT", "").split(","):
        return "switched off"
    try:
        _timeless.stop_the_clock()
    except OSError as error:
        return str(error.strerror or error)
    except (ValueError, LookupError, struct.error) as error:  # a vDSO of another make
        return str(error)
    return ""


def imported() -> None:
    """Let chance be chance again, for device processes and compilers; forget what the kernel drew for this one."""
    import random

    os.urandom = random._urandom = posix.urandom  # type: ignore[attr-defined]
    libc = _kernel.libc()
    libc.getauxval.restype = ctypes.c_ulong
    drawn = libc.getauxval(ctypes.c_ulong(AT_RANDOM))
    if drawn:
        ctypes.memset(drawn, 0, RANDOM_BYTES)


def forget(name: bytes) -> None:
    """Overwrite a name with zeros wherever it lies in this process's memory, freed memory too.

    Nobody may use the name afterwards, in whatever it was part of. It must be one that nothing else can be.
    """
    libc = _kernel.libc()
    libc.memmem.restype = ctypes.c_void_p
    page = mmap.mmap(-1, mmap.PAGESIZE)  # of its own, so that it is not found while it is looked for
    page.write(name)
    needle = ctypes.addressof(ctypes.c_char.from_buffer(page))
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
        maps = re.findall(r"^([0-9a-f]+)-([0-9a-f]+) rw[^\[\n]*(\[\w+)?", file.read(), re.MULTILINE)
    for first, last, special in maps:
        at, end = int(first, 16), int(last, 16)
        if at <= needle < end or special.startswith("[v"):
            continue
        while at is not None and at < end:
            at = libc.memmem(ctypes.c_void_p(at), ctypes.c_size_t(end - at), ctypes.c_void_p(needle), len(name))
            if at is not None:
                ctypes.memset(at, 0, len(name))
    ctypes.memset(needle, 0, len(name))
