"""Kernels whose Python runs in guests: what they compute, what they see, and what they cannot do."""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import torch
from library_kernels import ADD, binary
from library_testkit import dense, make_library

import bringup
from bringup.library._numbers import PROVED
from bringup.library._sealer import Sealer
from bringup.library.errors import KernelFailed


@pytest.fixture(scope="module")
def on(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("sealed") / "kernels"
    library = make_library(folder, {"add.out": ADD, "mul.out": binary("(va * vb).to(t)")})
    with bringup.enable(library, device="vpe:permissive", sealed=True) as enabled:
        yield enabled


def same(actual: Any, expected: Any) -> None:
    torch.testing.assert_close(actual.cpu(), expected, rtol=1e-5, atol=1e-6)


def test_a_call_of_the_same_kind_asks_no_guest(on: Any) -> None:
    before, modules = (on.sealer.asked, on.sealer.repeated), set(sys.modules)
    for _ in range(4):
        a, b = torch.randn(3, 4), torch.randn(4)
        same(a.to("vpe") + b.to("vpe"), a + b)
    assert (on.sealer.asked - before[0], on.sealer.repeated - before[1]) == (1, 3)
    assert f"sealed: {on.sealer.asked} calls asked a guest, {on.sealer.repeated} ran a kept tape" in on.report()
    assert not any(name.startswith("bringup_library.") for name in set(sys.modules) - modules)


def test_arguments_on_one_another_are_not_mixed_up_with_others(on: Any) -> None:
    a, b = torch.randn(8), torch.randn(8)
    for _ in range(2):
        x, y = a.to("vpe"), b.to("vpe")
        same(x + y, a + b)
        same(x + x, a + a)
        same(x.add_(y), a + b)
        same(y.add_(y), b + b)
        same(torch.add(y, x, out=x), b + b + a + b)


def test_parts_of_large_tensors_and_strides(on: Any) -> None:
    a = torch.randn(100, 7)
    x = a.to("vpe")
    for begin in (0, 1, 3, 16, 17):
        same(x[begin : begin + 9] + x[begin + 20 : begin + 29], a[begin : begin + 9] + a[begin + 20 : begin + 29])
        same(x[:, begin % 7] * x[:, 2], a[:, begin % 7] * a[:, 2])
    same(x.t()[1:, ::3] + 1, a.t()[1:, ::3] + 1)


def test_empty_tensors_and_numbers(on: Any) -> None:
    same(torch.empty(0, 3).to("vpe") + 1, torch.empty(0, 3))
    a = torch.randn(())
    same(a.to("vpe") + a.to("vpe"), a + a)


def added(on: Any, numbers: Sequence[float]) -> int:
    """How many guests are asked for sums with each of these numbers; all sums must be right."""
    a = torch.randn(5)
    x, before = a.to("vpe"), on.sealer.asked
    for alpha in numbers:
        same(torch.add(x, x, alpha=alpha), torch.add(a, a, alpha=alpha))
    return int(on.sealer.asked - before)


def test_numbers_are_left_open_when_they_have_moved_and_were_looked_into(on: Any) -> None:
    assert added(on, dense(0.26, 0.29)) == 2
    on.sealer.study.settle()
    assert added(on, dense(0.33, 0.37, 0.41, 0.43, 0.45, 0.47, 0.48)) == PROVED
    # They go up, so what comes between the next powers of 256 was looked into, and has to be proved.
    assert added(on, dense(0.52, 1.3, 200.3, 7.7, 9.9, 11.3)) == PROVED
    # Wrappers may treat these otherwise.
    assert added(on, [0.0, 1.0, 2.0, -0.3, float("inf")]) == 5
    assert added(on, [0.25, 0.34, 0.3400001, struct.unpack("f", struct.pack("f", 0.34))[0]]) == 4


def test_numbers_that_are_near_teach_right(on: Any) -> None:
    """They may be one in float32; then no word of a launch differs, and it would be the same for all others."""
    added(on, [0.1 - 2.46e-11 * n for n in range(4)])
    on.sealer.study.settle()
    assert added(on, dense(0.09, 0.08, 0.11, 0.12)) == 0


def test_strictly_sealed_no_number_is_left_open(tmp_path_factory: pytest.TempPathFactory) -> None:
    assert Sealer("vpe:permissive", strict=True).strict


def test_another_default_dtype_is_told_where_it_would_matter(on: Any) -> None:
    x, n = torch.randn(3).to("vpe"), torch.arange(3).to("vpe")
    torch.set_default_dtype(torch.float64)
    try:
        same((x + x).cpu(), x.cpu() + x.cpu())
        with pytest.raises(KernelFailed, match=r"the default dtype is torch\.float64"):
            n + n
    finally:
        torch.set_default_dtype(torch.float32)


def test_what_is_refused_is_said_as_by_the_wrapper(on: Any) -> None:
    with pytest.raises(RuntimeError, match="size of tensor a"):
        torch.randn(3).to("vpe") + torch.randn(4).to("vpe")


def test_backward_and_threads(on: Any) -> None:
    a = torch.randn(6, requires_grad=True)
    x = a.detach().to("vpe").requires_grad_()
    (a * a + a).backward(torch.ones(6))
    (x * x + x).backward(torch.ones(6).to("vpe"))
    assert a.grad is not None
    assert x.grad is not None
    same(x.grad, a.grad)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_has_guests_of_its_own(on: Any) -> None:
    a = torch.randn(11)
    pid = os.fork()
    if pid == 0:
        try:
            right = torch.equal((a.to("vpe") + a.to("vpe")).cpu(), a + a)
        except BaseException:
            right = False
        os._exit(0 if right else 1)
    assert os.waitpid(pid, 0)[1] == 0
    same(a[:9].to("vpe") + a[:9].to("vpe"), a[:9] + a[:9])
