"""Tapes of calls that differ in their numbers alone, made into one for all such calls.

An optimiser gives another step size at every step, and a kernel that draws gets another seed at every call. What a
wrapper does with such a number is nearly always to hand it on to a launch, or to upload it. Two tapes show where: words
that differ are the call's number in some format, and nothing else differs. A third tape must then be as foretold before
any call goes without a guest, and so must every tape of which one is asked for later (`Pattern.due`).

What a wrapper decides by a number is not seen. So calls are of one kind only where their numbers have the same sign and
power of two, and stand in the same order to each other and to the call's other numbers; and tapes teach only where they
are far apart, in any format. Numbers that wrappers treat as special (whole ones, 0, halves, what is not finite or far
out) are never left open.
"""

from __future__ import annotations

import bisect
import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from bringup.library._tapes import Launch, Step, Tape, Upload

LARGE = 1 << 32  # from here on an integer is one number among many: a seed, not a size
APART = 2.0**-6  # relative; numbers that are nearer may be one number in a narrow format
LEAST, MOST = 2.0**-100, 2.0**100  # of the absolute value of a float that is left open
Number = int | float


def left_open(value: Any) -> str:
    """Return the class of a number that may be left open, within which wrappers decide alike; "" for any other."""
    if type(value) is int:
        return f"int {value > 0} {value.bit_length()} {value % 16 == 0}" if LARGE <= abs(value) < 1 << 63 else ""
    if type(value) is not float or not LEAST < abs(value) < MOST or (2 * value).is_integer():
        return ""
    return f"float {value > 0} {math.frexp(value)[1]}"


def order(numbers: Sequence[Number]) -> list[int]:
    """Return the order of all of a call's numbers: the rank of each, equal ones alike; -1 for NaN."""
    ranks = sorted({number for number in numbers if not math.isnan(number)})
    return [-1 if math.isnan(number) else bisect.bisect_left(ranks, number) for number in numbers]


def far_apart(numbers: Sequence[Number]) -> bool:
    """Whether no two numbers are one in any format that they may be rounded to, nor parts of an integer alike."""
    for place, one in enumerate(numbers):
        for other in numbers[:place]:
            if abs(one - other) < APART * max(abs(one), abs(other)):
                return False
            if isinstance(one, int) and isinstance(other, int) and _low(one) == _low(other):
                return False
    return True


def _packed(pattern: str, convert: Callable[[Any], Any] = float) -> Callable[[Number], bytes]:
    return lambda number: struct.pack(pattern, convert(number))


def _low(number: Number) -> int:
    return int(number) & 0xFFFFFFFF


def _high(number: Number) -> int:
    return int(number) >> 32


def _bfloat16(number: Number) -> bytes:
    bits = torch.tensor(float(number), dtype=torch.float32).to(torch.bfloat16).view(torch.int16).item()
    return struct.pack("<h", int(bits))


_FLOATS: dict[int, tuple[Callable[[Number], bytes], ...]] = {
    8: (_packed("<d"), _packed("<f4x")),
    4: (_packed("<f"),),
    2: (_packed("<e"), _bfloat16),
}
_INTEGERS: dict[int, tuple[Callable[[Number], bytes], ...]] = {
    8: (_packed("<q", int), _packed("<q", _low), _packed("<q", _high)),
    4: (_packed("<I", _low), _packed("<i", _high)),
}


@dataclass(frozen=True)
class _Lane:
    """A word of a step that is a number of the call."""

    step: int
    at: int
    """Byte in the launch's arguments, or in the upload."""
    number: int
    form: Callable[[Number], bytes]


@dataclass(frozen=True)
class Pattern:
    """A tape with its numbers left open."""

    tape: Tape
    lanes: tuple[_Lane, ...]
    learned: tuple[Number, ...]
    """The numbers of the tapes that it was made of."""
    confirmed: bool = False
    """Whether a tape that it was not made of was as it foretold."""
    used: int = 0
    """Calls since it was confirmed."""

    def due(self) -> bool:
        """Whether the next call shall ask a guest: the fourth, eighth, sixteenth and so on."""
        return self.used >= 3 and (self.used + 1) & self.used == 0

    def filled(self, numbers: Sequence[Number]) -> Tape:
        """The tape for other numbers."""
        steps: list[Step] = list(self.tape.steps)
        for lane in self.lanes:
            step, word = steps[lane.step], lane.form(numbers[lane.number])
            if isinstance(step, Launch):
                packed = step.packed.copy()
                packed.view(np.uint8)[lane.at : lane.at + len(word)] = np.frombuffer(word, np.uint8)
                steps[lane.step] = replace(step, packed=packed)
            elif isinstance(step, Upload):
                values = bytearray(step.values)
                values[lane.at : lane.at + len(word)] = word
                steps[lane.step] = replace(step, values=values)
        return replace(self.tape, steps=tuple(steps))

    def after(self, numbers: Sequence[Number], tape: Tape) -> Pattern | None:
        """What one more tape makes of it: confirmed where it is as foretold, else None."""
        try:
            foretold = self.filled(numbers)
        except (OverflowError, struct.error):
            return replace(self, used=self.used + 1)  # in a narrow format there is no such number
        if _differences(foretold, tape) != []:
            return None
        return replace(self, confirmed=True, used=self.used + 1 if self.confirmed else 0)


def pattern(first: tuple[Sequence[Number], Tape], second: tuple[Sequence[Number], Tape]) -> Pattern | None:
    """Return what two tapes with different numbers have in common; None where more than the numbers differs."""
    (numbers, tape), (others, other) = first, second
    found = _differences(tape, other)
    if found is None:
        return None
    lanes = []
    for step, at, one, two in found:
        lane = next(
            (_Lane(step, at, place, form) for place, number in enumerate(numbers)
             for form in (_FLOATS if isinstance(number, float) else _INTEGERS).get(len(one), ())
             if _is(form, number, one) and _is(form, others[place], two)),
            None,
        )  # fmt: skip
        if lane is None:
            return None
        lanes.append(lane)
    if {lane.number for lane in lanes} != set(range(len(numbers))):
        return None  # a number that shows in no word may have been rounded away, or decided something
    return Pattern(tape, tuple(lanes), (*numbers, *others))


def _is(form: Callable[[Number], bytes], number: Number, word: bytes) -> bool:
    try:
        return form(number) == word and not (isinstance(number, float) and math.isinf(number))
    except (OverflowError, struct.error):
        return False


def _differences(one: Tape, two: Tape) -> list[tuple[int, int, bytes, bytes]] | None:
    """Words in which two tapes differ: step, byte, the words; None where anything else does."""
    if len(one.steps) != len(two.steps) or (one.reply, one.sizes) != (two.reply, two.sizes):
        return None
    found: list[tuple[int, int, bytes, bytes]] = []
    for place, (a, b) in enumerate(zip(one.steps, two.steps, strict=True)):
        if isinstance(a, Launch) and isinstance(b, Launch):
            same = a.kernel is b.kernel and (a.grid, a.named, a.pointers, a.addresses) == (
                b.grid, b.named, b.pointers, b.addresses,
            )  # fmt: skip
            words, width = (a.packed.tobytes(), b.packed.tobytes()), 8
        elif isinstance(a, Upload) and isinstance(b, Upload):
            same = (a.target, a.addresses, len(a.values)) == (b.target, b.addresses, len(b.values))
            words, width = (bytes(a.values), bytes(b.values)), a.target.dtype.itemsize
        else:
            same, words, width = a == b, (b"", b""), 1
        if not same:
            return None
        left, right = words
        if left != right:
            found += [
                (place, at, left[at : at + width], right[at : at + width])
                for at in range(0, len(left), width)
                if left[at : at + width] != right[at : at + width]
            ]
    return found
