"""Who takes times has the device alone: all others who use it share a lock, the clock takes it for itself.

One lock a device and user, so that several runs on one machine do not disturb each other either. Beside it lies the
lock of whose turn it is: a shared lock is granted while others hold it, so that a clock would wait for as long as any
of many workers is at work; who waits for the device alone keeps others from coming in. So the lock is held for what the
device does and for nothing else: a process that computes for one which holds it would wait for it for ever.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bringup.config import DEVICES

WAIT_SECONDS = 600.0  # that the clock may wait for the calls of others


def lock_of(device: str, folder: Path) -> str:
    """Return the path of a device's lock in a folder of the user's: of the device that this process would open."""
    folder.mkdir(parents=True, exist_ok=True)
    seen = os.environ.get(DEVICES) or os.environ.get("CUDA_VISIBLE_DEVICES") or "all"
    name = f"{device}-{seen}"
    return str(folder / (re.sub(r"[^\w.-]+", "-", name) + ".lock"))


@contextmanager
def beside_others(path: str) -> Iterator[None]:
    """Use the device, but not while somebody takes times."""
    with _turn(path, fcntl.LOCK_SH) as turn, _held(path, fcntl.LOCK_SH):
        turn()
        yield


@contextmanager
def alone(path: str) -> Iterator[None]:
    """Use the device while nobody else does."""
    with _turn(path, fcntl.LOCK_EX) as turn, _held(path, fcntl.LOCK_EX):
        turn()
        yield


@contextmanager
def _turn(path: str, how: int) -> Iterator[Callable[[], object]]:
    """Wait for one's turn to ask for the lock; what is yielded ends the turn."""
    if not path:
        yield lambda: None
        return
    with Path(f"{path}.turn").open("ab") as file:
        fcntl.flock(file, how)
        yield lambda: fcntl.flock(file, fcntl.LOCK_UN)


@contextmanager
def _held(path: str, how: int) -> Iterator[None]:
    if not path:
        yield
        return
    with Path(path).open("ab") as file:  # closing it, or dying, gives it back
        fcntl.flock(file, how)
        yield
