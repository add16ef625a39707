"""When a sealed call is over, and where its data lie: neither is the wrapper's or the kernel's to say."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from library_testkit import make_library

import bringup
from bringup.library.errors import KernelFailed

KERNEL = """
@triton.jit
def kernel_add(a_ptr, b_ptr, out_ptr, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + i, mask=i < n)
    b = tl.load(b_ptr + i, mask=i < n)
    factor = tl.where({where}, factor, 2.0)
    tl.store(out_ptr + i, (a + b) * factor, mask=i < n)


def wrapper(self, other, *, alpha=1, out):
{body}
    kernel_add[(1,)](self, other, out, out.numel(), 1.0, BLOCK=1024)
    return out
"""
MORE_AFTER_THE_END = """
    from bringup.device.wire import Command
    kernel_add[(1,)](self, other, out, out.numel(), 2.0, BLOCK=1024)
    triton.runtime.driver.active.frontend.handles.stream.put(Command.RETURNED, b"")
"""


@pytest.mark.parametrize(
    ("where", "body", "words"),
    [
        ("n > 0", MORE_AFTER_THE_END, "it asks for more \\(LAUNCH\\) after it has returned"),
        ("(out_ptr.to(tl.int64) >> 40) == 0x50", "", "an address is made a number"),
    ],
    ids=["more after the end", "an address"],
)
@pytest.mark.thinned
def test_it_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, body: str, words: str) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    library = make_library(tmp_path / "kernels", {"add.out": KERNEL.format(where=where, body=body)})
    with bringup.enable(library, device="vpe:permissive", sealed=True):
        x = torch.randn(100).to("vpe")
        with pytest.raises(KernelFailed, match=words):
            _ = x + x
