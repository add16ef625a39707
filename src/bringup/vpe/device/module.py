"""`torch.vpe`: the functions that PyTorch and its users expect of a device's module."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch

from bringup.vpe import state
from bringup.vpe.device import generator, tensors
from bringup.vpe.device.generator import Generator
from bringup.vpe.device.streams import Event, Stream, current_stream, default_stream, set_stream, stream

__all__ = [
    "DeviceProperties",
    "Event",
    "Generator",
    "Stream",
    "current_device",
    "current_stream",
    "default_generators",
    "default_stream",
    "device",
    "device_count",
    "empty_cache",
    "get_amp_supported_dtype",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "initial_seed",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "synchronize",
]

Device = Any  # torch.device | str | int | None
default_generators: tuple[Any, ...] = ()
"""The device's default generator; filled when the device is enabled."""


@dataclass(frozen=True)
class DeviceProperties:
    """What a program may want to know of the chip; all from its profile."""

    name: str
    profile: str
    multi_processor_count: int
    """Number of processing elements."""
    max_grid_height: int
    max_grid_width: int
    local_memory_bytes: int | None
    clock_rate_khz: int


def _index(which: Device) -> int:
    if which is None:
        return 0
    index = which if isinstance(which, int) else torch.device(which).index
    if not isinstance(which, int) and torch.device(which).type != tensors.NAME:
        raise ValueError(f"expected a {tensors.NAME} device, got {which}")
    if index not in (None, 0, -1):
        raise RuntimeError(f"there is one device {tensors.NAME}:0, not number {index}")
    return 0


class device(contextlib.ContextDecorator):
    """`with torch.vpe.device(0):`, for symmetry with other devices; there is only one."""

    def __init__(self, which: Device = None) -> None:
        self.idx = _index(which)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exception: object) -> None:
        return None


def init() -> None:
    """Nothing to do: the device is ready once enabled."""


def is_initialized() -> bool:
    """True."""
    return True


def is_available() -> bool:
    """True: a virtual device needs no hardware."""
    return True


def device_count() -> int:
    """1."""
    return 1


def current_device() -> int:
    """0."""
    return 0


def set_device(which: Device) -> None:
    """Accepts device 0 and raises `RuntimeError` for another."""
    _index(which)


def _is_in_bad_fork() -> bool:
    # Memory is private and copied on write: a forked child may go on using the device.
    return False


def synchronize(which: Device = None) -> None:
    """Launches are finished when they return; reports damage to device memory found so far (`DeviceMemoryError`)."""
    _index(which)
    tensors.allocator().raise_damage()


def get_device_name(which: Device = None) -> str:
    """For example `vpe pe64`."""
    _index(which)
    return f"vpe {state.profile().name}"


def get_device_capability(which: Device = None) -> tuple[int, int]:
    """Rows and columns of the grid of processing elements."""
    _index(which)
    grid = state.profile().grid
    return grid.rows, grid.columns


def get_device_properties(which: Device = None) -> DeviceProperties:
    """The chip of the active profile."""
    _index(which)
    profile = state.profile()
    return DeviceProperties(
        name=f"vpe {profile.name}",
        profile=profile.name,
        multi_processor_count=profile.grid.count,
        max_grid_height=profile.grid.rows,
        max_grid_width=profile.grid.columns,
        local_memory_bytes=profile.memory.local_bytes_per_pe,
        clock_rate_khz=int(profile.cost.clock_ghz * 1e6),
    )


# ---------------------------------------------------------------------- random numbers


def manual_seed(number: int) -> None:
    """Seed the device's default generator."""
    generator.default().manual_seed(int(number))


def manual_seed_all(number: int) -> None:
    """As `manual_seed`; `torch.manual_seed` calls it."""
    manual_seed(number)


def seed() -> int:
    """Seed the default generator from the system; return the seed."""
    value: int = generator.default().seed()
    return value


def seed_all() -> None:
    """As `seed`."""
    seed()


def initial_seed() -> int:
    """Seed of the default generator."""
    value: int = generator.default().initial_seed()
    return value


def get_rng_state(which: Device = None) -> Any:
    """State of the default generator, a CPU tensor of bytes."""
    _index(which)
    return generator.default().get_state()


def set_rng_state(state: Any, which: Device = None) -> None:
    """Set the state of the default generator."""
    _index(which)
    generator.default().set_state(state)


def get_rng_state_all() -> list[Any]:
    """States of all devices' generators."""
    return [get_rng_state()]


def set_rng_state_all(states: Iterable[Any]) -> None:
    """Set the states of all devices' generators."""
    for one in states:
        set_rng_state(one)


# ---------------------------------------------------------------------- memory


def memory_allocated(which: Device = None) -> int:
    """Bytes in live tensors."""
    _index(which)
    tensors.allocator().live()
    return tensors.allocator().statistics.allocated


def max_memory_allocated(which: Device = None) -> int:
    """Largest `memory_allocated` since the start or `reset_peak_memory_stats`."""
    _index(which)
    return tensors.allocator().statistics.peak_allocated


def memory_reserved(which: Device = None) -> int:
    """Bytes taken from the host."""
    _index(which)
    return tensors.allocator().statistics.reserved


def memory_stats(which: Device = None) -> dict[str, int]:
    """All counters of the allocator, with names as in `torch.cuda.memory_stats` where there is a counterpart."""
    _index(which)
    statistics = tensors.allocator().statistics
    return {
        "allocated_bytes.all.current": memory_allocated(),
        "allocated_bytes.all.peak": statistics.peak_allocated,
        "allocated_bytes.all.allocated": statistics.total_allocated,
        "reserved_bytes.all.current": statistics.reserved,
        "quarantined_bytes.all.current": statistics.quarantined,
        "allocation.all.current": statistics.allocations - statistics.frees,
        "allocation.all.allocated": statistics.allocations,
        "allocation.all.freed": statistics.frees,
        "damage.all": statistics.damage,
    }


def memory_summary(which: Device = None, abbreviated: bool = False) -> str:
    """`memory_stats` as text, a counter a line."""
    return "\n".join(f"{name:<34} {value:>16,}" for name, value in memory_stats(which).items())


def reset_peak_memory_stats(which: Device = None) -> None:
    """Let `max_memory_allocated` start again."""
    _index(which)
    tensors.allocator().reset_peak()


def mem_get_info(which: Device = None) -> tuple[int, int]:
    """Free and total bytes: of the allocator's limit if it has one, else of the host's memory."""
    _index(which)
    allocator = tensors.allocator()
    if allocator.limit is not None:
        return allocator.limit - memory_allocated(), allocator.limit
    import os

    page = os.sysconf("SC_PAGE_SIZE")
    return os.sysconf("SC_AVPHYS_PAGES") * page, os.sysconf("SC_PHYS_PAGES") * page


def empty_cache() -> None:
    """Give memory that is not in use back to the host; ends the quarantine of freed memory."""
    tensors.allocator().empty_cache()


# ---------------------------------------------------------------------- dtypes


def get_amp_supported_dtype() -> list[Any]:
    """Dtypes of `torch.autocast("vpe")`."""
    return [torch.float16, torch.bfloat16]


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the profile has bf16."""
    return state.profile().allows_dtype("bf16")
