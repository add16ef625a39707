"""Rules of the judge on copies and on what a host makes, in a program's own calls of sizes that no case has."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import torch
from library_kernels import ADD
from library_testkit import make_library

import bringup
import bringup.vpe as vpe
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


def test_views_do_not_flip_either(tmp_path: Path) -> None:
    body = "out = torch.empty(154)[77:]\n        kernel_flip[(2,)](x, out, n, BLOCK=64)"
    with pytest.raises(KernelFailed, match="picks its elements"):
        flipped(tmp_path, body.replace("154", "154, device=x.device"), 77)


POOL = """
@triton.jit
def kernel_same(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


def wrapper(
    self, kernel_size, stride, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None, *, out
):
    n, step = out.numel(), stride[0]
    x = torch.empty_like(out)
    x.copy_(self[..., ::step, ::step])
    kernel_same[(triton.cdiv(n, 64),)](x, out, n, BLOCK=64)
    return out
"""


@pytest.mark.parametrize("step", [1, 2])
def test_copies_do_not_pick_where_that_is_all_that_a_call_does(tmp_path: Path, step: int) -> None:
    """PyTorch is asked, whatever the operator does in other calls."""
    library = make_library(tmp_path / "kernels", {"avg_pool2d.out": POOL})
    x = torch.randn(1, 2, 6, 6)
    with bringup.enable(library, device="vpe:permissive", sealed=True):
        if step == 2:
            with pytest.raises(KernelFailed, match="work for a kernel"):
                torch.nn.functional.avg_pool2d(x.to("vpe"), 1, 2)
        else:
            assert torch.equal(torch.nn.functional.avg_pool2d(x.to("vpe"), 1, 1).cpu(), x)


@pytest.mark.parametrize("x", [torch.arange(72, dtype=torch.int32).view(1, 2, 6, 6), torch.randn(1, 2, 1500, 1500)])
def test_copies_do_not_pick_where_pytorch_refuses_or_much_is_moved(tmp_path: Path, x: torch.Tensor) -> None:
    library = make_library(tmp_path / "kernels", {"avg_pool2d.out": POOL})
    with bringup.enable(library, device="vpe:permissive", sealed=True):
        with pytest.raises(KernelFailed, match="work for a kernel"):
            torch.nn.functional.avg_pool2d(x.to("vpe"), 1, 2)
        assert torch.equal(torch.nn.functional.avg_pool2d(x.to("vpe"), 1, 1).cpu(), x)


def test_a_buffer_that_grows_holds_nothing_that_a_kernel_wrote(tmp_path: Path) -> None:
    body = (
        "begin = torch.empty([40], device=x.device)\n"
        "        kernel_flip[(1,)](x[37:], begin, 40, BLOCK=64)\n"
        "        out[:40].copy_(begin)\n"
        "        kernel_flip[(1,)](x[:37], out[40:], 37, BLOCK=64)"
    )
    with pytest.raises(KernelFailed, match="is made larger"):
        flipped(tmp_path, body, 77)


SHIFT = """
@triton.jit
def kernel_same(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


@triton.jit
def kernel_zero(out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.zeros([BLOCK], tl.int32), mask=i < n)


def wrapper(self, other, *, out):
    n = self.numel()
    same = torch.empty_like(self)
    kernel_same[(1,)](self, same, n, BLOCK=64)
    kernel_zero[(1,)](out, n, BLOCK=64)
    out.view(torch.uint8).view([n, 4])[:, 1:].copy_(same.view(torch.uint8).view([n, 4])[:, :3])
    return out
"""


def test_copies_compute_no_numbers_by_moving_their_bytes(tmp_path: Path) -> None:
    library = make_library(tmp_path / "kernels", {"mul.out": SHIFT})
    with bringup.enable(library, device="vpe:permissive", sealed=True), pytest.raises(KernelFailed, match="parts of"):
        torch.arange(9, dtype=torch.int32).to("vpe") * torch.full((9,), 256, dtype=torch.int32).to("vpe")


MASK = """
@triton.jit
def kernel_copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


def wrapper(self, *, out):
    n = self.numel()
    same = torch.empty_like(self)
    kernel_copy[(2,)](FROM, INTO, ALL, BLOCK=512)
    BODY
    return out
"""
LOW = "out.view(torch.uint8).copy_(same.view(torch.uint8)[::8])"


@pytest.mark.parametrize(
    ("seen", "body", "right"),
    [
        ("same", LOW, False),  # the low byte of each number, which a kernel has copied
        ("same", "kernel_copy[(1,)](same.view(torch.uint8)[::8].contiguous(), out, n, BLOCK=512)", False),
        ("same", "kernel_copy[(1,)](same.view(torch.int32)[::2].contiguous(), out, n, BLOCK=512)", False),
        ("same", "kernel_copy[(1,)](same[:9].clone(), out, n, BLOCK=512)", True),
    ],
)
def test_copies_pick_no_parts_of_numbers(tmp_path: Path, seen: str, body: str, right: bool) -> None:
    given = seen.replace("same", "self")
    all_of = "n * 8" if "view" in seen else "n"
    source = MASK.replace("BODY", body).replace("FROM", given).replace("INTO", seen).replace("ALL", all_of)
    library = make_library(tmp_path / "kernels", {"logical_not.out": source})
    x, out = torch.arange(9, dtype=torch.int64) % 2, torch.empty(9, dtype=torch.uint8)
    with bringup.enable(library, device="vpe:permissive", sealed=True, checked=False):
        mine = out.to("vpe")
        if right:
            torch.logical_not(x.to("vpe"), out=mine)
            assert mine.cpu().tolist() == x.tolist()
            return
        with pytest.raises(KernelFailed, match="parts of"):
            torch.logical_not(x.to("vpe"), out=mine)


FLOOD = """
@triton.jit
def kernel_abs(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.abs(tl.load(x_ptr + i, mask=i < n)), mask=i < n)


def wrapper(self, *, out):
    n = self.numel()
    room, host = torch.empty([1 << 24], device=self.device), torch.zeros([1 << 24])
    for _ in range(5 if n == 77 else n == 78):
        room.copy_(host)
    kernel_abs[(2,)](self, out, n, BLOCK=64)
    return out
"""


@pytest.mark.parametrize(("n", "said"), [(77, "256 MiB of commands"), (78, "the host uploaded 67108864 bytes")])
def test_a_call_that_breaks_a_rule_does_nothing(tmp_path: Path, n: int, said: str) -> None:
    library = make_library(tmp_path / "kernels", {"abs.out": FLOOD})
    x, out = torch.randn(n), torch.full((n,), 7.0)
    with bringup.enable(library, device="vpe:permissive", sealed=True):
        mine = out.to("vpe")
        with pytest.raises(KernelFailed, match=said):
            torch.abs(x.to("vpe"), out=mine)
        assert torch.equal(mine.cpu(), out)


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


TABLE = """
@triton.autotune(configs=[], key=["n"])
@triton.jit
def kernel_table(out_ptr, n, start, step, TABLE: tl.constexpr, JUNK: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    y = start + i.to(tl.float32) * step
    for turn in range(0, JUNK):
        y = y * 1.0000001
    for at in tl.static_range(len(TABLE)):
        y = tl.where(i == at, TABLE[at], y)
    tl.store(out_ptr + i, y, mask=i < n)


def wrapper(start, end, steps, *, out):
    out.resize_([steps])
    step = (end - start) / (steps - 1)
    table = tuple(start + step * at for at in range(steps)) if steps > 100 else (start,)
    kernel_table.configs = [triton.Config({"TABLE": (), "JUNK": 3000}), triton.Config({"TABLE": table, "JUNK": 0})]
    kernel_table[(1,)](out, steps, start, step, BLOCK=256)
    return out
"""


@pytest.mark.parametrize("steps", [40, 180])
def test_what_a_tuner_tries_says_as_much_as_what_runs(tmp_path: Path, steps: int) -> None:
    library = make_library(tmp_path / "kernels", {"linspace.out": TABLE})
    with bringup.enable(library, device="vpe:permissive", sealed=True, checked=False):
        if steps == 180:
            with pytest.raises(KernelFailed, match="the host made"):
                torch.linspace(0.25, 3.5, steps, device="vpe")
        else:
            torch.linspace(0.25, 3.5, steps, device="vpe")


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


RELU = """
@triton.jit
def kernel_relu(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.maximum(tl.load(x_ptr + i, mask=i < n), 0.0), mask=i < n)


def wrapper(self):
    n = self.numel()
    x, out = self.contiguous(), torch.empty_like(self)
    if n == 77:
        BODY
        return out
    kernel_relu[(triton.cdiv(n, 64),)](x, out, n, BLOCK=64)
    return out
"""
HALF = "kernel_relu[(1,)](x, out, 1, BLOCK=64)\n        "
DOUBLED = HALF + "for i in range(76):\n            out[i + 1 : i + 2].copy_(out[i : i + 1])"
BY_A_DETOUR = (
    "one, far = torch.empty_like(x), torch.empty(1 << 24, device=x.device)\n        "
    "kernel_relu[(1,)](x, one, 1, BLOCK=64)\n        "
    "for i in range(76):\n            one[i + 1 : i + 2].copy_(one[:1])\n        "
    "far[:77].copy_(one)\n        out.copy_(far[:77])"
)
UPLOADED = "kernel_relu[(2,)](x, out, n, BLOCK=64)\n        out[:4].copy_(torch.tensor([1.0] * 4))"
COPIED = "out.copy_(x)"
MOVED = "kernel_relu[(2,)](x, out, n, BLOCK=64)\n        out[1:].copy_(x[:-1])"
UNWRITTEN = HALF.rstrip()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (DOUBLED, "copies have multiplied"),
        (BY_A_DETOUR, "copies have multiplied"),
        (UPLOADED, "made on the host"),
        (MOVED, "moved there from an argument"),
        (UNWRITTEN, "never written"),
    ],
)
def test_a_kernel_writes_all_of_a_result(tmp_path: Path, body: str, words: str) -> None:
    """In a call as no case of the judge's is."""
    library = make_library(tmp_path / "kernels", {"relu": RELU.replace("BODY", body)})
    with bringup.enable(library, device="vpe:permissive", sealed=True, checked=False):
        x = torch.arange(77.0).to("vpe")
        with pytest.raises(KernelFailed, match=words):
            torch.relu(x)
        x = torch.randn(76)
        assert torch.equal(torch.relu(x.to("vpe")).cpu(), torch.relu(x))


PART = "out, self, other = out[:76], self[:76], other[:76]"
ELSEWHERE = "out.set_(self.untyped_storage(), self.storage_offset(), SIZE, STEPS)\n        return out"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("return out", "never written"),
        (PART, "never written"),
        (ELSEWHERE.replace("SIZE", "[77]").replace("STEPS", "[1]"), "other memory"),
        (ELSEWHERE.replace("SIZE", "[77, 1]").replace("STEPS", "[1, 1]"), "that it only reads"),
    ],
)
def test_what_is_there_for_a_result_is_written(tmp_path: Path, body: str, words: str) -> None:
    """Also where what it holds happens to be right: an `out` is nobody's input, and stays where it is."""
    source = ADD.replace(
        "    shape = out.shape\n", f"    if self.numel() == 77:\n        {body}\n    shape = out.shape\n"
    )
    assert source != ADD
    library = make_library(tmp_path / "kernels", {"add.out": source})
    with bringup.enable(library, device="vpe:permissive", sealed=True, checked=False):
        for n in (76, 77):
            x, y, out = (torch.zeros(n).to("vpe") for _ in range(3))
            if n == 77:
                with pytest.raises(KernelFailed, match=words):
                    torch.add(x, y, out=out)
            else:
                torch.add(x, y, out=out)


def test_what_happens_to_be_right_is_for_a_kernel_to_find_out(tmp_path: Path) -> None:
    library = make_library(tmp_path / "kernels", {"relu": RELU.replace("BODY", COPIED)})
    enabled = bringup.enable(library, device="vpe:permissive", sealed=True)
    with enabled, pytest.raises(KernelFailed, match="moved there from an argument"):
        torch.relu(torch.rand(77).to("vpe"))


def test_many_views_of_little_are_no_result(tmp_path: Path) -> None:
    """Each would be looked at as a whole."""
    many = "kernel_relu[(2,)](x, out, n, BLOCK=64)\n        return [out[:1].expand(1 << 26)] * 10000"
    library = make_library(tmp_path / "kernels", {"relu": RELU.replace("BODY", many)})
    begin = time.monotonic()
    enabled = bringup.enable(library, device="vpe:permissive", sealed=True)
    with enabled, pytest.raises(KernelFailed, match="many times what the call's memory holds"):
        torch.relu(torch.rand(77).to("vpe"))
    assert time.monotonic() - begin < 30


def test_a_result_is_no_argument_that_is_only_read(tmp_path: Path) -> None:
    source = RELU.replace("BODY", "return self")
    library = make_library(tmp_path / "kernels", {"relu": source})
    enabled = bringup.enable(library, device="vpe:permissive", sealed=True, checked=False)
    with enabled, pytest.raises(KernelFailed, match="that it only reads"):
        torch.relu(torch.rand(77).to("vpe"))


FILL = """
@triton.jit
def kernel_show(out_ptr, value):
    tl.store(out_ptr + tl.arange(0, 1), tl.zeros([1], tl.float32) + value, mask=tl.arange(0, 1) > 0)


@triton.jit
def kernel_fill(out_ptr, index_ptr, value):
    tl.store(out_ptr + tl.load(index_ptr + tl.program_id(0)), value)


def wrapper(self, dim, index, value):
    KEEPS
    kernel_fill[(index.numel(),)](out, index, value)
    return out
"""


@pytest.mark.parametrize(
    ("overload", "keeps"),
    [
        ("index_fill.int_Scalar", "out = self.clone()"),
        ("index_fill_.int_Scalar", "out = self"),
        ("index_fill_.int_Scalar", "out = self if index.numel() else self"),
    ],
)
@pytest.mark.parametrize("count", [0, 3])
def test_what_an_operator_leaves_whatever_it_is_may_stay(tmp_path: Path, overload: str, keeps: str, count: int) -> None:
    source = FILL.replace("KEEPS", keeps).replace("    kernel_fill", "    if index.numel():\n        kernel_fill")
    library = make_library(tmp_path / "kernels", {overload: source})
    with bringup.enable(library, device="vpe:permissive", sealed=True):
        x, at = torch.rand(9), torch.randperm(9)[:count]
        wanted = x.index_fill(0, at, 7.0)
        fill = "index_fill_" if "_." in overload else "index_fill"
        for _ in range(2):
            assert torch.equal(getattr(x.to("vpe"), fill)(0, at.to("vpe"), 7.0).cpu(), wanted)


@pytest.mark.parametrize(
    ("overload", "body"),
    [
        ("index_fill.int_Scalar", "return self.clone()"),
        ("index_fill.int_Scalar", "out = self.clone()\n    kernel_fill[(1,)](torch.empty_like(self), index, value)"),
        ("index_fill_.int_Scalar", "return self"),
        ("index_fill.int_Scalar", "out = self.clone()\n    kernel_show[(1,)](out, value)"),
        ("index_fill_.int_Scalar", "out = self\n    kernel_show[(1,)](out, value)"),
        (
            "index_fill.int_Scalar",
            "out = self.clone()\n    kernel_fill[(1,)](out, index, value)\n    out.copy_(self)",
        ),
        (
            "index_fill_.int_Scalar",
            "out, held = self, self.clone()\n    kernel_fill[(1,)](out, index, value)\n    out.copy_(held)",
        ),
    ],
)
def test_what_stays_is_for_a_kernel_to_find_out(tmp_path: Path, overload: str, body: str) -> None:
    """Of indices that name what has the value already: right, and wrong in the next call."""
    source = FILL.replace("KEEPS", body).replace("    kernel_fill[(index.numel(),)](out, index, value)\n", "")
    source = source.replace("    return out\n", "    return out\n" if "out" in body else "")
    library = make_library(tmp_path / "kernels", {overload: source})
    with bringup.enable(library, device="vpe:permissive", sealed=True):
        x, at = torch.ones(9).to("vpe"), torch.tensor([2]).to("vpe")
        fill = x.index_fill_ if "_." in overload else x.index_fill
        with pytest.raises(KernelFailed, match="none was given this memory"):
            fill(0, at, 1.0)


def test_each_call_writes_all_of_what_it_returns(tmp_path: Path) -> None:
    source = RELU.replace("BODY", "pass").replace(
        "mask=i < n)\n\n\ndef", "mask=(i < n) & (tl.load(x_ptr + i, mask=i < n) < 100.0))\n\n\ndef"
    )
    assert "100.0" in source
    source = source.replace("        return out\n    kernel", "    kernel")
    library = make_library(tmp_path / "kernels", {"relu": source})
    with bringup.enable(library, device="vpe:permissive", sealed=True, checked=False):
        for _ in range(3):
            torch.relu(torch.randn(20).to("vpe"))
        with pytest.raises(KernelFailed, match="never written"):
            torch.relu(torch.full((20,), 1000.0).to("vpe"))


ABS = """
@triton.jit
def kernel_abs(x_ptr, out_ptr, n, MOST: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr + i, tl.abs(x), mask=(i < n) & (tl.abs(x) < MOST))


def wrapper(self, *, out):
    n = self.numel()
    BODY
    kernel_abs[(triton.cdiv(n, 64),)](self, out, n, MOST=100.0, BLOCK=64)
    return out
"""


def test_an_argument_that_nobody_has_looked_at_is_not_written(tmp_path: Path) -> None:
    """In place, where the first values happen to be right."""
    body = "if n == 77:\n        return out"
    library = make_library(tmp_path / "kernels", {"abs.out": ABS.replace("BODY", body)})
    with bringup.enable(library, device="vpe:permissive", sealed=True):
        assert torch.equal(torch.randn(76).to("vpe").abs_().cpu() < 0, torch.zeros(76, dtype=torch.bool))
        with pytest.raises(KernelFailed, match="are as they were"):
            torch.rand(77).to("vpe").abs_()


def test_each_call_writes_all_of_what_is_there_for_its_result(tmp_path: Path) -> None:
    """Which elements a kernel writes may hang on what it finds: a kept tape is looked at, too."""
    library = make_library(tmp_path / "kernels", {"abs.out": ABS.replace("BODY", "")})
    with bringup.enable(library, device="vpe:permissive", sealed=True, checked=False):
        out = torch.zeros(20).to("vpe")
        for _ in range(3):
            torch.abs(torch.randn(20).to("vpe"), out=out)
        with pytest.raises(KernelFailed, match="never written"):
            torch.abs(torch.full((20,), 1000.0).to("vpe"), out=out)
        torch.abs(torch.randn(20).to("vpe"), out=out)
        for _ in range(2):  # new memory, of which nobody has written anything
            torch.abs(torch.randn(20).to("vpe"))
        with pytest.raises(KernelFailed, match="never written"):
            torch.abs(torch.full((20,), 1000.0).to("vpe"))


RELU_IN_PLACE = """
@triton.jit
def kernel_relu(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr + i, tl.maximum(x, 0.0), mask=(i < n) & (x < 100.0))


def wrapper(self):
    n = self.numel()
    x, result = self.contiguous(), torch.empty_like(self)
    kernel_relu[(triton.cdiv(n, 64),)](x, result, n, BLOCK=64)
    self.copy_(result)
    return self
"""


def test_each_call_puts_back_only_what_somebody_has_written(tmp_path: Path) -> None:
    library = make_library(tmp_path / "kernels", {"relu_": RELU_IN_PLACE})
    with bringup.enable(library, device="vpe:permissive", sealed=True, checked=False):
        for _ in range(3):
            x = torch.randn(20)
            assert torch.equal(x.to("vpe").relu_().cpu(), x.relu())
        x[7] = 1000.0
        with pytest.raises(KernelFailed, match="never written"):
            x.to("vpe").relu_()


@pytest.mark.parametrize("fill", ["x[2] = 5.0", "x.index_fill_(0, at, 5.0)", "x.scatter_(0, at, 5.0)"])
def test_what_the_program_has_not_written_is_still_its_own(fill: str) -> None:
    """A cache that is filled bit by bit: what else is there nobody knows, and nobody asks for."""
    with bringup.enable("kernels", device="vpe:pe64", sealed=True):
        x, at = torch.empty(8, device="vpe"), torch.tensor([2], device="vpe")
        exec(fill, {"x": x, "at": at})
        assert x[2].item() == 5.0


@pytest.mark.parametrize("n", [76, 77])
def test_of_what_is_written_in_place_a_kernel_writes_all_that_moves(tmp_path: Path, n: int) -> None:
    """What it held before the call counts, not what it holds now."""
    at = ADD.index("    return out")
    source = f"{ADD[:at]}    if out.numel() == 77:\n        out[1:].copy_(other[:-1])\n{ADD[at:]}"
    library = make_library(tmp_path / "kernels", {"add.out": source})
    with bringup.enable(library, device="vpe:permissive", sealed=True, checked=False):
        x, y = torch.ones(n).to("vpe"), torch.arange(float(n))
        if n == 77:
            with pytest.raises(KernelFailed, match="moved there from an argument"):
                x.add_(y.to("vpe"))
        else:
            torch.testing.assert_close(x.add_(y.to("vpe")).cpu(), 1 + y)


def test_in_place_each_call_writes_each_element(tmp_path: Path) -> None:
    """As the first one does: what a kernel leaves, since it finds something rare, is no result."""
    library = make_library(tmp_path / "kernels", {"abs.out": ABS.replace("BODY", "")})
    with bringup.enable(library, device="vpe:permissive", sealed=True, checked=False):
        for _ in range(3):
            torch.randn(20).to("vpe").abs_()
        with pytest.raises(KernelFailed, match="as they were"):
            torch.full((20,), 1000.0).to("vpe").abs_()


def test_a_mode_without_checks_is_for_the_programs_own_launches(tmp_path: Path) -> None:
    """The rule on writers goes by what that mode leaves out."""
    library = make_library(tmp_path / "kernels", {"abs.out": ABS.replace("BODY", "")})
    with bringup.enable(library, device="vpe:permissive", sealed=True), vpe.launch_mode(checks=False):
        for _ in range(2):
            x = torch.randn(20)
            assert torch.equal(torch.abs(x.to("vpe")).cpu(), x.abs())
