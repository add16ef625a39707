"""The rule that copies keep elements whole: a number that is put together of parts of others no kernel has computed.

The low byte of a number, moved by a copy, is the number modulo 256; moved up by a byte it is times 256. So it is kept
how large the elements of each storage are: as those of the arguments and results on it, and as those that kernels are
given pointers to. What a kernel has taken apart itself, and written as bytes, are bytes; and what it writes of bytes it
has made.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from bringup.device.checks import item_bytes
from bringup.device.wire import Descriptor

if TYPE_CHECKING:
    import torch

PARTS = (
    "a copy moves parts of elements, or puts elements together of parts, which makes other numbers of them: that is "
    "work for a kernel"
)
_BITS = re.compile(r"\d+")


def element_bytes(dtype: torch.dtype) -> int:
    """Bytes of an element; a complex number is two."""
    return int(dtype.itemsize) // (2 if dtype.is_complex else 1)


def pointed_bytes(kind: str) -> int:
    """Bytes of what a kernel's pointer of this kind (`*fp32`, `*i1`) points to."""
    bits = _BITS.search(kind)
    return max(1, int(bits.group()) // 8) if bits else 1


def _joined(
    width: int, size: Sequence[int], put: Sequence[int], taken: Sequence[int]
) -> tuple[int, list[tuple[int, int]]]:
    """Bytes that lie together on both sides of a copy, and the steps in bytes from one such run to the next."""
    run, outer = width, []
    for one, other, length in sorted(zip(put, taken, size, strict=True)):
        if one * width == other * width == run:
            run *= length
        elif length > 1:
            outer.append((one * width, other * width))
    return run, outer


class Elements:
    """The rule for one call: who keeps to it is told nothing, who does not PARTS."""

    def __init__(self, arguments: Iterable[tuple[int, int]]) -> None:
        """`arguments`: the address at which the storage of each begins, and bytes of its elements."""
        self._bytes: dict[int, int] = {}  # by storage: of its elements, as far as anybody knows
        for base, width in arguments:
            self._bytes[base] = min(width, self._bytes.get(base, width))
        self._grain: dict[int, int] = {}  # by storage: what copies into it go by; a divisor of all steps and lengths

    def launched(self, pointers: Iterable[tuple[int, int]], *, recast: bool = False) -> str:
        """A kernel is given pointers: where the storage of each begins, and bytes of what it points to.

        `recast`: it makes pointers to larger or smaller elements of some of them, and nobody says of which.
        """
        given = list(pointers)
        widths = [width for _, width in given]
        for base, width in given:
            if not self._fits(base, max(widths) if recast else max(self._of(base), width)):
                return PARTS
            self._bytes[base] = max(self._of(base), width)
        return ""

    def copied(self, source: Descriptor, source_bytes: int, target: Descriptor) -> str:
        """A copy is asked for, of a storage of so many bytes."""
        if 0 in source.size:
            return ""
        run, outer = _joined(item_bytes(source.dtype), source.size, target.stride, source.stride)
        first, begin = source.address - source.base, target.address - target.base
        mine = self._of(source.base)
        both = max(mine, self._of(target.base))
        # What ends with its storage ends with an element.
        lengths = [] if not outer and first + run == source_bytes else [run]
        if any(number % mine for number in (first, *(taken for _, taken in outer))):
            return PARTS
        puts = (begin, *(put for put, _ in outer), *lengths, self._grain.get(source.base, 0))
        if any(number % both for number in puts):
            return PARTS
        self._bytes[target.base] = both
        self._grain[target.base] = math.gcd(self._grain.get(target.base, 0), *puts)
        return ""

    def returned(
        self, base: int, offset: int, part: int, width: int, size: Sequence[int], stride: Sequence[int]
    ) -> str:
        """A result is a tensor: its storage and bytes from its beginning, sizes, and strides in units of `width` bytes.

        `part`: bytes of an element, which is half of `width` for complex numbers.
        """
        if 0 in size:
            return ""
        mine = self._of(base)
        if not self._fits(base, part):
            return PARTS
        if part >= mine:
            return ""
        run, outer = _joined(width, size, stride, stride)
        lengths = [run] if outer else []
        return PARTS if any(number % mine for number in (offset, *(step for step, _ in outer), *lengths)) else ""

    def freed(self, base: int) -> None:
        """Forget a storage."""
        self._bytes.pop(base, None)
        self._grain.pop(base, None)

    def _of(self, base: int) -> int:
        return self._bytes.get(base, 1)

    def _fits(self, base: int, width: int) -> bool:
        """Whether copies have put whole elements of so many bytes there."""
        return self._grain.get(base, 0) % width == 0
