"""What a sealed wrapper asks of the device is refused where the judge refuses it, and answered where it waits."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from library_testkit import make_library

import bringup
from bringup.device import space
from bringup.device.wire import HEAD, Command, Descriptor
from bringup.judge.calling import _Stream
from bringup.library._compiled import Kernels
from bringup.library._recording import Recorder
from bringup.library._room import Room
from bringup.vpe import device, memory
from bringup.vpe.device import tensors
from bringup.vpe.memory import LAUNCHED

TRIED = """
@triton.jit
def kernel_exp(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.exp(tl.load(x_ptr + i, mask=i < n)), mask=i < n)


@triton.jit
def kernel_other(x_ptr, double_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + i, tl.load(x_ptr + i, mask=i < n) + 1.0, mask=i < n)


def wrapper(self, *, out):
    n = self.numel()
    room, doubles = torch.empty(n, device=self.device), torch.empty(n, dtype=torch.float64, device=self.device)
    time = triton.runtime.driver.active.get_benchmarker()
    time(lambda: kernel_other[(1,)](room, doubles, n, BLOCK=64))
    kernel_exp[(1,)](self, out, n, BLOCK=64)
    return out
"""


def test_what_a_chip_cannot_do_may_be_tried(tmp_path: Path) -> None:
    library = make_library(tmp_path / "kernels", {"exp.out": TRIED}, "vpe:pe64")
    x = torch.randn(20)
    with bringup.enable(library, device="vpe:pe64", sealed=True):
        torch.testing.assert_close(torch.exp(x.to("vpe")).cpu(), torch.exp(x))


ROWS = """
@triton.jit
def kernel_abs(x_ptr, out_ptr, rows, B: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [rows, B], [B, 1], [1, B])
    out = tl.make_tensor_descriptor(out_ptr, [rows, B], [B, 1], [1, B])
    i = tl.program_id(0)
    out.store([i, 0], tl.abs(x.load([i, 0])))


def wrapper(self, *, out):
    kernel_abs[(self.shape[0],)](self, out, self.shape[0], B=self.shape[1])
    return out
"""


def test_a_chip_whose_pointers_are_multiples_of_more(tmp_path: Path) -> None:
    """128 bytes there: what a guest is told of an address is right by as much as the chip asks for."""
    library = make_library(tmp_path / "kernels", {"abs.out": ROWS}, "vpe:spyre-like")
    with bringup.enable(library, device="vpe:spyre-like", sealed=True):
        for rows in (3, 7, 32):
            x = torch.randn(rows, 64).half()
            assert torch.equal(x.to("vpe").abs().cpu(), x.abs())


def test_nothing_is_done_for_who_reads_nothing() -> None:
    """The judge refuses it; here all that waits would be done before anybody has agreed to it."""
    device.enable()
    region = tensors.make_tensor(torch.zeros(64).to("vpe").untyped_storage(), 0, (64,), (1,), torch.uint8)
    recorder = Recorder((64,), (space.MIDDLE,), Room([region]), None)  # type: ignore[arg-type]
    seven = Descriptor(space.MIDDLE, space.MIDDLE, "float32", (1,), (1,)).pack() + np.float32(7).tobytes()
    assert recorder.execute(Command.UPLOAD, memoryview(seven)) is None
    none = Descriptor(space.MIDDLE, space.MIDDLE, "float32", (0,), (1,)).pack()
    answer = recorder.execute(Command.READ, memoryview(none))
    assert answer is not None
    assert "nothing can be read" in answer[0]["stopped"]
    assert not tensors.host_view(region).any()


def test_many_commands_at_once_end_with_their_time() -> None:
    """Each may take as long as a text takes a compiler."""
    done = []

    class Slow:
        def execute(self, command: Command, body: memoryview) -> None:
            time.sleep(0.05)
            done.append(command)

    ours, theirs = socket.socketpair()
    with ours, theirs:
        stream = _Stream(ours, Slow())
        stream.until = time.monotonic() + 0.3
        theirs.sendall(100 * (HEAD.pack(Command.FREE, 8) + bytes(8)))
        stream.serve()
        assert 0 < len(done) < 12
        assert not stream.serve()


@pytest.mark.parametrize("command", [Command.KERNEL, Command.READ, Command.TIME])
def test_who_asks_after_the_return_is_answered(command: Command) -> None:
    recorder = Recorder((64,), (space.MIDDLE,), None, None)  # type: ignore[arg-type]
    assert recorder.execute(Command.RETURNED, memoryview(b"")) is None
    assert recorder.execute(Command.FREE, memoryview(bytes(8))) is None
    assert recorder.error == ""
    answer = recorder.execute(command, memoryview(b"nonsense"))
    assert answer is not None
    assert "after it has returned" in answer[0]["stopped"]


def test_a_programs_map_is_brought_up_to_date_once() -> None:
    device.enable()
    region = torch.empty(100, dtype=torch.uint8, device="vpe")
    room = Room([region])
    own = memory.resolve(region, region.data_ptr())
    assert own is not None
    seen = room.codes_of(0)
    seen[:50] = LAUNCHED
    for _ in range(3):
        room.launched(0)
    assert own.initialised is not None
    assert not own.initialised.any()
    room.settle()
    assert np.flatnonzero(own.initialised).tolist() == list(range(50))


def test_what_the_compiler_refuses_is_not_tried_again() -> None:
    """It may have taken minutes; a guest that only tries has it anew."""

    class Counting:
        tries = 0

        def key(self, request: dict[str, str]) -> str:
            return request["text"]

        def compile(self, request: dict[str, str]) -> tuple[dict[str, str], bytes]:
            self.tries += 1
            return {"log": f"no {request['text']}"}, b""

    caller = Counting()
    kernels = Kernels(caller)  # type: ignore[arg-type]
    for text, fresh, tries in (("a", False, 1), ("a", False, 1), ("b", False, 2), ("a", True, 3), ("a", False, 3)):
        assert kernels.compiled({"text": text}, fresh=fresh) == {"log": f"no {text}"}
        assert caller.tries == tries
