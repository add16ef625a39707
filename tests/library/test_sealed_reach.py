"""A sealed call reads the elements of its arguments: not what lies between them, nor what its result held before."""

from __future__ import annotations

import threading
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


# Right in what it returns; it also writes where it should not.
HARMS = """
@triton.jit
def kernel_add(a_ptr, b_ptr, out_ptr, n, a_step, step, harm_ptr, at, HARM: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = tl.load(a_ptr + i * a_step, mask=i < n) + tl.load(b_ptr + i * a_step, mask=i < n)
    if HARM:
        tl.store(harm_ptr + at, 7.0)
    tl.store(out_ptr + i * step, y, mask=i < n)


@triton.jit
def kernel_zero(y_ptr):
    tl.store(y_ptr, 0.0)


def wrapper(self, other, *, alpha=1, out):
    HARM
    kernel_add[(1,)](
        self, other, out, out.numel(), self.stride(0), out.stride(0), harm, at, HARM=harms, BLOCK=64
    )
    return out
"""
BY_A_COPY = """zero = torch.empty(1, device=out.device)
    kernel_zero[(1,)](zero)
    self[:1].copy_(zero)
    harm, at, harms = out, 0, False"""


@pytest.mark.parametrize(
    ("harm", "words"),
    [("harm, at, harms = self, 0, True", "read-only"), (BY_A_COPY, "must leave as it is"),
     ("harm, at, harms = out, 1, out.stride(0) > 1", ""),
     ("harm, at, harms = out, 0, False", "")],
    ids=["an operand", "an operand, by a copy", "between the elements of the result", "nothing"],
)  # fmt: skip
def test_what_is_not_the_calls_to_write_stays_as_it_was(tmp_path: Path, harm: str, words: str) -> None:
    library = make_library(tmp_path / "kernels", {"add.out": HARMS.replace("HARM\n", f"{harm}\n", 1)})
    with bringup.enable(library, device="vpe:permissive", sealed=True):
        data = torch.randn(16)
        x, room = data.to("vpe"), torch.full((32,), 3.0).to("vpe")
        for _ in range(2):  # from a guest, then from its tape
            if words:
                with pytest.raises(KernelFailed, match=words):
                    torch.add(x, x, out=room[::2])
            else:
                torch.add(x, x, out=room[::2])
                assert torch.equal(room[::2].cpu(), 2 * data)
            assert torch.equal(x.cpu(), data)
            assert (room[1::2].cpu() == 3).all()
        if not words:
            torch.add(x, x, out=x)  # the operand is the result
            assert torch.equal(x.cpu(), 2 * data)


def test_threads_write_parts_of_one_tensor(tmp_path: Path) -> None:
    """What lies between the elements of one call's result is another one's."""
    library = make_library(
        tmp_path / "kernels", {"add.out": HARMS.replace("HARM\n", "harm, at, harms = out, 0, False\n")}
    )
    wrong, done = [], []
    with bringup.enable(library, device="vpe:permissive", sealed=True):
        data = torch.randn(16)
        x, whole = data.to("vpe"), torch.zeros(32).to("vpe")
        for part in (0, 1):
            torch.add(x, x, out=whole[part::2])

        def turns(part: int) -> None:
            mine = whole[part::2]
            for turn in range(200):
                number = torch.full((16,), float(turn)).to("vpe")
                torch.add(number, number, out=mine)
                if (mine.cpu() != 2 * turn).any():
                    wrong.append((part, turn))
            done.append(part)

        threads = [threading.Thread(target=turns, args=(part,)) for part in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(done) == [0, 1]
    assert not wrong


def test_parts_of_one_buffer_that_begin_anywhere(tmp_path: Path) -> None:
    """100 bytes each: what one call's arguments reach does not begin where another's ends."""
    library = make_library(tmp_path / "kernels", {"add.out": LOOKS.replace("WHAT", NOTHING)})
    with bringup.enable(library, device="vpe:permissive", sealed=True):
        data = torch.randn(3, 25)
        whole = data.to("vpe")
        for _ in range(2):
            torch.add(whole[0], whole[2], out=whole[1])
            assert torch.equal(whole[1].cpu(), data[0] + data[2])
            assert torch.equal(whole[::2].cpu(), data[::2])


def test_what_another_thread_writes_into_an_element_meanwhile_stays(tmp_path: Path) -> None:
    """Of an argument that is written in part, only what was changed is taken."""
    kernel = HARMS.replace("HARM\n", "harm, at, harms = out, 0, False\n")
    library = make_library(tmp_path / "kernels", {"add.out": kernel})
    with bringup.enable(library, device="vpe:permissive", sealed=True, checked=False) as on:
        data = torch.randn(16)
        data[15] = 0.0  # which changes nothing
        x, whole = data.repeat_interleave(2).to("vpe")[::2], torch.zeros(32).to("vpe")
        record = on.sealer.record

        def beside(*arguments: object) -> object:
            whole[30:31].copy_(torch.full((1,), 5.0).to("vpe"))
            return record(*arguments)

        on.sealer.record = beside
        whole[::2].add_(x)
        assert torch.equal(whole[:16:2].cpu(), data[:8])
        assert whole[30].cpu() == 5
