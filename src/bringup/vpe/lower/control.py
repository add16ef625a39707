"""Structured control flow: for, while, if, calls; loop-carried scalars live in registers, tensors in buffers."""

from __future__ import annotations

from bringup.vpe.ir import Block, Op, Value
from bringup.vpe.lower.core import Lowering
from bringup.vpe.lower.evaluate import Unsupported
from bringup.vpe.lower.lanes import REGISTER, V


def _slot(low: Lowering, value: V) -> str:
    slot = low.f.alloca(REGISTER[value.elem])
    low.f.do(f"store {REGISTER[value.elem]} {value.name}, ptr {slot}")
    return slot


def _read(low: Lowering, slot: str, elem: str) -> V:
    return V(low.f.emit(f"load {REGISTER[elem]}, ptr {slot}"), elem)


class _Carried:
    """Loop-carried values: slots for scalars and for starts of walks, buffers for tensors."""

    def __init__(self, low: Lowering, args: list[Value], results: list[Value]) -> None:
        self.low, self.args, self.results = low, args, results
        self.slots: dict[Value, str] = {}

    def enter(self, inits: list[Value]) -> None:
        """Before the loop: slots and buffers with the initial values."""
        low = self.low
        carried = low.plan.affine.carried
        for arg, init, result in zip(self.args, inits, self.results, strict=True):
            if arg in carried:
                walk = low.plan.affine.of(init)
                assert walk is not None
                slot = low.f.alloca("i64")
                low.f.do(f"store i64 {low.expr(walk.start)}, ptr {slot}")
                self.slots[arg] = slot
            elif arg.type.is_tensor:
                offset = low.arena.take(arg.type.nbytes)
                low.buffers[arg] = low.buffers[low.plan.root(result)] = offset
                low.put(init, low.address(offset))
            else:
                self.slots[arg] = _slot(low, low.scalar(init))

    def bind(self) -> None:
        """At the head of an iteration (and after the loop): read the slots."""
        low = self.low
        for arg, result in zip(self.args, self.results, strict=True):
            if arg in low.plan.affine.carried:
                name = low.f.emit(f"load i64, ptr {self.slots[arg]}")
                low.starts[low.plan.affine.carried[arg]] = name
                low.starts[low.plan.affine.carried[result]] = name
            elif not arg.type.is_tensor:
                low.scalars[arg] = low.scalars[result] = _read(low, self.slots[arg], arg.type.elem)

    def moved(self, values: list[Value]) -> int:
        """Bytes of tensors that `advance` copies."""
        return sum(
            arg.type.nbytes
            for arg, value in zip(self.args, values, strict=True)
            if arg.type.is_tensor and arg not in self.low.plan.affine.carried and value is not arg
        )

    def advance(self, values: list[Value]) -> None:
        """At the end of an iteration: all new values first, then write them."""
        low = self.low
        carried = low.plan.affine.carried
        scalars: list[tuple[str, str, str]] = []
        tensors: list[tuple[str, Value, int]] = []
        taken = []
        for arg, value in zip(self.args, values, strict=True):
            if arg in carried:
                scalars.append(("i64", low.expr(low.plan.affine.carried_next[arg]), self.slots[arg]))
            elif arg.type.is_tensor:
                if value is arg or low.plan.in_place.get(low.plan.root(value)) is arg:
                    continue
                source = low.plan.root(value)
                if low.plan.is_buffer(value) and source not in self.args and value not in carried:
                    tensors.append((low.held(value), arg, arg.type.nbytes))
                else:
                    offset = low.arena.take(arg.type.nbytes)
                    taken.append(offset)
                    low.put(value, low.address(offset))
                    tensors.append((low.address(offset), arg, arg.type.nbytes))
            else:
                found = low.scalar(value)
                scalars.append((REGISTER[found.elem], found.name, self.slots[arg]))
        for type_, name, slot in scalars:
            low.f.do(f"store {type_} {name}, ptr {slot}")
        for source_pointer, arg, nbytes in tensors:
            low.f.do(
                f"call void @llvm.memcpy.p0.p0.i64(ptr align 64 {low.address(low.buffers[arg])}, ptr align 1 "
                f"{source_pointer}, i64 {nbytes}, i1 false)"
            )
        for offset in taken:
            low.arena.give(offset)


def scf_for(low: Lowering, op: Op) -> None:
    """`scf.for`."""
    f = low.f
    body = op.regions[0]
    first, last, step = (low.scalar(value) for value in op.operands[:3])
    type_ = REGISTER[first.elem]
    carried = _Carried(low, body.args[1:], op.results)
    carried.enter(op.operands[3:])
    counter = _slot(low, first)
    less = "ult" if op.attrs.get("unsigned") else "slt"
    with f.forever() as (_, out):
        now = f.emit(f"load {type_}, ptr {counter}")
        go = f.new_label("body")
        f.cond(f.emit(f"icmp {less} {type_} {now}, {last.name}"), go, out)
        f.label(go)
        low.scalars[body.args[0]] = V(now, first.elem)
        carried.bind()
        depth = len(low.scope)
        low.scope.extend(body.args)
        low.block(body)
        low.count_in(op)
        low.turn(body.ops[-1], carried.moved(body.ops[-1].operands))
        carried.advance(body.ops[-1].operands)
        low.release(body.ops[-1])
        del low.scope[depth:]
        f.do(f"store {type_} {f.emit(f'add {type_} {now}, {step.name}')}, ptr {counter}")
    carried.bind()


def scf_while(low: Lowering, op: Op) -> None:
    """`scf.while`: the first region decides and forwards values to the second and to the results."""
    f = low.f
    before, after = op.regions
    passed = before.ops[-1]
    state = _Carried(low, before.args, before.args)
    state.enter(op.operands)
    forwarded = _Carried(low, after.args, op.results)
    for arg, result in zip(after.args, op.results, strict=True):
        if arg.type.is_tensor:
            low.buffers[arg] = low.buffers[low.plan.root(result)] = low.arena.take(arg.type.nbytes)
        else:
            forwarded.slots[arg] = f.alloca(REGISTER[arg.type.elem])
    depth = len(low.scope)
    with f.forever() as (_, out):
        state.bind()
        low.scope.extend(before.args)
        low.block(before)
        condition = low.scalar(passed.operands[0]).name
        for arg, value in zip(after.args, passed.operands[1:], strict=True):
            if arg.type.is_tensor:
                low.put(value, low.address(low.buffers[arg]))
            else:
                found = low.scalar(value)
                f.do(f"store {REGISTER[found.elem]} {found.name}, ptr {forwarded.slots[arg]}")
        low.release(passed)
        go = f.new_label("do")
        f.cond(condition, go, out)
        f.label(go)
        forwarded.bind()
        low.scope.extend(after.args)
        low.block(after)
        low.count_in(op)
        passed_on = sum(value.type.nbytes for value in after.args if value.type.is_tensor)
        low.turn(after.ops[-1], passed_on + state.moved(after.ops[-1].operands))
        state.advance(after.ops[-1].operands)
        low.release(after.ops[-1])
        del low.scope[depth:]
    forwarded.bind()
    for arg in before.args:
        if arg in low.buffers:
            low.arena.give(low.buffers[arg])


def scf_if(low: Lowering, op: Op) -> None:
    """`scf.if` with results."""
    f = low.f
    slots: dict[Value, str] = {}
    for result in op.results:
        if not result.type.is_tensor:
            slots[result] = f.alloca(REGISTER[result.type.elem])
        else:
            low.allocate(result)
    yes, no, out = f.new_label("yes"), f.new_label("no"), f.new_label("fi")
    f.cond(low.scalar(op.operands[0]).name, yes, no)
    depth = len(low.scope)
    for label, region in ((yes, op.regions[0]), (no, op.regions[1] if len(op.regions) > 1 else None)):
        f.label(label)
        if region is not None:
            _branch(low, op, region, slots)
            del low.scope[depth:]
        f.br(out)
    f.label(out)
    for result, slot in slots.items():
        low.scalars[result] = _read(low, slot, result.type.elem)


def _branch(low: Lowering, op: Op, region: Block, slots: dict[Value, str]) -> None:
    low.block(region)
    end = region.ops[-1]
    for result, value in zip(op.results, end.operands, strict=True):
        if result in slots:
            found = low.scalar(value)
            low.f.do(f"store {REGISTER[found.elem]} {found.name}, ptr {slots[result]}")
        else:
            low.put(value, low.address(low.buffers[low.plan.root(result)]))
    low.release(end)


def call(low: Lowering, op: Op) -> None:
    """`tt.call` of a `noinline` function: scalars in, scalars out."""
    f = low.f
    name = function_name(op.attrs["callee"])
    args = ["ptr %ctx"]
    for value in op.operands:
        if value.type.is_tensor:
            raise Unsupported(op, "a tensor as an argument of a noinline function")
        found = low.scalar(value)
        args.append(f"{REGISTER[found.elem]} {found.name}")
    slots = []
    for result in op.results:
        if result.type.is_tensor:
            raise Unsupported(op, "a tensor as the result of a noinline function")
        slots.append(f.alloca(REGISTER[result.type.elem]))
    args += [f"ptr {slot}" for slot in slots]
    low.turn(op, 0)  # functions that call others twice are loops, as far as time goes
    low.check(f.emit(f"call i32 @{name}({', '.join(args)})"))
    for result, slot in zip(op.results, slots, strict=True):
        low.scalars[result] = _read(low, slot, result.type.elem)


def function_name(callee: str) -> str:
    """LLVM name of a Triton function: different ones for different functions."""
    return "fn_" + "".join(char if char.isascii() and char.isalnum() else f"_{ord(char):x}_" for char in callee)
