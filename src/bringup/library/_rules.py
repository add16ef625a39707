"""The judge's rules on what a host may make and copies may move, for a tape of a program's call.

A judge asks for them in its own calls; a program makes others. They need no data: sizes and commands are enough.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from bringup.device.account import Account, Broken
from bringup.device.elements import Elements, element_bytes
from bringup.device.execution import LAYOUT_BYTES, NEW_BYTES, PLACE_BYTES, SAID_BYTES
from bringup.device.memory import all_written, layout_numbers
from bringup.judge._provenance import PICKED, kept, picked
from bringup.judge.allowance import allowance_of
from bringup.library._room import Room, View
from bringup.library._sealed_call import Call, described
from bringup.library._steps import Copy, Launch, Upload
from bringup.library._tapes import Tape
from bringup.library._trace import UNWRITTEN, Result, Trace, base_of, descriptor
from bringup.library.errors import GuestFailed
from bringup.operators import Keeps

TIMES, SPARE_BYTES = 4, 16 << 20  # of the call's memory, and beside that: bytes of results that are looked at


@dataclass(frozen=True)
class Rule:
    """What of the judge's rules an overload is held to."""

    computes: bool
    """Whether it needs a kernel."""
    moves: bool
    """Whether moving elements is all that it does."""
    indexed: bool
    """Whether indices say where to."""
    keeps: Keeps
    """What it leaves as an argument has it."""

    def moves_here(self, tensors: int) -> bool:
        """Whether copies may change no order, in a call with so many tensors."""
        return self.moves and not (self.indexed and tensors > 1)


def check_writers(tape: Tape, call: Call, room: Room, keeps: Keeps) -> None:
    """Raise GuestFailed where no kernel wrote a result of a call that was traced, as the judge asks for.

    Args:
        tape: of the call.
        call: with its tensors.
        room: with its trace.
        keeps: what the overload leaves as an argument has it.
    """
    trace = room.trace
    assert trace is not None
    answer = tape.answer
    given, regions = dict(call.views()), len(call.regions)
    written = {id(tensor) for tensor in call.written}

    dtypes = {tensor.dtype for tensor in call.tensors[:1]}

    def found(view: View, held: str) -> Result:
        cast = view.dtype not in dtypes
        return Result(view, held, kept(keeps, room.stays(view), result=True, cast=cast))

    own = {view for place, view in given.items() if id(call.tensors[place]) in written}
    asked = []
    for _, view in _views(described(answer.result), answer.storages):
        if view.region < regions and not room.follows(view.region):
            raise GuestFailed("it returns memory of an argument that it only reads; a result has memory of its own")
        if view not in own:  # which is looked at as an argument
            one = found(view, UNWRITTEN)
            asked.append(one._replace(held=one.copied) if view.region < regions else one)
    after = given.items() if answer.after is None else _views(described(answer.after), answer.storages)
    for place, view in after:
        if given.get(place) != view:  # an argument that was resized, or lies elsewhere, is a result like any other
            asked.append(found(view, UNWRITTEN))
        elif id(call.tensors[place]) in written:
            asked.append(found(view, kept(keeps, room.stays(view), result=False, cast=False)))
    # Of what the call may not write nothing is followed: it is as it was.
    asked = [one for one in asked if room.follows(one.view.region) or one.held == UNWRITTEN]
    if odd := trace.odd(asked, room.codes_of):
        raise GuestFailed(odd)


def check_written(tape: Tape, call: Call, room: Room) -> None:
    """Raise GuestFailed where nobody wrote some of a result, or of an argument that the call may write.

    Asked of each call whose tape is settled: which elements a kernel writes may hang on what it finds.
    """
    for view in left(tape, call):
        by = room.seen_by_call(view.region)
        if by is not None and not all_written(by, *view.bytes()):
            raise GuestFailed(UNWRITTEN)


def left(tape: Tape, call: Call) -> list[View]:
    """The tensors that a call returns, and its arguments after it, but those that it only reads."""
    answer = tape.answer
    found = [view for _, view in _views(described(answer.result), answer.storages)]
    after = call.views() if answer.after is None else _views(described(answer.after), answer.storages)
    return [view for view in [*found, *(view for _, view in after)] if view.region not in call.read_only]


def _views(told: Iterable[dict[str, Any]], storages: Sequence[int]) -> Iterator[tuple[int, View]]:
    """Those tensors of a guest's answer that have elements, each with its number, on the call's regions."""
    for place, one in enumerate(told):
        if 0 not in one["shape"]:
            dtype = getattr(torch, one["dtype"])
            size, stride = tuple(one["shape"]), tuple(one["stride"])
            yield place, View(storages[one["t"]], int(one["offset"]) * dtype.itemsize, dtype, size, stride)


@dataclass(frozen=True)
class Moving:
    """Whether a call only moves elements; then copies and views lay no elements down otherwise."""

    overload: str
    tensors: int
    """Among its arguments."""
    rearranges: Callable[[], bool]
    """Says it of this call, whatever the overload does in others."""

    def check(self, odd: str) -> None:
        """Raise GuestFailed where what copies or views do is `odd`, and moving elements is all that the call does."""
        if odd and (rule_of(self.overload).moves_here(self.tensors) or self.rearranges()):
            raise GuestFailed(odd)


def check(tape: Tape, call: Call, trace: Trace | None, moving: Moving, *, draws: bool) -> None:
    """Raise GuestFailed where a tape breaks a rule: before it is done, since commands and sizes are enough.

    Args:
        tape: of the call.
        call: as it was told.
        trace: of the call; None where copies may make a result.
        moving: whether it moves elements.
        draws: whether it draws random numbers, of which the host knows nothing.
    """
    reads = len(call.unread) < len(call.tensors)
    told = [*described(tape.answer.result), *(() if tape.answer.after is None else described(tape.answer.after))]
    shown = sum(math.prod(one["shape"]) * getattr(torch, one["dtype"]).itemsize for one in told)
    if shown > TIMES * sum(tape.sizes) + SPARE_BYTES:
        raise GuestFailed(f"it returns {len(told)} tensors of {shown} bytes, many times what the call's memory holds")
    try:
        _account(tape).check_host_bytes(allowance_of(call.given, call.tensors, data=reads or draws))
    except Broken as broken:
        raise GuestFailed(str(broken)) from None
    if trace is not None:
        results = list(described(tape.answer.result))
        copies = [one for one in tape.steps if isinstance(one, Copy) and 0 not in one.source.size]
        if odd := _parts(tape, call):
            raise GuestFailed(odd)
        put = ((one.source, tape.sizes[one.source.region], one.target, tape.sizes[one.target.region]) for one in copies)
        odd = trace.disorder(put, [one["shape"] for one in results])
        if picked(results, len(call.regions)) is not None:
            odd = odd or PICKED
        moving.check(odd)


def _parts(tape: Tape, call: Call) -> str:
    """Say what is wrong with copies of parts of elements; "" for nothing."""
    given = len(call.regions)
    elements = Elements((base_of(region, given), width) for region, width in call.elements())
    for step in tape.steps:
        odd = ""
        if isinstance(step, Copy):
            source, target = descriptor(step.source, given), descriptor(step.target, given)
            odd = elements.copied(source, tape.sizes[step.source.region], target)
        elif isinstance(step, Launch):
            pointers = zip(step.pointers, step.pointed, strict=True)
            known = [(base_of(region, given), width) for (_, _, region, _), width in pointers if region >= 0]
            odd = elements.launched(known, recast=step.recast)
        if odd:
            return odd
    answer = tape.answer
    left = call.views() if answer.after is None else _views(described(answer.after), answer.storages)
    for _, view in [*_views(described(answer.result), answer.storages), *left]:
        part, width = element_bytes(view.dtype), view.dtype.itemsize
        if odd := elements.returned(base_of(view.region, given), view.offset, part, width, view.size, view.stride):
            return odd
    return ""


def _account(tape: Tape) -> Account:
    """What the host has made."""
    account, said = Account(constant_bytes=tape.said), set[Any]()
    for step in tape.steps:
        if isinstance(step, Upload):
            account.uploaded_bytes += len(step.values)
        elif isinstance(step, Copy):
            source, target = step.source, step.target
            layout = layout_numbers(source.size, source.stride, target.stride)
            account.described_bytes += PLACE_BYTES + LAYOUT_BYTES * layout
        elif isinstance(step, Launch):
            places = {position: (region, offset) for position, _, region, offset in step.pointers}
            words = [step.grid, *(places.get(n, int(word)) for n, word in enumerate(step.packed.tolist()))]
            account.argument_bytes += sum(SAID_BYTES if word in said else NEW_BYTES for word in words)
            said.update(words)
    return account


@functools.cache
def rule_of(overload: str) -> Rule:
    """The rules for an overload; those of an unknown one computes."""
    from bringup.linter import computes, moves
    from bringup.suites import get_suite
    from bringup.suites._aten import keeps

    found = [operator for operator in get_suite("aten").operators() if operator.name == overload]
    if not found:
        return Rule(True, False, False, keeps(overload))
    return Rule(computes(found[0]), moves(found[0]), found[0].indexed, found[0].keeps)
