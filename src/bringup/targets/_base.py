"""The door for targets. A target is chosen as `name` or `name:profile` (`vpe:pe64`, `cuda`)."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol, runtime_checkable

from bringup.dialect import Dialect
from bringup.errors import ConfigError
from bringup.registry import Registry


@runtime_checkable
class Target(Protocol):
    """A device and its toolchain, as the judge sees it.

    Everything but the `worker_*` methods runs in bringup's own process and must import neither torch nor Triton;
    the `worker_*` methods run inside the isolated worker, around the candidate's code.
    """

    name: str  # without the profile
    profile: str | None
    features: frozenset[str]  # what operators may need: "complex", "defined_values", "cpu_reference", ...
    device: str  # torch device string of the tensors that a wrapper receives
    limits_address_space: bool  # whether a limit on the worker's address space leaves the device usable
    compile_for: tuple[str, ...]  # toolchains that also compile every launched kernel unless the run says otherwise

    def dialect(self) -> Dialect:
        """Return what this target's Triton allows."""
        ...

    def profiles(self) -> tuple[str, ...]:
        """Return the names of the target's profiles, if it has any."""
        ...

    def facts(self) -> dict[str, Any]:
        """Return the figures of the chip as plain data, for people and reports; empty when nothing is known."""
        ...

    def environment(self) -> Mapping[str, str]:
        """Return the variables that the worker's process needs before torch and Triton are imported."""
        ...

    def unavailable(self) -> str | None:
        """Return why this machine cannot run the target (no GPU, say), or None."""
        ...

    def warm_up(self) -> None:
        """Import and prepare, in the warm parent, what survives a fork; no threads, no contexts."""
        ...

    def worker_setup(self) -> None:
        """Prepare the freshly forked worker (initialise the device)."""
        ...

    def worker_to_device(self, tensor: Any) -> Any:
        """Move a host tensor (strides, offset and all) to the device; called once per storage."""
        ...

    def worker_to_host(self, tensor: Any) -> Any:
        """Return a host copy of a device tensor, same shape and strides."""
        ...

    def worker_synchronize(self) -> None:
        """Wait until every launched kernel has finished; a pending fault is raised here."""
        ...

    def worker_bytes(self, storage: Any) -> Any:
        """Return a flat uint8 tensor on the memory of a device storage that torch can fill and copy in place.

        The judge's guards use it to poison and to hide memory; the device's own bookkeeping must not notice.
        """
        ...

    def worker_order(self, seed: int | None) -> AbstractContextManager[Any]:
        """Return a context in which a launch runs its programs in the order of `seed` (None: as always), if it can."""
        ...

    def worker_protect(self, storages: list[Any]) -> AbstractContextManager[Any]:
        """Return a context in which a kernel that writes to these device storages faults, if the device can do that."""
        ...

    def worker_fault(self, error: BaseException) -> str | None:
        """Return debugger text when `error` is a device fault (a crash of a PE), else None."""
        ...

    def worker_counters(self) -> list[dict[str, Any]]:
        """Return the counters of each launch since the last call, as plain data; empty where nothing is counted."""
        ...

    def worker_compile_log(self, error: BaseException) -> str | None:
        """Return the compiler's log when `error` is the target's own compiler refusing a kernel, else None."""
        ...


class TargetDefaults:
    """What most targets have in common: inherit it, and write what your chip does differently."""

    features: frozenset[str] = frozenset()
    limits_address_space = True
    compile_for: tuple[str, ...] = ()
    worker_paths: tuple[str, ...] = ()  # files and directories that workers must be able to read, beside Python's own
    worker_devices: tuple[str, ...] = ()  # patterns of device files that workers use: "/dev/npu*"

    def profiles(self) -> tuple[str, ...]:
        """There are none."""
        return ()

    def facts(self) -> dict[str, Any]:
        """No figures are known."""
        return {}

    def environment(self) -> Mapping[str, str]:
        """Nothing must be set before torch and Triton are imported."""
        return {}

    def unavailable(self) -> str | None:
        """The target runs everywhere."""
        return None

    def warm_up(self) -> None:
        """Nothing is prepared before the fork."""

    def worker_setup(self) -> None:
        """Nothing is prepared after the fork."""

    def worker_to_device(self, tensor: Any) -> Any:
        """Host memory is device memory."""
        return tensor

    def worker_to_host(self, tensor: Any) -> Any:
        """Copy a flat device tensor to the host."""
        return tensor.cpu()

    def worker_synchronize(self) -> None:
        """Launches are synchronous."""

    def worker_bytes(self, storage: Any) -> Any:
        """Take PyTorch's own fills and copies of the device."""
        import torch

        return torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)

    def worker_order(self, seed: int | None) -> AbstractContextManager[Any]:
        """The order of programs cannot be chosen."""
        return nullcontext()

    def worker_protect(self, storages: list[Any]) -> AbstractContextManager[Any]:
        """Writes to inputs are seen after the call only."""
        return nullcontext()

    def worker_fault(self, error: BaseException) -> str | None:
        """There are no faults but the end of the process."""
        return None

    def worker_counters(self) -> list[dict[str, Any]]:
        """Nothing is counted."""
        return []

    def worker_compile_log(self, error: BaseException) -> str | None:
        """Return what Triton's compiler said."""
        return compile_log(error)


targets: Registry[Target] = Registry(
    "target",
    "bringup.targets",
    {
        "cuda": "bringup.targets.cuda:CudaTarget",
        "vpe": "bringup.targets.vpe:VpeTarget",
    },
    retired={"interpreter": "use `vpe:permissive`, plain Triton on a CPU"},
)


def get_target(spec: str) -> Target:
    """Return the target for `name` or `name:profile`; raises UnknownName, RetiredName, or ConfigError for a profile."""
    name, _, profile = spec.partition(":")
    if not name:
        raise ConfigError(f"target '{spec}'", "empty name", "give NAME or NAME:PROFILE")
    return targets.create(name, profile=profile or None)


def compile_log(error: BaseException) -> str | None:
    """Return what the compiler said when `error` is one of Triton's compile errors, without Python's frames."""
    from triton.errors import TritonError

    return error_chain(error) if isinstance(error, TritonError) else None


def error_chain(error: BaseException) -> str:
    """Return the messages of an error and of what caused it, each once, without Python's frames."""
    parts: list[str] = []
    current: BaseException | None = error
    while current is not None:
        text = "".join(traceback.format_exception_only(current)).strip()
        if text not in parts:
            parts.append(text)
        current = current.__cause__ or current.__context__
    return "\n".join(parts)
