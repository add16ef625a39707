"""The C library's math functions in this process."""

from __future__ import annotations

import ctypes
import ctypes.util
import functools


class NativeSymbolMissing(ImportError):
    """The C library of this machine lacks a function that libdevice needs."""

    def __init__(self, symbol: str, library: str) -> None:
        super().__init__(
            f"the C math library ({library}) has no function '{symbol}'; the vpe backend needs glibc 2.27 or newer"
        )


@functools.cache
def _library() -> tuple[str, ctypes.CDLL]:
    name = ctypes.util.find_library("m") or "libm.so.6"
    return name, ctypes.CDLL(name)


@functools.cache
def address(symbol: str) -> int:
    """Address of a libm function. The process keeps libm loaded, so the address stays valid, in forked children too."""
    name, library = _library()
    try:
        function = getattr(library, symbol)
    except AttributeError:
        raise NativeSymbolMissing(symbol, name) from None
    return ctypes.cast(function, ctypes.c_void_p).value or 0
