"""Functions of several blocks: branches between them, and what is handed over."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from bringup.vpe.ir import Func, Op, Value
from bringup.vpe.lower.core import Lowering
from bringup.vpe.lower.evaluate import Unsupported
from bringup.vpe.lower.lanes import REGISTER, V

MOST_BLOCKS = 256
"""Of a function whose variables a core dump names: what dominates what takes the square of it to find."""


def graph(low: Lowering, func: Func, end_here: Callable[[Lowering, Op], None]) -> None:
    """Blocks with branches, as an early `return` in a kernel makes them; block arguments go through slots.

    Triton's front end makes no loops of these; a text may. A branch back is a turn of one. `end_here` returns.
    """
    f = low.f
    labels = {block.label: f.new_label("bb") for block in func.blocks if block.label}
    slots: dict[Value, str] = {}
    for block in func.blocks:
        for value in block.args:
            if value.type.is_tensor:
                low.buffers[value] = low.arena.take(value.type.nbytes)
            else:
                slots[value] = f.alloca(REGISTER[value.type.elem])
    targets = {block.label: block for block in func.blocks}
    places = {block.label: place for place, block in enumerate(func.blocks)}

    def hand_over(end: Op, label: str, values: list[Value]) -> None:
        if places[label] <= places[block.label]:
            low.turn(end, 0)
        blocks: list[tuple[Value, Value]] = []
        for arg, value in zip(targets[label].args, values, strict=True):
            if arg in slots:
                found = low.scalar(value)
                f.do(f"store {REGISTER[found.elem]} {found.name}, ptr {slots[arg]}")
            else:
                blocks.append((arg, value))
        with contextlib.ExitStack() as stack:  # all at once: a block that branches to itself may exchange them
            room = [stack.enter_context(low.scratch(arg.type.nbytes)) for arg, _ in blocks]
            for (_, value), pointer in zip(blocks, room, strict=True):
                low.put(value, pointer)
            for (arg, _), pointer in zip(blocks, room, strict=True):
                target = low.address(low.buffers[arg])
                f.do(
                    f"call void @llvm.memcpy.p0.p0.i64(ptr align 64 {target}, ptr align 64 {pointer}, i64 "
                    f"{arg.type.nbytes}, i1 false)"
                )

    above = {} if low.shared.dump_site is None else _dominators(func)  # whose values are in scope
    known: dict[str, list[Value]] = {}
    for block in func.blocks:
        low.scope = [value for label in above.get(block.label, ()) if label in known for value in known[label]]
        before = len(low.scope)
        if block.label:
            f.label(labels[block.label])
        for value in block.args:
            if value in slots:
                low.scalars[value] = V(f.emit(f"load {REGISTER[value.type.elem]}, ptr {slots[value]}"), value.type.elem)
        low.scope.extend(block.args)
        low.block(block)
        known[block.label] = low.scope[before:]
        end = block.ops[-1]
        if end.name == "tt.return":
            end_here(low, end)
        elif end.name == "cf.br":
            hand_over(end, *end.successors[0])
            f.br(labels[end.successors[0][0]])
        elif end.name == "cf.cond_br":
            sides = [f.new_label("side") for _ in end.successors]
            f.cond(low.scalar(end.operands[0]).name, *sides)
            for side, (label, values) in zip(sides, end.successors, strict=True):
                f.label(side)
                hand_over(end, label, values)
                f.br(labels[label])
        else:
            raise Unsupported(end, "no lowering for this terminator")


def _dominators(func: Func) -> dict[str, list[str]]:
    """The blocks that each one can only be reached through, by label, in the order of the text."""
    labels = [block.label for block in func.blocks]
    if len(labels) > MOST_BLOCKS:
        return {}
    before: dict[str, set[str]] = {label: set() for label in labels}
    for block in func.blocks:
        for label, _ in block.ops[-1].successors:
            before[label].add(block.label)
    found = {label: set(labels) for label in labels}
    found[labels[0]] = {labels[0]}
    changed = True
    while changed:
        changed = False
        for label in labels[1:]:
            through = set.intersection(*(found[one] for one in before[label])) if before[label] else set[str]()
            changed |= found[label] != through | {label}
            found[label] = through | {label}
    return {label: [one for one in labels if one in found[label] and one != label] for label in labels}
