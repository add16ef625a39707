"""Kept calls are asked for all that a first one was: who wrote what is left may hang on what their kernels find."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from library_testkit import make_library

import bringup
from bringup.library._room import View
from bringup.library._sealed import SealedWrapper
from bringup.library._steps import Copy, Launch, Upload
from bringup.library._tapes import Returned, Tape, weight_of
from bringup.library.errors import KernelFailed

ABS = """
@triton.jit
def kernel_abs(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.abs(tl.load(x_ptr + i, mask=i < n)), mask=i < n)


@triton.jit
def kernel_lazy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    decides = tl.load(x_ptr + n - 1) >= 0
    tl.store(out_ptr + i, tl.abs(tl.load(x_ptr + i, mask=i < n)), mask=(i < n) & decides)


def wrapper(self, *, out):
    n = self.numel()
    BODY
    return out
"""
IN_PLACE = "kernel_lazy[(1,)](self, out, n, BLOCK=64)"
SPREAD = """made = torch.empty_like(self)
    kernel_abs[(1,)](self, made, 1, BLOCK=64)
    result = torch.empty_like(self)
    result.copy_(made[:1].expand(n))
    kernel_lazy[(1,)](self, result, n, BLOCK=64)
    out.copy_(result)"""
SECOND = """made = torch.empty_like(self)
    kernel_abs[(1,)](self, made, n, BLOCK=64)
    other = torch.empty_like(self)
    other[: n // 2].copy_(made[n // 2 :])
    kernel_lazy[(1,)](self, made, n, BLOCK=64)
    other[n // 2 :].copy_(made[n // 2 :])
    out.copy_(other)"""
HOST = """result = torch.empty_like(self)
    result.copy_(result[:1].copy_(torch.zeros(1)).clone().expand(n))
    kernel_lazy[(1,)](self, result, n, BLOCK=64)
    out.copy_(result)"""
GIVEN = """result = self.clone()
    kernel_lazy[(1,)](self, result, n, BLOCK=64)
    out.copy_(result)"""


def called(x: torch.Tensor, aliased: bool = False) -> torch.Tensor:
    given = x.to("vpe")
    return torch.abs(given, out=given.detach() if aliased else torch.empty_like(given)).cpu()


@pytest.mark.parametrize(
    ("body", "aliased", "words"),
    [
        (IN_PLACE, True, "are as they were"),
        (IN_PLACE, False, "never written"),
        (SPREAD, False, "copies have multiplied"),
        (HOST, False, "made on the host"),
        (GIVEN, False, "moved there from an argument"),
    ],
    ids=["other_tensor", "out", "spread", "host", "copied"],
)
def test_what_lay_there_before_is_no_result_of_a_later_call(
    tmp_path: Path, body: str, aliased: bool, words: str
) -> None:
    """As long as the kernel writes all of it nobody can tell."""
    library = make_library(tmp_path / "kernels", {"abs.out": ABS.replace("BODY", body)})
    with bringup.enable(library, device="vpe:permissive", sealed=True, checked=False):
        x = torch.randn(20)
        for _ in range(3):
            x[-1] = 1.0
            assert torch.equal(called(x, aliased), x.abs())
        x[-1] = -1.0
        for _ in range(2):
            with pytest.raises(KernelFailed, match=words):
                called(x, aliased)


def test_what_copies_have_taken_is_not_taken_again(tmp_path: Path) -> None:
    library = make_library(tmp_path / "kernels", {"abs.out": ABS.replace("BODY", SECOND)})
    with bringup.enable(library, device="vpe:permissive", sealed=True, checked=False):
        x = torch.randn(20)
        x[-1] = 1.0
        called(x)
        x[-1] = -1.0
        with pytest.raises(KernelFailed, match="copies have multiplied"):
            called(x)


FILL = """
@triton.jit
def kernel_fill(x_ptr, mask_ptr, value, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    chosen = tl.load(mask_ptr + i, mask=i < n, other=0) != 0
    tl.store(x_ptr + i, tl.zeros([BLOCK], tl.float32) + value, mask=(i < n) & chosen)


def wrapper(self, mask, value):
    made = self.clone()
    kernel_fill[(1,)](made, mask, value, 24, BLOCK=32)
    self[0:2].copy_(made[0:2])
    self[2:4].copy_(made[0:2])
    return self
"""


def test_whose_bytes_copies_take_hangs_on_a_mask(tmp_path: Path) -> None:
    """An argument's that stay, in one call, and those that a kernel wrote, in the next: none may lie elsewhere."""
    library = make_library(tmp_path / "kernels", {"masked_fill_.Scalar": FILL})
    with bringup.enable(library, device="vpe:permissive", sealed=True, checked=False):
        x, mask = torch.randn(2, 6).repeat(2, 1), torch.zeros(4, 6, dtype=torch.bool)
        with pytest.raises(KernelFailed, match="copies have put others there"):
            x.to("vpe").masked_fill_(mask.to("vpe"), 7.0)
        mask[...] = True
        with pytest.raises(KernelFailed, match="copies have multiplied"):
            x.to("vpe").masked_fill_(mask.to("vpe"), 7.0)


def test_an_answer_is_kept_without_what_nobody_asks_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrapper's own lists, which it may fill."""
    body = "dims.extend([0] * 100_000)"
    source = FLIP.replace("BODY", body)
    library = make_library(tmp_path / "kernels", {"flip": source})
    kept: list[Tape] = []
    monkeypatch.setattr(SealedWrapper, "_keep", lambda wrapper, call, tape: kept.append(tape))
    with bringup.enable(library, device="vpe:permissive", sealed=True):
        x = torch.randn(20)
        assert torch.equal(x.to("vpe").flip(0).cpu(), x.flip(0))
    assert [weight_of(tape.answer) < 16 for tape in kept] == [True]


FLIP = """
@triton.jit
def kernel_flip(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + n - 1 - i, mask=i < n), mask=i < n)


def wrapper(self, dims):
    out = torch.empty_like(self)
    kernel_flip[(1,)](self, out, self.numel(), BLOCK=64)
    BODY
    return out
"""
COUNT = """
@triton.jit
def kernel_count(x_ptr, count_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    count = tl.sum((x != 0).to(tl.int32)).to(tl.uint8)
    tl.store(count_ptr + tl.arange(0, 1), count + tl.zeros([1], tl.uint8), mask=tl.load(x_ptr) > 0)


@triton.jit
def kernel_place(x_ptr, out_ptr, n, found, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    there = (tl.load(x_ptr + i, mask=i < n, other=0.0) != 0).to(tl.int64)
    at = tl.cumsum(there, axis=0) - there
    tl.store(out_ptr + at, i.to(tl.int64), mask=(there != 0) & (at < found))


def wrapper(self):
    count = torch.empty(1, dtype=torch.uint8, device=self.device)
    kernel_count[(1,)](self, count, self.numel(), BLOCK=512)
    found = count.item()
    out = torch.empty((found, 1), dtype=torch.int64, device=self.device)
    if found:
        kernel_place[(1,)](self, out, self.numel(), found, BLOCK=512)
    return out
"""


def test_what_is_read_was_written_in_this_call(tmp_path: Path) -> None:
    """Memory that nobody has written holds the same number each time."""
    library = make_library(tmp_path / "kernels", {"nonzero": COUNT})
    with bringup.enable(library, device="vpe:permissive", sealed=True, checked=False):
        for first, count in ((1.0, 255), (1.0, 255)):
            x = torch.zeros(400)
            x[0], x[10 : 10 + count - 1] = first, 1.0
            assert torch.equal(x.to("vpe").nonzero().cpu(), x.nonzero())
        x[0], x[10:309] = -1.0, 1.0
        with pytest.raises(KernelFailed, match="no kernel has written"):
            x.to("vpe").nonzero()


INDEX = """
@triton.jit
def kernel_index(x_ptr, at_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = tl.load(at_ptr + i, mask=i < n, other=0)
    tl.store(out_ptr + i, tl.load(x_ptr + at, mask=i < n), mask=i < n)


def wrapper(self, indices, *, out):
    n = out.numel()
    if indices[0].dtype == torch.bool:
        raise NotImplementedError("a mask")
    if n:
        kernel_index[(1,)](self, indices[0].contiguous(), out, n, BLOCK=64)
    return out
"""


@pytest.mark.parametrize("size", [0, 3, 5, 9])
@pytest.mark.parametrize("mask", [torch.bool, torch.uint8])
@pytest.mark.filterwarnings("ignore")
def test_how_much_a_mask_selects_is_known_before_its_kernel_is_called(tmp_path: Path, size: int, mask: Any) -> None:
    """An `out=` of another size says nothing."""
    library = make_library(tmp_path / "kernels", {"index.Tensor_out": INDEX, "nonzero": COUNT})
    x, at = torch.randn(9), torch.tensor([1, 0, 1, 1, 0, 1, 0, 1, 0]).to(mask)
    with bringup.enable(library, device="vpe:permissive", sealed=True):
        out = torch.full((size,), 7.0).to("vpe")
        torch.ops.aten.index.Tensor_out(x.to("vpe"), [at.to("vpe")], out=out)
        assert torch.equal(out.cpu(), x[at.bool()])
        with pytest.raises(IndexError, match=r"shape of the mask \[9\] at index 0 does not match"):
            torch.ops.aten.index.Tensor_out(x[:8].to("vpe"), [at.to("vpe")], out=out)


def test_which_tapes_are_settled() -> None:
    """By commands alone: region 0 is an argument, 1 is there for the result, 2 and 3 are the call's own."""

    def view(region: int) -> View:
        return View(region, 0, torch.float32, (4,), (1,))

    def launched(*regions: int) -> Launch:
        pointers = tuple((place, "x", region, 0) for place, region in enumerate(regions))
        return Launch(None, (1, 1, 1), None, None, pointers)

    def settled(*steps: Any, held: set[int] = set(), keeps: Any = "nothing", results: tuple[int, ...] = ()) -> bool:  # noqa: B006
        tape = Tape(steps, Returned(None, None, [1, *results]), (16, 16, 16, 16))
        return tape.settled(2, {0} - held, held, {0}, keeps, 0)

    turned = View(1, 0, torch.float32, (4,), (2,))
    into, out, own = launched(0, 2), Copy(view(2), view(1)), Copy(view(0), view(2))
    assert settled(launched(0, 1))
    assert settled(into, out)
    assert settled(own, launched(2, 3), Copy(view(3), view(1)))  # laid anew for a kernel that writes elsewhere
    assert not settled(own, out)
    assert settled(own, launched(0, 2), out, keeps="elements")
    assert not settled(launched(0, 2), own, out, keeps="elements")  # what comes later no kernel has looked at
    assert not settled(own, launched(0, 2), out, Copy(view(2), view(3)), keeps="elements")
    assert not settled(own, launched(0, 2), Copy(view(2), turned), keeps="elements")
    assert not settled(Upload(view(2), bytearray(16)), into, out)
    assert not settled(into, out, launched(0, 1))
    assert not settled(into, out, launched(0, 2), out)
    assert not settled(launched(0), held={0})
    assert settled(launched(0), held={0}, keeps="elements")
    assert settled(launched(0), held={0}, keeps="arguments")
    assert not settled(launched(0), Copy(view(0), view(2)), held={0}, keeps="arguments", results=(2,))
    assert settled(Upload(view(2), bytearray(16)), launched(2, 3), Copy(view(3), view(1)))
    index, constant, copied = view(1), launched(3), Copy(view(3), view(2))
    for steps, wanted in (((), True), ((constant, copied), False)):  # over which something else is copied
        tape = Tape((Copy(index, view(2)), *steps, launched(0, 2)), Returned(None, None, [0]), (16,) * 4)
        assert tape.settled(2, {1}, {0}, {0, 1}, "elements", 0) is wanted
    for size, wanted in ((4, True), (1, False)):  # of one element of four a kernel learns little
        index = View(1, 0, torch.float32, (size,), (1,))
        tape = Tape((Copy(index, replace(index, region=2)), launched(0, 2)), Returned(None, None, [0]), (16,) * 3)
        assert tape.settled(2, {1}, {0}, {0, 1}, "elements", 0) is wanted


def test_what_copies_cannot_multiply_has_no_numbers() -> None:
    def view(region: int) -> View:
        return View(region, 0, torch.float32, (4,), (1,))

    def once(*steps: Any, results: tuple[int, ...] = ()) -> bool:
        return Tape(steps, Returned(None, None, [*results]), (16, 16, 16, 16)).copies_once(1, ())

    kernel = Launch(None, (1, 1, 1), None, None, ((0, "x", 0, 0), (1, "y", 2, 0)))
    assert once(Copy(view(0), view(1)), Copy(view(0), view(3)), kernel, Copy(view(2), view(0)))
    assert once(kernel, Copy(view(2), view(1)), Copy(view(1), view(3)), results=(3,))
    assert not once(kernel, Copy(view(2), view(1)), Copy(view(2), view(3)), results=(3,))
    assert not once(kernel, Copy(view(2), view(1)), results=(1, 2))
    assert not once(kernel, Copy(view(0), view(1)), results=(1,))  # the argument is left, too
    assert not once(kernel, Copy(View(2, 0, torch.float32, (4,), (0,)), view(1)), results=(1,))


def test_tapes_that_are_settled_need_no_trace() -> None:
    """What a program's usual calls do: nothing is kept of whose each byte is."""
    from bringup.library import _sealed

    made = 0

    class Counted(_sealed.Trace):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            nonlocal made
            made += 1
            super().__init__(*args, **kwargs)

    with pytest.MonkeyPatch.context() as patch, bringup.enable("kernels", device="vpe:pe64", sealed=True):
        x = torch.randn(6, 8).to("vpe")
        results = [torch.add(x, x), torch.relu(x), torch.softmax(x, 0), x[:, 1:5].exp(), x @ x.T]
        patch.setattr(_sealed, "Trace", Counted)
        again = [torch.add(x, x), torch.relu(x), torch.softmax(x, 0), x[:, 1:5].exp(), x @ x.T]
    assert all(torch.equal(a.cpu(), b.cpu()) for a, b in zip(results, again, strict=True))
    assert made == 0
