"""What a launch is made of: what each thread needs, the tables of its memory, its limit; kept for a core dump."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bringup.vpe import layout as L
from bringup.vpe import memory, state
from bringup.vpe.arena import Arena
from bringup.vpe.kernel import LoadedKernel
from bringup.vpe.profile import Profile
from bringup.vpe.work import SCALE, Budget, weights

Array = npt.NDArray[Any]
_PRINT_BYTES = 1 << 20
NEVER = (1 << 63) - 1
"""A position in the order of programs that none has."""


class Worker:
    """What one host thread needs for a launch; kept and reused."""

    def __init__(self) -> None:
        self.context: Array = np.zeros(L.CONTEXT_SLOTS, np.int64)
        self.fault: Array = np.zeros(L.FAULT_SLOTS, np.int64)
        self.context[L.FAULT] = self.fault.ctypes.data
        self.counters: Array = np.zeros((0, L.COUNTER_SLOTS), np.int64)
        self.arena = Arena()
        self.prints: Array | None = None

    def prepare(self, kernel: LoadedKernel, pes: int) -> None:
        """Room for this kernel, everything zero."""
        slots = self.context
        rows = pes * kernel.rows
        if len(self.counters) != rows:
            self.counters = np.zeros((rows, L.COUNTER_SLOTS), np.int64)
            slots[L.COUNTER_BASE] = slots[L.COUNTERS] = self.counters.ctypes.data
        else:
            self.counters.fill(0)
            slots[L.COUNTERS] = slots[L.COUNTER_BASE]
        slots[L.PE_COUNT] = pes
        slots[L.ARENA] = self.arena.place(kernel.arena_bytes)
        self.fault.fill(0)
        if kernel.prints:
            if self.prints is None:
                self.prints = np.zeros(_PRINT_BYTES, np.uint8)
            self.prints[:8].view(np.int64)[0] = 8
            slots[L.PRINT], slots[L.PRINT_SIZE] = self.prints.ctypes.data, _PRINT_BYTES


class Named(Protocol):
    """What messages about a launch need to know."""

    name: str
    constants: dict[str, Any]
    """Compile-time constants."""


class Setup:
    """The tables of one launch; keeps them alive."""

    def __init__(self, profile: Profile, buffers: list[memory.Buffer | None], mode: state.Mode) -> None:
        self.buffers = buffers
        table = np.zeros((max(len(buffers), 1), L.RANGE_SLOTS), np.int64)
        self.keep: list[Any] = [table]
        for row, buffer in zip(table, buffers, strict=False):
            if buffer is None:
                continue
            row[L.LOW], row[L.HIGH] = buffer.base, buffer.base + buffer.nbytes
            flags = (0 if buffer.writable else L.RANGE_READONLY) | (L.RANGE_DEAD if buffer.freed else 0)
            if buffer.initialised is not None and mode.checks:
                flags |= L.RANGE_SHADOW
                row[L.SHADOW] = buffer.initialised.ctypes.data - buffer.base
                self.keep.append(buffer.initialised)
            row[L.RANGE_FLAGS] = flags
            if mode.race:
                same = next(
                    (other for other in table if other is not row and other[L.WRITERS] and other[L.LOW] == row[L.LOW]),
                    None,
                )
                if same is not None:
                    row[L.WRITERS], row[L.READERS] = same[L.WRITERS], same[L.READERS]
                else:
                    marks = np.zeros((2, buffer.nbytes + 8), np.uint32)
                    row[L.WRITERS], row[L.READERS] = marks[0].ctypes.data, marks[1].ctypes.data
                    self.keep.append(marks)
        self.table = table
        memory_rule = profile.memory
        self.align_mask = memory_rule.dma_alignment_bytes - 1
        self.run_bytes = memory_rule.dma_run_bytes
        self.granule = memory_rule.dma_granularity_bytes.bit_length() - 1
        self.flags = L.FLAG_RACE if mode.race else 0

    def fill(self, context: Array) -> None:
        """Write the slots of the memory that all threads share."""
        context[L.RANGES], context[L.RANGE_COUNT] = self.table.ctypes.data, len(self.buffers)
        context[L.FLAGS] = self.flags
        context[L.ALIGN_MASK], context[L.RUN_BYTES], context[L.GRANULE_SHIFT] = (
            self.align_mask,
            self.run_bytes,
            self.granule,
        )


class Work:
    """The limit on a launch's work, and what each program took."""

    def __init__(self, programs: int, budget: Budget, profile: Profile) -> None:
        self.limit = budget.take(0)
        """Of all programs together, in parts of a cycle."""
        alone = budget.program_cycles
        self.program_limit = self.limit if alone is None else min(self.limit, alone * SCALE)
        """Of one program, whatever the others take; looked at after each turn of a loop."""
        self.weights = weights(profile)
        self.taken: Array = np.full(programs, -1, np.int64)
        """By place in the order of programs; -1 for one that has not ended."""

    def fill(self, context: Array) -> None:
        """Write the slots of the limit."""
        context[L.WEIGHTS], context[L.WORK] = self.weights.ctypes.data, self.taken.ctypes.data
        context[L.OWN_LIMIT], context[L.TOTAL_LIMIT] = self.program_limit, self.limit


@dataclass
class Stopped:
    """A launch in which a program was stopped: what a core dump is made of."""

    kernel: LoadedKernel
    profile: Profile
    grid: tuple[int, int, int]
    launcher: Named
    packed: Array
    setup: Setup
    order: Array | None
    work: Work | None
    budget: Budget | None
