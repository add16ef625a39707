"""Tensors laid down anew: the same values at other addresses, or fewer values at shared ones."""

from __future__ import annotations

import math
import random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bringup.judge._layouts import beside_itself, laid, overlapping, permuted, refolded, scattered, side_by_side

SHAPES = st.lists(st.integers(1, 5), min_size=0, max_size=6).map(tuple)
DTYPES = st.sampled_from([torch.float32, torch.bfloat16, torch.int64, torch.bool])
SEEDS = st.integers(0, 10**6)


def filled(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    return torch.arange(math.prod(shape)).reshape(shape).to(dtype)


def addresses(tensor: torch.Tensor) -> list[int]:
    found = torch.zeros(tensor.shape, dtype=torch.int64)
    for dim, (size, stride) in enumerate(zip(tensor.shape, tensor.stride(), strict=True)):
        found += (torch.arange(size) * stride).reshape([-1 if d == dim else 1 for d in range(tensor.dim())])
    return found.reshape(-1).tolist()


@given(SHAPES, DTYPES, SEEDS)
def test_values_stay_and_no_address_is_shared(shape: tuple[int, ...], dtype: torch.dtype, seed: int) -> None:
    tensor = filled(shape, dtype)
    for lay in (permuted, scattered):
        other = lay(tensor, random.Random(seed))
        assert other.shape == tensor.shape
        assert torch.equal(other, tensor)
        assert len(set(addresses(other))) == tensor.numel()


@given(SHAPES, SEEDS)
def test_a_permuted_tensor_is_dense_at_its_beginning_and_in_another_order(shape: tuple[int, ...], seed: int) -> None:
    tensor = filled(shape, torch.float32)
    other = permuted(tensor, random.Random(seed))
    assert other.storage_offset() == 0
    assert sorted(addresses(other)) == list(range(tensor.numel()))
    assert other.is_contiguous() == (sum(size > 1 for size in shape) < 2)


def test_dimensions_are_turned_in_a_circle_among_others() -> None:
    orders = {tuple(permuted(filled((2, 3, 4), torch.float32), random.Random(seed)).stride()) for seed in range(60)}
    assert {(1, 8, 2), (1, 2, 6), (3, 1, 6)} <= orders  # turned either way, and all dimensions reversed


def test_a_scattered_tensor_may_begin_and_end_its_memory_as_in_sealed_use() -> None:
    found = set()
    for seed in range(60):
        other = scattered(filled((3, 4), torch.float32), random.Random(seed))
        last = other.storage_offset() + max(addresses(other))
        found.add((other.storage_offset() == 0, last == other.untyped_storage().nbytes() // 4 - 1))
    assert len(found) == 4


def test_what_lies_between_is_poison() -> None:
    spread = laid(filled((2, 3), torch.float32), [0, 1], step=2, padding=1, offset=3)
    assert spread.stride() == (7, 2)
    assert spread.storage_offset() == 3
    memory = spread.as_strided((spread.untyped_storage().nbytes() // 4,), (1,), 0)
    assert int(memory.isnan().sum()) == memory.numel() - 6
    assert int(laid(filled((2,), torch.int32), [0], step=2).as_strided((3,), (1,), 0)[1]) == 2**31 - 1


@given(SHAPES, SEEDS)
def test_overlapping_tensors_share_addresses_and_hold_values_of_their_own(shape: tuple[int, ...], seed: int) -> None:
    tensor = filled(shape, torch.float32)
    other = overlapping(tensor, random.Random(seed))
    assert (other is None) == (tensor.numel() == 1)
    if other is not None:
        assert other.shape == tensor.shape
        assert len(set(addresses(other))) < tensor.numel() or sum(size > 1 for size in shape) > 1
        assert set(other.reshape(-1).tolist()) <= set(tensor.reshape(-1).tolist())


def test_windows_without_a_stride_of_zero_are_among_them() -> None:
    found = [overlapping(filled((4, 5, 3), torch.float32), random.Random(seed)) for seed in range(20)]
    windows = [t for t in found if t is not None and 0 not in t.stride()]
    assert windows
    assert all(len(set(addresses(t))) < t.numel() for t in windows)


@given(SHAPES, st.integers(2, 4), SEEDS)
def test_a_shape_is_folded_into_as_many_elements(shape: tuple[int, ...], rank: int, seed: int) -> None:
    sizes = refolded(torch.Size(shape), rank, random.Random(seed))
    if sizes is not None:
        assert len(sizes) == rank
        assert min(sizes) > 1
        assert math.prod(sizes) == math.prod(shape)


@pytest.mark.parametrize("shape", [(0, 3), (5, 5), (7,)])
def test_what_has_too_few_factors_is_not_folded(shape: tuple[int, ...]) -> None:
    assert refolded(torch.Size(shape), 3, random.Random(0)) is None


@given(SHAPES, SHAPES, SEEDS)
def test_two_tensors_lie_in_one_storage(shape: tuple[int, ...], other: tuple[int, ...], seed: int) -> None:
    one, two = filled(shape, torch.float32), -filled(other, torch.float32)
    left, right = side_by_side(one, two, random.Random(seed))
    assert torch.equal(left, one)
    assert torch.equal(right, two)
    assert left.untyped_storage().data_ptr() == right.untyped_storage().data_ptr()


@given(SHAPES, DTYPES, SEEDS)
def test_two_views_that_share_elements(shape: tuple[int, ...], dtype: torch.dtype, seed: int) -> None:
    tensor = filled(shape, dtype)
    found = beside_itself(tensor, tensor.shape, random.Random(seed))
    assert (found is None) == (tensor.numel() < 2)
    if found is not None:
        left, right, words = found
        assert left.shape == right.shape == tensor.shape
        assert left.dtype == right.dtype == tensor.dtype
        assert left.untyped_storage()._cdata == right.untyped_storage()._cdata != tensor.untyped_storage()._cdata
        assert (left.data_ptr(), left.stride()) != (right.data_ptr(), right.stride())
        assert torch.equal(left if "transpose" not in words else right, tensor)


def test_a_transpose_of_another_shape() -> None:
    found = beside_itself(filled((3, 5), torch.float32), torch.Size((5, 3)), random.Random(1))
    assert found is not None
    assert torch.equal(found[0], found[1].mT)
    assert beside_itself(filled((3, 5), torch.float32), torch.Size((3, 4)), random.Random(1)) is None
