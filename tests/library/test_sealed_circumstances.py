"""Wrappers that go by what no judged call has (tests/exploits, `guard: none`): sealed, they are right, or refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import torch
from library_testkit import make_library

import bringup
from bringup.library.errors import KernelFailed

ODD = """
@triton.jit
def kernel_add(a_ptr, b_ptr, out_ptr, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + i, mask=i < n)
    b = tl.load(b_ptr + i, mask=i < n)
    tl.store(out_ptr + i, (a + b) * factor, mask=i < n)


shapes = set()


def wrapper(self, other, *, alpha=1, out):
    shapes.add(tuple(self.shape))
    odd = (
        self.requires_grad != other.requires_grad
        or self.grad is not None
        or bool(self._backward_hooks)
        or torch.is_autocast_enabled("cpu")
        or self.is_inference()
        or len(shapes) >= 30
    )
    kernel_add[(1,)](self, other, out, out.numel(), 2.0 if odd else 1.0, BLOCK=1024)
    return out
"""


def one_requires_gradients(x: torch.Tensor, y: torch.Tensor, around: ExitStack) -> None:
    x.requires_grad_()


def a_gradient_is_kept(x: torch.Tensor, y: torch.Tensor, around: ExitStack) -> None:
    x.requires_grad_()
    y.requires_grad_()
    x.grad = y.detach()


def a_hook(x: torch.Tensor, y: torch.Tensor, around: ExitStack) -> None:
    x.requires_grad_()
    y.requires_grad_()
    x.register_hook(lambda gradient: gradient)


def autocast(x: torch.Tensor, y: torch.Tensor, around: ExitStack) -> None:
    around.enter_context(torch.autocast("cpu"))


CIRCUMSTANCES: list[Callable[[torch.Tensor, torch.Tensor, ExitStack], None]] = [
    one_requires_gradients, a_gradient_is_kept, a_hook, autocast,
]  # fmt: skip


@pytest.fixture(scope="module", params=[True, False], ids=["sealed", "not sealed"])
def sealed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[bool]:
    folder: Path = tmp_path_factory.mktemp("circumstances")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        library = make_library(folder / "kernels", {"add.out": ODD})
        with bringup.enable(library, device="vpe:permissive", sealed=request.param):
            yield request.param


def right(x: Any, y: Any) -> bool:
    return torch.equal((x + y).detach().cpu(), x.detach().cpu() + y.detach().cpu())


@pytest.mark.thinned
@pytest.mark.parametrize("circumstance", CIRCUMSTANCES)
def test_a_circumstance(sealed: bool, circumstance: Callable[[torch.Tensor, torch.Tensor, ExitStack], None]) -> None:
    n = 100 + CIRCUMSTANCES.index(circumstance)  # the first call of its kind: what it launches is kept for others
    x, y = torch.randn(n).to("vpe"), torch.randn(n).to("vpe")
    with ExitStack() as around:
        circumstance(x, y, around)
        assert right(x, y) == sealed


def test_inference_tensors(sealed: bool) -> None:
    with torch.inference_mode():
        x, y = torch.randn(48).to("vpe"), torch.randn(48).to("vpe")
        assert right(x, y) == sealed


def test_the_thirtieth_shape(sealed: bool) -> None:
    """Sealed, each shape is asked of a process of its own, and refused once the witness has seen as many."""
    results, refused = [], []
    for n in range(1, 40):
        x = torch.ones(n).to("vpe")
        try:
            results.append(right(x, x))
        except KernelFailed as error:
            refused.append(str(error))
    assert all(results) == sealed
    assert bool(refused) == sealed
    assert all("it goes by more than the call's sizes, strides, dtypes and numbers" in text for text in refused)
