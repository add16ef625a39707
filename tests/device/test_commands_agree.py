"""The judge's device and a sealed call take the same commands, refuse the same ones, and answer with the same times.

Where they differ, a wrapper knows where it is: the eleventh attack had six ways to be told.
"""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from wall_rig import Bench, flat, launch_body, request, request_text

from bringup import vpe
from bringup.device import space
from bringup.device.wire import ADDRESS, ALLOCATION, Command, Descriptor
from bringup.library._clock import Clock
from bringup.library._compiled import Kernels
from bringup.library._recording import Recorder
from bringup.library._room import Room
from bringup.library._tapes import bytes_of
from bringup.library.errors import GuestFailed

X = torch.arange(64, dtype=torch.float32)
Y = torch.arange(64, 128, dtype=torch.float32)
SIZES = [256, 256]
OWN = space.BASE + 64
OTHER = OWN + 320
TIMES = int(os.environ.get("BRINGUP_FUZZ_TIMES", "1"))  # as many examples: `benchmarks/fuzz.py` asks for more
Sent = tuple[Command, bytes]


@dataclass
class Done:
    """What came of a call: times, whether it was refused, and the memory of its arguments and its own."""

    times: list[float] = field(default_factory=list)
    refused: bool = False
    memory: list[bytes] = field(default_factory=list)
    why: str = ""


def judged(bench: Bench, bases: list[int], commands: list[Sent], threads: int) -> Done:
    done = Done()
    for command, body in commands:
        if command is Command.TIME:
            answer = bench.ask(command, body)[0]
            if "seconds" in answer:
                done.times.append(answer["seconds"])
        else:
            bench.command(command, body)
    bench.command(Command.RETURNED)
    ended = bench.end(*zip([*bases, OWN, OTHER], [*SIZES, 256, 64], strict=True))
    done.why = str(ended.error or ended.header["wrong"])
    done.refused, done.memory = bool(ended.error or ended.header["wrong"]), ended.data
    return done


def sealed(kernels: Kernels, clock: Clock, bases: list[int], commands: list[Sent], threads: int) -> Done:
    done, before = Done(), torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        regions = [torch.frombuffer(bytearray(one.numpy().tobytes()), dtype=torch.uint8).to("vpe") for one in (X, Y)]
        recorder = Recorder(SIZES, bases, Room(regions, [], ["nothing", "everything"]), kernels, clock=clock)
        recorder.execute(Command.KERNEL, memoryview(request_text("kernel_double").encode()))
        for command, body in [*commands, (Command.RETURNED, b"")]:
            answer = recorder.execute(command, memoryview(body))
            if answer is not None and "seconds" in answer[0]:
                done.times.append(answer[0]["seconds"])
        storages = [[base, size] for base, size in zip([*bases, OWN, OTHER], [*SIZES, 256, 64], strict=True)]
        told: dict[str, Any] = {"storages": storages, "result": None, "after": None}
        recorder.finish(recorder.tape(told, []))
        assert recorder.room is not None
        regions = recorder.room.regions
        done.refused = None in regions  # memory that is freed, which every call here returns
        done.memory = [b"" if region is None else bytes_of(region) for region in regions]
    except (GuestFailed, vpe.VpeFault, vpe.VpeLaunchError) as error:
        done.refused, done.why = True, str(error)
    finally:
        recorder.close()
        torch.set_num_threads(before)
    return done


@pytest.fixture(scope="module")
def kernels(shared_bench: Bench) -> Kernels:
    vpe.activate("pe64")
    caller = SimpleNamespace(
        key=lambda asked: json.dumps(asked, sort_keys=True), compile=shared_bench.rig.compiler.answer
    )
    return Kernels(caller)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def clock(shared_bench: Bench) -> Iterator[Clock]:
    """A device process of its own, as a library has it."""
    made = Clock(shared_bench.rig.device)
    yield made
    made.close()


def both(bench: Bench, kernels: Kernels, clock: Clock, commands: list[Sent], threads: int = 1) -> tuple[Done, Done]:
    """Each in memory that nobody has written but for the first allocation."""
    bench.guest()
    bases = bench.begin(X, Y, writable=[[1, 0, [64], [1], 4]], profile=True)
    number = bench.kernel(request("kernel_double"))["number"]
    assert number == 1
    begun: list[Sent] = [
        (Command.ALLOC, ALLOCATION.pack(OWN, 256)),
        (Command.ALLOC, ALLOCATION.pack(OTHER, 64)),
        (Command.COPY, flat(bases[0], "float32", 64).pack() + flat(OWN, "float32", 64).pack()),
        (Command.COPY, flat(bases[0], "float32", 16).pack() + flat(OTHER, "float32", 16).pack()),
    ]
    placed = [(command, _placed(body, bases)) for command, body in commands]
    return judged(bench, bases, [*begun, *placed], threads), sealed(kernels, clock, bases, [*begun, *placed], threads)


# Commands are drawn with places by name; `_placed` puts addresses in.
PLACES = {"x": 0x1111 << 40, "y": 0x2222 << 40, "own": OWN, "other": OTHER, "nobody": space.BASE + (1 << 30)}


def _placed(body: bytes, bases: list[int]) -> bytes:
    data = bytearray(body)
    for at in range(0, max(len(data) - 7, 0)):
        (word,) = struct.unpack_from("<Q", data, at)
        for name, base in zip(("x", "y"), bases, strict=True):
            if word - PLACES[name] in range(-(1 << 12), 1 << 12):
                struct.pack_into("<Q", data, at, base + word - PLACES[name])
    return bytes(data)


PLACE = st.sampled_from(["own", "own", "other", "x", "y", "nobody"])
DTYPE = st.sampled_from(["uint8", "float32", "int64"])


@st.composite
def copies(draw: st.DrawFn) -> Sent:
    size = tuple(draw(st.lists(st.integers(0, 9), max_size=3)))
    dtype = draw(DTYPE)
    width = getattr(torch, dtype).itemsize
    one, other = (
        Descriptor(
            base, base + width * draw(st.integers(0, 12)) + draw(st.sampled_from([0, 0, 0, 1])), dtype, size,
            tuple(draw(st.integers(0, 5)) for _ in size),
        )
        for base in (PLACES[draw(PLACE)], PLACES[draw(PLACE)])
    )  # fmt: skip
    return Command.COPY, one.pack() + other.pack()


@st.composite
def uploads(draw: st.DrawFn) -> Sent:
    size = tuple(draw(st.lists(st.integers(0, 5), max_size=2)))
    base = PLACES[draw(PLACE)]
    tensor = Descriptor(
        base, base + draw(st.integers(0, 250)), "uint8", size, tuple(draw(st.integers(0, 4)) for _ in size)
    )
    return Command.UPLOAD, tensor.pack() + bytes(math.prod(size) + draw(st.sampled_from([0, 0, 1])))


@st.composite
def launches(draw: st.DrawFn, *, far: bool = True) -> Sent:
    """`far`: with pointers that lie in the other argument by their value; in use it lies elsewhere: a fault."""
    pointers = []
    for _ in range(2):
        base = PLACES[draw(PLACE)]
        value = base + draw(st.sampled_from([0, 0, 32, 64, *((256, 288, 320, -32, -64) if far else ())]))
        pointers.append((value, base if draw(st.booleans()) else 0))
    if draw(st.integers(0, 9)) == 0:
        pointers[0] = (0, 0)
    count = draw(st.integers(0, 64))
    return Command.LAUNCH, launch_body(1, (draw(st.integers(0, 4)), 1, 1), *pointers, count)


FREES = st.sampled_from(["own", "other", "x"]).map(lambda name: (Command.FREE, ADDRESS.pack(PLACES[name])))
TRIAL = st.lists(copies() | launches() | launches() | uploads() | FREES, min_size=1, max_size=3).map(
    lambda inside: [(Command.MARK, b""), *inside, (Command.TIME, b"")]
)
REAL = (copies() | launches(far=False) | uploads()).map(lambda one: [one])


@settings(max_examples=150 * TIMES, suppress_health_check=list(HealthCheck), deadline=None)
@given(
    st.lists(TRIAL | TRIAL | REAL, min_size=1, max_size=3).map(lambda parts: [one for part in parts for one in part])
)
# A target with more elements than its block has bytes, and a pointer behind the end of one, that nobody names.
@example([(Command.MARK, b""), (Command.COPY, b"".join(
    Descriptor(OTHER, OTHER + at, "uint8", (9, 9), (3, 2)).pack() for at in (1, 0))),
    (Command.LAUNCH, launch_body(1, (1, 1, 1), (OWN, OWN), (OTHER, OTHER), 8)), (Command.TIME, b"")])  # fmt: skip
@example([(Command.MARK, b""), (Command.LAUNCH, launch_body(1, (1, 1, 1), (OWN, OWN), (OTHER + 64, 0), 8)),
          (Command.TIME, b"")])  # fmt: skip
def test_both_do_the_same(shared_bench: Bench, kernels: Kernels, clock: Clock, commands: list[Sent]) -> None:
    ours, theirs = both(shared_bench, kernels, clock, commands)
    assert ours.refused == theirs.refused, (ours.why, theirs.why)
    if not ours.refused:  # of what is refused nobody is told a result
        assert ours.times == theirs.times
        assert ours.memory == theirs.memory


@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("step", [1, 2, 3])
def test_no_copy_hangs_on_the_number_of_threads(
    shared_bench: Bench, kernels: Kernels, clock: Clock, threads: int, step: int
) -> None:
    count = 1 << 19
    base = OTHER + 128
    source, target = (Descriptor(base, base + at, "uint8", (count,), (step,)) for at in (0, step))
    commands = [
        (Command.ALLOC, ALLOCATION.pack(base, (count + 1) * step)),
        (Command.COPY, source.pack() + target.pack()),
    ]
    ours, theirs = both(shared_bench, kernels, clock, commands, threads)
    assert "share elements" in ours.why
    assert "share elements" in theirs.why


def test_what_an_operator_must_leave_is_not_written_in_use_either(kernels: Kernels, clock: Clock) -> None:
    """By a kernel or by a copy: the first argument here is one that is read."""
    for command in (
        (Command.LAUNCH, launch_body(1, (1, 1, 1), (OWN, OWN), (PLACES["x"], PLACES["x"]), 8)),
        (Command.COPY, flat(OWN, "float32", 4).pack() + flat(PLACES["x"], "float32", 4).pack()),
    ):
        bases = [space.MIDDLE + 64, space.MIDDLE + 1024]
        begun = [(Command.ALLOC, ALLOCATION.pack(OWN, 256)), (Command.ALLOC, ALLOCATION.pack(OTHER, 64)),
                 (Command.UPLOAD, flat(OWN, "uint8", 256).pack() + bytes(256)),
                 (Command.LAUNCH, launch_body(1, (1, 1, 1), (OWN, OWN), (OWN, OWN), 8))]  # fmt: skip
        done = sealed(kernels, clock, bases, [*begun, (command[0], _placed(command[1], bases))], 1)
        assert done.refused
        assert "read-only" in done.why or "must leave as it is" in done.why
