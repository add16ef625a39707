"""NVIDIA GPUs through PyTorch's own CUDA device: real silicon, where PyTorch has every kernel to cheat with.

The profile chooses the device: `cuda` is device 0, `cuda:1` device 1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bringup.dialect import Dialect, load_dialect
from bringup.errors import ConfigError
from bringup.targets._base import TargetDefaults

# What the driver says when a kernel broke the context, as opposed to an error raised before the launch.
FAULTS = re.compile(
    r"illegal memory access|misaligned address|illegal instruction|device-side assert|unspecified launch failure"
    r"|invalid program counter|hardware stack error|launch timed out",
    re.IGNORECASE,
)


class CudaTarget(TargetDefaults):
    """The target `cuda[:N]`. Guards stand alone here: nothing is missing on this device."""

    name = "cuda"
    features: frozenset[str] = frozenset()  # Triton has no complex numbers, whatever the device can do
    compile_for: tuple[str, ...] = ()  # the launch itself compiles
    limits_address_space = False  # the driver reserves address space by the terabyte

    def __init__(self, profile: str | None = None) -> None:
        """Make the target for device number `profile` (default 0)."""
        if profile is not None and not profile.isdigit():
            raise ConfigError(f"target cuda:{profile}", "the profile is the number of a device", "use `cuda:0`")
        self.profile = profile
        self.device = f"cuda:{profile or 0}"

    def dialect(self) -> Dialect:
        """Return upstream Triton's language."""
        about = "An NVIDIA GPU through PyTorch's CUDA device, with kernels that upstream Triton compiles for it."
        return load_dialect("triton").model_copy(update={"name": "cuda", "description": about})

    def environment(self) -> Mapping[str, str]:
        """Launch errors must be raised by the call that caused them."""
        return {"CUDA_LAUNCH_BLOCKING": "1"}

    def unavailable(self) -> str | None:
        """Say why this machine cannot run kernels on an NVIDIA GPU; asked without importing torch."""
        if not any(Path("/dev").glob("nvidia[0-9]*")):
            return "no NVIDIA GPU (no /dev/nvidia*)"
        return None

    def warm_up(self) -> None:
        """Build and load Triton's launcher once, not in every worker: it takes a C compiler, and makes no context."""
        from triton.backends.nvidia.driver import CudaUtils

        CudaUtils()

    def worker_setup(self) -> None:
        """Make the CUDA context; the warm parent has none, since it would not survive the fork."""
        import torch

        torch.cuda.set_device(self.device)
        torch.cuda.init()
        torch.cuda.device_count()  # torch keeps the answer in its module: before the seal looks, not after

    def worker_to_device(self, tensor: Any) -> Any:
        """Copy a flat host tensor to the device."""
        return tensor.to(self.device)

    def worker_to_host(self, tensor: Any) -> Any:
        """Copy a flat device tensor to the host."""
        return tensor.cpu()

    def worker_synchronize(self) -> None:
        """Wait for every kernel; raises what a kernel broke."""
        import torch

        torch.cuda.synchronize(self.device)

    def worker_fault(self, error: BaseException) -> str | None:
        """Return the driver's words when a kernel faulted."""
        text = str(error)
        return text if FAULTS.search(text) else None
