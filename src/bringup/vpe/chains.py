"""What a kernel's functions put on the stack at once: calls that come back to themselves, and how long chains are."""

from __future__ import annotations

from typing import NamedTuple

from bringup.vpe.ir import Func, Module, Op

MOST_IN_CHAIN = 1 << 13
"""Registers' worths of the stack, 64 bytes each: any thread has twice as much. An operation holds one; a result of
a call a place of its own, and its address; what a reduction combines one a lane."""
_LANES = 16


class Chains(NamedTuple):
    """What was found, going from the kernel."""

    recursive: list[Op]
    """The calls by which a function comes back to itself; where there are any, the rest says nothing."""
    call: Op | None
    """The kernel's call that the longest chain begins with."""
    size: int
    """Registers' worths of the functions in the longest chain, the kernel's own among them."""


def chains(module: Module) -> Chains:
    """Follow all calls, each function once; without recursion of Python's, which ends before a text does."""
    walked = {name: Module({name: func}, {}, "").walk() for name, func in module.funcs.items()}
    calls = {name: _calls(ops, module.funcs) for name, ops in walked.items()}
    recursive: list[Op] = []
    sizes: dict[str, int] = {}
    deepest: Op | None = None
    path = {module.kernel.name: iter(calls[module.kernel.name])}  # from the kernel to where we are
    while path:
        name, rest = next(reversed(path.items()))
        op = next(rest, None)
        if op is None:
            deepest = max(calls[name], key=lambda call: sizes.get(call.attrs["callee"], 0), default=None)
            sizes[name] = sum(map(_held, walked[name])) + (
                0 if deepest is None else sizes.get(deepest.attrs["callee"], 0)
            )
            del path[name]
        elif (callee := op.attrs["callee"]) in path:
            recursive.append(op)
        elif callee not in sizes:
            path[callee] = iter(calls[callee])
    return Chains(recursive, deepest, sizes[module.kernel.name])


def _held(op: Op) -> int:
    """Registers' worths that an operation may hold: of lanes of eight bytes each takes two."""
    places = len(op.results) + len(op.operands)  # that loops and branches carry, and calls pass on
    wide = any(value.type.is_tensor and value.type.bytes == 8 for value in op.results)
    if op.name == "tt.call":
        return 1 + (len(op.results) + places) // 8
    if op.name in ("tt.reduce", "tt.scan"):
        return 1 + _LANES * len(op.operands)
    return 1 + wide + places // 8


def _calls(ops: list[Op], funcs: dict[str, Func]) -> list[Op]:
    return [op for op in ops if op.name == "tt.call" and op.attrs["callee"] in funcs]
