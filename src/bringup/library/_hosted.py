"""Copies of a call's tensors on the host, which share memory where the tensors do."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch.utils import _pytree as pytree

from bringup.library._call import tensors_in

LEAST_BYTES, SHARE = 256 << 20, 0.2  # of a call's arguments, and of free memory: larger calls are not copied
BEGINS = 64  # bytes: a part of a storage begins at a multiple of them, so that elements of any dtype do


class Part(NamedTuple):
    """What tensors reach of a storage, on the host."""

    copy: torch.UntypedStorage
    begin: int
    """Bytes from the beginning of the storage."""


Storages = dict[int, Part]
"""Copies by the storage that they are of."""


def hosted(values: Sequence[Any], *, whole: bool = False) -> list[Any] | None:
    """Return the arguments of a call with their tensors on the host; None where these reach too much memory.

    That is more than `LEAST_BYTES`, and more than a `SHARE` of what is free. `whole`: all of their storages is copied.
    """
    reached = _reached(values, whole=whole)
    nbytes = sum(end - begin for _, begin, end in reached.values())
    if nbytes > LEAST_BYTES and nbytes > SHARE * free_bytes():
        return None
    storages = {key: _part(*part) for key, part in reached.items()}
    return [on_host(value, storages) for value in values]


def free_bytes() -> int:
    """Memory that a process may have, caches of files given up."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            found = next(line for line in file if line.startswith("MemAvailable:"))
        return int(found.split()[1]) << 10
    except (OSError, StopIteration, ValueError, IndexError):
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def parts(values: Sequence[Any], *, whole: bool = False) -> Storages:
    """Return copies of all that tensors reach together, which share memory where the tensors do."""
    return {key: _part(*part) for key, part in _reached(values, whole=whole).items()}


def on_host(value: Any, storages: Storages) -> Any:
    """Return an argument, or a result, with its tensors on the host; `storages`: copies of what they reach."""
    return pytree.tree_map(lambda one: _host(one, storages), value)


def widened(args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return arguments whose data are float64: tensors of floating point, or whole numbers where there are none."""
    floats = any(tensor.is_floating_point() for tensor in tensors_in([*args, *kwargs.values()]))

    def wide(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or value.is_complex() or value.dtype is torch.bool:
            return value
        return value.to(torch.float64) if value.is_floating_point() or not floats else value

    made: list[Any] = pytree.tree_map(wide, [list(args), dict(kwargs)])
    return made[0], made[1]


def _host(value: Any, storages: Storages) -> Any:
    """A tensor's copy, with the same strides and shared memory; the host in place of a device."""
    if isinstance(value, torch.device):
        return torch.device("cpu")
    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided or value.is_quantized:
        return value
    storage, begin = storages[value.untyped_storage()._cdata]
    empty = torch.empty(0, dtype=value.dtype, device="cpu")
    offset = value.storage_offset() - begin // value.element_size()
    copy = empty.set_(storage, offset, value.size(), value.stride())
    if value.is_conj():
        copy = copy.conj()
    return torch._neg_view(copy) if value.is_neg() else copy


def _reached(values: Sequence[Any], *, whole: bool) -> dict[int, tuple[torch.Tensor, int, int]]:
    """By storage: one of the tensors on it, and from where to where all of them reach, in bytes."""
    found: dict[int, tuple[torch.Tensor, int, int]] = {}
    for tensor in tensors_in(values):
        if tensor.layout is not torch.strided or tensor.is_quantized:
            continue
        width = tensor.element_size()
        first = last = tensor.storage_offset() * width
        if tensor.numel():
            steps = zip(tensor.shape, tensor.stride(), strict=True)
            last += (sum((size - 1) * step for size, step in steps) + 1) * width
        if whole:
            first, last = 0, tensor.untyped_storage().nbytes()
        key = tensor.untyped_storage()._cdata
        _, begin, end = found.get(key, (tensor, first, last))
        found[key] = tensor, min(begin, first) // BEGINS * BEGINS, max(end, last)
    return found


def _part(tensor: torch.Tensor, begin: int, end: int) -> Part:
    """A copy of a part of a tensor's memory on the host."""
    from bringup.vpe.device import tensors

    source = tensor.untyped_storage()
    end = min(end, source.nbytes())
    size = max(end - begin, 0)
    if tensors.is_device_tensor(tensor):
        device_bytes = tensors.make_tensor(source, begin, (size,), (1,), torch.uint8)
        view: torch.Tensor = tensors.host_view(device_bytes)
        return Part(view.clone().untyped_storage(), begin)
    flat = torch.empty(0, dtype=torch.uint8, device=tensor.device)
    return Part(flat.set_(source, begin, (size,), (1,)).cpu().clone().untyped_storage(), begin)
