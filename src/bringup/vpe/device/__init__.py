"""The PyTorch device `vpe`: real strided tensors in host memory that a device allocator owns.

    >>> from bringup.vpe import device
    >>> device.enable()
    >>> x = torch.empty(4, device="vpe")
    >>> x + 1
    NotImplementedError: vpe has no kernel for aten::add.out ...

Importing this package changes nothing; `enable` registers the device once for the process. What exists are allocation,
views, resizing, copies (to, from and within the device, with dtype conversion) and `item()`. Any other operator raises
`NotImplementedError` with its name, unless `enable(fallback="cpu")` asked for the CPU's kernels.

For simulators and other code that runs kernels: `host_view` (a CPU tensor on the same memory), `allocation_of` (exact
bounds of what holds an address), `allocator` (checks, statistics). For judges: `no_host_access`, `transfers`.
"""

from __future__ import annotations

from bringup.vpe.device.allocator import Allocation, Allocator, DeviceMemoryError, OutOfDeviceMemory
from bringup.vpe.device.runtime import DeviceUnavailable, allocator, enable, is_enabled
from bringup.vpe.device.tensors import (
    HostAccessError,
    Transfers,
    allocation_of,
    allocation_of_tensor,
    host_view,
    mark_written,
    no_host_access,
    transfers,
)

__all__ = [
    "Allocation",
    "Allocator",
    "DeviceMemoryError",
    "DeviceUnavailable",
    "HostAccessError",
    "OutOfDeviceMemory",
    "Transfers",
    "allocation_of",
    "allocation_of_tensor",
    "allocator",
    "enable",
    "host_view",
    "is_enabled",
    "mark_written",
    "no_host_access",
    "transfers",
]
