"""The CUDA engine in a device process over sockets: with a driver that only pretends, and on a GPU if there is one."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from test_cuda_engine import ILLEGAL, FakeDriver

from bringup.device import frames, space
from bringup.device.process import DeviceProcess
from bringup.device.stream import Stream
from bringup.device.wire import ALLOCATION, LAUNCH, POINTER, Command, Descriptor
from bringup.targets import compile_with_triton, get_target
from bringup.targets._cuda_engine import CudaEngine, Gpu

BLOCK = 128
TEXT = """module {
  tt.func public @double(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %o: !tt.ptr<f32> {tt.divisibility = 16 : i32},
                         %n: i32, %far: i64) {
    %c = arith.constant 128 : i32
    %two = arith.constant dense<2.0> : tensor<128xf32>
    %pid = tt.get_program_id x : i32
    %b = arith.muli %pid, %c : i32
    %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
    %bs = tt.splat %b : i32 -> tensor<128xi32>
    %i = arith.addi %bs, %r : tensor<128xi32>
    %ns = tt.splat %n : i32 -> tensor<128xi32>
    %m = arith.cmpi slt, %i, %ns : tensor<128xi32>
    %y = tt.addptr %x, %far : !tt.ptr<f32>, i64
    %ys = tt.splat %y : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
    %p = tt.addptr %ys, %i : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
    %v = tt.load %p, %m : tensor<128x!tt.ptr<f32>>
    %w = arith.mulf %v, %two : tensor<128xf32>
    %os = tt.splat %o : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
    %q = tt.addptr %os, %i : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
    tt.store %q, %w, %m : tensor<128x!tt.ptr<f32>>
    tt.return
  }
}"""
PRINT = '    tt.print " pid: " {hex = false, isSigned = array<i32: 1>} : %pid : i32\n'
PRINTING = TEXT.replace("    tt.return", PRINT + "    tt.return")


class Wall:
    """A device process in a fork of this one, and both ends that talk to it."""

    def __init__(self, engine: Callable[[], CudaEngine], arch: int) -> None:
        self.control, theirs = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self.control.close()
                process = DeviceProcess(engine(), theirs)
                process.start()
                process.serve()
            except BaseException as error:
                frames.send(theirs, {"failed": repr(error)})
            finally:
                os._exit(0)
        theirs.close()
        self.control.settimeout(120)
        self.target = ("cuda", arch, 32)
        assert frames.receive(self.control)[0]["ready"]
        self.sock, other = socket.socketpair()
        self.sock.settimeout(120)
        frames.send(self.control, {"do": "guest", "source": "", "memory": 1 << 30})
        socket.send_fds(self.control, [b"g"], [other.fileno()])
        other.close()
        frames.receive(self.control)
        self.stream = Stream(self.sock)

    def close(self) -> None:
        self.control.close()
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.sock.close()

    def begin(self, data: bytes, **mode: Any) -> int:
        frames.send(self.control, {"do": "begin", "mode": mode, "sizes": [len(data)]}, [data])
        return int(frames.receive(self.control)[0]["bases"][0])

    def kernel(self, text: str) -> dict[str, Any]:
        arguments = [["x", "*fp32"], ["o", "*fp32"], ["n", "i32"], ["far", "i64"]]
        request = {"text": text, "source": "", "options": {"num_warps": 4}, "args": arguments, "constants": {}}
        self.stream.put(Command.KERNEL, json.dumps(request).encode())
        self.stream.flush()
        self.compile(frames.receive(self.control)[0])
        return dict(frames.receive(self.sock)[0])

    def compile(self, asked: dict[str, Any]) -> None:
        made = compile_with_triton(self.target, asked)
        answer = {"kernel": asked["compile"], "name": made.name, "shared": made.shared, "facts": made.facts}
        frames.send(self.control, answer, [made.binary])

    def double(self, number: int, source: int, target: int, count: int, far: int = 0) -> None:
        head = LAUNCH.pack(number, -(-count // BLOCK), 1, 1, 7, 4)
        pointers = POINTER.pack(source, source) + POINTER.pack(target, target)
        self.stream.put(Command.LAUNCH, head + pointers + struct.pack("<qq", count, far))

    def read(self, base: int, count: int) -> Any:
        _, payload = self.stream.ask(Command.READ, Descriptor(base, base, "float32", (count,), (1,)).pack())
        return np.frombuffer(payload, np.float32)

    def end(self, *storages: tuple[int, int]) -> tuple[dict[str, Any], memoryview]:
        self.stream.flush()
        frames.send(self.control, {"do": "end", "storages": storages, "outputs": []})
        while True:
            header, payload = frames.receive(self.control)
            if "compile" not in header:
                return header, payload
            self.compile(header)


def pretended() -> CudaEngine:
    def double(x: bytes, o: bytes, n: bytes, far: bytes, *scratch: bytes) -> int:
        if int.from_bytes(far, "little"):
            return ILLEGAL
        count = int.from_bytes(n, "little")
        source, target = (
            np.ctypeslib.as_array((ctypes.c_float * count).from_address(int.from_bytes(a, "little"))) for a in (x, o)
        )
        target[:] = 2 * source
        return 0

    return CudaEngine(0, lambda number: Gpu(FakeDriver(double), torch.device("cpu"), 0))


NO_GPU = get_target("cuda").unavailable()
needs_gpu = pytest.mark.skipif(NO_GPU is not None, reason=str(NO_GPU))
ENGINES = ["pretended", pytest.param("gpu", marks=[pytest.mark.gpu, needs_gpu])]


def on_gpu() -> Wall:
    if torch.cuda.is_initialized():
        pytest.skip("this process has a CUDA context, which its forks cannot use")
    return Wall(lambda: CudaEngine(0), int(get_target("cuda").triton_target()[1]))


@pytest.fixture(params=ENGINES)
def wall(request: pytest.FixtureRequest) -> Iterator[Callable[[], Wall]]:
    made: list[Wall] = []

    def build() -> Wall:
        if request.param == "pretended":
            made.append(Wall(pretended, 90))
        else:
            made.append(on_gpu())
        return made[-1]

    yield build
    for one in made:
        one.close()


def test_a_kernel_runs_behind_the_wall(wall: Callable[[], Wall]) -> None:
    device = wall()
    data = np.arange(1000, dtype=np.float32)
    source = device.begin(data.tobytes(), read_bytes=4000, profile=True)
    target = space.BASE
    device.stream.put(Command.ALLOC, ALLOCATION.pack(target, 4000))
    compiled = device.kernel(TEXT)
    assert compiled["name"] == "double"
    assert compiled["facts"]["most_shared"] > 48 << 10
    device.double(compiled["number"], source, target, 1000)
    assert device.read(target, 1000).tolist() == (2 * data).tolist()
    header, payload = device.end((target, 4000), (source, 4000))
    assert header["error"] is None
    assert not header["replace"]
    assert bytes(payload) == (2 * data).tobytes() + data.tobytes()
    assert header["counters"][0]["kernel"] == "double"
    assert header["counters"][0]["microseconds"] > 0


def test_a_fault_ends_the_device_and_a_fresh_process_works(wall: Callable[[], Wall]) -> None:
    device = wall()
    source = device.begin(bytes(400))
    device.stream.put(Command.ALLOC, ALLOCATION.pack(space.BASE, 400))
    number = device.kernel(TEXT)["number"]
    device.double(number, source, space.BASE, 100, far=1 << 40)
    header, _ = device.end((space.BASE, 400))
    assert header["replace"]
    assert header["error"]["kind"] == "fault"
    assert "kernel 'double' was stopped: an illegal memory access" in header["error"]["text"]
    test_a_kernel_runs_behind_the_wall(wall)


def test_in_blocking_mode_a_fault_has_its_line(wall: Callable[[], Wall]) -> None:
    device = wall()
    source = device.begin(bytes(400), blocking=True)
    device.stream.put(Command.ALLOC, ALLOCATION.pack(space.BASE, 400))
    number = device.kernel(TEXT)["number"]
    device.double(number, source, space.BASE, 100, far=1 << 40)
    device.double(number, source, space.BASE, 100)
    assert device.end()[0]["error"]["line"] == 7


@pytest.mark.gpu
@needs_gpu
def test_device_print_reaches_the_referee() -> None:
    device = on_gpu()
    try:
        source = device.begin(bytes(400))
        device.stream.put(Command.ALLOC, ALLOCATION.pack(space.BASE, 400))
        device.double(device.kernel(PRINTING)["number"], source, space.BASE, 100)
        assert "pid: 0" in device.end()[0]["printed"]
    finally:
        device.close()


def test_kernels_say_that_they_print() -> None:
    assert compile_with_triton(("cuda", 90, 32), {"text": PRINTING, "options": {}}).facts["prints"]
    assert not compile_with_triton(("cuda", 90, 32), {"text": TEXT, "options": {}}).facts["prints"]
