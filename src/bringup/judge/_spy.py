"""The dispatch spy: sees every ATen call that a wrapper makes and allows only those that leave the work undone.

Allowed are allocation, views and metadata, copies that change neither values nor dtype, and reading one number back
(shapes may depend on data). Everything else is work left to PyTorch: a cheat on a device without those kernels.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from bringup.judge._loader import FILENAME
from bringup.judge._schemas import COPIES, moves_no_data


class DispatchSpy(TorchDispatchMode):  # type: ignore[misc]
    """Collects forbidden ATen calls as (operator, line of the candidate); the calls themselves go through."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, int]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if not _harmless(func, args, result):
            self.found.append((str(func), _candidate_line()))
        return result


def outside() -> AbstractContextManager[Any]:
    """Return a context in which the spy does not look: a kernel launch."""
    return _disable_current_modes()  # type: ignore[no-any-return]


def _harmless(func: Any, args: Any, result: Any) -> bool:
    if func._schema.name in COPIES:
        source = args[1] if func._schema.name == "aten::copy_" else args[0]
        return isinstance(result, torch.Tensor) and isinstance(source, torch.Tensor) and result.dtype == source.dtype
    return moves_no_data(func._schema)


def _candidate_line() -> int:
    frame: Any = sys._getframe()
    while frame is not None:
        if frame.f_code.co_filename == FILENAME:
            return int(frame.f_lineno)
        frame = frame.f_back
    return 0
