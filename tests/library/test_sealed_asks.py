"""What a sealed wrapper asks of the device is refused where the judge refuses it, and answered where it waits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from library_testkit import make_library

import bringup
from bringup.device import space
from bringup.device.wire import Command
from bringup.library._recording import Recorder
from bringup.library._tapes import Room
from bringup.vpe import device, memory
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
