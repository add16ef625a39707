"""Counters of a launch and the time that the profile's figures make of them.

The model, for each PE (documented in docs/vpe-compiler.md): programs of a PE run one after the other; within a program
DMA overlaps with computing, so

    dma      = transactions * granularity / dma_bytes_per_cycle_pe + requests * dma_latency_cycles / streams
    compute  = vector + special + dot          (the three units of a PE do not overlap)
    pe       = programs * program_cycles + atomics * atomic_cycles / combined + max(dma, compute)
    launch   = launch_us + max(slowest PE, all DMA bytes / dma_bytes_per_cycle_chip) / clock

with vector = sum over element widths of operations / lanes(width), special = operations / special_lanes, dot =
multiply-accumulates / dot_macs_per_cycle(dtype), streams = the requests that a PE keeps in flight (4), and combined =
the columns of the grid of PEs where the chip reduces along its rows (`cross_pe_reduction`), else 1. Deterministic:
equal launches give equal times.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from bringup.vpe.layout import Counter
from bringup.vpe.work import DOT, SCALE, STREAMS_IN_FLIGHT, VECTOR, launch_work, weights

UNITS = ("vector", "special", "dot")
"""The units of a PE, one at a time at work."""


@dataclass
class LaunchStats:
    """One launch: what ran, what was counted on each PE, what time the profile gives it."""

    kernel: str
    grid: tuple[int, int, int]
    profile: Any
    per_pe: npt.NDArray[np.int64] = field(repr=False)
    """int64[PEs, COUNTER_SLOTS], columns numbered by `layout.Counter`."""
    local_bytes: int
    """High-water mark of live tensors of one program."""
    host_seconds: float
    """Wall time of the simulation."""
    lines: tuple[int, ...] = ()
    """Lines of the kernel's source where counters are kept by line, the first 0 for what has none; else empty."""
    per_line: npt.NDArray[np.int64] | None = field(default=None, repr=False)
    """int64[PEs, lines, COUNTER_SLOTS]; summed over lines it is `per_pe`."""
    scratch_bytes: int = 0
    """Of the simulator's for a program, which are wiped before the launch."""

    @property
    def programs(self) -> int:
        """Number of program instances."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @functools.cached_property
    def totals(self) -> dict[str, int]:
        """Counters summed over PEs, by lower-case name."""
        summed = self.per_pe.sum(axis=0)
        return {counter.name.lower(): int(summed[counter]) for counter in Counter}

    @functools.cached_property
    def cycles(self) -> dict[str, npt.NDArray[np.float64]]:
        """Cycles of each PE by resource (float64[PEs] each): dma, vector, special, dot, atomics, programs, total.

        `waits` is the part of `dma` that is latency of requests.
        """
        return cycles_of(self.profile, self.per_pe)

    @functools.cached_property
    def chip_cycles(self) -> float:
        """Cycles that device memory needs for all PEs together."""
        bytes_moved = self.totals["transactions_in"] + self.totals["transactions_out"]
        moved = bytes_moved * self.profile.memory.dma_granularity_bytes
        return float(moved / self.profile.cost.dma_bytes_per_cycle_chip)

    @functools.cached_property
    def modelled_seconds(self) -> float:
        """The modelled time of the launch."""
        cost = self.profile.cost
        slowest = max(float(self.cycles["total"].max(initial=0.0)), self.chip_cycles)
        return float(cost.launch_us * 1e-6 + slowest / (cost.clock_ghz * 1e9))

    @functools.cached_property
    def limit_cycles(self) -> int:
        """Cycles of all PEs together as a limit of cycles counts them (see `work`)."""
        parts = int((self.per_pe.sum(axis=0) * weights(self.profile)).sum()) if self.programs else 0
        return (launch_work(self.profile, self.scratch_bytes) + parts) // SCALE

    @property
    def bound(self) -> str:
        """The resource that decides the time: launch, device memory, dma, vector, special, dot, atomics or programs."""
        cycles = self.cycles
        if not len(cycles["total"]):
            return "launch"
        worst = int(cycles["total"].argmax())
        total = float(cycles["total"][worst])
        if self.profile.cost.launch_us * self.profile.cost.clock_ghz * 1e3 > max(total, self.chip_cycles):
            return "launch"
        if self.chip_cycles > total:
            return "device memory"
        parts = {name: float(values[worst]) for name, values in cycles.items() if name not in ("total", "waits")}
        compute = parts["vector"] + parts["special"] + parts["dot"]
        parts.pop("dma" if parts["dma"] < compute else "", None)
        if "dma" in parts:
            for name in ("vector", "special", "dot"):
                parts.pop(name)
        return max(parts, key=lambda name: parts[name])

    @property
    def slowest(self) -> dict[str, float]:
        """Cycles by resource of the PE that takes longest; empty where no program ran."""
        if not self.programs:
            return {}
        worst = int(self.cycles["total"].argmax())
        return {name: float(values[worst]) for name, values in self.cycles.items()}

    @property
    def busy(self) -> int:
        """PEs that had a program to run."""
        return int(np.count_nonzero(self.per_pe[:, Counter.PROGRAMS]))

    @property
    def balance(self) -> float:
        """Mean over maximum of the PEs' cycles: 1.0 is perfect."""
        total = self.cycles["total"]
        return float(total.mean() / total.max()) if len(total) and total.max() > 0 else 1.0

    def cycles_by_line(self) -> dict[int, float]:
        """Which lines of the kernel's source the launch's cycles go to, by the model; together they are all of them.

        Where device memory decides, a line has its share of the transactions; else what it has of the slowest PE's
        time: its DMA or its work in the units, whichever of the two takes that PE longer, and its atomic updates.
        Starts of programs, and what no line is known of, are line 0's.
        """
        if self.per_line is None or not self.programs:
            return {}
        if self.chip_cycles > float(self.cycles["total"].max()):
            moved = self.per_line[:, :, [Counter.TRANSACTIONS_IN, Counter.TRANSACTIONS_OUT]].sum(axis=(0, 2))
            spent = self.chip_cycles * moved / max(int(moved.sum()), 1)
        else:
            worst = self.slowest
            units = ("dma",) if worst["dma"] >= worst["vector"] + worst["special"] + worst["dot"] else UNITS
            cycles = cycles_of(self.profile, self.per_line[int(self.cycles["total"].argmax())])
            spent = sum((cycles[name] for name in ("programs", "atomics", *units)), np.zeros(len(self.lines)))
        return {line: float(one) for line, one in zip(self.lines, spent, strict=True)}

    def by_line(self) -> list[dict[str, Any]]:
        """What was counted for each line of the source, on all PEs, and its cycles; empty where nobody asked for it."""
        if self.per_line is None:
            return []
        cycles, summed = self.cycles_by_line(), self.per_line.sum(axis=0)
        return [
            {
                "line": line,
                "cycles": cycles.get(line, 0.0),
                "counters": {counter.name.lower(): int(row[counter]) for counter in Counter if row[counter]},
            }
            for line, row in zip(self.lines, summed, strict=True)
            if row.any()
        ]

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain numbers for JSON; `lines` only where they were asked for."""
        lines = {"lines": self.by_line()} if self.per_line is not None else {}
        return {
            "kernel": self.kernel,
            "grid": list(self.grid),
            "profile": self.profile.name,
            "programs": self.programs,
            "local_bytes": self.local_bytes,
            "counters": self.totals,
            "cycles": {name: float(values.max(initial=0.0)) for name, values in self.cycles.items()},
            "slowest": self.slowest,
            "chip_cycles": self.chip_cycles,
            "pes": len(self.per_pe),
            "busy": self.busy,
            "limit_cycles": self.limit_cycles,
            "balance": self.balance,
            "bound": self.bound,
            "modelled_us": self.modelled_seconds * 1e6,
            "host_us": self.host_seconds * 1e6,
            **lines,
        }


def cycles_of(profile: Any, counted: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[np.float64]]:
    """Cycles by resource of each row of counters (int64[rows, COUNTER_SLOTS]), as `LaunchStats.cycles` has them."""
    cost, memory = profile.cost, profile.memory
    count = counted.astype(np.float64)
    transactions = count[:, Counter.TRANSACTIONS_IN] + count[:, Counter.TRANSACTIONS_OUT]
    waits = count[:, Counter.REQUESTS] * cost.dma_latency_cycles / STREAMS_IN_FLIGHT
    dma = transactions * memory.dma_granularity_bytes / cost.dma_bytes_per_cycle_pe + waits
    vector = sum((count[:, slot] / cost.lanes(dtype) for slot, dtype in VECTOR), np.zeros(len(count)))
    special = count[:, Counter.SPECIAL] / cost.special_lanes
    slowest = min(cost.dot_macs_per_cycle.values(), default=1)
    dot = sum(
        (count[:, slot] / cost.dot_macs_per_cycle.get(dtype, slowest) for slot, dtype in DOT), np.zeros(len(count))
    )
    atomics = count[:, Counter.ATOMICS] * cost.atomic_cycles
    if profile.features.cross_pe_reduction:
        # the PEs of a row combine their updates on the way: memory sees one for each row
        atomics /= profile.grid.columns
    programs = count[:, Counter.PROGRAMS] * cost.program_cycles
    return {
        "dma": dma,
        "waits": waits,
        "vector": vector,
        "special": special,
        "dot": dot,
        "atomics": atomics,
        "programs": programs,
        "total": programs + atomics + np.maximum(dma, vector + special + dot),
    }


def copy_seconds(profile: Any, copies: int, nbytes: int, pieces: int) -> float:
    """The modelled time of copies that the host asks for: `nbytes` moved in `pieces` contiguous stretches (both ends).

    Each copy is a launch; device memory is read and written by whole DMA transactions, all PEs together:

        copies * launch_us + (2 * bytes + pieces * granularity) / dma_bytes_per_cycle_chip / clock
    """
    cost = profile.cost
    moved = 2 * nbytes + pieces * profile.memory.dma_granularity_bytes
    return float(copies * cost.launch_us * 1e-6 + moved / cost.dma_bytes_per_cycle_chip / (cost.clock_ghz * 1e9))
