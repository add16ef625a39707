"""A kernel's source, for messages: what this process knows of it by itself.

A text says which file and line each operation comes from, and a text may say anything. So no file is opened because a
text names it: what a program has handed over lies in memory, and files are those of Triton's language and, where the
kernels are this program's own, of modules that it has imported.
"""

from __future__ import annotations

import functools
import linecache
import os
import sys

_told = {"by others": False}


def only_given() -> None:
    """From now on this process is told texts by others: it knows only what is in memory, and Triton's language."""
    _told["by others"] = True


def lines(file: str) -> list[str]:
    """The lines of a file, with their ends; none where it is nobody's that this process knows."""
    known = linecache.cache.get(file)
    if known is not None and len(known) == 4 and known[1] is None:  # from a notebook, a candidate, a library
        return list(known[2])
    if _of_language(file) or (not _told["by others"] and _of_a_module(file)):
        return linecache.getlines(file)
    return []


def line(file: str, number: int) -> str:
    """One line of a file without its end; "" where it is not known."""
    found = lines(file)
    return str(found[number - 1]).rstrip() if 0 < number <= len(found) else ""


@functools.cache
def _language() -> str:
    import triton.language

    return os.path.dirname(os.path.abspath(str(triton.language.__file__))) + os.sep


def _of_language(file: str) -> bool:
    return file.endswith(".py") and os.path.normpath(file) == file and file.startswith(_language())


def _of_a_module(file: str) -> bool:
    path = os.path.abspath(file)
    known = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return any(os.path.abspath(other) == path for other in known if other)
