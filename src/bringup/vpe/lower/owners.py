"""Which argument of the kernel a pointer comes from, whatever way its program takes.

An access is checked against the memory of that argument alone: how far apart two arguments lie is chance, and another
process has them at another distance.
"""

from __future__ import annotations

from collections.abc import Collection

from bringup.vpe.ir import Func, Module, Op, Value

ACCESSES = ("tt.load", "tt.store", "tt.atomic_rmw", "tt.atomic_cas")
"""Operations that reach memory: the first operand is where."""
KEEPING = frozenset(
    {"tt.addptr", "tt.splat", "tt.broadcast", "tt.expand_dims", "tt.bitcast", "tt.reshape", "tt.trans", "tt.unsplat"}
)
"""Operations whose result is the first operand's pointer, but for what was added to it."""


class Owners:
    """Answers for all functions of one kernel."""

    def __init__(self, module: Module) -> None:
        self._known: dict[Value, int | None] = {}
        pointers = [value for value in module.kernel.args if value.type.elem == "ptr"]
        self._arguments: dict[Value, set[int | None]] = {value: {index} for index, value in enumerate(pointers)}
        self._funcs = module.funcs
        self._calls: dict[str, list[Op]] = {}
        for op in module.walk():
            if op.name == "tt.call":
                self._calls.setdefault(op.attrs["callee"], []).append(op)
        private = [func for func in module.funcs.values() if not func.public]
        self._arguments |= {value: set() for func in private for value in func.args if value.type.elem == "ptr"}
        while any(self._grown(func) for func in private):  # each knows more once those that call it do
            pass

    def of(self, pointer: Value) -> int | None:
        """The argument that a pointer (scalar or tensor) comes from, counted among the kernel's pointers from 0.

        None where it may come from several, or from elsewhere.
        """
        if pointer not in self._known:
            found = self._sources(pointer)
            self._known[pointer] = found.pop() if len(found) == 1 else None
        return self._known[pointer]

    def _grown(self, func: Func) -> bool:
        """Add what the calls of a function that is not inlined give it; whether that is news."""
        news = False
        for index, value in enumerate(func.args):
            if value.type.elem == "ptr":
                known = self._arguments[value]
                before = len(known)
                known.update(*(self._sources(call.operands[index]) for call in self._calls.get(func.name, [])))
                news |= len(known) > before
        return news

    def _sources(self, pointer: Value) -> set[int | None]:
        """Numbers of all arguments that it may come from; None among them for what is no argument."""
        seen, left, found = {pointer}, [pointer], set[int | None]()
        while left:
            one = left.pop()
            called = one.op is not None and one.op.name == "tt.call"
            before = self._returned(one) if called else sources(one, KEEPING)
            if not before:
                found |= self._arguments.get(one, {None})
            left += [other for other in before if other not in seen]
            seen.update(before)
        return found

    def _returned(self, value: Value) -> list[Value]:
        """What a function that is not inlined may return there."""
        assert value.op is not None
        callee = self._funcs.get(value.op.attrs["callee"])
        ends = [op for block in callee.blocks for op in block.ops if op.name == "tt.return"] if callee else []
        return [op.operands[value.index] for op in ends]


def sources(value: Value, keeping: Collection[str]) -> list[Value]:
    """The values of which one is what a value was, through choices, branches and loops; [] where it begins here.

    `keeping`: operations whose results are their first operand's, but for what was added.
    """
    op = value.op or value.arg_of
    if op is None or any(region.others for region in op.regions):
        return []
    if value.op is None:
        return _before_argument(op, value)
    if op.name in keeping:
        return op.operands[:1]
    if op.name == "arith.select":
        return op.operands[1:]
    if op.name == "scf.if":
        return [region.ops[-1].operands[value.index] for region in op.regions]
    if op.name == "scf.for":
        return [op.operands[3 + value.index], op.regions[0].ops[-1].operands[value.index]]
    if op.name == "scf.while":
        return [op.regions[0].ops[-1].operands[1 + value.index]]
    return []


def _before_argument(op: Op, value: Value) -> list[Value]:
    """The same for an argument of a loop's region."""
    regions = [region for region in op.regions if value in region.args]
    if not regions:
        return []
    index = regions[0].args.index(value)
    if op.name == "scf.for" and index > 0:  # the first is the counter
        return [op.operands[2 + index], op.regions[0].ops[-1].operands[index - 1]]
    if op.name == "scf.while" and regions[0] is op.regions[0]:
        return [op.operands[index], op.regions[1].ops[-1].operands[index]]
    if op.name == "scf.while":
        return [op.regions[0].ops[-1].operands[1 + index]]
    return []
