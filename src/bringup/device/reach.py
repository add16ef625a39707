"""What of its memory a call may read and write: the elements of its arguments, and nothing between them.

What lies between the rows of a matrix that is part of a larger one, and what an `out=` held before, is nobody's input.
A judge can put there what it likes, and so can a user: a kernel that reads it can tell them apart. So nobody has
written these bytes, as far as a call is concerned, and a kernel that reads one is stopped. They are the caller's all
the same: who holds the larger matrix finds them as they were.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from bringup.device.memory import Map, codes
from bringup.vpe.memory import INPUT

BEYOND = frozenset({"as_strided", "as_strided_copy", "as_strided_scatter", "resize", "resize_as", "set"})
"""Operators that reach all of a storage, whatever tensor they are given on it; names without the ending of in-place
ones."""


FILLED = {
    **dict.fromkeys(("uniform_", "normal_", "exponential_", "bernoulli_", "random_", "fill_", "zero_"), (0,)),
    **dict.fromkeys(("_cummax_helper", "_cummin_helper"), (1, 2)),
}
"""Operators that write every element of tensors given by position, and read none: which of a call's tensors these are.
Of a keyword `out` it is said by its name."""


class Readable(NamedTuple):
    """A tensor that a call may read: bytes from the beginning of its storage, sizes, strides and bytes an element."""

    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]
    width: int


def reaches_beyond(operator: str) -> bool:
    """Whether an operator or overload reads what none of its arguments' elements is."""
    return operator.partition(".")[0].removesuffix("_") in BEYOND


def filled(operator: str) -> tuple[int, ...]:
    """Which tensors by position an operator or overload writes without reading them."""
    return FILLED.get(operator.partition(".")[0], ())


def marks(nbytes: int, tensors: Iterable[Readable]) -> Map | None:
    """Return uint8[nbytes], `INPUT` for each byte of an element and 0 for others; None where all are of elements."""
    found = list(tensors)
    if any(covers(nbytes, tensor) for tensor in found):
        return None
    made = np.zeros(nbytes, np.uint8)
    for offset, size, stride, width in found:
        if 0 not in size:  # of repeated elements one is enough
            once = tuple(1 if step == 0 else length for length, step in zip(size, stride, strict=True))
            codes(made, offset, width, once, stride)[...] = INPUT
    return made


def marks_by_base(
    bases: Sequence[int], sizes: Sequence[int], readable: Iterable[tuple[int, int, Sequence[int], Sequence[int], int]]
) -> dict[int, Map]:
    """Return the marks of storages, by their addresses; those that may be read as a whole are left out.

    `readable`: for each tensor its storage's number, its offset in elements, sizes, strides and bytes an element.
    """
    of_storage: dict[int, list[Readable]] = {}
    for number, offset, size, stride, width in readable:
        of_storage.setdefault(number, []).append(Readable(offset * width, tuple(size), tuple(stride), width))
    found = {
        base: marks(nbytes, of_storage.get(number, ()))
        for number, (base, nbytes) in enumerate(zip(bases, sizes, strict=True))
        if nbytes
    }
    return {base: made for base, made in found.items() if made is not None}


def covers(nbytes: int, tensor: Readable) -> bool:
    """Whether a tensor is dense and fills its storage."""
    if tensor.offset or math.prod(tensor.size) * tensor.width != nbytes:
        return False
    run = 1
    for step, length in sorted(zip(tensor.stride, tensor.size, strict=True)):
        if length > 1 and step != run:
            return False
        run *= length
    return True
