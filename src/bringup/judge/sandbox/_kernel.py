"""Calls to the Linux kernel that Python does not offer: numbers by architecture, errors as OSError."""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from typing import Any

# Numbers differ between architectures only for calls older than 2019; x86_64 first, then aarch64.
_NUMBERS = {
    "capset": (126, 91),
    "clone": (56, 220),
    "pivot_root": (155, 41),
    "seccomp": (317, 277),
    "mount_setattr": (442, 442),
    "landlock_create_ruleset": (444, 444),
    "landlock_add_rule": (445, 445),
    "landlock_restrict_self": (446, 446),
}
ARCHITECTURES = ("x86_64", "aarch64")

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP = 1, 4, 24
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 36, 38, 47


@functools.cache
def libc(releases_the_lock: bool = True) -> Any:
    """Return the C library; with `releases_the_lock` False its functions run under the interpreter's lock."""
    return (ctypes.CDLL if releases_the_lock else ctypes.PyDLL)(None, use_errno=True)


def machine() -> str:
    """The processor, as Python was built for it: to ask the kernel would also be told the host's name."""
    return str(getattr(sys.implementation, "_multiarch", "")).partition("-")[0] or os.uname().machine


def known_architecture() -> bool:
    """Whether the numbers of the calls are known here."""
    return machine() in ARCHITECTURES


def number(name: str) -> int:
    """Return the number of a system call; raises OSError (ENOSYS) on an unknown architecture."""
    if not known_architecture():
        raise OSError(38, f"{name}: the architecture {machine()} is not supported")
    return _NUMBERS[name][ARCHITECTURES.index(machine())]


def checked(result: int, what: str) -> int:
    """Return `result`, or raise OSError with the C library's errno when it is negative."""
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def syscall(name: str, *args: Any) -> int:
    """Make a system call; integers are passed as 64 bits. Raises OSError."""
    wide = [ctypes.c_long(a) if isinstance(a, int) else a for a in args]
    return checked(libc().syscall(ctypes.c_long(number(name)), *wide), name)


def prctl(option: int, *args: int) -> int:
    """Call prctl(2); raises OSError."""
    values = [ctypes.c_ulong(a) for a in (*args, 0, 0, 0, 0)[:4]]
    return checked(libc().prctl(ctypes.c_int(option), *values), f"prctl {option}")


def mount(source: str, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    """Call mount(2); raises OSError."""
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind, options)]
    result = libc().mount(texts[0], texts[1], texts[2], ctypes.c_ulong(flags), texts[3])
    checked(result, f"mount {target}")


def why(error: OSError) -> str:
    """Return the error's message without its number."""
    return str(error.strerror or error)
