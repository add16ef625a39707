"""Random number generators of the device.

The C++ part of a device makes its generators, and this device has none. So a generator of the device is a CPU generator
that says it is the device's: `torch.Generator("vpe")` gives one, and every function of torch that takes a generator
accepts it. Kernels draw their own numbers (`tl.rand`); what they need is a seed: `initial_seed()`, `seed()`.
"""

from __future__ import annotations

from typing import Any

import torch

from bringup.vpe.device import tensors

_Base: Any = torch._C.Generator


class _AnyGenerator(type(_Base)):  # type: ignore[misc]
    """Lets `isinstance(x, torch.Generator)` hold for the generators of all devices."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _Base)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, _Base) if subclass is not _Base else True

    def __call__(cls, device: Any = "cpu") -> Any:
        where = torch.device(device)
        if where.type != tensors.NAME:
            return _Base(device)
        if where.index not in (None, 0):
            raise RuntimeError(f"there is one device {tensors.NAME}:0, not {where}")
        return super().__call__("cpu")


class Generator(_Base, metaclass=_AnyGenerator):  # type: ignore[misc]
    """`torch.Generator` that knows the device vpe; for any other device it gives torch's own."""

    @property
    def device(self) -> Any:
        """`vpe:0`."""
        return tensors.device()

    def __repr__(self) -> str:
        return f"<Generator of {tensors.NAME}:0 at 0x{id(self):x}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.get_state(),)

    def clone_state(self) -> Any:
        """A new generator of the device with the same state."""
        return _rebuild(self.get_state())


def _rebuild(state: Any) -> Any:
    generator = Generator(tensors.NAME)
    generator.set_state(state)
    return generator


_default: Any = None


def default() -> Any:
    """The device's default generator."""
    global _default  # noqa: PLW0603
    if _default is None:
        _default = Generator(tensors.NAME)
    return _default


def install() -> None:
    """Make `torch.Generator` accept the device."""
    torch.Generator = Generator
