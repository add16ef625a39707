"""Whatever comes over the stream or as a kernel's text: the device process lives, says in a line what is wrong, and
touches nothing that was not named to it.
"""

from __future__ import annotations

import json
import os
import re
import struct
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from wall_rig import Bench, alive, bytes_of, flat, launch_body, request, request_text

from bringup.device import space
from bringup.device.wire import ADDRESS, ALLOCATION, HEAD, Command, Descriptor

X = torch.arange(64, dtype=torch.float32)
CANARY = bytes(range(256)) * 8
KINDS = {"rule", "fault", "launch", "memory"}

TIMES = int(os.environ.get("BRINGUP_FUZZ_TIMES", "1"))  # as many examples: `benchmarks/fuzz.py` asks for more


def bounded(examples: int) -> settings:
    return settings(max_examples=examples * TIMES, suppress_health_check=list(HealthCheck))


class Round:
    """One call with an input, memory of the guest's, and two canaries that no command names."""

    def __init__(self, bench: Bench) -> None:
        if not alive(bench.device):
            bench.renew()
        self.bench = bench
        bench.guest()
        self.low, self.x, self.high = bench.begin(CANARY, X, CANARY, read_only=True, read_bytes=1 << 20)
        self.y = bench.alloc(256)
        self.own = bench.alloc(256)
        bench.upload(flat(self.own, "uint8", 256), CANARY[:256])
        self.number = bench.kernel(request("kernel_double"))["number"]

    def check(self) -> dict[str, Any]:
        """End the call: the canaries come out as they went in; after an error the device itself looks (`wall_rig`)."""
        ended = self.bench.end((self.low, len(CANARY)), (self.high, len(CANARY)), (self.x, 256), (self.own, 256))
        error = ended.error
        if error:
            assert error["kind"] in KINDS
            assert error["short"]
            assert len(error["short"].splitlines()) == 1 or error["kind"] != "rule", error["short"]
        elif not ended.header["wrong"]:
            assert ended.data == [CANARY, CANARY, bytes_of(X), CANARY[:256]]
        assert alive(self.bench.device)
        return error


def next_call_is_fine(bench: Bench) -> None:
    bench.guest()
    (x,) = bench.begin(X)
    y = bench.alloc(256)
    number = bench.kernel(request("kernel_double"))["number"]
    bench.launch(number, (4, 1, 1), (x, x), (y, y), 64)
    ended = bench.end((x, 256), (y, 256))
    assert not ended.error, ended.error
    assert ended.data == [bytes_of(X), bytes_of(X * 2)]


# Bytes and commands ------------------------------------------------------------------------------------------


@bounded(60)
@given(st.lists(st.binary(max_size=200), max_size=4))
def test_any_bytes(shared_bench: Bench, parts: list[bytes]) -> None:
    around = Round(shared_bench)
    try:
        for part in parts:
            shared_bench.send(part)
    except OSError:
        pass  # the device has hung up
    around.check()


def bodies(around: Round) -> dict[Command, bytes]:
    """A valid body of every command."""
    x, y, bench = around.x, around.y, around.bench
    return {
        Command.ALLOC: ALLOCATION.pack(space.after(bench.next, 0), 64),
        Command.FREE: ADDRESS.pack(y),
        Command.COPY: flat(x, "float32", 16).pack() + flat(y, "float32", 16, 3).pack(),
        Command.UPLOAD: Descriptor(y, y, "int16", (2, 3), (4, 1)).pack() + bytes(range(12)),
        Command.READ: Descriptor(y, y + 4, "float32", (2, 2), (2, 1)).pack(),
        Command.KERNEL: request_text("kernel_double", 32).encode(),
        Command.ALSO: b'{"target": "cuda:sm_90", "text": "", "options": {}}',
        Command.LAUNCH: launch_body(around.number, (4, 1, 1), (x, x), (y, y), 64),
        Command.MARK: b"",
        Command.TIME: b"",
        Command.RETURNED: b"",
    }


ODD = st.sampled_from([0, 1, 7, 8, 63, 64, 255, 256, 1 << 31, (1 << 32) - 1, 1 << 47, (1 << 63) - 1, 1 << 63])
ODD |= st.sampled_from([(1 << 64) - 1, (1 << 64) - 8, space.BASE, space.MIDDLE, space.END, space.MIDDLE - 64])


@st.composite
def mutations(draw: st.DrawFn) -> Callable[[bytes], bytes]:
    """A few changes to a body: bytes, whole words, length."""
    what = [("byte", draw(st.integers(0, 400)), draw(st.integers(0, 255))) for _ in range(draw(st.integers(0, 3)))]
    what += [("word", draw(st.integers(0, 20)), draw(ODD)) for _ in range(draw(st.integers(0, 3)))]
    cut, more = draw(st.none() | st.integers(0, 60)), draw(st.binary(max_size=9))

    def mutate(body: bytes) -> bytes:
        data = bytearray(body)
        for kind, at, value in what:
            if kind == "byte" and data:
                data[at % len(data)] = value
            elif kind == "word" and len(data) >= 8:
                at = (at * 8 + len(data) % 8) % (len(data) - 7)
                data[at : at + 8] = struct.pack("<Q", value)
        return bytes(data if cut is None else data[:cut]) + more

    return mutate


@bounded(250)
@given(st.lists(st.tuples(st.sampled_from(Command), mutations()), min_size=1, max_size=4))
def test_mutated_commands(shared_bench: Bench, commands: list[tuple[Command, Callable[[bytes], bytes]]]) -> None:
    bench = shared_bench
    around = Round(bench)
    valid = bodies(around)
    for command, mutate in commands:
        body = mutate(valid[command])
        if command in (Command.KERNEL, Command.READ, Command.TIME):
            bench.ask(command, body)
        else:
            bench.command(command, body)
    around.check()


NUMBERS = st.integers(-(1 << 63), (1 << 63) - 1) | st.sampled_from([0, 1, 2, 64, 1 << 20, 1 << 31, -1, (1 << 62) + 1])


@bounded(150)
@given(
    st.integers(0, 255),
    st.lists(st.tuples(NUMBERS, NUMBERS), max_size=5),
    st.integers(-300, 300),
    st.sampled_from([Command.COPY, Command.UPLOAD, Command.READ]),
)
def test_any_descriptor(
    shared_bench: Bench, code: int, dims: list[tuple[int, int]], offset: int, command: Command
) -> None:
    bench = shared_bench
    around = Round(bench)
    base = around.y
    if any(n > 1 and s == 0 for n, s in dims):
        dims = [(n, s or 1) for n, s in dims]  # see test_a_repeated_element_is_not_multiplied_into_memory
    one = struct.pack("<QQBB", base, (base + offset) % (1 << 64), code, len(dims))
    one += struct.pack(f"<{2 * len(dims)}q", *[n for n, _ in dims], *[s for _, s in dims])
    body = one * 2 if command is Command.COPY else one + (bytes(8) if command is Command.UPLOAD else b"")
    if command is Command.READ:
        bench.ask(command, body)
    else:
        bench.command(command, body)
    around.check()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@bounded(120)
@given(st.sampled_from(["text", "source", "options", "args", "constants", None]), JSON, st.booleans())
@example("text", "\ud800", False)
@example("args", [["x", "*fp32"]] * 100, False)
@example("args", [["x", "*fp32"], ["y", "*fp32"], [None, None]], False)
@example("constants", {"BLOCK": [[[{}]]]}, False)
def test_any_request_for_a_kernel(shared_bench: Bench, part: str | None, value: Any, dropped: bool) -> None:
    """Odd values for a part of a KERNEL command, or for all of it; what compiles must be launched without harm."""
    bench = shared_bench
    around = Round(bench)
    wanted: Any = request("kernel_reads_far")
    if part is None:
        wanted = value
    elif dropped:
        del wanted[part]
    else:
        wanted[part] = value
    answer, _ = bench.ask(Command.KERNEL, json.dumps(wanted).encode())
    if "number" in answer:
        bench.launch(answer["number"], (1, 1, 1), (around.x, around.x), (around.y, around.y), 1 << 20)
    else:
        assert "refused" in answer or "stopped" in answer
    around.check()


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"args":' * 50_000, b"1" * 10_000, b"\xff\xfe", b"null", b"NaN"])
def test_bodies_that_are_no_json_object(bench: Bench, body: bytes) -> None:
    for command in (Command.KERNEL, Command.ALSO):
        around = Round(bench)
        bench.command(command, body)
        if command is Command.KERNEL:
            assert "stopped" in bench.answer()[0]
        assert around.check()["rule"] == "stream"
    next_call_is_fine(bench)


@pytest.mark.parametrize("head", [HEAD.pack(0, 0), HEAD.pack(12, 0), HEAD.pack(255, 9), HEAD.pack(9, (1 << 32) - 1)])
def test_a_broken_frame_ends_the_stream(bench: Bench, head: bytes) -> None:
    around = Round(bench)
    bench.send(head)
    assert bench.stream is not None
    assert bench.stream.recv(1) == b""
    assert around.check()["text"].startswith("the stream of commands is broken: ")
    next_call_is_fine(bench)


# Texts -------------------------------------------------------------------------------------------------------

TOKEN = re.compile(r"%\w+|\d+|[A-Za-z_][\w.]*|\S")
WORDS = [
    "f32", "f64", "f16", "bf16", "i1", "i8", "i32", "i64", "slt", "ult", "x", "y", "z", "tt.load", "tt.store",
    "tt.splat", "arith.addf", "arith.addi", "arith.muli", "arith.divsi", "tt.addptr", "tt.get_program_id", "dense",
    "tt.int_to_ptr", "tensor<16xf32>", "tensor<16xi32>", "!tt.ptr<f32>", "-1", "4294967296", "9223372036854775807",
    "0x7FC00000",
]  # fmt: skip


@st.composite
def text_mutations(draw: st.DrawFn) -> Callable[[str], str]:
    """Swap, delete, repeat and replace tokens, change numbers, cut."""
    places = st.integers(0, 1 << 16)
    steps: list[tuple[str, int, Any]] = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["swap", "delete", "repeat", "word", "number", "line", "cut"]))
        value: Any = {
            "swap": places, "word": st.sampled_from(WORDS), "line": places,
            "number": st.sampled_from([0, 1, 3, 4, 8, 64, 1 << 10, 1 << 20, (1 << 31) - 1, 1 << 31, 1 << 40, 1 << 63]),
        }.get(kind, st.none())  # fmt: skip
        steps.append((kind, draw(places), draw(value)))

    def mutate(text: str) -> str:
        for kind, at, value in steps:
            body = text.split("#loc1 =")[0] if kind != "cut" else text  # where things are happens before the table
            rest = text[len(body) :]
            if kind == "cut":
                return text[: at % (len(text) + 1)]
            if kind == "line":
                lines = body.splitlines(keepends=True)
                i, j = at % len(lines), value % len(lines)
                lines[i], lines[j] = lines[j], lines[i]
                text = "".join(lines) + rest
                continue
            found = [m for m in TOKEN.finditer(body) if kind != "number" or m.group().isdigit()]
            if not found:
                continue
            one = found[at % len(found)]
            if kind == "swap":
                other = found[value % len(found)]
                first, last = sorted((one, other), key=lambda m: m.start())
                if first is not last:
                    body = (
                        body[: first.start()] + last.group() + body[first.end() : last.start()] + first.group()
                        + body[last.end() :]
                    )  # fmt: skip
            else:
                new = {"delete": "", "repeat": f"{one.group()} {one.group()}"}.get(kind, str(value))
                body = body[: one.start()] + new + body[one.end() :]
            text = body + rest
        return text

    return mutate


@bounded(150)
@given(st.sampled_from(["kernel_double", "kernel_rows", "kernel_writes_far"]), text_mutations(), st.booleans())
def test_mutated_texts(shared_bench: Bench, name: str, mutate: Callable[[str], str], as_source: bool) -> None:
    bench = shared_bench
    around = Round(bench)
    wanted = request(name)
    wanted["text"], wanted["source"] = mutate(wanted["text"]), ""
    if as_source:  # as guests send it: before Triton's passes
        wanted["text"], wanted["source"] = "", wanted["text"]
    answer = bench.kernel(wanted)
    if "number" in answer:
        x, y = around.x, around.y
        bench.launch(answer["number"], (2, 1, 1), (x, x), (y, y), 20)
    else:
        words = answer.get("short") or answer.get("stopped")
        assert words
        assert "refused" in answer or "stopped" in answer
    around.check()


def test_the_compiler_process_survived_all_texts_or_was_replaced(shared_bench: Bench) -> None:
    """Told, not asserted: a compiler that crashes of a text is thrown away, which is what it is for."""
    compiler = shared_bench.rig.compiler
    for text in (*compiler.crashes, *compiler.slow):
        print(text)
    next_call_is_fine(shared_bench)
