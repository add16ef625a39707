"""Operations that look at whole tensors: reductions, scans, dots, gathers, histograms."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Sequence

from bringup.vpe import layout as L
from bringup.vpe.ir import Block, Op, Type, Value
from bringup.vpe.layout import FaultKind
from bringup.vpe.lower.core import WIDTH, Lowering
from bringup.vpe.lower.evaluate import Eval, Idx, Unsupported, convert
from bringup.vpe.lower.lanes import STORED, V

_COMMUTATIVE = {
    "arith.addi", "arith.addf", "arith.muli", "arith.mulf", "arith.andi", "arith.ori", "arith.xori", "arith.maxsi",
    "arith.minsi", "arith.maxui", "arith.minui", "arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf",
}  # fmt: skip

_NAMED = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip
_COMPARISONS: dict[str, Callable[..., bool]] = {
    "eq": operator.eq, "ne": operator.ne, "one": operator.ne, "ord": lambda *_: True, "uno": lambda *_: False,
    **{kind + name: compare for name, compare in _NAMED.items() for kind in "sou"},
}  # fmt: skip
MOST_COMPARED = 4  # pairs, of which each may be in three orders
MOST_CHOOSING = 200  # operations of a combine function
_LOGIC: dict[str, Callable[..., bool]] = {
    "arith.andi": operator.and_, "arith.ori": operator.or_, "arith.xori": operator.xor,
}  # fmt: skip


def commutative(block: Block) -> bool:
    """Whether a combine function is known to commute: plain operations on each pair, or a choice between the two sides.

    Of a choice each order that the pairs can be in is tried: the sides exchanged, it must take the same element, or one
    that is equal (argmax compares indices to break ties). Which of two NaNs comes first is left open.
    """
    n = len(block.args) // 2
    returns = block.ops[-1].operands
    for position, value in enumerate(returns):
        pair = {block.args[position], block.args[position + n]}
        op = value.op
        if op is None:
            return False
        plain = op.name in _COMMUTATIVE and set(op.operands) == pair
        chosen = op.name == "arith.select" and set(op.operands[1:]) == pair and _chooses(op, block, position)
        if not plain and not chosen:
            return False
    return True


def _chooses(select: Op, block: Block, position: int) -> bool:
    """Whether a choice between the sides of a pair takes the same value when they are exchanged."""
    n = len(block.args) // 2
    asked = {op.attrs["bare"][0] for op in block.ops if op.name == "arith.cmpi"}
    if {"s", "u"} <= asked:  # two orders of one pair
        return False
    first = select.operands[1] is block.args[position]  # taken where the condition holds
    compared = [op for op in block.ops if op.name in ("arith.cmpi", "arith.cmpf")]
    pairs = {block.args.index(value) % n for op in compared for value in op.operands if value in block.args}
    if len(pairs) > MOST_COMPARED or len(block.ops) > MOST_CHOOSING:
        return False
    pairs.add(position)
    for chosen in itertools.product((-1, 0, 1), repeat=len(pairs)):
        ordered = dict(zip(sorted(pairs), chosen, strict=True))
        orders = [ordered.get(pair, 0) for pair in range(n)]
        here, there = (_holds(select.operands[0], block, [sign * order for order in orders], {}) for sign in (1, -1))
        if here is None or there is None:
            return False
        if orders[position] and (here == first) == (there == first):  # the same side, of values that differ
            return False
    return True


def _holds(condition: Value, block: Block, orders: Sequence[int], known: dict[Value, bool | None]) -> bool | None:
    """What a condition is where the first sides of the pairs are less than, equal to, or greater than the second ones.

    None where it asks for anything else; `known`: what was found of others.
    """
    if condition not in known:
        known[condition] = None
        known[condition] = _evaluated(condition, block, orders, known)
    return known[condition]


def _evaluated(condition: Value, block: Block, orders: Sequence[int], known: dict[Value, bool | None]) -> bool | None:
    op, n = condition.op, len(block.args) // 2
    if op is None:
        return None
    if op.name in ("arith.cmpi", "arith.cmpf"):
        sides = [block.args.index(value) if value in block.args else -1 for value in op.operands]
        compare = _COMPARISONS.get(op.attrs["bare"].split(",")[0].strip())
        if min(sides) < 0 or sides[0] % n != sides[1] % n or compare is None:
            return None
        if sides[0] == sides[1]:  # whether it is a NaN
            return compare(0, 0)
        order = orders[sides[0] % n]
        return compare(order if sides[0] < n else -order, 0)
    if op.name in _LOGIC:
        parts = [_holds(value, block, orders, known) for value in op.operands]
        return None if None in parts else _LOGIC[op.name](*parts)
    if op.name == "arith.constant" and condition.type.elem == "i1":
        return "true" in op.attrs["value"]
    return None


def reduce(low: Lowering, op: Op) -> None:
    """`tt.reduce` of one or several tensors along an axis, any combine function."""
    from bringup.vpe.lower.plan import inline_reduce

    if inline_reduce(op):
        # computed by its consumers, unless one of them needs it dense
        for value in op.results:
            if value in low.plan.materialised:
                low.materialise(value)
        return
    shape = op.operands[0].type.dims
    axis = op.int_attr("axis")
    count = shape[axis]
    after = math.prod(shape[axis + 1 :])
    if after == 1 and commutative(op.regions[0]) and count > 1:
        _reduce_rows(low, op, shape, axis)
    else:
        _reduce_columns(low, op, shape, axis)


def _keep(low: Lowering, op: Op, found: list[V], evaluation: Eval | None, linear: str) -> None:
    """Store reduced values, or bind them if the result is a scalar."""
    for result, value in zip(op.results, found, strict=True):
        if not result.type.is_tensor:
            low.scalars[result] = V(value.name, value.elem)
        elif evaluation is not None:
            evaluation.store(value, low.buffer(result), linear)


def _reduce_columns(low: Lowering, op: Op, shape: tuple[int, ...], axis: int) -> None:
    """Lanes along the kept axes; one step after the other along the reduced one. Keeps the order of combination."""
    f = low.f
    count = shape[axis]
    rest = (*shape[:axis], *shape[axis + 1 :])

    def body(evaluation: Eval, index: tuple[Idx, ...], linear: str) -> None:
        def at(position: Idx) -> list[V]:
            return [evaluation.value(x, (*index[:axis], position, *index[axis:])) for x in op.operands]

        lanes = evaluation.lanes
        first = [lanes.splat(value) for value in at(Idx(0))]
        if count == 1:
            _keep(low, op, first, evaluation, linear)
            return
        slots = [f.alloca(lanes.type(value.elem, True), 64) for value in first]
        for slot, value in zip(slots, first, strict=True):
            f.do(f"store {lanes.type(value.elem, True)} {value.name}, ptr {slot}")
        with f.loop(count - 1) as counter:
            position = Idx(low.index(f"add nuw nsw i64 {counter}, 1", count - 1))
            current = [
                V(f.emit(f"load {lanes.type(value.elem, True)}, ptr {slot}"), value.elem, evaluation.w > 1)
                for slot, value in zip(slots, first, strict=True)
            ]
            combined = evaluation.region(op.regions[0], [*current, *at(position)])
            for slot, value in zip(slots, combined, strict=True):
                f.do(f"store {lanes.type(value.elem, True)} {lanes.splat(value).name}, ptr {slot}")
        found = [
            V(f.emit(f"load {lanes.type(value.elem, True)}, ptr {slot}"), value.elem, evaluation.w > 1)
            for slot, value in zip(slots, first, strict=True)
        ]
        _keep(low, op, found, evaluation, linear)

    if rest and math.prod(rest) > 1:
        low.each(rest, body)
    else:
        body(Eval(low, 1), tuple(Idx(0) for _ in rest), "0")


def _reduce_rows(low: Lowering, op: Op, shape: tuple[int, ...], axis: int) -> None:
    """Lanes along the reduced axis, combined across lanes at the end of each row."""
    f = low.f
    count = shape[axis]
    w = min(WIDTH, count)
    # several accumulators hide the latency of the combine function
    parts = 4 if count >= 8 * w and len(op.regions[0].ops) <= 2 else 1
    rest = shape[:axis]
    tail = len(shape) - axis - 1

    def body(outer: Eval, index: tuple[Idx, ...], linear: str) -> None:
        evaluation = Eval(low, w)
        evaluation.digits = outer.digits
        lanes = evaluation.lanes
        pattern = tuple(range(w)) if w > 1 else None

        def at(base: str | int) -> list[V]:
            position = (*index, Idx(base, pattern), *[Idx(0)] * tail)
            return [lanes.splat(evaluation.value(x, position)) for x in op.operands]

        firsts = [at(part * w) for part in range(parts)]
        kinds = [(value.elem, lanes.type(value.elem, True)) for value in firsts[0]]
        slots = [[f.alloca(type_, 64) for _, type_ in kinds] for _ in range(parts)]
        for row, values in zip(slots, firsts, strict=True):
            for slot, value, (_, type_) in zip(row, values, kinds, strict=True):
                f.do(f"store {type_} {value.name}, ptr {slot}")

        def current(part: int) -> list[V]:
            return [
                V(f.emit(f"load {type_}, ptr {slot}"), elem, w > 1)
                for slot, (elem, type_) in zip(slots[part], kinds, strict=True)
            ]

        if count > w * parts:
            with f.loop(count - w * parts, w * parts) as counter:
                for part in range(parts):
                    place = low.index(f"add nuw nsw i64 {counter}, {w * (parts + part)}", count - w * (parts - part))
                    combined = evaluation.region(op.regions[0], [*current(part), *at(place)])
                    for slot, value, (_, type_) in zip(slots[part], combined, kinds, strict=True):
                        f.do(f"store {type_} {lanes.splat(value).name}, ptr {slot}")
        found = current(0)
        for part in range(1, parts):
            found = [lanes.splat(value) for value in evaluation.region(op.regions[0], [*found, *current(part)])]
        half = w // 2
        while half:
            shuffled = []
            mask = ", ".join(f"i32 {(lane + half) % w}" for lane in range(w))
            for value, (elem, type_) in zip(found, kinds, strict=True):
                name = f.emit(f"shufflevector {type_} {value.name}, {type_} poison, <{w} x i32> <{mask}>")
                shuffled.append(V(name, elem, True))
            found = [lanes.splat(value) for value in evaluation.region(op.regions[0], [*found, *shuffled])]
            half //= 2
        if w > 1:
            found = [
                V(f.emit(f"extractelement {type_} {value.name}, i64 0"), elem)
                for value, (elem, type_) in zip(found, kinds, strict=True)
            ]
        _keep(low, op, found, outer, linear)

    if rest and math.prod(rest) > 1:
        low.each(rest, body, width=1)
    else:
        body(Eval(low, 1), tuple(Idx(0) for _ in rest), "0")


def scan(low: Lowering, op: Op) -> None:
    """`tt.scan`: inclusive prefix combination along an axis, in order, either direction."""
    f = low.f
    shape = op.operands[0].type.dims
    axis = op.int_attr("axis")
    count = shape[axis]
    reverse = op.attrs.get("reverse") == "true"
    rest = (*shape[:axis], *shape[axis + 1 :])
    targets = [low.buffer(result) for result in op.results]

    def body(evaluation: Eval, index: tuple[Idx, ...], linear: str) -> None:
        lanes = evaluation.lanes

        def place(position: Idx) -> tuple[Idx, ...]:
            return (*index[:axis], position, *index[axis:])

        def write(values: list[V], position: Idx) -> None:
            base, pattern = evaluation.offset(shape, place(position))
            for target, value in zip(targets, values, strict=True):
                _scatter_lanes(evaluation, value, target, base, pattern)

        start = Idx(count - 1 if reverse else 0)
        first = [lanes.splat(evaluation.value(x, place(start))) for x in op.operands]
        write(first, start)
        if count == 1:
            return
        slots = [f.alloca(lanes.type(value.elem, True), 64) for value in first]
        for slot, value in zip(slots, first, strict=True):
            f.do(f"store {lanes.type(value.elem, True)} {value.name}, ptr {slot}")
        with f.loop(count - 1) as counter:
            text = f"sub nuw nsw i64 {count - 2}, {counter}" if reverse else f"add nuw nsw i64 {counter}, 1"
            position = Idx(low.index(text, count - 1))
            current = [
                V(f.emit(f"load {lanes.type(value.elem, True)}, ptr {slot}"), value.elem, evaluation.w > 1)
                for slot, value in zip(slots, first, strict=True)
            ]
            right = [evaluation.value(x, place(position)) for x in op.operands]
            combined = [lanes.splat(value) for value in evaluation.region(op.regions[0], [*current, *right])]
            for slot, value in zip(slots, combined, strict=True):
                f.do(f"store {lanes.type(value.elem, True)} {value.name}, ptr {slot}")
            write(combined, position)

    if rest and math.prod(rest) > 1:
        low.each(rest, body)
    else:
        body(Eval(low, 1), tuple(Idx(0) for _ in rest), "0")


def _scatter_lanes(evaluation: Eval, value: V, target: str, base: str, pattern: tuple[int, ...]) -> None:
    """Write lanes to a dense buffer at a pattern of places."""
    f = evaluation.f
    stored = STORED[value.elem]
    w = evaluation.w
    if value.elem == "i1":
        value = evaluation.lanes.cast("zext", value, "i8")
    if w > 1 and pattern == tuple(range(pattern[0], pattern[0] + w)):
        at = f.emit(f"add i64 {base}, {pattern[0]}") if pattern[0] else base
        place = f.emit(f"getelementptr {stored}, ptr {target}, i64 {at}")
        f.do(f"store <{w} x {stored}> {value.name}, ptr {place}, align {Type(value.elem).bytes}")
        return
    for lane in range(w):
        at = f.emit(f"add i64 {base}, {pattern[lane]}") if pattern[lane] else base
        place = f.emit(f"getelementptr {stored}, ptr {target}, i64 {at}")
        one = f.emit(f"extractelement <{w} x {stored}> {value.name}, i64 {lane}") if w > 1 else value.name
        f.do(f"store {stored} {one}, ptr {place}, align {Type(value.elem).bytes}")


def dot(low: Lowering, op: Op) -> None:
    """`tt.dot`: a @ b + c, accumulated in fp32 (fp64 for fp64, int32 for integers) in the order of k."""
    a, b, c = op.operands[:3]
    elem, out = a.type.elem, op.result.type.elem
    f = low.f
    work = "i32" if elem[0] == "i" else ("f64" if elem == "f64" else "f32")
    if elem[0] == "i" and (elem != "i8" or out != "i32"):
        raise Unsupported(
            op, f"dot of {a.type} and {b.type} to {op.result.type}; integer dots take int8 and give int32"
        )
    *batch, m, k = a.type.dims
    n = b.type.dims[-1]
    slot = {"f32": L.Counter.DOT_FP32, "f16": L.Counter.DOT_FP16, "bf16": L.Counter.DOT_BF16, "i8": L.Counter.DOT_INT8,
            "f64": L.Counter.DOT_FP64}.get(elem, L.Counter.DOT_FP8)  # fmt: skip
    low.counts[int(slot)] += math.prod(batch) * m * n * k
    target = low.buffer(op.result)
    width = Type(work).bytes
    taken: list[int] = []

    def operand(value: Value) -> str:
        if value.type.elem == work and low.plan.is_buffer(value):
            return low.dense(value)
        offset = low.arena.take(value.type.numel * width)
        taken.append(offset)
        pointer = low.address(offset)
        low.fill(value, pointer, work)
        return pointer

    left, right = operand(a), operand(b)
    accumulator = target
    if out != work:
        offset = low.arena.take(op.result.type.numel * width)
        taken.append(offset)
        accumulator = low.address(offset)
        low.fill(c, accumulator, work)
    elif low.plan.in_place.get(op.result) is not c:
        low.put(c, target)
    name = f.unit.declare(f"vpe_dot_{work}", "void", "ptr", "ptr", "ptr", "i64", "i64", "i64")
    for index in range(math.prod(batch)):
        f.do(
            f"call void {name}(ptr {f.gep8(left, index * m * k * width)}, ptr {f.gep8(right, index * k * n * width)}, "
            f"ptr {f.gep8(accumulator, index * m * n * width)}, i64 {m}, i64 {n}, i64 {k})"
        )
    if out != work:

        def body(evaluation: Eval, at: tuple[Idx, ...], linear: str) -> None:
            value = evaluation.leaf(accumulator, Type(work, op.result.type.shape), at)
            evaluation.store(convert(evaluation.lanes, value, out), target, linear)

        low.each(op.result.type.dims, body)
    for offset in taken:
        low.arena.give(offset)


def gather(low: Lowering, op: Op) -> None:
    """`tt.gather src[index]` along an axis; an index outside of the source is a fault."""
    f = low.f
    source, where = op.operands
    axis = op.int_attr("axis")
    pointer = low.dense(source)
    target = low.buffer(op.result)
    shape = source.type.dims
    stride = math.prod(shape[axis + 1 :])
    stored = STORED[source.type.elem]
    low.f.unit.declare("vpe_fault", "i32", "ptr", *["i64"] * 6)

    def body(evaluation: Eval, index: tuple[Idx, ...], linear: str) -> None:
        lanes, w = evaluation.lanes, evaluation.w
        position = lanes.splat(evaluation.value(where, index))
        if position.elem != "i64":
            position = lanes.cast("zext", position, "i64")  # as Triton's other back ends: no index is negative
        bad = lanes.icmp("uge", position, lanes.integer("i64", shape[axis]))
        any_bad = f.emit(f"bitcast <{w} x i1> {bad.name} to i{w}") if w > 1 else f.emit(f"zext i1 {bad.name} to i8")
        type_ = f"i{w}" if w > 1 else "i8"
        with f.when(f.emit(f"icmp ne {type_} {any_bad}, 0")):
            f.do(
                f"{f.tmp()} = call i32 @vpe_fault(ptr %ctx, i64 {int(FaultKind.INDEX)}, i64 {op.id}, i64 "
                f"{linear}, i64 0, i64 -1, i64 {shape[axis]})"
            )
            f.br(low.fault)
        base, pattern = evaluation.offset(shape, (*index[:axis], Idx(0), *index[axis + 1 :]))
        place = lanes.op("mul", [position, lanes.integer("i64", stride)]) if stride > 1 else position
        place = lanes.op("add", [place, V(base, "i64") if base != "0" else lanes.integer("i64", 0)])
        if any(pattern):
            place = lanes.op("add", [place, lanes.vector("i64", list(pattern))])
        result = _read(evaluation, place, pointer, stored, source.type.elem)
        evaluation.store(result, target, linear)

    low.each(where.type.dims, body)


def _read(evaluation: Eval, place: V, pointer: str, stored: str, elem: str) -> V:
    f, w = evaluation.f, evaluation.w
    if w == 1:
        at = f.emit(f"getelementptr {stored}, ptr {pointer}, i64 {place.name}")
        value = V(f.emit(f"load {stored}, ptr {at}"), elem)
    else:
        current = "poison"
        for lane in range(w):
            one = f.emit(f"extractelement <{w} x i64> {place.name}, i64 {lane}")
            at = f.emit(f"getelementptr {stored}, ptr {pointer}, i64 {one}")
            loaded = f.emit(f"load {stored}, ptr {at}")
            current = f.emit(f"insertelement <{w} x {stored}> {current}, {stored} {loaded}, i64 {lane}")
        value = V(current, elem, True)
    return evaluation._from_memory(value)


def histogram(low: Lowering, op: Op) -> None:
    """`tt.histogram src[, mask]`: counts of 0 .. bins-1; other values are not counted."""
    f = low.f
    source = op.operands[0]
    target = low.buffer(op.result)
    elem = op.result.type.elem
    bins = op.result.type.numel
    f.unit.declare("llvm.memset.p0.i64", "void", "ptr", "i8", "i64", "i1")
    f.do(f"call void @llvm.memset.p0.i64(ptr {target}, i8 0, i64 {op.result.type.nbytes}, i1 false)")

    def body(evaluation: Eval, index: tuple[Idx, ...], linear: str) -> None:
        lanes = evaluation.lanes
        value = evaluation.value(source, index)
        if value.elem != "i64":  # bins may be more than the source's type can count
            value = lanes.cast("zext", value, "i64")
        active = lanes.icmp("ult", value, lanes.integer("i64", bins))
        if len(op.operands) > 1:
            active = lanes.op("and", [active, evaluation.value(op.operands[1], index)])
        with f.when(active.name):
            place = f.emit(f"getelementptr {elem}, ptr {target}, i64 {value.name}")
            f.do(f"store {elem} {f.emit(f'add {elem} ' + f.emit(f'load {elem}, ptr {place}') + ', 1')}, ptr {place}")

    low.each(source.type.dims, body, width=1)


def cat(low: Lowering, op: Op) -> None:
    """`tt.cat`: one tensor after the other."""
    target = low.buffer(op.result)
    low.put(op.operands[0], target)
    low.put(op.operands[1], low.f.gep8(target, op.operands[0].type.nbytes))
