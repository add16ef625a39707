"""The CUDA engine with a driver that only pretends: parameters, addresses, refusals, faults."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from bringup.device import Call, Engine, Fault, Kernel, space
from bringup.device.memory import Block
from bringup.targets import get_target
from bringup.targets._cuda_driver import LOST, CudaError, Driver, Function, launch_attributes
from bringup.targets._cuda_engine import CONGRUENT, POISON, CudaEngine, Gpu

ILLEGAL = 700


class FakeDriver(Driver):
    """Keeps what it is asked; `kernel` runs in its place with the eight bytes of each parameter."""

    def __init__(self, kernel: Callable[..., int] | None = None, parameters: int = 6) -> None:
        self.most_shared = 200_000
        self.kernel, self.parameters = kernel, parameters
        self.launches: list[dict[str, Any]] = []
        self.pending = 0
        self.refuse = 0
        self.function = Function(1, registers=40, local_bytes=8, static_shared=16, most_threads=512)
        self.alive: set[int] = set()

    def error(self, code: int, doing: str) -> CudaError:
        return CudaError(code, f"CUDA_ERROR_{code}", "an illegal memory access" if code == ILLEGAL else "words", doing)

    def load(self, binary: bytes, name: str, shared: int) -> Function:
        self._check(self.refuse, "loading")
        return self.function

    def launch(self, function: Function, grid: Any, threads: int, shared: int, parameters: Any, stream: int,
               ctas: int = 1, cooperative: bool = False) -> None:  # fmt: skip
        self._check(self.refuse, "launching")
        packed = [ctypes.string_at(parameters[n], 8) for n in range(self.parameters)]
        self.launches.append({"grid": grid, "threads": threads, "shared": shared, "packed": packed, "ctas": ctas,
                              "cooperative": cooperative})  # fmt: skip
        if self.kernel is not None:
            self.pending = self.kernel(*packed) or self.pending

    def synchronize(self) -> None:
        self._check(self.pending, "waiting")

    def mark(self, stream: int) -> int:
        self.alive.add(len(self.alive) + 1)
        return len(self.alive)

    def microseconds(self, before: int, after: int) -> float:
        return 1.5 * (after - before)

    def forget(self, event: int) -> None:
        self.alive.discard(event)


def started(driver: Driver) -> CudaEngine:
    engine = CudaEngine(0, lambda number: Gpu(driver, torch.device("cpu"), 0))
    engine.start(lambda address: "")
    return engine


def block(engine: CudaEngine, base: int, nbytes: int, number: int = 1) -> Block:
    made = Block(base, nbytes, number, "guest", np.zeros(nbytes, np.uint8))
    engine.allocate(made)
    return made


def loaded(engine: CudaEngine, shared: int = 0, **facts: Any) -> Any:
    return engine.load(Kernel(b"cubin", "k", shared, {"num_warps": 8, **facts}))


def call(kernel: Any, values: list[Any], blocks: list[Any], grid: tuple[int, int, int] = (1, 1, 1)) -> Call:
    kinds = ["i32" if isinstance(v, bytes) else "*fp32" for v in values]
    return Call(kernel, grid, [f"a{n}" for n in range(len(values))], kinds, values, blocks, {})


def test_it_is_an_engine() -> None:
    assert isinstance(CudaEngine(), Engine)
    assert isinstance(get_target("cuda:1").engine(), CudaEngine)


# Memory ------------------------------------------------------------------------------------------------------


def test_addresses_are_congruent_to_those_of_the_guest_and_memory_is_poison() -> None:
    engine = started(FakeDriver())
    for base in (space.BASE, space.BASE + 64, space.BASE + 4096 + 448, space.MIDDLE + 320):
        made = block(engine, base, 1000)
        assert made.real.address % CONGRUENT == base % CONGRUENT
        assert len(set(engine.read(made, 1000))) > 200
        engine.write(made, memoryview(bytes(range(250)) * 4))
        assert engine.read(made, 300) == (bytes(range(250)) * 2)[:300]
        whole = made.real.tensor
        engine.release(made)
        assert made.real is None
        assert bool((whole == 0xFF).all())


def test_poison_is_drawn_so_that_no_kernel_knows_it_by_value() -> None:
    engine = started(FakeDriver())
    first, second = (engine.read(block(engine, base, 4096), 4096) for base in (space.BASE, space.BASE + 8192))
    assert first not in (second, bytes([first[0]]) * 4096)
    large = 3 * POISON + 5
    counts = np.bincount(np.frombuffer(engine.read(block(engine, space.MIDDLE, large), large), np.uint8), minlength=256)
    assert counts.min() > large / 256 * 0.9


def test_tensors_are_views_on_the_block() -> None:
    engine = started(FakeDriver())
    made = block(engine, space.BASE + 64, 256)
    engine.tensor(made, 0, torch.float32, (64,), (1,)).copy_(torch.arange(64.0))
    view = engine.tensor(made, 8, torch.float32, (2, 3), (16, 2))
    assert view.tolist() == [[8.0, 10.0, 12.0], [24.0, 26.0, 28.0]]
    assert engine.read(made, 256) == struct.pack("<64f", *range(64))
    assert engine.tensor(made, 1, torch.int64, (2,), (0,)).shape == (2,)
    assert engine.tensor(made, 0, torch.bool, (), ()).shape == ()


def test_a_full_device_is_a_fault_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = started(FakeDriver())

    def full(*args: Any, **kwargs: Any) -> Any:
        raise torch.OutOfMemoryError("no")

    monkeypatch.setattr(torch, "empty", full)
    with pytest.raises(Fault, match="no room for 64 bytes") as caught:
        block(engine, space.BASE, 64)
    assert caught.value.kind == "memory"
    assert not engine.broken()


# Launches ----------------------------------------------------------------------------------------------------


def test_parameters_are_packed_in_order_with_scratch_behind_them() -> None:
    driver = FakeDriver(parameters=6)
    engine = started(driver)
    a, b = block(engine, space.BASE + 64, 512), block(engine, space.BASE + 1024, 64, 2)
    kernel = loaded(engine, global_scratch_size=100, global_scratch_align=256, profile_scratch_size=None)
    scalar = struct.pack("<f4x", 1.5)
    assert engine.launch(call(kernel, [a.base + 12, scalar, 0, b.base], [a, None, None, b], (2, 3, 1))) == ""
    (launch,) = driver.launches
    numbers = [int.from_bytes(p, "little") for p in launch["packed"]]
    assert numbers[0] == a.real.address + 12
    assert launch["packed"][1] == scalar
    assert numbers[2:4] == [0, b.real.address]
    assert numbers[4] != 0
    assert numbers[4] % 256 == 0
    assert numbers[5] == 0
    assert (launch["grid"], launch["threads"], launch["ctas"]) == ((2, 3, 1), 256, 1)


def test_clusters_and_cooperative_grids_reach_the_driver() -> None:
    driver = FakeDriver(parameters=2)
    engine = started(driver)
    engine.launch(call(loaded(engine, num_ctas=2, launch_cooperative_grid=True), [], []))
    assert (driver.launches[0]["ctas"], driver.launches[0]["cooperative"]) == (2, True)
    attributes = launch_attributes(4, True)
    assert [a.id for a in attributes] == [2, 4, 5]
    assert list(attributes[1].value)[:4] == [4, 1, 1, 0]
    assert ctypes.sizeof(attributes[0]) == 72
    assert not len(launch_attributes(1, False))


def refused(engine: CudaEngine, launch: Call) -> str:
    with pytest.raises(Fault) as caught:
        engine.launch(launch)
    assert caught.value.kind == "launch"
    assert not engine.broken()
    return caught.value.text


def test_what_the_gpu_has_not_is_refused() -> None:
    driver = FakeDriver(parameters=2)
    engine = started(driver)
    kernel = loaded(engine)
    assert "(2147483647, 65535, 65535)" in refused(engine, call(kernel, [], [], (1, 65536, 1)))
    assert "grid" in refused(engine, call(kernel, [], [], (1, -1, 1)))
    assert "(1073741823, " in refused(engine, call(loaded(engine, num_ctas=2), [], [], (1 << 30, 1, 1)))
    engine.launch(call(kernel, [], [], (0, 5, 1)))
    assert not driver.launches
    assert "required 199985, limit 199984" in refused(engine, call(loaded(engine, 199_985), [], []))
    assert "required 1024, limit 512 with its 40 registers" in refused(
        engine, call(loaded(engine, num_warps=32), [], [])
    )
    driver.refuse = 1
    assert "could not be launched: words (CUDA_ERROR_1" in refused(engine, call(kernel, [], []))
    assert "does not take kernel 'k'" in refused(engine, call(loaded(engine), [], []))


def test_the_limit_of_shared_memory_is_told_to_the_guest() -> None:
    kernel = Kernel(b"cubin", "k", 10, {})
    started(FakeDriver()).load(kernel)
    assert kernel.facts["most_shared"] == 200_000 - 16


def test_pointers_must_lie_in_live_memory() -> None:
    engine = started(FakeDriver(parameters=3))
    made, gone = block(engine, space.BASE, 64), block(engine, space.BASE + 128, 64, 2)
    engine.release(gone)
    gone.freed = True
    kernel = loaded(engine)
    assert "argument 'a0' points to memory that" in refused(engine, call(kernel, [space.BASE + 8], [None]))
    assert "allocation #2 of 64 bytes (freed)" in refused(engine, call(kernel, [gone.base], [gone]))
    for value in (made.base - 4, made.base + 65):
        assert "outside of allocation #1" in refused(engine, call(kernel, [value], [made]))
    engine.launch(call(kernel, [made.base + 64], [made]))  # an empty tensor may begin there


# Faults ------------------------------------------------------------------------------------------------------


def test_a_fault_names_the_kernel_and_breaks_the_engine() -> None:
    driver = FakeDriver(parameters=2)
    engine = started(driver)
    made = block(engine, space.BASE, 64)
    engine.launch(call(loaded(engine), [], []))
    driver.pending = ILLEGAL
    with pytest.raises(Fault) as caught:
        engine.synchronize()
    assert caught.value.kind == "fault"
    assert caught.value.text == "kernel 'k' was stopped: an illegal memory access (CUDA_ERROR_700)"
    assert engine.broken()
    driver.pending = 0
    for again in (engine.synchronize, lambda: engine.read(made, 4), lambda: block(engine, space.BASE + 512, 4)):
        with pytest.raises(Fault, match="kernel 'k' was stopped"):
            again()
    engine.release(made)  # never raises
    assert engine.counters() == []


@pytest.mark.parametrize("code", sorted(LOST))
@pytest.mark.parametrize("when", ["waiting", "launching", "loading"])
def test_a_device_that_has_failed_is_no_kernels_fault(code: int, when: str) -> None:
    driver = FakeDriver(parameters=2)
    engine = started(driver)
    made, kernel = block(engine, space.BASE, 64), loaded(engine)
    engine.launch(call(kernel, [], []))
    driver.pending, driver.refuse = (code, 0) if when == "waiting" else (0, code)
    if when == "loading":
        kernel = loaded(engine)
    with pytest.raises(Fault) as caught:
        engine.synchronize() if when == "waiting" else engine.launch(call(kernel, [], []))
    assert caught.value.kind == "lost"
    assert caught.value.text.startswith(f"CUDA device 0 has failed: words (CUDA_ERROR_{code}")
    assert "kernel" not in caught.value.short
    assert engine.broken()
    engine.release(made)


def test_a_fault_after_several_kernels_names_them() -> None:
    driver = FakeDriver(parameters=2)
    engine = started(driver)
    other = engine.load(Kernel(b"cubin", "other", 0, {}))
    for kernel in (loaded(engine), other):
        engine.launch(call(kernel, [], []))
    driver.pending = ILLEGAL
    with pytest.raises(Fault, match=r"one of the kernels 'k', 'other'.*BRINGUP_CUDA_BLOCKING=1"):
        engine.synchronize()


def test_a_copy_does_not_take_the_blame_for_a_kernel() -> None:
    driver = FakeDriver(parameters=2)
    engine = started(driver)
    made = block(engine, space.BASE, 64)
    engine.launch(call(loaded(engine), [], []))
    driver.pending = ILLEGAL
    with pytest.raises(Fault, match="kernel 'k' was stopped"):
        engine.tensor(made, 0, torch.float32, (1,), (1,))


def test_pytorchs_error_for_an_earlier_kernel_becomes_its_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = FakeDriver(parameters=2)
    engine = started(driver)
    made = block(engine, space.BASE, 64)
    engine.launch(call(loaded(engine), [], []))

    def broken(self: Any, value: Any) -> Any:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    monkeypatch.setattr(torch.Tensor, "copy_", broken)
    with pytest.raises(RuntimeError, match="CUDA error"):  # the driver knows of nothing: not a kernel's fault
        block(engine, space.BASE + 512, 64)
    engine.launch(call(loaded(engine), [], []))
    driver.pending = ILLEGAL
    with pytest.raises(Fault, match="kernel 'k' was stopped"):
        block(engine, space.BASE + 1024, 64)
    engine.release(made)


@pytest.mark.parametrize("how", ["mode", "environment"])
def test_in_blocking_mode_the_launch_itself_faults(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if how == "environment":
        monkeypatch.setenv("BRINGUP_CUDA_BLOCKING", "1")
    engine = started(FakeDriver(lambda *packed: ILLEGAL, parameters=2))
    engine.begin({"blocking": how == "mode"})
    with pytest.raises(Fault, match="kernel 'k' was stopped"):
        engine.launch(call(loaded(engine), [], []))


def test_what_a_kernel_prints_is_returned_and_an_assertions_words_are_kept_from_the_guest() -> None:
    driver = FakeDriver(lambda *packed: os.write(1, b"pid: 0\n") and 0, parameters=2)
    engine = started(driver)
    assert engine.launch(call(loaded(engine, prints=True), [], [])) == "pid: 0\n"
    driver.kernel = lambda *packed: os.write(2, b"k.py:3: Assertion `x > 0` failed.\n") and 710
    with pytest.raises(Fault) as caught:
        engine.launch(call(loaded(engine, prints=True), [], []))
    assert "Assertion `x > 0` failed" in caught.value.dump
    assert "Assertion" not in caught.value.short + caught.value.text


# Counters ----------------------------------------------------------------------------------------------------


def test_counters_are_of_this_case_only() -> None:
    driver = FakeDriver(parameters=2)
    engine = started(driver)
    kernel = loaded(engine, 1000)
    engine.launch(call(kernel, [], []))
    assert engine.counters() == []
    engine.begin({"profile": True, "order": 3})
    engine.launch(call(kernel, [], [], (4, 1, 1)))
    assert engine.counters() == [
        {"kernel": "k", "grid": [4, 1, 1], "num_warps": 8, "shared_bytes": 1016, "registers": 40, "local_bytes": 8,
         "microseconds": 1.5},
    ]  # fmt: skip
    engine.begin({})
    assert engine.counters() == []
    assert not driver.alive
