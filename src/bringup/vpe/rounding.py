"""How this thread computes while a kernel runs: as the chip does, whatever the program has set for itself.

`torch.set_flush_denormal`, a library built with `-ffast-math`, or a rounding direction reach all that a thread computes
(MXCSR on x86-64, FPCR on AArch64). A kernel on the device must not see them.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator

_DEFAULT = ctypes.c_void_p(-1)  # FE_DFL_ENV, of glibc and musl on both
_SIZE = 256  # bytes; a fenv_t has 32 at most


def _library() -> ctypes.PyDLL | None:
    for name in (None, "libm.so.6"):
        with contextlib.suppress(OSError, AttributeError):
            found = ctypes.PyDLL(name)
            found.fegetenv.argtypes = found.fesetenv.argtypes = [ctypes.c_void_p]
            return found
    return None


_LIBM = _library()


def as_the_chip() -> None:
    """Set this thread to round to nearest and to keep subnormal numbers, for good."""
    if _LIBM is not None:
        _LIBM.fesetenv(_DEFAULT)


@contextlib.contextmanager
def while_a_kernel_runs() -> Iterator[None]:
    """Compute as the chip does, and afterwards as before."""
    if _LIBM is None:
        yield
        return
    kept = ctypes.create_string_buffer(_SIZE)
    _LIBM.fegetenv(kept)
    _LIBM.fesetenv(_DEFAULT)
    try:
        yield
    finally:
        _LIBM.fesetenv(kept)
