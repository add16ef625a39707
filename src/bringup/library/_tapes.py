"""What a sealed call does on the device: its commands, without the wrapper, on whatever memory a call brings.

A wrapper runs in a process without data (`_sealed`), and what comes of it is a list of commands on storages: those of
the arguments, and its own. Here they are steps (`_steps`) that run in a room (`_room`), once or again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from bringup.device.checks import repeats
from bringup.device.execution import UNFED
from bringup.library._room import Room, View
from bringup.library._steps import Alternative, Copy, Launch, Step, Upload, untuned
from bringup.library.errors import GuestFailed
from bringup.operators import Keeps

UNREADABLE = "memory that no kernel has written, which it may not read"


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
    if not regions.enough(what):
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

    def settled(
        self, given: int, read_only: Collection[int], held: Collection[int], data: Collection[int], keeps: Keeps,
        kept: int | None = None,
    ) -> bool:  # fmt: skip
        """Whether all calls that do this have results and arguments that kernels wrote where they wrote at all.

        True where in the memory that it returns or leaves a byte is either written by a kernel of this call, or copied
        from such by the commands alone, or by nobody: then whether all is written is all that is to be asked of a call.
        Elsewhere which bytes kernels write, and so whose the others are, hangs on what they find.

        Args:
            given: how many regions are the arguments'.
            read_only: those of them that nothing of the call writes.
            held: those that the call may write and that hold what it may read.
            data: those that hold what it may read.
            keeps: what the operator leaves as an argument has it.
            kept: that of the tensor whose elements those are.
        """
        whole = keeps != "elements"  # no byte of an argument's may be left in a result
        if not whole and not (
            self.copies_once(given, read_only) and self._in_order() and self._asks(given, read_only, data, kept)
        ):
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

    def _asks(self, given: int, read_only: Collection[int], data: Collection[int], kept: int | None) -> bool:
        """Whether a kernel was given all data of the call with whatever may stay: what was kept, where it lay."""
        left = set(range(given)).difference(read_only).union(self.answer.storages)
        fed: dict[int, set[int]] = {number: {number} for number in data}
        holds, unasked = set(data), set(data)  # regions with bytes of arguments, and those of which no kernel was asked
        moved = set(data).difference([kept])  # with others than were kept, or elsewhere
        for step in self.steps:
            if isinstance(step, Copy) and 0 not in step.source.size:
                source, target = step.source, step.target.region
                if _is_whole(step.target, self.sizes[target]):
                    fed.pop(target, None)  # what was there is there no more
                if source.region not in holds or _is_whole(source, self.sizes[source.region]):
                    fed.setdefault(target, set()).update(fed.get(source.region, ()))
                if source.region in holds:
                    holds.add(target)
                    same = source.bytes() == step.target.bytes() and self.sizes[source.region] == self.sizes[target]
                    if source.region in moved or not (same and _is_whole(source, self.sizes[target])):
                        moved.add(target)
                if source.region in unasked:
                    unasked.add(target)
            elif isinstance(step, Launch):
                ones: list[Launch | Alternative] = [step, *step.alternatives]
                told = step.told(step)
                if min(min(one.grid) for one in ones) < 1 or any(step.told(one) != told for one in ones):
                    return False
                before = {number: set(brought) for number, brought in fed.items()}
                for number, others in told:
                    together = set[int]().union(*(before.get(one, ()) for one in (number, *others)))
                    if number not in read_only:
                        fed.setdefault(number, set()).update(together)
                        unasked -= {number} if together.issuperset(data) else set()
        return left.isdisjoint(unasked | moved)

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


@dataclass
class Begun:
    """A call of which a part is done: as far as kept tapes go for the values that were read."""

    steps: tuple[Step, ...]


def _is_whole(what: View, nbytes: int) -> bool:
    """Whether a tensor takes each byte of its region."""
    return math.prod(what.size) * what.dtype.itemsize == nbytes and not repeats(what.size, what.stride)


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
