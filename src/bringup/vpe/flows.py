"""What a kernel writes, and what it writes hangs on: for each pointer argument, the memory of which others.

Said of the text, before it runs, and rather too much than too little: what is loaded through an argument goes wherever
the value goes, through operations, regions, calls, and memory that it was written to; what is under a condition hangs
on that. A kernel that stores nothing through an argument writes none of its memory, whatever it was given.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from bringup.vpe.ir import Block, Func, Module, Op, Value

Key = TypeVar("Key")
STORES = frozenset({"tt.store", "tt.atomic_rmw", "tt.atomic_cas"})
LOADS = frozenset({"tt.load", "tt.atomic_rmw", "tt.atomic_cas"})
_ENDS = frozenset({"scf.yield", "scf.condition", "tt.reduce.return", "tt.scan.return", "tt.map_elementwise.return"})


def flows(module: Module) -> dict[int, frozenset[int]]:
    """Of each argument through which a kernel may store: the arguments on whose memory that may hang, by position."""
    return _Flows(module).found()


class _Flows:
    """Sets of arguments as bits of integers; grows until nothing changes."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.kernel = module.kernel
        self.hangs: dict[Value, int] = {}  # on the memory of which arguments a value may hang
        self.leads: dict[Value, int] = {}  # through which arguments a pointer may lead
        self.written: dict[int, int] = {}  # by argument: on what its memory may hang, beside what it was
        self.stopped: dict[str, int] = {}  # by function: on what it may hang whether a block of it runs
        self.called: dict[str, int] = {}  # likewise, whether it is called
        self.changed = True

    def found(self) -> dict[int, frozenset[int]]:
        for place, arg in enumerate(self.kernel.args):
            if arg.type.elem == "ptr":
                self.leads[arg] = 1 << place
        while self.changed:
            self.changed = False
            for func in self.module.funcs.values():
                under = self.stopped.get(func.name, 0) | self.called.get(func.name, 0)
                for block in func.blocks:
                    self._block(func, block, under)
        places = range(len(self.kernel.args))
        return {
            one: frozenset(place for place in places if bits >> place & 1) for one, bits in sorted(self.written.items())
        }

    def _block(self, func: Func, block: Block, under: int) -> None:
        for op in block.everything:
            self._op(func, op, under)

    def _op(self, func: Func, op: Op, under: int) -> None:
        hangs, leads = self._of(op.operands)
        if op.successors:
            self._note(self.stopped, func.name, hangs)
            for label, values in op.successors:
                target = next((block for block in _blocks(func) if block.label == label), None)
                for arg, value in zip(target.args if target is not None else (), values, strict=False):
                    self._add(arg, *self._of([value]))
        if op.name in STORES:
            for place in self._places(self.leads.get(op.operands[0], 0)):
                self._note(self.written, place, hangs | under)
        if op.name in LOADS:
            through = self.leads.get(op.operands[0], 0)
            hangs |= through
            for place in self._places(through):
                hangs |= self.written.get(place, 0)
        if op.name == "tt.call":
            callee = self.module.funcs.get(op.attrs.get("callee", "").strip("@ "))
            for one in [callee] if callee is not None else self.module.funcs.values():
                self._note(self.called, one.name, under)
                for arg, value in zip(one.args, op.operands, strict=False):
                    self._add(arg, *self._of([value]))
                for end in (end for block in one.blocks for end in block.everything if end.name == "tt.return"):
                    ended = self._of(end.operands)
                    hangs, leads = hangs | ended[0], leads | ended[1]
        for region in op.regions:
            ends = [self._of(end.operands) for end in region.everything if end.name in _ENDS]
            for more, further in ends:
                hangs, leads = hangs | more, leads | further
        for region in op.regions:
            for arg in region.args:
                self._add(arg, hangs, leads)
            self._block(func, region, under | hangs)
        for result in op.results:
            self._add(result, hangs | under, leads)

    def _of(self, values: Iterable[Value]) -> tuple[int, int]:
        hangs = leads = 0
        for value in values:
            hangs, leads = hangs | self.hangs.get(value, 0), leads | self.leads.get(value, 0)
        return hangs, leads

    def _add(self, value: Value, hangs: int, leads: int) -> None:
        self._note(self.hangs, value, hangs)
        if value.type.elem == "ptr":
            self._note(self.leads, value, leads)

    def _note(self, known: dict[Key, int], key: Key, bits: int) -> None:
        if key not in known or known[key] | bits != known[key]:
            known[key] = known.get(key, 0) | bits
            self.changed = True

    @staticmethod
    def _places(bits: int) -> list[int]:
        return [place for place in range(bits.bit_length()) if bits >> place & 1]


def _blocks(func: Func) -> list[Block]:
    return [*func.blocks, *(block for first in func.blocks for block in first.others.values())]
