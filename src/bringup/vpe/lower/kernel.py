"""A whole kernel: dispatch of operations, and functions, for one program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bringup.vpe import layout as L
from bringup.vpe.ir import Func, Module, Op, Type, Value
from bringup.vpe.llvm_text import Function, Unit
from bringup.vpe.lower import access, branches, collective, control, scaled
from bringup.vpe.lower.core import Lowering, Shared
from bringup.vpe.lower.elementwise import ELEMENTWISE, apply
from bringup.vpe.lower.evaluate import Eval, Idx, Unsupported, zero_text
from bringup.vpe.lower.lanes import REGISTER, STORED, Lanes, V
from bringup.vpe.lower.nans import settle
from bringup.vpe.lower.owners import Owners
from bringup.vpe.lower.plan import LAYOUT
from bringup.vpe.programs import KERNEL

_VISIT: dict[str, Callable[[Lowering, Op], None]] = {
    "tt.load": access.load, "tt.store": access.store, "tt.atomic_rmw": access.atomic_rmw,
    "tt.atomic_cas": access.atomic_cas, "tt.assert": access.device_assert, "tt.print": access.device_print,
    "tt.scan": collective.scan, "tt.dot": collective.dot, "tt.dot_scaled": scaled.dot_scaled,
    "tt.gather": collective.gather,
    "tt.histogram": collective.histogram, "tt.cat": collective.cat, "tt.reduce": collective.reduce,
    "scf.for": control.scf_for, "scf.while": control.scf_while, "scf.if": control.scf_if, "tt.call": control.call,
}  # fmt: skip
_IGNORED = {"llvm.intr.assume", "gpu.barrier", "ttg.barrier", "ttg.local_barrier"}

KNOWN = {*_VISIT, *_IGNORED, *ELEMENTWISE, *LAYOUT, "tt.get_program_id", "tt.get_num_programs", "tt.unsplat",
    "tt.return",
         "tt.map_elementwise", "tt.map_elementwise.return", "tt.reduce.return", "tt.scan.return", "scf.yield",
         "scf.condition", "cf.br", "cf.cond_br"}  # fmt: skip
"""Every operation that can be lowered."""


@dataclass
class Lowered:
    """The result: LLVM IR and what the launcher must know."""

    text: str
    arena_bytes: int
    prints: dict[int, Op]
    dumps: list[tuple[Value, int]]
    dump_bytes: int
    follows: bool
    """Whether pointers come out of memory, or out of integers."""


def _visit(low: Lowering, op: Op) -> None:
    if op.id == low.shared.dump_site and low.func.public:
        low.dump()
    name = op.name
    handler = _VISIT.get(name)
    if handler is not None:
        handler(low, op)
    elif name in _IGNORED:
        return
    elif name == "ub.poison" and not op.result.type.is_tensor:
        low.scalars[op.result] = low.one.constant(op.result.type.elem, zero_text(op.result.type))
    elif name in ("tt.get_program_id", "tt.get_num_programs"):
        base = L.PID if name == "tt.get_program_id" else L.GRID
        axis = "xyz".index(op.attrs["bare"].strip())
        wide = low.f.load64("%ctx", base + axis)
        low.scalars[op.result] = V(low.f.emit(f"trunc i64 {wide} to i32"), "i32")
    elif name == "tt.unsplat":
        source = op.operands[0]
        low.scalars[op.result] = Eval(low, 1).value(source, tuple(Idx(0) for _ in source.type.dims))
    elif name == "arith.constant" and not op.result.type.is_tensor:
        low.scalar(op.result)
    elif not any(value.type.is_tensor for value in op.results):
        if name not in ELEMENTWISE:
            raise Unsupported(op, "no lowering for this operation")
        low.scalars[op.result] = apply(low.one, op, [low.scalar(x) for x in op.operands], low.shared.call)
    elif name in ELEMENTWISE or name in LAYOUT or name == "tt.map_elementwise":
        for value in op.results:
            if value in low.plan.materialised and value not in low.plan.affine.carried:
                if name == "tt.reshape":  # of a walk that a loop carries: the same elements in the same order
                    low.fill(op.operands[0], low.buffer(value))
                else:
                    low.materialise(value)
    else:
        raise Unsupported(op, "no lowering for this operation")


MOST_DUMP_LINES = 200_000


def _function(shared: Shared, func: Func, name: str) -> None:
    args = [("ptr", "ctx")]
    if not func.public:
        args += [(REGISTER[value.type.elem], f"p{i}") for i, value in enumerate(func.args)]
        args += [("ptr", f"r{i}") for i in range(len(func.result_types))]
    f = Function(shared.unit, name, "i32", args, internal=not func.public)
    if shared.dump_site is not None:  # what nobody needed before may be as large as it likes
        f.most = MOST_DUMP_LINES
    low = Lowering(shared, func, f, _visit)
    low.arena_pointer = f.pointer(f.load64("%ctx", L.ARENA))
    if func.public:
        packed = f.pointer(f.load64("%ctx", L.ARGS))
        for position, value in enumerate(func.args):
            low.scalars[value] = _argument(f, packed, position, value.type)
    else:
        for position, value in enumerate(func.args):
            low.scalars[value] = V(f"%p{position}", value.type.elem)
    if len(func.blocks) == 1:
        low.block(func.blocks[0])
        _return(low, func.blocks[0].ops[-1])
    else:
        branches.graph(low, func, _return)
    f.label("fault")
    f.ret("i32 1")
    f.finish()
    shared.arena = max(shared.arena, low.arena.peak)


def _argument(f: Function, packed: str, position: int, type_: Type) -> V:
    register = REGISTER[type_.elem]
    place = f.gep8(packed, position * 8)
    value = f.emit(f"load {STORED[type_.elem]}, ptr {place}, align 8")
    if register == "i1":
        value = f.emit(f"icmp ne i8 {value}, 0")
    return V(value, type_.elem)


def _return(low: Lowering, op: Op) -> None:
    for position, value in enumerate(op.operands):
        found = low.scalar(value)
        low.f.do(f"store {REGISTER[found.elem]} {found.name}, ptr %r{position}")
    low.f.ret("i32 0")


def lower(
    module: Module, call: Callable[[Lanes, str, list[V], str], V], dump_site: int | None = None,
    rows: dict[Op, int] | None = None,
) -> Lowered:  # fmt: skip
    """Lower a kernel with the functions that it calls.

    Args:
        module: parsed TTIR.
        call: emits a call of the special-function library.
        dump_site: number of an operation before which all variables are written out (for core dumps).
        rows: row of counters by operation, for a copy that counts by line; all others count in row 0. Such a copy
            keeps no limit of cycles, which looks at one row alone.

    Raises:
        Unsupported: an operation that has no lowering.
    """
    settle(module)
    unit = Unit(module.kernel.name)
    shared = Shared(unit, module, call, Owners(module), dump_site=dump_site, rows=rows)
    unit.declare("llvm.memcpy.p0.p0.i64", "void", "ptr", "ptr", "i64", "i1")
    for func in module.funcs.values():
        if not func.public:
            _function(shared, func, control.function_name(func.name))
    _function(shared, module.kernel, KERNEL)
    follows = any(
        op.name == "tt.int_to_ptr" or (op.name == "tt.load" and op.result.type.elem == "ptr") for op in module.walk()
    )
    return Lowered(unit.text(), shared.arena + 256, shared.prints, shared.dumps, shared.dump_bytes, follows)
