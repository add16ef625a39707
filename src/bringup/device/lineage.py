"""What copies of a call make of the codes of bytes: from which one that a kernel wrote each comes, and what was turned.

A byte gets its number when it is first copied, and keeps it until a kernel writes it anew; copies carry numbers along.
In a result none may be there twice. Where a storage is too large for numbers, and wherever copies take a byte from
there, it has none: nobody follows it, and it is copied on once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bringup.device.checks import check_extent, item_bytes, repeats
from bringup.device.memory import WRITER, Block, Map, codes
from bringup.device.order import GREW, Order, grows
from bringup.device.wire import Descriptor, Malformed
from bringup.vpe.memory import ASKED, COPIED, LAUNCHED, SPREAD, TAKEN, TURNED

MOST_TRACED = 32 << 20  # bytes of a storage whose bytes have numbers
MOST_NUMBERED = 96 << 20  # bytes of all of them: a number takes four
MOST_LOOSE = 64 << 20  # bytes that go to storages without numbers: theirs are kept
LAST_NUMBER = 1 << 32
PLAIN = 0xFF ^ TAKEN ^ TURNED ^ ASKED  # of a code: what is told of it


def carried(
    lineage: Lineage | None, order: Order | None,
    source: Descriptor, origin: Block, target: Descriptor, block: Block, writers: Map,
) -> Map:  # fmt: skip
    """Return the codes of the bytes of a copy; the source's say that they are taken, then.

    Args:
        lineage: of the call; None where its copies are known to multiply nothing.
        order: the rule where moving elements is the operator; None elsewhere.
        source: what is copied, of the storage `origin`.
        origin: in whose map `writers` is.
        target: of the storage `block`.
        block: into which it is copied.
        writers: codes of the source's bytes, shared with the map.

    `order` notes a copy that turns what was turned before, as something else, or what a kernel wrote; and one that
    makes a buffer larger which a kernel has written.
    """
    launched = (writers & WRITER) == LAUNCHED
    turned = False
    if order is not None and launched.any() and grows(source, origin.nbytes, target, block.nbytes):
        order.odd = order.odd or ("" if order.keeps(source, target, block.nbytes) else GREW)
    if order is not None and writers.size:
        turned = order.laid(source, target, again=bool((writers & TURNED).any()), made=bool(launched.any()))
    found: Map = np.where(writers != 0, writers & ~np.uint8(TAKEN) | COPIED, 0).astype(np.uint8)
    # Bytes that a copy takes more than once come to be more than kernels wrote.
    if lineage is not None and launched.any():
        twice = lineage.copied(source, origin, target, block, writers)
        found[launched & (repeats(source.size, source.stride) | twice)] = SPREAD | COPIED
        writers[launched] |= TAKEN
    if turned:
        found |= TURNED
    return found


class Numbers:
    """Many numbers; looking some up costs what these are, however many there are."""

    def __init__(self) -> None:
        """None yet."""
        self._runs: list[Any] = []  # sorted, each at least twice as long as the next: so they are few

    def __len__(self) -> int:
        """How many were added."""
        return sum(map(len, self._runs))

    def add(self, numbers: Any) -> None:
        """Add uint32[n], sorted."""
        if len(numbers):
            self._runs.append(numbers)
        while len(self._runs) > 1 and len(self._runs[-2]) < 2 * len(self._runs[-1]):
            last = self._runs.pop()
            self._runs[-1] = np.sort(np.concatenate([self._runs[-1], last]), kind="stable")

    def holds(self, numbers: Any) -> Any:
        """Which of these, of any shape, are there: bool."""
        found = np.zeros(numbers.shape, bool)
        for run in self._runs:
            found |= run[np.minimum(np.searchsorted(run, numbers), len(run) - 1)] == numbers
        return found


class Lineage:
    """Of one call."""

    def __init__(self) -> None:
        """Nothing is copied yet."""
        self._any = False
        self._numbers: dict[int, Any] = {}  # by base, uint32[n]: of bytes that were copied, or came by a copy
        self._next = 1
        self._loose = Numbers()  # of bytes that went where there are none

    def copied(self, source: Descriptor, origin: Block, target: Descriptor, block: Block, writers: Map) -> Any:
        """Note a copy; returns which of its bytes a copy had taken before and nobody could follow.

        Args:
            source: what is copied, of the storage `origin`.
            origin: whose codes do not yet say that they are taken.
            target: of the storage `block`.
            block: into which it is copied.
            writers: codes of the source's bytes.
        """
        self._any = True
        launched = (writers & WRITER) == LAUNCHED
        own, given = self._of(source, origin), self._of(target, block)
        before = (writers & (TAKEN | COPIED)) != 0
        if own is None:
            own, followed = np.zeros(writers.shape, np.uint32), np.zeros(writers.shape, bool)
        else:
            own[launched & ~before] = self._new(int((launched & ~before).sum()))
            followed = launched & (own != 0)
        again = launched & ~followed & (writers & TAKEN != 0)
        if given is not None:
            given[...] = np.where(followed, own, 0)
        elif followed.any():
            numbers = np.sort(own[followed])
            twice = numbers[1:][numbers[1:] == numbers[:-1]]
            again |= followed & (self._loose.holds(own) | np.isin(own, twice))
            self._loose.add(numbers)
            if len(self._loose) > MOST_LOOSE:
                raise Malformed(f"more than {MOST_LOOSE >> 20} MiB that go by copies where nobody can follow them")
        return again

    def freed(self, base: int) -> None:
        """Forget a storage."""
        self._numbers.pop(base, None)

    def multiplied(self, blocks: Sequence[Block | None], outputs: Sequence[dict[str, Any]]) -> bool:
        """Whether results hold one byte that a kernel wrote more than once."""
        numbers: list[Any] = []
        copies = copied_loose = taken_loose = False
        for number in {output["storage"] for output in outputs}:
            block = blocks[number]
            if block is None:
                continue
            shown = np.zeros(block.nbytes, bool)
            for output in outputs:
                if output["storage"] == number and 0 not in output["size"]:
                    width, size, stride = output["width"], tuple(output["size"]), tuple(output["stride"])
                    check_extent(output["offset"] * width, width, size, stride, block.nbytes)
                    codes(shown, output["offset"] * width, width, size, stride)[...] = True
            shown &= (block.written_by & WRITER) == LAUNCHED
            came, taken = shown & (block.written_by & COPIED != 0), shown & (block.written_by & TAKEN != 0)
            copies = copies or bool(came.any())
            known = self._numbers.get(block.base)
            loose: Any = True
            if known is not None:
                numbers.append(known[(came | taken) & (known != 0)])
                loose = known == 0
            copied_loose, taken_loose = copied_loose or (came & loose).any(), taken_loose or (taken & loose).any()
        # Sorted here, since `np.unique` takes fifty times as long.
        every = np.sort(np.concatenate(numbers)) if numbers else np.zeros(0, np.uint32)
        if (every[1:] == every[:-1]).any() or (copies and taken_loose):
            return True
        return bool(copied_loose and self._loose.holds(every).any())

    def __bool__(self) -> bool:
        """Whether anything that a kernel wrote was copied."""
        return self._any

    def _of(self, tensor: Descriptor, block: Block) -> Any:
        """The numbers of a tensor's bytes, sizes and one axis more, sharing memory; None where there are none."""
        if block.base not in self._numbers:
            kept = sum(map(len, self._numbers.values()))
            if block.nbytes > MOST_TRACED or kept + block.nbytes > MOST_NUMBERED:
                return None
            self._numbers[block.base] = np.zeros(block.nbytes, np.uint32)
        width = item_bytes(tensor.dtype)
        steps = (*(4 * step * width for step in tensor.stride), 4)
        numbers = self._numbers[block.base][tensor.address - tensor.base :]
        return np.lib.stride_tricks.as_strided(numbers, (*tensor.size, width), steps)

    def _new(self, count: int) -> Any:
        """So many numbers that no byte has."""
        if self._next + count >= LAST_NUMBER:
            raise Malformed(f"more than {LAST_NUMBER >> 30} GiB of copies")
        first, self._next = self._next, self._next + count
        return np.arange(first, self._next, dtype=np.uint32)
