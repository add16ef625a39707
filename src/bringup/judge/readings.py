"""What a call may read of what its kernels have computed: sizes of its result, and one flag.

A size is no secret: whoever is given the result sees it. So a host that has read sizes knows nothing more of the data
than everybody does who calls the operator, and can make no answer of it; of a flag it knows one bit. The same rule
holds in the judge and in sealed use.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import torch

FLAGS = 1  # of a call


def misread(readings: Sequence[tuple[str, bytes]], sizes: Sequence[Sequence[int]], *, truth: bool) -> str:
    """Say what of these readings is neither a size nor the one flag; "" where all are.

    Args:
        readings: dtype and bytes of each tensor that was read, in order.
        sizes: of the call's results.
        truth: whether the result is a truth value, of which a kernel is to decide; then there are no sizes.
    """
    numbers = [number for dtype, data in readings for number in _numbers(dtype, data)]
    if truth:
        odd = [number for number in numbers if number not in (0, 1)]
        if odd:
            return f"the result is a truth value, and the wrapper reads {_shown(odd[0])} for it: {_FLAG}"
        return "" if len(numbers) <= FLAGS else f"the wrapper reads {len(numbers)} flags for a truth value: {_FLAG}"
    known = {size for shape in sizes for size in (*shape, math.prod(shape))}
    known |= {size - 1 for size in known}  # the largest index
    others = [number for number in numbers if number not in known]
    odd = [number for number in others if number not in (0, 1)]
    if odd:
        shapes = ", ".join(str(list(shape)) for shape in sizes) or "none"
        return f"the wrapper reads {_shown(odd[0])}, which is no size of the result (its sizes: {shapes}): {_SIZE}"
    return "" if len(others) <= FLAGS else f"the wrapper reads {len(others)} flags: {_SIZE}"


_FLAG = "kernels decide, the host reads one number, 0 or 1"
_SIZE = (
    "the host may read the sizes that the result has, and one flag, 0 or 1; what else decides belongs into kernels (of "
    "a size with a lower bound a kernel writes the larger one)"
)


def _numbers(dtype: str, data: bytes) -> Iterator[int | float]:
    kind = getattr(torch, dtype)
    if not data:
        return
    for one in torch.frombuffer(bytearray(data), dtype=kind).reshape(-1).tolist():
        yield one if isinstance(one, int | float) else math.nan  # complex: no size


def _shown(number: float) -> str:
    return f"{number:.9g}" if isinstance(number, float) else str(number)[:40]
