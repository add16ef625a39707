"""State of one function's lowering: scalars, buffers in local memory, loops over tensors."""

from __future__ import annotations

import math
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from bringup.vpe import layout as L
from bringup.vpe.ir import Block, Func, Module, Op, Value
from bringup.vpe.llvm_text import Function, Unit
from bringup.vpe.lower.affine import Expr, Fits, add, mul
from bringup.vpe.lower.counted import counted
from bringup.vpe.lower.elementwise import CANONICAL
from bringup.vpe.lower.evaluate import Eval, Idx, Unsupported, convert
from bringup.vpe.lower.lanes import REGISTER, STORED, Lanes, V
from bringup.vpe.lower.owners import Owners
from bringup.vpe.lower.plan import Plan

WIDTH = 16
"""Lanes of one step of a loop over a tensor."""


@dataclass
class Shared:
    """What all functions of a kernel have in common."""

    unit: Unit
    module: Module
    call: Callable[[Lanes, str, list[V], str], V]
    owners: Owners
    arena: int = 0
    """Bytes of local memory given out so far by functions that are done (their frames do not overlap)."""
    peak: int = 0
    dump_site: int | None = None
    dumps: list[tuple[Value, int]] = field(default_factory=list)
    dump_bytes: int = 0
    prints: dict[int, Op] = field(default_factory=dict)
    rows: dict[Op, int] | None = None
    """In a copy of the kernel that counts by line: the row of counters of each operation."""


class Arena:
    """Offsets in local memory, first fit over freed pieces."""

    def __init__(self, base: int, reuse: bool) -> None:
        self.base = self.top = self.peak = base
        self.free: list[tuple[int, int]] = []
        self.live: dict[int, int] = {}
        self.reuse = reuse

    def take(self, nbytes: int) -> int:
        """Reserve bytes; 64-byte aligned, with room for reading a whole vector past the end."""
        size = (max(nbytes, 1) + 63) // 64 * 64 + 64
        for position, (offset, room) in enumerate(self.free):
            if room >= size:
                if room > size:
                    self.free[position] = (offset + size, room - size)
                else:
                    del self.free[position]
                self.live[offset] = size
                return offset
        offset = self.top
        self.top += size
        self.peak = max(self.peak, self.top)
        self.live[offset] = size
        return offset

    def give(self, offset: int) -> None:
        """Return a piece."""
        size = self.live.pop(offset, None)
        if size is None or not self.reuse:
            return
        pieces = sorted([*self.free, (offset, size)])
        merged: list[tuple[int, int]] = []
        for start, room in pieces:
            if merged and merged[-1][0] + merged[-1][1] == start:
                merged[-1] = (merged[-1][0], merged[-1][1] + room)
            else:
                merged.append((start, room))
        self.free = merged


class Lowering:
    """Lowers one function; `visit` is the dispatch of operations (see `kernel.py`)."""

    def __init__(self, shared: Shared, func: Func, function: Function, visit: Callable[[Lowering, Op], None]) -> None:
        self.shared, self.func, self.f = shared, func, function
        self.visit_op = visit
        self.plan = Plan(func)
        self.arena = Arena(shared.arena, reuse=shared.dump_site is None and len(func.blocks) == 1)
        self.scalars: dict[Value, V] = {}
        self.buffers: dict[Value, int] = {}
        self.released: set[Value] = set()
        """Whose buffers others may have by now."""
        self.windows: dict[Value, str] = {}
        """Loaded block -> pointer to it, in device memory or in its buffer."""
        self.one = Lanes(function, 1)
        self.counts: Tally[int] = Tally()
        self.scope: list[Value] = []
        self.fault = "fault"
        self.arena_pointer = ""
        self.row: int | None = None
        """The row that counters go to here, where the kernel counts by line; None is not known."""
        self.starts: dict[Value, str] = {}
        """Loop-carried walks: synthetic scalar -> SSA i64."""
        self.last: dict[str, int] = {}
        """Scalar parts of indices -> the greatest that each can be: what reads a buffer checks it against its size."""

    # scalars and affine starts

    def scalar(self, value: Value) -> V:
        """A scalar SSA value in a register."""
        if value in self.scalars:
            return self.scalars[value]
        op = value.op
        if op is not None and op.name == "arith.constant":
            found = self.one.constant(value.type.elem, op.attrs["value"])
            self.scalars[value] = found
            return found
        raise Unsupported(op or Op("block argument"), f"scalar %{value.name} has no value here")

    def expr(self, expr: Expr) -> str:
        """Emit a scalar expression of the affine analysis as i64; gives a number or an SSA name."""
        if isinstance(expr, int):
            return str(expr)
        if isinstance(expr, Value):
            if expr in self.starts:
                return self.starts[expr]
            value = self.scalar(expr)
            if value.const is not None:
                return str(value.const)
            if REGISTER[value.elem] == "i64":
                return value.name
            return self.f.emit(f"{'zext' if value.elem == 'i1' else 'sext'} {REGISTER[value.elem]} {value.name} to i64")
        symbol, a, b = expr
        if symbol == "wrap":
            inner = self.expr(a)
            short = self.f.emit(f"trunc i64 {inner} to i{b}")
            return self.f.emit(f"sext i{b} {short} to i64")
        left, right = self.expr(a), self.expr(b)
        if symbol.endswith(".sat"):
            name = self.f.unit.declare(f"llvm.{symbol}.i64", "i64", "i64", "i64")
            return self.f.emit(f"call i64 {name}(i64 {left}, i64 {right})")
        if left.lstrip("-").isdigit() and right.lstrip("-").isdigit():
            return str(add(int(left), int(right)) if symbol == "+" else mul(int(left), int(right)))
        return self.f.emit(f"{'add' if symbol == '+' else 'mul'} i64 {left}, {right}")

    def fits(self, needs: Iterable[Fits]) -> str:
        """Emit the check that walks stay in their ranges; gives an i1, "true" where all are known to."""
        f, found = self.f, "true"
        for need in dict.fromkeys(needs):
            if need.known:
                continue
            bottom, top = low, high = -(1 << (need.bits - 1)), (1 << (need.bits - 1)) - 1
            start = first = last = f.i(self.expr(need.start))
            for stride, times in need.steps:
                if isinstance(stride, int):  # on the other side: what starts at the end of 64 bits has no sum
                    low -= min(stride, 0) * times
                    high -= max(stride, 0) * times
                else:  # of 32 bits at most
                    step = f.i(self.expr(stride)) * times
                    first, last = first + step.min_signed(0), last + step.max_signed(0)
            checks = []
            if low != bottom or first is not start:  # else it is true of any start
                checks.append(first.cmp("sge", low))
            if high != top or last is not start:
                checks.append(last.cmp("sle", high))
            for inside in checks:
                found = inside if found == "true" else f.emit(f"and i1 {found}, {inside}")
        return found

    # local memory

    def allocate(self, value: Value) -> int:
        """Offset of a value's buffer; made on first use."""
        root = self.plan.root(value)
        if root not in self.buffers:
            target = self.plan.in_place.get(root)
            self.buffers[root] = (
                self.buffers[self.plan.root(target)] if target is not None else self.arena.take(root.type.nbytes)
            )
        return self.buffers[root]

    def address(self, offset: int) -> str:
        """Pointer to a place in local memory."""
        return self.f.gep8(self.arena_pointer, offset)

    def buffer(self, value: Value) -> str:
        """Pointer to a tensor's buffer."""
        window = self.windows.get(self.plan.root(value))
        return window if window is not None else self.address(self.allocate(value))

    def held(self, value: Value) -> str:
        """Pointer to a tensor's buffer, to read it. Raises AssertionError where it does not hold the tensor."""
        root = self.plan.root(value)
        if root not in self.windows and root not in self.buffers:
            raise AssertionError(f"%{value.name} is read from room that nobody has written")
        if root in self.released:
            raise AssertionError(f"%{value.name} is read from room that was given back")
        return self.buffer(value)

    def release(self, op: Op) -> None:
        """Free what dies with this operation."""
        for value in self.plan.dead_after.get(op, ()):
            if value in self.buffers:
                self.arena.give(self.buffers[value])
                if self.arena.reuse:
                    self.released.add(value)

    @contextmanager
    def scratch(self, nbytes: int) -> Iterator[str]:
        """A temporary piece of local memory."""
        offset = self.arena.take(nbytes)
        yield self.address(offset)
        self.arena.give(offset)

    def dense(self, value: Value) -> str:
        """Pointer to the tensor in local memory; it must have been planned to be there."""
        if not self.plan.is_buffer(value):
            raise Unsupported(
                value.op or Op("argument"), f"%{value.name} was not kept in local memory (defect of the planner)"
            )
        if value in self.plan.affine.carried:
            # carried as a start and strides; written out where somebody needs it dense
            pointer = self.address(self.arena.take(value.type.nbytes))
            self.fill(value, pointer)
            return pointer
        return self.held(value)

    def check(self, status: str) -> None:
        """Leave through the fault exit if an engine call returned nonzero."""
        bad = self.f.emit(f"icmp ne i32 {status}, 0")
        self.f.leave_if(bad, self.fault)

    def turn(self, end: Op, moved: int) -> None:
        """Count a turn of a loop at its end, `moved` bytes of tensors handed over; leave if it was one too many."""
        self.f.unit.declare("vpe_turn", "i32", "ptr", "i64", "i64")
        status = self.f.emit(f"call i32 @vpe_turn(ptr %ctx, i64 {end.id}, i64 {moved})")
        bad = self.f.emit(f"icmp ne i32 {status}, 0")
        if end.id == self.shared.dump_site and self.func.public:
            with self.f.when(bad):
                self.dump()
        self.f.leave_if(bad, self.fault)

    # loops over tensors

    def index(self, text: str, last: int) -> str:
        """Emit the scalar part of an index; `last`: the greatest that it can be."""
        name = self.f.emit(text)
        self.last[name] = last
        return name

    def each(
        self, shape: tuple[int, ...], body: Callable[[Eval, tuple[Idx, ...], str], None], width: int = WIDTH
    ) -> None:
        """Loop over all elements in row-major order, `width` at a time.

        `body(eval, index, linear)` emits one step; `linear` is the i64 number of its first element.
        """
        numel = math.prod(shape)
        w = min(width, numel)
        inner, axis = 1, len(shape)
        while axis > 0 and inner < w:
            axis -= 1
            inner *= shape[axis]
        # lanes cover axes > axis whole and part of `axis`
        below = inner // shape[axis] if axis < len(shape) else 1
        lanes = range(w)
        patterns: list[tuple[int, ...] | None] = [None] * len(shape)
        stride = 1
        for d in range(len(shape) - 1, axis - 1, -1):
            pattern = tuple((lane // stride) % shape[d] for lane in lanes)
            patterns[d] = None if w == 1 or not any(pattern) else pattern
            stride *= shape[d]
        index: list[Idx] = [Idx(0, pattern) for pattern in patterns]
        step = w // below if w > 1 else 1
        outer = [d for d in range(axis) if shape[d] > 1]
        split = axis < len(shape) and shape[axis] > step
        if w == 1 and axis == len(shape) and shape:
            # no lanes at all: every axis is a loop
            outer = [d for d in range(len(shape)) if shape[d] > 1]
            split = False
        loops = [*outer, *([axis] if split else [])]
        if len(loops) > 3:
            self._linear(shape, w, index, loops, body)
            return
        self._nest(shape, w, index, loops, axis if split else -1, step, body)

    def each_alone(self, shape: tuple[int, ...], body: Callable[[Eval, tuple[Idx, ...], str], None]) -> None:
        """Loop over all elements in row-major order, one at a time, by one loop: less code than `each`, and slower."""
        axes = [d for d, size in enumerate(shape) if size > 1]
        self._linear(shape, 1, [Idx(0)] * len(shape), axes, body)

    def _nest(
        self, shape: tuple[int, ...], w: int, index: list[Idx], loops: list[int], split: int, step: int,
        body: Callable[[Eval, tuple[Idx, ...], str], None],
    ) -> None:  # fmt: skip
        if not loops:
            linear: str = "0"
            for d, idx in enumerate(index):
                if idx.base != 0:
                    stride = math.prod(shape[d + 1 :])
                    term = str(idx.base) if stride == 1 else self.f.emit(f"mul nuw nsw i64 {idx.base}, {stride}")
                    linear = term if linear == "0" else self.f.emit(f"add nuw nsw i64 {linear}, {term}")
            body(Eval(self, w), tuple(index), linear)
            return
        d = loops[0]
        stride = step if d == split else 1
        with self.f.loop(shape[d], stride) as counter:
            self.last[counter] = (shape[d] - 1) // stride * stride
            inner = list(index)
            inner[d] = Idx(counter, index[d].lanes)
            self._nest(shape, w, inner, loops[1:], split, step, body)

    def _linear(
        self, shape: tuple[int, ...], w: int, index: list[Idx], loops: list[int],
        body: Callable[[Eval, tuple[Idx, ...], str], None],
    ) -> None:  # fmt: skip
        with self.f.loop(math.prod(shape), w) as counter:
            evaluation = Eval(self, w)
            inner = list(index)
            stride = 1
            for d in range(len(shape) - 1, -1, -1):
                if d in loops:
                    shift = stride.bit_length() - 1
                    shifted = self.f.emit(f"lshr i64 {counter}, {shift}") if shift else counter
                    covered = max(index[d].lanes or (0,)) + 1
                    base = self.index(f"and i64 {shifted}, {shape[d] - 1}", shape[d] - covered)
                    inner[d] = Idx(base, index[d].lanes)
                    evaluation.digits[base] = (counter, shift, shape[d])
                stride *= shape[d]
            body(evaluation, tuple(inner), counter)

    def fill(self, value: Value, pointer: str, elem: str | None = None) -> None:
        """Compute a tensor into dense memory, converted to another float element if asked for."""

        def body(evaluation: Eval, index: tuple[Idx, ...], linear: str) -> None:
            result = evaluation.value(value, index)
            if elem is not None and result.elem != elem:
                result = convert(evaluation.lanes, result, elem)
            evaluation.store(result, pointer, linear)

        self.each(value.type.dims, body)

    def materialise(self, value: Value) -> None:
        """Compute a tensor into its own buffer."""
        pointer = self.buffer(value)
        self.each(
            value.type.dims,
            lambda evaluation, index, linear: evaluation.store(evaluation.define(value, index), pointer, linear),
        )

    def put(self, value: Value, pointer: str) -> None:
        """Write a tensor into dense memory, by copying if it already lies in local memory."""
        if self.plan.is_buffer(value) and value not in self.plan.affine.carried:  # those have no buffer of their own
            source = self.held(value)  # a window lies in device memory, where its elements are aligned and no more
            self.f.do(
                f"call void @llvm.memcpy.p0.p0.i64(ptr align 64 {pointer}, ptr align 1 {source}, i64 "
                f"{value.type.nbytes}, i1 false)"
            )
        else:
            self.fill(value, pointer)

    def dump(self) -> None:
        """Write every named variable in scope to the dump area (in a copy of the kernel that is made after a fault)."""
        shared, f = self.shared, self.f
        base = f.pointer(f.load64("%ctx", L.DUMP))
        for value in [*self.func.args, *self.scope]:
            try:
                target = f.gep8(base, shared.dump_bytes)
                if value.type.is_tensor:
                    self.put(value, target)
                else:
                    found = self.scalar(value)
                    name = found.name if found.elem != "i1" else f.emit(f"zext i1 {found.name} to i8")
                    f.do(f"store {STORED[found.elem]} {name}, ptr {target}, align 1")
            except (Unsupported, AssertionError):
                continue  # a value that has no form of its own here
            shared.dumps.append((value, shared.dump_bytes))
            shared.dump_bytes += (value.type.nbytes + 63) // 64 * 64 + 64

    # counting

    def count_op(self, op: Op) -> None:
        """Add an operation's work to the block's static counts."""
        for slot, amount in counted(op, self.plan).items():
            self.counts[int(slot)] += amount

    def count_in(self, op: Op) -> None:
        """From here on count in the row of an operation's line (in a copy of the kernel that counts by line)."""
        rows = self.shared.rows
        if rows is None or op.name == CANONICAL:
            return
        row = rows.get(op, 0)
        if row != self.row:
            self.flush_counts()
            self.f.store64(self.f.load64("%ctx", L.LINES) + row * 8 * L.COUNTER_SLOTS, "%ctx", L.COUNTERS)
            self.row = row
        if op.regions or op.name == "tt.call":
            self.flush_counts()  # what counts inside goes to other rows
            self.row = None

    def flush_counts(self) -> None:
        """Emit the additions for the straight code since the last flush."""
        if not self.counts:
            return
        base = self.f.pointer(self.f.load64("%ctx", L.COUNTERS))
        for slot, amount in sorted(self.counts.items()):
            self.f.store64(self.f.load64(base, slot) + amount, base, slot)
        self.counts.clear()

    def block(self, block: Block) -> None:
        """Lower a block up to, not including, its terminator; returns with the counts flushed."""
        outer_counts, self.counts = self.counts, Tally()
        self.row = None
        for op in block.ops[:-1]:
            self.count_in(op)
            self.count_op(op)
            if self.shared.rows is not None and op.regions:
                self.flush_counts()  # before what is inside, which goes to other rows, and may be done many times
            self.visit_op(self, op)
            self.release(op)
            self.scope.extend(op.results)
        self.flush_counts()
        self.counts = outer_counts
        self.row = None
