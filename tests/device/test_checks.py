"""The rules on what commands name, against sets of bytes."""

from __future__ import annotations

import contextlib
import itertools
import random
import time

import pytest

from bringup.device.checks import check_target, is_itself, item_bytes, shares
from bringup.device.wire import Descriptor, Malformed


def touched(tensor: Descriptor) -> list[int]:
    """Every byte of every element, as often as it is one."""
    width, found = item_bytes(tensor.dtype), []
    for index in itertools.product(*map(range, tensor.size)):
        first = tensor.address + width * sum(i * step for i, step in zip(index, tensor.stride, strict=True))
        found += range(first, first + width)
    return found


def pairs(count: int) -> list[tuple[Descriptor, Descriptor]]:
    chance, found = random.Random(1), []
    for _ in range(count):
        size = tuple(chance.randint(1, 4) for _ in range(chance.randint(0, 3)))
        stride, other = (tuple(chance.randint(0, 9) for _ in size) for _ in range(2))
        dtype = chance.choice(["float32", "int16", "uint8"])
        one, two = (64 + chance.randint(0, 12) * chance.choice([1, item_bytes(dtype)]) for _ in range(2))
        other = stride if chance.random() < 0.6 else other
        found.append((Descriptor(0, one, dtype, size, stride), Descriptor(0, two, dtype, size, other)))
    return found


def test_tensors_share_elements_where_they_share_bytes() -> None:
    yes = 0
    for source, target in pairs(4000):
        wanted = bool(set(touched(source)) & set(touched(target))) and not is_itself(source, target)
        assert shares(source, target) == wanted, (source, target)
        yes += wanted
    assert 1000 < yes < 3000


def test_a_target_whose_elements_lie_on_one_another_is_none() -> None:
    refused = 0
    for tensor, _ in pairs(2000):
        at = touched(tensor)
        if (tensor.address - tensor.base) % item_bytes(tensor.dtype) == 0:
            if len(set(at)) == len(at):
                check_target(tensor, 1024)
            else:
                refused += 1
                with pytest.raises(Malformed, match="on one another"):
                    check_target(tensor, 1024)
    assert refused > 200


def test_halves_of_a_large_matrix_need_no_map_of_it() -> None:
    """4 TiB: who made a map would not come back."""
    size, stride = (1 << 20, 1 << 19), (1 << 20, 1)
    left, right = (Descriptor(0, at << 21, "float32", size, stride) for at in (0, 1))
    assert not shares(left, right)
    assert shares(left, Descriptor(0, 4, "float32", size, stride))


def test_what_is_woven_too_finely_is_not_looked_at() -> None:
    rows = Descriptor(0, 0, "float32", (1 << 10, 1 << 10), (1 << 20, 1))
    columns = Descriptor(0, 4, "float32", (1 << 10, 1 << 10), (1, 1 << 20))
    with pytest.raises(Malformed, match="woven"):
        shares(rows, columns)
    with pytest.raises(Malformed, match="woven"):
        check_target(Descriptor(0, 0, "uint8", (1 << 15, 3), (1 << 14, 1 << 15)), 1 << 40)
    # Steps that are a little longer than what they pass over: two ways at each of them.
    stride = [1]
    while len(stride) < 28:
        stride.append(2 * stride[-1] + len(stride))
    dims = (2,) * len(stride), tuple(reversed(stride))
    reach = sum(stride)
    for apart in (reach // 3, reach // 5, reach // 2 + 1):
        began = time.monotonic()
        with contextlib.suppress(Malformed):
            shares(Descriptor(0, 0, "uint8", *dims), Descriptor(0, apart, "uint8", *dims))
        assert time.monotonic() - began < 5
