"""Programs of a stopped launch, run once more: for values of variables, for faults next door, for who took too much."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from bringup.vpe import layout as L
from bringup.vpe.kernel import LoadedKernel
from bringup.vpe.launch_tables import NEVER, Stopped, Worker

Record = npt.NDArray[Any]
"""A fault record, slots as `layout` has them."""
_LARGEST_SAVED = 1 << 28


@contextmanager
def undone(setup: Any) -> Iterator[None]:
    """Put back every byte of a launch's memory that is stored to in between.

    Raises MemoryError, before anything runs, where that is more than is saved.
    """
    saved: dict[int, bytes] = {}  # by address, each once, however many arguments lie there
    shadows: dict[tuple[int, int], tuple[Any, Any]] = {}
    for buffer in setup.buffers:
        if buffer is None:
            continue
        known = len(saved.get(buffer.base, b""))
        if buffer.writable and not buffer.freed and known < buffer.nbytes:
            if buffer.nbytes > _LARGEST_SAVED:
                raise MemoryError(f"a buffer of {buffer.nbytes} bytes would have to be put back afterwards")
            saved[buffer.base] = ctypes.string_at(buffer.base, buffer.nbytes)
        shadow = buffer.initialised
        if shadow is not None and (shadow.ctypes.data, shadow.size) not in shadows:
            shadows[shadow.ctypes.data, shadow.size] = shadow, shadow.copy()
    try:
        yield
    finally:
        for base, data in saved.items():
            ctypes.memmove(base, data, len(data))
        for array, before in shadows.values():
            array[:] = before


def run_one(
    stopped: Stopped, program: int, position: int, *, kernel: LoadedKernel | None = None, limit: int | None = None,
    replay: bool = True, area: npt.NDArray[np.uint8] | None = None,
) -> tuple[Record, int]:  # fmt: skip
    """Run one program; gives its fault record and its work (0 without a limit).

    Args:
        stopped: the launch.
        program, position: its number, and its place in the order of programs.
        kernel: another make of the kernel.
        limit: what it may take, in parts of a cycle.
        replay: with atomics switched off.
        area: where a kernel made for a dump writes its variables.
    """
    kernel = kernel or stopped.kernel
    worker = Worker()
    worker.prepare(kernel, stopped.profile.grid.count)
    slots = worker.context
    stopped.setup.fill(slots)
    slots[L.FLAGS] = L.FLAG_REPLAY if replay else slots[L.FLAGS]
    order = np.array([program], np.int64)
    shared = np.array([0, NEVER, 0, 0], np.int64)
    work = np.zeros(1, np.int64)
    spare = np.zeros(1 << 10, np.uint8)
    slots[L.ARGS] = stopped.packed.ctypes.data
    if area is not None:
        slots[L.DUMP] = area.ctypes.data
    slots[L.GRID : L.GRID + 3] = stopped.grid
    slots[[L.NEXT, L.STOP, L.TOTAL, L.OVER]] = shared.ctypes.data + np.arange(0, 32, 8)
    slots[L.ORDER] = order.ctypes.data
    slots[L.PROGRAMS], slots[L.CHUNK] = 1, 1
    slots[L.PRINT], slots[L.PRINT_SIZE] = spare.ctypes.data, 0
    slots[L.WEIGHTS] = 0
    if limit is not None:
        assert stopped.work is not None
        stopped.work.fill(slots)
        slots[L.WORK], slots[L.OWN_LIMIT], slots[L.TOTAL_LIMIT] = work.ctypes.data, limit, limit
    kernel.entry(slots.ctypes.data)
    worker.fault[L.F_POSITION] = position
    return worker.fault, int(work[0])


def program_at(stopped: Stopped, position: int) -> int:
    """Number of the program at a place in the order."""
    return position if stopped.order is None else int(stopped.order[position])


def neighbours(stopped: Stopped, program: int) -> list[Record]:
    """Fault records of the programs that the other PEs had when this one was stopped.

    Together they may take as much as one program: without atomics, and on memory that has changed, any may spin.
    """
    limit = None if stopped.work is None else stopped.work.program_limit // stopped.profile.grid.count
    pes, grid = stopped.profile.grid.count, stopped.grid
    first = program - program % pes
    last = min(first + pes, grid[0] * grid[1] * grid[2])
    found = []
    try:
        with undone(stopped.setup):
            for other in range(first, last):
                if other != program:
                    fault, _ = run_one(stopped, other, other, limit=limit)
                    if fault[L.F_KIND] not in (0, L.FaultKind.CYCLES):
                        found.append(fault)
    except MemoryError:
        return []  # a dump without them is better than no dump
    return found


def first_stopped(stopped: Stopped, faults: Sequence[Record]) -> tuple[Record, int]:
    """The fault that one thread, running the programs in order, would meet first, and what that program might take.

    Without a limit, and where all programs together stay below it, this is the fault of the lowest place. Else it is
    the first program whose work, with that of all before it, is above the limit, unless one before it faults.
    Programs that no thread had begun run now.
    """
    by_position = {int(record[L.F_POSITION]): record for record in faults}
    work = stopped.work
    if work is None:
        return by_position[min(by_position)], 0
    left, position, programs = work.limit, 0, len(work.taken)
    while position < programs:
        holes = np.flatnonzero(work.taken[position:] < 0)
        end = position + int(holes[0]) if len(holes) else programs
        sums = np.cumsum(work.taken[position:end])
        within = int(np.searchsorted(sums, left, side="right"))
        if within < len(sums):
            allowed = left - (int(sums[within - 1]) if within else 0)
            return _where(stopped, position + within, allowed), allowed
        left -= int(sums[-1]) if len(sums) else 0
        position = end
        if position in by_position:
            return by_position[position], work.program_limit
        if position < programs:
            # as a thread would have run it: where it stops must not depend on whether one had begun it
            fault, taken = run_one(
                stopped, program_at(stopped, position), position, limit=work.program_limit, replay=False
            )
            if fault[L.F_KIND]:
                return fault, work.program_limit
            work.taken[position] = taken
    raise AssertionError("the work of all programs is below the limit")


def _where(stopped: Stopped, position: int, limit: int) -> Record:
    """Where a program that has ended was when it had taken `limit`: its fault record, without a site if none is known.

    None is known where it takes it in straight code, or where it goes another way in memory that it has changed.
    """
    program = program_at(stopped, position)
    try:
        with undone(stopped.setup):
            fault, _ = run_one(stopped, program, position, limit=limit)
    except MemoryError:  # then nobody knows
        fault = np.zeros(L.FAULT_SLOTS, np.int64)
    if not fault[L.F_KIND]:
        fault[L.F_KIND], fault[L.F_SITE], fault[L.F_PROGRAM] = L.FaultKind.CYCLES, -1, program
        fault[L.F_RANGE], fault[L.F_OTHER] = -1, limit
    return fault
