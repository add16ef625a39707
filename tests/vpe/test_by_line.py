"""Counters by line of the source: each line has what its operations counted, all lines together what the launch has."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

import bringup.vpe as vpe
from bringup.vpe import state
from bringup.vpe.layout import Counter

pytestmark = pytest.mark.usefixtures("pe64")


@triton.jit
def k_exp(x, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n)
    v = tl.exp(v)
    tl.store(o + i, v, mask=i < n)


@triton.jit
def _helper(v):
    return v * v + 1.0


@triton.jit(noinline=True)
def _apart(x, k):
    return tl.load(x + k)


@triton.jit
def k_loop(x, w, o, turns, B: tl.constexpr):
    i = tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    for k in range(turns):
        total += _helper(tl.load(x + k * B + i))
        total += _apart(w, k)
    if turns > 2:
        total = tl.exp(total * 1e-3)
    tl.store(o + i, total)
    tl.atomic_add(o + B, tl.sum(total, 0))


@triton.jit
def k_dot(a, b, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    at = i[:, None] * B + i[None, :]
    left = tl.load(a + at)
    total = tl.zeros((B, B), tl.float32)
    for _ in range(n):
        total = tl.dot(left, tl.load(b + at), total)
    tl.store(o + at, total)


def line_of(kernel, words):
    source, first = inspect.getsourcelines(kernel.fn)
    return next(first + n for n, text in enumerate(source) if words in text)


def counted(call):
    """The launch without counters by line, and with them."""
    vpe.clear_launches()
    call()
    with state.launch_mode(by_line=True):
        call()
    plain, by_line = vpe.last_launches()
    assert plain.per_line is None
    assert plain.lines == ()
    assert "lines" not in plain.as_dict()
    assert np.array_equal(by_line.per_line.sum(axis=1), plain.per_pe)
    assert by_line.modelled_seconds == plain.modelled_seconds
    whole = max(float(plain.cycles["total"].max()), plain.chip_cycles)
    assert sum(by_line.cycles_by_line().values()) == pytest.approx(whole)
    return by_line


def slot(stats, line, counter):
    return int(stats.per_line[:, stats.lines.index(line), counter].sum())


def test_loads_stores_and_special_functions_are_their_lines():
    n = 1 << 14
    x, o = torch.randn(n), torch.empty(n)
    stats = counted(lambda: k_exp[(n // 256,)](x, o, n, B=256))
    load, exp, store = (line_of(k_exp, words) for words in ("tl.load", "tl.exp", "tl.store"))
    assert slot(stats, load, Counter.BYTES_IN) == slot(stats, store, Counter.BYTES_OUT) == 4 * n
    assert slot(stats, exp, Counter.SPECIAL) == n
    assert slot(stats, 0, Counter.PROGRAMS) == n // 256
    assert slot(stats, exp, Counter.REQUESTS) == 0
    assert torch.allclose(o, x.exp(), rtol=1e-5)


def test_the_line_that_device_memory_waits_for_has_the_time():
    n = 1 << 18
    x, o = torch.randn(n), torch.empty(n)
    stats = counted(lambda: k_exp[(n // 4096,)](x, o, n, B=4096))
    cycles = stats.cycles_by_line()
    load, exp, store = (line_of(k_exp, words) for words in ("tl.load", "tl.exp", "tl.store"))
    if stats.chip_cycles > stats.cycles["total"].max():
        assert cycles[load] == pytest.approx(stats.chip_cycles / 2)
        assert cycles[exp] == 0
    assert cycles[load] == pytest.approx(cycles[store])


def test_loops_branches_helpers_and_functions_that_are_called_are_told_apart():
    turns, width = 5, 64
    x, w, o = torch.randn(turns * width), torch.randn(turns), torch.zeros(width + 1)
    stats = counted(lambda: k_loop[(1,)](x, w, o, turns, B=width))
    assert slot(stats, line_of(k_loop, "_helper(tl.load"), Counter.BYTES_IN) == 4 * turns * width
    assert slot(stats, line_of(_apart, "return tl.load"), Counter.BYTES_IN) == 4 * turns
    assert slot(stats, line_of(_helper, "return v"), Counter.VECTOR_32) == 2 * turns * width
    assert slot(stats, line_of(k_loop, "for k in"), Counter.TURNS) == turns
    assert slot(stats, line_of(k_loop, "tl.exp"), Counter.SPECIAL) == width
    assert slot(stats, line_of(k_loop, "tl.store"), Counter.BYTES_OUT) == 4 * width
    assert slot(stats, line_of(k_loop, "atomic_add"), Counter.ATOMICS) == 1


def test_a_matrix_product_in_a_loop_has_its_line():
    width, turns = 32, 50
    a, b, o = torch.randn(width, width), torch.randn(width, width), torch.empty(width, width)
    stats = counted(lambda: k_dot[(1,)](a, b, o, turns, B=width))
    line = line_of(k_dot, "tl.dot")
    assert slot(stats, line, Counter.DOT_FP32) == turns * width**3
    found = {one["line"]: one for one in stats.as_dict()["lines"]}
    assert max(found, key=lambda one: found[one]["cycles"]) == line
    assert found[line]["counters"]["dot_fp32"] == turns * width**3


def test_more_programs_than_threads_and_an_empty_grid():
    n = 1 << 12
    x, o = torch.randn(n), torch.empty(n)
    with state.launch_mode(threads=2):
        counted(lambda: k_exp[(n // 16,)](x, o, n, B=16))
    vpe.clear_launches()
    with state.launch_mode(by_line=True):
        k_exp[(0,)](x, o, n, B=16)
    assert vpe.last_launches()[0].as_dict().get("lines") is None


def test_a_fault_in_such_a_launch_is_told_as_any_other():
    x, o = torch.randn(64), torch.empty(64)
    with state.launch_mode(by_line=True), pytest.raises(vpe.VpeFault, match="out of bounds"):
        k_exp[(1,)](x, o, 1 << 20, B=1024)
    k_exp[(1,)](x, o, 64, B=64)
    assert torch.allclose(o, x.exp(), rtol=1e-5)
