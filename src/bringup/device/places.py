"""What stays lies where it lay: from which byte of a tensor each byte of a copy comes, whatever way it went.

An operator that leaves elements leaves those of one tensor, in their places. Copies may bring them to a result, over
buffers laid out in any way; they may neither exchange them nor lay other tensors' elements between them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bringup.device.feeding import Extent
from bringup.device.memory import WRITER, Map, codes
from bringup.vpe.memory import COPIED, INPUT

MOST_PLACED = 32 << 20  # bytes of a storage whose bytes are followed
MOST_NUMBERED = 96 << 20  # bytes of all of them: a number takes four


class Places:
    """Of one call."""

    def __init__(self, kept: int, nbytes: int, extent: Extent) -> None:
        """`kept`: the address or number of the storage of the tensor whose elements may stay; `extent`: of it there."""
        self._kept, self._nbytes, self._extent = kept, nbytes, extent
        self._numbers: dict[int, Any] = {}  # by storage, uint32[n]: of bytes that came by copies, 0 for no place
        self.lost = nbytes > MOST_PLACED
        """Whether somewhere nobody followed them; then nothing is known."""

    def copied(
        self, source: int, by: Map, taken: Extent, target: int, nbytes: int, put: Extent,
    ) -> None:  # fmt: skip
        """Note a copy.

        Args:
            source: the storage that it takes from.
            by: codes of the bytes there, as they were.
            taken: the tensor there.
            target: the storage that it puts to, of `nbytes` bytes.
            put: the tensor there.
        """
        if self.lost or 0 in taken[2]:
            return
        held = codes(by, *taken)
        if not ((held & WRITER) == INPUT).any():
            return  # what kernels wrote has no place; whose number was there before is not asked for
        found = np.zeros(held.shape, np.uint32)
        if source in self._numbers:
            found[...] = _view(self._numbers[source], taken)
        if source == self._kept:
            own = _view(np.arange(1, self._nbytes + 1, dtype=np.uint32), taken)
            found = np.where(held & COPIED, found, own)
        if target not in self._numbers:
            if nbytes > MOST_PLACED or nbytes + sum(map(len, self._numbers.values())) > MOST_NUMBERED:
                self.lost = True
                return
            self._numbers[target] = np.zeros(nbytes, np.uint32)
        _view(self._numbers[target], put)[...] = found

    def freed(self, storage: int) -> None:
        """Forget a storage."""
        self._numbers.pop(storage, None)

    def stay(self, storage: int, by: Map, extent: Extent) -> bool:
        """Whether all bytes of a tensor that no kernel wrote are the kept tensor's, each in its place.

        Args:
            storage: that the tensor lies in.
            by: codes of the bytes there.
            extent: of the tensor; the kept one is broadcast to its sizes.
        """
        if self.lost or 0 in extent[2]:
            return True
        held = codes(by, *extent)
        left = (held & WRITER) == INPUT
        if not left.any():
            return True
        own = _view(np.arange(1, self._nbytes + 1, dtype=np.uint32), self._extent)
        try:
            wanted = np.broadcast_to(own, held.shape)
        except ValueError:
            return False
        numbers = self._numbers.get(storage)
        found = np.zeros(held.shape, np.uint32) if numbers is None else _view(numbers, extent)
        if storage == self._kept:
            found = np.where(held & COPIED, found, _view(np.arange(1, self._nbytes + 1, dtype=np.uint32), extent))
        return not (left & (found != wanted)).any()


def _view(numbers: Any, extent: Extent) -> Any:
    """The numbers of a tensor's bytes, sizes and one axis more; shares memory."""
    offset, width, size, stride = extent
    steps = (*(4 * step * width for step in stride), 4)
    return np.lib.stride_tricks.as_strided(numbers[offset:], (*size, width), steps)
