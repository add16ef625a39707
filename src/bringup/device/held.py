"""Triton's cache of compiled kernels in memory, for a process that has no files.

Triton keeps what it has compiled as files and reads it back from there. In a guest it is read from here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from triton import knobs
from triton.compiler import compiler
from triton.runtime.autotuner import Autotuner
from triton.runtime.cache import CacheManager

_files: dict[str, str | bytes] = {}
_groups: dict[str, dict[str, str]] = {}


def install() -> None:
    """Let Triton keep compiled kernels in this process's memory alone."""
    knobs.cache.manager_class = HeldCache
    vars(compiler)["Path"] = HeldPath
    Autotuner.check_disk_cache = _measured


def _measured(tuner: Any, key: Any, configs: Any, measure: Callable[[], Any]) -> bool:
    """What `cache_results=True` asks for: there is nothing to be read, and nobody to keep it for."""
    measure()
    return False


class HeldCache(CacheManager):  # type: ignore[misc]
    """What Triton asks for the files of one kernel."""

    def __init__(self, key: str, override: bool = False, dump: bool = False) -> None:
        self.key = key

    def get_file(self, filename: str) -> str | None:
        """The path of a file that is held."""
        path = self._path(filename)
        return path if path in _files else None

    def put(self, data: Any, filename: str, binary: bool = True) -> str:
        """Hold a file; gives its path."""
        path = self._path(filename)
        _files[path] = data if isinstance(data, bytes) else str(data)
        return path

    def get_group(self, filename: str) -> dict[str, str] | None:
        """The files that were held together."""
        return _groups.get(self._path(filename))

    def put_group(self, filename: str, group: dict[str, str]) -> None:
        """Hold files together."""
        _groups[self._path(filename)] = dict(group)

    def _path(self, filename: str) -> str:
        return f"held/{self.key}/{filename}"


class HeldPath(type(Path())):  # type: ignore[misc]
    """A path under which something may be held."""

    def read_text(self, *args: Any, **kwargs: Any) -> str:
        """What is held, or the file."""
        held = _files.get(str(self))
        return str(super().read_text(*args, **kwargs) if held is None else held)

    def read_bytes(self) -> bytes:
        """What is held, or the file."""
        held = _files.get(str(self))
        if held is None:
            return bytes(super().read_bytes())
        return held if isinstance(held, bytes) else held.encode()
