"""Tapes made ready to be repeated, on the CUDA engine with a driver that only pretends and computes on the host."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from bringup.device import Fault, Kernel, space
from bringup.device.machine import Machine
from bringup.device.prepared import Prepared
from bringup.device.tape import Tape, digest_of
from bringup.device.wire import ALLOCATION, LAUNCH, POINTER, Command, Descriptor
from bringup.judge import _bench, _player
from bringup.judge.measuring import Timing
from bringup.targets._cuda_driver import CudaError, Driver, Function
from bringup.targets._cuda_engine import CudaEngine, Gpu

N = 8
INPUT, OUTPUT, COPY = space.MIDDLE, space.BASE, space.BASE + 4096
ONES = struct.pack(f"<{N}f", *[1.0] * N)


class HostDriver(Driver):
    """Kernels are functions of the addresses that they are given."""

    def __init__(self, kernel: Callable[[list[int]], None]) -> None:
        self.most_shared = 1 << 16
        self.kernel = kernel
        self.launches: list[list[int]] = []
        self.broken = 0

    def error(self, code: int, doing: str) -> CudaError:
        return CudaError(code, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access", doing)

    def load(self, binary: bytes, name: str, shared: int) -> Function:
        return Function(1)

    def launch(self, function: Function, grid: Any, threads: int, shared: int, parameters: Any, stream: int,
               ctas: int = 1, cooperative: bool = False) -> None:  # fmt: skip
        values = [ctypes.c_uint64.from_address(parameters[n]).value for n in range(2)]
        self.launches.append(values)
        self.kernel(values)

    def synchronize(self) -> None:
        self._check(self.broken, "waiting")

    def mark(self, stream: int) -> int:
        return len(self.launches) + 1

    def microseconds(self, before: int, after: int) -> float:
        return 2.0 * (after - before)

    def forget(self, event: int) -> None:
        pass


def floats(address: int) -> Any:
    return (ctypes.c_float * N).from_address(address)


def double(values: list[int]) -> None:
    for n in range(N):
        floats(values[1])[n] = 2 * floats(values[0])[n]


def add_one(values: list[int]) -> None:
    for n in range(N):
        floats(values[0])[n] += 1
        floats(values[1])[n] = floats(values[0])[n]


def machine(kernel: Callable[[list[int]], None] = double) -> tuple[Machine, HostDriver]:
    driver = HostDriver(kernel)
    engine = CudaEngine(0, lambda number: Gpu(driver, torch.device("cpu"), 0))
    engine.start(lambda address: "")

    def compiled(digest: str, text: dict[str, Any]) -> tuple[dict[str, Any], memoryview]:
        facts = {"signature": ["*fp32", "*fp32"], "num_warps": 4}
        return {"name": "kernel_k", "shared": 0, "facts": facts}, memoryview(b"cubin")

    return Machine(engine, compiled), driver


def tape(result: bytes) -> Tape:
    def whole(base: int) -> bytes:
        return Descriptor(base, base, "float32", (N,), (1,)).pack()

    launch = LAUNCH.pack(1, 1, 1, 1, 7, 2) + POINTER.pack(INPUT, INPUT) + POINTER.pack(OUTPUT, OUTPUT)
    kernel = {"text": "t", "source": "", "options": {}, "args": [["x", "*fp32"], ["y", "*fp32"]], "constants": {}}
    return Tape(
        inputs=[(INPUT, ONES)],
        kernels={1: kernel},
        commands=[
            (Command.ALLOC, ALLOCATION.pack(OUTPUT, 4 * N)),
            (Command.LAUNCH, launch),
            (Command.ALLOC, ALLOCATION.pack(COPY, 4 * N)),
            (Command.COPY, whole(OUTPUT) + whole(COPY)),
        ],
        storages=[(OUTPUT, 4 * N), (COPY, 4 * N)],
        result=digest_of([result, result]),
    )


TWOS = struct.pack(f"<{N}f", *[2.0] * N)


def test_a_tape_is_run_again_in_place() -> None:
    one, driver = machine()
    prepared = Prepared(one, tape(TWOS), 1 << 20)
    assert prepared.results() == [TWOS, TWOS]
    one.engine.write(prepared.memory.at(OUTPUT), memoryview(bytes(4 * N)))
    prepared.run()
    assert prepared.results() == [TWOS, TWOS]
    assert driver.launches[0] == driver.launches[1]  # the same addresses, packed once
    prepared.close()
    assert not list(prepared.memory)


def test_copies_of_a_tape_lie_at_other_addresses() -> None:
    one, driver = machine()
    copies = [Prepared(one, tape(TWOS), 1 << 20) for _ in range(3)]
    assert len({tuple(values) for values in driver.launches}) == 3
    for prepared in copies:
        prepared.run()
        assert prepared.results() == [TWOS, TWOS]


def test_inputs_that_are_written_get_their_contents_back() -> None:
    one, _ = machine(add_one)
    prepared = Prepared(one, tape(TWOS), 1 << 20)
    for _ in range(3):
        prepared.restore()
        prepared.run()
    assert prepared.results() == [TWOS, TWOS]
    prepared.run()  # without
    assert prepared.results()[0] == struct.pack(f"<{N}f", *[3.0] * N)


def test_a_tape_that_fails_says_so_and_leaves_no_memory() -> None:
    one, driver = machine()
    driver.broken = 700
    with pytest.raises(Fault, match="cannot be run again: kernel 'kernel_k' was stopped: an illegal memory access"):
        Prepared(one, tape(TWOS), 1 << 20)


class Watch:
    """Two microseconds a launch, by the driver's own count."""

    device = None

    def __init__(self, driver: HostDriver) -> None:
        self.driver = driver

    def elapsed(self, body: Callable[[], object], queueing: float, flush: bool) -> tuple[float, float]:
        before = len(self.driver.launches)
        body()
        return 2e-6 * (len(self.driver.launches) - before), 1e-6

    def health(self) -> dict[str, Any]:
        return {}


def request(one: Tape, **more: Any) -> tuple[dict[str, Any], memoryview]:
    data = one.pack()
    timing = Timing(warm_up_seconds=0, repeats=10, seconds=0.01).model_dump()
    asked = {"tapes": [["candidate", len(data)], ["older", len(data)]], "references": [], "case": {}, "timing": timing,
             "memory": 1 << 20, **more}  # fmt: skip
    return asked, memoryview(data + data)


def bench(one: Machine, driver: HostDriver, result: bytes, **more: Any) -> tuple[dict[str, Any], list[bytes]]:
    one.engine.stopwatch = lambda: Watch(driver)  # type: ignore[attr-defined]
    return _bench.measure(one, *request(tape(result), **more))


def test_tapes_take_turns_in_the_device_process() -> None:
    one, driver = machine()
    answer, results = bench(one, driver, TWOS)
    assert answer["error"] is None
    assert {name: set(samples) for name, samples in answer["samples"].items()} == {
        "candidate": {2e-6}, "older": {2e-6},
    }  # fmt: skip
    assert (answer["same"], results) == (True, [])
    assert [launch["microseconds"] for launch in answer["counters"]] == [2.0]
    assert [kernel["name"] for kernel in answer["kernels"]] == ["kernel_k"]
    assert isinstance(one.loaded[next(iter(one.loaded))][0], Kernel)


def test_other_results_after_the_timed_runs_are_handed_over() -> None:
    one, driver = machine()
    answer, results = bench(one, driver, ONES)
    assert not answer["same"]
    assert results == [TWOS, TWOS]
    assert answer["sizes"] == [[4 * N, 4 * N]]  # of the one copy


def test_a_reference_that_cannot_be_called_costs_only_itself() -> None:
    one, driver = machine()
    answer, _ = bench(one, driver, TWOS, references=["eager"])
    assert set(answer["samples"]) == {"candidate", "older"}
    assert "PyTorch has no kernels for this device" in answer["errors"]["eager"]


def test_too_little_memory_for_copies_is_no_end_of_it() -> None:
    one, driver = machine()
    answer, _ = bench(one, driver, TWOS, memory=3 * 1024)
    assert answer["error"] is None
    answer, _ = bench(one, driver, TWOS, memory=2 * 1024)
    assert "out of device memory" in answer["error"]


def test_a_packed_tape_is_played_without_a_compiler(tmp_path: Path) -> None:
    asked: list[dict[str, Any]] = []

    def answer(text: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        asked.append(text)
        return {"name": "kernel_k", "shared": 0, "facts": {"signature": ["*fp32", "*fp32"]}}, b"cubin"

    _player.pack(tmp_path, tape(TWOS).pack(), answer)
    assert asked == [{"text": "t", "source": "", "options": {}}]
    driver = HostDriver(double)
    engine = CudaEngine(0, lambda number: Gpu(driver, torch.device("cpu"), 0))
    said = _player.play(tmp_path, engine, 4, "")
    assert len(driver.launches) == 5
    assert [nbytes for _, _, nbytes in said["blocks"]] == [4 * N] * 3
    assert driver.launches[0][0] in {address for _, address, _ in said["blocks"]}
