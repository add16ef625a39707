"""Numbers that PyTorch converts to the integers of a result: what does not fit is refused before a kernel runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from bringup.library.schemas import Schema

# What these parameters are called says what becomes of them; other numbers (`other`, `min`) take part in promotion.
CONVERTED = frozenset({"alpha", "beta", "value", "exponent", "start", "end", "step"})
_NEGATED = ("sub", "sub_", "subtract", "subtract_", "rsub")  # PyTorch adds minus `alpha` times the other tensor
_RANGES = ("arange", "range")  # computed in int64, whatever the integers of the result are


class Fitting:
    """Checks the numbers of one overload's calls."""

    def __init__(self, schema: Schema) -> None:
        """Look for parameters that are converted."""
        self.positions = tuple(
            i for i, p in enumerate(schema.parameters) if p.name in CONVERTED and "number" in p.type and not p.written
        )
        name = schema.name.partition(".")[0]
        self._wide, self._negated = name in _RANGES, name in _NEGATED

    def dtype(self, result: torch.dtype | None) -> torch.dtype | None:
        """Return the integers that numbers become where results have a dtype; None where nothing is to be checked."""
        if not self.positions or result is None or result.is_floating_point or result.is_complex:
            return None
        if result == torch.bool:
            return None
        return torch.int64 if self._wide else result

    def check(self, values: Sequence[Any], dtype: torch.dtype) -> None:
        """Raise PyTorch's own RuntimeError for a number that does not fit."""
        known = torch.iinfo(dtype)
        for position in self.positions:
            value = values[position]
            # A comparison with NaN is False. PyTorch decides on what is outside: uint8 takes -1.
            if type(value) not in (int, float):
                continue
            if self._negated:
                value = -value
            if not known.min <= value <= known.max:
                torch.empty((), dtype=dtype, device="cpu").fill_(value)
