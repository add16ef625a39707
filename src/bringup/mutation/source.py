"""A candidate's module as text and syntax tree together: where each node stands, and edits that keep the rest as is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from bringup.candidate import parse_source
from bringup.linter import dotted

Place = Literal["kernel", "wrapper", "checks"]
N = TypeVar("N", bound=ast.AST)

# In host code a power of two from here on, or one less than a large one, is a tile or a limit of the chip.
TILE = 16
LIMIT = 1023
TRAP = "EOFError"  # what a trap in host code raises: no operator of PyTorch's does, so it never counts as a refusal
# Expressions that bind tighter than any operator: they can be moved without parentheses.
_MANY_PROGRAMS = 1 << 11  # of a thousand elements each: more than the largest case of a gate or audit has
_ATOMS = (ast.Name, ast.Call, ast.Attribute, ast.Subscript, ast.List, ast.Dict, ast.Set, ast.ListComp)
_SYMBOLS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.MatMult: "@",
    ast.And: "and", ast.Or: "or", ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">",
    ast.GtE: ">=", ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip


def symbol(operator: ast.AST) -> str:
    """Return how an operator of the syntax tree is written."""
    return _SYMBOLS[type(operator)]


@dataclass(frozen=True)
class Span:
    """A range of bytes of the module's UTF-8 text."""

    start: int
    end: int


@dataclass(frozen=True)
class Edit:
    """Replace the bytes of a span by `text`."""

    span: Span
    text: str


@dataclass(frozen=True)
class Change:
    """One small change of a module: where it is (for its line), what it edits, and in words."""

    node: ast.AST
    edits: tuple[Edit, ...]
    note: str
    runs: ast.stmt | None = None  # the statement that the change is about, when it is not the one around `node`


class SourceModule:
    """A parsed module. Raises ValueError for text that is not Python."""

    def __init__(self, text: str) -> None:
        tree = parse_source(text)
        if not isinstance(tree, ast.Module):
            raise ValueError(tree.explanation)
        self.text = text
        self.tree = tree
        self._data = text.encode("utf-8")
        self._starts = [0]
        for line in self._data.split(b"\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)
        self.functions = {f.name: f for f in tree.body if isinstance(f, ast.FunctionDef)}
        self.kernels = {name for name, f in self.functions.items() if _is_jit(f)}
        self._parents: dict[ast.AST, ast.AST] = {}
        self._nodes: list[ast.AST] = []
        self._places: dict[ast.AST, tuple[str, Place]] = {}
        for statement in tree.body:
            name = statement.name if isinstance(statement, ast.FunctionDef) else ""
            self._index(statement, name, "kernel" if name in self.kernels else "wrapper")

    def _index(self, node: ast.AST, function: str, place: Place) -> None:
        # PyTorch's own parser refuses other types before it calls a kernel.
        if (place == "checks" or isinstance(node, ast.If)) and asks_types(node):
            self._places[node] = (function, place)
            return
        self._nodes.append(node)
        if isinstance(node, ast.If) and place == "wrapper" and _only_raises(node.body) and not node.orelse:
            place = "checks"
        self._places[node] = (function, place)
        for name, value in ast.iter_fields(node):
            # Types, decorators and the text of errors are no part of what an operator computes.
            if name in {"annotation", "returns", "decorator_list", "type_comment"}:
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    self._parents[child] = node
                    if isinstance(child, ast.Raise | ast.JoinedStr):
                        self._places[child] = (function, place)
                    else:
                        self._index(child, function, place)

    def nodes(self, kind: type[N], place: Place | None = None) -> Iterator[N]:
        """Yield the nodes of one type in source order; `place` limits them to kernels, wrapper code or its checks."""
        for node in self._nodes:
            if isinstance(node, kind) and (place is None or self._places[node][1] == place):
                yield node

    def parent(self, node: ast.AST) -> ast.AST | None:
        """Return the node that holds `node`."""
        return self._parents.get(node)

    def function(self, node: ast.AST) -> str:
        """Return the name of the top-level function around `node`; empty at module level."""
        return self._places[node][0]

    def place(self, node: ast.AST) -> Place:
        """Return whether `node` is in a kernel, in host code, or in a check that only raises."""
        return self._places[node][1]

    def tuned(self, node: ast.AST | None) -> bool:
        """Whether `node` is part of choosing a tile or a number of programs, on the host: `min(n, 1024)`.

        Another choice is refused, or changes speed alone.
        """
        while node is not None and self._places[node][1] != "kernel":
            if isinstance(node, ast.Call) and called(node) in {"min", "max"} and _holds_tile(node):
                return True
            if isinstance(node, ast.IfExp) and (_holds_tile(node.body) or _holds_tile(node.orelse)):
                return True
            node = self._parents.get(node)
        return False

    def repeated(self, node: ast.Constant) -> bool:
        """Whether `node` is the 1 of a launch `kernel[(1,)](...)` of which a second program only repeats the first.

        So it is where the kernel asks for no program's number, adds up nothing in memory and reads nothing that it
        has written.
        """
        grid = self._parents.get(node)
        launch = self._parents.get(grid) if isinstance(grid, ast.Tuple) and len(grid.elts) == 1 else None
        if node.value != 1 or not isinstance(launch, ast.Subscript) or not isinstance(launch.value, ast.Name):
            return False
        if launch.value.id not in self.kernels:
            return False
        calls = [n for n in ast.walk(self.functions[launch.value.id]) if isinstance(n, ast.Call)]
        if any(called(call) == "tl.program_id" or called(call).startswith("tl.atomic") for call in calls):
            return False
        if any(called(call) in self.functions for call in calls):
            return False  # a helper may do any of it
        names = [_names_in(call, kind) for kind in ("tl.load", "tl.store") for call in calls]
        loaded = set().union(*names[: len(calls)])
        stored = set().union(*names[len(calls) :])
        return not loaded & stored

    def share(self, node: ast.AST) -> bool:
        """Whether `node` names the share of a program where the grid is limited: `steps = triton.cdiv(blocks, 4096)`.

        It is 1 up to millions of elements.
        """
        return isinstance(node, ast.Name) and any(
            isinstance(found.value, ast.Call)
            and called(found.value) in {"triton.cdiv", "tl.cdiv"}
            and isinstance(limit := found.value.args[-1], ast.Constant)
            and isinstance(limit.value, int)
            and limit.value >= _MANY_PROGRAMS
            and self.function(found) == self.function(node)
            and any(isinstance(target, ast.Name) and target.id == node.id for target in found.targets)
            for found in self.nodes(ast.Assign)
        )

    # Positions -------------------------------------------------------------------------------------------------

    def span(self, node: ast.AST) -> Span:
        """Return the bytes of a node, without parentheses around it."""
        assert isinstance(node, ast.expr | ast.stmt | ast.keyword | ast.arg)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self._starts[node.lineno - 1] + node.col_offset
        return Span(start, self._starts[node.end_lineno - 1] + node.end_col_offset)

    def code(self, part: ast.AST | Span) -> str:
        """Return the text of a node or span."""
        span = part if isinstance(part, Span) else self.span(part)
        return self._data[span.start : span.end].decode("utf-8")

    def line(self, position: int) -> int:
        """Return the line (from 1) of a byte position."""
        return self._data.count(b"\n", 0, position) + 1

    def operands(self, parent: ast.expr, children: Sequence[ast.expr], signs: Sequence[str]) -> Operands:
        """Split an infix expression into its operands, parentheses included, and its operators."""
        whole = self.span(parent)
        starts, ends, operators = [whole.start], [], []
        for left, right, sign in zip(children, children[1:], signs, strict=False):
            begin, stop = self.span(left).end, self.span(right).start
            found = _find_sign(self._data[begin:stop].decode("utf-8"), sign)
            offset = begin + found[0]
            operators.append(Span(offset, begin + found[1]))
            ends.append(self._trim(offset, -1))
            starts.append(self._trim(begin + found[1], 1))
        ends.append(whole.end)
        return Operands(tuple(Span(a, b) for a, b in zip(starts, ends, strict=True)), tuple(operators))

    def _trim(self, position: int, step: int) -> int:
        blank = b" \t\n\\"
        while step < 0 and self._data[position - 1] in blank:
            position -= 1
        while step > 0 and self._data[position] in blank:
            position += 1
        return position

    def binary(self, node: ast.BinOp) -> Operands:
        """Return the operands and the operator of `a + b`."""
        return self.operands(node, (node.left, node.right), (symbol(node.op),))

    def comparison(self, node: ast.Compare) -> Operands:
        """Return the operands and the operators of `a < b < c`."""
        return self.operands(node, (node.left, *node.comparators), [symbol(op) for op in node.ops])

    def boolean(self, node: ast.BoolOp) -> Operands:
        """Return the operands and the operators of `a and b and c`."""
        return self.operands(node, node.values, [symbol(node.op)] * (len(node.values) - 1))

    def atom(self, node: ast.expr, span: Span | None = None) -> str:
        """Return the text of an operand, in parentheses unless it has some or needs none."""
        own = self.span(node)
        if span is not None and span != own:
            return self.code(span)
        number = isinstance(node, ast.Constant) and not isinstance(node.value, str)
        return self.code(own) if isinstance(node, _ATOMS) or number else f"({self.code(own)})"

    def keyword_span(self, call: ast.Call, keyword: ast.keyword) -> Span:
        """Return the bytes of a keyword argument with the comma and the blanks in front of it."""
        span = self.span(keyword)
        before = self._data[self.span(call.func).end : span.start]
        match = re.search(rb"(?:,\s*|\(\s*)$", before)
        cut = len(match.group()) if match and match.group().startswith(b",") else 0
        return Span(span.start - cut, span.end)

    def apply(self, edits: Sequence[Edit]) -> str:
        """Return the module's text with the edits made; they must not overlap."""
        data = self._data
        for edit in sorted(edits, key=lambda e: e.span.start, reverse=True):
            data = data[: edit.span.start] + edit.text.encode("utf-8") + data[edit.span.end :]
        return data.decode("utf-8")

    # Traps -----------------------------------------------------------------------------------------------------

    def trap(self, change: Change) -> Edit | None:
        """Return the edit that makes the module fail where the change is: before its statement.

        In a kernel it fails as soon as the statement is compiled, elsewhere when it is about to be run, with an error
        that refuses no call: not where a refusal is asked for either. None where
        no statement can be put, at the arguments of a function or in front of an `elif`.
        """
        statement: ast.AST | None = change.runs or change.node
        while statement is not None and not isinstance(statement, ast.stmt):
            if isinstance(statement, ast.arguments):
                return None
            statement = self.parent(statement)
        if statement is None or isinstance(statement, ast.FunctionDef):
            return None
        start = self.span(statement).start
        line = self._starts[statement.lineno - 1]
        text = 'tl.static_assert(False, "reached")' if self.place(statement) == "kernel" else f'raise {TRAP}("reached")'
        if not isinstance(statement, ast.If | ast.For | ast.While):
            return Edit(Span(start, start), f"{text}; ")
        indent = self.code(Span(line, start))
        if indent.strip() or self._data.startswith(b"elif", start):
            return None
        return Edit(Span(start, start), f"{text}\n{indent}")

    # Changes ---------------------------------------------------------------------------------------------------

    def replace(self, node: ast.AST, text: str, note: str = "") -> Change:
        """Return the change that writes `text` for `node`."""
        old = " ".join(self.code(node).split())
        return Change(node, (Edit(self.span(node), text),), note or f"{_short(old)} becomes {_short(text)}")

    def swap(self, where: ast.AST, one: ast.AST, other: ast.AST, note: str) -> Iterator[Change]:
        """Yield the change that exchanges the text of two nodes, unless they are the same."""
        if not same(one, other):
            yield Change(where, (Edit(self.span(one), self.code(other)), Edit(self.span(other), self.code(one))), note)


@dataclass(frozen=True)
class Operands:
    """The parts of an infix expression, in order."""

    operands: tuple[Span, ...]
    operators: tuple[Span, ...]


def same(one: ast.AST, other: ast.AST) -> bool:
    """Whether two nodes are written alike, parentheses and blanks aside."""
    return ast.dump(one) == ast.dump(other)


def is_tile(value: object) -> bool:
    """Whether a constant of host code is a tile size or a limit of the chip."""
    if isinstance(value, bool) or not isinstance(value, int):
        return False
    return (value >= TILE and value & (value - 1) == 0) or (value >= LIMIT and value & (value + 1) == 0)


def _holds_tile(node: ast.AST) -> bool:
    return any(isinstance(n, ast.Constant) and is_tile(n.value) for n in ast.walk(node))


def _names_in(call: ast.Call, kind: str) -> set[str]:
    """Return the names that begin addresses (`name + ...`) of a call of `kind`; none of other calls."""
    if called(call) != kind or not call.args:
        return set()
    return {n.id for n in ast.walk(call.args[0]) if isinstance(n, ast.Name) and n.id.endswith("ptr")} or {"?"}


def called(call: ast.Call) -> str:
    """Return the dotted name of what is called; `.name` for a method of any other expression."""
    name = dotted(call.func)
    if not name and isinstance(call.func, ast.Attribute):
        return f".{call.func.attr}"
    return name


def keyword(call: ast.Call, name: str) -> ast.keyword | None:
    """Return a call's keyword argument."""
    return next((k for k in call.keywords if k.arg == name), None)


def _find_sign(gap: str, sign: str) -> tuple[int, int]:
    """Find an operator between two operands, where only blanks, comments and parentheses stand besides it."""
    blanked = re.sub(r"#[^\n]*", lambda m: " " * len(m.group().encode("utf-8")), gap)
    match = re.search(r"\s+".join(map(re.escape, sign.split())), blanked)
    assert match is not None, f"no {sign} in {gap!r}"
    return match.start(), match.end()


def _is_jit(function: ast.FunctionDef) -> bool:
    return any(dotted(d.func if isinstance(d, ast.Call) else d) == "triton.jit" for d in function.decorator_list)


def asks_types(node: ast.AST) -> bool:
    """Whether an expression only asks what type a value has, or a check only refuses types."""
    if isinstance(node, ast.If):
        return _only_raises(node.body) and not node.orelse and asks_types(node.test)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not) and asks_types(node.operand)
    if isinstance(node, ast.BoolOp):
        return all(map(asks_types, node.values))
    if isinstance(node, ast.Call):
        return called(node) in {"isinstance", "torch.is_tensor", "callable"}
    return isinstance(node, ast.Compare) and isinstance(node.left, ast.Call) and called(node.left) == "type"


def _only_raises(body: list[ast.stmt]) -> bool:
    return all(isinstance(s, ast.Raise) or (isinstance(s, ast.If) and _only_raises(s.body)) for s in body)


def _short(text: str, limit: int = 48) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."
