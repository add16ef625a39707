"""Memory of results: shared only where PyTorch's results share it, without overlaps, and not much more than needed."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from bringup.device.checks import repeats
from bringup.verdict import Mismatch

ROOM_TIMES, ROOM_BYTES = 2, 1 << 16  # of what a result needs: what its memory may be larger by
NamedTensors = list[tuple[str, torch.Tensor]]


def odd_memory(expected: NamedTensors, actual: NamedTensors, shared: Mapping[str, str]) -> Mismatch | None:
    """What is wrong with the memory that results lie in.

    Args:
        expected: PyTorch's results, by path.
        actual: the candidate's.
        shared: the candidate's that share memory with an argument, by path, and with which.
    """
    return _shared_outputs(expected, actual) or _overlapping(expected, actual) or _roomy(expected, actual, shared)


def _roomy(expected: NamedTensors, actual: NamedTensors, shared: Mapping[str, str]) -> Mismatch | None:
    """A fresh result keeps what it needs, or twice as much: its memory lives as long as it does."""
    needs: dict[int, int] = {}
    for path, tensor in actual:
        if path not in shared:
            storage = tensor.untyped_storage()._cdata
            needs[storage] = needs.get(storage, 0) + tensor.numel() * tensor.element_size()
    for (path, tensor), (_, right) in zip(actual, expected, strict=False):
        kept = tensor.untyped_storage().nbytes()
        most = ROOM_TIMES * max(needs.get(tensor.untyped_storage()._cdata, 0), right.untyped_storage().nbytes())
        if path not in shared and kept > most + ROOM_BYTES:
            message = (
                f"the output keeps {kept} bytes of memory for {tensor.numel() * tensor.element_size()}; "
                "return a tensor that is as large as the result, and leave temporary memory behind"
            )
            return Mismatch(aspect="aliasing", output=path, message=message)
    return None


def _shared_outputs(expected: NamedTensors, actual: NamedTensors) -> Mismatch | None:
    """Outputs share memory with each other only where the reference's do."""
    wanted, owner = _sharing(expected), _sharing(actual)
    for path, first in owner.items():
        if first != path and wanted.get(path) != wanted.get(first):
            message = f"the output shares memory with {first}; each must have memory of its own"
            return Mismatch(aspect="aliasing", output=path, message=message)
    return None


def _overlapping(expected: NamedTensors, actual: NamedTensors) -> Mismatch | None:
    """Elements of an output have memory of their own, unless the reference's overlap too."""
    for (_, reference), (path, tensor) in zip(expected, actual, strict=False):
        if overlaps(tensor) and not overlaps(reference):
            text = f"elements of the output share memory (strides {tuple(tensor.stride())})"
            return Mismatch(aspect="aliasing", output=path, message=f"{text}; each must have memory of its own")
    return None


def overlaps(tensor: torch.Tensor) -> bool:
    """Whether two elements of a tensor have the same address."""
    if not tensor.numel() or not repeats(tensor.shape, tensor.stride()):
        return False
    dims = [(s, n) for n, s in zip(tensor.shape, tensor.stride(), strict=True) if n > 1]
    if sum(stride * (length - 1) for stride, length in dims) + 1 < tensor.numel():
        return True
    addresses = torch.zeros((1,), dtype=torch.int64)
    for stride, length in dims:
        addresses = (addresses[:, None] + torch.arange(length) * stride).reshape(-1)
    return int(torch.bincount(addresses).max()) > 1


def _sharing(tensors: NamedTensors) -> dict[str, str]:
    """Map each output's path to the first output on the same storage."""
    first: dict[int, str] = {}
    return {
        path: first.setdefault(tensor.untyped_storage()._cdata, path)
        for path, tensor in tensors
        if tensor.untyped_storage().nbytes()
    }
