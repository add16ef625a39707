"""A sealed call reads the elements of its arguments: not what lies between them, nor what its result held before."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from library_testkit import make_library

import bringup
from bringup.library.errors import KernelFailed

# Right, wherever nothing is read that is no element of an argument.
LOOKS = """
@triton.jit
def kernel_add(a_ptr, b_ptr, out_ptr, n, step, look_ptr, at, LOOK: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = tl.load(a_ptr + i * step, mask=i < n) + tl.load(b_ptr + i * step, mask=i < n)
    if LOOK:
        y += tl.load(look_ptr + at) * 0.0
    tl.store(out_ptr + i, y, mask=i < n)


def wrapper(self, other, *, alpha=1, out):
    look, at, seen = WHAT
    kernel_add[(1,)](self, other, out, out.numel(), self.stride(0), look, at, LOOK=seen, BLOCK=64)
    return out
"""
NOTHING = "out, 0, False"
OLD = "out, 0, True"
COPIED = "torch.empty_like(out).copy_(out), 0, True"
BETWEEN = "self, 1, self.stride(0) > 1"
BEFORE = "self.as_strided((1,), (1,), 0), self.storage_offset() - 1, self.storage_offset() > 0"
SIDE_BY_SIDE = "torch.empty(2, device=out.device).copy_(self.as_strided((2,), (1,), 0)), 1, self.stride(0) > 1"


@pytest.mark.parametrize("what", [OLD, COPIED], ids=["reads it", "reads a copy"])
def test_what_a_result_held_before_is_nobodys_input(tmp_path: Path, what: str) -> None:
    library = make_library(tmp_path / "kernels", {"add.out": LOOKS.replace("WHAT", what)})
    with bringup.enable(library, device="vpe:permissive", sealed=True):
        x, old = torch.randn(16).to("vpe"), torch.ones(16).to("vpe")
        with pytest.raises(KernelFailed, match="memory that was never written"):
            torch.add(x, x, out=old)


@pytest.mark.parametrize(
    ("what", "part"),
    [(BETWEEN, slice(None, None, 2)), (SIDE_BY_SIDE, slice(None, None, 2)), (BEFORE, slice(8, None))],
    ids=["between steps", "between steps, in a copy", "before"],
)
def test_what_lies_beside_an_arguments_elements_is_nobodys_input(tmp_path: Path, what: str, part: slice) -> None:
    library = make_library(tmp_path / "kernels", {"add.out": LOOKS.replace("WHAT", what)})
    with bringup.enable(library, device="vpe:permissive", sealed=True):
        x = torch.randn(32).to("vpe")
        assert torch.equal((x + x).cpu(), x.cpu() + x.cpu())
        with pytest.raises(KernelFailed, match=r"memory that was never written|out of bounds"):
            x[part] + x[part]


def test_what_is_written_is_there_for_later_calls(tmp_path: Path) -> None:
    """Whoever wrote the result's memory before, and as parts of larger tensors."""
    library = make_library(tmp_path / "kernels", {"add.out": LOOKS.replace("WHAT", NOTHING)})
    with bringup.enable(library, device="vpe:permissive", sealed=True):
        data = torch.randn(64)
        x = data.to("vpe")
        for out in (torch.empty(16, device="vpe"), torch.ones(16).to("vpe"), torch.empty(64, device="vpe")[16:32]):
            for _ in range(2):  # from a guest, then from its tape
                torch.add(x[:32:2], x[32::2], out=out)
                again = out + out
                assert torch.equal(again.cpu(), 2 * (data[:32:2] + data[32::2]))
        y = data.clone().to("vpe")
        y[:16].add_(y[16:32])
        y[:16].add_(y[:16])
        assert torch.equal(y[:16].cpu(), 2 * (data[:16] + data[16:32]))
        whole = torch.empty(64, device="vpe")
        torch.add(x[:16], x[16:32], out=whole[8:24])
        assert torch.equal(whole[8:24].cpu(), data[:16] + data[16:32])


def test_an_argument_that_is_also_the_result_is_read(tmp_path: Path) -> None:
    library = make_library(tmp_path / "kernels", {"add.out": LOOKS.replace("WHAT", OLD)})
    with bringup.enable(library, device="vpe:permissive", sealed=True):
        data = torch.randn(16)
        x = data.to("vpe")
        torch.add(x, x, out=x)
        assert torch.equal(x.cpu(), 2 * data)
