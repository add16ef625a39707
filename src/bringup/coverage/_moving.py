"""Arguments to a device and results back, strides, offsets and shared memory kept."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree as pytree


class Mover:
    """Moves the arguments of one call; tensors that share memory on the host share it on the device."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._storages: dict[int, Any] = {}

    def move(self, value: Any) -> Any:
        """Return a tree with its tensors on the device, and the device in the place of the host's."""
        return pytree.tree_map(self._moved, value)

    def _moved(self, value: Any) -> Any:
        if isinstance(value, torch.device):
            return self.device
        if not isinstance(value, torch.Tensor):
            return value
        if value.layout is not torch.strided or value.is_quantized:
            return value.to(self.device)
        source = value.untyped_storage()
        if source._cdata not in self._storages:
            whole = torch.empty(source.nbytes(), dtype=torch.uint8, device=self.device)
            if source.nbytes():
                whole.copy_(torch.empty(0, dtype=torch.uint8).set_(source, 0, (source.nbytes(),), (1,)))
            self._storages[source._cdata] = whole.untyped_storage()
        empty = torch.empty(0, dtype=value.dtype, device=self.device)
        made = empty.set_(self._storages[source._cdata], value.storage_offset(), value.size(), value.stride())
        made = made.conj() if value.is_conj() else made
        return torch._neg_view(made) if value.is_neg() else made


# Arguments that PyTorch wants on the CPU whatever device computes, by operator and place in the call: "it must be a
# zero-dimensional or one-dimensional long tensor on the CPU" (torch.tensor_split).
HOST_ARGUMENTS = {"tensor_split": 1}


def with_host_arguments(operator: str, before: int, given: tuple[Any, ...], moved: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a call's moved arguments with a copy on the host of the one that belongs there.

    `before`: arguments that stand before the operator's own.
    """
    if operator not in HOST_ARGUMENTS:
        return moved
    place = before + HOST_ARGUMENTS[operator]
    return (*moved[:place], to_host(given[place]), *moved[place + 1 :])


def to_host(value: Any) -> Any:
    """Return a tree with copies of its tensors on the host; Python values as they are."""

    def fetched(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        return leaf.detach().to("cpu") if leaf.device.type != "cpu" else leaf.detach().clone()

    return pytree.tree_map(fetched, value)


def shares_memory(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors are the same elements of the same memory."""
    return (
        one.data_ptr() == other.data_ptr() and one.shape == other.shape and one.dtype == other.dtype
    ) or not other.numel()


__all__ = ["Mover", "shares_memory", "to_host", "with_host_arguments"]
