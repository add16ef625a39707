"""Who takes times has the device alone: calls of several workers share a lock, the clock takes it for itself.

One lock a device and user, so that several runs on one machine do not disturb each other either.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bringup.suites import cache_directory
from bringup.targets import Target

WAIT_SECONDS = 600.0  # that the clock may wait for the calls of others


def lock_of(target: Target) -> str:
    """Return the path of the lock of a target's device; "" where times are a model's, which nobody disturbs."""
    if target.clock == "model":
        return ""
    seen = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    folder = cache_directory().parent / "devices"
    folder.mkdir(parents=True, exist_ok=True)
    return str(folder / (re.sub(r"[^\w.-]+", "-", f"{target.name}-{seen}".strip("-")) + ".lock"))


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
