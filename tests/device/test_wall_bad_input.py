"""Bad input that is aimed at: answers that name what is not there, repeated elements, memory, races of the sockets."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from wall_rig import Bench, alive, bytes_of, gone, output, request

from bringup.device import frames, space
from bringup.device.asked import request_of
from bringup.device.wire import HEAD, LARGEST_TEXT, LONGEST_CONSTANT, Command, Descriptor, Malformed
from bringup.judge._device import DeviceLost

X = torch.arange(64, dtype=torch.float32)
MANY = 1 << 26


def megabytes(bench: Bench, what: str = "VmHWM") -> int:
    """The largest resident memory that the device process has had."""
    for line in Path(f"/proc/{bench.device.pid}/status").read_text().splitlines():
        if line.startswith(f"{what}:"):
            return int(line.split()[1]) >> 10
    raise AssertionError(what)


def next_call_is_fine(bench: Bench) -> None:
    assert alive(bench.device)
    bench.guest()
    (x,) = bench.begin(X)
    y = bench.alloc(256)
    number = bench.kernel(request("kernel_double"))["number"]
    bench.launch(number, (4, 1, 1), (x, x), (y, y), 64)
    ended = bench.end((y, 256))
    assert ended.data == [bytes_of(X * 2)]


# What a guest's answer names: the referee passes it on -----------------------------------------------------------


@pytest.mark.parametrize(
    "named",
    [
        output(7, "float32", (1,), (1,)),
        output(0, "float32", (1 << 40,), (0,)),
        output(0, "float32", (1 << 61, 1 << 61), (0, 0)),
        output(0, "float32", (1,) * 65, (1,) * 65),
        output(0, "float32", (2,), (1 << 61,)),
        output(0, "float32", (1,), ()),
        output(0, "float32", (1,), (1,), 1 << 61),
        output(0, "float32", (0, 1 << 61), (1 << 61, 1 << 61)),
    ],
    ids=["no storage", "2**40 times", "2**122 times", "65 axes", "far", "no stride", "offset", "empty"],
)
def test_results_that_are_not_there(bench: Bench, named: dict[str, Any]) -> None:
    (x,) = bench.begin(X)
    ended = bench.end((x, 256), outputs=[named])
    assert ended.header["wrong"] or 0 in named["size"]
    next_call_is_fine(bench)


@pytest.mark.parametrize(
    "storages", [[(1, 4)], [(space.MIDDLE + 64, 1 << 40)], [(space.MIDDLE - 64, 4)], [(1 << 62, 1 << 62)], "twice"]
)
def test_storages_that_are_not_there(bench: Bench, storages: Any) -> None:
    (x,) = bench.begin(X)
    ended = bench.end(*([(x, 256), (x, 256)] if storages == "twice" else storages))
    assert ended.header["wrong"]
    assert ended.data == []
    next_call_is_fine(bench)


# Memory of the device process itself -----------------------------------------------------------------------------


@pytest.fixture
def fresh(bench: Bench) -> Bench:
    """A device process whose peak of memory is its own."""
    bench.renew()
    return bench


SHAPES = {"one element": ((MANY,), (0,)), "overlapping rows": ((1 << 13, 1 << 13), (1, 1))}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("what", ["copy", "read", "result"])
def test_a_repeated_element_is_not_multiplied_into_memory(fresh: Bench, what: str, shape: str) -> None:
    """Such strides make a tensor of any size of a few bytes: 2**26 elements here, as many as one likes elsewhere."""
    bench = fresh
    size, stride = SHAPES[shape]
    x, y = bench.begin(bytes(1 << 16), bytes(1 << 16), read_bytes=64, read_inputs=True)
    before = megabytes(bench)
    if what == "copy":
        bench.copy(Descriptor(x, x, "float32", size, stride), Descriptor(y, y, "float32", size, stride))
    elif what == "read":
        assert "stopped" in bench.read(Descriptor(x, x, "float32", size, stride))[0]
    ended = bench.end((y, 1 << 16), outputs=[output(0, "float32", size, stride)] * (what == "result"))
    assert ended.error or ended.header["wrong"]
    assert megabytes(bench) - before < 100
    next_call_is_fine(bench)


def test_freed_memory_goes_back_to_the_system(fresh: Bench) -> None:
    bench = fresh
    bench.guest(memory=1 << 20)
    bench.begin()
    before = megabytes(bench)
    for _ in range(20_000):  # 160 MB in all, 8 kB at a time
        bench.free(bench.alloc(8191))
    assert not bench.end().error
    assert megabytes(bench) - before < 80
    next_call_is_fine(bench)


def test_small_blocks_count_for_what_they_cost(fresh: Bench) -> None:
    bench = fresh
    bench.guest(memory=1 << 20)
    bench.begin()
    before = megabytes(bench)
    for _ in range(100_000):
        bench.alloc(1)
    assert bench.end().error["kind"] == "memory"
    assert megabytes(bench) - before < 80
    next_call_is_fine(bench)


def test_a_huge_allocation_is_refused_before_it_is_touched(fresh: Bench) -> None:
    bench = fresh
    before = megabytes(bench)
    for nbytes in (1 << 30, 1 << 34, 1 << 62, (1 << 64) - 1):
        bench.begin()
        bench.alloc(nbytes)
        assert bench.end().error["kind"] in ("memory", "rule")
        bench.guest()
    assert megabytes(bench) - before < 20
    next_call_is_fine(bench)


# The two sockets -------------------------------------------------------------------------------------------------


def test_the_call_is_ended_while_a_kernel_is_asked_for(bench: Bench) -> None:
    """A guest answers its call, or dies, without waiting for the kernel that it asked for."""
    (x,) = bench.begin(X)
    bench.command(Command.KERNEL, json.dumps(request("kernel_double", 64)).encode())
    time.sleep(0.2)  # the device waits for the compiler now
    assert "does not launch it in that call" in bench.end((x, 256)).error["text"]
    next_call_is_fine(bench)


@pytest.mark.parametrize("size", [1 << 20, 65 << 20])
def test_a_text_of_many_megabytes(bench: Bench, size: int) -> None:
    bench.begin()
    wanted = {**request("kernel_double"), "text": "x" * size}
    try:
        answer = bench.kernel(wanted)
        assert "refused" in answer or "stopped" in answer
    except BrokenPipeError:
        assert size > LARGEST_TEXT  # the device has hung up in the middle of it
    bench.end()
    next_call_is_fine(bench)


@pytest.mark.parametrize("answers", [False, True], ids=["sends", "does not read"])
def test_a_flood(bench: Bench, answers: bool) -> None:
    """A guest that sends without end, and one that never reads what it asked for."""
    bench.begin()
    pid = os.fork()
    if pid == 0:
        assert bench.stream is not None
        bench.stream.settimeout(None)
        command = Command.TIME if answers else Command.FREE
        data = (HEAD.pack(command, 0 if answers else 8) + bytes(0 if answers else 8)) * 1000
        try:
            while True:
                bench.stream.sendall(data)
        finally:
            os._exit(0)
    try:
        time.sleep(0.3)
        if answers:  # who reads no answers is cut off
            bench.end(seconds=8.0)
        else:
            with pytest.raises(DeviceLost, match="does not answer"):
                bench.end(seconds=1.5)
            bench.renew()
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    next_call_is_fine(bench)


@pytest.mark.parametrize("sent", [b"", HEAD.pack(4, 1000) + bytes(10)], ids=["nothing", "half a command"])
def test_a_guest_that_stalls_or_hangs_up(bench: Bench, sent: bytes) -> None:
    for closes in (False, True):
        (x,) = bench.begin(X)
        if sent:
            bench.send(sent)
        if closes:
            assert bench.stream is not None
            bench.stream.shutdown(socket.SHUT_RDWR)
        assert bench.end((x, 256)).data == [bytes_of(X)]
        next_call_is_fine(bench)


def test_a_killed_device_is_told_as_lost(bench: Bench) -> None:
    bench.begin(X)
    os.kill(bench.device.pid, signal.SIGKILL)
    with pytest.raises(DeviceLost, match="has ended"):
        bench.end()
    assert gone(bench.device)
    with pytest.raises(DeviceLost):
        bench.begin(X)
    with pytest.raises((DeviceLost, OSError)):
        bench.guest()
    bench.renew()
    next_call_is_fine(bench)


def test_a_kernel_that_never_ends_is_stopped_by_its_cycles(bench: Bench) -> None:
    (x,) = bench.begin(X)
    y = bench.alloc(256)
    number = bench.kernel(request("kernel_endless"))["number"]
    bench.launch(number, (1, 1, 1), (x, x), (y, y), 5)
    error = bench.end(seconds=60.0).error
    assert error["kind"] == "time"
    assert "cycles in kernel 'kernel_endless' in the loop at line" in error["short"]
    next_call_is_fine(bench)


def test_a_device_that_does_not_answer_is_told_as_a_hang(bench: Bench) -> None:
    (x,) = bench.begin(X)
    y = bench.alloc(256)
    number = bench.kernel(request("kernel_endless"))["number"]
    bench.launch(number, (1, 1, 1), (x, x), (y, y), 5)
    with pytest.raises(DeviceLost) as lost:
        bench.end(seconds=0.02)  # before the limit of cycles is reached
    assert lost.value.hangs
    bench.renew()
    next_call_is_fine(bench)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "garbage",
        "module {}",
        "module { tt.func public @k() { tt.return } }",
        "// tt\nmodule {\n  llvm.func @k()\n}\n",
    ],
)
def test_texts_of_another_triton(bench: Bench, text: str) -> None:
    bench.begin()
    answer = bench.kernel({**request("kernel_double"), "text": text, "source": ""})
    assert "refused" in answer or "stopped" in answer
    assert bench.end().error.get("rule", "stream") == "stream"
    next_call_is_fine(bench)


def test_a_constant_whose_values_lie_elsewhere_is_refused_in_one_line(bench: Bench) -> None:
    text = (
        "module {\n  tt.func public @k(%y: !tt.ptr<f32>) {\n"
        "    %c = arith.constant dense_resource<blob> : tensor<4xf32>\n"
        "    %i = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>\n"
        "    %s = tt.splat %y : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>\n"
        "    %p = tt.addptr %s, %i : tensor<4x!tt.ptr<f32>>, tensor<4xi32>\n"
        "    tt.store %p, %c : tensor<4x!tt.ptr<f32>>\n    tt.return\n  }\n}\n"
        '{-# dialect_resources: { builtin: { blob: "0x040000000000803F000000400000404000008040" } } #-}\n'
    )
    bench.begin()
    answer = bench.kernel({**request("kernel_double"), "text": text, "source": ""})
    line = answer["refused"].splitlines()[0]
    assert "dense_resource<blob>: a constant's values must be in its own line" in line
    assert bench.end().error.get("rule", "stream") == "stream"
    next_call_is_fine(bench)


def test_a_second_device_in_one_process_group(rig: Any) -> None:
    one, other = Bench(rig), Bench(rig)
    try:
        (x,) = one.begin(X)
        (z,) = other.begin(X + 1)
        assert x == z  # each has a range of its own
        assert one.end((x, 256)).data == [bytes_of(X)]
        assert other.end((z, 256)).data == [bytes_of(X + 1)]
    finally:
        one.close()
        other.close()
    assert gone(one.device)


def test_frames_of_the_referee_are_not_for_guests() -> None:
    assert not set(frames.__dict__) & {"pickle", "marshal"}


@pytest.mark.parametrize("deep", [80, 990, 5000])
def test_a_request_that_is_nested_deeply_is_refused_whoever_reads_it(bench: Bench, deep: int) -> None:
    """How deep one may be does not hang on the stack of its reader."""
    body = b'{"options": ' + b"[" * deep + b"]" * deep + b"}"
    with pytest.raises(Malformed, match=r"no kernel|nested deeper"):
        request_of(memoryview(body))
    bench.begin()
    bench.ask(Command.KERNEL, body)
    assert bench.end().error["rule"] == "stream"


def test_a_constant_is_as_long_as_messages_quote() -> None:
    """Tapes keep it, for each launch: who makes requests may have left out cutting it."""
    told = "x" * LONGEST_CONSTANT + "... (5000 characters)"
    assert request_of(memoryview(json.dumps({"constants": {"C": told}}).encode()))["constants"]["C"] == told
    with pytest.raises(Malformed, match="longer than messages quote"):
        request_of(memoryview(json.dumps({"constants": {"C": "x" * 5000}}).encode()))


def test_a_request_of_half_a_character_is_refused() -> None:
    with pytest.raises(ValueError, match="surrogates"):
        request_of(memoryview(b'{"options": "\\ud800"}'))
