"""The device process over its sockets: memory, copies, uploads, reads, launches, faults, wipes."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from wall_rig import Bench, Ended, Rig, bytes_of, flat, gone, of, output, request

from bringup.device import space
from bringup.device.choices import text_bytes
from bringup.device.tape import digest_of, unpack
from bringup.device.timing import TOLD
from bringup.device.wire import DTYPES, HEAD, Command, Descriptor
from bringup.vpe.memory import COPIED, INPUT, LAUNCHED, SPREAD, UPLOADED

NUMBERS = torch.arange(33, dtype=torch.float32)


def floats(data: bytes) -> torch.Tensor:
    return torch.frombuffer(bytearray(data), dtype=torch.float32)


# Memory ------------------------------------------------------------------------------------------------------


def test_what_was_put_in_comes_out(bench: Bench) -> None:
    inputs = [NUMBERS, torch.arange(7), b"", torch.tensor([True])]
    bases = bench.begin(*inputs)
    assert bases[2] == 0
    assert all(base >= space.MIDDLE and base % space.ALIGNMENT == 0 for base in bases if base)
    ended = bench.end((bases[0], 132), (bases[1], 56), (0, 0), (bases[3], 1))
    assert ended.data == [bytes_of(NUMBERS), bytes_of(torch.arange(7)), b"", b"\1"]
    assert not ended.error
    assert set(ended.account.values()) == {0}


def test_two_calls_have_inputs_at_different_addresses(bench: Bench) -> None:
    one = bench.begin(NUMBERS)
    bench.end()
    assert bench.begin(NUMBERS) > one
    bench.end()


def test_unwritten_memory_holds_poison_and_nobody_wrote_it(bench: Bench) -> None:
    bench.begin()
    base = bench.alloc(64)
    ended = bench.end((base, 64), outputs=[output(0, "float32", (16,), (1,))])
    assert floats(ended.data[0]).isnan().all()
    assert ended.header["writers"] == [{"0": 64}]


def test_copies_carry_who_wrote(bench: Bench) -> None:
    (x,) = bench.begin(NUMBERS)
    y, z, unwritten = bench.alloc(132), bench.alloc(132), bench.alloc(8)
    bench.copy(flat(x, "float32", 20), flat(y, "float32", 20))
    bench.upload(flat(y, "float32", 5, 20), bytes(20))
    bench.copy(flat(y, "float32", 25), flat(z, "float32", 25))
    bench.copy(flat(unwritten, "float32", 2), flat(z, "float32", 2, 1))
    wanted = [output(0, "float32", (33,), (1,)), output(1, "float32", (33,), (1,))]
    ended = bench.end((y, 132), (z, 132), outputs=wanted)
    assert ended.header["writers"] == [
        {str(INPUT | COPIED): 80, str(UPLOADED): 20, "0": 32},
        {"0": 8 + 32, str(INPUT | COPIED): 72, str(UPLOADED | COPIED): 20},
    ]
    assert ended.header["given"] == [False, False]
    assert floats(ended.data[0])[:25].tolist() == [*range(20), *[0.0] * 5]
    assert (ended.account["copies"], ended.account["copied_bytes"]) == (3, 80 + 100 + 8)


def test_a_copy_through_a_launch_counts_as_launched(bench: Bench) -> None:
    (x,) = bench.begin(NUMBERS)
    y, z = bench.alloc(132), bench.alloc(132)
    number = bench.kernel(request("kernel_double"))["number"]
    bench.launch(number, (3, 1, 1), (x, x), (y, y), 33)
    bench.copy(flat(y, "float32", 33), flat(z, "float32", 33))
    ended = bench.end((z, 132), outputs=[output(0, "float32", (33,), (1,))])
    assert ended.header["writers"] == [{str(LAUNCHED | COPIED): 132}]
    assert ended.header["given"] == [True]
    assert torch.equal(floats(ended.data[0]), NUMBERS * 2)


@pytest.mark.parametrize(
    ("decides", "together", "wanted"),
    [("data", 0, False), ("data", 32, False), ("data", 33, True), ("launch", 0, True), (None, 33, False)],
)
def test_who_decides_what_stays_was_given_all_data(
    bench: Bench, decides: str | None, together: int, wanted: bool
) -> None:
    """By a launch with what a kernel or a copy has made of it, too: of `together` of its 33 elements."""
    x, mask = bench.begin(NUMBERS, NUMBERS + 1, decides=decides, choosing=[[1, 0, (33,), (1,), 4]])
    y, z = bench.alloc(132), bench.alloc(132)
    number = bench.kernel(request("kernel_double"))["number"]
    bench.copy(flat(x, "float32", 33), flat(y, "float32", 33))
    if together:
        bench.copy(flat(mask, "float32", together), flat(z, "float32", together))
    bench.launch(number, (3, 1, 1), (z, z) if together else (x, x), (y, y), 0)
    ended = bench.end((y, 132), outputs=[output(0, "float32", (33,), (1,))])
    assert ended.header["writers"] == [{str(INPUT | COPIED): 132}]
    assert ended.header["given"] == [wanted]


@pytest.mark.parametrize("moved", [0, 1])
def test_what_nobody_decides_about_stays_where_it_was(bench: Bench, moved: int) -> None:
    x, _ = bench.begin(NUMBERS, NUMBERS + 1, decides="nobody", kept=[[0, 0, (33,), (1,), 4]])
    y = bench.alloc(132)
    bench.copy(flat(x, "float32", 33), flat(y, "float32", 33))
    bench.copy(flat(x, "float32", 1, moved), flat(y, "float32", 1))
    ended = bench.end((y, 132), outputs=[output(0, "float32", (33,), (1,))])
    assert ended.header["given"] == [not moved]


@pytest.mark.parametrize("brings", [False, True])
def test_a_copy_of_a_part_brings_what_it_has(bench: Bench, brings: bool) -> None:
    """What was copied after a kernel has looked is nobody's to leave."""
    x, mask = bench.begin(NUMBERS, NUMBERS + 1, decides="data")
    y, z = bench.alloc(132), bench.alloc(132)
    number = bench.kernel(request("kernel_double"))["number"]
    bench.copy(flat(x, "float32", 33), flat(y, "float32", 33))
    bench.launch(number, (3, 1, 1), (mask, mask), (y, y), 0)
    if brings:
        bench.copy(flat(x, "float32", 33), flat(z, "float32", 33))
        bench.copy(flat(y, "float32", 1), flat(z, "float32", 1))
    else:
        bench.copy(flat(y, "float32", 33), flat(z, "float32", 33))
    ended = bench.end((z, 132), outputs=[output(0, "float32", (33,), (1,))])
    assert ended.header["given"] == [not brings]


@st.composite
def copies(draw: st.DrawFn) -> tuple[str, tuple[int, ...], tuple[int, ...], int, tuple[int, ...], int]:
    """A dtype, sizes, strides and offset of a source, and an order of axes and offset for the target."""
    dtype = draw(st.sampled_from(sorted(DTYPES)))
    size = tuple(draw(st.lists(st.integers(0, 4), max_size=3)))
    stride = tuple(draw(st.integers(0, 5)) for _ in size)
    order = tuple(draw(st.permutations(range(len(size)))))
    return dtype, size, stride, draw(st.integers(0, 3)), order, draw(st.integers(0, 3))


@given(copies(), st.randoms(use_true_random=False))
def test_strided_copies_are_torchs(shared_bench: Bench, drawn: tuple, random: object) -> None:  # type: ignore[type-arg]
    bench = shared_bench
    dtype, size, stride, offset, order, at = drawn
    width = getattr(torch, dtype).itemsize
    reach = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True) if n) + 1
    raw = bytes(random.randrange(256) for _ in range(max(reach, 1) * width))  # type: ignore[attr-defined]
    host = torch.frombuffer(bytearray(raw), dtype=torch.uint8).view(getattr(torch, dtype))
    source = host.as_strided(size, stride, offset)
    room = torch.empty(0, dtype=source.dtype).set_(torch.empty(max(source.numel(), 1) + at, dtype=source.dtype))
    steps, step = [0] * len(size), 1
    for axis in order:
        steps[axis] = step
        step *= max(size[axis], 1)
    target = room.as_strided(size, steps, at)
    room.view(torch.uint8).fill_(0xFF)
    target.copy_(source)
    (x,) = bench.begin(raw)
    y = bench.alloc(room.nbytes)
    bench.copy(of(x, source), of(y, target))
    ended = bench.end((y, room.nbytes), outputs=[output(0, dtype, size, tuple(steps), at)])
    assert not ended.error
    assert ended.data[0] == bytes_of(room)
    wanted = {str(INPUT | COPIED): source.numel() * width} if source.numel() else {}
    assert ended.header["writers"] == [wanted]


def test_an_upload_fills_a_strided_target(bench: Bench) -> None:
    bench.begin()
    y = bench.alloc(4 * 12)
    bench.upload(Descriptor(y, y + 4, "int32", (2, 3), (1, 4)), struct.pack("<6i", *range(6)))
    ended = bench.end((y, 48), outputs=[output(0, "int32", (2, 3), (1, 4), 1)])
    got = torch.frombuffer(bytearray(ended.data[0]), dtype=torch.int32)
    assert got.as_strided((2, 3), (1, 4), 1).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert ended.header["writers"] == [{str(UPLOADED): 24}]
    assert ended.account["uploaded_bytes"] == 24


def test_an_upload_over_the_bound_is_a_broken_rule(bench: Bench) -> None:
    bench.begin(host_bytes=16)
    y = bench.alloc(32)
    bench.upload(flat(y, "uint8", 16), bytes(16))
    bench.upload(flat(y, "uint8", 1), b"x")
    ended = bench.end((y, 32))
    assert "the host made 17 bytes" in ended.error["text"]
    assert (ended.error["kind"], ended.error["rule"]) == ("rule", "host-bytes")
    assert ended.data == []


def test_inputs_of_an_operator_that_leaves_them_alone_cannot_be_written(bench: Bench) -> None:
    (x,) = bench.begin(NUMBERS, writable=[])
    bench.upload(flat(x, "float32", 1), bytes(4))
    ended = bench.end((x, 132))
    assert ended.error["kind"] == "launch"
    assert "input #1 of 132 bytes, which this operator must leave as it is" in ended.error["text"]
    (x,) = bench.begin(NUMBERS, writable=[])
    number = bench.kernel(request("kernel_double"))["number"]
    bench.launch(number, (1, 1, 1), (x, x), (x, x), 16, line=7)
    ended = bench.end((x, 132))
    assert (ended.error["kind"], ended.error["line"]) == ("fault", 7)
    assert "read-only input" in ended.error["text"]


def test_what_lies_between_the_elements_of_a_view_stays_as_it_is(bench: Bench) -> None:
    rows = [
        0,
        0,
        [4, 5],
        [8, 1],
        4,
    ]  # storage, offset, sizes, strides, bytes an element: three of eight are the caller's
    for first, error in ((0, ""), (5, "byte 22 of input #2 of 132 bytes, which is no element of what it may write")):
        (x,) = bench.begin(NUMBERS, writable=[rows])
        bench.upload(flat(x, "float32", 5, first), bytes(20))
        ended = bench.end((x, 132))
        assert error in (ended.error or {"text": ""})["text"]
        assert bool(ended.error) == bool(error)


def test_only_what_is_there_to_be_written_can_be(bench: Bench) -> None:
    x, y = bench.begin(NUMBERS, NUMBERS, writable=[[1, 0, [33], [1], 4]])
    bench.upload(flat(y, "float32", 1), bytes(4))
    bench.upload(flat(x, "float32", 1), bytes(4))
    ended = bench.end((x, 132))
    assert "input #1 of 132 bytes, which this operator must leave as it is" in ended.error["text"]


# Reads -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "says"),
    [
        ({}, "the wrapper reads device memory on the host"),
        ({"read_bytes": 64}, "the wrapper reads an input on the host"),
        ({"read_bytes": 64, "read_inputs": True}, "the wrapper reads 132 bytes of device memory on the host, 64 are"),
    ],
)
def test_a_read_that_is_not_allowed_tells_nothing(bench: Bench, mode: dict[str, object], says: str) -> None:
    (x,) = bench.begin(NUMBERS, **mode)
    answer, data = bench.read(flat(x, "float32", 33))
    assert says in answer["stopped"]
    assert data == b""
    ended = bench.end()
    assert ended.error["rule"] == "reads"
    assert ended.account["read_bytes"] == 0


def test_what_a_kernel_wrote_can_be_read_as_far_as_allowed(bench: Bench) -> None:
    (x,) = bench.begin(NUMBERS, read_bytes=8)
    y = bench.alloc(132)
    number = bench.kernel(request("kernel_double"))["number"]
    bench.launch(number, (3, 1, 1), (x, x), (y, y), 33)
    assert bench.read(Descriptor(y, y + 4, "float32", (1,), (1,))) == ({}, struct.pack("<f", 2.0))
    assert bench.read(Descriptor(y, y, "float32", (1,), (1,))) == ({}, struct.pack("<f", 0.0))
    assert "12 bytes of device memory" in bench.read(flat(y, "float32", 1, 8))[0]["stopped"]
    assert bench.end().account["reads"] == 2


def test_reads_are_counted_anew_in_each_call_and_over_one(bench: Bench) -> None:
    for _ in range(2):
        (x,) = bench.begin(NUMBERS, read_bytes=4, read_inputs=True)
        assert bench.read(flat(x, "float32", 1, 3)) == ({}, struct.pack("<f", 3.0))
        assert "stopped" in bench.read(flat(x, "float32", 1, 4))[0]
        assert bench.end().account["read_bytes"] == 4


def test_a_copy_of_an_input_is_not_what_a_kernel_computed(bench: Bench) -> None:
    (x,) = bench.begin(NUMBERS, read_bytes=64)
    y = bench.alloc(64)
    bench.copy(flat(x, "float32", 16), flat(y, "float32", 16))
    assert "reads an input" in bench.read(flat(y, "float32", 1))[0]["stopped"]
    bench.end()


# Launches ----------------------------------------------------------------------------------------------------


def test_a_launch_from_text(bench: Bench) -> None:
    (x,) = bench.begin(NUMBERS)
    y = bench.alloc(132)
    answer = bench.kernel(request("kernel_double"))
    assert answer["name"] == "kernel_double"
    assert answer["facts"]["signature"] == ["*f32", "*f32", "i32"]
    bench.launch(answer["number"], (3, 1, 1), (x, x), (y, y), 33)
    ended = bench.end((y, 132), outputs=[output(0, "float32", (33,), (1,))])
    assert torch.equal(floats(ended.data[0]), NUMBERS * 2)
    assert ended.header["writers"] == [{str(LAUNCHED): 132}]
    account = ended.account
    assert (account["launches"], account["argument_bytes"], account["allocations"]) == (1, 32, 1)
    constants = answer["facts"]["constants"]
    assert constants > 0
    said = text_bytes(request("kernel_double")["text"])
    assert 40 < said < 200
    assert account["constant_bytes"] == 8 * constants + said


def test_a_kernel_is_compiled_once_and_outlives_the_guest(bench: Bench) -> None:
    wanted = request("kernel_double", 32)
    (x,) = bench.begin(NUMBERS)
    bench.kernel(wanted)
    known = bench.rig.compiler.requests
    assert bench.kernel(wanted)["number"] == 2
    for number in (1, 2):
        bench.launch(number, (1, 1, 1), (x, x), (x, x), 33)
    assert not bench.end().error
    bench.guest()
    (x,) = bench.begin(NUMBERS)
    bench.launch(1, (1, 1, 1), (x, x), (x, x), 33)  # the number of another guest
    assert "a kernel that this guest has not compiled" in bench.end().error["text"]
    bench.begin()
    assert bench.kernel(wanted)["number"] == 1
    bench.end()
    assert bench.rig.compiler.requests == known


def test_a_refusal_is_told_with_the_compilers_words_and_is_no_fault(bench: Bench) -> None:
    bench.begin()
    wanted = request("kernel_double")
    refused = bench.kernel({**wanted, "text": wanted["text"].replace("arith.addf", "arith.adf"), "source": ""})
    assert "no TTIR of this Triton" in refused["short"]
    assert not bench.end().error


def test_a_fault_is_sticky_and_told_without_data(bench: Bench) -> None:
    bench.guest("a\nb\nlaunch here\n")
    (x,) = bench.begin(NUMBERS, read_bytes=16)
    y = bench.alloc(132)
    number = bench.kernel(request("kernel_reads_far"))["number"]
    bench.launch(number, (1, 1, 1), (x, x), (y, y), 1 << 20, line=3)
    bench.upload(flat(y, "uint8", 4), bytes(4))  # swallowed
    told = bench.read(flat(y, "float32", 1))[0]
    assert told["line"] == 3
    assert "kernel 'kernel_reads_far' was stopped" in told["stopped"]
    assert "stopped" in bench.read(flat(y, "float32", 1))[0]
    bench.launch(number, (1, 1, 1), (x, x), (y, y), 0)
    ended = bench.end((y, 132))
    assert (ended.error["kind"], ended.error["line"]) == ("fault", 3)
    assert "kernel_reads_far" in ended.error["dump"]
    assert ended.data == []
    assert ended.account["launches"] == 1
    assert ended.account["uploads"] == 0
    (x,) = bench.begin(NUMBERS)  # the next call is a new one
    assert bench.end((x, 132)).data == [bytes_of(NUMBERS)]


def test_the_first_error_of_a_call_counts(bench: Bench) -> None:
    (x,) = bench.begin(NUMBERS)
    bench.command(Command.LAUNCH, b"")
    number = bench.kernel(request("kernel_reads_far"))["number"]
    bench.launch(number, (1, 1, 1), (x, x), (x, x), 1 << 20)
    ended = bench.end()
    assert (ended.error["kind"], ended.error["rule"]) == ("rule", "stream")


def test_a_store_outside_is_a_fault_and_changes_nothing(bench: Bench) -> None:
    inputs = [NUMBERS, torch.full((33,), 7.0)]
    x, canary = bench.begin(*inputs)
    y = bench.alloc(132)
    number = bench.kernel(request("kernel_writes_far"))["number"]
    bench.launch(number, (1, 1, 1), (x, x), (y, y), (canary - y) // 4)
    ended = bench.end((canary, 132))
    assert ended.error["kind"] == "fault"
    assert bench.begin(*inputs)
    bench.end()


@pytest.mark.parametrize("through", ["value", "base"])
def test_a_pointer_into_another_storage_reaches_only_what_is_named(bench: Bench, through: str) -> None:
    """A pointer whose value leads out of the storage that it is said to belong to."""
    x, canary = bench.begin(NUMBERS, torch.full((33,), 7.0))
    y = bench.alloc(132)
    number = bench.kernel(request("kernel_double"))["number"]
    pointer = (canary, x) if through == "value" else (x, canary)
    bench.launch(number, (1, 1, 1), pointer, (y, y), 16)
    ended = bench.end((y, 132))
    assert ended.error["kind"] == "fault"


def test_a_pointer_without_a_storage_finds_its_block(bench: Bench) -> None:
    (x,) = bench.begin(NUMBERS)
    y = bench.alloc(132)
    number = bench.kernel(request("kernel_double"))["number"]
    bench.launch(number, (1, 1, 1), (x, 0), (y, 0), 16)
    ended = bench.end((y, 132))
    assert not ended.error
    assert torch.equal(floats(ended.data[0])[:16], NUMBERS[:16] * 2)


def test_null_pointers_and_freed_memory_are_faults(bench: Bench) -> None:
    for which in ("null", "freed", "nobody's"):
        (x,) = bench.begin(NUMBERS)
        y = bench.alloc(132)
        number = bench.kernel(request("kernel_double"))["number"]
        if which == "freed":
            bench.free(y)
        target = {"null": (0, 0), "freed": (y, y), "nobody's": (y + (1 << 20), 0)}[which]
        bench.launch(number, (1, 1, 1), (x, x), target, 16)
        ended = bench.end()
        assert ended.error["kind"] == "fault", which


def test_memory_of_an_earlier_call_is_gone(bench: Bench) -> None:
    (old,) = bench.begin(NUMBERS)
    kept = bench.alloc(132)
    bench.end()
    for base in (old, kept):
        (x,) = bench.begin(NUMBERS)
        bench.copy(flat(base, "float32", 1), flat(x, "float32", 1))
        ended = bench.end()
        assert ended.error["rule"] == "state", ended.error
    bench.begin()
    never = bench.next + (1 << 20)
    bench.copy(flat(never, "float32", 1), flat(never, "float32", 1))
    assert bench.end().error["rule"] == "stream"


def test_results_of_an_earlier_call_are_refused(bench: Bench) -> None:
    bench.begin()
    kept = bench.alloc(132)
    bench.end((kept, 132))
    bench.begin()
    ended = bench.end((kept, 132))
    assert "freed, or of an earlier call" in ended.header["wrong"]
    assert ended.data == []


@pytest.mark.parametrize("command", [Command.COPY, Command.UPLOAD, Command.READ, Command.ALSO, Command.LAUNCH])
def test_commands_outside_of_a_call_break_a_rule(bench: Bench, command: Command) -> None:
    (x,) = bench.begin(NUMBERS)
    bench.end()
    tensor = flat(x, "float32", 1).pack()
    body = {Command.COPY: tensor * 2, Command.UPLOAD: tensor + bytes(4), Command.ALSO: b"{}"}.get(command, tensor)
    bench.command(command, body)
    bench.begin(NUMBERS)  # nobody listens before
    if command is Command.READ:
        assert "outside of a call" in bench.answer()[0]["stopped"]
    ended = bench.end()
    assert (ended.error["kind"], ended.error["rule"]) == ("rule", "stream")
    assert f"({command.name}) outside of a call of the wrapper" in ended.error["text"]


def test_what_a_kernel_prints_is_kept_to_a_limit(bench: Bench) -> None:
    (x,) = bench.begin(NUMBERS)
    number = bench.kernel(request("kernel_prints"))["number"]
    y = bench.alloc(132)
    bench.launch(number, (2, 1, 1), (x, x), (y, y), 5)
    assert bench.end().header["printed"].count("n is") == 2
    (x,) = bench.begin(NUMBERS)
    y = bench.alloc(132)
    for _ in range(20):
        bench.launch(number, (1 << 10, 1, 1), (x, x), (y, y), 5)
    assert len(bench.end().header["printed"]) <= 1 << 16


def test_orders_and_counters(bench: Bench) -> None:
    for order in (None, 1, 2):
        (x,) = bench.begin(NUMBERS, order=order, profile=True)
        number = bench.kernel(request("kernel_double"))["number"]
        y = bench.alloc(132)
        bench.launch(number, (3, 1, 1), (x, x), (y, y), 33)
        ended = bench.end((y, 132))
        assert torch.equal(floats(ended.data[0]), NUMBERS * 2)
        assert len(ended.header["counters"]) == 1
    bench.begin()
    assert bench.end().header["counters"] == []


def test_a_tape_holds_what_moves_data(bench: Bench) -> None:
    (x,) = bench.begin(NUMBERS, tape={"candidate": "abc"})
    y = bench.alloc(132)
    bench.copy(flat(x, "float32", 1), flat(y, "float32", 1))
    number = bench.kernel(request("kernel_double"))["number"]
    bench.launch(number, (3, 1, 1), (x, x), (y, y), 33)
    tape = unpack(bench.end((y, 132)).tape)
    assert tape.about["candidate"] == "abc"
    assert tape.inputs == [(x, bytes_of(NUMBERS))]
    assert [code for code, _ in tape.commands] == [Command.ALLOC, Command.COPY, Command.LAUNCH]
    assert tape.storages == [(y, 132)]
    assert list(tape.kernels) == [number]
    assert tape.result == digest_of([bytes_of(NUMBERS * 2)])
    assert unpack(tape.pack()) == tape
    bench.begin()
    assert bench.end().tape == b""


# What copies may do ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("moves", [True, False])
def test_copies_put_nothing_together_where_that_is_the_work(bench: Bench, moves: bool) -> None:
    mode = {"arguments": [[0, 0, [33], [1], 4]]} if moves else {}
    (x,) = bench.begin(NUMBERS, **mode)
    y = bench.alloc(132)
    for i in range(2):
        bench.copy(flat(x, "float32", 1, 32 - i), flat(y, "float32", 1, i))
    error = bench.end((y, 132)).error
    assert bool(error) == moves
    assert not error or (error["rule"] == "provenance" and "part of a buffer" in error["text"])


def test_arguments_are_known_by_where_they_were_put(bench: Bench) -> None:
    """An argument may be laid down in order, whatever its strides; the same strides on another one are a choice."""
    for size, stride, right in (([4, 8], [1, 4], True), ([32], [1], False)):
        _, x = bench.begin(NUMBERS, NUMBERS, arguments=[[1, 1, size, stride, 4]])
        y = bench.alloc(128)
        source = Descriptor(x, x + 4, "float32", (4, 8), (1, 4))
        bench.copy(source, Descriptor(y, y, "float32", (4, 8), (8, 1)))
        ended = bench.end((y, 128))
        assert bool(ended.error) != right
        assert not right or torch.equal(floats(ended.data[0]), NUMBERS[1:33].view(8, 4).t().reshape(-1))


@pytest.mark.parametrize(
    ("size", "stride", "spread"),
    [((4, 3), (0, 1), True), ((3, 4), (1, 0), True), ((3, 4), (1, 1), True), ((3, 1), (1, 0), False),
     ((2, 3), (3, 1), False), ((3, 2), (1, 3), False), ((2, 2), (1, 5), False)],
)  # fmt: skip
def test_what_copies_multiply_is_not_a_kernels(
    bench: Bench, size: tuple[int, ...], stride: tuple[int, ...], spread: bool
) -> None:
    (x,) = bench.begin(NUMBERS)
    y, z = bench.alloc(132), bench.alloc(48)
    number = bench.kernel(request("kernel_double"))["number"]
    bench.launch(number, (3, 1, 1), (x, x), (y, y), 33)
    rows = (size[1], 1)
    bench.copy(Descriptor(y, y, "float32", size, stride), Descriptor(z, z, "float32", size, rows))
    ended = bench.end((z, 48), outputs=[output(0, "float32", size, rows)])
    count = 4 * size[0] * size[1]
    assert ended.header["writers"] == [{str(COPIED | (SPREAD if spread else LAUNCHED)): count}]


# A call's commands wait for its end ---------------------------------------------------------------------------


def test_nothing_runs_before_the_wrapper_has_returned(bench: Bench) -> None:
    """A kernel that faults is not noticed by what follows it, but for a read that is allowed."""
    for allowed in (0, 16):
        (x,) = bench.begin(NUMBERS, read_bytes=allowed)
        y = bench.alloc(132)
        number = bench.kernel(request("kernel_reads_far"))["number"]
        bench.launch(number, (1, 1, 1), (x, x), (y, y), 1 << 20, line=3)
        assert "number" in bench.kernel(request("kernel_double"))
        told = bench.read(flat(y, "float32", 1))[0]["stopped"]
        assert ("was stopped" in told) == bool(allowed)
        assert bench.end().error["kind"] == ("fault" if allowed else "rule")


def test_a_guest_is_told_the_same_time_of_everything_and_nothing_is_left_behind(bench: Bench) -> None:
    for many in (1.0, 1000.0):
        x, y = bench.begin(torch.tensor([many]), torch.zeros(16), profile=True)
        number = bench.kernel(request("kernel_counts"))["number"]
        bench.command(Command.MARK)
        for _ in range(2):
            bench.launch(number, (1, 1, 1), (x, x), (y, y), 0)
        assert bench.ask(Command.TIME)[0]["seconds"] == TOLD
        bench.command(Command.MARK)
        assert bench.ask(Command.TIME)[0]["seconds"] == TOLD
        bench.launch(number, (1, 1, 1), (x, x), (y, y), 0)
        ended = bench.end((y, 64))
        assert not ended.error
        assert floats(ended.data[0]).tolist() == [many] * 16
        assert ended.account["launches"] == 1
        assert len(ended.header["counters"]) == 1


def test_a_clock_says_nothing_of_data(bench: Bench) -> None:
    times = []
    for many in (1.0, 1000.0):
        x, y = bench.begin(torch.tensor([many]), torch.zeros(16), clock=True)
        number = bench.kernel(request("kernel_counts"))["number"]
        bench.copy(flat(y, "float32", 16), flat(bench.alloc(64), "float32", 16))
        bench.command(Command.MARK)
        for _ in range(2):
            bench.launch(number, (1, 1, 1), (x, x), (y, y), 0)
        times.append(bench.ask(Command.TIME)[0]["seconds"])
        bench.command(Command.MARK)
        assert bench.ask(Command.TIME)[0]["seconds"] == 0
        bench.launch(number, (1, 1, 1), (x, x), (y, y), 0)
        assert not bench.end((y, 64)).error
    assert times[0] == times[1] > 0


@pytest.mark.parametrize("mode", [{}, {"timed": True}, {"clock": True}], ids=["judged", "timed", "clock"])
def test_a_trial_of_what_fails_takes_forever_and_is_no_fault(bench: Bench, mode: dict[str, bool]) -> None:
    (x,) = bench.begin(NUMBERS + 1, **mode)
    y = bench.alloc(64)
    number = bench.kernel(request("kernel_needs_values"))["number"]
    bench.command(Command.MARK)
    bench.launch(number, (1, 1, 1), (x, x), (y, y), 0)
    assert bench.ask(Command.TIME)[0]["seconds"] == (float("inf") if "clock" in mode else TOLD)
    bench.launch(number, (1, 1, 1), (x, x), (y, y), 0)
    ended = bench.end((y, 64))
    assert not ended.error
    assert floats(ended.data[0]).tolist() == list(range(1, 17))


def tried(bench: Bench, grids: tuple[int, ...], launched: int = 3, **mode: Any) -> Ended:
    """A call that tries a kernel on grids, and launches it on one of these or another."""
    (x,) = bench.begin(NUMBERS, **mode)
    y = bench.alloc(132)
    number = 0
    for grid in grids:
        bench.command(Command.MARK)
        number = number or bench.kernel(request("kernel_double"))["number"]
        bench.launch(number, (grid, 1, 1), (x, x), (y, y), 33)
        assert bench.ask(Command.TIME)[0]["seconds"] == TOLD
    bench.launch(number, (launched, 1, 1), (x, x), (y, y), 33)
    ended = bench.end((y, 132))
    assert not ended.error
    return ended


def doubled(ended: Ended) -> int:
    """How many numbers a kernel has doubled: 16 a program."""
    return int((floats(ended.data[0]) == NUMBERS * 2).sum())


def test_what_is_tried_with_the_same_arguments_may_run_instead(bench: Bench) -> None:
    found = [doubled(tried(bench, (3, 1, 2, 3), choice=choice)) for choice in range(6)]
    assert found == [33, 16, 32, 33, 16, 32]


def test_where_times_are_taken_the_fastest_runs(bench: Bench) -> None:
    # As many programs as the chip has cores run at once.
    assert doubled(tried(bench, (1000, 1, 500), 1000, timed=True)) == 16


@pytest.mark.parametrize(("grids", "launched"), [((3,), 3), ((1, 2), 3), ((), 3)])
def test_what_was_not_tried_has_no_alternative(bench: Bench, grids: tuple[int, ...], launched: int) -> None:
    if grids:
        assert doubled(tried(bench, grids, launched, choice=1)) == 33


def test_a_transcript_has_the_alternatives_and_nothing_of_the_choice(bench: Bench) -> None:
    first, other = (tried(bench, (3, 1), choice=choice).header["transcript"] for choice in (0, 1))
    assert first == other
    assert first[-1].count(" or kernel_double<") == 2
    assert tried(bench, (3, 2)).header["transcript"] != first
    assert tried(bench, (3,)).header["transcript"] != first


def test_no_result_is_made_of_what_is_timed(bench: Bench) -> None:
    (x,) = bench.begin(NUMBERS)
    y = bench.alloc(132)
    number = 0
    for _ in range(2):  # one within the other
        bench.command(Command.MARK)
        number = number or bench.kernel(request("kernel_double"))["number"]
        bench.launch(number, (3, 1, 1), (x, x), (y, y), 33)
        z = bench.alloc(132)
        bench.copy(flat(x, "float32", 33), flat(z, "float32", 33))
    for _ in range(2):
        assert bench.ask(Command.TIME)[0]["seconds"] >= 0
    ended = bench.end((y, 132), (z, 132))
    assert not ended.error
    assert [bool(torch.isnan(floats(part)).all()) for part in ended.data] == [True, True]
    assert ended.account["launches"] == ended.account["copies"] == 0


def test_a_kernel_that_is_asked_for_is_launched_in_that_call(bench: Bench) -> None:
    """Else a guest would learn, by how long the answer takes, what others have had compiled."""
    (x,) = bench.begin(NUMBERS)
    number = bench.kernel(request("kernel_double"))["number"]
    bench.command(Command.MARK)
    bench.launch(number, (1, 1, 1), (x, x), (x, x), 33)
    bench.ask(Command.TIME)
    error = bench.end().error
    assert error["rule"] == "stream"
    assert "asks for kernel 'kernel_double' and does not launch it in that call" in error["text"]
    bench.begin()
    assert not bench.end().error


def test_a_kernel_that_is_only_tried_is_compiled_for_each_guest(bench: Bench) -> None:
    wanted, counts = request("kernel_double", 64), []
    for launched in (False, False, True, True):
        bench.guest()
        (x,) = bench.begin(NUMBERS)
        before = bench.rig.compiler.requests
        bench.command(Command.MARK)
        number = bench.kernel(wanted)["number"]
        assert bench.kernel(wanted)["number"] == number + 1
        bench.launch(number, (1, 1, 1), (x, x), (x, x), 33)
        bench.ask(Command.TIME)
        counts.append(bench.rig.compiler.requests - before)
        if launched:
            bench.launch(bench.kernel(wanted)["number"], (1, 1, 1), (x, x), (x, x), 33)
        assert not bench.end().error
    # The third guest's is compiled once more to be kept, and the fourth still knows nothing of it.
    assert counts == [1, 1, 1, 1]


def test_a_refusal_is_forgotten_with_its_guest(bench: Bench) -> None:
    wanted, counts = {**request("kernel_double"), "text": "no text", "source": ""}, []
    for _ in range(2):
        bench.guest()
        bench.begin()
        before = bench.rig.compiler.requests
        assert "refused" in bench.kernel(wanted)
        assert "refused" in bench.kernel(wanted)
        counts.append(bench.rig.compiler.requests - before)
        bench.end()
    assert counts == [1, 1]


def test_no_kernel_is_asked_for_outside_of_a_call(bench: Bench) -> None:
    bench.guest()
    bench.command(Command.KERNEL, json.dumps(request("kernel_double")).encode())
    bench.begin()
    assert "outside of a call" in bench.answer()[0]["stopped"]
    assert "outside of a call" in bench.end().error["text"]


def test_nothing_is_read_while_launches_are_timed(bench: Bench) -> None:
    (x,) = bench.begin(NUMBERS, read_bytes=16, read_inputs=True)
    bench.command(Command.MARK)
    assert "while launches are timed" in bench.read(flat(x, "float32", 1))[0]["stopped"]
    assert bench.end((x, 132)).error["rule"] == "reads"


@pytest.mark.parametrize("commands", [[Command.TIME], [Command.MARK, Command.TIME, Command.TIME]])
def test_a_time_of_what_has_not_begun_breaks_a_rule(bench: Bench, commands: list[Command]) -> None:
    bench.begin()
    for command in commands:
        bench.command(command)
    assert "has not begun" in bench.end().error["text"]


def test_a_clock_stands_still_once_data_were_read(bench: Bench) -> None:
    (x,) = bench.begin(NUMBERS, read_bytes=16, read_inputs=True, clock=True)
    assert bench.read(flat(x, "float32", 1))[1] == bytes_of(NUMBERS[:1])
    bench.command(Command.MARK)
    number = bench.kernel(request("kernel_double"))["number"]
    bench.launch(number, (3, 1, 1), (x, x), (x, x), 33)
    assert bench.ask(Command.TIME)[0]["seconds"] == 0
    assert bench.end((x, 132)).data == [bytes_of(NUMBERS)]


def test_more_commands_than_any_call_needs_break_a_rule(bench: Bench) -> None:
    bench.begin()
    data = (HEAD.pack(Command.FREE, 8) + bytes(8)) * (1 << 15)
    for _ in range(5):
        bench.send(data)
    assert "more than 131072 things" in bench.end().error["text"]


# Limits and wipes --------------------------------------------------------------------------------------------


def test_memory_that_is_used_up_is_told_as_such(bench: Bench) -> None:
    bench.guest(memory=1 << 20)
    bench.begin(bytes(1 << 19))
    one = bench.alloc(1 << 19)
    bench.free(one)
    bench.alloc(1 << 19)
    bench.alloc(1)
    ended = bench.end()
    assert ended.error["kind"] == "memory"
    assert "out of device memory: 1 bytes asked for" in ended.error["text"]
    assert bench.begin(bytes(1 << 20)) != [0]
    assert not bench.end().error
    bench.begin(bytes(2 << 20), b"x")  # the inputs themselves do not fit
    assert bench.end().error["kind"] == "memory"


@pytest.mark.parametrize("size", [48, 4096, 8191, 8192, 12345, 70000])
def test_no_byte_of_another_guest_can_be_read(bench: Bench, size: int) -> None:
    """Blocks of every size, at the same addresses, in the next call and in the next guest's."""
    secret = bytes([0xA5]) * size
    for by in ("upload", "input"):
        bench.guest()
        (x,) = bench.begin(secret if by == "input" else b"x")
        base = bench.alloc(size)
        if by == "upload":
            bench.upload(flat(base, "uint8", size), secret)
        ended = bench.end((base, size), (x, size if by == "input" else 1))
        assert secret in ended.data
        bench.guest()
        bench.begin()
        again = bench.alloc(3 * size + 8192)
        assert again == base
        ended = bench.end((again, 3 * size + 8192))
        assert b"\xa5" not in ended.data[0]


def test_addresses_are_never_used_twice_by_one_guest(bench: Bench) -> None:
    bench.begin()
    base = bench.alloc(64)
    bench.free(base)
    bench.next = space.BASE
    bench.alloc(64)
    ended = bench.end()
    assert ended.error["rule"] == "stream"
    assert "not the next free one" in ended.error["text"]


def test_late_destructors_do_no_harm(bench: Bench) -> None:
    (x,) = bench.begin(NUMBERS)
    bench.free(x)  # not the guest's
    bench.free(12345)
    y = bench.alloc(4)
    bench.free(y)
    bench.free(y)
    assert bench.end((x, 132)).data == [bytes_of(NUMBERS)]
    bench.free(y)
    bench.begin()
    assert not bench.end().error


def test_two_guests_the_second_takes_over(bench: Bench) -> None:
    first = bench.stream
    bench.begin()
    bench.end()
    bench.stream = None
    second = bench.guest()
    assert first is not None
    first.settimeout(5)
    assert first.recv(1) == b""
    with pytest.raises(BrokenPipeError):
        first.sendall(b"\x09\0\0\0\0")
    first.close()
    bench.begin()
    assert not bench.end().error
    assert second is bench.stream


def test_the_process_ends_with_its_referee(rig: Rig) -> None:
    bench = Bench(rig)
    device, stream = bench.device, bench.stream
    device.control.close()
    assert stream is not None
    assert stream.recv(1) == b""
    stream.close()
    assert gone(device)


def test_wiping_a_freed_block_leaves_its_neighbours_alone(bench: Bench) -> None:
    """Pages are given back; what is in use on the same page stays."""
    bench.begin()
    kept = []
    for turn in range(40):
        kept.append(bench.alloc(100))
        bench.upload(flat(kept[-1], "int32", 1), struct.pack("<i", turn))
        for base in [bench.alloc(size) for size in (100, 8191, 5000, 64)]:
            bench.free(base)
    ended = bench.end(*((base, 100) for base in kept))
    assert not ended.error
    assert [int.from_bytes(data[:4], "little") for data in ended.data] == list(range(40))


def test_wiping_a_freed_block_leaves_what_lies_where_another_guests_was_freed_last(bench: Bench) -> None:
    """Addresses begin anew with each guest: what was freed last before it does not join what it frees."""
    for turn in (1, 2):
        bench.guest()
        bench.begin()
        result = bench.alloc(3 * space.PAGE)
        bench.upload(flat(result, "int32", 3 * space.PAGE // 4), struct.pack("<i", turn) * (3 * space.PAGE // 4))
        bench.free(bench.alloc(2 * space.PAGE))  # the result is what the call's end frees last
        ended = bench.end((result, 3 * space.PAGE))
        assert not ended.error
        assert set(struct.unpack(f"<{3 * space.PAGE // 4}i", ended.data[0])) == {turn}
