"""A chip whose compiler makes nothing of alignment has one kernel for aligned arguments and others.

Triton compiles a kernel anew where an integer argument is a multiple of 16 or is none, and where a tensor's address is.
Vector loads of GPUs need that; vpe finds out what runs are contiguous by itself. A fifth of what the hundred operators
of `make run` compile differed in nothing else.
"""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

from triton.runtime import jit

IGNORES = "ignores_alignment"  # an attribute of backends of Triton's


def install() -> None:
    """Have Triton ask backends. Safe to call again."""
    real = jit.create_function_from_signature
    if hasattr(real, "asks_backends"):
        return

    @functools.wraps(real)
    def create(sig: Any, kparams: Any, backend: Any) -> Any:
        return real(sig, [_plain(one) for one in kparams] if getattr(backend, IGNORES, False) else kparams, backend)

    create.asks_backends = True  # type: ignore[attr-defined]
    jit.create_function_from_signature = create


def _plain(parameter: Any) -> Any:
    names = ("is_constexpr", "is_const", "do_not_specialize", "annotation_type")
    told = {name: getattr(parameter, name) for name in names}
    return SimpleNamespace(**told, do_not_specialize_on_alignment=True)
