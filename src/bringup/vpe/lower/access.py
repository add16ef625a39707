"""Loads, stores, atomics, assertions and prints: everything that leaves the program instance."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bringup.vpe import layout as L
from bringup.vpe.ir import Op, Type, Value
from bringup.vpe.layout import FaultKind
from bringup.vpe.llvm_text import Int
from bringup.vpe.lower.affine import Expr
from bringup.vpe.lower.core import WIDTH, Lowering
from bringup.vpe.lower.elementwise import canonical, number
from bringup.vpe.lower.evaluate import Eval, Idx, Unsupported, zero_text
from bringup.vpe.lower.lanes import REGISTER, STORED, V
from bringup.vpe.lower.plan import is_constant

_ATOMIC_INT = {"add": "add", "max": "max", "min": "min", "umax": "umax", "umin": "umin", "and": "and", "or": "or",
               "xor": "xor", "exch": "xchg"}  # fmt: skip


def argument_of(low: Lowering, pointer: Value) -> int:
    """Number of the range that alone a pointer may reach: its argument's position among the kernel's pointers.

    -1 where it may come from several arguments, or from memory: then it may reach all of the launch's ranges.
    """
    owner = low.shared.owners.of(pointer)
    return -1 if owner is None else owner


def _mask(low: Lowering, operands: list[Value]) -> tuple[str, bool]:
    """Pointer to the mask's bytes (`null` if none), and whether it is known to be all false."""
    if not operands:
        return "null", False
    mask = operands[0]
    if not mask.type.is_tensor:
        raise Unsupported(mask.op or Op("mask"), "a scalar mask on a tensor access")
    if is_constant(mask):
        assert mask.op is not None
        return "null", mask.op.attrs["value"] in ("false", "0")
    return low.dense(mask), False


def load(low: Lowering, op: Op) -> None:
    """`tt.load`."""
    pointer = op.operands[0]
    if not pointer.type.is_tensor:
        _scalar_load(low, op)
        return
    f = low.f
    target = low.address(low.allocate(op.result))
    place = None
    if op.result in low.plan.windows:
        place = f.alloca("ptr")
        f.do(f"store ptr {target}, ptr {place}")

    def one_by_one() -> None:
        _one_by_one(low, op, op.operands[:2], target, op.result.type, "load")

    _either(low, pointer, op.operands[1:2], lambda: _load_block(low, op, target, place), one_by_one)
    if place is not None:
        low.windows[op.result] = f.emit(f"load ptr, ptr {place}")


def _load_block(low: Lowering, op: Op, target: str, place: str | None) -> None:
    """A load whose pointers and mask are the walks and the box that the analysis found, if it found any.

    `place`: where the pointer to the loaded block goes, if it may be a window.
    """
    box, whole = _box(low, op.operands[:2])
    mask, nothing = ("null", False) if box else _mask(low, op.operands[1:2])
    if place is not None and mask == "null" and not nothing:
        _window(low, op, target, place, box, whole)
        return

    if box:
        with low.f.when(low.f.emit(f"xor i1 {whole}, true")):
            _fill(low, op, target)
    elif mask != "null" or nothing:
        _fill(low, op, target)
    if not nothing:
        _transfer(low, op, op.operands[0], mask, target, op.result.type, "load", box)


def _either(
    low: Lowering, pointer: Value, masks: list[Value], block: Callable[[], None], one_by_one: Callable[[], None]
) -> None:
    """Emit an access: as a block where its walks stay in the range of their types, else element by element."""
    f = low.f
    fits = low.fits(low.plan.needs(pointer, masks))
    if fits == "true":
        block()
        return
    apart, done = f.new_label("apart"), f.new_label("accessed")
    f.leave_if(f.emit(f"xor i1 {fits}, true"), apart)
    block()
    f.br(done)
    f.label(apart)
    one_by_one()
    f.label(done)


def _one_by_one(low: Lowering, op: Op, operands: list[Value], local: str, type_: Type, kind: str) -> None:
    """Emit an access whose pointers, and mask if it has one, are computed by lanes.

    It is rare: as little code as can be, and none of the local memory, which is wiped before launches, that `_listed`
    needs for all of the addresses.
    """
    f, pointer = low.f, operands[0]
    addresses, active = f.alloca("i64"), "null"
    if len(operands) > 1:
        active = f.alloca("i8")

    def body(evaluation: Eval, index: tuple[Idx, ...], linear: str) -> None:
        evaluation.store(evaluation.value(pointer, index), addresses, "0")
        if len(operands) > 1:
            evaluation.store(evaluation.value(operands[1], index), active, "0")
            if kind == "load":
                nothing = low.one.constant(type_.elem, zero_text(type_))
                other = evaluation.value(op.operands[2], index) if len(op.operands) > 2 else nothing
                evaluation.store(other, local, linear)
        here = f.gep8(local, f.i(linear) * type_.bytes)
        _elements(low, op, pointer, addresses, 1, active, here, type_, kind)

    low.each_alone(type_.dims, body)


def _fill(low: Lowering, op: Op, target: str) -> None:
    """What the masked-off elements of a load hold."""
    if len(op.operands) > 2:
        low.put(op.operands[2], target)
    else:
        _zero(low, target, op.result.type.nbytes)


def _window(low: Lowering, op: Op, target: str, place: str, box: list[tuple[str, str]], whole: str) -> None:
    """Load a contiguous block: if all of it is active it is checked and read where it lies, else copied."""
    f = low.f

    def look() -> None:
        start = _transfer(low, op, op.operands[0], "null", "null", op.result.type, "load", [])
        f.do(f"store ptr {f.pointer(start)}, ptr {place}")

    if box:
        copy, done = f.new_label("copy"), f.new_label("loaded")
        f.leave_if(f.emit(f"xor i1 {whole}, true"), copy)
        look()
        f.br(done)
        f.label(copy)
        _fill(low, op, target)
        _transfer(low, op, op.operands[0], "null", target, op.result.type, "load", box)
        f.label(done)
    else:
        look()


def store(low: Lowering, op: Op) -> None:
    """`tt.store`."""
    pointer, value = op.operands[:2]
    if not pointer.type.is_tensor:
        _scalar_store(low, op)
        return
    source = low.dense(value)

    def block() -> None:
        box, _ = _box(low, [pointer, *op.operands[2:3]])
        mask, nothing = ("null", False) if box else _mask(low, op.operands[2:3])
        if not nothing:
            _transfer(low, op, pointer, mask, source, value.type, "store", box)

    def one_by_one() -> None:
        _one_by_one(low, op, [pointer, *op.operands[2:3]], source, value.type, "store")

    _either(low, pointer, op.operands[2:3], block, one_by_one)


def _box(low: Lowering, operands: list[Value]) -> tuple[list[tuple[str, str]], str]:
    """(low, high) for each axis of a masked block access, and an i1 that says whether the box is the whole block."""
    if len(operands) < 2 or is_constant(operands[1]):
        return [], ""
    pointer, mask = operands
    found = low.plan.box(pointer, mask)
    if found is None:
        return [], ""
    f = low.f
    dims = mask.type.dims
    bounds: list[tuple[Int, Int]] = [(f.i(0), f.i(size)) for size in dims]
    whole = "true"
    for axis, expr in found.low:
        value = f.i(low.expr(expr))
        whole = f.emit(f"and i1 {whole}, {value.cmp('sle', 0)}")
        start, end = bounds[axis]
        bounds[axis] = (start.max_signed(value), end)
    for axis, expr in found.high:
        value = f.i(low.expr(expr))
        whole = f.emit(f"and i1 {whole}, {value.cmp('sge', dims[axis])}")
        start, end = bounds[axis]
        bounds[axis] = (start, end.min_signed(value))
    for condition in found.conditions:
        name = low.scalar(condition).name
        whole = f.emit(f"and i1 {whole}, {name}")
        start, end = bounds[0]
        bounds[0] = (start, f.i(f.emit(f"select i1 {name}, i64 {end}, i64 0")))
    return [(str(start), str(end)) for start, end in bounds], whole


def _zero(low: Lowering, target: str, nbytes: int) -> None:
    low.f.unit.declare("llvm.memset.p0.i64", "void", "ptr", "i8", "i64", "i1")
    low.f.do(f"call void @llvm.memset.p0.i64(ptr {target}, i8 0, i64 {nbytes}, i1 false)")


def _transfer(
    low: Lowering,
    op: Op,
    pointer: Value,
    mask: str,
    local: str,
    type_: Type,
    kind: str,
    box: list[tuple[str, str]],
) -> str:
    """Emit the call of the DMA engine; gives the address of the first element if the access is a straight walk."""
    found = low.plan.affine.line(pointer)
    if found is None:
        _listed(low, op, pointer, mask, local, type_, kind)
        return ""
    walk, _ = found
    start = low.expr(walk.start)
    axes = _axes(low, type_, walk.strides, box)
    _rows(low, op, argument_of(low, pointer), type_.bytes, kind, start, axes, mask, local)
    return start


def _listed(low: Lowering, op: Op, pointer: Value, mask: str, local: str, type_: Type, kind: str) -> None:
    """Emit the call of the DMA engine with the address of each element, listed in local memory."""
    with low.scratch(pointer.type.nbytes) as listed:
        if low.plan.is_buffer(pointer):
            listed = low.dense(pointer)
        else:
            low.fill(pointer, listed)
        _elements(low, op, pointer, listed, type_.numel, mask, local, type_, kind)


def _elements(
    low: Lowering, op: Op, pointer: Value, addresses: str, count: int, mask: str, local: str, type_: Type, kind: str
) -> None:
    name = "vpe_gather" if kind == "load" else "vpe_scatter"
    low.f.unit.declare(name, "i32", "ptr", *["i64"] * 5, "ptr", "i64", "ptr", "ptr")
    status = low.f.emit(
        f"call i32 @{name}(ptr %ctx, i64 {op.id}, i64 {argument_of(low, pointer)}, i64 {type_.bytes}, i64 0, i64 0, "
        f"ptr {addresses}, i64 {count}, ptr {mask}, ptr {local})"
    )
    low.check(status)


@dataclass(frozen=True)
class _Axis:
    """One axis of a strided block: elements, stride in bytes, bounds of the box if there is one."""

    n: int
    stride: str
    bounds: tuple[str, str] | None = None


def _axes(low: Lowering, type_: Type, strides: Sequence[Expr], box: list[tuple[str, str]]) -> list[_Axis]:
    """The axes of an access, outermost first. The last one stays as it is: the rule of alignment is about it.

    Without a box, others of length 1 are left out, and those that continue each other are one.
    """
    rank = len(type_.dims)
    axes: list[_Axis] = []
    for d, (n, stride_expr) in enumerate(zip(type_.dims, strides, strict=True)):
        last = d == rank - 1
        if n == 1 and not box and not last:
            continue
        stride = low.expr(stride_expr)
        above = axes[-1].stride if axes else ""
        if above.isdigit() and stride.isdigit() and not box and not last and int(above) == n * int(stride):
            axes[-1] = _Axis(axes[-1].n * n, stride)
        else:
            axes.append(_Axis(n, stride, box[d] if box else None))
    return axes or [_Axis(1, "0")]


def _rows(
    low: Lowering, op: Op, argument: int, size: int, kind: str, start: str, axes: list[_Axis], mask: str, local: str
) -> None:
    """Emit the call of the DMA engine, in a loop for each axis beyond its three."""
    f = low.f
    if len(axes) > 3:
        inner = math.prod(axis.n for axis in axes[1:])
        with f.loop(axes[0].n) as counter:
            at = f.i(counter)
            row = f.i(start) + at * axes[0].stride
            here = mask if mask == "null" else f.gep8(mask, at * inner)
            there = local if local == "null" else f.gep8(local, at * (inner * size))
            _rows(low, op, argument, size, kind, str(row), axes[1:], here, there)
        return
    padded = [_Axis(1, "0")] * (3 - len(axes)) + axes
    numbers = ", ".join(f"i64 {axis.n}, i64 {axis.stride}" for axis in padded)
    bounds = "null"
    if any(axis.bounds for axis in axes):
        bounds = f.alloca("[6 x i64]")
        for d, axis in enumerate(padded):
            first, last = axis.bounds or ("0", str(axis.n))
            f.store64(first, bounds, 2 * d)
            f.store64(last, bounds, 2 * d + 1)
    f.unit.declare(f"vpe_{kind}", "i32", "ptr", *["i64"] * 10, "ptr", "ptr", "ptr")
    status = f.emit(
        f"call i32 @vpe_{kind}(ptr %ctx, i64 {op.id}, i64 {argument}, i64 {size}, i64 {start}, {numbers}, "
        f"ptr {bounds}, ptr {mask}, ptr {local})"
    )
    low.check(status)


def _checked(low: Lowering, op: Op, pointer: Value, address: str, size: int, mode: int) -> None:
    low.f.unit.declare("vpe_check", "i32", "ptr", *["i64"] * 6)
    status = low.f.emit(
        f"call i32 @vpe_check(ptr %ctx, i64 {op.id}, i64 {argument_of(low, pointer)}, i64 {address}, i64 {size}, "
        f"i64 {size}, i64 {mode})"
    )
    low.check(status)


def _scalar_load(low: Lowering, op: Op) -> None:
    pointer = op.operands[0]
    type_ = op.result.type
    f = low.f
    if len(op.operands) > 1:
        slot = f.alloca(STORED[type_.elem])
        other = low.scalar(op.operands[2]) if len(op.operands) > 2 else V("zeroinitializer", type_.elem)
        f.do(f"store {REGISTER[type_.elem]} {other.name}, ptr {slot}")
        with f.when(low.scalar(op.operands[1]).name):
            found = _load_one(low, op, pointer, type_)
            f.do(f"store {REGISTER[type_.elem]} {found.name}, ptr {slot}")
        low.scalars[op.result] = V(f.emit(f"load {REGISTER[type_.elem]}, ptr {slot}"), type_.elem)
        return
    low.scalars[op.result] = _load_one(low, op, pointer, type_)


def _load_one(low: Lowering, op: Op, pointer: Value, type_: Type) -> V:
    f = low.f
    address = low.expr(pointer)
    _checked(low, op, pointer, address, type_.bytes, 0)
    value = f.emit(f"load {STORED[type_.elem]}, ptr {f.pointer(address)}, align 1")
    if type_.elem == "i1":
        value = f.emit(f"icmp ne i8 {value}, 0")
    return V(value, type_.elem)


def _scalar_store(low: Lowering, op: Op) -> None:
    pointer, value = op.operands[:2]
    f = low.f

    def write() -> None:
        address = low.expr(pointer)
        _checked(low, op, pointer, address, value.type.bytes, 1)
        register = low.scalar(value)
        name, stored = register.name, STORED[register.elem]
        if register.elem == "i1":
            name = f.emit(f"zext i1 {name} to i8")
        f.do(f"store {stored} {name}, ptr {f.pointer(address)}, align 1")

    if len(op.operands) > 2:
        with f.when(low.scalar(op.operands[2]).name):
            write()
    else:
        write()


def atomic_rmw(low: Lowering, op: Op) -> None:
    """`tt.atomic_rmw kind, order, scope, ptr, value[, mask]`; gives the old values."""
    kind = op.attrs["bare"].split(",")[0].strip()

    def update(pointer: str, values: list[V]) -> str:
        return _rmw(low, op, kind, pointer, values[0])

    has_mask = len(op.operands) > 2
    _atomic(low, op, op.operands[1:2], op.operands[2] if has_mask else None, update)


def atomic_cas(low: Lowering, op: Op) -> None:
    """`tt.atomic_cas order, scope, ptr, compare, value`; gives the old values."""

    def update(pointer: str, values: list[V]) -> str:
        f = low.f
        elem = values[0].elem
        bits = f"i{Type(elem).bytes * 8}"
        names = [
            v.name if REGISTER[elem] == bits else f.emit(f"bitcast {REGISTER[elem]} {v.name} to {bits}") for v in values
        ]
        pair = f.emit(f"cmpxchg ptr {pointer}, {bits} {names[0]}, {bits} {names[1]} acq_rel acquire")
        old = f.emit(f"extractvalue {{ {bits}, i1 }} {pair}, 0")
        return old if REGISTER[elem] == bits else f.emit(f"bitcast {bits} {old} to {REGISTER[elem]}")

    _atomic(low, op, op.operands[1:3], None, update)


def _rmw(low: Lowering, op: Op, kind: str, pointer: str, value: V) -> str:
    f = low.f
    elem = value.elem
    register = REGISTER[elem]
    if kind in _ATOMIC_INT and (elem[0] == "i" or kind == "exch"):
        if register[0] != "i":
            bits = f"i{Type(elem).bytes * 8}"
            new_bits = f.emit(f"bitcast {register} {value.name} to {bits}")
            old_bits = f.emit(f"atomicrmw xchg ptr {pointer}, {bits} {new_bits} acq_rel")
            return f.emit(f"bitcast {bits} {old_bits} to {register}")
        return f.emit(f"atomicrmw {_ATOMIC_INT[kind]} ptr {pointer}, {register} {value.name} acq_rel")
    if kind not in ("fadd", "max", "min", "fmax", "fmin"):
        raise Unsupported(op, f"atomic {kind} on {elem}")
    # a compare-and-swap loop on the bits serves every float format
    bits = f"i{Type(elem).bytes * 8}"
    slot = f.alloca(bits)
    f.do(f"store {bits} {f.emit(f'load {bits}, ptr {pointer}')}, ptr {slot}")
    head, out = f.new_label("cas"), f.new_label("swapped")
    f.label(head)
    seen = f.emit(f"load {bits}, ptr {slot}")
    old = V(seen if register == bits else f.emit(f"bitcast {bits} {seen} to {register}"), elem)
    lanes = low.one
    if kind == "fadd":
        new = lanes.in_f32(lambda v: lanes.op("fadd", v), [old, value])
    else:
        new = lanes.in_f32(lambda v: number(lanes, v, larger=kind.endswith("max")), [old, value])
    new = canonical(lanes, new)
    name = new.name if register == bits else f.emit(f"bitcast {register} {new.name} to {bits}")
    pair = f.emit(f"cmpxchg ptr {pointer}, {bits} {seen}, {bits} {name} acq_rel acquire")
    f.do(f"store {bits} {f.emit(f'extractvalue {{ {bits}, i1 }} {pair}, 0')}, ptr {slot}")
    f.cond(f.emit(f"extractvalue {{ {bits}, i1 }} {pair}, 1"), out, head)
    f.label(out)
    return old.name


def _atomic(
    low: Lowering, op: Op, operands: list[Value], mask: Value | None, update: Callable[[str, list[V]], str]
) -> None:
    f = low.f
    type_ = op.result.type
    size = type_.bytes
    pointer = op.operands[0]
    tensor = pointer.type.is_tensor
    target = low.buffer(op.result) if tensor else ""
    slot = f.alloca(STORED[type_.elem])
    replay = (low.f.load64("%ctx", L.FLAGS) & L.FLAG_REPLAY).cmp("ne", 0)

    def one(evaluation: Eval, index: tuple[Idx, ...], linear: str) -> None:
        f.do(f"store {STORED[type_.elem]} zeroinitializer, ptr {slot}")
        active = evaluation.value(mask, index).name if mask is not None else "true"
        with f.when(active):
            # operands are computed inside: nothing of this evaluation is used after the branch
            inner = Eval(low, 1)
            inner.digits = evaluation.digits
            address = inner.value(pointer, index).name
            values = [inner.value(x, index) for x in operands]
            _checked(low, op, pointer, address, size, 2)
            with f.when(f.emit(f"xor i1 {replay}, true")):
                old = update(f.pointer(address), values)
                f.do(f"store {REGISTER[type_.elem]} {old}, ptr {slot}")
                base = f.pointer(f.load64("%ctx", L.COUNTERS))
                f.store64(f.load64(base, int(L.Counter.ATOMICS)) + 1, base, int(L.Counter.ATOMICS))
        found = V(f.emit(f"load {REGISTER[type_.elem]}, ptr {slot}"), type_.elem)
        if tensor:
            evaluation.store(found, target, linear)
        else:
            low.scalars[op.result] = found

    if tensor:
        low.each(pointer.type.dims, one, width=1)
    else:
        one(Eval(low, 1), (), "0")


def device_assert(low: Lowering, op: Op) -> None:
    """`tt.assert`: a false element is a fault."""
    condition = op.operands[0]
    f = low.f
    low.f.unit.declare("vpe_fault", "i32", "ptr", *["i64"] * 6)

    def fail(where: str) -> None:
        f.do(
            f"{f.tmp()} = call i32 @vpe_fault(ptr %ctx, i64 {int(FaultKind.ASSERT)}, i64 {op.id}, i64 {where}, "
            "i64 0, i64 -1, i64 0)"
        )
        f.br(low.fault)

    if not condition.type.is_tensor:
        with f.when(f.emit(f"xor i1 {low.scalar(condition).name}, true")):
            fail("0")
        return
    if is_constant(condition):
        assert condition.op is not None
        if condition.op.attrs["value"] == "true":
            return

    def body(evaluation: Eval, index: tuple[Idx, ...], linear: str) -> None:
        value = evaluation.lanes.splat(evaluation.value(condition, index))
        w = evaluation.w
        bits = f.emit(f"bitcast <{w} x i1> {value.name} to i{w}") if w > 1 else f.emit(f"zext i1 {value.name} to i8")
        type_ = f"i{w}" if w > 1 else "i8"
        full = -1 if w > 1 else 1
        with f.when(f.emit(f"icmp ne {type_} {bits}, {full}")):
            fail(linear)

    low.each(condition.type.dims, body, width=WIDTH)


def device_print(low: Lowering, op: Op) -> None:
    """`tt.print`: copy the operands to the print buffer; the host formats them."""
    f = low.f
    low.shared.prints[op.id] = op
    total = sum(max(value.type.nbytes, 8) for value in op.operands)
    total = (total + 7) // 8 * 8
    base = f.pointer(f.load64("%ctx", L.PRINT))
    used = f.load64(base)
    room = f.load64("%ctx", L.PRINT_SIZE)
    fits = (used + (24 + total)).cmp("ule", room)
    with f.when(fits):
        place = f.gep8(base, used)
        f.store64(op.id, place)
        f.store64(f.load64("%ctx", L.PROGRAM), place, 1)
        f.store64(total, place, 2)
        at = 24
        for value in op.operands:
            target = f.gep8(place, at)
            if value.type.is_tensor:
                low.put(value, target) if not low.plan.is_buffer(value) else _copy(low, value, target)
            else:
                register = low.scalar(value)
                name, stored = register.name, STORED[register.elem]
                if register.elem == "i1":
                    name = f.emit(f"zext i1 {name} to i8")
                f.do(f"store {stored} {name}, ptr {target}, align 1")
            at += max(value.type.nbytes, 8)
        f.store64(used + (24 + total), base)


def _copy(low: Lowering, value: Value, target: str) -> None:
    source = low.dense(value)
    low.f.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {value.type.nbytes}, i1 false)")
