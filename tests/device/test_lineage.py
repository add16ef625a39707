"""No byte that a kernel wrote comes into a result twice, however copies go, and honest copies go as they like."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bringup.device import lineage
from bringup.device.lineage import Lineage, carried
from bringup.device.memory import WRITER, Block
from bringup.device.wire import Descriptor
from bringup.vpe.memory import LAUNCHED, SPREAD

N, LARGE = 8, 64


class Call:
    """Storages of a call, copies among them, and whether a result is multiplied."""

    def __init__(self) -> None:
        self.lineage = Lineage()
        self.blocks: list[Block] = []

    def storage(self, nbytes: int) -> int:
        number = len(self.blocks)
        self.blocks.append(Block((number + 1) << 20, nbytes, number + 1, "guest", np.zeros(nbytes, np.uint8)))
        return number

    def written(self, number: int, first: int = 0, count: int = N) -> None:
        """A kernel writes bytes of a storage."""
        self.blocks[number].written_by[first : first + count] = LAUNCHED

    def copy(self, source: int, target: int, at: int = 0, to: int = 0, count: int = N) -> None:
        """As the device's process does it."""
        one, other = self.blocks[source], self.blocks[target]
        taken = Descriptor(one.base, one.base + at, "uint8", (count,), (1,))
        put = Descriptor(other.base, other.base + to, "uint8", (count,), (1,))
        writers = one.written_by[at : at + count].reshape(count, 1)
        found = carried(self.lineage, None, taken, one, put, other, writers)
        other.written_by[to : to + count] = found.reshape(-1)

    def multiplied(self, *results: int) -> bool:
        blocks = [self.blocks[number] for number in results]
        if any((block.written_by & WRITER == SPREAD).any() for block in blocks):
            return True
        outputs = [
            {"storage": place, "width": 1, "offset": 0, "size": [block.nbytes], "stride": [1]}
            for place, block in enumerate(blocks)
        ]
        return bool(self.lineage) and self.lineage.multiplied(blocks, outputs)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lineage, "MOST_TRACED", LARGE - 1)


def doubled_in_one(call: Call, size: int) -> list[int]:
    out = call.storage(size)
    call.written(out)
    call.copy(out, out, 0, N)
    return [out]


def doubled_by_a_detour(call: Call, size: int) -> list[int]:
    """Small ones double, a large one carries what comes of it."""
    part, middle, large, out = call.storage(N), call.storage(2 * N), call.storage(size), call.storage(2 * N)
    call.written(part)
    call.copy(part, middle)
    call.copy(part, middle, 0, N)
    call.copy(middle, large, count=2 * N)
    call.copy(large, out, count=2 * N)
    return [out]


def one_by_one(call: Call, size: int) -> list[int]:
    """Each time the same byte goes its way over a storage that is new."""
    part, out = call.storage(N), call.storage(2 * N)
    call.written(part)
    for to in (0, N):
        middle, large = call.storage(N), call.storage(size)
        call.copy(part, middle)
        call.copy(middle, large)
        call.copy(large, out, to=to)
    return [out]


def kept_and_carried(call: Call, size: int) -> list[int]:
    """A result is what was written, another one came of it by way of a large storage."""
    part, large, out = call.storage(N), call.storage(size), call.storage(N)
    call.written(part)
    call.copy(part, large)
    call.copy(large, out)
    return [part, large]


def block_by_block(call: Call, size: int) -> list[int]:
    """Out of a result, far away and back into it, behind what was there."""
    out, far = call.storage(4 * N), call.storage(size)
    call.written(out)
    for step in range(3):
        call.copy(out, far, at=step * N)
        call.copy(far, out, to=(step + 1) * N)
    return [out]


def there_and_back(call: Call, size: int) -> list[int]:
    """What came back is taken on, and both are in the result."""
    part, far, near, out = call.storage(N), call.storage(size), call.storage(N), call.storage(2 * N)
    call.written(part)
    call.copy(part, far)
    call.copy(far, near)
    call.copy(near, out)
    call.copy(out, out, to=N)
    return [out]


def beside_itself(call: Call, size: int) -> list[int]:
    """One copy goes straight, one by a detour over two more."""
    part, far, farther, out = call.storage(N), call.storage(size), call.storage(size), call.storage(2 * N)
    call.written(part)
    call.copy(part, out)
    call.copy(part, far)
    call.copy(far, farther)
    call.copy(farther, out, to=N)
    return [out]


WAYS = [
    doubled_in_one,
    doubled_by_a_detour,
    one_by_one,
    kept_and_carried,
    block_by_block,
    there_and_back,
    beside_itself,
]


@pytest.mark.parametrize("size", [2 * N, LARGE])
@pytest.mark.parametrize("way", WAYS)
def test_what_copies_multiply_is_found(way: Callable[[Call, int], list[int]], size: int) -> None:
    call = Call()
    assert call.multiplied(*way(call, size))


def a_chain(call: Call, size: int) -> list[int]:
    one, two, out = call.storage(size), call.storage(size), call.storage(N)
    call.written(one)
    call.copy(one, two)
    call.copy(two, out)
    return [out]


def a_workspace_used_twice(call: Call, size: int) -> list[int]:
    part, out = call.storage(size), call.storage(2 * N)
    for to in (0, N):
        call.written(part)
        call.copy(part, out, to=to)
    return [out]


def a_part_taken_for_later(call: Call, size: int) -> list[int]:
    """A scan in two halves: the second half begins with what the first has come to."""
    half, out, carry = call.storage(N), call.storage(2 * N), call.storage(size)
    call.written(half)
    call.copy(half, out)
    call.copy(out, carry, N - 1, count=1)
    call.written(half)
    call.copy(half, out, to=N)
    return [out]


def ping_pong(call: Call, size: int) -> list[int]:
    one, two = call.storage(size), call.storage(size)
    for _ in range(3):
        call.written(one)
        call.copy(one, two)
        call.written(two)
        call.copy(two, one)
    return [one]


def by_way_of_a_large_one(call: Call, size: int) -> list[int]:
    """A result is put together far away, and comes back whole."""
    part, far, out = call.storage(N), call.storage(size), call.storage(2 * N)
    for to in (0, N):
        call.written(part)
        call.copy(part, far, to=to)
    call.copy(far, out, count=2 * N)
    return [out]


HONEST = [a_chain, a_workspace_used_twice, a_part_taken_for_later, ping_pong, by_way_of_a_large_one]


@pytest.mark.parametrize("size", [2 * N, LARGE])
@pytest.mark.parametrize("way", HONEST)
def test_what_they_do_not_is_not(way: Callable[[Call, int], list[int]], size: int) -> None:
    call = Call()
    assert not call.multiplied(*way(call, size))


MOVES = st.one_of(
    st.tuples(st.just("write"), st.integers(0, 3), st.integers(0, 11), st.integers(1, 4)),
    st.tuples(st.integers(0, 3), st.integers(0, 11), st.integers(0, 3), st.integers(0, 11), st.integers(1, 4)),
)


@pytest.mark.parametrize("large", [(), (2,), (2, 3), (0, 1, 2, 3)])
@given(moves=st.lists(MOVES, max_size=14), results=st.sets(st.integers(0, 3), min_size=1, max_size=2))
@settings(max_examples=300, deadline=None)
def test_whatever_copies_do(large: tuple[int, ...], moves: list[Any], results: set[int]) -> None:
    """Beside tokens of the bytes: what is there twice is found, and where all have numbers nothing else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lineage, "MOST_TRACED", LARGE - 1)
        call = Call()
        for number in range(4):
            call.storage(LARGE if number in large else 16)
        tokens, fresh = [[0] * block.nbytes for block in call.blocks], iter(range(1, 1000))
        for move in moves:
            if move[0] == "write":
                _, number, first, count = move
                call.written(number, first, count)
                tokens[number][first : first + count] = itertools.islice(fresh, count)
            else:
                source, at, target, to, count = move
                if source == target and abs(at - to) < count:
                    continue
                call.copy(source, target, at, to, count)
                tokens[target][to : to + count] = tokens[source][at : at + count]
        held = [token for number in results for token in tokens[number] if token]
        doubled = len(held) != len(set(held))
        found = call.multiplied(*sorted(results))
        assert found or not doubled
        if not large:
            assert found == doubled


def test_what_is_freed_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lineage, "MOST_NUMBERED", 3 * N)
    call = Call()
    for _ in range(10):
        one, two = call.storage(N), call.storage(N)
        call.written(one)
        call.copy(one, two)
        assert not call.multiplied(two)
        for number in (one, two):
            call.lineage.freed(call.blocks[number].base)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(0, 60), max_size=9), max_size=12), st.lists(st.integers(0, 60), max_size=20))
def test_numbers_are_those_that_were_added(added: list[list[int]], asked: list[int]) -> None:
    numbers = lineage.Numbers()
    for some in added:
        numbers.add(np.sort(np.array(some, np.uint32)))
    known = set(itertools.chain(*added))
    assert len(numbers) == sum(map(len, added))
    assert numbers.holds(np.array(asked, np.uint32)).tolist() == [one in known for one in asked]


def test_few_numbers_beside_many_are_looked_up_in_few_steps() -> None:
    """A copy of four bytes beside sixty million that went where nobody follows them is no matter of these."""
    numbers = lineage.Numbers()
    numbers.add(np.arange(1 << 24, dtype=np.uint32))
    some = np.arange(4, dtype=np.uint32)
    begin = time.process_time()
    for _ in range(1000):
        assert numbers.holds(some).all()
        numbers.add(some)
    assert time.process_time() - begin < 2  # 0.2 s a look, where all are looked through
