"""Copies keep elements whole: where elements are told by arguments, kernels and results, before a copy or after it."""

from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bringup.device.elements import PARTS, Elements, element_bytes, pointed_bytes
from bringup.device.wire import Descriptor

X, OUT, ROOM, MORE = 1 << 20, 2 << 20, 3 << 20, 4 << 20
BYTES = 72  # of each storage


def part(base: int, offset: int, dtype: str, size: tuple[int, ...], stride: tuple[int, ...]) -> Descriptor:
    return Descriptor(base, base + offset, dtype, size, stride)


def copy(elements: Elements, source: tuple[object, ...], target: tuple[object, ...], base: int = ROOM) -> str:
    return elements.copied(part(base, *source), BYTES, part(OUT, *target))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("width", "out", "source", "target", "right"),
    [
        # Bytes of int32 one place up: times 256.
        (4, 4, (0, "uint8", (9, 3), (4, 1)), (1, "uint8", (9, 3), (4, 1)), False),
        (4, 4, (0, "int32", (9,), (1,)), (4, "int32", (9,), (1,)), True),
        # All bytes of a run, by whole elements further on.
        (4, 4, (0, "uint8", (36,), (1,)), (8, "uint8", (36,), (1,)), True),
        # The low halves of doubles, side by side; in their places.
        (8, 4, (0, "int32", (9,), (2,)), (0, "int32", (9,), (1,)), False),
        (8, 8, (0, "int32", (9,), (2,)), (0, "int32", (9,), (2,)), False),
        (8, 8, (0, "int32", (9, 2), (2, 1)), (0, "int32", (9, 2), (2, 1)), True),
        # A byte of each number, for a result of bytes.
        (8, 1, (1, "uint8", (9,), (8,)), (0, "uint8", (9,), (1,)), False),
        # Truth values into numbers.
        (1, 8, (0, "uint8", (9,), (1,)), (0, "uint8", (9,), (8,)), False),
        (1, 8, (0, "uint8", (72,), (1,)), (0, "uint8", (72,), (1,)), True),
        # Rows of bytes out of wider rows.
        (1, 1, (0, "uint8", (9, 5), (8, 1)), (0, "uint8", (9, 5), (5, 1)), True),
        # Some elements out of the middle, and an odd number of them.
        (4, 4, (8, "float32", (3, 5), (6, 1)), (0, "float32", (3, 5), (5, 1)), True),
        (4, 4, (0, "uint8", (9, 0), (4, 1)), (1, "uint8", (9, 0), (4, 1)), True),
        # One byte into each of an element.
        (4, 4, (0, "uint8", (4,), (0,)), (0, "uint8", (4,), (1,)), False),
    ],
)
def test_copies_keep_elements_whole(
    width: int, out: int, source: tuple[object, ...], target: tuple[object, ...], right: bool
) -> None:
    elements = Elements([(OUT, out)])
    assert elements.launched([(ROOM, width)]) == ""
    assert copy(elements, source, target) == ("" if right else PARTS)


def test_what_a_kernel_takes_apart_is_its_own_work() -> None:
    elements = Elements([(X, 8), (OUT, 1), (MORE, 4)])
    assert elements.launched([(X, 4), (ROOM, 1), (MORE, 4)]) == ""  # truth values of the high words of int64
    assert copy(elements, (0, "uint8", (9,), (8,)), (0, "uint8", (9,), (1,))) == ""
    assert elements.copied(part(MORE, 4, "int32", (9,), (2,)), BYTES, part(MORE * 2, 0, "int32", (9,), (1,))) == ""


def test_a_kernel_that_recasts_pointers_may_look_at_larger_elements() -> None:
    elements = Elements([])
    assert elements.launched([(ROOM, 1)]) == ""
    assert copy(elements, (0, "uint8", (9,), (1,)), (0, "uint8", (9,), (8,))) == ""
    assert elements.launched([(OUT, 1), (MORE, 8)], recast=True) == PARTS


def test_parts_stay_parts_when_they_are_copied_on() -> None:
    for out in (1, 8):
        elements = Elements([(X, out)])
        assert elements.launched([(ROOM, 1)]) == ""
        assert copy(elements, (0, "uint8", (9,), (1,)), (0, "uint8", (9,), (8,))) == ""
        whole = (0, "int64", (9,), (1,))
        said = elements.copied(part(OUT, *whole), BYTES, part(X, *whole))  # type: ignore[arg-type]
        assert said == ("" if out == 1 else PARTS)
        assert elements.returned(X, 0, 8, 8, (9,), (1,)) == ("" if out == 8 else PARTS)
    elements = Elements([])
    assert elements.launched([(ROOM, 4)]) == ""  # zeros of a float64 result, say
    assert elements.returned(ROOM, 0, 8, 8, (9,), (1,)) == ""


def test_an_odd_number_of_halves_may_end_with_its_storage() -> None:
    elements = Elements([(OUT, 8)])
    assert elements.launched([(ROOM, 8)]) == ""
    assert elements.copied(part(ROOM, 32, "int32", (1,), (1,)), 36, part(OUT, 32, "int32", (1,), (1,))) == ""
    assert elements.copied(part(ROOM, 32, "int32", (1,), (1,)), 40, part(OUT, 32, "int32", (1,), (1,))) == PARTS


def test_a_kernel_or_a_result_tells_of_elements_afterwards() -> None:
    elements = Elements([])
    assert elements.launched([(ROOM, 1)]) == ""
    assert copy(elements, (0, "uint8", (9,), (1,)), (0, "uint8", (9,), (8,))) == ""
    assert elements.returned(OUT, 0, 1, 1, (72,), (1,)) == ""
    assert elements.returned(OUT, 0, 8, 8, (9,), (1,)) == PARTS
    assert elements.launched([(OUT, 8)]) == PARTS
    elements.freed(OUT)
    assert elements.launched([(OUT, 8)]) == ""
    assert elements.returned(OUT, 1, 1, 1, (9,), (8,)) == PARTS  # a byte of each number
    assert elements.returned(OUT, 0, 4, 4, (9,), (1,)) == ""


def test_what_a_copy_brings_is_as_large_as_it_was() -> None:
    elements = Elements([])
    elements.launched([(ROOM, 8)])
    assert copy(elements, (0, "uint8", (72,), (1,)), (0, "uint8", (72,), (1,))) == ""
    assert elements.copied(part(OUT, 0, "uint8", (9,), (8,)), BYTES, part(MORE, 0, "uint8", (9,), (1,))) == PARTS


def test_bytes_of_elements() -> None:
    assert [element_bytes(one) for one in (torch.complex64, torch.float64, torch.bool)] == [4, 8, 1]
    kinds = {"*i1": 1, "*u8": 1, "*bf16": 2, "*fp32": 4, "*i64": 8, "*fp8e4nv": 1}
    assert {kind: pointed_bytes(kind) for kind in kinds} == kinds


SHAPES = st.lists(st.tuples(st.integers(1, 4), st.integers(0, 9), st.integers(1, 9)), min_size=1, max_size=3)


@given(
    SHAPES, st.sampled_from(["uint8", "int16", "int32"]), st.integers(0, 6), st.integers(0, 6),
    st.sampled_from([1, 2, 4, 8]), st.sampled_from([1, 2, 4, 8]),
)  # fmt: skip
def test_what_is_allowed_leaves_no_element_of_the_target_with_parts(
    dims: list[tuple[int, int, int]], dtype: str, first: int, begin: int, width: int, out: int
) -> None:
    item = getattr(torch, dtype).itemsize
    size, taken, put = (tuple(dim[n] for dim in dims) for n in range(3))
    source = part(ROOM, first * item, dtype, size, taken)
    target = part(OUT, begin * item, dtype, size, put)
    elements = Elements([(OUT, out)])
    elements.launched([(ROOM, width)])
    if elements.copied(source, 1 << 10, target):
        return
    came: dict[int, int] = {}
    for index in itertools.product(*(range(n) for n in (*size, item))):
        one, other = ([s * item for s in strides] + [1] for strides in (taken, put))
        at = begin * item + sum(i * s for i, s in zip(index, other, strict=True))
        came[at] = first * item + sum(i * s for i, s in zip(index, one, strict=True))
    largest = max(width, out)
    for at, origin in came.items():
        for other in range(at // largest * largest, at // largest * largest + largest):
            # All of an element of the target comes with it, in the order of the source.
            assert came.get(other) == origin + other - at
        assert (at - origin) % width == 0


def test_the_steps_of_complex_numbers_are_theirs() -> None:
    elements = Elements([])
    assert elements.launched([(ROOM, 8)]) == ""  # complex64 as int64
    assert elements.returned(ROOM, 0, 4, 8, (3, 3), (3, 1)) == ""
    assert elements.returned(ROOM, 0, 4, 8, (3,), (2,)) == ""
    assert elements.returned(ROOM, 4, 4, 8, (3,), (2,)) == PARTS
