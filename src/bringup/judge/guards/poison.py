"""Poison: fresh memory holds NaN and other patterns, so that what a kernel does not write is seen."""

from __future__ import annotations

from typing import Any

from bringup.judge._schemas import FRESH
from bringup.judge.guards._base import Watch
from bringup.judge.guards._memory import device_bytes

FIRST = 0xA5


class Poison(Watch):
    """Floating-point memory is filled with NaN, all other memory with 0xA5 (booleans: True).

    A rerun asks for another byte everywhere (booleans: False), for where NaN is the answer or memory is left over from
    the call before. That byte is drawn by the judge: a kernel that knew it could tell when it is watched.
    """

    id = "poison"
    catches = "output elements that no kernel writes, and answers left over in memory from an earlier call"
    misses = "an element that happens to hold the right value in both patterns"

    def __init__(self, target: Any, facts: dict[str, Any]) -> None:
        """Start with the first pattern."""
        super().__init__(target, facts)
        self.second: int | None = None
        self.before_resize = 0

    def around(self, mode: dict[str, Any]) -> Any:
        """Take the pattern of this call."""
        self.second = mode.get("second_poison")
        return super().around(mode)

    def before(self, func: Any, args: Any, kwargs: Any) -> None:
        """Note how much memory a tensor has that is about to be resized."""
        if func._schema.name == "aten::resize_":
            self.before_resize = args[0].untyped_storage().nbytes()

    def after(self, func: Any, args: Any, result: Any) -> None:
        """Fill what was just allocated."""
        import torch

        grown = func._schema.name == "aten::resize_"
        if not (grown or func._schema.name in FRESH):
            return
        if not isinstance(result, torch.Tensor) or result.layout is not torch.strided:
            return
        flat = device_bytes(self.target, result.untyped_storage())
        if flat is not None and grown:
            width = result.dtype.itemsize
            flat = flat[-(-self.before_resize // width) * width :]
        if flat is None or not flat.numel():
            return
        if result.dtype is torch.bool:
            flat.fill_(1 if self.second is None else 0)
        elif result.dtype.is_floating_point and self.second is None and result.dtype.itemsize > 1:
            flat[: flat.numel() // result.dtype.itemsize * result.dtype.itemsize].view(result.dtype).fill_(float("nan"))
        else:
            flat.fill_(FIRST if self.second is None else self.second)
