"""Tensors, storages and the memory under them.

A tensor of the device is a plain `torch.Tensor` whose storage points into an allocation. The storage's Python object
holds the allocation's owner, and torch keeps that object for as long as any tensor uses the storage; so memory is freed
exactly when the last view dies. A host view is a CPU tensor on the same bytes and keeps them alive in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, cast

import torch

from bringup.vpe import state
from bringup.vpe.device.allocator import Allocation, Allocator, OutOfDeviceMemory, Owner
from bringup.vpe.memory import LAUNCHED

NAME = "vpe"
CPU = torch.device("cpu")
CPU_KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)

_set_storage = torch.ops.aten.set_.source_Storage_storage_offset.redispatch
_storage_at = torch._C._construct_storage_from_data_pointer
_redispatch_empty = torch.ops.aten.empty.memory_format.redispatch
_device: Any = None
_allocator: Any = None
_memory: Any = None


class Remote(Protocol):
    """Memory that another process owns: tensors here are addresses. Also answers what is asked of an `Allocator`."""

    def allocate(self, nbytes: int) -> Owner:
        """An address for so many bytes."""
        ...

    def copy(self, source: Any, target: Any) -> None:
        """Copy within the device."""
        ...

    def upload(self, source: Any, target: Any) -> None:
        """Copy a host tensor to the device."""
        ...

    def read(self, source: Any) -> Any:
        """A host copy of a tensor of the device."""
        ...


remote: Remote | None = None
"""Who owns the memory if not this process; set by `enable`."""


class HostAccessError(RuntimeError):
    """A copy between host and device, or `item()`, where `no_host_access` forbids it."""


@dataclass
class Transfers:
    """What moved between host and device in this process, and within the device."""

    to_device: int = 0
    to_host: int = 0
    within_device: int = 0
    items: int = 0
    """Calls of `item()` and what uses it: `tolist`, `int(x)`, `if x:`."""
    bytes_to_device: int = 0
    bytes_to_host: int = 0


transfers = Transfers()
"""Counters of the process; reset by assigning to its fields."""


# What is forbidden now: (reason, whether `item()` is still allowed); the last one counts. For the whole process, since
# backward passes run on torch's own threads, and a thread would be the easiest way around.
_forbidden: list[tuple[str, bool]] = []


@contextmanager
def no_host_access(reason: str, items: bool = False) -> Iterator[None]:
    """Forbid copies between host and device to the whole process, and `item()` too unless `items`.

    Raises `HostAccessError` with `reason` at the copy. Printing and `host_view` stay possible: they are for people and
    simulators.
    """
    entry = (reason, items)
    _forbidden.append(entry)
    try:
        yield
    finally:
        _forbidden.remove(entry)


def forbid(what: str, item: bool = False) -> None:
    """Raise `HostAccessError` if nobody may touch the host now."""
    if _forbidden:
        reason, items = _forbidden[-1]
        if not (item and items):
            raise HostAccessError(f"{what} is forbidden here: {reason}")


def device() -> Any:
    """`torch.device("vpe", 0)`; raises `RuntimeError` before `enable`."""
    if _device is None:
        raise RuntimeError("the device vpe is not enabled; call bringup.vpe.device.enable()")
    return _device


def use_device(value: Any) -> None:
    """Note the device once its name is registered."""
    global _device  # noqa: PLW0603
    _device = value


def use_remote(owner: Remote, name: str) -> None:
    """Let another process own the memory, under a name of its own for the device; before it is registered."""
    global remote, _allocator, NAME  # noqa: PLW0603
    remote = _allocator = owner
    NAME = name


def allocator() -> Allocator:
    """The device's allocator. Alignment and red zones of what it allocates follow the current profile."""
    global _allocator, _memory  # noqa: PLW0603
    if remote is not None:
        return cast("Allocator", remote)
    memory = state.profile().memory
    if _allocator is None:
        _allocator = Allocator()
    if memory is not _memory:
        _memory = memory
        _allocator.alignment, _allocator.red_zone = memory.allocation_alignment_bytes, memory.red_zone_bytes
    found: Allocator = _allocator
    return found


def new_storage(nbytes: int) -> Any:
    """A storage of the device with fresh, poisoned memory. Storages of 0 bytes have the null address.

    Raises `torch.OutOfMemoryError`.
    """
    if nbytes == 0:
        return _storage_at(0, _device, 0)
    try:
        owner = allocator().allocate(nbytes)
    except OutOfDeviceMemory as error:
        raise torch.OutOfMemoryError(str(error)) from None
    storage = _storage_at(owner.allocation.base, _device, nbytes)
    storage._vpe_owner = owner
    return storage


def storage_at(base: int, nbytes: int) -> Any:
    """A storage of the device on an address that somebody else keeps alive."""
    return _storage_at(base, _device, nbytes)


def make_tensor(storage: Any, offset: int, size: Sequence[int], stride: Sequence[int], dtype: Any) -> Any:
    """A tensor on a storage of the device. Offset, size and stride are elements."""
    tensor = torch._C._acc.create_empty_tensor((0,), dtype)
    _set_storage(CPU_KEYS, tensor, storage, offset, size, stride)
    return tensor


def set_tensor(tensor: Any, storage: Any, offset: int, size: Sequence[int], stride: Sequence[int]) -> Any:
    """Let an existing tensor of the device look at another part of a storage."""
    return _set_storage(CPU_KEYS, tensor, storage, offset, size, stride)


def is_device_tensor(value: object) -> bool:
    """Whether a value is a tensor of this device."""
    return isinstance(value, torch.Tensor) and value.device.type == NAME


def host_storage(storage: Any) -> Any:
    """The CPU storage on the bytes of a storage of the device, which it keeps alive."""
    host = storage.__dict__.get("_vpe_host")
    if host is None:
        owner = storage.__dict__.get("_vpe_owner")
        if owner is None:
            # Nothing, or memory that C++ code of torch lends for a moment (saving a storage does): not cached, since
            # the two storages would keep one another alive.
            host = _storage_at(storage.data_ptr(), CPU, storage.nbytes())
            host._vpe_owner = storage
            return host
        host = _storage_at(owner.allocation.base, CPU, owner.allocation.nbytes)
        host._vpe_owner = owner
        storage._vpe_host = host
    return host


def host_view(tensor: Any) -> Any:
    """A CPU tensor on the same memory: same dtype, shape, strides and offset, no copy, no gradient.

    It keeps the memory alive. Raises `TypeError` for a tensor of another device.
    """
    if not is_device_tensor(tensor):
        where = tensor.device if isinstance(tensor, torch.Tensor) else type(tensor).__name__
        raise TypeError(f"host_view takes a strided tensor of the device vpe, not one of {where}")
    if remote is not None:
        raise HostAccessError("the memory of this device is in another process")
    view = _redispatch_empty(CPU_KEYS, (0,), dtype=tensor.dtype, device=CPU)
    storage = host_storage(tensor.untyped_storage())
    # Straight to the CPU's kernel: no gradient, no autocast, no device mode gets between.
    _set_storage(CPU_KEYS, view, storage, tensor.storage_offset(), tensor.size(), tensor.stride())
    if tensor.is_conj():
        view = torch._conj(view)
    if tensor.is_neg():
        view = torch._neg_view(view)
    return view


def allocation_of(address: int) -> Allocation | None:
    """The allocation, live or in quarantine, whose bytes hold this address; None if no allocation does."""
    return _allocator.find(address) if _allocator is not None else None


def allocation_of_tensor(tensor: Any) -> Allocation | None:
    """The allocation under a tensor; None for tensors of 0 bytes. Raises `TypeError` for another device's tensor."""
    if not is_device_tensor(tensor):
        raise TypeError("not a tensor of the device vpe")
    owner: Owner | None = tensor.untyped_storage().__dict__.get("_vpe_owner")
    return owner.allocation if owner is not None else None


def mark_written(tensor: Any) -> None:
    """Note in the map of initialised bytes, where there is one, that every element of a tensor was written."""
    allocation = allocation_of_tensor(tensor)
    if allocation is None or allocation.marks is None:
        return
    width = tensor.element_size()
    if tensor.numel() * width == allocation.nbytes and tensor.is_contiguous():
        # No map means that all is written: what came from the host whole is not checked any more, which is faster.
        allocator().forget_marks(allocation)
        return
    stride = [step * width for step in tensor.stride()]
    marks = torch.from_numpy(allocation.marks)
    marks.as_strided((*tensor.size(), width), (*stride, 1), tensor.storage_offset() * width).fill_(LAUNCHED)


def copy_marks(source: Any, target: Any) -> None:
    """After a copy within the device: bytes that were never written stay so in the copy."""
    before, after = allocation_of_tensor(source), allocation_of_tensor(target)
    if after is None or after.marks is None:
        return
    if before is None or before.marks is None or source.dtype != target.dtype:
        mark_written(target)
        return
    views = []
    for allocation, tensor in ((before, source.expand_as(target)), (after, target)):
        width = tensor.element_size()
        stride = [step * width for step in tensor.stride()]
        marks = torch.from_numpy(allocation.marks)
        views.append(marks.as_strided((*tensor.size(), width), (*stride, 1), tensor.storage_offset() * width))
    views[1].copy_(views[0])
