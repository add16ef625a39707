"""Where everything lies in the context that compiled kernels receive: shared by the code generator and the launcher.

The context is an array of i64. One per host thread.
"""

from __future__ import annotations

import enum

# context slots
RANGES, RANGE_COUNT, COUNTERS, FAULT, PROGRAM = 0, 1, 2, 3, 4
PID, GRID = 5, 8  # three slots each
ARENA, FLAGS, ALIGN_MASK, RUN_BYTES, GRANULE_SHIFT = 11, 12, 13, 14, 15
ARGS, PRINT, DUMP, NEXT, ORDER, PROGRAMS, CHUNK = 16, 17, 18, 19, 20, 21, 22
COUNTER_BASE, PE_COUNT, STOP, PRINT_SIZE = 23, 24, 25, 26
POSITION, WEIGHTS, BEFORE, OWN_LIMIT, WORK, TOTAL, TOTAL_LIMIT, OVER = 27, 28, 29, 30, 31, 32, 33, 34
LINES = 35  # the counters of this PE, where a kernel counts by line: a row for each line, of which COUNTERS is one
CONTEXT_SLOTS = 40

FLAG_RACE, FLAG_REPLAY = 1, 2

# one record of the range table
LOW, HIGH, RANGE_FLAGS, SHADOW, WRITERS, READERS = 0, 1, 2, 3, 4, 5
RANGE_SLOTS = 8
RANGE_READONLY, RANGE_DEAD, RANGE_SHADOW = 1, 2, 4

# fault record
F_KIND, F_SITE, F_ADDRESS, F_BYTES, F_PROGRAM, F_RANGE, F_OTHER, F_POSITION = 0, 1, 2, 3, 4, 5, 6, 7
FAULT_SLOTS = 8

MANY, ATOMIC = 0xFFFFFFFF, 0x7FFFFFFF
"""Marks of the race tables: read by several programs; touched by atomics."""


class FaultKind(enum.IntEnum):
    """Why a program was stopped."""

    OUT_OF_BOUNDS = 1
    MISALIGNED = 2
    READ_ONLY = 3
    FREED = 4
    POISON = 5
    WRITE_RACE = 6
    READ_RACE = 7
    ASSERT = 8
    DMA_ALIGNMENT = 9
    INDEX = 10
    CYCLES = 11

    @property
    def text(self) -> str:
        """One line for people."""
        return {
            1: "access out of bounds",
            2: "misaligned access",
            3: "write to a read-only input",
            4: "use of freed memory",
            5: "read of memory that was never written",
            6: "race: two programs write the same address without atomics",
            7: "race: one program reads what another writes in the same launch",
            8: "device assertion failed",
            9: "DMA run not aligned",
            10: "index outside of the source of a gather",
            11: "too many cycles",
        }[int(self)]


class Counter(enum.IntEnum):
    """What is counted for every PE, in i64 slots."""

    BYTES_IN = 0
    BYTES_OUT = 1
    TRANSACTIONS_IN = 2
    TRANSACTIONS_OUT = 3
    REQUESTS = 4
    VECTOR_8 = 5
    VECTOR_16 = 6
    VECTOR_32 = 7
    VECTOR_64 = 8
    SPECIAL = 9
    DOT_FP32 = 10
    DOT_FP16 = 11
    DOT_BF16 = 12
    DOT_INT8 = 13
    DOT_FP64 = 14
    DOT_FP8 = 15
    ATOMICS = 16
    PROGRAMS = 17
    # what costs no modelled time, but counts towards the limit of cycles
    TURNS = 18
    """Turns of loops."""
    LOCAL_BYTES = 19
    """Bytes of blocks that were filled, moved or looked through in local memory."""
    SCALAR = 20
    """Steps of the scalar unit: operations on no tensor."""


COUNTER_SLOTS = 24
