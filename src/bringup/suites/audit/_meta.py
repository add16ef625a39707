"""Calls on the meta device, where there are shapes and dtypes but no values. Imports torch.

Many of its functions are written in Python and marked "not to be compiled", by a decorator that imports PyTorch's
compiler when it is first used: seconds, in every process that builds cases. A stand-in takes its place here.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import ModuleType
from typing import Any

import torch

from bringup.accuracy import limited_memory
from bringup.suites._opinfo_calls import Call
from bringup.suites.audit._tree import mapped

_COMPILER = "torch._dynamo"


def on_meta(call: Call) -> Any:
    """Run the reference on tensors of the same sizes and strides without values; raises what it raises.

    Tensors without values need memory too: 2**31 of them, 16 GB.
    """
    with torch.no_grad(), warnings.catch_warnings(), limited_memory():
        warnings.simplefilter("ignore")
        meta = mapped(call, lambda t: torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="meta"))
        if "device" in meta.kwargs:  # a factory's
            meta = replace(meta, kwargs={**meta.kwargs, "device": torch.device("meta")})
        with _without_compiler() as light:
            try:
                return meta.reference(*meta.args, **meta.kwargs)
            except Exception:
                if light is None or not light.missed:
                    raise
        return meta.reference(*meta.args, **meta.kwargs)


class _Light(ModuleType):
    """The compiler's name with nothing behind it but the mark; `missed`: something else was asked for."""

    missed = False

    def disable(self, function: Callable[..., Any], recursive: bool = True, wrapping: bool = True) -> Any:
        return function

    def __getattr__(self, name: str) -> Any:
        self.missed = True
        raise AttributeError(f"{self.__name__}.{name}: PyTorch's compiler is not imported here")


@contextmanager
def _without_compiler() -> Iterator[_Light | None]:
    if _COMPILER in sys.modules:
        yield None
        return
    light = _Light(_COMPILER)
    sys.modules[_COMPILER] = torch._dynamo = light
    try:
        yield light
    finally:
        # whoever asks for the compiler from now on gets the real one
        del sys.modules[_COMPILER], torch._dynamo
