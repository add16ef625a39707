"""The dispatch spy: sees every ATen call that a wrapper makes and allows only those that leave the work undone."""

from __future__ import annotations

from typing import Any

from bringup.judge.guards._base import Finding, Watch
from bringup.judge.guards._frames import candidate_line


class DispatchSpy(Watch):
    """Allowed: allocation, views and metadata, copies that change neither values nor dtype.

    One number may be read back (`item`) where the operator's result has a shape, or is a number, that depends on data.
    Everything else is work left to PyTorch: a cheat on a device without those kernels.
    """

    id = "dispatch-spy"
    catches = "work left to PyTorch's own kernels, under whatever name they are called"
    misses = "code that switches dispatch modes off, and work done without PyTorch; `ghost` and `veil` see both"
    advice = "compute it in a kernel; the wrapper may only allocate, take views, read shapes and launch"

    def after(self, func: Any, args: Any, result: Any) -> None:
        """Judge one call by its schema."""
        if not self._harmless(func, args, result):
            self.findings.append(Finding(self.id, str(func), candidate_line()))

    def _harmless(self, func: Any, args: Any, result: Any) -> bool:
        import torch

        from bringup.judge._schemas import COPIES, moves_no_data

        if func._schema.name in COPIES:
            source = args[1] if func._schema.name == "aten::copy_" else args[0]
            return (
                isinstance(result, torch.Tensor) and isinstance(source, torch.Tensor) and result.dtype == source.dtype
            )
        if func._schema.name == "aten::_local_scalar_dense":
            # A host tensor where the device is another one is the wrapper's own list of numbers.
            return bool(self.facts["reads_values"]) or args[0].device.type != self.target.device.partition(":")[0]
        return moves_no_data(func._schema)
