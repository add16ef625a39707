"""Parts of the wall by themselves: frames, descriptors, addresses, the table of memory, accounts, the kept kernels."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bringup.device import Engine, Fault, frames, space
from bringup.device.account import Account, Allowance, Broken
from bringup.device.checks import check_extent, item_bytes
from bringup.device.memory import (
    KEPT_FREED,
    LEAST_COUNTED,
    Block,
    Memory,
    codes,
    layout_numbers,
    pieces,
    stretches,
)
from bringup.device.wire import CODES, DTYPES, MOST_DIMENSIONS, Descriptor, Malformed, unpack_descriptor
from bringup.judge import _kernels
from bringup.judge._kernels import KernelStore, key_of
from bringup.vpe.memory import INPUT, LAUNCHED, UPLOADED

# Frames ------------------------------------------------------------------------------------------------------

HEADERS = st.dictionaries(
    st.text(max_size=5), st.none() | st.integers() | st.text(max_size=9) | st.booleans(), max_size=4
)


def within(seconds: float) -> Callable[[], float]:
    deadline = time.monotonic() + seconds
    return lambda: deadline


@given(HEADERS, st.lists(st.binary(max_size=50), max_size=3))
def test_frames_arrive_as_they_were_sent(header: dict[str, Any], payloads: list[bytes]) -> None:
    one, other = socket.socketpair()
    with one, other:
        frames.send(one, header, payloads)
        frames.send(one, {"next": 1})
        got, data = frames.receive(other)
        assert (got, bytes(data)) == (header, b"".join(payloads))
        assert frames.receive(other)[0] == {"next": 1}


@given(HEADERS, st.binary(max_size=50), st.integers(1, 7))
def test_a_channel_takes_frames_in_pieces(header: dict[str, Any], payload: bytes, step: int) -> None:
    one, other = socket.socketpair()
    with one, other:
        data = b"".join(bytes(part) for part in frames.pack(header, [payload])) * 2
        channel = frames.Channel(other, 1 << 20)
        for at in range(0, len(data), step):
            one.sendall(data[at : at + step])
            channel._fill()
        for _ in range(2):
            got, rest = channel.receive(within(1), {})
            assert (got, bytes(rest)) == (header, payload)
        with pytest.raises(frames.DeadlineExceeded):
            channel.receive(within(0), {})


@pytest.mark.parametrize("data", [b"[1]", b"{", b"\xff", b"[" * 100_000, b"1" * 5000], ids=range(5))
def test_what_is_no_frame_is_refused_by_a_channel(data: bytes) -> None:
    one, other = socket.socketpair()
    with one, other:
        one.sendall(frames.PREFIX.pack(len(data), 0) + data)
        with pytest.raises(frames.TooLarge):
            frames.Channel(other, 1 << 20).receive(within(1), {})


def test_frames_that_are_too_large_or_end_early() -> None:
    for size in ((frames.MAX_HEADER + 1, 0), (2, 1 << 41), ((1 << 32) - 1, (1 << 64) - 1)):
        one, other = socket.socketpair()
        with one, other:
            one.sendall(frames.PREFIX.pack(*size))
            with pytest.raises(frames.TooLarge):
                frames.receive(other)
    one, other = socket.socketpair()
    with other:
        one.sendall(frames.PREFIX.pack(2, 100) + b"{}")
        one.close()
        with pytest.raises(frames.Closed):
            frames.receive(other)
        with pytest.raises(frames.Closed):
            frames.send(other, {}, [bytes(1 << 20)])


def test_a_send_that_nobody_takes_meets_its_deadline() -> None:
    one, other = socket.socketpair()
    with one, other:
        one.settimeout(0.05)
        with pytest.raises(frames.DeadlineExceeded):
            frames.send(one, {}, [bytes(64 << 20)])


# Descriptors -------------------------------------------------------------------------------------------------

DESCRIPTORS = st.integers(0, 5).flatmap(
    lambda rank: st.builds(
        Descriptor,
        st.integers(0, (1 << 64) - 1),
        st.integers(0, (1 << 64) - 1),
        st.sampled_from(DTYPES),
        st.tuples(*[st.integers(-(1 << 63), (1 << 63) - 1)] * rank),
        st.tuples(*[st.integers(-(1 << 63), (1 << 63) - 1)] * rank),
    )
)


@given(st.lists(DESCRIPTORS, min_size=1, max_size=3), st.binary(max_size=5))
def test_descriptors_are_read_as_written(wanted: list[Descriptor], rest: bytes) -> None:
    data, at = memoryview(b"".join(d.pack() for d in wanted) + rest), 0
    for descriptor in wanted:
        got, at = unpack_descriptor(data, at)
        assert got == descriptor
    assert len(data) - at == len(rest)


@given(DESCRIPTORS, st.data())
def test_a_descriptor_that_ends_early_is_malformed(wanted: Descriptor, data: st.DataObject) -> None:
    packed = wanted.pack()
    with pytest.raises(Malformed):
        unpack_descriptor(memoryview(packed[: data.draw(st.integers(0, len(packed) - 1))]), 0)


@given(st.binary(max_size=100), st.integers(0, 120))
def test_any_bytes_are_a_descriptor_or_malformed(data: bytes, at: int) -> None:
    try:
        got, end = unpack_descriptor(memoryview(data), at)
    except Malformed:
        return
    assert end <= len(data)
    assert len(got.size) == len(got.stride) <= MOST_DIMENSIONS


def test_every_dtype_of_the_wire_is_torchs() -> None:
    assert len(CODES) == len(DTYPES) < 256
    for name in DTYPES:
        assert getattr(torch, name).itemsize == item_bytes(name)


# Extents and codes -------------------------------------------------------------------------------------------

DIMS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), max_size=3)


@given(DIMS, st.integers(0, 20), st.sampled_from([1, 2, 4, 8]), st.integers(0, 200))
def test_an_extent_is_that_of_torch(dims: list[tuple[int, int]], offset: int, width: int, nbytes: int) -> None:
    size, stride = tuple(n for n, _ in dims), tuple(s for _, s in dims)
    touched = {offset + byte for at in _elements(size, stride) for byte in range(at * width, at * width + width)}
    if not touched or max(touched) < nbytes:
        check_extent(offset, width, size, stride, nbytes)
        owners = np.arange(nbytes, dtype=np.uint8)
        assert set(codes(owners, offset, width, size, stride).reshape(-1).tolist()) == touched
    else:
        with pytest.raises(Malformed, match="beyond its storage"):
            check_extent(offset, width, size, stride, nbytes)


def _elements(size: tuple[int, ...], stride: tuple[int, ...]) -> list[int]:
    places = [0]
    for n, step in zip(size, stride, strict=True):
        places = [at + i * step for at in places for i in range(n)]
    return places


@pytest.mark.parametrize(
    ("offset", "size", "stride"),
    [(-1, (1,), (1,)), (0, (-1,), (1,)), (0, (1,), (-1,)), (0, (1,), ()), (0, (), (1,)), (0, (-1, 0), (0, 0))],
)
def test_odd_extents_are_malformed(offset: int, size: tuple[int, ...], stride: tuple[int, ...]) -> None:
    with pytest.raises(Malformed):
        check_extent(offset, 4, size, stride, 64)


def test_sums_do_not_overflow() -> None:
    with pytest.raises(Malformed):
        check_extent(0, 8, (1 << 62, 1 << 62), (1 << 62, 1 << 62), 64)


# Memory ------------------------------------------------------------------------------------------------------


class Paper:
    """An engine that only remembers what it was asked for."""

    exact, alignment = True, 256

    def __init__(self) -> None:
        self.live: dict[int, int] = {}

    def allocate(self, block: Block) -> None:
        self.live[block.base] = block.nbytes

    def release(self, block: Block) -> None:
        del self.live[block.base]

    def write(self, block: Block, data: memoryview) -> None:
        assert len(data) == block.nbytes


@pytest.fixture
def memory() -> Memory:
    return Memory(Paper(), 1 << 20)  # type: ignore[arg-type]


@given(st.lists(st.tuples(st.sampled_from("afpc"), st.integers(1, 5000)), max_size=30))
def test_blocks_never_overlap_and_what_is_live_is_counted(steps: list[tuple[str, int]]) -> None:
    engine = Paper()
    memory = Memory(engine, 1 << 20)  # type: ignore[arg-type]
    used: list[tuple[int, int]] = []
    mine: list[int] = []
    following = space.BASE
    for what, size in steps:
        if what == "a":
            block = memory.allocate(space.after(following, 0), size)
            following = block.base + size
            mine.append(block.base)
            assert not block.written_by.any()
        elif what == "p":
            block = memory.put(memoryview(bytes(size)), False, *memory.places([size]))
            assert block.base >= space.MIDDLE
            assert block.base % engine.alignment == 0
            assert (block.written_by == INPUT).all()
        elif what == "f" and mine:
            memory.free(mine[size % len(mine)])
            continue
        elif what == "c":
            memory.clear()
            continue
        else:
            continue
        assert all(block.base + size + space.GAP <= low or high + space.GAP <= block.base for low, high in used)
        used.append((block.base, block.base + size))
        assert memory.behind(block.base + size - 1, 0) is block
        assert memory.behind(block.base + size, 0) is None
    assert sum(engine.live.values()) == sum(block.nbytes for block in memory)
    # Small blocks count for more than their bytes, and until the call ends.
    assert memory.live - memory.kept == sum(max(block.nbytes, LEAST_COUNTED) for block in memory)
    assert {block.base for block in memory} == set(engine.live)


def test_addresses_of_the_guest_only_grow(memory: Memory) -> None:
    first = memory.allocate(space.BASE + 64, 100)
    memory.free(first.base)
    for base in (first.base, first.base + 64, first.base + 128, first.base + 165, space.BASE, 0, space.MIDDLE):
        with pytest.raises(Malformed, match="not the next free one"):
            memory.allocate(base, 64)
    assert memory.allocate(first.base + 192, 64)
    for nbytes in (0, -1, space.SPAN, 1 << 63):
        with pytest.raises((Malformed, Fault)):
            memory.allocate(space.BASE + (1 << 20), nbytes)


def test_the_limit_is_of_live_bytes(memory: Memory) -> None:
    one = memory.allocate(space.BASE, 1 << 19)
    memory.put(memoryview(bytes(1 << 19)), True, *memory.places([1 << 19]))
    with pytest.raises(
        Fault, match="out of device memory: 1 bytes asked for, 1048576 of 1048576 bytes in use"
    ) as caught:
        memory.allocate(space.BASE + (1 << 20), 1)
    assert caught.value.kind == "memory"
    memory.free(one.base)
    memory.allocate(space.BASE + (1 << 21), 1 << 19)
    memory.clear()
    assert memory.live == 0


def test_the_range_of_inputs_ends(memory: Memory) -> None:
    memory._next_input = space.END - 100
    with pytest.raises(Fault, match="used up the range"):
        memory.put(memoryview(bytes(100)), True, *memory.places([100]))


def test_stale_names_are_told_apart(memory: Memory) -> None:
    block = memory.allocate(space.BASE, 64)
    given = memory.put(memoryview(bytes(64)), True, *memory.places([64]))
    memory.free(given.base)  # only the guest's own
    assert not given.freed
    memory.free(block.base)
    memory.free(block.base)
    assert memory.behind(block.base, block.base) is block
    with pytest.raises(Malformed, match="freed, or of an earlier call"):
        memory.at(block.base)
    with pytest.raises(Malformed, match="never allocated"):
        memory.at(space.BASE + (1 << 20))
    assert "(freed)" in memory.describe(block.base)
    assert memory.describe(given.base + 70) == "6 bytes past the end of input #2 of 64 bytes"
    assert memory.describe(space.BASE - 1) == ""


def test_only_so_many_freed_blocks_are_remembered() -> None:
    memory = Memory(Paper(), 1 << 30)  # type: ignore[arg-type]
    base = space.BASE
    for _ in range(3 * KEPT_FREED):
        memory.free(memory.allocate(base, 1).base)
        base = space.after(base, 1)
    assert len(memory._blocks) <= 2 * KEPT_FREED
    assert len(memory._bases) == len(memory._blocks)
    with pytest.raises(Malformed, match="freed, or of an earlier call"):
        memory.at(space.BASE)


# Addresses ---------------------------------------------------------------------------------------------------


@given(st.integers(space.BASE, space.END), st.integers(0, 1 << 30), st.sampled_from([1, 32, 64, 256, 4096]))
def test_neighbours_keep_apart(base: int, nbytes: int, alignment: int) -> None:
    following = space.after(base, nbytes, alignment)
    assert base + nbytes + space.GAP <= following < base + nbytes + space.GAP + max(alignment, space.ALIGNMENT)
    assert following % max(alignment, space.ALIGNMENT) == 0


def test_the_range_is_untouchable_or_zero_and_reserved_once() -> None:
    script = """
import ctypes, os, signal, sys
from bringup.device import space
space.reserve(accessible=sys.argv[1] == "1")
for _ in range(2):
    try:
        space.reserve(accessible=True)
    except OSError as error:
        print(error.errno)
if sys.argv[1] == "1":
    ctypes.memset(space.BASE + 100, 7, 3 * space.PAGE)
    space.drop(space.BASE + 100, 3 * space.PAGE)
    kept = ctypes.string_at(space.BASE, 5 * space.PAGE)
    print(kept.count(7), kept[100], kept[space.PAGE], kept[3 * space.PAGE])
    print(ctypes.string_at(space.END - 1, 1))
for place in (space.BASE, space.MIDDLE, space.END - 1):
    pid = os.fork()
    if not pid:
        ctypes.string_at(place, 1)
        os._exit(0)
    print(os.waitpid(pid, 0)[1])
"""
    for accessible, said in (
        ("1", ["17", "17", f"{space.PAGE} 7 0 7", "b'\\x00'", "0", "0", "0"]),
        ("0", ["17", "17", *["11"] * 3]),
    ):
        done = subprocess.run(
            [sys.executable, "-c", script, accessible], capture_output=True, text=True, check=True, env=os.environ
        )
        assert [line.replace("139", "11") for line in done.stdout.splitlines()] == said


# Accounts ----------------------------------------------------------------------------------------------------


def test_host_bytes_are_uploads_arguments_and_constants() -> None:
    account = Account(uploaded_bytes=10, argument_bytes=20, described_bytes=16, constant_bytes=30)
    account.check_host_bytes(Allowance(host_bytes=76))
    account.check_host_bytes(Allowance())
    told = r"76 bytes .*10 uploaded, 20 in arguments of launches, 16 in places of copies, 30 as constants"
    with pytest.raises(Broken, match=told) as caught:
        account.check_host_bytes(Allowance(host_bytes=75))
    assert caught.value.rule == "host-bytes"
    with pytest.raises(Broken):
        account.check_host_bytes(Allowance(host_bytes=0))
    account.check_host_bytes(Allowance(uploaded_bytes=10))
    with pytest.raises(Broken, match="the host uploaded 10 bytes for this call, 9 are allowed"):
        account.check_host_bytes(Allowance(host_bytes=76, uploaded_bytes=9))
    assert json.loads(json.dumps(account.to_json()))["uploaded_bytes"] == 10


def test_reads_are_what_a_kernel_wrote_and_so_many() -> None:
    account = Account(read_bytes=4)
    account.check_read(4, True, Allowance(read_bytes=8))
    account.check_read(4, False, Allowance(read_bytes=8, read_inputs=True))
    for nbytes, launched, allowance in (
        (1, True, Allowance()),
        (0, True, Allowance()),
        (1, False, Allowance(read_inputs=True)),
        (4, False, Allowance(read_bytes=8)),
        (5, True, Allowance(read_bytes=8)),
    ):
        with pytest.raises(Broken) as caught:
            account.check_read(nbytes, launched, allowance)
        assert caught.value.rule == "reads"


# Kept kernels ------------------------------------------------------------------------------------------------

REQUEST = {"text": "a", "source": "b", "options": {"num_warps": 4}}


def test_a_kernels_key_is_all_that_it_depends_on() -> None:
    keys = {key_of("one", REQUEST), key_of("two", REQUEST)}
    for name, value in (("text", "ab"), ("source", ""), ("options", {"num_warps": 8})):
        keys.add(key_of("one", {**REQUEST, name: value}))
    assert len(keys) == 5
    assert key_of("one", {**REQUEST, "compile": "forged", "target": "x"}) == key_of("one", REQUEST)


def test_kernels_are_kept_over_processes_and_damage_is_as_good_as_none(tmp_path: Path) -> None:
    key = key_of("one", REQUEST)
    KernelStore(str(tmp_path)).put(key, {"name": "k"}, b"binary")
    assert KernelStore(str(tmp_path)).get(key) == ({"name": "k"}, b"binary")
    (file,) = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != _kernels.SWEPT]
    assert file.stat().st_mode & 0o077 == 0
    good = file.read_bytes()
    for damaged in (b"", good[:-1], good + b"x", good[:40] + b"x" + good[41:], bytes(32)):
        file.write_bytes(damaged)
        assert KernelStore(str(tmp_path)).get(key) is None
    file.unlink()
    file.mkdir()
    assert KernelStore(str(tmp_path)).get(key) is None


def test_a_process_for_each_candidate_looks_through_the_folder_once_for_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[Path] = []
    monkeypatch.setattr(_kernels, "sweep", looked.append)
    for number in range(3):
        KernelStore(str(tmp_path)).put(key_of(str(number), REQUEST), {}, b"binary")
    assert looked == [tmp_path]
    stamp = tmp_path / _kernels.SWEPT
    for made in (time.time() - 2 * _kernels.SWEPT_FOR, time.time() + 1e6):  # long ago; by a clock that was wrong
        os.utime(stamp, (made, made))
        KernelStore(str(tmp_path)).put(key_of("again", REQUEST), {}, b"binary")
        KernelStore(str(tmp_path)).put(key_of("more", REQUEST), {}, b"binary")
    assert looked == [tmp_path] * 3


def test_a_folder_grown_too_large_loses_its_oldest_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_kernels.sweep, "__defaults__", ("*/*", 1000))
    store = KernelStore(str(tmp_path))
    keys = [key_of(str(number), REQUEST) for number in range(5)]
    for number, key in enumerate(keys):
        store.put(key, {}, bytes(300))
        os.utime(tmp_path / key[:2] / key, (number, number))
    (tmp_path / _kernels.SWEPT).unlink()
    KernelStore(str(tmp_path)).put(key_of("last", REQUEST), {}, bytes(300))
    kept = [KernelStore(str(tmp_path)).get(key) is not None for key in keys]
    assert kept == [False] * 4 + [True]
    assert KernelStore(str(tmp_path)).get(key_of("last", REQUEST)) is not None


def test_a_folder_that_cannot_be_written_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    store = KernelStore(str(tmp_path / "file"))
    store.put("ab", {"name": "k"}, b"x")
    assert store.get("ab") == ({"name": "k"}, b"x")
    assert KernelStore(None).get("ab") is None


def test_an_engine_is_an_engine() -> None:
    from bringup.targets import get_target

    assert isinstance(get_target("vpe:pe64").engine(), Engine)
    assert UPLOADED not in (LAUNCHED, INPUT)


def test_a_copy_says_the_sizes_and_strides_that_do_not_follow() -> None:
    cases = (
        ((4, 5), (5, 1), (5, 1), 0),  # one run onto another
        ((4, 5), (1, 4), (1, 4), 0),  # the same with its dimensions turned
        ((4, 1, 5), (5, 99, 1), (5, 7, 1), 0),  # the stride of one element says nothing
        ((0, 5), (9, 3), (5, 1), 0),
        ((7,), (3,), (1,), 2),  # a size and a stride
        ((4, 5), (1, 4), (5, 1), 4),  # two sizes, two strides
        ((4, 5), (8, 1), (5, 1), 3),  # rows of a wider tensor
        ((4, 5), (0, 1), (5, 1), 3),  # a row repeated
        ((2, 2, 2), (11, 7, 5), (4, 2, 1), 6),
        ((2, 2, 2), (11, 7, 5), (9, 3, 2), 9),
    )
    assert [layout_numbers(size, taken, put) for size, taken, put, _ in cases] == [wanted for *_, wanted in cases]


@pytest.mark.parametrize(
    ("size", "taken", "put", "wanted"),
    [
        ((4, 8), (8, 1), (8, 1), 1),
        ((4, 8), (1, 4), (1, 4), 1),
        ((4, 8), (1, 4), (8, 1), 32),
        ((4, 8), (16, 1), (8, 1), 4),
        ((4, 8), (0, 1), (8, 1), 4),
        ((4, 8), (0, 0), (8, 1), 32),
        ((2, 4, 8), (8, 16, 1), (32, 8, 1), 8),
        ((1, 8), (3, 1), (8, 1), 1),
        ((0, 8), (8, 1), (8, 1), 0),
    ],
)
def test_stretches_of_a_copy_are_neighbours_on_both_sides(
    size: tuple[int, ...], taken: tuple[int, ...], put: tuple[int, ...], wanted: int
) -> None:
    assert stretches(size, taken, put) == wanted


def test_pieces_of_a_tensor_are_its_stretches_of_neighbouring_elements() -> None:
    cases = [
        ((), (), 1),
        ((5,), (1,), 1),
        ((5,), (2,), 5),
        ((3, 4), (4, 1), 1),
        ((4, 3), (1, 4), 1),  # a transposed whole is one stretch of memory all the same
        ((3, 4), (8, 1), 3),
        ((3, 4), (1, 8), 4),
        ((2, 1, 4), (4, 99, 1), 1),
        ((3, 4), (0, 1), 3),
        ((0, 4), (4, 1), 0),
    ]
    assert [pieces(size, stride) for size, stride, _ in cases] == [wanted for _, _, wanted in cases]
