"""What copies may do where moving elements is the operator: checked against where each element comes to lie."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bringup.device import space
from bringup.device.order import MADE, Order
from bringup.device.wire import Descriptor

BASE, OTHER = space.MIDDLE + (1 << 20), 1 << 24  # of an argument, of a buffer that the call has made
WIDTH = 4


def tensor(base: int, size: tuple[int, ...], stride: tuple[int, ...], offset: int = 0) -> Descriptor:
    return Descriptor(base, base + offset * WIDTH, "float32", size, stride)


def dense(size: tuple[int, ...], order: tuple[int, ...] | None = None) -> tuple[int, ...]:
    """Strides of a tensor without gaps, whose dimensions lie in this order."""
    stride, step = [0] * len(size), 1
    for dim in reversed(order if order is not None else range(len(size))):
        stride[dim], step = step, step * size[dim]
    return tuple(stride)


def elements(one: Descriptor) -> list[int]:
    """Addresses of the elements, row by row."""
    return [
        one.address + WIDTH * sum(i * s for i, s in zip(index, one.stride, strict=True))
        for index in itertools.product(*map(range, one.size))
    ]


def order_of(*arguments: Descriptor, results: tuple[tuple[int, ...], ...] = ()) -> Order:
    return Order([(one.address, one.size, one.stride, WIDTH) for one in arguments], results)


def keeps(source: Descriptor, target: Descriptor, *arguments: Descriptor) -> bool:
    return order_of(*arguments).keeps(source, target, math.prod(target.size) * WIDTH)


X = tensor(BASE, (4, 6), (6, 1))
TURNED = tensor(BASE, (6, 4), (1, 6))
PART = tensor(BASE, (4, 3), (6, 1))


@pytest.mark.parametrize(
    ("source", "target", "argument"),
    [
        (X, tensor(OTHER, (4, 6), (6, 1)), X),
        (tensor(BASE, (2, 2, 6), (12, 6, 1)), tensor(OTHER, (2, 2, 6), (12, 6, 1)), X),  # a view that keeps the order
        (TURNED, tensor(OTHER, (6, 4), (4, 1)), TURNED),  # contiguous()
        (TURNED, tensor(OTHER, (6, 4), (1, 6)), TURNED),  # clone()
        (PART, tensor(OTHER, (4, 3), (3, 1)), PART),
        (tensor(BASE, (4, 6), (0, 1)), tensor(OTHER, (4, 6), (6, 1)), tensor(BASE, (4, 6), (0, 1))),
        (tensor(BASE, (2, 6), (6, 1), 6), tensor(OTHER, (2, 6), (6, 1)), X),  # rows: one run of memory
        (tensor(BASE, (6, 2), (1, 6), 6), tensor(OTHER, (6, 2), (1, 6)), X),  # the same, lying as they lay
        (tensor(OTHER, (6, 4), (4, 1)), TURNED, TURNED),  # a result into out=
        (tensor(OTHER, (6, 4), (1, 6)), TURNED, TURNED),
        (tensor(OTHER, (2, 3), (3, 1)), tensor(BASE, (2, 3), (3, 1)), X),  # into out=, resized
        (TURNED, tensor(OTHER, (6, 4), (4, 1)), X),  # whole dimensions of an argument change places
        (X, tensor(OTHER, (4, 6), (1, 4)), X),
        (tensor(OTHER, (), ()), tensor(BASE, (), ()), tensor(BASE, (), ())),
    ],
)  # fmt: skip
def test_a_tensor_may_be_laid_down_again(source: Descriptor, target: Descriptor, argument: Descriptor) -> None:
    assert keeps(source, target, argument)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (tensor(BASE, (2, 2, 6), (6, 12, 1)), tensor(OTHER, (2, 2, 6), (12, 6, 1))),  # half of a dimension
        (tensor(BASE, (2, 2, 6), (12, 6, 1)), tensor(OTHER, (2, 2, 6), (6, 12, 1))),
        (tensor(BASE, (6, 3), (1, 6)), tensor(OTHER, (6, 3), (3, 1))),  # a part of an argument, turned
        (PART, tensor(OTHER, (4, 3), (3, 1))),  # columns
        (tensor(BASE, (2, 6), (12, 1)), tensor(OTHER, (2, 6), (6, 1))),  # every second row
        (tensor(BASE, (4,), (7,)), tensor(OTHER, (4,), (1,))),  # a diagonal
        (tensor(BASE, (2, 4, 6), (0, 6, 1)), tensor(OTHER, (2, 4, 6), (24, 6, 1))),  # repeated
        (tensor(BASE, (5, 2), (1, 1)), tensor(OTHER, (5, 2), (2, 1))),  # windows
        (tensor(OTHER, (6, 4), (1, 6)), tensor(BASE, (6, 4), (4, 1))),  # transposed into an argument
        (tensor(OTHER, (2, 3), (3, 1)), tensor(BASE, (2, 3), (3, 1), 2)),  # into the midst of one
    ],
)
def test_what_moves_elements_is_refused(source: Descriptor, target: Descriptor) -> None:
    assert not keeps(source, target, X)


def test_a_copy_fills_its_buffer() -> None:
    row = tensor(BASE, (6,), (1,))
    assert order_of(X).keeps(row, tensor(OTHER, (6,), (1,)), 24)
    assert not order_of(X).keeps(row, tensor(OTHER, (6,), (1,)), 28)
    assert not order_of(X).keeps(row, tensor(OTHER, (6,), (1,), 1), 28)
    assert not order_of(X).keeps(row, tensor(OTHER, (6,), (2,)), 24)


@st.composite
def copies(draw: st.DrawFn) -> tuple[Descriptor, Descriptor, Descriptor]:
    """An argument, some view of its memory, and all of a buffer in some layout."""
    size = tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)))
    argument = tensor(BASE, size, dense(size, tuple(draw(st.permutations(range(len(size)))))))
    if draw(st.booleans()):  # with gaps
        argument = tensor(BASE, size, tuple(2 * step for step in argument.stride))
    sizes, steps, offset = list(size), list(argument.stride), 0
    for dim in range(len(size)):
        if draw(st.integers(0, 3)) == 0:
            first = draw(st.integers(0, sizes[dim] - 1))
            offset += first * steps[dim]
            sizes[dim] -= first
        if draw(st.integers(0, 7)) == 0:
            steps[dim] = draw(st.integers(0, 3))
    turned = draw(st.permutations(range(len(size)))) if draw(st.booleans()) else range(len(size))
    source = tensor(BASE, tuple(sizes[d] for d in turned), tuple(steps[d] for d in turned), offset)
    layout = tuple(draw(st.permutations(range(len(size)))))
    return argument, source, tensor(OTHER, source.size, dense(source.size, layout))


def test_what_a_kernel_wrote_is_turned_into_no_buffer() -> None:
    """A kernel that changes nothing, and another such copy, would put it anywhere, with whatever sizes."""
    made, straight = tensor(OTHER, (3, 2), (1, 3)), tensor(OTHER << 1, (3, 2), (2, 1))
    assert not order_of(X, results=((3, 2),)).keeps(made, straight, 24)
    again = tensor(OTHER << 1, (3, 2), (1, 3))
    assert order_of(X, results=((3, 2),)).keeps(made, again, 24)


def test_it_is_turned_into_an_argument_as_that_lies_and_once() -> None:
    made, put = tensor(OTHER, (6, 4), (4, 1)), TURNED
    order = order_of(X, put, results=((6, 4),))
    assert order.keeps(made, put, 96)
    for target, odd in ((put, ""), (tensor(OTHER << 1, (6, 4), (4, 1)), ""), (put, MADE)):
        order.laid(made, target, again=False, made=True)
        assert order.odd == odd


def test_an_argument_that_a_kernel_has_written_is_turned_no_more() -> None:
    order, buffer = order_of(TURNED), tensor(OTHER, (6, 4), (4, 1))
    assert order.keeps(TURNED, buffer, 96)
    for made in (False, True):
        order.laid(TURNED, buffer, again=False, made=made)
        assert order.odd == (MADE if made else "")


def test_a_run_of_what_kernels_wrote_begins_at_its_beginning() -> None:
    """Twice a row, of which a copy takes the middle: that would be `roll`."""
    for offset, right in ((0, True), (3, False)):
        source = tensor(OTHER, (6,), (1,), offset)
        assert order_of(X, results=((6,),)).keeps(source, tensor(OTHER << 1, (6,), (1,)), 24) is right


def permuted(whole: Descriptor) -> list[list[int]]:
    """The elements of a tensor, for each order of its dimensions."""
    return [
        elements(tensor(whole.base, tuple(whole.size[d] for d in dims), tuple(whole.stride[d] for d in dims)))
        for dims in itertools.permutations(range(len(whole.size)))
    ]


@given(copies())
def test_no_element_leaves_its_dimension(case: tuple[Descriptor, Descriptor, Descriptor]) -> None:
    """Read by address, the buffer then holds one run of memory, or all of the argument, its dimensions in any order."""
    argument, source, target = case
    found = [one for _, one in sorted(zip(elements(target), elements(source), strict=True))]
    run = found == list(range(found[0], found[0] + WIDTH * len(found), WIDTH))
    kept = keeps(source, target, argument)
    assert not kept or run or found in permuted(argument)
    same = source.size == argument.size and source.stride == argument.stride and source.address == argument.address
    assert kept or not (same or run)


def test_a_prefix_of_an_argument_is_no_place_of_its_own() -> None:
    argument = (BASE, (4, 6), (6, 1), 4)
    for length, results, right in ((24, [], True), (20, [], False), (20, [(4, 6)], False), (20, [(4, 5)], True)):
        source, target = tensor(OTHER, (length,), (1,)), tensor(BASE, (length,), (1,))
        assert Order([argument], results).keeps(source, target, 4 * 64) is right
