"""The kernel library: on disk, and as what PyTorch computes with.

    >>> import bringup, torch
    >>> with bringup.enable("kernels", device="vpe"):
    ...     torch.ones(3, device="vpe") + 1

`Library` reads and changes a library's folder; `enable` puts its kernels behind a device. Importing this package
imports neither torch nor Triton.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_LAZY = {
    "Entry": "_index",
    "Judged": "_index",
    "When": "_index",
    "parse_when": "_index",
    "Library": "folder",
    "Enabled": "enabled",
    "enable": "enabling",
    "Route": "routing",
    "KernelFailed": "errors",
    "LibraryError": "errors",
    "NotEnabled": "errors",
    "NotServed": "errors",
    "WrongDevice": "errors",
}

if TYPE_CHECKING:
    from bringup.library._index import Entry, Judged, When, parse_when
    from bringup.library.enabled import Enabled
    from bringup.library.enabling import enable
    from bringup.library.errors import KernelFailed, LibraryError, NotEnabled, NotServed, WrongDevice
    from bringup.library.folder import Library
    from bringup.library.routing import Route

__all__ = [
    "Enabled", "Entry", "Judged", "KernelFailed", "Library", "LibraryError", "NotEnabled", "NotServed", "Route", "When",
    "WrongDevice", "enable", "parse_when",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'bringup.library' has no attribute '{name}'")
    return getattr(importlib.import_module(f"bringup.library.{_LAZY[name]}"), name)
