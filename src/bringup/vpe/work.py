"""What a program's work costs towards the limit of cycles: counters times weights, as the chip's figures have them.

The limit ends a kernel that spins. It counts cycles of all PEs together, by sums alone, so that it can be looked at
in the middle of a program and is the same on every host, however many threads run the programs:

    cycles = launches * launch + programs * program_cycles + atomics * atomic_cycles
             + transactions * granularity / dma_bytes_per_cycle_pe + requests * dma_latency_cycles / streams
             + vector + special + dot + turns of loops * TURN_CYCLES + local bytes / LOCAL_BYTES_PER_CYCLE
             + steps of scalar operations * SCALAR_CYCLES + launches * scratch bytes / LOCAL_BYTES_PER_CYCLE

The first terms are those of the modelled time (`stats`), where the units of a PE overlap. The last four cost no
modelled time; they see to it that a loop which computes nothing ends, too.

Native code: `i64 vpe_work(ptr ctx)` gives the work counted so far for the current PE, in parts of a cycle (`SCALE`);
`i32 vpe_turn(ptr ctx, i64 site, i64 local bytes)` is called at the end of each turn of a loop.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bringup.vpe import layout as L
from bringup.vpe.layout import Counter, FaultKind
from bringup.vpe.llvm_text import Function, Unit

SCALE = 1 << 16
"""Parts of a cycle that work is counted in."""
TURN_CYCLES = 16
"""Chosen: count, compare and branch of a scalar unit; an empty turn takes the simulator about as long."""
SCALAR_CYCLES = 1
LOCAL_BYTES_PER_CYCLE = 64
"""Chosen: what a vector unit of 16 lanes of 32 bits reads."""
STRETCH_GRANULES = 4
"""Chosen: an element by itself takes the simulator as long, whose maps of who wrote what are copied, too."""
STREAMS_IN_FLIGHT = 4
"""DMA requests that a PE keeps in flight."""
VECTOR = (
    (Counter.VECTOR_8, "int8"),
    (Counter.VECTOR_16, "int16"),
    (Counter.VECTOR_32, "int32"),
    (Counter.VECTOR_64, "int64"),
)
DOT = (
    (Counter.DOT_FP32, "fp32"), (Counter.DOT_FP16, "fp16"), (Counter.DOT_BF16, "bf16"), (Counter.DOT_INT8, "int8"),
    (Counter.DOT_FP64, "fp64"), (Counter.DOT_FP8, "fp8e5"),
)  # fmt: skip


@functools.lru_cache(maxsize=64)
def weights(profile: Any) -> npt.NDArray[np.int64]:
    """What one of each counter costs on a profile: int64[COUNTER_SLOTS], in parts of a cycle (`SCALE`)."""
    cost, memory = profile.cost, profile.memory
    slowest = min(cost.dot_macs_per_cycle.values(), default=1)
    cycles = np.zeros(L.COUNTER_SLOTS)
    cycles[[Counter.TRANSACTIONS_IN, Counter.TRANSACTIONS_OUT]] = (
        memory.dma_granularity_bytes / cost.dma_bytes_per_cycle_pe
    )
    cycles[Counter.REQUESTS] = cost.dma_latency_cycles / STREAMS_IN_FLIGHT
    for slot, dtype in VECTOR:
        cycles[slot] = 1 / cost.lanes(dtype)
    for slot, dtype in DOT:
        cycles[slot] = 1 / cost.dot_macs_per_cycle.get(dtype, slowest)
    cycles[Counter.SPECIAL] = 1 / cost.special_lanes
    cycles[Counter.ATOMICS] = cost.atomic_cycles
    cycles[Counter.PROGRAMS] = cost.program_cycles
    cycles[Counter.TURNS] = TURN_CYCLES
    cycles[Counter.LOCAL_BYTES] = 1 / LOCAL_BYTES_PER_CYCLE
    cycles[Counter.SCALAR] = SCALAR_CYCLES
    found: npt.NDArray[np.int64] = np.ceil(cycles * SCALE).astype(np.int64)
    found.setflags(write=False)
    return found


def launch_work(profile: Any, scratch_bytes: int = 0) -> int:
    """What a launch costs before its first program, in parts of a cycle; `scratch_bytes` of a program are wiped."""
    cycles: float = profile.cost.launch_us * profile.cost.clock_ghz * 1e3
    return round(cycles * SCALE) + scratch_bytes * SCALE // LOCAL_BYTES_PER_CYCLE


@dataclass
class Budget:
    """What launches may take together."""

    cycles: int
    """The limit, in cycles of all PEs."""
    what: str = "call"
    """What the limit is on, for messages."""
    program_cycles: int | None = None
    """The limit for a program alone; None: only that on all together."""
    used: int = 0
    """By the launches so far, in parts of a cycle."""

    @classmethod
    def for_call(cls, limits: Any) -> Budget | None:
        """What a profile's limits give a call without data (`grow` adds what its data give); None: no limit."""
        if limits.call_cycles is None:
            return None
        return cls(limits.call_cycles, program_cycles=limits.call_cycles)

    def grow(self, limits: Any, nbytes: int) -> None:
        """Add what `nbytes` of the call's arguments give."""
        self.cycles += limits.call_cycles_per_byte * nbytes

    def take(self, work: int) -> int:
        """Count work, in parts of a cycle; gives what is left, at least 0."""
        self.used += work
        return max(self.cycles * SCALE - self.used, 0)

    def spent_by_copies(self, profile: Any, nbytes: int, stretches: int = 0) -> str:
        """Count a copy, or an allocation, of so many bytes; say so where the call has used up its cycles, else "".

        `stretches`: of neighbouring elements that it takes from and puts to.
        """
        if self.take(copy_work(profile, nbytes, stretches)):
            return ""
        return (
            f"copies, allocations and launches take more than the {self.cycles} cycles that a {self.what} on these "
            "data may take"
        )


def copy_work(profile: Any, nbytes: int, stretches: int = 0) -> int:
    """What a copy within the device costs, in parts of a cycle: a launch, and DMA of a PE's there and back.

    Each of its stretches of neighbouring elements takes as long as some granules of the DMA engine.
    """
    granule = profile.memory.dma_granularity_bytes
    moved = max(2 * nbytes, STRETCH_GRANULES * granule * stretches)
    return launch_work(profile) + int(moved / profile.cost.dma_bytes_per_cycle_pe * SCALE)


def write_work(unit: Unit) -> None:
    """Add the functions to a unit."""
    _work(unit)
    _turn(unit)


def _work(unit: Unit) -> None:
    f = Function(unit, "vpe_work", "i64", [("ptr", "ctx")])
    type_ = f"<{L.COUNTER_SLOTS} x i64>"
    counted, cost = (
        f.emit(f"load {type_}, ptr {f.pointer(f.load64('%ctx', slot))}, align 8") for slot in (L.COUNTERS, L.WEIGHTS)
    )
    add = unit.declare(f"llvm.vector.reduce.add.v{L.COUNTER_SLOTS}i64", "i64", type_)
    product = f.emit(f"mul {type_} {counted}, {cost}")
    f.ret(f"i64 {f.emit(f'call i64 {add}({type_} {product})')}")
    f.finish()


def _turn(unit: Unit) -> None:
    """Count a turn of a loop; 1 if the program has used up its cycles, or an earlier program was stopped, else 0."""
    f = Function(unit, "vpe_turn", "i32", [("ptr", "ctx"), ("i64", "site"), ("i64", "bytes")])
    row = f.pointer(f.load64("%ctx", L.COUNTERS))
    for slot, amount in ((Counter.TURNS, 1), (Counter.LOCAL_BYTES, "%bytes")):
        f.store64(f.load64(row, int(slot)) + amount, row, int(slot))
    stop = f.pointer(f.load64("%ctx", L.STOP))
    stopped = f.i(f.emit(f"load atomic i64, ptr {stop} monotonic, align 8"))
    with f.when(stopped.cmp("slt", f.load64("%ctx", L.POSITION))):
        f.ret("i32 1")  # nobody will ask what this one does
    with f.when(f.load64("%ctx", L.WEIGHTS).cmp("ne", 0)):
        own = f.i(f.emit("call i64 @vpe_work(ptr %ctx)")) - f.load64("%ctx", L.BEFORE)
        with f.when(own.cmp("sgt", f.load64("%ctx", L.OWN_LIMIT))):
            kind = int(FaultKind.CYCLES)
            f.ret(
                "i32 "
                + f.emit(f"call i32 @vpe_fault(ptr %ctx, i64 {kind}, i64 %site, i64 0, i64 0, i64 -1, i64 {own})")
            )
    f.ret("i32 0")
    f.finish()
