"""The device process's table of memory: blocks at addresses of the reserved range, and who wrote each byte of them."""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from bringup.device import space
from bringup.device.checks import block_behind, check_allocation, check_tensor, item_bytes
from bringup.device.engine import Engine, Fault
from bringup.device.wire import Descriptor, Malformed
from bringup.vpe.memory import INPUT

WRITER = 0x0F  # the part of a code that names the first writer
LEAST_COUNTED = 1024  # bytes that a block counts for, however small: its record takes as much
COUNTED_AT_ONCE = 1 << 18  # bytes: counting takes eight times as much for a moment
KEPT_FREED = 4096  # records of freed blocks, which name what a stale pointer meant

Owner = Literal["guest", "input"]
Map = npt.NDArray[np.uint8]


@dataclass(slots=True, eq=False)
class Block:
    """One storage in device memory."""

    base: int
    nbytes: int
    number: int
    """Counts the blocks of a guest from 1."""
    owner: Owner
    written_by: Map = field(repr=False)
    """One code for each byte."""
    writable: bool = True
    freed: bool = False
    brought: bool = False
    """Whether the host, or a copy of what an input holds, has put something there."""
    data: bool = False
    """Whether it is an input that holds data of the call."""
    real: Any = None
    """What the engine keeps of it."""

    def describe(self) -> str:
        """One line for messages."""
        what = "input" if self.owner == "input" else "allocation"
        return f"{what} #{self.number} of {self.nbytes} bytes{' (freed)' if self.freed else ''}"


class Memory:
    """All blocks of one guest."""

    def __init__(self, engine: Engine, limit: int) -> None:
        """`limit`: bytes that may be live at once."""
        self.engine, self.limit = engine, limit
        self.live = self.kept = 0
        self.count = 0
        self._blocks: dict[int, Block] = {}
        self._bases: list[int] = []
        self._freed: list[int] = []
        self._next_own = space.BASE  # the guest's addresses only grow
        self._next_input = space.MIDDLE

    def allocate(self, base: int, nbytes: int) -> Block:
        """A block where the guest wants it. Raises Malformed, or Fault when there is no memory left."""
        check_allocation(base, nbytes, self._next_own)
        self._next_own = space.after(base, nbytes)
        return self._add(base, nbytes, "guest", 0)

    def places(self, sizes: Sequence[int]) -> list[int]:
        """The addresses at which inputs of so many bytes will be put; 0 for empty ones."""
        found, at = [], self._next_input
        for size in sizes:
            found.append(space.after(at, 0, self.engine.alignment) if size else 0)
            at = found[-1] + size if size else at
        return found

    def put(self, data: memoryview, writable: bool, base: int, marks: Map | None = None) -> Block:
        """A block that holds an input, at an address beyond those of all others.

        `marks`: which of its bytes may be read (`reach.marks`); None: all. Raises Fault when there is no memory left.
        """
        if base < self._next_input:
            raise Fault("launch", "inputs that overlap")
        self._next_input = base + len(data)
        if self._next_input > space.END:
            raise Fault("memory", "the inputs of this candidate's cases have used up the range of addresses")
        block = self._add(base, len(data), "input", INPUT)
        if marks is not None:
            block.written_by[...] = marks
        block.data = bool(block.written_by.any())
        self.engine.write(block, data)
        block.writable = writable
        return block

    def twin(self) -> Memory:
        """An empty memory in which the same commands find the same addresses."""
        twin = Memory(self.engine, self.limit)
        twin._next_own, twin._next_input = self._next_own, self._next_input
        return twin

    def _add(self, base: int, nbytes: int, owner: Owner, code: int) -> Block:
        counted = max(nbytes, LEAST_COUNTED)
        if self.live + counted > self.limit:
            raise Fault(
                "memory",
                f"out of device memory: {nbytes} bytes asked for, {self.live} of {self.limit} bytes in use",
            )
        self.count += 1
        written_by = np.full(nbytes, code, np.uint8) if code else np.zeros(nbytes, np.uint8)
        block = Block(base, nbytes, self.count, owner, written_by)
        self.engine.allocate(block)
        self.live += counted
        bisect.insort(self._bases, base)
        self._blocks[base] = block
        return block

    def free(self, base: int) -> None:
        """End a block's life; what is not live, or not the guest's, stays as it is: destructors come late."""
        block = self._blocks.get(base)
        if block is not None and not block.freed and block.owner == "guest":
            self._end(block)

    def _end(self, block: Block) -> None:
        self.engine.release(block)
        block.freed, block.real, block.written_by = True, None, np.zeros(0, np.uint8)
        if block.nbytes >= space.PAGE:
            self.live -= block.nbytes
        else:
            self.kept += max(block.nbytes, LEAST_COUNTED)  # its page may hold others: it counts until the call ends
        self._freed.append(block.base)
        if len(self._freed) > 2 * KEPT_FREED:
            gone, self._freed = set(self._freed[:KEPT_FREED]), self._freed[KEPT_FREED:]
            self._bases = [base for base in self._bases if base not in gone]
            for base in gone:
                del self._blocks[base]

    def clear(self) -> None:
        """End every block; addresses stay used."""
        for block in list(self._blocks.values()):
            if not block.freed:
                self._end(block)
        self.live, self.kept = self.live - self.kept, 0

    def at(self, base: int) -> Block:
        """The live block that begins at an address; raises Malformed."""
        block = self._blocks.get(base)
        if block is None or block.freed:
            raise Malformed(self._dead(base, block))
        return block

    def _dead(self, base: int, block: Block | None) -> str:
        known = block is not None or space.BASE <= base < self._next_own or space.MIDDLE <= base < self._next_input
        return "memory that is freed, or of an earlier call" if known else "memory that was never allocated"

    def behind(self, value: int, base: int) -> Block | None:
        """The block of a pointer argument with this value, whose storage begins at `base` (0: unknown)."""
        if base:
            return self._blocks.get(base)
        found = block_behind(self._bases, lambda base: self._blocks[base].nbytes, value)
        return None if found is None else self._blocks[found]

    def describe(self, address: int) -> str:
        """One line on the block nearest to an address; empty if there is none."""
        found = bisect.bisect_right(self._bases, address)
        if not found:
            return ""
        block = self._blocks[self._bases[found - 1]]
        past = address - block.base - block.nbytes
        if past < 0:
            return f"byte {address - block.base} of {block.describe()}"
        return f"{past} bytes past the end of {block.describe()}"

    def __iter__(self) -> Iterator[Block]:
        return iter([block for block in self._blocks.values() if not block.freed])

    # Tensors -------------------------------------------------------------------------------------------------

    def torch_tensor(self, tensor: Descriptor, most: int = 0) -> tuple[Any, Map, Block]:
        """A torch tensor on device memory, the codes of its bytes (a last axis more), and its block.

        Raises Malformed for one that is not of its block; `most` as in `check_extent`.
        """
        import torch

        block, width = self.at(tensor.base), item_bytes(tensor.dtype)
        offset = check_tensor(tensor, block.nbytes, most)
        # A truth value is a byte like others to copies: to convert it would be to compute.
        dtype = torch.uint8 if tensor.dtype == "bool" else getattr(torch, tensor.dtype)
        view = self.engine.tensor(block, offset // width, dtype, tensor.size, tensor.stride)
        return view, codes(block.written_by, offset, width, tensor.size, tensor.stride), block


def pieces(size: Sequence[int], stride: Sequence[int]) -> int:
    """How many stretches of neighbouring elements a tensor has, in the order of memory; 0 for an empty one."""
    if 0 in size:
        return 0
    run = 1
    for step, length in sorted((s, n) for s, n in zip(stride, size, strict=True) if n > 1 and s > 0):
        if step != run:
            break
        run *= length
    return math.prod(size) // run


def stretches(size: Sequence[int], taken: Sequence[int], put: Sequence[int]) -> int:
    """How many runs of elements that are neighbours on both sides a copy from `taken` to `put` strides moves."""
    run = 1
    for other, one, length in sorted((p, t, n) for p, t, n in zip(put, taken, size, strict=True) if n > 1):
        if one != run or other != run:
            break
        run *= length
    return math.prod(size) // run


def layout_numbers(size: Sequence[int], taken: Sequence[int], put: Sequence[int]) -> int:
    """How many sizes and strides a copy from strides `taken` to strides `put` says that do not follow from others.

    Dimensions that are one for both sides count as one; a stride follows where it is that of dense elements. So a copy
    of one run of memory onto another says nothing.
    """
    if 0 in size:
        return 0
    merged: list[tuple[int, int, int]] = []
    outer_first = sorted(zip(size, taken, put, strict=True), key=lambda dim: (-dim[2], -dim[1]))
    for length, one, other in outer_first:
        if length == 1:
            continue
        if merged and merged[-1][1:] == (length * one, length * other):
            merged[-1] = (merged[-1][0] * length, one, other)
        else:
            merged.append((length, one, other))
    run, strides = 1, 0
    for length, one, other in reversed(merged):
        strides += (one != run) + (other != run)
        run *= length
    return strides + len(merged) if strides else 0


def count_codes(by: Map) -> dict[int, int]:
    """How many bytes have each code."""
    counts = np.zeros(256, np.int64)
    flat = by.reshape(-1)
    for start in range(0, flat.size, COUNTED_AT_ONCE):
        counts += np.bincount(flat[start : start + COUNTED_AT_ONCE], minlength=256)
    return {int(code): int(counts[code]) for code in np.flatnonzero(counts)}


def all_written(by: Map, offset: int, width: int, size: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    """Whether somebody has written each byte of a tensor; quick where its elements lie in order."""
    reach = 1
    for length, step in zip(reversed(size), reversed(stride), strict=True):
        if length != 1 and step != reach:
            return bool(codes(by, offset, width, size, stride).min(initial=1))
        reach *= length
    return not reach or bool(by[offset : offset + reach * width].min())


def codes(written_by: Map, offset: int, width: int, size: tuple[int, ...], stride: tuple[int, ...]) -> Map:
    """The codes of a tensor's bytes, seen as an array of one axis more; shares memory with the map."""
    if 0 in size:
        return np.zeros((*size, width), np.uint8)
    steps = tuple(step * width for step in stride)
    return np.lib.stride_tricks.as_strided(written_by[offset:], (*size, width), (*steps, 1))
