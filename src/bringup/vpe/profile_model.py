"""The model of a chip profile: its fields, their units, and which values contradict one another."""

from __future__ import annotations

import difflib
import functools
import hashlib
import os
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from bringup.vpe.profile_vocabulary import BITS, DTYPES, TL_NAMES


class ProfileError(Exception):
    """A profile that cannot be used: which file, which field, what is wrong, what to do. Always one line."""

    def __init__(self, source: str, field: str, problem: str, advice: str = "") -> None:
        where = f"{source}: {field}" if field else source
        super().__init__(f"{where}: {problem}{f'; {advice}' if advice else ''}")
        self.source, self.field, self.problem, self.advice = source, field, problem, advice


class Contradiction(ValueError):
    """Two fields that cannot both hold; carries the field to blame through pydantic's wrapping."""

    def __init__(self, field: str, problem: str, advice: str) -> None:
        super().__init__(problem)
        self.field, self.problem, self.advice = field, problem, advice


def flatten_names(value: object) -> object:
    """Accept names in groups (`math: [exp, log]`): groups are for the reader, the set is what counts."""
    if isinstance(value, Mapping):
        groups = [names if isinstance(names, list) else [names] for names in value.values()]
        return [name for group in groups for name in group]
    return value


Names = Annotated[tuple[str, ...], BeforeValidator(flatten_names)]
Positive = Annotated[int, Field(gt=0)]
Rate = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Cycles = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=False)


class Grid(_Part):
    """The grid of processing elements (PEs)."""

    rows: Positive
    columns: Positive

    @property
    def count(self) -> int:
        """Number of PEs."""
        return self.rows * self.columns


class Memory(_Part):
    """Local memory of a PE and the rules of its DMA engine. All figures are bytes."""

    local_bytes_per_pe: Positive | None
    """Local memory of one PE; null = no limit."""
    double_buffered: bool = False
    """The compiler keeps two copies of every live tensor, so that a program has half of the local memory."""
    dma_alignment_bytes: Positive
    """What the alignment rule asks for: a power of two; 1 = no rule."""
    dma_run_bytes: Positive
    """Contiguous accesses of at least this many bytes are DMA runs and fall under the alignment rule."""
    dma_granularity_bytes: Positive
    """Size of one DMA transaction: a shorter or unaligned piece costs a whole one."""
    align_launch_pointers: bool
    """Whether every pointer passed to a launch must be aligned, too."""
    allocation_alignment_bytes: Positive
    """Alignment of what the device allocator hands out; a power of two."""
    red_zone_bytes: Annotated[int, Field(ge=0)]
    """Guard bytes before and after every allocation; never handed out, checked for canaries."""

    @property
    def usable_local_bytes(self) -> int | None:
        """Bytes of local memory that the live tensors of one program may take."""
        if self.local_bytes_per_pe is None:
            return None
        return self.local_bytes_per_pe // (2 if self.double_buffered else 1)


class Features(_Part):
    """What the chip can do beyond plain loads, stores and arithmetic."""

    scatter_stores: bool
    """Stores whose addresses are computed from loaded data or otherwise have no stride known to the compiler."""
    scatter_stores_option: bool
    """Whether the launch option `enable_scatter_stores=True` switches them on."""
    gather_loads: bool
    """Loads from such addresses."""
    pointer_tensors: bool
    """`tl.load`/`tl.store` on tensors of pointers."""
    block_pointers: bool
    """`tl.make_block_ptr`."""
    tensor_descriptors: bool
    """`tl.make_tensor_descriptor`."""
    mixed_addressing: bool
    """One kernel may use pointer tensors and tensor descriptors together."""
    dot_3d: bool
    """`tl.dot` on batches (rank 3)."""
    cross_pe_reduction: bool
    """PEs of one row can combine partial results; lowers the modelled cost of atomics along a row."""
    subnormals: bool = True
    """Arithmetic has float32's subnormal numbers; else the chip may take them for zeros, and results are judged so."""

    @model_serializer(mode="wrap")
    def _as_it_was(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what is as it was before there was a word for it: what was judged on the chip stays judged."""
        return {name: value for name, value in plain(self).items() if name != "subnormals" or not value}


class Limits(_Part):
    """Hard limits; null = none."""

    dma_streams: Positive | None
    """Concurrent DMA streams (circular buffers) of one kernel: one for each load and store site."""
    dot_accumulator_row_bytes: Positive | None
    """Shortest accumulator row (last axis) of `tl.dot`, in bytes."""
    grid_max: Positive | None
    """Programs of one launch (product of the three grid axes)."""
    grid_rank: Annotated[int, Field(ge=1, le=3)]
    """How many grid axes may be longer than 1."""
    tensor_rank: Positive
    """Largest rank of a tensor in a kernel."""
    tensor_numel: Positive
    """Most elements of one tensor in a kernel; at most 1,048,576, Triton's own limit."""
    last_axis_multiple_bytes: Positive | None
    """Last axis of every loaded or stored block is a multiple of this many bytes."""
    gather_axis: Literal["any", "last"]
    """Axes that `tl.gather` may take."""
    call_cycles: Positive | None = None
    """Cycles that one program, and all programs of one call together where its arguments have no data, may take where
    candidates are judged."""
    call_cycles_per_byte: Annotated[int, Field(ge=0)] = 0
    """Cycles that all programs of the call together may take beyond that for each byte of its arguments."""


class Cost(_Part):
    """Figures of the cost model; nothing here changes a result."""

    clock_ghz: Rate
    dma_bytes_per_cycle_pe: Rate
    """What one PE's DMA engine moves each cycle."""
    dma_bytes_per_cycle_chip: Rate
    """What device memory delivers to all PEs together each cycle."""
    dma_latency_cycles: Cycles
    """From the issue of a DMA transfer to its first byte."""
    vector_lanes: Positive
    """32-bit lanes of the vector unit; twice as many 16-bit ones, half as many 64-bit ones."""
    special_lanes: Positive
    """Lanes of the special function unit (exp, log, sin, sqrt, division ...), whatever the width."""
    dot_macs_per_cycle: dict[str, Positive]
    """Multiply-accumulates a cycle and PE of the matrix unit by operand dtype."""
    atomic_cycles: Cycles
    """One atomic update of device memory."""
    program_cycles: Cycles
    """Start of one program on a PE."""
    launch_us: Cycles
    """Start of one launch, microseconds."""

    def lanes(self, dtype: str) -> float:
        """Elements of `dtype` (a Triton dtype name) that the vector unit processes each cycle."""
        return self.vector_lanes * 32 / max(BITS[dtype], 8)


class Profile(_Part):
    """One virtual chip. Immutable and hashable by `digest`.

    Dtypes carry Triton's names (`fp32`, `bf16`, `int32`, ...; `int1` is bool). An allow list that is null allows all.
    """

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    title: str
    """One line for lists."""
    description: str
    """What the profile stands for and where its figures come from."""
    grid: Grid
    host_threads: Annotated[int, Field(ge=0)]
    """Host threads that run the PEs; 0 = one for each CPU that this process may use, one where kernels are judged."""
    memory: Memory
    dtypes: Names
    """Dtypes of tensors in memory and in kernels."""
    tl: Names | None
    """Functions of `triton.language` that a kernel may call."""
    libdevice: Names | None
    """Functions of libdevice that a kernel may call."""
    tl_dtypes: dict[str, Names] = {}
    """Functions of `tl` that take fewer dtypes than the chip has."""
    features: Features
    limits: Limits
    cost: Cost
    alignment_rule: str
    """The alignment rule for authors, in two sentences; `{field}` of `memory` is filled in."""
    notes: tuple[str, ...] = ()
    """What else an author must know, a sentence each; placeholders as in `alignment_rule`, and `limits` too."""

    def allows_tl(self, name: str, dtype: str | None = None) -> bool:
        """Whether a kernel may call `tl.<name>` or `tl.math.<name>`, on tensors of `dtype` if one is given."""
        name = name.removeprefix("math.")
        if self.tl is not None and name not in self.tl:
            return False
        return dtype is None or dtype in self.tl_dtypes.get(name, self.dtypes)

    def allows_libdevice(self, name: str) -> bool:
        """Whether a kernel may call `libdevice.<name>`."""
        return self.libdevice is None or name in self.libdevice

    def allows_dtype(self, name: str) -> bool:
        """Whether the chip has the dtype of this Triton name."""
        return name in self.dtypes

    @property
    def threads(self) -> int:
        """Host threads to run the PEs with."""
        return min(self.host_threads or len(os.sched_getaffinity(0)), self.grid.count)

    @property
    def judged_threads(self) -> int:
        """Host threads where kernels are judged or sealed: kernels can tell, so never as many as this host has."""
        return self.host_threads or 1

    @functools.cached_property
    def digest(self) -> str:
        """16 hex digits that change with every figure and with no comment; part of cache keys."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:16]

    def __hash__(self) -> int:
        return hash(self.digest)

    def _placeholders(self) -> dict[str, object]:
        usable = {"usable_local_bytes": self.memory.usable_local_bytes}
        return {**self.memory.model_dump(), **self.limits.model_dump(), **usable}

    @property
    def alignment_text(self) -> str:
        """The alignment rule with its figures filled in."""
        return self.alignment_rule.format(**self._placeholders()).strip()

    @property
    def note_texts(self) -> tuple[str, ...]:
        """The notes with their figures filled in."""
        return tuple(note.format(**self._placeholders()).strip() for note in self.notes)

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        for field, names, known in (
            ("dtypes", self.dtypes, DTYPES),
            ("tl", self.tl or (), TL_NAMES),
            ("tl_dtypes", self.tl_dtypes, TL_NAMES),
            ("cost.dot_macs_per_cycle", self.cost.dot_macs_per_cycle, DTYPES),
            ("libdevice", self.libdevice or (), _libdevice_names() if self.libdevice else ()),
        ):
            for name in names:
                if name not in known:
                    raise Contradiction(field, f"unknown name '{name}'", closest(name, known))
        if not self.dtypes:
            raise Contradiction("dtypes", "no dtype at all", "name at least one, for example fp32")
        for name, dtypes in self.tl_dtypes.items():
            if self.tl is not None and name not in self.tl:
                raise Contradiction(f"tl_dtypes.{name}", "not in the list 'tl'", "add it there or drop the entry")
            for dtype in dtypes:
                if dtype not in self.dtypes:
                    raise Contradiction(
                        f"tl_dtypes.{name}", f"'{dtype}' is not in 'dtypes'", "drop it or add the dtype"
                    )
        return self

    @model_validator(mode="after")
    def _check_memory(self) -> Self:
        memory = self.memory
        for field in ("dma_alignment_bytes", "dma_granularity_bytes", "allocation_alignment_bytes"):
            value = getattr(memory, field)
            if value & (value - 1):
                raise Contradiction(f"memory.{field}", f"{value} is not a power of two", "use 16, 32, 64 ...")
        if memory.allocation_alignment_bytes < memory.dma_alignment_bytes:
            raise Contradiction(
                "memory.allocation_alignment_bytes",
                f"{memory.allocation_alignment_bytes} is less than dma_alignment_bytes ({memory.dma_alignment_bytes})",
                "fresh tensors would break the alignment rule; raise it",
            )
        if memory.red_zone_bytes % memory.allocation_alignment_bytes:
            raise Contradiction(
                "memory.red_zone_bytes",
                f"{memory.red_zone_bytes} is not a multiple of allocation_alignment_bytes "
                f"({memory.allocation_alignment_bytes})",
                "round it up",
            )
        usable = memory.usable_local_bytes
        row = self.limits.dot_accumulator_row_bytes
        if usable is not None and usable < max(memory.dma_granularity_bytes, row or 0):
            raise Contradiction(
                "memory.local_bytes_per_pe",
                f"{usable} usable bytes hold neither one DMA transaction nor one accumulator row",
                "raise it or lower dma_granularity_bytes and limits.dot_accumulator_row_bytes",
            )
        return self

    @model_validator(mode="after")
    def _check_limits(self) -> Self:
        features, limits = self.features, self.limits
        if not (features.pointer_tensors or features.block_pointers or features.tensor_descriptors):
            raise Contradiction(
                "features",
                "pointer_tensors, block_pointers and tensor_descriptors are all false",
                "a kernel needs one of them to reach memory",
            )
        if features.scatter_stores and not features.pointer_tensors:
            raise Contradiction(
                "features.scatter_stores", "true while pointer_tensors is false", "scatter needs pointer tensors"
            )
        if features.dot_3d and limits.tensor_rank < 3:
            raise Contradiction(
                "features.dot_3d", f"true while limits.tensor_rank is {limits.tensor_rank}", "raise the rank to 3"
            )
        if limits.tensor_numel > 1 << 20:
            raise Contradiction(
                "limits.tensor_numel", f"{limits.tensor_numel} is above Triton's own 1048576", "lower it"
            )
        return self

    @model_validator(mode="after")
    def _check_cost(self) -> Self:
        cost = self.cost
        for dtype in cost.dot_macs_per_cycle:
            if dtype not in self.dtypes:
                raise Contradiction(f"cost.dot_macs_per_cycle.{dtype}", "not in 'dtypes'", "drop it or add the dtype")
        if self.allows_tl("dot"):
            for dtype in self.tl_dtypes.get("dot", self.dtypes):
                if dtype in ("fp16", "bf16", "fp32", "fp64", "int8") and dtype not in cost.dot_macs_per_cycle:
                    raise Contradiction(
                        "cost.dot_macs_per_cycle", f"no figure for {dtype}", "add it or limit tl_dtypes.dot"
                    )
        most = cost.dma_bytes_per_cycle_pe * self.grid.count
        if cost.dma_bytes_per_cycle_chip > most:
            raise Contradiction(
                "cost.dma_bytes_per_cycle_chip",
                f"{cost.dma_bytes_per_cycle_chip:g} is more than all PEs draw together ({most:g})",
                "lower it or raise dma_bytes_per_cycle_pe",
            )
        return self

    @model_validator(mode="after")
    def _check_prose(self) -> Self:
        for field, texts in (("alignment_rule", (self.alignment_rule,)), ("notes", self.notes)):
            for text in texts:
                try:
                    text.format(**self._placeholders())
                except (KeyError, IndexError, ValueError) as error:
                    raise Contradiction(
                        field, f"placeholder {error} cannot be filled in", "use a field of memory or limits, {{ for {"
                    ) from None
        return self


def _libdevice_names() -> Iterable[str]:
    from bringup.vpe.libdevice import function_names

    return function_names()


def closest(name: str, known: Iterable[str]) -> str:
    """Advice on an unknown name."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"did you mean '{close[0]}'?" if close else "see docs/vpe-profiles.md for the names"
