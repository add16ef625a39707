"""Local memory: a block is read from room that was written for it, and that nobody else has by then."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl

import bringup.vpe as vpe
from bringup.vpe.lower.core import Lowering
from bringup.vpe.lower.plan import Plan

pytestmark = pytest.mark.usefixtures("pe64")


@triton.jit
def kernel_walk(y, n, least):
    walk = (tl.arange(0, 4) * 100)[:, None] + tl.arange(0, 16)[None, :]
    for i in range(n):
        flat = tl.reshape(walk, [64])
        tl.store(y + i * 64 + tl.arange(0, 64), flat)
        tl.store(least + i, tl.min(flat, axis=0))
        walk += 1


def test_a_walk_that_a_loop_carries_has_room_where_it_is_reshaped() -> None:
    y, least = torch.zeros(256, dtype=torch.int32), torch.full((8,), -1, dtype=torch.int32)
    kernel_walk[(1,)](y, 4, least)
    walk = (torch.arange(4) * 100)[:, None] + torch.arange(16)[None, :]
    assert torch.equal(y.view(4, 4, 16), torch.stack([walk + i for i in range(4)]).int())
    assert least.tolist() == [0, 1, 2, 3, -1, -1, -1, -1]


@triton.jit
def kernel_twice(x, y):
    i = tl.arange(0, 64)
    first = tl.load(x + i)
    total = tl.sum(first, 0)
    other = tl.cumsum(first, 0)
    tl.store(y + i, other * total)


@pytest.mark.parametrize("fault", ["nobody has written", "was given back"])
def test_no_code_is_made_that_reads_what_is_not_there(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    """Defects of the planner end there: what lay in that room before is nobody's to see."""
    if fault == "was given back":
        lifetimes = Plan._lifetimes

        def shorter(self: Plan, func: object) -> None:
            lifetimes(self, func)  # type: ignore[arg-type]
            ends = self.dead_after
            self.dead_after = {value.op: [value] for dying in ends.values() for value in dying if value.op}

        monkeypatch.setattr(Plan, "_lifetimes", shorter)
    else:
        monkeypatch.setattr(Lowering, "allocate", lambda self, value: 0)
    x = torch.ones(64, dtype=torch.int32)
    with pytest.raises(vpe.VpeCompileError, match=fault):
        kernel_twice[(1,)](x, torch.zeros_like(x))


@triton.jit
def kernel_split(x, at, halves, later):
    i = tl.arange(0, 32)
    even, odd = tl.split(tl.reshape(tl.load(x + i), [16, 2]))
    j = tl.arange(0, 16)
    tl.store(halves + j, even)
    found = tl.load(x + tl.load(at + j))  # whose addresses are listed in local memory
    tl.store(later + j, odd * 2 + found)


def test_a_half_that_is_read_later_keeps_what_was_split() -> None:
    x, at = torch.arange(32, dtype=torch.int32), torch.arange(16).flip(0).to(torch.int32)
    halves, later = torch.zeros(16, dtype=torch.int32), torch.zeros(16, dtype=torch.int32)
    kernel_split[(1,)](x, at, halves, later)
    assert torch.equal(halves, x[::2])
    assert torch.equal(later, x[1::2] * 2 + x[at.long()])
