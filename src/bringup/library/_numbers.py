"""Tapes of calls that differ in their numbers alone, made into one for all such calls.

An optimiser gives another step size at every step. (A seed is none of these numbers: a wrapper is told a name for it.)
What a wrapper does with such a number is nearly always to hand it on to a launch, or to upload it. Two tapes show
where: words that differ are the call's number in some format, and nothing else differs. Four more must be as foretold
(`agreement`), and so must the next `PROVED` of the program's own calls, before any goes without a guest: whatever class
of numbers a wrapper treats apart, if it is the program's, these calls are of it.

What a wrapper decides by a number is not seen. So calls are of one kind only where their numbers have the same sign,
lie between the same two powers of 256, and stand in the same order to each other and to the call's other numbers, with
and without their signs; and
tapes are asked for with numbers from end to end of such a kind (`drawn`), so that a bound on which a decision hangs
lies between two of them, and far apart in any format. Numbers that wrappers treat as special (whole ones, 0, what is
not finite or far out, all that have few digits) are never left open.
"""

from __future__ import annotations

import bisect
import math
import random
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from bringup.library._steps import Launch, Step, Upload
from bringup.library._tapes import Tape

LARGE = 1 << 32  # from here on an integer is one number among many, not a size
APART = 2.0**-6  # relative; numbers that are nearer may be one number in a narrow format
SPAN = 8  # powers of two within which floats are of one class; 1 is the end of one
LEAST, MOST = 2.0**-100, 2.0**100  # of the absolute value of a float that is left open
ROUNDED = 2.0**-40  # relative; a number so near to one of few digits is meant to be that one: 1 - 0.9, 3 * 0.1
DECIMALS = 8  # significant digits that a float of few has at most, if its binary ones do not fit into float32
BINARY_ZEROS, DECIMAL_ZEROS = 16, 5  # at the end of an integer of few digits; the first for a float's as well
Number = int | float


def left_open(value: Any) -> str:
    """Return the class of a number that may be left open, within which wrappers decide alike; "" for any other."""
    if type(value) is int:
        return f"int {value > 0} {value % 16 == 0}" if LARGE <= abs(value) < 1 << 63 and not _short(value) else ""
    if type(value) is not float or not LEAST < abs(value) < MOST or _short(value):
        return ""
    return f"float {value > 0} {_span(value)}"


def _short(value: Number) -> bool:
    """Whether a number has few digits, binary or decimal, as no drawn one has: a wrapper may treat such apart.

    What is learned of drawn numbers would not hold for them, and a judge's cases have hardly any others.
    """
    if isinstance(value, int):
        return value % (1 << BINARY_ZEROS) == 0 or value % 10**DECIMAL_ZEROS == 0
    if int(math.frexp(value)[0] * (1 << 53)) % (1 << BINARY_ZEROS) == 0:
        return True
    near = struct.unpack("<f", struct.pack("<f", value))[0], float(f"{value:.{DECIMALS}g}")
    return any(abs(one - value) <= ROUNDED * abs(value) for one in near)


def _span(value: float) -> int:
    """Between which powers of 256 a number lies."""
    return (math.frexp(value)[1] - 1) // SPAN


def order(numbers: Sequence[Number]) -> list[int]:
    """Return the order of all of a call's numbers: the rank of each, equal ones alike; -1 for NaN."""
    ranks = sorted({number for number in numbers if not math.isnan(number)})
    return [-1 if math.isnan(number) else bisect.bisect_left(ranks, number) for number in numbers]


def relation(numbers: Sequence[Number]) -> tuple[int, ...]:
    """Return in which order all of a call's numbers stand, and their absolute values."""
    return (*order(numbers), *order([abs(number) for number in numbers]))


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
class Lane:
    """A word of a step that is a number of the call."""

    step: int
    at: int
    """Byte in the launch's arguments, or in the upload."""
    number: int
    width: int
    """Bytes of the word."""
    form: int
    """Which of the formats of this width, among those of the number's type."""

    def word(self, number: Number) -> bytes:
        """The number in this format. Raises OverflowError, struct.error, where there is none."""
        return _forms(number, self.width)[self.form](number)


def _forms(number: Number, width: int) -> tuple[Callable[[Number], bytes], ...]:
    return (_FLOATS if isinstance(number, float) else _INTEGERS).get(width, ())


@dataclass(frozen=True)
class Pattern:
    """A tape with its numbers left open."""

    tape: Tape
    lanes: tuple[Lane, ...]

    def filled(self, numbers: Sequence[Number]) -> Tape:
        """The tape for other numbers."""
        steps: list[Step] = list(self.tape.steps)
        for lane in self.lanes:
            step, word = steps[lane.step], lane.word(numbers[lane.number])
            if isinstance(step, Launch):
                packed = step.packed.copy()
                packed.view(np.uint8)[lane.at : lane.at + len(word)] = np.frombuffer(word, np.uint8)
                steps[lane.step] = replace(step, packed=packed)
            elif isinstance(step, Upload):
                values = bytearray(step.values)
                values[lane.at : lane.at + len(word)] = word
                steps[lane.step] = replace(step, values=values)
        return replace(self.tape, steps=tuple(steps))

    def foretells(self, numbers: Sequence[Number], tape: Tape) -> bool:
        """Whether a tape is the one that it has for these numbers."""
        try:
            return differences(self.filled(numbers), tape) == []
        except (OverflowError, struct.error):  # no number of the narrow format that the wrapper has made of it
            return False


Taught = tuple[Sequence[Number], Tape]
"""Numbers of a call, and what it did."""


def agreement(taught: Sequence[Taught]) -> Pattern | None:
    """Return what calls have in common that differ in their numbers; None where it is not so of each of them."""
    made = pattern(*taught[:2])
    if made is None or not all(made.foretells(numbers, tape) for numbers, tape in taught[2:]):
        return None
    return made


def pattern(first: Taught, second: Taught) -> Pattern | None:
    """Return what two tapes with different numbers have in common; None where more than the numbers differs."""
    (numbers, tape), (others, other) = first, second
    found = differences(tape, other)
    if found is None:
        return None
    lanes = []
    for step, at, one, two in found:
        lane = next(
            (Lane(step, at, place, len(one), form) for place, number in enumerate(numbers)
             for form, convert in enumerate(_forms(number, len(one)))
             if _is(convert, number, one) and _is(convert, others[place], two)),
            None,
        )  # fmt: skip
        if lane is None:
            return None
        lanes.append(lane)
    if {lane.number for lane in lanes} != set(range(len(numbers))):
        return None  # a number that shows in no word may have been rounded away, or decided something
    return Pattern(tape, tuple(lanes))


TAUGHT = 6
"""Calls that a pattern is made of."""
PROVED = 3
"""Calls of the program's own that ask a guest all the same, and must be as foretold."""
_TRIES = 200
NEAR = 0.004  # of the kind, in powers: what is drawn is not known beforehand
ENDS = (1.2, 7.0)  # of the kind, in negative powers of ten: between these, from an end, lie the first two


def drawn(numbers: Sequence[Number], alike: Callable[[Sequence[Number]], bool], count: int) -> list[list[Number]]:
    """Draw numbers of calls of one kind, far apart, from end to end of it.

    Args:
        numbers: those of a call of the kind.
        alike: whether a call with other numbers is of the kind.
        count: calls wanted; fewer come back where the kind has no room for them.
    """
    draw = random.Random()
    found: list[list[Number]] = []
    places = range(len(numbers))
    rank = order([abs(number) for number in numbers])
    for attempt in range(_TRIES):
        if len(found) == count:
            break
        if len(found) < 2 and attempt < _TRIES // 4:  # all at the low end, all at the high one, as near as it may be
            near = 10.0 ** -draw.uniform(*ENDS)
            at = [near + 0.04 * rank[place] for place in places]
            at = at if not found else [1 - near - max(at) + share for share in at]
        elif len(found) < 4 and attempt < _TRIES // 2:  # some here, some there
            at = [(0.02, 0.98)[(len(found) + place) % 2] + draw.uniform(-NEAR, NEAR) for place in places]
        else:
            at = [draw.uniform(0, 1) for place in places]
        # None may be known beforehand, nor have other low digits than numbers of the kind: a wrapper may look at them.
        by_size = len(found) >= 4 and draw.random() < 0.5
        proposed = [_placed(number, share, draw, by_size) for number, share in zip(numbers, at, strict=True)]
        before = [number for one in found for number in one]
        if alike(proposed) and far_apart([*numbers, *before, *proposed]):
            found.append(proposed)
    return found


def _placed(number: Number, share: float, draw: random.Random, by_size: bool) -> Number:
    """A number of the same class, that far from its low end to its high one; low bits of integers drawn.

    In powers, and integers also by size: of those drawn evenly nearly all lie in the largest powers.
    """
    if isinstance(number, float):
        return math.copysign(2.0 ** (SPAN * (_span(number) + share)), number)
    at = LARGE + ((1 << 63) - LARGE) * share if by_size else LARGE * 2.0 ** (31 * share)
    placed = min(int(at), (1 << 63) - 1) // LARGE * LARGE + draw.getrandbits(28) * 16
    placed += 0 if number % 16 == 0 else draw.randrange(1, 16)
    return placed if number > 0 else -placed


def successors(numbers: Sequence[Number], before: Sequence[Number]) -> list[list[Number]]:
    """Where numbers that move will be next: between the next powers, those that have moved, some or all of them.

    `before`: the numbers of an earlier call. Integers are drawn, and do not move.
    """
    moving = [
        place for place, (now, then) in enumerate(zip(numbers, before, strict=True))
        if isinstance(now, float) and isinstance(then, float) and now != then
    ][:3]  # fmt: skip
    found = []
    for chosen in range(1, 1 << len(moving)):
        following = list(numbers)
        for bit, place in enumerate(moving):
            if chosen >> bit & 1:
                following[place] *= 2.0**SPAN if abs(numbers[place]) > abs(before[place]) else 2.0**-SPAN
        found.append(following)
    return found


def _is(form: Callable[[Number], bytes], number: Number, word: bytes) -> bool:
    try:
        return form(number) == word and not (isinstance(number, float) and math.isinf(number))
    except (OverflowError, struct.error):
        return False


def differences(one: Tape, two: Tape) -> list[tuple[int, int, bytes, bytes]] | None:
    """Words in which two tapes differ: step, byte, the words; None where anything else does."""
    if (one.answer, one.sizes, one.readings) != (two.answer, two.sizes, two.readings):
        return None
    return differing(one.steps, two.steps)


def first_difference(one: Tape, two: Tape) -> str:
    """What two tapes differ in first, in words; "" where they are the same."""
    found = differences(one, two)
    if found == []:
        return ""
    if found is not None:
        place, at, before, after = found[0]
        step = one.steps[place]
        what = f"a launch of {step.named.name}" if isinstance(step, Launch) else "an upload"
        return f"{what} has {after.hex()} for {before.hex()} at byte {at} of its values"
    if len(one.steps) != len(two.steps):
        return f"it takes {len(two.steps)} steps, not {len(one.steps)}"
    for place, (a, b) in enumerate(zip(one.steps, two.steps, strict=True)):
        if differing([a], [b]) is None:
            return f"step {place + 1} is {_named(b)}, not {_named(a)}"
    return "it returns something else"


def _named(step: Step) -> str:
    if isinstance(step, Launch):
        return f"a launch of {step.named.name} by {'x'.join(map(str, step.grid))} programs"
    return f"{step}"[:200]


def differing(one: Sequence[Step], two: Sequence[Step]) -> list[tuple[int, int, bytes, bytes]] | None:
    """As `differences`, of steps alone."""
    if len(one) != len(two):
        return None
    found: list[tuple[int, int, bytes, bytes]] = []
    for place, (a, b) in enumerate(zip(one, two, strict=True)):
        if isinstance(a, Launch) and isinstance(b, Launch):
            same = (a.grid, a.named, a.pointers) == (b.grid, b.named, b.pointers)
            words, width = (a.packed.tobytes(), b.packed.tobytes()), 8
        elif isinstance(a, Upload) and isinstance(b, Upload):
            same = (a.target, len(a.values)) == (b.target, len(b.values))
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
