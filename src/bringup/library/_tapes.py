"""What a sealed call does on the device: its commands, without the wrapper, on whatever memory a call brings.

A wrapper runs in a process without data (`_sealed`), and what comes of it is a list of commands on storages: those of
the arguments, and its own. Here they are steps, each checked against the sizes of the storages, that run on tensors of
this process, once or again.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import torch

from bringup.device.checks import repeats
from bringup.device.execution import UNFED
from bringup.device.memory import WRITER, Map, all_written, codes, holds_input, stretches
from bringup.device.regions import ALIGNED
from bringup.device.seeds import SEED
from bringup.library._trace import Trace, first_codes
from bringup.library.errors import GuestFailed
from bringup.operators import Keeps
from bringup.vpe import launch, memory, state
from bringup.vpe.device import tensors
from bringup.vpe.memory import INPUT, LAUNCHED, UPLOADED
from bringup.vpe.work import Budget

WORD = np.dtype(np.int64)
KERNEL_KIB = 16  # that a launch adds to what is kept
UNREADABLE = "memory that no kernel has written, which it may not read"
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
        self.seen: set[int] = set()
        """Regions that a kernel could write since an argument was copied there."""
        data = {
            number for number, region in enumerate(given)
            if region.numel() and (number >= len(shown) or (readable := shown[number]) is None or readable.any())
        }  # fmt: skip
        self.data = frozenset(data)
        """Regions of arguments that may be read."""
        self.fed = {number: frozenset({number}) for number in data}
        """By region: those of `data` on which its contents may hang."""
        self.decides = False
        """Whether a kernel that is to find out what stays must have been given all data of the call."""
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
                own[(seen != 0) & (seen != INPUT)] = LAUNCHED

    def feed(self, given: set[int]) -> None:
        """A kernel has been given regions together, and has run."""
        fed = frozenset[int]().union(*(self.fed.get(number, ()) for number in given))
        if not self.decides or fed >= self.data:
            self.seen |= given - self.read_only
        for number in given:
            self._feed(number, fed)

    def _feed(self, number: int, fed: frozenset[int]) -> None:
        if fed:
            self.fed[number] = self.fed.get(number, frozenset()) | fed

    def copied(self, source: View, target: View) -> None:
        """What a call may not read it may not read of a copy either."""
        self._feed(target.region, self.fed.get(source.region, frozenset()))
        if source.region in self.seen:
            self.seen.add(target.region)
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
            if source.region not in self.seen and holds_input(found):
                self.seen.discard(target.region)
        else:
            written = True if before.initialised is None else codes(before.initialised, *source.bytes()) != 0
            codes(mine, *target.bytes())[...] = np.where(written, LAUNCHED, 0)
        self.launched(target.region)

    def uploaded(self, target: View) -> None:
        """The host has written a tensor."""
        if target.region in self._shown:
            codes(self._shown[target.region][0], *target.bytes())[...] = LAUNCHED if self.trace is None else UPLOADED
            self.launched(target.region)


@dataclass(frozen=True)
class Allocate:
    """Memory of the call's own, the next region."""

    nbytes: int

    def run(self, regions: Room) -> None:
        """Do it."""
        regions.moves(self.nbytes)
        regions.regions.append(
            tensors.make_tensor(tensors.new_storage(self.nbytes), 0, (self.nbytes,), (1,), torch.uint8)
        )
        regions.allocated()


@dataclass(frozen=True)
class Free:
    """A region is not needed any more."""

    region: int

    def run(self, regions: Room) -> None:
        """Do it."""
        regions.freed(self.region)


@dataclass(frozen=True)
class Copy:
    """A copy within the device."""

    source: View
    target: View

    def run(self, regions: Room) -> None:
        """Do it."""
        regions.written(self.target.region)
        source = self.source.on(regions)
        runs = stretches(self.source.size, self.source.stride, self.target.stride)
        regions.moves(source.numel() * source.element_size(), runs)
        self.target.on(regions).copy_(source)
        regions.copied(self.source, self.target)


@dataclass(frozen=True)
class Upload:
    """Values of the host."""

    target: View
    values: bytearray

    def run(self, regions: Room) -> None:
        """Do it."""
        regions.written(self.target.region)
        target = self.target.on(regions)
        target.copy_(torch.frombuffer(self.values, dtype=target.dtype, count=target.numel()).view(target.shape))
        regions.uploaded(self.target)


@dataclass(frozen=True)
class Alternative:
    """Another kernel that may run with the same arguments."""

    kernel: Any = field(compare=False)
    grid: tuple[int, int, int]
    named: Any
    seconds: float = field(default=0.0, compare=False)
    """Of its trial."""


@dataclass(frozen=True)
class Launch:
    """A launch, with the addresses left open."""

    kernel: Any = field(compare=False)  # `named` says which; one that was tried is loaded for each guest
    grid: tuple[int, int, int]
    named: Any
    packed: Any
    """int64[arguments]: scalars as eight bytes."""
    pointers: tuple[tuple[int, str, int, int], ...]
    """Position among the arguments, name, region, bytes from its beginning; -1 and a pointer into nobody's memory."""
    alternatives: tuple[Alternative, ...] = ()
    """What a tuner has tried with its arguments, itself among it; nothing where there is no choice."""
    choice: int = field(default=0, compare=False)
    """Which of them runs: a matter of time alone."""
    pointed: tuple[int, ...] = field(default=(), compare=False)
    """Bytes of what each pointer points to; of a launch that was just asked for."""
    recast: bool = field(default=False, compare=False)
    """Whether the kernel makes pointers to elements of another size of them."""

    @property
    def chosen(self) -> Launch | Alternative:
        """What runs."""
        return self.alternatives[self.choice % len(self.alternatives)] if self.alternatives else self

    @property
    def regions(self) -> set[int]:
        """Those that it is given."""
        return {region for _, _, region, _ in self.pointers if region >= 0}  # else a pointer into nobody's memory

    def run(self, regions: Room) -> None:
        """Do it."""
        packed = self.packed.copy()
        if regions.seed is not None:
            packed[packed == SEED] = regions.seed
        buffers: list[memory.Buffer | None] = []
        for position, name, region, offset in self.pointers:
            if region < 0:
                packed[position] = launch.signed(offset)
                buffers.append(None)
                continue
            if regions[region] is None:
                raise GuestFailed("it launches a kernel on memory that it has freed")
            pointer = regions[region].data_ptr() + offset
            packed[position] = launch.signed(pointer)
            buffers.append(regions.buffer(region, name))
        one = self.chosen
        profile = one.named.profile
        launch.run(
            one.kernel, profile, one.grid, one.named, packed, buffers, regions.budget, profile.judged_threads,
            silent=True,  # the data of whoever calls are nobody's to show
        )  # fmt: skip
        given = self.regions
        if min(one.grid) > 0:
            regions.feed(given)
        for region in given:
            regions.launched(region)


Step = Allocate | Free | Copy | Upload | Launch


@dataclass(frozen=True)
class Returned:
    """What a wrapper has returned."""

    result: Any
    """As the guest told it."""
    after: Any
    """Its arguments then; None where they are as before."""
    storages: list[int]
    """Number of the region of each storage of these, -1 for empty ones."""


TENSOR = ("t", "dtype", "shape", "stride", "offset")
"""What a tensor of an answer is told by."""


def weight_of(answer: Returned) -> int:
    """What it takes to keep an answer, in KiB, roughly."""
    return len(json.dumps([answer.result, answer.after, answer.storages], default=str)) >> 6


def plain(told: Any) -> Any:
    """A part of a guest's answer without what nobody asks for: tapes keep it."""
    if isinstance(told, list):
        return [plain(one) for one in told]
    if not isinstance(told, dict):
        return told
    if "t" in told:
        return {name: told[name] for name in TENSOR if name in told}
    return {name: plain(told[name]) for name in list(told)[:1]}  # of a kind, by its name


@dataclass(frozen=True)
class Reading:
    """A number that the wrapper has read of what its kernels had computed."""

    after: int
    """Steps that were done before."""
    what: View
    found: bytes

    def again(self, regions: Room) -> bytes:
        """What is there now. Raises GuestFailed."""
        return read(self.what, regions)


def read(what: View, regions: Room) -> bytes:
    """A tensor's elements, one after the other.

    Raises GuestFailed for what this call's kernels have not written, and for truth values that are neither 0 nor 1.
    """
    if not regions.wrote(what):
        raise GuestFailed(UNREADABLE)
    if regions.data and not regions.fed.get(what.region):
        raise GuestFailed(UNFED)
    found = bytes_of(what.on(regions))
    if what.dtype is torch.bool and max(found, default=0) > 1:
        raise GuestFailed(f"it reads a truth value that is {max(found)}, neither 0 nor 1")
    return found


def bytes_of(tensor: Any) -> bytes:
    """A tensor's elements, one after the other."""
    flat = tensor.cpu().clone(memory_format=torch.contiguous_format).reshape(-1)  # one element may have any stride
    return bytes(flat.view(torch.uint8).numpy())


@dataclass(frozen=True)
class Tape:
    """All that a call did, and what the wrapper returned."""

    steps: tuple[Step, ...]
    answer: Returned
    sizes: tuple[int, ...]
    """Bytes of each region."""
    readings: tuple[Reading, ...] = ()
    """What it has read; with other values it would have gone on otherwise."""
    said: int = field(default=0, compare=False)
    """Bytes that the texts of its kernels say, as the judge counts them; 0 once it was kept."""

    def settled(self, given: int, read_only: Collection[int], held: Collection[int], keeps: Keeps) -> bool:
        """Whether all calls that do this have results and arguments that kernels wrote where they wrote at all.

        True where in the memory that it returns or leaves a byte is either written by a kernel of this call, or copied
        from such by the commands alone, or by nobody: then whether all is written is all that is to be asked of a call.
        Elsewhere which bytes kernels write, and so whose the others are, hangs on what they find.

        Args:
            given: how many regions are the arguments'.
            read_only: those of them that nothing of the call writes.
            held: those that the call may write and that hold what it may read.
            keeps: what the operator leaves as an argument has it.
        """
        whole = keeps != "elements"  # no byte of an argument's may be left in a result
        if not whole and not (self.copies_once(given, read_only) and self._in_order()):
            return False  # which of the bytes that copies take are a kernel's hangs on what that finds
        odd = set(held) if whole else set[int]()
        made, written, copied = set[int](), set[int](), set[int]()  # odd by what it does; by kernels; taken and put
        for step in self.steps:
            if isinstance(step, Upload):
                made.add(step.target.region)
            elif isinstance(step, Copy) and 0 not in step.source.size:
                source, target = step.source, step.target.region
                argument = source.region < given and source.region not in written
                if source.region in odd | made or (argument and whole) or repeats(source.size, source.stride):
                    made.add(target)
                if not argument:  # bytes of kernels, of which none may come to be two
                    copied |= {source.region, target}
                    written.add(target)
            elif isinstance(step, Launch):
                reached = step.regions.difference(read_only)
                written |= reached
                made |= reached & copied
        left = set(range(given)).difference(read_only).union(self.answer.storages)
        return not any(number in made or (number in odd and keeps != "arguments") for number in left)

    def _in_order(self) -> bool:
        """Whether no copy lays elements down otherwise than they lie."""
        copies = [step for step in self.steps if isinstance(step, Copy) and 0 not in step.source.size]
        return all(
            one == other for step in copies
            for length, one, other in zip(step.source.size, step.source.stride, step.target.stride, strict=True)
            if length > 1
        )  # fmt: skip

    def copies_once(self, given: int, read_only: Collection[int]) -> bool:
        """Whether none of a kernel's bytes can come to be two in what it returns or leaves, by its copies alone."""
        left = set(range(given)).difference(read_only).union(self.answer.storages)
        taken, written = set[int](), set[int]()
        for step in self.steps:
            if isinstance(step, Launch):
                written |= step.regions
            elif isinstance(step, Copy) and step.source.region in written and 0 not in step.source.size:
                source = step.source
                if source.region in taken | left or repeats(source.size, source.stride):
                    return False
                taken.add(source.region)
                written.add(step.target.region)
        return True

    def tried(self) -> list[list[tuple[tuple[int, int, int], str]]]:
        """What may run in the place of each launch: grids, and kernels by their keys; nothing where nothing may."""
        launches = [step for step in self.steps if isinstance(step, Launch)]
        return [[(one.grid, one.named.key) for one in step.alternatives] for step in launches]

    def plain(self) -> Tape:
        """The same without alternatives: what its launches name runs."""
        return replace(self, steps=tuple(map(untuned, self.steps))) if any(self.tried()) else self


def weight(step: Step) -> int:
    """What it takes to keep a step, in KiB, roughly: a kernel is that of many steps."""
    if isinstance(step, Upload):
        return 1 + (len(step.values) >> 10)
    if isinstance(step, Launch):
        ones: list[Launch | Alternative] = [step, *step.alternatives]
        texts = [one.named.constants for one in ones]
        characters = sum(len(value) for constants in texts for value in constants.values() if isinstance(value, str))
        return KERNEL_KIB * len(texts) + (characters >> 8)  # of four bytes
    return 1


def untuned(step: Step) -> Step:
    """A step without what a tuner has tried in its place."""
    return replace(step, alternatives=(), choice=0) if isinstance(step, Launch) and step.alternatives else step


@dataclass
class Begun:
    """A call of which a part is done: as far as kept tapes go for the values that were read."""

    steps: tuple[Step, ...]


def go_on(tapes: Sequence[Tape], room: Room) -> Tape | Begun:
    """Do what tapes of calls do that differ in what was read alone: that of them which has read what is there.

    Returns it; where none has, what was done until then.
    """
    done, left = 0, list(tapes)
    for number in range(max(len(tape.readings) for tape in tapes) + 1):
        tape = left[0]
        if number >= len(tape.readings):
            for step in tape.steps[done:]:
                step.run(room)
            return tape
        reading = tape.readings[number]
        for step in tape.steps[done : reading.after]:
            step.run(room)
        done = reading.after
        found = reading.again(room)
        left = [one for one in left if number < len(one.readings) and one.readings[number].found == found]
        if not left:
            return Begun(tape.steps[:done])
    raise AssertionError("unreachable")
