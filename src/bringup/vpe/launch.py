"""Launches: arguments, range table, threads over the programs, counters, faults."""

from __future__ import annotations

import collections
import functools
import math
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from bringup.vpe import layout as L
from bringup.vpe import memory, state
from bringup.vpe.dump import raise_fault
from bringup.vpe.errors import VpeLaunchError
from bringup.vpe.kernel import LoadedKernel
from bringup.vpe.launch_tables import NEVER, Array, Named, Setup, Stopped, Work, Worker
from bringup.vpe.profile import Profile
from bringup.vpe.profile_vocabulary import DTYPES
from bringup.vpe.rounding import as_the_chip, while_a_kernel_runs
from bringup.vpe.signature import Signature
from bringup.vpe.stats import LaunchStats
from bringup.vpe.work import Budget, launch_work

_WORTH_THREADS = 150e-6
"""Seconds of work above which a launch is spread over threads."""
AT_ONCE = 8
"""As many programs run at once where a kernel is judged in another order of them: races shall show."""
_idle: collections.deque[Worker] = collections.deque()
_pool: ThreadPoolExecutor | None = None
_pool_size = 0
_pool_lock = threading.Lock()


def _worker() -> Worker:
    try:
        return _idle.pop()
    except IndexError:
        return Worker()


def _threads(count: int) -> ThreadPoolExecutor:
    global _pool, _pool_size
    with _pool_lock:
        if _pool is None or _pool_size < count:
            if _pool is not None:
                _pool.shutdown(wait=False)
            _pool, _pool_size = ThreadPoolExecutor(count, "vpe", as_the_chip), count
        return _pool


def shutdown_threads() -> None:
    """End the host threads (they start again with the next launch); runs by itself before a fork."""
    global _pool, _pool_size
    with _pool_lock:
        pool, _pool, _pool_size = _pool, None, 0
    if pool is not None:
        pool.shutdown(wait=True)


def _after_fork_in_child() -> None:
    global _pool_lock, _pool, _pool_size
    _pool_lock, _pool, _pool_size = threading.Lock(), None, 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=shutdown_threads, after_in_child=_after_fork_in_child)


observer: Callable[[Launcher, LoadedKernel, tuple[int, int, int], Array], None] | None = None
"""Is told of every launch through Triton before it runs: launcher, kernel, grid, packed arguments."""


class Launcher:
    """What Triton calls to run a compiled kernel."""

    def __init__(self, src: Any, metadata: Any) -> None:
        self.name = metadata.name
        self.profile: Profile = state.profile_named(metadata.target.arch)
        self.signature = Signature(src)
        self.constants = self.signature.constants
        self.names = tuple(name for name, _, _ in self.signature.arguments)
        self.kinds = tuple(kind for _, kind, _ in self.signature.arguments)

    def __call__(
        self, grid_x: int, grid_y: int, grid_z: int, stream: int, function: LoadedKernel, packed_metadata: Any,
        launch_metadata: Any, enter_hook: Any, exit_hook: Any, *args: Any,
    ) -> None:  # fmt: skip
        """Run the kernel over the grid; returns when all programs are done.

        Raises:
            VpeLaunchError: the launch breaks a rule.
            VpeFault: a program was stopped.
        """
        if enter_hook is not None:
            enter_hook(launch_metadata)
        check_kinds(self.profile, self.name, self.names, self.kinds)
        packed, buffers = _packed(self, self.signature.values(args))
        if observer is not None:
            observer(self, function, (grid_x, grid_y, grid_z), packed)
        if function.follows:
            buffers += memory.others(buffers)
        run(function, self.profile, (grid_x, grid_y, grid_z), self, packed, buffers)
        if exit_hook is not None:
            exit_hook(launch_metadata)


def _packed(launcher: Launcher, values: list[Any]) -> tuple[Array, list[memory.Buffer | None]]:
    """Pack all arguments; resolve the pointers."""
    signature, profile = launcher.signature, launcher.profile
    packed = np.zeros(max(len(signature.arguments), 1), np.int64)
    found: list[memory.Buffer | None] = []
    first, first_device = "", ""
    view = packed.view(np.uint8).data
    for position, ((name, _, _), pack) in enumerate(zip(signature.arguments, signature.packers, strict=True)):
        value = values[position]
        if pack is not None:
            if hasattr(value, "item"):
                value = value.item()
            view[position * 8 : position * 8 + 8] = pack(value)
            continue
        pointer = value.data_ptr() if hasattr(value, "data_ptr") else int(value or 0)
        packed[position] = signed(pointer)
        device = getattr(getattr(value, "device", None), "type", "cpu")
        if hasattr(value, "data_ptr"):
            if device != first_device and first_device and {device, first_device} == {"cpu", "vpe"}:
                where = name if device == "cpu" else first
                raise VpeLaunchError(
                    f"argument '{where}' of kernel '{launcher.name}' is a CPU tensor among vpe tensors; "
                    "move it with .to('vpe')"
                )
            first, first_device = first or name, device
        if device not in ("cpu", "vpe"):
            raise VpeLaunchError(
                f"argument '{name}' of kernel '{launcher.name}' is a tensor on {device}; vpe launches take vpe "
                "or CPU tensors"
            )
        buffer = memory.resolve(value, pointer)
        if buffer is not None:
            buffer.name = name
        check_pointer(profile, launcher.name, name, pointer)
        found.append(buffer)
    return packed, found


_ELEMENTS = {"i1": "int1"} | {f"{sign}{bits}": f"{name}{bits}" for sign, name in (("i", "int"), ("u", "uint"))
                             for bits in (8, 16, 32, 64)}  # fmt: skip


@functools.lru_cache(maxsize=1024)
def check_kinds(profile: Profile, kernel: str, names: tuple[str, ...], kinds: tuple[str, ...]) -> None:
    """Raise VpeLaunchError for a pointer to a dtype that the chip lacks; `kinds` are Triton's types of the arguments.

    Here and not in the compiler, since TTIR has no signs.
    """
    for name, kind in zip(names, kinds, strict=True):
        element = kind.removeprefix("*").removeprefix("k")
        dtype = _ELEMENTS.get(element, element)
        if kind.startswith("*") and dtype in DTYPES and not profile.allows_dtype(dtype):
            raise VpeLaunchError(
                f"argument '{name}' of kernel '{kernel}' points to {dtype}, which does not exist on {profile.name} "
                f"(it has {', '.join(profile.dtypes)}); copy it to one of these dtypes in the wrapper"
            )


def signed(pointer: int) -> int:
    """An address as the signed number that a table of int64 holds."""
    return pointer if pointer < 1 << 63 else pointer - (1 << 64)


def check_pointer(profile: Profile, kernel: str, name: str, pointer: int) -> None:
    """Raise VpeLaunchError for a pointer argument that breaks the profile's rule of alignment."""
    rule = profile.memory
    if rule.align_launch_pointers and pointer % rule.dma_alignment_bytes:
        raise VpeLaunchError(
            f"argument '{name}' of kernel '{kernel}': its pointer 0x{pointer:x} is not a multiple of "
            f"{rule.dma_alignment_bytes} bytes (it is {pointer % rule.dma_alignment_bytes} bytes past one). "
            f"{profile.alignment_text} Pass the base tensor and an element offset, or copy the view with "
            ".contiguous() or .clone() first."
        )


def _order(programs: int, seed: int) -> Array:
    """Another order of the programs, drawn by the seed: never the usual one, which a draw for a few may come to."""
    drawn = np.random.default_rng(seed).permutation(programs).astype(np.int64)
    usual = np.arange(programs, dtype=np.int64)
    return usual[::-1].copy() if np.array_equal(drawn, usual) else drawn


def _protect(buffers: list[memory.Buffer | None], ranges: tuple[tuple[int, int], ...]) -> None:
    """Mark what overlaps a protected storage as read-only."""
    for buffer in buffers:
        if buffer is not None and any(buffer.base < high and low < buffer.base + buffer.nbytes for low, high in ranges):
            buffer.writable = False


def _grid(profile: Profile, name: str, grid: tuple[int, int, int]) -> int:
    if any(size < 0 for size in grid):
        raise VpeLaunchError(f"kernel '{name}': negative grid {grid}")
    programs = math.prod(grid)
    limits = profile.limits
    if limits.grid_max is not None and programs > limits.grid_max:
        raise VpeLaunchError(
            f"kernel '{name}': a grid of {' x '.join(map(str, grid))} = {programs} programs is above the limit "
            f"of {limits.grid_max}; "
            "let each program do more: larger blocks, or a loop over blocks"
        )
    used = sum(size > 1 for size in grid)
    if used > limits.grid_rank:
        raise VpeLaunchError(
            f"kernel '{name}': {used} grid axes are longer than 1, {profile.name} has {limits.grid_rank}; "
            "flatten the grid"
        )
    return programs


def run(
    kernel: LoadedKernel, profile: Profile, grid: tuple[int, int, int], launcher: Named, packed: Array,
    buffers: list[memory.Buffer | None], budget: Budget | None = None, at_once: int | None = None,
    *, silent: bool = False,
) -> None:  # fmt: skip
    """Run all programs of a launch: arguments packed in eight bytes each, a buffer (or None) for each pointer.

    `budget` is what the launch may take; None takes the mode's limit. `at_once`: no more programs than these, however
    many threads the mode or the profile has. `silent`: nothing is printed, and who writes what is kept, whatever the
    mode says. See `Launcher.__call__` for what it raises.
    """
    mode = state.mode()
    if silent:  # whoever launches goes by who wrote what
        mode = replace(mode, checks=True)
    if mode.by_line:
        kernel, budget, mode = kernel.by_line, None, replace(mode, cycles=None)
    programs = _grid(profile, launcher.name, grid)
    started = time.perf_counter()
    pes = profile.grid.count
    if budget is None and mode.cycles is not None:
        budget = Budget(mode.cycles, "launch")
    if budget is not None:
        budget.take(launch_work(profile, kernel.arena_bytes))
    if programs == 0:
        state.record(
            LaunchStats(
                launcher.name, grid, profile, np.zeros((pes, L.COUNTER_SLOTS), np.int64), kernel.local_bytes, 0.0
            )
        )
        return
    if mode.protected:
        _protect(buffers, mode.protected)
    setup = Setup(profile, buffers, mode)
    order = None
    if mode.seed is not None or mode.race:
        order = _order(programs, mode.seed or 0)
    # to count the CPUs asks the system
    limit = 1 if mode.race or programs == 1 else (mode.threads or profile.threads)
    limit = limit if at_once is None else min(limit, at_once)
    expected = kernel.seconds_per_program * programs
    count = min(limit, programs) if kernel.seconds_per_program == 0.0 or expected > _WORTH_THREADS else 1
    shared = np.array([0, NEVER, 0, 0], np.int64)  # next program, first stopped, work of all, whether that is too much
    work = Work(programs, budget, profile) if budget is not None else None
    at = shared.ctypes.data
    workers = [_worker() for _ in range(count)]
    for worker in workers:
        worker.prepare(kernel, pes)
        slots = worker.context
        setup.fill(slots)
        slots[L.ARGS] = packed.ctypes.data
        slots[L.GRID : L.GRID + 3] = grid
        slots[L.NEXT], slots[L.STOP], slots[L.TOTAL], slots[L.OVER] = at, at + 8, at + 16, at + 24
        slots[L.ORDER] = 0 if order is None else order.ctypes.data
        slots[L.PROGRAMS], slots[L.CHUNK] = programs, max(1, min(64, programs // (4 * count)))
        slots[L.WEIGHTS] = 0
        if work is not None:
            work.fill(slots)
    futures: list[Future[int]] = []
    if count > 1:
        try:
            pool = _threads(limit - 1)
            futures += [pool.submit(kernel.entry, worker.context.ctypes.data) for worker in workers[1:]]
        except RuntimeError:
            # no more threads in this process (a limit, or the interpreter is ending): this one does the work
            shutdown_threads()
    with while_a_kernel_runs():
        kernel.entry(workers[0].context.ctypes.data)
    for future in futures:
        # one that has not begun has nothing left to do
        if not future.cancel():
            future.result()
    seconds = time.perf_counter() - started
    per_program = seconds * count / programs
    kernel.seconds_per_program = (
        per_program if not kernel.seconds_per_program else 0.7 * kernel.seconds_per_program + 0.3 * per_program
    )
    kernel.spent(seconds)
    counters = workers[0].counters.copy()
    for worker in workers[1:]:
        counters += worker.counters
    rows = counters.reshape(pes, kernel.rows, L.COUNTER_SLOTS)
    stats = LaunchStats(
        launcher.name, grid, profile, rows.sum(axis=1), kernel.local_bytes, seconds, scratch_bytes=kernel.arena_bytes
    )
    if kernel.lines:
        stats.lines, stats.per_line = kernel.lines, rows
    state.record(stats)
    if kernel.prints and not silent:
        from bringup.vpe.prints import show

        show(kernel, grid, [worker.prints for worker in workers])
    faults = [worker.fault.copy() for worker in workers if worker.fault[L.F_KIND]]
    _idle.extend(workers)
    if faults or shared[3]:
        raise_fault(Stopped(kernel, profile, grid, launcher, packed, setup, order, work, budget), faults)
    if budget is not None:
        budget.take(int(shared[2]))


def benchmark(
    call: Callable[[], Any], *, quantiles: Sequence[float] | None = None, warmup: int = 3, rep: int = 20, **_: Any
) -> Any:
    """Median (or quantiles) of wall times in milliseconds; what Triton's autotuner uses."""
    for _i in range(warmup if warmup < 25 else 3):
        call()
    times = []
    for _i in range(rep if rep < 100 else 10):
        begin = time.perf_counter()
        call()
        times.append((time.perf_counter() - begin) * 1e3)
    if quantiles is None:
        return float(np.median(times))
    return [float(value) for value in np.quantile(times, list(quantiles))]
