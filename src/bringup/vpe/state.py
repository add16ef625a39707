"""What this process has switched on: profile, race mode, seed, checks; and the last launches."""

from __future__ import annotations

import collections
import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from bringup.vpe.profile import DEFAULT_PROFILE, PROFILE_VARIABLE, Profile, load_profile


@dataclass(frozen=True)
class Mode:
    """How launches run."""

    race: bool = False
    """Find races between programs; runs on one thread in an order drawn from `seed`."""
    seed: int | None = None
    """Order of programs; None is by number."""
    checks: bool = True
    """False leaves out poison checks of memory never written (bounds are always checked)."""
    by_line: bool = False
    """Count by line of the kernels' source as well, with copies of them made for that; no limit of cycles is kept."""
    cycles: int | None = None
    """Cycles that the programs of a launch may take together (`work` says how they are counted); None is no limit."""
    threads: int | None = None
    """Host threads; None takes the profile's."""
    dump_dir: str | None = None
    """Where core dumps go; None takes `$BRINGUP_VPE_DUMPS`, else none is written to disk."""
    read_only: tuple[Any, ...] = ()
    """Tensors whose storages no kernel may write; held here, so that their addresses stay theirs."""
    protected: tuple[tuple[int, int], ...] = ()
    """First and past-the-end address of the storages of `read_only`."""


_lock = threading.Lock()
_profiles: list[Profile] = []
_mode = Mode(race=os.environ.get("BRINGUP_VPE_RACE", "") not in ("", "0"))
_launches: collections.deque[Any] = collections.deque(maxlen=512)
_current: int | None = None


def environment_profile() -> str | None:
    """The profile that the environment asks for: `BRINGUP_VPE`, else `BRINGUP_VPE_PROFILE`."""
    return os.environ.get("BRINGUP_VPE") or os.environ.get(PROFILE_VARIABLE) or None


def set_profile(profile: str | Profile) -> int:
    """Make a profile the current one; returns its number in this process."""
    global _current  # noqa: PLW0603 - one current profile a process is the point
    loaded = load_profile(profile) if isinstance(profile, str) else profile
    with _lock:
        for number, known in enumerate(_profiles):
            if known.digest == loaded.digest:
                _current = number
                return number
        _profiles.append(loaded)
        _current = len(_profiles) - 1
        return _current


def profile_number() -> int:
    """Number of the current profile (what Triton sees as the device)."""
    return set_profile(environment_profile() or DEFAULT_PROFILE) if _current is None else _current


def profile(number: int | None = None) -> Profile:
    """The current profile, or that of a number."""
    return _profiles[profile_number() if number is None else number]


def mode() -> Mode:
    """How launches run now."""
    return _mode


def set_mode(**changes: Any) -> Mode:
    """Change the mode for all later launches; returns the old one."""
    global _mode
    if "read_only" in changes:
        changes["read_only"] = tuple(changes["read_only"])
        changes["protected"] = _storages(changes["read_only"])
    old, _mode = _mode, replace(_mode, **changes)
    return old


def _storages(tensors: Iterable[Any]) -> tuple[tuple[int, int], ...]:
    from bringup.vpe.memory import resolve

    found: dict[tuple[int, int], None] = {}
    for tensor in tensors:
        buffer = resolve(tensor, tensor.data_ptr())
        if buffer is not None and buffer.nbytes:
            found[(buffer.base, buffer.base + buffer.nbytes)] = None
    return tuple(found)


@contextmanager
def launch_mode(**changes: Any) -> Iterator[Mode]:
    """Change the mode for a block: `with launch_mode(race=True, seed=1): ...`. See `Mode` for the keywords."""
    global _mode  # noqa: PLW0603
    old = set_mode(**changes)
    try:
        yield _mode
    finally:
        _mode = old


@contextmanager
def protect(*tensors: Any) -> Iterator[None]:
    """Make storages read-only for a block: a kernel that writes one through any argument is a `read_only` fault.

    Takes vpe and CPU tensors, and adds to what is protected already. A storage is protected whole, with every view
    of it. Writes by the host (`copy_`) are not launches and stay allowed.
    """
    with launch_mode(read_only=(*_mode.read_only, *tensors)):
        yield


def record(stats: Any) -> None:
    """Keep a launch's statistics (the last 512)."""
    _launches.append(stats)


def last_launches(n: int | None = None) -> list[Any]:
    """Statistics of the last launches of this process, oldest first."""
    found = list(_launches)
    return found if n is None else found[-n:]


def clear_launches() -> None:
    """Forget the recorded launches."""
    _launches.clear()


def profile_named(name: str) -> Profile:
    """The profile of a target name: the current one if it has that name, else the last used one, else a shipped one."""
    current = profile()
    if current.name == name:
        return current
    for known in reversed(_profiles):
        if known.name == name:
            return known
    return load_profile(name)
