"""What one operation counts as: for the modelled time, and for the limit that ends a kernel which computes nothing."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator, Mapping

from bringup.vpe.ir import Op
from bringup.vpe.layout import Counter
from bringup.vpe.libdevice import UnknownMathFunction, lookup, steps_of
from bringup.vpe.lower.elementwise import CANONICAL, ELEMENTWISE, SPECIAL
from bringup.vpe.lower.plan import Plan

_COMBINE = {"tt.reduce", "tt.scan", "tt.map_elementwise"}
"""Operations that do those of their region for each element."""
_BY_OPERAND = {"tt.reduce", "tt.scan", "arith.cmpf", "arith.cmpi"}
"""Operations whose operand says how wide the elements are that are worked on."""
_VECTOR = {1: Counter.VECTOR_8, 2: Counter.VECTOR_16, 4: Counter.VECTOR_32, 8: Counter.VECTOR_64}
_REGISTER = {"f16": "f32", "bf16": "f32"}
"""What elements are computed in that have no functions of their own."""
SCALAR_SPECIAL = 32
"""Steps of the scalar unit that a function or a division takes; chosen: what the simulator's libm takes."""


def counted(op: Op, plan: Plan) -> Mapping[Counter, int]:
    """Say what is to be added to which counters each time that an operation is done."""
    values = [*op.results, *op.operands]
    if op.name == CANONICAL or not values:
        return {}
    if not any(value.type.is_tensor for value in values):
        return {Counter.SCALAR: SCALAR_SPECIAL * _steps(op) if op.name in SPECIAL else 1}
    found: Tally[Counter] = Tally()
    if op.name not in ELEMENTWISE:  # whatever it is for, it may go through whole blocks in local memory
        found[Counter.LOCAL_BYTES] += sum(value.type.nbytes for value in values if value.type.is_tensor)
    if not op.results:
        return found
    type_ = (op.operands[0] if op.name in _BY_OPERAND else op.results[0]).type
    if op.name in _COMBINE:
        done = list(_within(op))
        special = sum(_steps(one) for one in done if one.name in SPECIAL)
        plain = sum(one.name not in SPECIAL for one in done)
        if special:
            found[Counter.SPECIAL] += type_.numel * special
            found[Counter.SCALAR] += type_.numel * sum(map(_one_by_one, done))
        if plain or not special:
            found[_VECTOR[type_.bytes]] += type_.numel * max(plain, 1)
    elif op.name in SPECIAL:
        if plan.affine.of(op.result) is None:
            found[Counter.SPECIAL] += type_.numel * _steps(op)
            found[Counter.SCALAR] += type_.numel * _one_by_one(op)
    elif op.name in ELEMENTWISE and plan.affine.of(op.result) is None and not _box(op, plan):
        found[_VECTOR[type_.bytes]] += type_.numel
    return found


def _within(op: Op) -> Iterator[Op]:
    """The operations of an operation's regions, at any depth, without the terminators."""
    for region in op.regions:
        for block in (region, *region.others.values()):
            for one in block.ops[:-1]:
                yield one
                yield from _within(one)


def _box(op: Op, plan: Plan) -> bool:
    """Whether the DMA engine takes a mask as a box."""
    return (
        op.result.type.elem == "i1"
        and not plan.is_buffer(op.result)
        and all(sink.name in ("tt.load", "tt.store") for sink in plan.sinks(op.result))
    )


def _steps(op: Op) -> int:
    return steps_of(op.attrs["symbol"].strip('"') if op.name == "tt.extern_elementwise" else op.name)


def _one_by_one(op: Op) -> bool:
    """Whether the simulator calls a function of C for each element, which takes it as long as some twenty lanes."""
    if op.name not in SPECIAL:
        return False
    symbol = op.attrs["symbol"].strip('"') if op.name == "tt.extern_elementwise" else op.name
    try:
        return not lookup(symbol, tuple(_REGISTER.get(x.type.elem, x.type.elem) for x in op.operands)).vectorises
    except UnknownMathFunction:  # an operation of the language: `arith.divf`
        return False
