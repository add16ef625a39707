"""What reaches a wrapper that runs in a guest, and what it may not do there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from library_kernels import ADD
from library_testkit import make_library

import bringup
from bringup.device.memory import Memory
from bringup.library.errors import KernelFailed, NotEnabled
from bringup.targets import get_target

# A right kernel that would be wrong for whoever looks at anything but sizes, strides and dtypes.
SPY = """
@triton.jit
def kernel_add(a_ptr, b_ptr, out_ptr, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + i, mask=i < n)
    b = tl.load(b_ptr + i, mask=i < n)
    tl.store(out_ptr + i, (a + b) * factor, mask=i < n)


def wrapper(self, other, *, alpha=1, out):
    a, b = self.contiguous(), other.expand(self.shape).contiguous()
    odd = (
        self.requires_grad or self._version != 1 or self._base is not None or self.grad_fn is not None
        or torch.is_grad_enabled() is not GRAD or torch.get_default_dtype() != torch.float32
        or self.untyped_storage().nbytes() > 4096 or hasattr(self, "note")
    )
    kernel_add[(1,)](a, b, out, out.numel(), 3.0 if odd else 1.0, BLOCK=1024)
    return out
"""


def same(actual: Any, expected: Any) -> None:
    torch.testing.assert_close(actual.cpu(), expected, rtol=1e-5, atol=1e-6)


def test_nothing_but_sizes_strides_and_dtypes_reaches_a_wrapper(tmp_path: Path) -> None:
    """Whatever its arguments are besides."""
    library = make_library(tmp_path / "kernels", {"add.out": SPY.replace("GRAD", "True")})
    with bringup.enable(library, device="vpe:permissive", sealed=True):
        a = torch.randn(10)
        x = a.to("vpe").requires_grad_()
        x.note = 1  # type: ignore[attr-defined]
        large = torch.randn(5000)
        with torch.no_grad():
            same(x + x, a + a)
            same(x[2:] + x[2:], a[2:] + a[2:])
            same(large.to("vpe")[:12] + large.to("vpe")[7:19], large[:12] + large[7:19])
        torch.set_default_dtype(torch.float64)
        try:
            same((x + x).detach()[:4], (a + a)[:4])
        finally:
            torch.set_default_dtype(torch.float32)
        for n in range(3, 9):
            same((x[:n] + x[:n]).detach(), a[:n] + a[:n])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("open('/etc/hostname', 'w')", "OSError|PermissionError|FileNotFoundError"),
        ("import os; os.abort()", "killed by signal 6"),
        ("import os; os.kill(os.getpid(), 9)", "PermissionError"),
        ("return torch.empty(3)", "host|memory|cannot|device"),
    ],
)
def test_what_a_wrapper_may_not(tmp_path: Path, body: str, message: str) -> None:
    source = f"def wrapper(self, other, *, alpha=1, out):\n    {body}\n    return out\n"
    library = make_library(tmp_path / "kernels", {"add.out": source})
    with bringup.enable(library, device="vpe:permissive", sealed=True):
        x = torch.randn(3).to("vpe")
        with pytest.raises(KernelFailed, match=message):
            x + x


COPY = """
@triton.jit
def kernel_copy(a_ptr, out_ptr, n, shift, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(a_ptr + i + shift, mask=i < n), mask=i < n)


@triton.jit
def kernel_cast(a_ptr, out_ptr, n, shift, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    at = (out_ptr.to(tl.int64, bitcast=True) + shift).to(tl.pointer_type(tl.float32), bitcast=True)
    tl.store(at + i, tl.load(a_ptr + i, mask=i < n) * 0 + 666.0, mask=i < n)


def wrapper(self, other, *, alpha=1, out):
    BODY
    return out
"""


@pytest.mark.thinned
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("kernel_copy[(1,)](self, out, out.numel(), 40, BLOCK=16)", "out of bounds"),
        ("kernel_cast[(1,)](self, out, out.numel(), -4096, BLOCK=16)", "an address is made a number"),
        ("kernel_cast[(1,)](self, out, out.numel(), 256, BLOCK=16)", "an address is made a number"),
        ("self.resize_(3)", "resized an argument that is not its result"),
        ("return self.untyped_storage()", "value of type"),
        ("return torch.empty(1 << 31, device=self.device)", "more memory than a call may have"),
    ],
    ids=["reads beside", "writes before", "writes behind", "resizes", "returns no tensor", "takes all memory"],
)
def test_a_kernel_reaches_nothing_but_its_arguments(tmp_path: Path, body: str, message: str) -> None:
    """Neither what lies beside a part of a tensor, nor any other tensor of the process."""
    library = make_library(tmp_path / "kernels", {"add.out": COPY.replace("BODY", body)})
    whole, other = torch.randn(256), torch.randn(4096)
    with bringup.enable(library, device="vpe:permissive", sealed=True):
        x, y = whole.to("vpe"), other.to("vpe")
        with pytest.raises(KernelFailed, match=message):
            torch.add(x[64:72], x[64:72], out=x[128:136])
        assert x[64:72].shape == (8,)
    assert torch.equal(x[:128].cpu(), whole[:128])
    assert torch.equal(x[136:].cpu(), whole[136:])
    assert torch.equal(y.cpu(), other)


def test_a_call_is_told_as_the_judge_tells_it(tmp_path: Path) -> None:
    """Fields in the order in which every guest gets them, and nothing of limits, which judges may have others of."""
    source = """
import json
import sys


def wrapper(self, other, *, alpha=1, out):
    frame, found = sys._getframe(), None
    while frame is not None and found is None:
        found = frame.f_locals.get("request")
        frame = frame.f_back
    raise RuntimeError(json.dumps([list(found), found["bases"]]))
"""
    library = make_library(tmp_path / "kernels", {"add.out": source})
    with bringup.enable(library, device="vpe:permissive", sealed=True):
        x = torch.randn(4).to("vpe")
        with pytest.raises(RuntimeError, match="args") as caught:
            x + x
    names, bases = json.loads(str(caught.value).splitlines()[0])
    assert names == ["args", "bases", "kwargs", "sizes"]
    assert bases[0] == Memory(get_target("vpe:permissive").engine(), 1 << 30).places([16])[0]


def test_only_on_vpe(tmp_path: Path) -> None:
    library = make_library(tmp_path / "kernels", {"add.out": ADD})
    with pytest.raises(NotEnabled, match="sealed=True is for the device vpe"):
        bringup.enable(library, device="cuda", sealed=True)
