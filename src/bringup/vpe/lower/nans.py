"""Which NaN: every one that arithmetic makes is one pattern, before anything can see its bits.

LLVM leaves open which NaN an operation gives, and two code generators, or two processors, give two. A kernel that looks
at the bits would go by which of them made its code. So what arithmetic gives passes `CANONICAL` before it is stored,
read as an integer, rounded to a shorter format or given to a function. What was loaded and only moved keeps its bits.
"""

from __future__ import annotations

from collections.abc import Sequence

from bringup.vpe.ir import Block, Module, Op, Value
from bringup.vpe.lower.elementwise import CANONICAL, FUNCTIONS
from bringup.vpe.lower.owners import sources

_MOVES = frozenset(
    {"tt.splat", "tt.broadcast", "tt.expand_dims", "tt.reshape", "tt.trans", "tt.unsplat", "tt.split", "tt.gather"}
)
_JOINING = frozenset({"tt.join", "tt.cat"})
# What these give has bits that are known: memory's, the text's, an integer's.
_KNOWN = frozenset(
    {"tt.load", "tt.atomic_rmw", "tt.atomic_cas", "arith.constant", "arith.sitofp", "arith.uitofp", "arith.bitcast",
     "tt.bitcast", "ub.poison", CANONICAL}
)  # fmt: skip
_SEEING = frozenset(
    {"tt.load", "tt.store", "tt.atomic_rmw", "tt.atomic_cas", "arith.bitcast", "tt.bitcast", "arith.truncf",
     "tt.fp_to_fp", "tt.extern_elementwise", "tt.dot", "tt.dot_scaled", "tt.print", *FUNCTIONS}
)  # fmt: skip


def settle(module: Module) -> None:
    """Put `CANONICAL` between arithmetic and every operation that sees bits; once is as good as twice."""
    number = max((op.id for op in module.walk()), default=0)
    arguments = frozenset(module.kernel.args)
    known: dict[Value, bool] = {}

    def settled(value: Value) -> bool:
        if value not in known:
            known[value] = _has_known_bits(value, arguments)
        return known[value]

    def visit(block: Block) -> None:
        nonlocal number
        for part in (block, *block.others.values()):
            ops: list[Op] = []
            for op in part.ops:
                for region in op.regions:
                    visit(region)
                if op.name in _SEEING:
                    for place, value in enumerate(op.operands):
                        if value.type.is_float and not settled(value):
                            number += 1
                            ops.append(_between(op, place, number))
                ops.append(op)
            part.ops[:] = ops

    for func in module.funcs.values():
        for block in func.blocks:
            visit(block)


def _has_known_bits(value: Value, arguments: frozenset[Value]) -> bool:
    """Whether a value was loaded, written in the text or given, and moved since then, whatever way was taken."""
    seen, left = {value}, [value]
    while left:
        one = left.pop()
        before: Sequence[Value] = one.op.operands if one.op and one.op.name in _JOINING else sources(one, _MOVES)
        if not before and one not in arguments and (one.op is None or one.op.name not in _KNOWN):
            return False
        left += [other for other in before if other not in seen]
        seen.update(before)
    return True


def _between(op: Op, place: int, number: int) -> Op:
    """An operation before `op` that settles one of its operands."""
    value = op.operands[place]
    made = Op(CANONICAL, operands=[value], loc=op.loc, id=number, parent=op.parent)
    made.results = [Value(f"settled{number}", value.type, made)]
    if op in value.uses:
        value.uses[value.uses.index(op)] = made
    made.result.uses.append(op)
    op.operands[place] = made.result
    return made
