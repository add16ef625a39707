"""Programs that run again after a fault end, whatever they meet then."""

from __future__ import annotations

import ctypes

import pytest
import torch
import triton
import triton.language as tl

import bringup.vpe as vpe
from bringup.vpe import dump, rerun
from bringup.vpe.lower import kernel

pytestmark = pytest.mark.usefixtures("pe64")


@triton.jit
def kernel_waits(x, flag, n, WAITS: tl.constexpr):
    """The first program faults once the second is through, which waits for a number that an atomic leaves."""
    p = tl.program_id(0)
    if p == WAITS:
        seen = tl.atomic_add(flag, 1)
        while seen < 1:
            seen = tl.atomic_add(flag, 1)
    if p == 0:
        tl.store(x + n, 1)


@pytest.mark.parametrize("waits", [0, 1])
def test_what_spins_without_atomics_ends(waits: int) -> None:
    """Where they are off a program may wait for ever: the one that has faulted, or one beside it."""
    x, flag = torch.zeros(64, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    with vpe.launch_mode(cycles=20_000_000), pytest.raises(vpe.VpeFault) as caught:
        kernel_waits[(4,)](x, flag, 1 << 20, WAITS=waits)
    assert caught.value.dump["kind"] == "out_of_bounds"
    assert caught.value.dump["other_faults"] == []


def test_a_dump_holds_so_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dump, "MOST_DUMPED", 64)
    with pytest.raises(vpe.VpeFault) as caught:
        kernel_waits[(4,)](torch.zeros(64, dtype=torch.int32), torch.zeros(1, dtype=torch.int32), 1 << 20, WAITS=9)
    [said] = caught.value.dump["variables"]
    assert "they take more than" in said["value"]


@triton.jit
def kernel_doubles(x, n, zero):
    t = tl.load(x)
    for _ in tl.static_range(60):
        t = t + t
    unused = t * (zero * 0)  # noqa: F841
    tl.store(x + n, t)


def test_a_dump_has_so_many_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values that the kernel itself never needed may be as large as they like."""
    monkeypatch.setattr(kernel, "MOST_DUMP_LINES", 10)
    with pytest.raises(vpe.VpeFault) as caught:
        kernel_doubles[(1,)](torch.zeros(64, dtype=torch.int32), 1 << 20, 0)
    [said] = caught.value.dump["variables"]
    assert "lines of code" in said["value"]


@triton.jit
def kernel_of_many(a, b, c, d, n):
    tl.store(a + n, tl.load(b) + tl.load(c) + tl.load(d))


def test_memory_is_put_back_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many arguments lie on it."""
    x, saved = torch.zeros(1 << 16, dtype=torch.int32), []
    real = ctypes.string_at
    monkeypatch.setattr(rerun.ctypes, "string_at", lambda base, size: saved.append(size) or real(base, size))
    with pytest.raises(vpe.VpeFault):
        kernel_of_many[(1,)](x, x, x, x, 1 << 20)
    assert len([size for size in saved if size == x.nbytes]) <= 2  # for the variables, and for programs beside it
