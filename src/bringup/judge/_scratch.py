"""The judge's scratch folder: locked while its process lives, so that what a killed one has left can be swept."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import time
import weakref
from pathlib import Path

from bringup.judge._remove import remove_tree

PREFIX = "bringup-judge-"
LOCK = "owner.lock"
YOUNG_SECONDS = 60  # for so long a folder may be on its way to its lock
UNLOCKED_SECONDS = 86_400  # after so long a folder without a lock is left over from an older bringup


class Scratch:
    """A fresh folder in the system's place for temporary files."""

    def __init__(self) -> None:
        """Sweep what killed processes have left, then make the folder and lock it."""
        sweep(Path(tempfile.gettempdir()))
        self.name = tempfile.mkdtemp(prefix=PREFIX)
        # The kernel drops the lock with the process, however that ends; no child inherits it.
        lock = os.open(os.path.join(self.name, LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        self._finalizer = weakref.finalize(self, _close, self.name, lock)  # also of a pool that nobody closes

    def close(self) -> None:
        """Remove the folder; safe to call twice."""
        self._finalizer()

    def leave(self) -> None:
        """Let the folder be: it belongs to the process that this one was forked from."""
        self._finalizer.detach()


def _close(name: str, lock: int) -> None:
    remove_tree(name)
    os.close(lock)


def sweep(place: Path) -> list[str]:
    """Remove the folders in `place` whose processes are gone; return their names."""
    removed = []
    with contextlib.suppress(OSError):
        for folder in place.glob(f"{PREFIX}*"):
            if folder.is_symlink() or not _left_over(folder):
                continue
            remove_tree(str(folder))
            removed.append(folder.name)
    return removed


def _left_over(folder: Path) -> bool:
    try:
        found = folder.stat()
        if found.st_uid != os.getuid() or time.time() - found.st_ctime < YOUNG_SECONDS:
            return False
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        with contextlib.suppress(OSError):
            return time.time() - folder.stat().st_mtime > UNLOCKED_SECONDS
        return False
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True
