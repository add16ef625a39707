"""What can be wrong with a library, with enabling it, and with a call of one of its kernels."""

from __future__ import annotations

from bringup.errors import BringupError, EnvironmentFault


class LibraryError(BringupError):
    """A library that cannot be read or changed: damaged, edited, of another format, or not what it should be."""


class WrongDevice(LibraryError):
    """A library none of whose kernels was judged for this device and these versions."""


class NotEnabled(EnvironmentFault):
    """A library that cannot be enabled here: no device, enabled already, or another library serves the same."""


class KernelFailed(RuntimeError):
    """A kernel of the library raised or faulted in a call of the user's; the process and the device live on."""


class GuestFailed(Exception):
    """What a kernel did wrong in a process of its own, in words; users see it as KernelFailed, with the kernel."""


class WrongResult(Exception):
    """A result that is not PyTorch's, in words; users see it as KernelFailed, with the kernel."""


class NotServed(NotImplementedError):
    """An operator was called that no kernel of the enabled library serves."""

    overload: str = ""
