"""How many operations a call's matrix products are, and what the chip could do of them at most.

Counted is what the kernels' dots do, where their texts say how often they run; else what the suite's own reference
multiplies, which they must do at least. Other arithmetic is not counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bringup.judge.profilers._base import Seen
from bringup.targets import peak_tflops


@dataclass(frozen=True)
class Products:
    """Operations on a unit, whose peak is in TFLOP/s."""

    operations: int
    unit: str
    peak: float


def products(seen: Seen) -> Products | str | None:
    """What is multiplied; why that, or its ceiling, is not known; None where nobody multiplies matrices."""
    by_name: dict[str, list[Any]] = {}
    for kernel in seen.kernels:
        by_name.setdefault(str(kernel["name"]), []).append(kernel["facts"].get("dots"))
    found = [one for several in by_name.values() for one in several]
    if any(one is None for one in found):
        return "what its kernels multiply was not looked at"
    kinds = {(one["unit"], one["times"]) for one in found if one}
    if not kinds:
        made = "its matrix products are not made by tl.dot, so that their ceiling is not known"
        return made if seen.least_operations else None
    unit, times = next(iter(kinds))
    if len(kinds) > 1 or not unit:
        return "its dots multiply what has no one ceiling"
    peak = peak_tflops(seen.facts).get(unit, 0.0)
    if not peak:
        return f"the peak of this chip in {unit} is not known"
    operations = _of_launches(seen, by_name) or times * seen.least_operations
    if not operations:
        return "how often its dots run is not known"
    return Products(operations, unit, peak)


def _of_launches(seen: Seen, by_name: Mapping[str, list[Any]]) -> int:
    """Operations of all launches; 0 where the kernels' texts do not say."""
    total = 0
    for launch in seen.launches:
        several = by_name.get(str(launch["kernel"]), [])
        numbers = {one.get("operations") if one else 0 for one in several}
        operations = next(iter(numbers)) if len(numbers) == 1 else None
        if operations is None or "grid" not in launch:
            return 0
        total += operations * math.prod(launch["grid"])
    return total
