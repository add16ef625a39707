"""The fence around a kernel's arguments: texts with a check before each access, and what comes of them on a GPU."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pytest
from test_cuda_engine import FakeDriver, block, call, started
from test_cuda_wall import TEXT, Wall, needs_gpu, on_gpu

from bringup.device import Fault, Kernel, space
from bringup.device.engine import FENCE
from bringup.device.machine import Machine
from bringup.device.wire import ALLOCATION, Command, Malformed
from bringup.targets import compile_with_triton
from bringup.targets._compile import verified
from bringup.targets._fence import BUFFER, Unfenced, fenced

TARGET = ("cuda", 90, 32)

WALKS = """module {
  tt.func public @walks(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c4 = arith.constant 4 : i32
    %one = arith.constant 1.0 : f32
    %true = arith.constant true
    %end = scf.for %i = %c0 to %c4 step %c1 iter_args(%p = %x) -> (!tt.ptr<f32>) : i32 {
      %v = tt.load %p : !tt.ptr<f32>
      %w = tt.call @more(%y, %v) : (!tt.ptr<f32>, f32) -> f32
      %q = tt.addptr %p, %n : !tt.ptr<f32>, i32
      scf.yield %q : !tt.ptr<f32>
    }
    %old = tt.atomic_rmw fadd, relaxed, gpu, %y, %one, %true : (!tt.ptr<f32>, f32, i1) -> f32
    %whole = tt.bitcast %y : !tt.ptr<f32> -> !tt.ptr<i32>
    %was = tt.atomic_cas acq_rel, gpu, %whole, %c0, %c1 : (!tt.ptr<i32>, i32, i32) -> i32
    tt.return
  }
  tt.func private @more(%p: !tt.ptr<f32>, %v: f32) -> f32 attributes {noinline = true} {
    %u = tt.load %p : !tt.ptr<f32>
    %w = arith.addf %u, %v : f32
    tt.store %p, %w : !tt.ptr<f32>
    tt.return %w : f32
  }
}"""


def text_with(line: str) -> str:
    """The kernel `double`, with one line more before it ends."""
    return TEXT.replace("    tt.return", f"    {line}\n    tt.return")


def test_each_access_knows_its_argument_through_loops_and_calls() -> None:
    text, accesses = fenced(verified(WALKS))
    assert [(one.argument, one.what) for one in accesses] == [
        (0, "load"), (1, "atomic_rmw"), (1, "atomic_cas"), (1, "load"), (1, "store"),
    ]  # fmt: skip
    made = compile_with_triton(TARGET, {"text": WALKS, "options": {FENCE: True}})
    assert [one[:2] for one in made.facts["fence"]] == [[one.argument, one.what] for one in accesses]
    assert made.facts["signature"] == ["*f32", "*f32", "i32"]  # what a guest has announced
    assert "fence" not in compile_with_triton(TARGET, {"text": WALKS, "options": {}}).facts
    assert text.count("arith.select") == len(accesses)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            text_with(
                "%less = arith.cmpi slt, %n, %c : i32\n    %z = arith.select %less, %x, %o : !tt.ptr<f32>\n"
                "    %zv = tt.load %z : !tt.ptr<f32>\n    tt.store %z, %zv : !tt.ptr<f32>"
            ),
            "two arguments",
        ),
        (
            text_with(
                'tt.elementwise_inline_asm "st.global.b32 [$1], 0; mov.u32 $0, 0;" {constraints = "=r,l", '
                "packed_element = 1 : i32, pure = false} %far : i64 -> i32"
            ).replace("    tt.elementwise", "    %asm = tt.elementwise"),
            "assembly that reaches memory",
        ),
        (
            text_with(
                'tt.elementwise_inline_asm "mov.u32 $0, 0;" {constraints = "=r,l", packed_element = 1 : i32, '
                "pure = false} %x : !tt.ptr<f32> -> i32"
            ).replace("    tt.elementwise", "    %asm = tt.elementwise"),
            "takes an address",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_followed_is_refused(text: str, words: str) -> None:
    with pytest.raises(Unfenced, match=words):
        fenced(verified(text))


def test_strings_are_no_syntax() -> None:
    text = TEXT.replace("tt.return\n", 'tt.return loc("a) tt.store %q, %w : tensor<1x!tt.ptr<f32>> (\\"")\n')
    _, accesses = fenced(verified(text))
    assert [one.what for one in accesses] == ["load", "store"]


def test_a_fenced_kernel_is_told_where_its_pointers_may_go_and_what_it_saw_is_a_fault() -> None:
    seen: list[list[int]] = []

    def kernel(*packed: bytes) -> int:
        numbers = [int.from_bytes(one, "little") for one in packed]
        seen.append(numbers)
        if numbers[1]:  # the scalar: the number of an access
            np.ctypeslib.as_array((np.ctypeslib.ctypes.c_int32 * 1).from_address(numbers[7]))[0] = numbers[1]
        return 0

    engine = started(FakeDriver(kernel, parameters=10))
    a, b = block(engine, space.BASE + 64, 512), block(engine, space.BASE + 1024, 64, 2)
    facts = {"num_warps": 4, FENCE: [[0, "load", 3], [1, "store", 9]]}
    loaded = engine.load(Kernel(b"cubin", "k", 0, facts))

    def launch(number: int) -> None:
        values = [a.base + 12, number.to_bytes(8, "little"), b.base]
        engine.launch(call(loaded, values, [a, None, b]))

    launch(0)
    ends = [a.real.address, a.real.address + 512, b.real.address, b.real.address + 64]
    assert seen[0][3:7] == ends
    assert BUFFER >= 4 + 8
    with pytest.raises(
        Fault, match="kernel 'k', line 9: a store through 'a2' leaves its memory: allocation #2"
    ) as fault:
        launch(2)
    assert fault.value.kind == "fault"
    assert not engine.broken()


def test_no_guest_asks_for_a_fence() -> None:
    machine = Machine(started(FakeDriver()), lambda digest, text: ({}, memoryview(b"")))
    request = {"text": TEXT, "source": "", "options": {FENCE: True}, "args": [], "constants": {}}
    with pytest.raises(Malformed, match="options"):
        machine._kernel(memoryview(json.dumps(request).encode()))


# On a GPU ----------------------------------------------------------------------------------------------------


@pytest.fixture
def device() -> Iterator[Wall]:
    made = on_gpu()
    yield made
    made.close()


@pytest.mark.gpu
@needs_gpu
@pytest.mark.parametrize("far", [0, -1, 1, 64, -(1 << 30), 1 << 30])
def test_an_access_that_leaves_its_argument_is_a_fault_on_a_gpu(device: Wall, far: int) -> None:
    data = np.arange(100, dtype=np.float32)
    source = device.begin(data.tobytes(), fence=True)
    device.stream.put(Command.ALLOC, ALLOCATION.pack(space.BASE, 400))
    number = device.kernel(TEXT)["number"]
    device.double(number, source, space.BASE, 100, far=far)
    header, payload = device.end((space.BASE, 400))
    if far == 0:
        assert header["error"] is None
        assert bytes(payload) == (2 * data).tobytes()
    else:
        assert "kernel 'double'" in header["error"]["text"]
        assert "a load through 'x' leaves its memory" in header["error"]["text"]
        assert not header["replace"]
