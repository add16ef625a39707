"""How far parameters may go on a target: from its dialect's limits and the figures of its chip."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bringup.search.parameters.space import Freedom

if TYPE_CHECKING:
    from bringup.targets import Target

_ACCUMULATOR = 4  # bytes of an element of what `tl.dot` adds to
_LARGEST_TENSOR = 1 << 16  # elements: beyond, no core keeps a block in registers


def freedom_of(target: Target, *, loose: bool = False, facts: Mapping[str, Any] | None = None) -> Freedom:
    """Return the freedom of parameters on `target`.

    `loose`: results may be off by what the 10-bit mantissa of tf32 makes of fp32 products (relative 1e-3). Without it a
    product of fp32 stays one, exactly or in three parts. `facts` are the chip's, where the target does not know them.
    """
    limits, facts = target.dialect().limits, target.facts() or facts or {}
    backend = target.triton_target()[0]
    base: dict[str, Any] = {
        "block": min(limits.block or _LARGEST_TENSOR, _LARGEST_TENSOR),
        "programs": limits.programs or 65535,
        "processors": _processors(facts),
    }
    least = facts.get("limits", {}).get("dot_accumulator_row_bytes")
    if isinstance(least, int):
        base["dot"] = max(16, least // _ACCUMULATOR)
    if backend == "cuda":  # 32 threads a warp, 1,024 a program; more stages than shared memory holds do not compile
        base |= {"num_warps": (1, 2, 4, 8, 16), "num_stages": (1, 2, 3, 4, 5)}
        base["precisions"] = ("ieee", "tf32x3", "tf32") if loose else ("ieee", "tf32x3")
    elif backend == "hip":
        base |= {"num_warps": (1, 2, 4, 8), "num_stages": (1, 2, 3), "stages": 2}
    return Freedom(**base)


def _processors(facts: Mapping[str, Any]) -> int:
    grid = facts.get("grid")
    if isinstance(grid, dict):
        return int(grid.get("rows", 0)) * int(grid.get("columns", 0))
    return int(facts.get("multiprocessors", 0))
