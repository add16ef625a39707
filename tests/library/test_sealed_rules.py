"""Rules of the judge on copies and on what a host makes, in a program's own calls of sizes that no case has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from library_testkit import make_library

import bringup
from bringup.library.errors import KernelFailed

FLIP = """
@triton.jit
def kernel_flip(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + n - 1 - i, mask=i < n), mask=i < n)


def wrapper(self, dims):
    n = self.numel()
    x, out = self.contiguous(), torch.empty_like(self)
    if n == 77:
        BODY
        return out
    kernel_flip[(triton.cdiv(n, 64),)](x, out, n, BLOCK=64)
    return out
"""
LINSPACE = """
@triton.jit
def kernel_one(out_ptr, i, value):
    tl.store(out_ptr + i, value)


def wrapper(start, end, steps, *, out):
    out.resize_([steps])
    for i in range(steps):
        kernel_one[(1,)](out, i, start + (end - start) * i / max(1, steps - 1))
    return out
"""


def flipped(folder: Path, body: str, n: int) -> Any:
    library = make_library(folder / "kernels", {"flip": FLIP.replace("BODY", body)})
    x = torch.randn(n)
    with bringup.enable(library, device="vpe:permissive", sealed=True):
        assert torch.equal(x.to("vpe").flip(0).cpu(), x.flip(0))


@pytest.mark.parametrize("n", [76, 77])
def test_copies_do_not_flip(tmp_path: Path, n: int) -> None:
    body = "for i in range(n):\n            out[i : i + 1].copy_(x[n - 1 - i : n - i])"
    if n == 76:
        flipped(tmp_path, body, n)
    else:
        with pytest.raises(KernelFailed, match="work for a kernel"):
            flipped(tmp_path, body, n)


def test_a_result_may_be_laid_down_again(tmp_path: Path) -> None:
    body = "made = torch.empty_like(x)\n        kernel_flip[(2,)](x, made, n, BLOCK=64)\n        out.copy_(made)"
    flipped(tmp_path, body, 77)


@pytest.mark.parametrize(("steps", "right"), [(8, True), (300, False)])
def test_the_host_makes_few_numbers(tmp_path: Path, steps: int, right: bool) -> None:
    library = make_library(tmp_path / "kernels", {"linspace.out": LINSPACE})
    with bringup.enable(library, device="vpe:permissive", sealed=True, checked=False):
        if right:
            torch.testing.assert_close(torch.linspace(0, 1, steps, device="vpe").cpu(), torch.linspace(0, 1, steps))
        else:
            with pytest.raises(KernelFailed, match="values must be computed by kernels"):
                torch.linspace(0, 1, steps, device="vpe")


NONSENSE = """
@triton.jit
def kernel_flip(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + n - 1 - i, mask=i < n), mask=i < n)


def wrapper(self, dims):
    from bringup.device.wire import Command

    active = triton.runtime.driver.active
    stream = active._benchmark.__self__.frontend.handles.stream
    n = self.numel()
    x, out = self.contiguous(), torch.empty_like(self)
    active.get_benchmarker()(lambda: stream.put(Command.NAME, BODY))
    kernel_flip[(triton.cdiv(n, 64),)](x, out, n, BLOCK=64)
    return out
"""


@pytest.mark.parametrize("command", ["COPY, bytes(40)", "UPLOAD, b''", "LAUNCH, bytes(24)"])
def test_what_is_tried_is_no_result_whatever_it_says(tmp_path: Path, command: str) -> None:
    """The judge, which times nothing, would not see it either."""
    name, body = command.split(", ")
    source = NONSENSE.replace("Command.NAME", f"Command.{name}").replace("BODY", body)
    library = make_library(tmp_path / "kernels", {"flip": source})
    x = torch.randn(20)
    with bringup.enable(library, device="vpe:permissive", sealed=True):
        assert torch.equal(x.to("vpe").flip(0).cpu(), x.flip(0))
