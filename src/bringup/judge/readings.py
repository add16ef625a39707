"""What a call may read of what its kernels have computed: a size of its result, and one flag, the same in every call.

A size is no secret: whoever is given the result sees it. So a host that has read sizes knows nothing more of the data
than everybody does who calls the operator, and can make no answer of it. Which of the sizes a number is may not hang on
the data either: a number that is read in calls of one kind has one role in all of them. The same rule holds in the
judge and in sealed use.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from bringup.judge._must_read import UNDECIDED, Sought

DIMENSIONS = range(-8, 9)  # numbers among the arguments that may say which dimension a size is of, flags among them
KEPT = 1 << 16  # kinds of calls
MOST = 2  # numbers of a call: a size, and a flag that all is well
Role = tuple[Any, ...]
"""("size", result, dimension), ("elements", result) or ("flag", value)."""

_FLAG = "kernels decide, the host reads one number, 0 or 1"
_SIZE = (
    "the host may read the size that the result has, and one flag, which is the same in all calls that are not "
    "refused; what else decides belongs into kernels (of a size with a lower bound a kernel writes the larger one)"
)


class Readings:
    """What the calls of one wrapper have read."""

    def __init__(self) -> None:
        """None yet."""
        self._roles: dict[Any, set[Role]] = {}  # by the kind of call and the place of the number
        self._counts: dict[str, int] = {}  # of numbers, by all that a wrapper knows of a call
        self._turned: set[bool] = set()  # whether truth values were other ones than the numbers that were read for them

    def misread(
        self, readings: Sequence[tuple[str, bytes]], sizes: Sequence[Sequence[int]], arguments: Any, *,
        truth: bool | None = None, sought: Sought | None = None,
    ) -> str:  # fmt: skip
        """Say what of a call's readings is neither a size nor a flag, or was another one before; "" where all is well.

        Args:
            readings: dtype and bytes of each tensor that was read, in order.
            sizes: of the call's results.
            arguments: of the call, tensors among them: the role of a number may hang on the others (`dim`).
            truth: the result, where it is a truth value, of which a kernel is to decide; then there are no sizes.
            sought: what the first number says of the result, where that hangs on data.
        """
        numbers = [number for dtype, data in readings for number in _numbers(dtype, data)]
        if sought is not None and (said := self._ignored(numbers[0] if numbers else None, sizes, truth, sought)):
            return said
        if len(self._counts) >= KEPT or len(self._roles) >= KEPT:  # of calls long ago nothing is known any more
            self._counts.clear()
            self._roles.clear()
        if self._counts.setdefault(_metadata(arguments), len(numbers)) != len(numbers):
            return f"the wrapper reads {len(numbers)} numbers, and others where it knew as much of a call: {_SIZE}"
        if truth is not None:
            odd = [number for number in numbers if number not in (0, 1)]
            if odd:
                return f"the result is a truth value, and the wrapper reads {_shown(odd[0])} for it: {_FLAG}"
            return "" if len(numbers) <= 1 else f"the wrapper reads {len(numbers)} flags for a truth value: {_FLAG}"
        if len(numbers) > MOST:
            return f"the wrapper reads {len(numbers)} numbers: {_SIZE}"
        empty = tuple(tuple(size == 0 for size in shape) for shape in sizes)
        known_dims = [one for one in pytree.tree_leaves(arguments) if isinstance(one, int) and one in DIMENSIONS]
        kind = empty, repr(known_dims)  # how many numbers are read is no part of it: it may hang on the first
        shapes = ", ".join(str(list(shape)) for shape in sizes) or "none"
        found: list[set[Role]] = []
        for place, number in enumerate(numbers):
            roles = set(_roles(number, sizes))
            if not roles:
                told = f"which is no size of the result (its sizes: {shapes})"
                return f"the wrapper reads {_shown(number)}, {told}: {_SIZE}"
            known = self._roles.setdefault((kind, place), roles)
            known &= roles
            if not known:
                told = "which is another size of the result, or another flag, than what it has read in other calls"
                return f"the wrapper reads {_shown(number)}, {told} (its sizes: {shapes}): {_SIZE}"
            found.append(known)
        flags = [known for known in found if any(role[0] == "flag" for role in known)]
        if len(found) > 1 and not flags:
            return f"the wrapper reads {' and '.join(map(_shown, numbers))}, neither of which is a flag: {_SIZE}"
        if len(found) > 1 and len(flags) == 1:
            flags[0] -= {role for role in flags[0] if role[0] != "flag"}
        return ""

    def _ignored(self, number: float | None, sizes: Sequence[Sequence[int]], truth: bool | None, sought: Sought) -> str:
        """Say where the result is not what the first number that was read says; "" where it is."""
        if number is None:
            return UNDECIDED
        if sought.what == "size":
            shape = list(sizes[0]) if sizes else []
            right = [*shape, math.prod(shape)] if sought.dim is None else shape[sought.dim :][:1]
            if number in right:
                return ""
            return (
                f"the first number that the wrapper reads is {_shown(number)}, and its result has the sizes {shape}: "
                "the size that hangs on data is read first, as a kernel has found it"
            )
        found = bool(truth) if sought.what == "truth" else len(sizes) > 1 and math.prod(sizes[1]) > 0
        self._turned.add(found != bool(number))
        if len(self._turned) < 2:
            return ""
        return (
            f"the wrapper reads {_shown(number)}, and its result is another one than where it has read that before: "
            "what a kernel has found decides, the same way in each call"
        )


def _metadata(arguments: Any) -> str:
    """All that a wrapper knows of a call: which of some numbers it reads may not say anything of data either."""

    def told(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor):
            return tuple(leaf.shape), leaf.stride(), leaf.storage_offset(), str(leaf.dtype)
        return repr(leaf)

    return repr(pytree.tree_map(told, arguments))


def _roles(number: float, sizes: Sequence[Sequence[int]]) -> Iterator[Role]:
    for place, shape in enumerate(sizes):
        yield from (("size", place, dim) for dim, size in enumerate(shape) if number == size)
        if number == math.prod(shape):
            yield ("elements", place)
    if number in (0, 1):
        yield ("flag", number)


def _numbers(dtype: str, data: bytes) -> Iterator[int | float]:
    kind = getattr(torch, dtype)
    if not data:
        return
    for one in torch.frombuffer(bytearray(data), dtype=kind).reshape(-1).tolist():
        odd = not isinstance(one, int | float) or (one == 0 and math.copysign(1.0, one) < 0)  # complex, and -0.0
        yield math.nan if odd else one


def _shown(number: float) -> str:
    return f"{number:.9g}" if isinstance(number, float) else str(number)[:40]
