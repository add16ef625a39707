"""Arguments on the memory that a guest is told of: see `bringup.device.regions`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from bringup.device.regions import Region, regions_of
from bringup.judge._codec import bytes_on, tensors_of, with_tensors


def on_regions(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return a call's arguments, host tensors, on storages that hold the regions they reach and nothing else.

    Those that do already are returned as they are; so is what no guest can be told (another layout than strided).
    """
    given = [tensor for _, tensor in tensors_of([args, kwargs], "")]
    if any(tensor.layout is not torch.strided or tensor.is_quantized or tensor.is_nested for tensor in given):
        return args, dict(kwargs)
    resolved: dict[int, torch.Tensor] = {}
    for tensor in given:
        resolved.setdefault(id(tensor), tensor.resolve_conj().resolve_neg())
    tensors = [resolved[id(tensor)] for tensor in given]
    regions, places = regions_of(tensors)
    if all(_whole(region, tensors[region.tensor]) for region in regions) and _apart(regions, tensors):
        return args, dict(kwargs)
    storages = [_cut(region, tensors[region.tensor]) for region in regions]
    made: dict[int, torch.Tensor] = {}
    for tensor, place in zip(tensors, places, strict=True):
        if id(tensor) not in made:
            offset = place.offset // tensor.element_size()
            flat = torch.empty(0, dtype=tensor.dtype)
            with torch.no_grad():
                new = flat.set_(storages[place.region], offset, tensor.shape, tensor.stride())
            made[id(tensor)] = new.requires_grad_(tensor.requires_grad)
    new_args, new_kwargs = with_tensors([args, dict(kwargs)], iter([made[id(tensor)] for tensor in tensors]))
    return new_args, new_kwargs


def _whole(region: Region, tensor: torch.Tensor) -> bool:
    return region.start == 0 and region.size == tensor.untyped_storage().nbytes()


def _apart(regions: list[Region], tensors: list[torch.Tensor]) -> bool:
    """Whether no two regions lie in one storage."""
    return len({tensors[region.tensor].untyped_storage()._cdata for region in regions}) == len(regions)


def _cut(region: Region, tensor: torch.Tensor) -> torch.UntypedStorage:
    storage = torch.UntypedStorage(region.size)
    if region.size:
        source = bytes_on(tensor.untyped_storage(), "cpu")
        bytes_on(storage, "cpu").copy_(source[region.start : region.start + region.size])
    return storage
