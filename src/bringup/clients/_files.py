"""File names and atomic writes that the clients share."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from urllib.parse import quote, unquote


def file_stem(name: str) -> str:
    """Return `name` as a file stem: readable for usual names, reversible for any (`a/b` becomes `a%2Fb`)."""
    return quote(name, safe=" ~+,=@()[]")


def name_of(stem: str) -> str:
    """Return the name that `file_stem` was given."""
    return unquote(stem)


def write_atomically(path: Path, data: bytes, durable: bool = True) -> None:
    """Replace `path` in one step: a reader sees the old bytes or the new ones, never a part.

    `durable` also waits for the disk, which matters when the machine may lose power, not when a process dies.
    """
    temporary = write_aside(path.parent, data, durable)
    try:
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_aside(directory: Path, data: bytes, durable: bool = True) -> Path:
    """Write `data` to a hidden temporary file in `directory` and return its path."""
    descriptor, name = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=directory)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        os.chmod(name, 0o644)
    except BaseException:
        os.unlink(name)
        raise
    return Path(name)
