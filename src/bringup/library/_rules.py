"""The judge's rules on what a host may make and copies may move, for a tape of a program's call.

A judge asks for them in its own calls; a program makes others. They need no data: sizes and commands are enough.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from bringup.device import space
from bringup.device.account import Account, Allowance, Broken
from bringup.device.execution import LAYOUT_BYTES, NEW_BYTES, PLACE_BYTES, SAID_BYTES
from bringup.device.memory import layout_numbers, pieces
from bringup.device.order import Order
from bringup.device.wire import Descriptor
from bringup.judge._case import HOST_BASE, HOST_PER_NUMBER, HOST_WITH_TENSORS, UPLOADED_PER_NUMBER, numbers_of
from bringup.library._sealed_call import Call
from bringup.library._tapes import Copy, Launch, Tape, Upload, View
from bringup.library.errors import GuestFailed

APART = 1 << 40  # bytes between regions where they are said to lie: more than any has
MOVED = (
    "a copy moves elements within a dimension, repeats or picks them, or writes a part of a buffer, which is work for "
    "a kernel"
)


def check(overload: str, tape: Tape, call: Call, sizes: Sequence[Sequence[int]], outs: int) -> None:
    """Raise GuestFailed where a tape breaks a rule.

    Args:
        overload: `flip` or `add.out`.
        tape: of the call.
        call: as it was told.
        sizes: of the results.
        outs: how many of the call's tensors are there to be written alone.
    """
    numbers = numbers_of(call.given) + sum(2 * tensor.dim() + 1 for tensor in call.tensors)
    allowance = Allowance(
        host_bytes=HOST_BASE + HOST_PER_NUMBER * numbers + (HOST_WITH_TENSORS if len(call.tensors) > outs else 0),
        uploaded_bytes=UPLOADED_PER_NUMBER * (numbers + len(call.tensors)),
    )
    try:
        _account(tape).check_host_bytes(allowance)
    except Broken as broken:
        raise GuestFailed(str(broken)) from None
    copies = [step for step in tape.steps if isinstance(step, Copy) and not _grows(step, tape)]
    if copies and _moves(overload, call):
        given = len(call.regions)
        order = Order(call.placed(lambda region: _base(region, given)), sizes)
        for step in copies:
            source, target = _descriptor(step.source, given), _descriptor(step.target, given)
            if not order.keeps(source, target, tape.sizes[step.target.region]):
                raise GuestFailed(MOVED)


def _account(tape: Tape) -> Account:
    """What the host has made, but for the constants and the structure of kernels' texts."""
    account, said = Account(), set[Any]()
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
def _facts(overload: str) -> tuple[bool, bool]:
    """Whether moving elements is the operator, and whether indices say where to."""
    from bringup.linter import moves
    from bringup.suites import get_suite

    found = [operator for operator in get_suite("aten").operators() if operator.name == overload]
    return (moves(found[0]), found[0].indexed) if found else (False, False)


def _moves(overload: str, call: Call) -> bool:
    moved, indexed = _facts(overload)
    return moved and not (indexed and len(call.tensors) > 1)


def _base(region: int, given: int) -> int:
    return space.MIDDLE + region * APART if region < given else region - given + 1


def _descriptor(view: View, given: int) -> Descriptor:
    base = _base(view.region, given)
    return Descriptor(base, base + view.offset, str(view.dtype).removeprefix("torch."), view.size, view.stride)


def _grows(step: Copy, tape: Tape) -> bool:
    """Whether it takes along what a storage held when `resize_` makes a larger one, as PyTorch's own does."""
    source, target = step.source, step.target
    whole = math.prod(source.size) * source.dtype.itemsize == tape.sizes[source.region] < tape.sizes[target.region]
    runs = pieces(source.size, source.stride) == pieces(target.size, target.stride) == 1 == len(source.size)
    return whole and runs and source.offset == target.offset == 0
