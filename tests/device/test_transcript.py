"""A call as text: the same for calls that differ in addresses alone, another for whatever else differs."""

from __future__ import annotations

import struct
import time
from types import SimpleNamespace
from typing import Any

import pytest

from bringup.device import space
from bringup.device.transcript import (
    MOST_LINES,
    SHORT,
    Transcript,
    first_difference,
    kernels_of,
    told_by_data,
)
from bringup.device.wire import ADDRESS, ALLOCATION, LAUNCH, POINTER, Command, Descriptor

KERNEL = SimpleNamespace(
    kernel=SimpleNamespace(name="k"), digest="d" * 64, names=("x", "y", "n"), kinds=("*fp32", "*fp32", "i32")
)
INPUT, OWN = space.MIDDLE + 640, space.BASE + 128


def transcript(base: int = INPUT) -> Transcript:
    return Transcript([(base, 64)], {1: KERNEL, 2: KERNEL})  # type: ignore[dict-item]


def launch(x: int, y: int, n: int = 16, number: int = 1, grid: int = 1, line: int = 3) -> tuple[Command, bytes]:
    return Command.LAUNCH, LAUNCH.pack(number, grid, 1, 1, line, 3) + POINTER.pack(x, x) + POINTER.pack(y, y) + (
        struct.pack("<q", n)
    )


def alloc(base: int, nbytes: int = 64) -> tuple[Command, bytes]:
    return Command.ALLOC, ALLOCATION.pack(base, nbytes)


def upload(base: int, *words: int) -> tuple[Command, bytes]:
    return Command.UPLOAD, Descriptor(base, base, "int64", (len(words),), (1,)).pack() + struct.pack(
        f"<{len(words)}q", *words
    )


def told(commands: list[tuple[Command, Any]], base: int = INPUT) -> list[str]:
    one = transcript(base)
    for command, body in commands:
        one.add(command, body)
    return one.lines()


def call(base: int, own: int, **other: Any) -> list[tuple[Command, Any]]:
    return [alloc(own), upload(own, 8, 7), launch(base, own, **other), (Command.FREE, ADDRESS.pack(own))]


def test_addresses_numbers_of_kernels_lines_and_frees_say_nothing() -> None:
    base, own = INPUT + (1 << 30), OWN + (1 << 20)
    one = told(call(INPUT, OWN))
    assert len(one) == 2
    assert one == told(call(base, own, number=2, line=9), base)
    assert one == told([alloc(own + 4096, 8), *call(base, own)[:-1]], base)  # memory that is not used


@pytest.mark.parametrize(
    "other",
    [
        call(INPUT, OWN, n=17),
        call(INPUT, OWN, grid=2),
        [alloc(OWN), upload(OWN, 8, 8), launch(INPUT, OWN)],
        [alloc(OWN, 72), upload(OWN, 8, 7), launch(INPUT, OWN)],
        [alloc(OWN), upload(OWN, 8, 7), launch(OWN, INPUT)],
        [alloc(OWN), upload(OWN, 8, 7), launch(INPUT + 64 + 4096, OWN)],
    ],
    ids=["number", "grid", "word", "size", "order", "nobody's memory"],
)
def test_everything_else_does(other: list[tuple[Command, Any]]) -> None:
    found = first_difference(told(call(INPUT, OWN)), told(other))
    assert found is not None
    assert found[0] != found[1]


def test_an_address_as_a_number_is_that_number() -> None:
    """Whichever memory lies there: a kernel would see its bits."""
    for first, second in ((OWN, OWN + 128), (INPUT, INPUT + 64)):
        memory = [alloc(OWN), alloc(OWN + 128)]
        numbers = [told([*memory, launch(INPUT, OWN, n=at)]) for at in (first, second)]
        tables = [told([*memory, upload(OWN, at, 7)]) for at in (first, second)]
        assert numbers[0] != numbers[1]
        assert tables[0] != tables[1]


def test_launches_that_were_only_timed_are_not_told() -> None:
    timed = [(Command.MARK, b""), alloc(OWN + 256), launch(INPUT, OWN + 256), (Command.TIME, b"")]
    first = told([alloc(OWN), *timed, launch(INPUT, OWN)])
    later = told([alloc(OWN), launch(INPUT, OWN)])
    assert first == later
    assert told([alloc(OWN), timed[0], *timed, *timed[1:], launch(INPUT, OWN)]) == later  # one within the other
    assert told([alloc(OWN), timed[0], launch(INPUT, OWN)]) == later  # begun, not timed: it runs
    many = [launch(INPUT, OWN, n) for n in range(MOST_LINES + 5)]
    assert told([alloc(OWN), timed[0], *many, timed[-1], launch(INPUT, OWN)]) == later
    assert told([alloc(OWN), *many, *timed, launch(INPUT, OWN)]) == told([alloc(OWN), *many, launch(INPUT, OWN)])
    assert first_difference(first, []) == (first[0], "")
    assert first_difference([], first) == ("", first[0])


def test_a_long_call_is_told_by_a_digest() -> None:
    many = [alloc(OWN), *[launch(INPUT, OWN, n) for n in range(MOST_LINES + 5)]]
    one = told(many)
    assert len(one) == MOST_LINES + 1
    assert one == told(many)
    assert one != told([*many[:-1], launch(INPUT, OWN, -1)])


@pytest.mark.parametrize("command", [Command.ALLOC, Command.COPY, Command.UPLOAD, Command.READ, Command.LAUNCH])
def test_nonsense_is_told_as_such(command: Command) -> None:
    for body in (b"", b"\xff" * 7, b"\xff" * 40):
        one = transcript()
        one.add(command, body)
        assert len(one.lines()) <= 1


def test_what_data_told_is_counted_in_bytes() -> None:
    one = told(call(INPUT, OWN))
    assert told_by_data(one, one) == 0
    other = told(call(INPUT, OWN, n=17))
    assert told_by_data(one, other) == 8
    assert told_by_data([*one, *one], [*other, *other]) == 2 * 8 + 1 - 8  # the same exchange again
    many = [told([alloc(OWN), *[launch(INPUT, OWN, n + k) for n in range(20)]]) for k in (100, 200)]
    assert told_by_data(*many) == 20 * 8
    again = [*one, one[-1]]
    assert told_by_data(one, again) == 1
    assert told_by_data(again, one) == 1
    flags = [[one[-1], other[-1]] * 20, [other[-1], one[-1]] * 20]
    assert 2 <= told_by_data(*flags) <= 40
    sent = [told([alloc(OWN), upload(OWN, *range(k, k + 8))]) for k in (1, 2)]
    assert told_by_data(*sent) >= 64


def test_another_kernel_tells_what_its_text_can_hold() -> None:
    one = told(call(INPUT, OWN))
    other = [line.replace(f"<{'d' * SHORT}>", f"<{'e' * SHORT}>") for line in one]
    assert one != other
    assert told_by_data(one, other, kernels_of(one)) == 64
    assert told_by_data(one, other, {*kernels_of(one), *kernels_of(other)}) == 8


def test_many_lines_are_compared_in_no_time() -> None:
    before = ["launch a 1"] * 2048
    after = [f"launch {'ac'[n % 2]} 1" for n in range(2048)]
    began = time.process_time()
    assert told_by_data(before, after) >= 1024  # each line that has become another counts
    assert time.process_time() - began < 5


def test_what_is_the_same_at_both_ends_is_not_compared() -> None:
    lines = [f"launch k {n}" for n in range(600)]
    assert told_by_data([*lines, "launch a 1", *lines], [*lines, "launch a 2", *lines]) == 8
