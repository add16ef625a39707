"""Launches of a call, kept by its signature: the same call again launches at once, without wrapper and Triton.

A wrapper sees no data, so what it launches follows from its arguments' signature, the values of its numbers, and what
may be seen of addresses: their alignment, offsets, and which arguments lie on one another. All of that is in the key.
Only calls are kept whose wrapper did nothing on the device but launch: no allocation, no copy, no value read, so that
nothing but the launches' pointers can differ the next time. On `vpe`, whose launches and memory we see.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch

from bringup.vpe import launch, memory
from bringup.vpe.device import tensors

KEPT = 16
"""Keys kept for each plan of a form; beyond them calls run their wrappers."""
ALIGNMENT = 64
"""Bytes: what a wrapper may know of an address is its remainder by this. Triton looks at 16, profiles at up to 64."""

_recording = threading.Lock()


class Launch:
    """One launch, with the pointers left open."""

    __slots__ = ("fixed", "function", "grid", "launcher", "pointers")

    def __init__(
        self, launcher: Any, function: Any, grid: tuple[int, int, int], packed: Any, places: list[Any]
    ) -> None:
        self.launcher, self.function, self.grid = launcher, function, grid
        self.fixed = packed.copy()
        self.pointers: list[tuple[int, str, int, int]] = places
        """Position among the arguments, name, number of the tensor (-1: null), bytes from its first element."""

    def run(self, given: Sequence[torch.Tensor]) -> None:
        """Launch on these tensors."""
        packed = self.fixed.copy()
        buffers: list[memory.Buffer | None] = []
        for position, name, number, offset in self.pointers:
            if number < 0:
                buffers.append(None)
                continue
            tensor = given[number]
            pointer = tensor.data_ptr() + offset
            packed[position] = launch.signed(pointer)
            buffer = memory.resolve(tensor, pointer)
            if buffer is not None:
                buffer.name = name
            buffers.append(buffer)
        if self.function.follows:
            buffers += memory.others(buffers)
        launch.run(self.function, self.launcher.profile, self.grid, self.launcher, packed, buffers, silent=True)


class Replays:
    """The kept calls of one plan."""

    def __init__(self) -> None:
        self.kept: dict[Any, list[Launch] | None] = {}
        self.replayed = 0

    def call(self, wrapper: Callable[[Sequence[Any]], Any], values: Sequence[Any]) -> None:
        """Make a call: from what was kept if there is such, else by the wrapper. Results are in its arguments."""
        given = [value for value in values if isinstance(value, torch.Tensor)]
        key = _key(values, given)
        try:
            launches = self.kept[key]
        except KeyError:
            if len(self.kept) >= KEPT:
                wrapper(values)
            else:
                self.kept[key] = _record(wrapper, values, given)
            return
        if launches is None:
            wrapper(values)
            return
        self.replayed += 1
        for one in launches:
            one.run(given)


def replayable(values: Sequence[Any]) -> bool:
    """Whether calls with such arguments may be kept at all: tensors of the device, and numbers."""
    return all(
        value is None
        or isinstance(value, bool | int | float | str | torch.dtype | torch.device | torch.layout | torch.memory_format)
        or tensors.is_device_tensor(value)
        or (isinstance(value, list | tuple) and all(isinstance(one, bool | int | float) for one in value))
        for value in values
    )


def _key(values: Sequence[Any], given: Sequence[torch.Tensor]) -> Any:
    pointers = [tensor.data_ptr() for tensor in given]
    return (
        *[value.hex() for value in values if type(value) is float],  # 0.0 is not -0.0
        *[pointer % ALIGNMENT for pointer in pointers],
        *[tensor.storage_offset() for tensor in given],
        *[pointers.index(pointer) for pointer in pointers],
    )


def _done() -> tuple[int, ...]:
    """What was done on the device so far, other than launches."""
    moved = tensors.transfers
    made = tensors.allocator().statistics.allocations
    return made, moved.to_device, moved.to_host, moved.within_device, moved.items


def _shapes(given: Sequence[torch.Tensor]) -> list[Any]:
    return [(t.data_ptr(), t.shape, t.stride(), t.storage_offset()) for t in given]


def _record(
    wrapper: Callable[[Sequence[Any]], Any], values: Sequence[Any], given: Sequence[torch.Tensor]
) -> list[Launch] | None:
    """Make a call, and return its launches if they may be kept."""
    if not _recording.acquire(blocking=False):  # another thread records
        wrapper(values)
        return None
    seen: list[tuple[Any, Any, tuple[int, int, int], Any]] = []
    thread = threading.get_ident()

    def observe(launcher: Any, function: Any, grid: tuple[int, int, int], packed: Any) -> None:
        if threading.get_ident() == thread:
            seen.append((launcher, function, grid, packed))

    try:
        shapes, before, launch.observer = _shapes(given), _done(), observe
        wrapper(values)
    finally:
        launch.observer = None
        _recording.release()
    if before != _done() or shapes != _shapes(given):
        return None
    launches = []
    for launcher, function, grid, packed in seen:
        places = []
        for position, pack in enumerate(launcher.signature.packers):
            if pack is None:
                found = _place(int(packed[position]) % (1 << 64), given)
                if found is None:
                    return None
                places.append((position, launcher.signature.arguments[position][0], *found))
        launches.append(Launch(launcher, function, grid, packed, places))
    return launches


def _place(pointer: int, given: Sequence[torch.Tensor]) -> tuple[int, int] | None:
    """Say in which tensor a pointer lies, and how far from its first element; None where that is not clear."""
    if pointer == 0:
        return -1, 0
    found: list[tuple[int, int]] = []
    for number, tensor in enumerate(given):
        reach = sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True))
        begin = tensor.data_ptr()
        if tensor.numel() and begin <= pointer < begin + (reach + 1) * tensor.element_size():
            found.append((number, pointer - begin))
    # Arguments that begin at the same address are one in the key: the first stands for all.
    return found[0] if found and len({given[number].data_ptr() for number, _ in found}) == 1 else None
