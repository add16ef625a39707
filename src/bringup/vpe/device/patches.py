"""The few places of torch that ask for C++ parts of a device and can be answered from Python.

Each is the narrowest that was found: a constructor, the text of a tensor's numbers, a documented switch.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

from bringup.vpe.device import generator, tensors


def _storage_constructor() -> None:
    """`torch.UntypedStorage(n, device="vpe")`, of deepcopy and `torch.load`, crashes without a C++ allocator."""
    original = torch._C.StorageBase.__new__

    def new(cls: Any, *args: Any, **kwargs: Any) -> Any:
        where = kwargs.get("device")
        if where is None or torch.device(where).type != tensors.NAME:
            return original(cls, *args, **kwargs)
        if torch.device(where).index not in (None, 0):
            raise RuntimeError(f"there is one device {tensors.NAME}:0, not {where}")
        values = args[0] if args else 0
        if isinstance(values, int):
            if values < 0:
                raise RuntimeError(f"a storage cannot have {values} bytes")
            return tensors.new_storage(values)
        return getattr(torch.UntypedStorage(values), tensors.NAME)()

    torch.UntypedStorage.__new__ = staticmethod(new)


def _printing() -> None:
    """Printing computes on the device (finite? how many digits?); it gets a view of the host instead."""
    import torch._tensor_str as text

    original = text._tensor_str

    def tensor_str(tensor: Any, indent: int) -> Any:
        if not tensors.is_device_tensor(tensor):
            return original(tensor, indent)
        if tensors.remote is not None:
            return "..."  # what a handle stands for is not here
        return original(tensors.host_view(tensor), indent)

    text._tensor_str = tensor_str


def _synchronising() -> None:
    """`torch.accelerator.synchronize` asks the C++ device guard, which cannot be answered from Python."""
    original = torch.accelerator.synchronize

    @functools.wraps(original)
    def synchronize(*args: Any, **kwargs: Any) -> None:
        accelerator = torch.accelerator.current_accelerator()
        if accelerator is not None and accelerator.type == tensors.NAME:
            getattr(torch, tensors.NAME).synchronize(*args, **kwargs)
        else:
            original(*args, **kwargs)

    torch.accelerator.synchronize = synchronize


def install() -> None:
    """Apply all, once."""
    _storage_constructor()
    _printing()
    _synchronising()
    generator.install()
    # Without it `Module.to("vpe")` makes new Parameters (PrivateUse1 is not among the devices whose tensors can be
    # swapped under a Parameter), and tied weights silently become two.
    torch.__future__.set_swap_module_params_on_conversion(True)
