"""The map of written bytes: what counts as written, which byte a fault names, and what a launch leaves in the map."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from whole import WHOLE

import bringup.vpe as vpe
from bringup.vpe import memory, native

LANES, ELEMENTS = 32, 100
DTYPES = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
# The codes of owners; what a borrow or a sign could make look like a zero; anything.
OWNERS = st.sampled_from([1, 2, 3, 0x11, 0x12, 0x13, 0x7F, 0x80, 0x81, 0xFE, 0xFF]) | st.integers(1, 255)


@triton.jit
def k_whole(x, o, at, on, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.load(x + i))


@triton.jit
def k_box(x, o, at, on, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.load(x + i, mask=i < n), mask=i < n)


@triton.jit
def k_masked(x, o, at, on, n, B: tl.constexpr):
    i = tl.arange(0, B)
    mask = tl.load(on + i) != 0
    tl.store(o + i, tl.load(x + i, mask=mask), mask=mask)


@triton.jit
def k_strided(x, o, at, on, n, B: tl.constexpr):
    i = tl.arange(0, B) * 3
    mask = tl.load(on + tl.arange(0, B)) != 0
    tl.store(o + i, tl.load(x + i, mask=mask), mask=mask)


@triton.jit
def k_listed(x, o, at, on, n, B: tl.constexpr):
    i = tl.load(at + tl.arange(0, B))
    tl.store(o + i, tl.load(x + i))


@triton.jit
def k_scalar(x, o, at, on, n, B: tl.constexpr):
    tl.store(o + n, tl.load(x + n))


@triton.jit
def k_atomic(x, o, at, on, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.atomic_add(x + i, 1, mask=i < n)


class Mapped:
    """A tensor with a map of written bytes."""

    def __init__(self, tensor, written):
        self.tensor, self.written, self.dtype = tensor, written, tensor.dtype

    def data_ptr(self):
        return self.tensor.data_ptr()


@pytest.fixture(autouse=True)
def _resolver(monkeypatch, permissive):
    def resolve(argument, pointer):
        if isinstance(argument, Mapped):
            storage = argument.tensor.untyped_storage()
            return memory.Buffer(storage.data_ptr(), storage.nbytes(), initialised=argument.written)
        return None

    monkeypatch.setattr(memory, "_resolvers", [resolve])


@dataclass
class Case:
    """One launch: where it begins, its lanes, and the maps of what it reads and writes."""

    size: int
    first: int
    n: int
    at: list[int]
    on: list[bool]
    source: np.ndarray
    target: np.ndarray

    def touched(self, kernel):
        """The bytes of the storage that the kernel accesses, in its order."""
        elements = {
            k_whole: range(LANES),
            k_box: range(self.n),
            k_masked: [i for i in range(LANES) if self.on[i]],
            k_strided: [3 * i for i in range(LANES) if self.on[i]],
            k_listed: self.at,
            k_scalar: [self.n],
            k_atomic: range(self.n),
        }[kernel]
        return [(self.first + i) * self.size + byte for i in elements for byte in range(self.size)]

    def launch(self, kernel):
        """The address of the fault within the source, or None."""
        x, o = (torch.zeros(ELEMENTS, dtype=DTYPES[self.size]) for _ in range(2))
        at, on = torch.tensor(self.at), torch.tensor(self.on, dtype=torch.int8)
        source, target = Mapped(x[self.first :], self.source), Mapped(o[self.first :], self.target)
        try:
            kernel[(1,)](source, target, at, on, self.n, B=LANES)
        except vpe.VpeFault as caught:
            fault = caught.dump
        else:
            return None
        assert fault["kind"] == "poison"
        return int(fault["address"], 16) - x.data_ptr()


@st.composite
def cases(draw, sizes):
    size = draw(st.sampled_from(sizes))
    nbytes = ELEMENTS * size
    source, target = (
        np.resize(np.array(draw(st.lists(OWNERS, min_size=1, max_size=40)), np.uint8), nbytes) for _ in range(2)
    )
    target[draw(st.lists(st.integers(0, nbytes - 1)))] = 0
    lanes = st.lists(st.integers(0, LANES - 1), min_size=LANES, max_size=LANES)
    on = draw(st.lists(st.booleans(), min_size=LANES, max_size=LANES))
    return Case(size, draw(st.integers(0, 5)), draw(st.integers(0, LANES)), draw(lanes), on, source, target)


def drawn(sizes):
    """Decorate a test with drawn launches and numbers to choose the bytes that nobody wrote by."""
    bytes_ = st.lists(st.integers(0, 1 << 16), max_size=3)
    quick = settings(
        max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True
    )
    return lambda test: quick(given(case=cases(sizes), zeros=bytes_)(test))


@pytest.mark.thinned
@pytest.mark.parametrize("kernel", [k_whole, k_box, k_masked, k_strided, k_listed, k_scalar])
@drawn(sizes=(1, 2, 4, 8))
def test_a_launch_reads_what_anybody_wrote_and_signs_what_it_writes(kernel, case, zeros):
    touched = case.touched(kernel)
    # half of them among the bytes read, the others anywhere
    for number in zeros:
        case.source[touched[number // 2 % len(touched)] if touched and number % 2 else number % len(case.source)] = 0
    source, target = case.source.copy(), case.target.copy()
    culprit = next((byte for byte in touched if not source[byte]), None)
    assert case.launch(kernel) == culprit
    if culprit is None:
        target[touched] = memory.LAUNCHED
    assert np.array_equal(case.source, source)
    assert np.array_equal(case.target, target)


@drawn(sizes=(4, 8))
def test_an_atomic_reads_and_signs(case, zeros):
    touched = case.touched(k_atomic)
    for number in zeros:
        case.source[number % len(case.source)] = 0
    expected = case.source.copy()
    culprit = next((byte for byte in touched if not expected[byte]), None)
    assert case.launch(k_atomic) == culprit
    expected[[byte for byte in touched if culprit is None or byte < culprit // case.size * case.size]] = memory.LAUNCHED
    assert np.array_equal(case.source, expected)


@pytest.mark.thinned
@pytest.mark.parametrize("size", [1, 2, 4, 8])
@pytest.mark.parametrize("kernel", [k_whole, k_strided, k_listed])
def test_each_byte_alone_is_found(kernel, size):
    every = list(range(LANES))
    case = Case(size, 1, 0, every[::-1], [True] * LANES, np.ones(ELEMENTS * size, np.uint8), np.zeros(800, np.uint8))
    for owner in (1, 0x80):
        for byte in case.touched(kernel)[:: 1 if WHOLE else 9]:  # 9: of every place in an element and in a word
            case.source[:] = owner
            case.source[byte] = 0
            assert case.launch(kernel) == byte


def test_a_map_that_is_used_again_is_clear():
    from bringup.vpe.device.allocator import Allocator

    allocator = Allocator()
    owner = allocator.allocate(100_000)
    first = owner.allocation.marks.ctypes.data
    owner.allocation.marks[:] = memory.UPLOADED
    for nbytes in (99_000, 100_000):
        del owner
        owner = allocator.allocate(nbytes)
        marks = owner.allocation.marks
        assert marks.ctypes.data == first
        assert not marks.any()
        owner.allocation.mark_written(10, 20)
        assert marks.sum() == 20 * memory.LAUNCHED
        del marks


def test_the_first_zero_byte_and_the_first_other_one_are_found_at_every_length() -> None:
    library = native.runtime()
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    next_zero, next_other = kind(library.address("vpe_next_zero")), kind(library.address("vpe_next_nonzero"))
    draw = np.random.default_rng(0)
    for _ in range(3000):
        n = int(draw.integers(0, 300))
        marks = draw.integers(1, 256, n + 1).astype(np.uint8)
        marks[draw.integers(0, n + 1, int(draw.integers(0, 4)))] = 0
        start = int(draw.integers(0, n + 1))
        first = next((i for i in range(start, n) if not marks[i]), n)
        assert next_zero(marks.ctypes.data, start, n) == first
        turned = np.where(marks, 0, draw.integers(1, 256, n + 1)).astype(np.uint8)
        assert next_other(turned.ctypes.data, start, n) == first
