"""The allocator alone: bounds, red zones, poison, quarantine, statistics, threads, forks."""

from __future__ import annotations

import ctypes
import gc
import itertools
import os
import sys
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bringup.vpe.device.allocator import CANARY, POISON, Allocator, DeviceMemoryError, OutOfDeviceMemory, Owner


def read(address: int, nbytes: int) -> bytes:
    return ctypes.string_at(address, nbytes)


def write(address: int, value: int, nbytes: int = 1) -> None:
    ctypes.memset(address, value, nbytes)


@given(
    st.lists(st.integers(1, 5000), min_size=1, max_size=40),
    st.sampled_from([1, 16, 64, 256, 4096]),
    st.sampled_from([0, 64, 256]),
    st.randoms(use_true_random=False),
)
@settings(max_examples=60, deadline=None)
def test_allocations_are_aligned_apart_and_poisoned(
    sizes: list[int], alignment: int, red_zone: int, random: object
) -> None:
    allocator = Allocator(alignment, red_zone, quarantine=4096)
    alive: list[Owner] = []
    for size in sizes:
        owner = allocator.allocate(size)
        allocation = owner.allocation
        assert allocation.base % alignment == 0
        assert read(allocation.base, size) == bytes([POISON]) * size
        write(allocation.base, 7, size)
        alive.append(owner)
        if random.random() < 0.5:  # type: ignore[attr-defined]
            alive.pop(random.randrange(len(alive)))  # type: ignore[attr-defined]
    del owner
    allocator.check()
    spans = [(a.base - red_zone, a.end + red_zone) for a in allocator.live()]
    assert len(spans) == len(alive)
    for (_, end), (start, _) in itertools.pairwise(spans):
        assert end <= start
    for owner in alive:
        assert read(owner.allocation.base, owner.allocation.nbytes) == bytes([7]) * owner.allocation.nbytes
    assert allocator.statistics.allocated == sum(owner.allocation.nbytes for owner in alive)


@pytest.mark.parametrize("offset", [-1, -64, 100, 163])
def test_a_write_into_a_red_zone_is_found_once_and_located(offset: int) -> None:
    allocator = Allocator()
    owner = allocator.allocate(100)
    allocator.check()
    assert read(owner.allocation.base + offset, 1) == bytes([CANARY])
    write(owner.allocation.base + offset, 0)
    with pytest.raises(DeviceMemoryError, match=f"red zone .* allocation #1 of 100 bytes .* at offset {offset}$"):
        allocator.check()
    allocator.check()
    assert allocator.statistics.damage == 1


def test_damage_is_also_found_when_memory_is_freed() -> None:
    allocator = Allocator()
    owner = allocator.allocate(100)
    write(owner.allocation.end, 1)
    del owner
    with pytest.raises(DeviceMemoryError, match="red zone after"):
        allocator.raise_damage()


@pytest.mark.parametrize("nbytes", [100, 1 << 20])
def test_a_write_after_free_is_found(nbytes: int) -> None:
    allocator = Allocator()
    owner = allocator.allocate(nbytes)
    base = owner.allocation.base
    write(base, 5, nbytes)
    del owner
    assert read(base, nbytes) == bytes([POISON]) * nbytes
    allocator.check()
    write(base + nbytes - 1, 0)
    with pytest.raises(DeviceMemoryError, match=f"written at offset {nbytes - 1} after it was freed"):
        allocator.check()


def test_quarantine_keeps_addresses_known_as_freed_and_apart() -> None:
    allocator = Allocator(quarantine=1 << 20)
    first = allocator.allocate(1000)
    base = first.allocation.base
    del first
    found = allocator.find(base + 999)
    assert found is not None
    assert found.freed
    assert "(freed)" in found.describe()
    seen = {base}
    for _ in range(100):
        owner = allocator.allocate(1000)
        assert owner.allocation.base not in seen
        seen.add(owner.allocation.base)
        del owner


def test_quarantine_is_bounded_and_memory_is_used_again() -> None:
    allocator = Allocator(quarantine=8 << 10)
    bases = []
    for _ in range(50):
        owner = allocator.allocate(1000)
        bases.append(owner.allocation.base)
        del owner
    assert len(set(bases)) < 12
    assert allocator.statistics.quarantined <= 8 << 10
    assert allocator.statistics.frees == 50


def test_small_allocations_leave_a_bounded_number_of_records() -> None:
    allocator = Allocator()
    for _ in range(6000):
        allocator.allocate(8)
    allocator.live()
    assert len(allocator._records) <= 4096
    assert allocator.statistics.reserved == 16 << 20


def test_reused_memory_is_poisoned_again() -> None:
    allocator = Allocator(quarantine=0)
    for size in (1000, 900, 1000, 950):
        owner = allocator.allocate(size)
        assert read(owner.allocation.base, size) == bytes([POISON]) * size
        write(owner.allocation.base, 3, size)
        del owner
    allocator.check()


def test_questions_about_addresses() -> None:
    allocator = Allocator()
    assert allocator.find(4096) is None
    assert allocator.nearest(4096) is None
    one, two = allocator.allocate(100), allocator.allocate(200)
    a, b = one.allocation, two.allocation
    assert allocator.find(a.base) is a
    assert allocator.find(a.end - 1) is a
    assert allocator.find(a.end) is None
    assert allocator.find(a.base - 1) is None
    assert a.contains(a.base + 96, 4)
    assert not a.contains(a.base + 97, 4)
    assert allocator.nearest(a.end + 3) is a
    assert allocator.nearest(b.base - 3) is b
    assert allocator.nearest(b.end + 10**6) is b
    assert allocator.nearest(0) is a


def test_statistics_limit_and_cache() -> None:
    allocator = Allocator(limit=10_000)
    one = allocator.allocate(6000)
    with pytest.raises(OutOfDeviceMemory, match="5000 bytes asked for, 6000 of 10000 bytes in use"):
        allocator.allocate(5000)
    del one
    two = allocator.allocate(9000)
    assert allocator.statistics.peak_allocated == 9000
    del two
    allocator.live()
    allocator.reset_peak()
    assert allocator.statistics.peak_allocated == 0
    assert allocator.statistics.total_allocated == 15_000
    assert allocator.statistics.allocations == allocator.statistics.frees == 2
    with pytest.raises(OutOfDeviceMemory, match="host refuses"):
        Allocator().allocate(1 << 60)


def test_empty_cache_gives_large_blocks_back() -> None:
    allocator = Allocator()
    owner = allocator.allocate(8 << 20)
    assert allocator.statistics.reserved > 8 << 20
    del owner
    allocator.empty_cache()
    gc.collect()
    assert allocator.statistics.reserved < 8 << 20
    assert allocator.statistics.quarantined == 0


def test_memory_kept_back_is_given_up_before_an_allocation_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules[Allocator.__module__]

    allocator = Allocator()
    owner = allocator.allocate(4 << 20)
    del owner
    real, held = module._mapping, allocator.statistics

    def scarce(size: int) -> object:
        allocator_holds = held.quarantined + allocator._cached
        if allocator_holds:
            raise OSError("no memory while some is kept back")
        return real(size)

    monkeypatch.setattr(module, "_mapping", scarce)
    assert allocator.allocate(6 << 20).allocation.nbytes == 6 << 20


def test_map_of_written_bytes() -> None:
    allocator = Allocator()
    allocation = allocator.allocate(10).allocation
    # The owner died at once; the record stays.
    assert allocation.freed or allocation.initialised is not None
    owner = allocator.allocate(10)
    owner.allocation.mark_written(2, 3)
    assert owner.allocation.initialised is not None
    assert owner.allocation.initialised.tolist() == [0, 0, 1, 1, 1, 0, 0, 0, 0, 0]
    assert Allocator(track_initialised=False).allocate(10).allocation.initialised is None


def test_many_threads() -> None:
    allocator = Allocator(quarantine=64 << 10)
    problems: list[str] = []

    def work(number: int) -> None:
        for step in range(300):
            owner = allocator.allocate(100 + step)
            write(owner.allocation.base, number, owner.allocation.nbytes)
            if read(owner.allocation.base, owner.allocation.nbytes) != bytes([number]) * owner.allocation.nbytes:
                problems.append(owner.allocation.describe())
            del owner

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    allocator.check()
    assert allocator.statistics.allocated == 0
    assert allocator.statistics.allocations == 1800


def test_a_forked_child_has_memory_of_its_own() -> None:
    allocator = Allocator()
    owner = allocator.allocate(100)
    write(owner.allocation.base, 1, 100)
    allocator._lock.acquire()  # as if another thread were inside at the moment of the fork
    child = os.fork()
    if child == 0:
        status = 1
        try:
            fresh = allocator.allocate(50)
            write(owner.allocation.base, 2, 100)
            write(fresh.allocation.base, 2, 50)
            allocator.check()
            status = 0
        finally:
            os._exit(status)
    allocator._lock.release()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert read(owner.allocation.base, 100) == bytes([1]) * 100
    allocator.check()


def test_an_owner_that_dies_while_the_allocator_is_busy_is_freed_later() -> None:
    """Python's garbage collector may run a destructor in the middle of the allocator's own code, on the same thread."""
    allocator = Allocator()
    owner = allocator.allocate(100)
    record = owner.allocation
    with allocator._lock:
        del owner
        assert not record.freed
    assert allocator.live() == []
    assert record.freed
