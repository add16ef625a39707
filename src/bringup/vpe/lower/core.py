"""State of one function's lowering: scalars, buffers in local memory, loops over tensors, expressions computed
lane by lane.
"""

from __future__ import annotations

import math
from collections import Counter as Tally
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from bringup.vpe import layout as L
from bringup.vpe.ir import Block, Func, Module, Op, Type, Value
from bringup.vpe.llvm_text import Function, Unit
from bringup.vpe.lower.affine import Affine, Expr
from bringup.vpe.lower.elementwise import ELEMENTWISE, apply
from bringup.vpe.lower.lanes import REGISTER, STORED, Lanes, V, literal
from bringup.vpe.lower.plan import Plan, inline_reduce

WIDTH = 16
"""Lanes of one step of a loop over a tensor."""


class Unsupported(Exception):
    """An operation that cannot be lowered: the operation and why."""

    def __init__(self, op: Op, why: str) -> None:
        super().__init__(why)
        self.op, self.why = op, why


class Idx(NamedTuple):
    """Index along one axis for all lanes: a scalar part (SSA i64 or number) plus a constant for each lane."""

    base: str | int
    lanes: tuple[int, ...] | None = None


ZERO = Idx(0)


@dataclass
class Shared:
    """What all functions of a kernel have in common."""

    unit: Unit
    module: Module
    call: Callable[[Lanes, str, list[V], str], V]
    arena: int = 0
    """Bytes of local memory given out so far by functions that are done (their frames do not overlap)."""
    peak: int = 0
    dump_site: int | None = None
    dumps: list[tuple[Value, int]] = field(default_factory=list)
    dump_bytes: int = 0
    prints: dict[int, Op] = field(default_factory=dict)


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
        self.one = Lanes(function, 1)
        self.counts: Tally[int] = Tally()
        self.scope: list[Value] = []
        self.fault = "fault"
        self.arena_pointer = ""
        self.starts: dict[Value, str] = {}
        """Loop-carried walks: synthetic scalar -> SSA i64."""

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
        if left.lstrip("-").isdigit() and right.lstrip("-").isdigit():
            return str(int(left) + int(right) if symbol == "+" else int(left) * int(right))
        return self.f.emit(f"{'add' if symbol == '+' else 'mul'} i64 {left}, {right}")

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
        return self.address(self.allocate(value))

    def release(self, op: Op) -> None:
        """Free what dies with this operation."""
        for value in self.plan.dead_after.get(op, ()):
            if value in self.buffers:
                self.arena.give(self.buffers[value])

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
        return self.buffer(value)

    def check(self, status: str) -> None:
        """Leave through the fault exit if an engine call returned nonzero."""
        bad = self.f.emit(f"icmp ne i32 {status}, 0")
        self.f.leave_if(bad, self.fault)

    # loops over tensors

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
        with self.f.loop(shape[d], step if d == split else 1) as counter:
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
                    base = self.f.emit(f"and i64 {shifted}, {shape[d] - 1}")
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
        if self.plan.is_buffer(value):
            source = self.buffer(value)
            self.f.do(
                f"call void @llvm.memcpy.p0.p0.i64(ptr align 64 {pointer}, ptr align 64 {source}, i64 "
                f"{value.type.nbytes}, i1 false)"
            )
        else:
            self.fill(value, pointer)

    # counting

    def count_op(self, op: Op) -> None:
        """Add an operation's work to the block's static counts."""
        if not op.results or not any(value.type.is_tensor for value in (*op.results, *op.operands)):
            return
        type_ = (
            op.operands[0] if op.name in ("tt.reduce", "tt.scan", "arith.cmpf", "arith.cmpi") else op.results[0]
        ).type
        work = type_.numel
        if op.name in ("tt.reduce", "tt.scan", "tt.map_elementwise"):
            work *= max(len(op.regions[0].ops) - 1, 1)
        elif op.name not in ELEMENTWISE or self.plan.affine.of(op.result) is not None:
            return
        elif (
            op.result.type.elem == "i1"
            and not self.plan.is_buffer(op.result)
            and all(sink.name in ("tt.load", "tt.store") for sink in self.plan.sinks(op.result))
        ):
            return  # the DMA engine takes this mask as a box
        from bringup.vpe.lower.elementwise import SPECIAL

        if op.name in SPECIAL:
            self.counts[int(L.Counter.SPECIAL)] += work
            return
        slot = {1: L.Counter.VECTOR_8, 2: L.Counter.VECTOR_16, 4: L.Counter.VECTOR_32, 8: L.Counter.VECTOR_64}[
            type_.bytes
        ]
        self.counts[int(slot)] += work

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
        for op in block.ops[:-1]:
            self.count_op(op)
            self.visit_op(self, op)
            self.release(op)
            self.scope.extend(op.results)
        self.flush_counts()
        self.counts = outer_counts


def convert(lanes: Lanes, value: V, elem: str) -> V:
    """Float to float, or sign-extended integer to i32."""
    if elem == "i32":
        return lanes.cast("sext", value, "i32")
    wide = lanes.widen(value)
    if elem == "f64" and wide.elem == "f32":
        return lanes.cast("fpext", wide, "f64")
    return lanes.narrow(wide, elem)


class Eval:
    """Computes tensor expressions for the lanes of one step of a loop."""

    def __init__(self, low: Lowering, w: int) -> None:
        self.low, self.f, self.w = low, low.f, w
        self.lanes = Lanes(low.f, w)
        self.memo: dict[tuple[Value, tuple[Idx, ...]], V] = {}
        self.digits: dict[str, tuple[str, int, int]] = {}
        """Index digits of a linear counter: name -> (counter, shift, size)."""
        self.bound: dict[Value, V] = {}

    def store(self, value: V, pointer: str, linear: str) -> None:
        """Write the lanes to consecutive elements of a dense buffer."""
        value = self.lanes.splat(value)
        vec = self.w > 1
        if value.elem == "i1":
            value = self.lanes.cast("zext", value, "i8")
        stored = STORED[value.elem]
        place = self.f.emit(f"getelementptr {stored}, ptr {pointer}, i64 {linear}")
        self.f.do(f"store {self.lanes.type(value.elem, vec)} {value.name}, ptr {place}, align {Type(value.elem).bytes}")

    def position(self, idx: Idx, elem: str = "i32") -> V:
        """An index as a value."""
        if isinstance(idx.base, int):
            base: V = self.lanes.integer(elem, idx.base)
        else:
            base = V(idx.base, "i64")
            if elem != "i64":
                base = self.lanes.cast("trunc", base, elem)
        if idx.lanes is None:
            return base
        pattern = self.lanes.vector(elem, list(idx.lanes))
        return pattern if base.const == 0 else self.lanes.op("add", [base, pattern])

    def value(self, value: Value, index: tuple[Idx, ...]) -> V:
        """The lanes of a tensor (or scalar) at an index."""
        if value in self.bound:
            return self.bound[value]
        if not value.type.is_tensor:
            return self.low.scalar(value)
        key = (value, index)
        found = self.memo.get(key)
        if found is None:
            found = self._compute(value, index)
            self.memo[key] = found
        return found

    def _compute(self, value: Value, index: tuple[Idx, ...]) -> V:
        low = self.low
        if low.plan.is_buffer(value) and value not in low.plan.affine.carried:
            return self.leaf(low.buffer(value), value.type, index)
        return self.define(value, index)

    def define(self, value: Value, index: tuple[Idx, ...]) -> V:
        """The lanes of a tensor from its operation, even if it has a buffer."""
        low = self.low
        walk = low.plan.affine.of(value)
        if walk is not None:
            return self._walk(value.type.elem, walk, index)
        op = value.op
        if op is None:
            raise Unsupported(Op("block argument"), f"tensor %{value.name} has no value here")
        handler = getattr(self, "_" + op.name.replace(".", "_"), None)
        if handler is not None:
            result: V = handler(op, value, index)
            return result
        if op.name in ELEMENTWISE:
            return apply(self.lanes, op, [self.value(x, index) for x in op.operands], low.shared.call)
        raise Unsupported(op, "no lowering for this operation on tensors")

    def _walk(self, elem: str, walk: Affine, index: tuple[Idx, ...]) -> V:
        """An affine tensor: start and outer axes as scalars, one vector term."""
        low, f = self.low, self.f
        start = low.expr(walk.start)
        constant = [0] * self.w
        scaled: list[tuple[str, tuple[int, ...]]] = []
        for idx, stride_expr in zip(index, walk.strides, strict=True):
            stride = low.expr(stride_expr)
            if stride == "0":
                continue
            if idx.base != 0:
                term = _times(f, str(idx.base), stride)
                start = term if start == "0" else _plus(f, start, term)
            if idx.lanes is not None:
                if stride.lstrip("-").isdigit():
                    constant = [a + int(stride) * b for a, b in zip(constant, idx.lanes, strict=True)]
                else:
                    scaled.append((stride, idx.lanes))
        type_ = "i64" if elem == "ptr" else elem
        result = self._cut(start, type_)
        if any(constant):
            offsets = self.lanes.vector(type_, constant)
            result = offsets if result.const == 0 else self.lanes.op("add", [result, offsets])
        for stride, lanes in scaled:
            product = self.lanes.op("mul", [self._cut(stride, type_), self.lanes.vector(type_, list(lanes))])
            result = self.lanes.op("add", [result, product])
        return self.lanes.same(result, elem)

    def _cut(self, name: str, elem: str) -> V:
        if name.lstrip("-").isdigit():
            bits = {"i8": 8, "i16": 16, "i32": 32, "i64": 64}[elem]
            number = int(name) & ((1 << bits) - 1)
            return self.lanes.integer(elem, number - (1 << bits) if number >> (bits - 1) else number)
        value = V(name, "i64")
        return value if elem == "i64" else self.lanes.cast("trunc", value, elem)

    # leaves

    def leaf(self, pointer: str, type_: Type, index: tuple[Idx, ...]) -> V:
        """Read a dense buffer at an index."""
        base, pattern = self.offset(type_.dims, index)
        elem = type_.elem
        stored = STORED[elem]
        low, high = min(pattern), max(pattern)
        align = type_.bytes
        if low == high:
            place = self.f.emit(f"getelementptr {stored}, ptr {pointer}, i64 {_plus(self.f, base, str(low))}")
            value = V(self.f.emit(f"load {stored}, ptr {place}, align {align}"), elem)
            return self._from_memory(value)
        span = high - low + 1
        if pattern == tuple(range(low, low + self.w)):
            place = self.f.emit(f"getelementptr {stored}, ptr {pointer}, i64 {_plus(self.f, base, str(low))}")
            return self._from_memory(
                V(self.f.emit(f"load <{self.w} x {stored}>, ptr {place}, align {align}"), elem, True)
            )
        if span <= 4 * self.w and span <= type_.numel:
            place = self.f.emit(f"getelementptr {stored}, ptr {pointer}, i64 {_plus(self.f, base, str(low))}")
            whole = self.f.emit(f"load <{span} x {stored}>, ptr {place}, align {align}")
            mask = ", ".join(f"i32 {p - low}" for p in pattern)
            name = self.f.emit(
                f"shufflevector <{span} x {stored}> {whole}, <{span} x {stored}> poison, <{self.w} x i32> <{mask}>"
            )
            return self._from_memory(V(name, elem, True))
        current = "poison"
        for lane, p in enumerate(pattern):
            place = self.f.emit(f"getelementptr {stored}, ptr {pointer}, i64 {_plus(self.f, base, str(p))}")
            one = self.f.emit(f"load {stored}, ptr {place}, align {align}")
            current = self.f.emit(f"insertelement <{self.w} x {stored}> {current}, {stored} {one}, i64 {lane}")
        return self._from_memory(V(current, elem, True))

    def _from_memory(self, value: V) -> V:
        if value.elem != "i1":
            return value
        type_ = f"<{self.w} x i8>" if value.vec else "i8"
        zero = "zeroinitializer" if value.vec else "0"
        return V(self.f.emit(f"icmp ne {type_} {value.name}, {zero}"), "i1", value.vec)

    def offset(self, shape: tuple[int, ...], index: tuple[Idx, ...]) -> tuple[str, tuple[int, ...]]:
        """Linear element number in a dense buffer: scalar part and lane pattern."""
        base = "0"
        pattern = [0] * self.w
        stride = 1
        run: tuple[str, int, int, int] | None = (
            None  # digits of one counter that are adjacent: counter, shift, size, stride
        )

        def end_run() -> None:
            nonlocal base, run
            if run is not None:
                counter, shift, size, at = run
                digit = self.f.emit(f"lshr i64 {counter}, {shift}") if shift else counter
                digit = self.f.emit(f"and i64 {digit}, {size - 1}")
                base = _plus(self.f, base, _times(self.f, digit, str(at)))
                run = None

        for size, idx in zip(reversed(shape), reversed(index), strict=True):
            if size > 1:
                if idx.lanes is not None:
                    pattern = [a + stride * b for a, b in zip(pattern, idx.lanes, strict=True)]
                if idx.base != 0:
                    digit = self.digits.get(str(idx.base))
                    if digit is None:
                        end_run()
                        base = _plus(self.f, base, _times(self.f, str(idx.base), str(stride)))
                    else:
                        counter, shift, extent = digit
                        if (
                            run
                            and run[0] == counter
                            and run[1] + run[2].bit_length() - 1 == shift
                            and run[3] * run[2] == stride
                        ):
                            run = (counter, run[1], run[2] * extent, run[3])
                        else:
                            end_run()
                            run = (counter, shift, extent, stride)
                elif idx.lanes is None:
                    end_run()
            stride *= size
        end_run()
        return base, tuple(pattern)

    # layout operations

    def _tt_splat(self, op: Op, value: Value, index: tuple[Idx, ...]) -> V:
        return self.value(op.operands[0], ())

    def _arith_constant(self, op: Op, value: Value, index: tuple[Idx, ...]) -> V:
        text = op.attrs["value"]
        if text.startswith("["):
            return self._table(op, value, index)
        if text.startswith('"'):
            raise Unsupported(op, "dense constants in hexadecimal")
        return self.lanes.constant(value.type.elem, text)

    def _table(self, op: Op, value: Value, index: tuple[Idx, ...]) -> V:
        type_ = value.type
        flat = [part.strip(" []") for part in op.attrs["value"].split(",")]
        data = b""
        for text in flat:
            _, number = literal(text, type_.elem)
            if number is None:
                raise Unsupported(op, "dense float constants")
            data += (number & ((1 << (8 * type_.bytes)) - 1)).to_bytes(type_.bytes, "little")
        data += bytes(64)
        return self.leaf(self.f.unit.constant_bytes(data), type_, index)

    def _ub_poison(self, op: Op, value: Value, index: tuple[Idx, ...]) -> V:
        return self.lanes.constant(value.type.elem, "false" if value.type.elem == "i1" else "0")

    def _tt_make_range(self, op: Op, value: Value, index: tuple[Idx, ...]) -> V:
        position = self.position(index[0])
        start = op.int_attr("start")
        return position if start == 0 else self.lanes.op("add", [position, self.lanes.integer("i32", start)])

    def _tt_expand_dims(self, op: Op, value: Value, index: tuple[Idx, ...]) -> V:
        axis = op.int_attr("axis")
        return self.value(op.operands[0], (*index[:axis], *index[axis + 1 :]))

    def _tt_broadcast(self, op: Op, value: Value, index: tuple[Idx, ...]) -> V:
        source = op.operands[0]
        return self.value(
            source, tuple(ZERO if size == 1 else idx for size, idx in zip(source.type.dims, index, strict=True))
        )

    def _tt_trans(self, op: Op, value: Value, index: tuple[Idx, ...]) -> V:
        inner = [ZERO] * len(index)
        for position, axis in enumerate(op.ints_attr("order")):
            inner[axis] = index[position]
        return self.value(op.operands[0], tuple(inner))

    def _tt_reshape(self, op: Op, value: Value, index: tuple[Idx, ...]) -> V:
        have = [idx for idx, size in zip(index, value.type.dims, strict=True) if size > 1]
        inner = tuple(ZERO if size == 1 else have.pop(0) for size in op.operands[0].type.dims)
        return self.value(op.operands[0], inner)

    def _tt_split(self, op: Op, value: Value, index: tuple[Idx, ...]) -> V:
        return self.value(op.operands[0], (*index, Idx(value.index)))

    def _tt_join(self, op: Op, value: Value, index: tuple[Idx, ...]) -> V:
        last = index[-1]
        if last.lanes is None and isinstance(last.base, int):
            return self.value(op.operands[last.base], index[:-1])
        parts = [self.value(x, index[:-1]) for x in op.operands]
        which = self.position(last)
        return self.lanes.select(self.lanes.icmp("eq", which, self.lanes.integer("i32", 0)), parts[0], parts[1])

    def _tt_reduce(self, op: Op, value: Value, index: tuple[Idx, ...]) -> V:
        if not inline_reduce(op):
            raise Unsupported(op, "a reduction that was not kept in local memory (defect of the planner)")
        axis = op.int_attr("axis")
        count = op.operands[0].type.dims[axis]
        current = [self.value(x, (*index[:axis], ZERO, *index[axis:])) for x in op.operands]
        for position in range(1, count):
            right = [self.value(x, (*index[:axis], Idx(position), *index[axis:])) for x in op.operands]
            current = self.region(op.regions[0], [*current, *right])
        for result, found in zip(op.results, current, strict=True):
            self.memo[(result, index)] = found
        return current[value.index]

    def _tt_map_elementwise(self, op: Op, value: Value, index: tuple[Idx, ...]) -> V:
        if op.int_attr("pack", 1) != 1:
            raise Unsupported(op, f"map_elementwise with pack = {op.int_attr('pack')}; only pack = 1 is lowered")
        results = self.region(op.regions[0], [self.value(x, index) for x in op.operands])
        for result, found in zip(op.results, results, strict=True):
            self.memo[(result, index)] = found
        return results[value.index]

    # combine regions

    def region(self, block: Block, args: list[V]) -> list[V]:
        """Evaluate a combine function on register values."""
        values: dict[Value, V] = dict(zip(block.args, args, strict=True))
        return self._region_ops(block, values)

    def _region_ops(self, block: Block, values: dict[Value, V]) -> list[V]:
        def get(value: Value) -> V:
            return values[value] if value in values else self.low.scalar(value)

        for op in block.ops:
            if op.name in ("tt.reduce.return", "tt.scan.return", "tt.map_elementwise.return", "scf.yield"):
                return [get(x) for x in op.operands]
            if op.name == "arith.constant":
                values[op.result] = self.lanes.constant(op.result.type.elem, op.attrs["value"])
            elif op.name == "ub.poison":
                values[op.result] = self.lanes.constant(
                    op.result.type.elem, "false" if op.result.type.elem == "i1" else "0"
                )
            elif op.name == "scf.if" and len(op.regions) == 2:
                # no side effects can be in here: compute both sides and choose
                condition = get(op.operands[0])
                sides = [self._region_ops(region, dict(values)) for region in op.regions]
                for result, yes, no in zip(op.results, *sides, strict=True):
                    values[result] = self.lanes.select(condition, yes, no)
            elif op.name in ELEMENTWISE:
                values[op.result] = apply(self.lanes, op, [get(x) for x in op.operands], self.low.shared.call)
            elif op.name == "tt.call":
                raise Unsupported(op, "a call of a noinline function inside of a combine function")
            else:
                raise Unsupported(op, "not allowed inside of a combine function")
        return []


def _plus(f: Function, a: str, b: str) -> str:
    if a == "0":
        return b
    if b == "0":
        return a
    if a.isdigit() and b.isdigit():
        return str(int(a) + int(b))
    return f.emit(f"add i64 {a}, {b}")


def _times(f: Function, a: str, b: str) -> str:
    if b == "1":
        return a
    if a == "1":
        return b
    return f.emit(f"mul i64 {a}, {b}")
