"""Enabling the device: registration with torch, and a self-test of the private interfaces that it stands on."""

from __future__ import annotations

import functools
import threading
from typing import Any

import torch

from bringup.vpe import claim, memory, state
from bringup.vpe.device import resolve, tensors
from bringup.vpe.device.allocator import Allocator
from bringup.vpe.profile import Profile

_KNOWN = "2.11 to 2.13"
_PRIVATE = (
    "_C._acc.create_empty_tensor",
    "_C._acc.PrivateUse1Hooks",
    "_C._acc.DeviceGuard",
    "_C._construct_storage_from_data_pointer",
    "_C._get_privateuse1_backend_name",
    "_C._DisableAutocast",
    "_C._ExcludeDispatchKeyGuard",
    "_C.StorageBase",
    "_tensor_str._tensor_str",
    "utils.backend_registration._setup_privateuseone_for_python_backend",
    "utils.backend_registration._generate_storage_methods_for_privateuse1_backend",
    "__future__.set_swap_module_params_on_conversion",
)

_lock = threading.Lock()
_libraries: list[Any] = []
_chosen = False


class DeviceUnavailable(ImportError):
    """The device cannot be registered with this torch or in this process."""


def is_enabled() -> bool:
    """Whether the device is registered in this process (or was in the one that it was forked from)."""
    return bool(_libraries)


def is_chosen() -> bool:
    """Whether the program itself has called `enable`, and so wants its tensors here; the environment may not know it.

    A program written for GPUs that asks Triton where to put tensors makes them with operators that vpe lacks.
    """
    return _chosen


def enable(
    fallback: str | None = None, profile: Profile | str | None = None, remote: tensors.Remote | None = None,
    name: str = tensors.NAME,
) -> Any:  # fmt: skip
    """Register the device `vpe` with torch; returns `torch.device("vpe", 0)`.

    `fallback="cpu"` lets the CPU compute operators without a kernel; each call of `enable` sets this anew. `profile`
    makes a profile the current one; alignment and red zones of later allocations follow it. Registration happens
    once and lasts as long as the process. `remote` owns the memory where that is another process's; the device then
    has the name `name`. Raises `DeviceUnavailable` and `ProfileError`.
    """
    global _chosen  # noqa: PLW0603
    from bringup.vpe.device import fallback as fallbacks

    fallbacks.use(fallback)
    register(remote, name)
    _chosen = True
    if fallback is not None:
        fallbacks.register_stand_ins()
    if profile is not None:
        state.set_profile(profile)
    return tensors.device()


def register(remote: tensors.Remote | None = None, name: str = tensors.NAME) -> None:
    """Register the device with torch, once a process. See `enable` for arguments and errors."""
    with _lock:
        if not is_enabled():
            _check_torch(tensors.NAME if remote is None else name)
            if remote is not None:
                tensors.use_remote(remote, name)
            _register()
            if remote is None:
                _self_test()
            memory.register_resolver(resolve.buffer_of)
            memory.register_describer(resolve.describe)
            memory.register_lister(resolve.live)


def allocator() -> Allocator:
    """The device's allocator: `check()`, `find(address)`, `live()`, `statistics`, `limit`, `track_initialised`."""
    return tensors.allocator()


def _check_torch(wanted: str) -> None:
    import torch._tensor_str
    import torch.utils.backend_registration

    for path in _PRIVATE:
        try:
            functools.reduce(getattr, path.split("."), torch)
        except AttributeError:
            raise DeviceUnavailable(
                f"torch {torch.__version__} has no torch.{path}, which the device vpe needs; torch {_KNOWN} have it"
            ) from None
    name = torch._C._get_privateuse1_backend_name()
    if name != (claim.name or claim.DEFAULT_NAME) or claim.name not in (None, wanted):
        raise DeviceUnavailable(
            f"this process already has a device '{name}' in torch's one place for devices from outside (PrivateUse1); "
            "use vpe in a process of its own (with TORCH_DEVICE_BACKEND_AUTOLOAD=0 if torch loaded that one by itself)"
        )


def _register() -> None:
    from torch.utils import backend_registration

    from bringup.vpe.device import autocast, fallback, generator, module, ops, patches, sparse

    if claim.name is None:
        claim.take(tensors.NAME)
    tensors.use_device(torch.device(tensors.NAME, 0))
    backend_registration._generate_storage_methods_for_privateuse1_backend(tensors.NAME)
    aten, every = torch.library.Library("aten", "IMPL"), torch.library.Library("_", "IMPL")
    ops.register(aten)
    if tensors.remote is None:
        sparse.register(aten)
    fallback.register(every)
    autocast.register(aten, every)
    patches.install()
    module.default_generators = (generator.default(),)
    nothing = {name: functools.partial(fallback.fallback, ops.overload(name)) for name in claim.CREATING}
    claim.finish(module, {**nothing, "empty.memory_format": ops.empty, "empty_strided": ops.empty_strided})
    # Registrations live as long as these objects.
    _libraries.extend((aten, every))


def _self_test() -> None:
    """A round trip through everything private, so that an unsuitable torch is told here and not by a crash later."""
    try:
        source = torch.arange(6, dtype=torch.float32, device="cpu").reshape(2, 3)
        there = source.to(tensors.device())
        view = there.t()[1:]
        good = (
            there.device.type == tensors.NAME
            and view.stride() == (1, 3)
            and view.storage_offset() == 1
            and torch.equal(view.cpu(), source.t()[1:])
            and tensors.host_view(there).data_ptr() == there.data_ptr()
            and tensors.allocation_of_tensor(view) is tensors.allocation_of(there.data_ptr())
        )
        problem = "a tensor did not survive the way to the device and back"
    except Exception as error:  # whatever an unknown torch throws is the same news
        good, problem = False, f"{type(error).__name__}: {error}"
    if not good:
        raise DeviceUnavailable(
            f"the device vpe does not work with torch {torch.__version__}: {problem}; it works with torch {_KNOWN}"
        )
