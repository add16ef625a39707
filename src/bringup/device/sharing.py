"""Who takes times has the device alone: all others who use it share a lock, the clock takes it for itself.

One lock a device and user, so that several runs on one machine do not disturb each other either.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
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
    with _held(path, fcntl.LOCK_SH):
        yield


@contextmanager
def alone(path: str) -> Iterator[None]:
    """Use the device while nobody else does."""
    with _held(path, fcntl.LOCK_EX):
        yield


@contextmanager
def _held(path: str, how: int) -> Iterator[None]:
    if not path:
        yield
        return
    with Path(path).open("ab") as file:  # closing it, or dying, gives it back
        fcntl.flock(file, how)
        yield
