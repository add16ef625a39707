"""Compiled kernels by the digest of their text: made in a process that is thrown away, kept where only we write."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

from bringup.config import NO_CACHE
from bringup.device import frames
from bringup.files import write_atomically

KEPT_BYTES = 512 << 20  # in the folder; older files go first
SWEEP_EVERY = 500  # files that one process writes between two looks at the folder's size
SWEPT = ".swept"
SWEPT_FOR = 600.0  # seconds: a look at tens of thousands of files takes longer than many a verdict


class KernelStore:
    """A folder of compiled kernels, shared by candidates, runs and days. Damaged files are as good as none."""

    def __init__(self, folder: str | None) -> None:
        """Use a folder; None keeps kernels for this process only."""
        self.folder = Path(folder) if folder else None
        self._known: dict[str, tuple[dict[str, Any], bytes]] = {}
        self._written = 0

    def get(self, key: str) -> tuple[dict[str, Any], bytes] | None:
        """Facts and binary of a kernel, or None."""
        found = self._known.get(key)
        if found is None and self.folder is not None:
            found = _read(self.folder / key[:2] / key)
            if found is not None:
                self._known[key] = found
        return found

    def put(self, key: str, facts: dict[str, Any], binary: bytes, *, shared: bool = True) -> None:
        """Keep a kernel, for this process alone if it is not `shared`; a folder that cannot be written is none."""
        self._known[key] = facts, binary
        if self.folder is None or not shared:
            return
        head = json.dumps(facts).encode()
        body = len(head).to_bytes(4, "little") + head + binary
        try:
            target = self.folder / key[:2]
            target.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_atomically(target / key, hashlib.sha256(body).digest() + body, durable=False, mode=0o600)
        except OSError:
            self.folder = None
            return
        self._written += 1
        if self._written % SWEEP_EVERY == 0 or _due(self.folder / SWEPT):
            sweep(self.folder)


def user_cache() -> str:
    """The user's folder of caches."""
    return os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")


def kernels_folder(chosen: str) -> str | None:
    """Return the folder of compiled kernels as `JudgeConfig.kernel_cache` has it; None where none is wanted."""
    if chosen == NO_CACHE:
        return None
    if chosen:
        return str(Path(chosen).expanduser().resolve())
    return os.path.join(user_cache(), "bringup", "kernels")


def key_of(toolchain: str, request: dict[str, Any]) -> str:
    """The key of a text: toolchain, text before and after Triton's passes, options."""
    return frames.digest([toolchain, request["text"], request["source"], request["options"]])


def _due(stamp: Path) -> bool:
    """Whether nobody has looked at a folder for long; who asks looks. Each candidate has a process of its own."""
    try:
        if 0 <= time.time() - stamp.stat().st_mtime < SWEPT_FOR:
            return False
    except FileNotFoundError:
        pass
    except OSError:
        return False
    with contextlib.suppress(OSError):
        stamp.touch()
    return True


def _read(path: Path) -> tuple[dict[str, Any], bytes] | None:
    try:
        data = path.read_bytes()
        body = data[32:]
        if hashlib.sha256(body).digest() != data[:32]:
            return None
        size = int.from_bytes(body[:4], "little")
        return json.loads(body[4 : 4 + size]), body[4 + size :]
    except (OSError, ValueError):
        return None


def sweep(folder: Path, files: str = "*/*", most: int = KEPT_BYTES) -> None:
    """Remove the oldest files when the folder has grown too large, and what interrupted writers left."""
    found = []
    with contextlib.suppress(OSError):
        for path in folder.glob(files):
            with contextlib.suppress(OSError):
                stat = path.stat()
                found.append((stat.st_mtime, stat.st_size, path))
    total = sum(size for _, size, _ in found)
    for made, size, path in sorted(found):
        stale = path.name.startswith("tmp") and made < time.time() - 3600
        if total <= most and not stale:
            continue
        with contextlib.suppress(OSError):
            path.unlink()
            total -= size
