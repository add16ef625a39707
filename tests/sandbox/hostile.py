"""Hostile candidates for the operator `double`: what each tries, and what its verdict must be.

Every source may call `double(input)`, which computes the right answer with a kernel. A candidate whose verdict must be
`passed` tries something forbidden, raises when it succeeds, and is judged like any other when it does not.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Hostile:
    """One candidate. `{canary}` in the source is the path of a directory outside with a file `secret` in it."""

    name: str
    source: str
    kinds: tuple[str, ...] = ("passed",)
    says: str = ""  # in summary or log
    degraded: bool = True  # whether it must hold without namespaces as well
    degraded_says: str | None = None


REFUSED = """
import errno, os

def refused(what, function, *arguments):
    try:
        result = function(*arguments)
    except (OSError, ValueError) as error:
        return
    raise AssertionError(f"{what} was possible: {result!r}")
"""
SYSCALL = (
    REFUSED
    + """
import ctypes, platform

LIBC = ctypes.CDLL(None, use_errno=True)

def call(x86_64, aarch64, *arguments):
    number = x86_64 if platform.machine() == "x86_64" else aarch64
    wide = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    if LIBC.syscall(ctypes.c_long(number), *wide) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return "done"
"""
)


def wrapper(body: str, before: str = "import os") -> str:
    """Return a module whose wrapper runs `body` and then computes the right answer."""
    lines = "\n".join(f"    {line}" for line in body.strip("\n").splitlines())
    return f"{before}\n\ndef wrapper(input):\n{lines}\n    return double(input)\n"
