"""The memory on which a sealed call works: regions, who wrote each byte of them, and what of the call's data is there.

A region is a storage of an argument, as far as the call may touch it, or memory of the call's own. What runs there are
the steps of a tape (`_steps`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

from bringup.device.feeding import Feeding
from bringup.device.memory import WRITER, Map, all_written, codes
from bringup.device.regions import ALIGNED
from bringup.device.wire import Malformed
from bringup.library._trace import Trace, first_codes
from bringup.library.errors import GuestFailed
from bringup.vpe import memory, state
from bringup.vpe.device import tensors
from bringup.vpe.memory import ASKED, INPUT, LAUNCHED, UPLOADED
from bringup.vpe.work import Budget

Region = Any
"""A tensor uint8[bytes] of the device on a storage, or on the part of one that a call may touch."""


def view(region: Region, offset: int, dtype: torch.dtype, size: Sequence[int], stride: Sequence[int]) -> Any:
    """Return a tensor `offset` bytes from the beginning of a region; strides in elements."""
    at = (region.storage_offset() + offset) // dtype.itemsize
    return tensors.make_tensor(region.untyped_storage(), at, size, stride, dtype)


@dataclass(frozen=True)
class View:
    """A tensor on a region: number of the region, bytes from its beginning, sizes and strides in elements."""

    region: int
    offset: int
    dtype: torch.dtype
    size: tuple[int, ...]
    stride: tuple[int, ...]

    def bytes(self) -> tuple[int, int, tuple[int, ...], tuple[int, ...]]:
        """Where its bytes are, as `codes` takes it."""
        return self.offset, self.dtype.itemsize, self.size, self.stride

    def on(self, regions: Room) -> Any:
        """The tensor. A truth value is a byte like others: to convert it would be to compute."""
        dtype = torch.uint8 if self.dtype is torch.bool else self.dtype
        return view(regions[self.region], self.offset, dtype, self.size, self.stride)


def alignment() -> int:
    """Bytes: what a wrapper may know of an address is its remainder by this, which chips with wide rows ask for."""
    return max(ALIGNED, state.profile().memory.allocation_alignment_bytes)


May = Literal["everything", "elements", "nothing"]
"""What of a region a call may write."""


def _copy_of(region: Region) -> Region:
    """A region of the call's own with the same bytes, at an address with the same remainder."""
    storage = tensors.new_storage(region.numel() + alignment())
    at = (region.data_ptr() - storage.data_ptr()) % alignment()
    made = tensors.make_tensor(storage, at, (region.numel(),), (1,), torch.uint8)
    made.copy_(region)
    return made


class Room:
    """The memory of one run of a tape, and the cycles that its launches may take: as many as in the judge."""

    def __init__(
        self, given: Sequence[Region], shown: Sequence[Map | None] = (), written: Sequence[May] = (),
        trace: Trace | None = None,
    ) -> None:  # fmt: skip
        """Begin with the arguments' regions; `trace`: of a call of which it is kept who wrote each byte.

        `shown`: which bytes of each the call may read, None for all. `written`: which it may write: all, none, or the
        elements of tensors alone; all where there is no entry. Of these last it works on a copy: what lies between the
        elements is the caller's, who may be writing it just now.
        """
        self.regions: list[Region] = list(given)
        self.trace = trace
        self.reads_arguments = False
        """Whether the host may read what arguments hold."""
        self.seed: int | None = None
        """Of a call that draws random numbers."""
        self.aside: dict[int, tuple[Region, Region]] = {}
        """By number of a region, where `regions` has a copy: the caller's, and what it held before."""
        self.read_only = {number for number, may in enumerate(written) if may == "nothing"}
        for number, may in enumerate(written):
            if may == "elements":
                before = _copy_of(given[number])
                self.aside[number], self.regions[number] = (given[number], before), _copy_of(before)
        self._shown: dict[int, tuple[Map, Map | None]] = {}  # by region: as this call sees its map, and the map
        self._changed: set[int] = set()  # regions whose maps differ since
        data = {
            number for number, region in enumerate(given)
            if region.numel() and (number >= len(shown) or (readable := shown[number]) is None or readable.any())
        }  # fmt: skip
        self.data = frozenset(data)
        """Regions of arguments that may be read."""
        self.feeding: Feeding | None = None
        """What kernels were given, where some of an argument may stay, or the host may read."""
        for number, region in enumerate(given):
            readable = shown[number] if number < len(shown) else None
            if trace is not None and number not in self.read_only and region.numel():
                self._follow(number, readable)
            elif region.numel():
                self._show(number, readable)
        limits = state.profile().limits
        self.budget = Budget.for_call(limits)
        if self.budget is not None:
            self.budget.grow(limits, sum(region.numel() for region in given))

    def __getitem__(self, number: int) -> Region:
        return self.regions[number]

    def buffer(self, number: int, name: str = "") -> memory.Buffer | None:
        """A region as launches see it, and no byte of its storage beside; None where it is freed."""
        region = self.regions[number]
        whole = None if region is None else memory.resolve(region, region.data_ptr())
        if whole is None:
            return None
        first, nbytes = region.data_ptr() - whole.base, region.numel()
        marks = whole.initialised
        whole.initialised = None if marks is None else marks[first : first + nbytes]
        if number in self._shown:
            whole.initialised = self._shown[number][0]
        whole.base, whole.nbytes, whole.name = region.data_ptr(), nbytes, name
        whole.writable = whole.writable and number not in self.read_only
        return whole

    def moves(self, nbytes: int, stretches: int = 0) -> None:
        """A copy, or memory, is about to be made. Raises GuestFailed where the call has used up its cycles."""
        said = self.budget.spent_by_copies(state.profile(), nbytes, stretches) if self.budget is not None else ""
        if said:
            raise GuestFailed(said)

    def written(self, number: int) -> None:
        """The host or a copy is about to write a region. Raises GuestFailed where the call may not."""
        if number in self.read_only:
            raise GuestFailed("a copy writes an argument that this operator must leave as it is")

    def _show(self, number: int, readable: Map | None) -> None:
        """Leave what may be read to be read, whether the program has written it or not: it is the program's."""
        found = self.buffer(number)
        own = None if found is None else found.initialised
        if found is None or (readable is None and (own is None or own.min())):
            return  # all is written, and may be read
        if own is None or readable is None or readable.max() or own.max():
            self._shown[number] = first_codes(found.nbytes, readable), own

    def _follow(self, number: int, readable: Map | None) -> None:
        """Keep who writes each byte of a region that the call may write."""
        found = self.buffer(number)
        if found is not None:
            self._shown[number] = first_codes(found.nbytes, readable), found.initialised

    def follows(self, number: int) -> bool:
        """Whether it is kept who writes each byte of a region."""
        return number in self._shown and number not in self.read_only

    def codes_of(self, number: int) -> Map:
        """Who wrote each byte of a region, which is not freed."""
        if number in self._shown:
            return self._shown[number][0]
        found = self.buffer(number)
        assert found is not None
        return first_codes(found.nbytes, found.initialised)

    def seen_by_call(self, number: int) -> Map | None:
        """Which bytes of a region somebody has written, as far as the call may know; None where all are."""
        if number in self._shown:
            return self._shown[number][0]
        found = self.buffer(number)  # the program's own, where it had written nothing before
        return None if found is None else found.initialised

    def wrote(self, what: View) -> bool:
        """Whether kernels have written each byte of a tensor, or copies of what they wrote.

        True without a trace, and of a call to which reading its arguments is all that there is to do.
        """
        if self.trace is None or self.reads_arguments:
            return True
        return bool(((codes(self.codes_of(what.region), *what.bytes()) & WRITER) == LAUNCHED).all())

    def allocated(self) -> None:
        """The call has one more region."""
        if self.trace is not None:
            number = len(self.regions) - 1
            found = self.buffer(number)
            if found is not None:  # nobody has written a byte of it; zeros take no memory before they are written
                self._shown[number] = np.zeros(found.nbytes, np.uint8), found.initialised

    def freed(self, number: int) -> None:
        """It needs a region no more."""
        self.regions[number] = None
        self._shown.pop(number, None)
        if self.trace is not None:
            self.trace.freed(number)
        if self.feeding is not None:
            self.feeding.freed(number)

    def launched(self, number: int) -> None:
        """A kernel may have written a region."""
        seen, own = self._shown.get(number, (None, None))
        if seen is not None and own is not None:
            self._changed.add(number)

    def settle(self) -> None:
        """Tell the program's own maps what the call has written; once, for a look takes as long as a region is large.

        Nothing of the call looks at them before its end.
        """
        changed, self._changed = self._changed, set()
        for number in changed:
            seen, own = self._shown.get(number, (None, None))
            if seen is not None and own is not None:
                own[(seen != 0) & (seen & ~np.uint8(ASKED) != INPUT)] = LAUNCHED

    @contextlib.contextmanager
    def feed(self, told: Sequence[tuple[int, Sequence[int]]]) -> Iterator[None]:
        """A kernel runs; `told`: regions that it may write, each with those on which that may hang."""
        if self.feeding is not None:
            with _refused():
                self.feeding.launching([one for one in told if one[0] not in self.read_only])
        yield
        if self.feeding is not None:
            with _refused():
                self.feeding.launched()

    def stays(self, what: View) -> bool:
        """Whether each byte of a tensor that is an argument's may be left, as far as kernels were asked."""
        return self.feeding is None or self.feeding.stays(what.region, what.bytes())

    def enough(self, what: View) -> bool:
        """Whether what is read of a region was computed from what decides on it."""
        return self.feeding is None or 0 in what.size or self.feeding.enough(what.region, what.bytes())

    def copied(self, source: View, target: View) -> None:
        """What a call may not read it may not read of a copy either."""
        if self.feeding is not None:
            with _refused():
                self.feeding.copied(source.region, source.bytes(), target.region, target.bytes())
        before, after = self.buffer(source.region), self.buffer(target.region)
        assert before is not None
        assert after is not None
        if source.region not in self._shown and target.region not in self._shown:
            own = before.initialised
            if own is None or all_written(own, *source.bytes()):
                return
        if target.region not in self._shown:
            own = after.initialised
            self._shown[target.region] = first_codes(after.nbytes, own), own
        mine = self._shown[target.region][0]
        if self.trace is not None:
            found = self.trace.copied(source, self.codes_of(source.region), target, mine)
            codes(mine, *target.bytes())[...] = found
        else:
            written = True if before.initialised is None else codes(before.initialised, *source.bytes()) != 0
            codes(mine, *target.bytes())[...] = np.where(written, LAUNCHED, 0)
        self.launched(target.region)

    def uploaded(self, target: View) -> None:
        """The host has written a tensor."""
        if target.region in self._shown:
            codes(self._shown[target.region][0], *target.bytes())[...] = LAUNCHED if self.trace is None else UPLOADED
            self.launched(target.region)


@contextlib.contextmanager
def _refused() -> Iterator[None]:
    try:
        yield
    except Malformed as error:
        raise GuestFailed(str(error)) from None
