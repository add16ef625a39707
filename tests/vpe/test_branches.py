"""Texts with branches of their own, which Triton's front end makes no loops of."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

import bringup.vpe as vpe
from bringup.vpe import kernel, launch, memory, state
from bringup.vpe.compile import compile_ttir
from bringup.vpe.work import Budget

EXCHANGE = """
module {
  tt.func public @k(%out: !tt.ptr<i32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %low = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
    %high = tt.make_range {end = 32 : i32, start = 16 : i32} : tensor<16xi32>
    cf.br ^bb1(%c0, %low, %high : i32, tensor<16xi32>, tensor<16xi32>)
  ^bb1(%i: i32, %a: tensor<16xi32>, %b: tensor<16xi32>):
    %next = arith.addi %i, %c1 : i32
    %more = arith.cmpi slt, %next, %n : i32
    cf.cond_br %more, ^bb1(%next, %b, %a : i32, tensor<16xi32>, tensor<16xi32>), ^bb2
  ^bb2:
    %p = tt.splat %out : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
    %at = tt.addptr %p, %low : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
    tt.store %at, %a : tensor<16x!tt.ptr<i32>>
    %at2 = tt.addptr %p, %high : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
    tt.store %at2, %b : tensor<16x!tt.ptr<i32>>
    tt.return
  }
}
"""


def run(text: str, n: int) -> torch.Tensor:
    """What `k(out, n)` writes into int32[32]."""
    chip = state.profile_named("pe64")
    options = SimpleNamespace(arch=chip.name, profile=chip.digest, enable_scatter_stores=False)
    data, name, _ = compile_ttir(text, options)
    out = torch.zeros(32, dtype=torch.int32)
    packed = np.array([out.data_ptr(), n], np.int64)
    named = SimpleNamespace(name="k", constants={}, profile=chip)
    buffers = [memory.Buffer(out.data_ptr(), 128, "out")]
    launch.run(kernel.load(name, data), chip, (1, 1, 1), named, packed, buffers, Budget(10_000_000, "call"), 1)
    return out


def test_a_branch_hands_over_all_its_blocks_at_once() -> None:
    for turns in (1, 2, 3, 4):
        out = run(EXCHANGE, turns)
        blocks = torch.arange(32, dtype=torch.int32).split(16)
        assert torch.equal(out, torch.cat(blocks if turns % 2 else blocks[::-1]))


@triton.jit
def kernel_returns_early(x, n):
    if n > 5:
        first = tl.load(x)
        tl.store(x, first * 2)
        return
    found = tl.load(x + n)
    tl.store(x + 100_000 + found, found)


@pytest.mark.usefixtures("pe64")
def test_a_dump_behind_an_early_return_has_its_variables() -> None:
    x = torch.arange(8, dtype=torch.int32)
    with pytest.raises(vpe.VpeFault) as caught:
        kernel_returns_early[(1,)](x, 3)
    assert {one["name"]: one["value"] for one in caught.value.dump["variables"]}.keys() >= {"n", "found"}
    assert [one["value"] for one in caught.value.dump["variables"] if one["name"] == "found"] == [3]


TRUTH = """
module {
  tt.func public @k(%out: !tt.ptr<i32>, %n: i32) {
    %true = arith.constant true
    %signed = arith.extsi %true : i1 to i32
    %plain = arith.extui %true : i1 to i32
    %two = arith.addi %plain, %plain : i32
    %at = tt.addptr %out, %plain : !tt.ptr<i32>, i32
    tt.store %out, %signed : !tt.ptr<i32>
    tt.store %at, %two : !tt.ptr<i32>
    tt.return
  }
}
"""


def test_a_constant_truth_value_is_extended_by_its_sign() -> None:
    assert run(TRUTH, 0)[:2].tolist() == [-1, 2]


@triton.jit
def k_merged(x, o, n, N: tl.constexpr):
    i = tl.arange(0, N)
    one, other = tl.load(x + i), tl.load(x + N + i)
    if n == 5:
        tl.store(o + i, one + 1.0)
        return
    if n == 4:
        tl.store(o + i, other + 1.0)
        return
    tl.store(o + i, one + other)


@pytest.mark.usefixtures("pe64")
@pytest.mark.parametrize("n", [5, 4, 3])
def test_blocks_that_are_merged_take_tensors(n: int) -> None:
    """MLIR makes one block of the first two, and hands over which tensor it is."""
    x, o = torch.randn(128), torch.zeros(64)
    one, other = x.split(64)
    k_merged[(1,)](x, o, n, N=64)
    assert torch.equal(o, {5: one + 1, 4: other + 1, 3: one + other}[n])
