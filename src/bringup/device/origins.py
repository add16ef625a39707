"""Which byte of which argument each byte is that copies have brought somewhere, and is there still.

A host that copies one element of an argument into a buffer, and gives a kernel that buffer, has given it one element;
what it has copied over is not there any more. And what stays lies where it lay: an operator that leaves elements leaves
those of one tensor, in their places, whatever way copies took them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from bringup.device.memory import WRITER, Map, codes
from bringup.device.wire import Malformed
from bringup.vpe.memory import COPIED, INPUT

MOST_ARGUMENTS = 32 << 20  # bytes of all arguments of a call whose copies are followed
MOST_NUMBERED = 128 << 20  # bytes of the storages where copies of them are: a number takes four
Extent = tuple[int, int, tuple[int, ...], tuple[int, ...]]
"""A tensor in a storage: bytes from its beginning, bytes an element, sizes and strides in elements."""


class Origins:
    """Of one call."""

    def __init__(self, arguments: Iterable[tuple[int, int]], kept: tuple[int, Extent] | None = None) -> None:
        """`arguments`: the address or number of each one's storage, and bytes of it.

        `kept`: the tensor whose elements may stay, by its storage and where it is there; None where none may.
        """
        self._first: dict[int, int] = {}  # by storage: the number of its first byte; 0 is no byte's
        self._bytes: dict[int, int] = {}
        self._numbers: dict[int, Any] = {}  # by storage, uint32[n]: of bytes that came by copies
        at = 1
        for storage, nbytes in arguments:
            self._first[storage], self._bytes[storage], at = at, nbytes, at + nbytes
        self._kept = kept
        self.unknown = at > MOST_ARGUMENTS
        """Whether the call is too large for this; then nothing is known."""

    def _own(self, storage: int, extent: Extent) -> Any:
        """The numbers that the bytes of a tensor have by themselves that lies on an argument."""
        offset, width, size, stride = extent
        found = np.arange(width, dtype=np.int64) + (self._first[storage] + offset)
        for length, step in zip(reversed(size), reversed(stride), strict=True):
            found = found + (np.arange(length, dtype=np.int64) * (step * width)).reshape(length, *[1] * found.ndim)
        return found.astype(np.uint32)

    def _there(self, storage: int, by: Map, extent: Extent) -> Any:
        """The numbers of a tensor's bytes, as far as they are an argument's; 0 for others."""
        held = codes(by, *extent)
        found = np.zeros(held.shape, np.uint32)
        if storage in self._numbers:
            found[...] = _view(self._numbers[storage], extent)
        if storage in self._first:
            found = np.where(held & COPIED, found, self._own(storage, extent))
        return np.where((held & WRITER) == INPUT, found, 0)

    def copied(self, source: int, by: Map, taken: Extent, target: int, nbytes: int, put: Extent) -> None:
        """Note a copy.

        Args:
            source: the storage that it takes from.
            by: codes of the bytes there, as they were.
            taken: the tensor there.
            target: the storage that it puts to, of `nbytes` bytes.
            put: the tensor there.

        Raises Malformed where that is more than can be followed.
        """
        if self.unknown or 0 in taken[2]:
            return
        found = self._there(source, by, taken)
        if target not in self._numbers:
            if not found.any():
                return  # what kernels wrote is no argument's; whose number was there before is not asked for
            if nbytes + sum(map(len, self._numbers.values())) > MOST_NUMBERED:
                raise Malformed(f"copies of arguments in more than {MOST_NUMBERED >> 20} MiB")
            self._numbers[target] = np.zeros(nbytes, np.uint32)
        _view(self._numbers[target], put)[...] = found

    def touched(self, storage: int) -> bool:
        """Whether copies have brought something of arguments to a storage."""
        return storage in self._numbers

    def freed(self, storage: int) -> None:
        """Forget a storage."""
        self._numbers.pop(storage, None)

    def parts(self, storage: int, by: Map) -> dict[int, Map]:
        """What of arguments is in a storage: of each bool[bytes] that says which; `by`: codes of its bytes."""
        if storage not in self._numbers:
            return {}
        numbers = self._numbers[storage]
        there = numbers[((by & WRITER) == INPUT) & (by & COPIED != 0)]
        found = {}
        for argument, first in self._first.items():
            mine = there[(there >= first) & (there < first + self._bytes[argument])]
            if mine.size:
                found[argument] = part = np.zeros(self._bytes[argument], bool)
                part[mine - first] = True
        return found

    def stay(self, storage: int, by: Map, extent: Extent) -> bool:
        """Whether all bytes of a tensor that no kernel wrote are the kept tensor's, each in its place.

        Args:
            storage: that the tensor lies in.
            by: codes of the bytes there.
            extent: of the tensor; the kept one is broadcast to its sizes.
        """
        if self.unknown or self._kept is None or 0 in extent[2]:
            return True
        left = (codes(by, *extent) & WRITER) == INPUT
        if not left.any():
            return True
        try:
            wanted = np.broadcast_to(self._own(*self._kept), left.shape)
        except ValueError:
            return False
        return not (left & (self._there(storage, by, extent) != wanted)).any()


def _view(numbers: Any, extent: Extent) -> Any:
    """The numbers of a tensor's bytes, sizes and one axis more; shares memory."""
    offset, width, size, stride = extent
    steps = (*(4 * step * width for step in stride), 4)
    return np.lib.stride_tricks.as_strided(numbers[offset:], (*size, width), steps)
