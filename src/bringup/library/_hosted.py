"""Copies of a call's tensors on the host, which share memory where the tensors do."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from bringup.library._call import tensors_in

LEAST_BYTES, SHARE = 256 << 20, 0.2  # of a call's arguments, and of free memory: larger calls are not copied
Storages = dict[int, torch.UntypedStorage]
"""Copies by the storage that they are of."""


def hosted(values: Sequence[Any], share: float = SHARE) -> list[Any] | None:
    """Return the arguments of a call with their tensors on the host; None where they have too much memory.

    That is more than `LEAST_BYTES`, and more than this share of what is free.
    """
    given = {
        tensor.untyped_storage()._cdata: tensor.untyped_storage().nbytes()
        for tensor in tensors_in(values)
        if tensor.layout is torch.strided
    }
    nbytes = sum(given.values())
    if nbytes > LEAST_BYTES and nbytes > share * os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"):
        return None
    storages: Storages = {}
    return [on_host(value, storages) for value in values]


def on_host(value: Any, storages: Storages) -> Any:
    """Return an argument, or a result, with its tensors on the host; `storages`: what is copied by now."""
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
    source = value.untyped_storage()
    if source._cdata not in storages:
        storages[source._cdata] = _bytes(value).untyped_storage()
    empty = torch.empty(0, dtype=value.dtype, device="cpu")
    copy = empty.set_(storages[source._cdata], value.storage_offset(), value.size(), value.stride())
    if value.is_conj():
        copy = copy.conj()
    return torch._neg_view(copy) if value.is_neg() else copy


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    """A copy of all of a tensor's memory on the host."""
    from bringup.vpe.device import tensors

    source = tensor.untyped_storage()
    if tensors.is_device_tensor(tensor):
        whole = tensors.make_tensor(source, 0, (source.nbytes(),), (1,), torch.uint8)
        view: torch.Tensor = tensors.host_view(whole)
        return view.clone()
    flat = torch.empty(0, dtype=torch.uint8, device=tensor.device)
    return flat.set_(source, 0, (source.nbytes(),), (1,)).cpu().clone()
