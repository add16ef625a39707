"""A fence around a kernel's arguments, for devices that check no addresses: a rewriting of its TTIR.

Each access is compared with the memory of the argument that its pointer comes from (`Owners`). What leaves it goes to a
scratch buffer instead, and leaves its number there. The kernel is the author's in all else, and slower: a pointer that
was chosen says nothing of its neighbours any more, so that accesses are single.

The fenced kernel takes after its own arguments, for each pointer among these, the address of the first byte that it may
reach and that of the first one behind (int64 each), and the buffer last: `BUFFER` bytes, of which the first four are
zero, or the number of an access, from 1 on, that left its argument.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from bringup.vpe.ir import Module, Op, Type
from bringup.vpe.lower.owners import ACCESSES, KEEPING, Owners
from bringup.vpe.parse import ParseError, parse
from bringup.vpe.verify import place

BUFFER = 128
_SPARE = 64  # where accesses go that leave their argument, in bytes; no element is wider than what is behind

_CARRYING = KEEPING | {
    "tt.call", "tt.return", "arith.select", "scf.if", "scf.for", "scf.while", "scf.yield", "scf.condition",
}  # fmt: skip
_ACCESS = re.compile(r"\s*(?:%[\w$.\-]+(?::\d+)? = )?(tt\.(?:load|store|atomic_rmw|atomic_cas)) ")
_OPERAND = re.compile(r"%[\w$.\-]+(?:#\d+)?")
_FUNCTION = re.compile(r'\s*tt\.func (?:public |private )?@(?:"[^"]*"|[\w.$\-]+)\(')
_CALL = re.compile(r'\s*(?:%[\w$.\-]+(?::\d+)? = )?tt\.call @(?:"[^"]*"|[\w.$\-]+)\(')
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_DESCRIPTORS = re.compile(r"!tt\.tensordesc<|!tt\.ptr<tensor<")
# An operand of PTX that is memory stands in brackets; AMD's instructions name what they reach.
_ASSEMBLY = re.compile(r'\btt\.elementwise_inline_asm "((?:[^"\\]|\\.)*)"')
_REACHING = re.compile(r"\[|\b(?:global|flat|buffer|scratch|ds|s_(?:buffer_)?(?:load|store|atomic))_\w+")


class Unfenced(RuntimeError):
    """A kernel that cannot be fenced: where its pointers come from is not in its text."""


@dataclass(frozen=True)
class Access:
    """One access of a fenced kernel."""

    argument: int
    """The kernel's pointer that it belongs to, counted among its pointers from 0."""
    what: str
    """`load`, `store`, `atomic_rmw`, `atomic_cas`."""
    line: int
    """Of the source; 0 where the text does not say."""


def fenced(module: Any) -> tuple[str, list[Access]]:
    """Return the text of the kernel with its fence, and its accesses in the order of their numbers.

    `module` is MLIR's, verified; block pointers and descriptors in it become pointers.
    Raises Unfenced.
    """
    text = str(module)
    if _DESCRIPTORS.search(text):
        text = _without_descriptors(module)
    try:
        read = parse(text)
    except ParseError as error:
        raise Unfenced(f"a kernel whose accesses cannot be followed: {error}") from None
    owners = Owners(read)
    _refuse_others(read)
    pointers = sum(value.type.elem == "ptr" for value in read.kernel.args)
    found = sorted((op for op in read.walk() if op.name in ACCESSES), key=lambda op: op.id)
    accesses: list[Access] = []
    lines: list[str] = []
    for line in text.splitlines():
        plain = _STRING.sub(lambda literal: '"' + "_" * len(literal[1]) + '"', line)
        if match := _FUNCTION.match(plain):
            lines.append(_with_more(line, plain, match.end(), [f"%{n}: {kind}" for n, kind in _names(pointers)]))
        elif match := _CALL.match(plain):
            lines.append(_called(line, plain, match.end(), pointers))
        elif _ACCESS.match(plain):
            if len(accesses) == len(found):
                raise Unfenced("a kernel whose accesses cannot be counted")
            op = found[len(accesses)]
            argument = owners.of(op.operands[0])
            if argument is None:
                raise Unfenced("a pointer that may come from two arguments: choose between values instead")
            accesses.append(Access(argument, op.name.removeprefix("tt."), place(read, op)[1]))
            lines += _guarded(line, plain, op, argument, len(accesses))
        else:
            lines.append(line)
    if len(accesses) != len(found):
        raise Unfenced("a kernel whose accesses cannot be counted")
    return "\n".join(lines) + "\n", accesses


def _without_descriptors(module: Any) -> str:
    from triton._C.libtriton import ir, passes

    manager = ir.pass_manager(module.context)
    passes.ttir.add_rewrite_tensor_pointer(manager)
    passes.ttir.add_rewrite_tensor_descriptor_to_pointer(manager)
    passes.common.add_canonicalizer(manager)
    manager.run(module, "fence")
    return str(module)


def _refuse_others(module: Module) -> None:
    """Raise Unfenced for what reaches memory, or takes an address, in another way than by an access."""
    for match in _ASSEMBLY.finditer(module.text):
        if _REACHING.search(match[1]):
            raise Unfenced("inline assembly that reaches memory: where it goes cannot be followed")
    for op in module.walk():
        if op.name not in _CARRYING and any(
            value.type.elem == "ptr" for value in (op.operands[1:] if op.name in ACCESSES else op.operands)
        ):
            raise Unfenced(f"{op.name} takes an address: what it does with it cannot be followed")


def _names(pointers: int) -> list[tuple[str, str]]:
    """What every function takes in addition, with its type."""
    ends = [(f"fence_{end}{n}", "i64") for n in range(pointers) for end in ("low", "high")]
    return [*ends, ("fence_seen", "!tt.ptr<i32>")]


def _with_more(line: str, plain: str, start: int, more: list[str]) -> str:
    """Append to a list in brackets that has begun before `start`."""
    end = _closing(plain, start)
    comma = ", " if plain[start:end].strip() else ""
    return line[:end] + comma + ", ".join(more) + line[end:]


def _closing(plain: str, start: int) -> int:
    depth = 1
    for position in range(start, len(plain)):
        depth += {"(": 1, ")": -1}.get(plain[position], 0)
        if not depth:
            return position
    raise Unfenced(f"a line that does not end: {plain}")


def _called(line: str, plain: str, start: int, pointers: int) -> str:
    names = _names(pointers)
    types = plain.index("(", _closing(plain, start) + 1)  # the operands' types; those are behind, so they go first
    line = _with_more(line, plain, types + 1, [kind for _, kind in names])
    return _with_more(line, plain, start, [f"%{name}" for name, _ in names])


def _guarded(line: str, plain: str, op: Op, argument: int, number: int) -> list[str]:
    """The lines that check the access, and the access itself."""
    head = plain.index(op.name) + len(op.name)
    pointer = _OPERAND.search(plain, head)
    kind = op.operands[0].type
    if pointer is None or pointer[0].lstrip("%") != op.operands[0].name:
        raise Unfenced("a kernel whose accesses cannot be told apart")
    at = {"tt.load": 1, "tt.store": 2, "tt.atomic_rmw": 2}.get(op.name)
    mask = None if at is None or len(op.operands) <= at else f"%{op.operands[at].name}"

    def of(name: str) -> str:
        return f"%fence{number}_{name}"

    def typed(element: str) -> str:
        return f"tensor<{'x'.join(map(str, kind.dims))}x{element}>" if kind.is_tensor else element

    def spread(name: str, value: str, element: str) -> tuple[str, list[str]]:
        if not kind.is_tensor:
            return value, []
        return of(name), [f"{of(name)} = tt.splat {value} : {element} -> {typed(element)}"]

    element = _pointer_text(kind)
    numbers, flags = typed("i64"), typed("i1")
    low, low_lines = spread("low", f"%fence_low{argument}", "i64")
    last, last_lines = spread("last", of("end"), "i64")
    spare, spare_lines = spread("spare", of("spare0"), element)
    seen, seen_lines = spread("seen", "%fence_seen", "!tt.ptr<i32>")
    dense = (lambda value: f"dense<{value}>") if kind.is_tensor else str
    bad = [f"{of('bad')} = arith.xori {of('in')}, {of('true')} : {flags}"]
    if mask is not None:
        bad = [
            f"{of('out')} = arith.xori {of('in')}, {of('true')} : {flags}",
            f"{of('bad')} = arith.andi {of('out')}, {mask} : {flags}",
        ]
    text = [
        f"{of('width')} = arith.constant {kind.target.bytes} : i64",
        f"{of('end')} = arith.subi %fence_high{argument}, {of('width')} : i64",
        f"{of('at')} = tt.ptr_to_int {pointer[0]} : {typed(element)} -> {numbers}",
        *low_lines,
        *last_lines,
        f"{of('above')} = arith.cmpi sge, {of('at')}, {low} : {numbers}",
        f"{of('below')} = arith.cmpi sle, {of('at')}, {last} : {numbers}",
        f"{of('in')} = arith.andi {of('above')}, {of('below')} : {flags}",
        f"{of('step')} = arith.constant {_SPARE // 4} : i32",
        f"{of('free')} = tt.addptr %fence_seen, {of('step')} : !tt.ptr<i32>, i32",
        f"{of('spare0')} = tt.bitcast {of('free')} : !tt.ptr<i32> -> {element}",
        *spare_lines,
        f"{of('true')} = arith.constant {dense('true')} : {flags}"
        if kind.is_tensor
        else f"{of('true')} = arith.constant true",
        *bad,
        *seen_lines,
        f"{of('number')} = arith.constant {dense(number)} : {typed('i32')}",
        f"tt.store {seen}, {of('number')}, {of('bad')} : {typed('!tt.ptr<i32>')}",
        f"{of('to')} = arith.select {of('in')}, {pointer[0]}, {spare} : "
        + (f"{flags}, {typed(element)}" if kind.is_tensor else element),
    ]
    return [*text, line[: pointer.start()] + of("to") + line[pointer.end() :]]


def _pointer_text(kind: Type) -> str:
    """The type of one pointer, as the text has it."""
    return f"!tt.ptr<{kind.pointee}>"
