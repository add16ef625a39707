"""Tensor expressions computed lane by lane: what the body of a loop over a tensor consists of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from bringup.vpe.ir import Block, Op, Type, Value
from bringup.vpe.llvm_text import Function
from bringup.vpe.lower.affine import Affine, Expr, Strides
from bringup.vpe.lower.elementwise import ELEMENTWISE, apply
from bringup.vpe.lower.lanes import STORED, Lanes, V, literal
from bringup.vpe.lower.plan import inline_reduce, is_constant

if TYPE_CHECKING:
    from bringup.vpe.lower.core import Lowering


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


def zero_text(type_: Type) -> str:
    """Zero as TTIR writes it: what a value that nobody defined holds here."""
    return "false" if type_.elem == "i1" else "0"


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
            return self.leaf(low.held(value), value.type, index)
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
        elif op.name in ELEMENTWISE:
            result = apply(self.lanes, op, [self.value(x, index) for x in op.operands], low.shared.call)
        else:
            raise Unsupported(op, "no lowering for this operation on tensors")
        if result.elem != value.type.elem:  # its buffer has room for what the text says
            raise Unsupported(op, f"it gives {result.elem}, and the text says {value.type.elem}")
        return result

    def _walk(self, elem: str, walk: Affine, index: tuple[Idx, ...]) -> V:
        """An affine tensor: start and outer axes as scalars, one vector term, and what is extended from fewer bits."""
        type_ = "i64" if elem == "ptr" else elem
        result = self._straight(type_, walk.start, walk.strides, index)
        for factor, term in walk.extended:
            short = self._straight(f"i{term.bits}", term.start, term.strides, index)
            wide = self.lanes.cast("sext", short, type_)
            if factor != 1:
                wide = self.lanes.op("mul", [wide, self._cut(self.low.expr(factor), type_)])
            result = wide if result.const == 0 else self.lanes.op("add", [result, wide])
        return self.lanes.same(result, elem)

    def _straight(self, type_: str, first: Expr, strides: Strides, index: tuple[Idx, ...]) -> V:
        low, f = self.low, self.f
        start = low.expr(first)
        constant = [0] * self.w
        scaled: list[tuple[str, tuple[int, ...]]] = []
        for idx, stride_expr in zip(index, strides, strict=True):
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
        result = self._cut(start, type_)
        if any(constant):
            offsets = self.lanes.vector(type_, constant)
            result = offsets if result.const == 0 else self.lanes.op("add", [result, offsets])
        for stride, lanes in scaled:
            product = self.lanes.op("mul", [self._cut(stride, type_), self.lanes.vector(type_, list(lanes))])
            result = self.lanes.op("add", [result, product])
        return result

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
            last = idx.base if isinstance(idx.base, int) else self.low.last[idx.base]
            if size > 1 and last + max(idx.lanes or (0,)) >= size:
                raise AssertionError(f"an index goes up to {last} + {max(idx.lanes or (0,))}, and the axis has {size}")
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
        return self.lanes.constant(value.type.elem, zero_text(value.type))

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
        if is_constant(op.operands[0]):
            return self.value(op.operands[0], (ZERO,) * len(op.operands[0].type.dims))
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
        pack = op.int_attr("pack", 1)
        if pack > 1:
            return self._packed_map(op, value, index, pack)
        results = self.region(op.regions[0], [self.value(x, index) for x in op.operands])
        for result, found in zip(op.results, results, strict=True):
            self.memo[(result, index)] = found
        return results[value.index]

    def _packed_map(self, op: Op, value: Value, index: tuple[Idx, ...], pack: int) -> V:
        """The function sees `pack` neighbours of the last axis; every lane computes all of them and keeps its own."""
        last = index[-1]
        if value.type.dims[-1] % pack:
            raise Unsupported(op, f"map_elementwise with pack = {pack} on a last axis of {value.type.dims[-1]}")
        neighbours = [(*index[:-1], self._neighbour(last, pack, j)) for j in range(pack)]
        results = self.region(op.regions[0], [self.value(x, at) for x in op.operands for at in neighbours])
        which = self.lanes.op("and", [self.position(last), self.lanes.integer("i32", pack - 1)])
        for position, result in enumerate(op.results):
            found = results[position * pack]
            for j in range(1, pack):
                mine = self.lanes.icmp("eq", which, self.lanes.integer("i32", j))
                found = self.lanes.select(mine, results[position * pack + j], found)
            self.memo[(result, index)] = found
        return self.memo[(value, index)]

    def _neighbour(self, idx: Idx, pack: int, number: int) -> Idx:
        """Index of element `number` of the pack that an element is in."""
        # The scalar part is a multiple of how many elements the lanes go through.
        if idx.lanes is not None and pack <= max(idx.lanes) + 1:
            return Idx(idx.base, tuple(lane // pack * pack + number for lane in idx.lanes))
        if isinstance(idx.base, int):
            return Idx(idx.base // pack * pack + number)
        start = self.low.f.emit(f"and i64 {idx.base}, {-pack}")
        last = (self.low.last[idx.base] + max(idx.lanes or (0,))) // pack * pack + number
        return Idx(self.low.index(f"or i64 {start}, {number}", last))

    # combine regions

    def region(self, block: Block, args: list[V]) -> list[V]:
        """Evaluate a combine function on register values."""
        values: dict[Value, V] = dict(zip(block.args, args, strict=True))
        return self._region_ops(block, values, block.others)

    def _region_ops(self, block: Block, values: dict[Value, V], others: Mapping[str, Block]) -> list[V]:
        """What a block returns; `others` are the blocks that it may branch to, each with values of its own."""

        def get(value: Value) -> V:
            return values[value] if value in values else self.low.scalar(value)

        def follow(op: Op, number: int) -> list[V]:
            label, handed = op.successors[number]
            following = others[label]
            passed = dict(zip(following.args, map(get, handed), strict=True))
            return self._region_ops(following, {**values, **passed}, others)

        for op in block.ops:
            if op.name in ("tt.reduce.return", "tt.scan.return", "tt.map_elementwise.return", "scf.yield"):
                return [get(x) for x in op.operands]
            if op.name == "cf.br":
                return follow(op, 0)
            if op.name == "cf.cond_br":
                # no side effects can be in here: compute both sides and choose
                condition = get(op.operands[0])
                both = [follow(op, number) for number in range(2)]
                return [self.lanes.select(condition, yes, no) for yes, no in zip(*both, strict=True)]
            if op.name == "arith.constant":
                values[op.result] = self.lanes.constant(op.result.type.elem, op.attrs["value"])
            elif op.name == "ub.poison":
                values[op.result] = self.lanes.constant(op.result.type.elem, zero_text(op.result.type))
            elif op.name == "scf.if" and len(op.regions) == 2:
                condition = get(op.operands[0])
                sides = [self._region_ops(region, dict(values), region.others) for region in op.regions]
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
