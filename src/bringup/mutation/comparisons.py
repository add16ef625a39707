"""Mutations of comparisons, conditions and bounds: where loops, masks and branches begin and end."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace

from bringup.mutation.expressions import number
from bringup.mutation.mutator import Mutator
from bringup.mutation.source import Change, Edit, SourceModule, asks_types, called, same, symbol

_BOUNDARY = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
_NEGATED = {
    ast.Lt: ">=", ast.LtE: ">", ast.Gt: "<=", ast.GtE: "<", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def _signs(module: SourceModule, table: Mapping[type[ast.cmpop], str]) -> Iterator[Change]:
    for node in module.nodes(ast.Compare):
        spans = module.comparison(node).operators
        for op, span in zip(node.ops, spans, strict=True):
            if type(op) in table:
                new = table[type(op)]
                yield Change(node, (Edit(span, new),), f"`{symbol(op)}` becomes `{new}` in {module.code(node)}")


class BoundaryShifted(Mutator):
    """`<` for `<=` and the like."""

    id = "boundary"
    title = "`<` becomes `<=`, and the like"

    def changes(self, module: SourceModule) -> Iterator[Change]:
        """Exchange strict and non-strict comparisons."""
        yield from _signs(module, _BOUNDARY)


class ComparisonNegated(Mutator):
    """The opposite comparison."""

    id = "comparison-negated"
    title = "a comparison becomes its opposite, a `not` is lost"

    def changes(self, module: SourceModule) -> Iterator[Change]:
        """Negate comparisons; drop `not` and `~`."""
        yield from _signs(module, _NEGATED)
        for node in module.nodes(ast.UnaryOp):
            if isinstance(node.op, ast.Not | ast.Invert):
                yield module.replace(node, module.atom(node.operand))


class BoundOffByOne(Mutator):
    """A bound that is one too high or one too low."""

    id = "bound-off-by-one"
    title = "the bound of a mask, comparison or loop is off by one"

    def changes(self, module: SourceModule) -> Iterator[Change]:
        """Add or subtract one on the larger side of comparisons and at the ends of `range`."""
        for node in module.nodes(ast.Compare):
            if len(node.ops) == 1 and isinstance(node.ops[0], _ORDERS):
                right = module.comparison(node).operands[1]
                for step in (-1, 1):
                    value = number(node.comparators[0])
                    if isinstance(value, float) and value + step == value:
                        continue  # 1e38 - 1 is 1e38
                    text = _moved(node.comparators[0], step, module.atom(node.comparators[0], right))
                    note = f"bound {module.code(right)} becomes {text}"
                    yield Change(node, (Edit(right, text),), note)
        for call in module.nodes(ast.Call):
            if called(call) in {"range", "tl.range"} and call.args:
                stop = call.args[min(1, len(call.args) - 1)]
                yield module.replace(stop, _moved(stop, -1, module.atom(stop)))
                if len(call.args) > 1:
                    first = call.args[0]
                    yield module.replace(first, _moved(first, 1, module.atom(first)))


def _moved(bound: ast.expr, step: int, text: str) -> str:
    """Return a bound moved by one: a number as a number, anything else, whose text is given, as a sum."""
    value = number(bound)
    return str(value + step) if isinstance(value, int) else f"{text} {'-' if step < 0 else '+'} 1"


class ConditionWeakened(Mutator):
    """One of several conditions is forgotten."""

    id = "condition-weakened"
    title = "one part of a mask or condition (`a & b`, `a and b`) is lost"

    def changes(self, module: SourceModule) -> Iterator[Change]:
        """Keep one operand of `&` and `|` on conditions, all but one of `and` and `or`."""
        for node in module.nodes(ast.BinOp):
            if isinstance(node.op, ast.BitAnd | ast.BitOr) and (_is_mask(node.left) or _is_mask(node.right)):
                for kept, span in zip((node.left, node.right), module.binary(node).operands, strict=True):
                    yield module.replace(node, module.atom(kept, span))
        for either in module.nodes(ast.BoolOp):
            parts = module.boolean(either).operands
            for i, part in enumerate(parts):
                if module.place(either) == "checks" and asks_types(either.values[i]):
                    continue
                if isinstance(asked := either.values[i], ast.Call) and called(asked).rpartition(".")[2] in _NEVER:
                    continue
                rest = [module.code(p) for j, p in enumerate(parts) if j != i]
                text = f" {symbol(either.op)} ".join(rest)
                yield module.replace(either, text, f"condition {module.code(part)} is lost")


_NEVER = {"is_complex", "is_quantized", "is_sparse"}  # of the tensors that a gate has
_MASKS = {"mask", "valid", "ok", "inside", "keep", "live"}


def _is_mask(node: ast.expr) -> bool:
    if isinstance(node, ast.Compare):
        return True
    if isinstance(node, ast.Subscript):
        return _is_mask(node.value)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr):
        return _is_mask(node.left) or _is_mask(node.right)
    return isinstance(node, ast.Name) and any(word in _MASKS for word in node.id.lower().split("_"))


class BranchDropped(Mutator):
    """A branch that is never taken."""

    id = "branch-dropped"
    title = "a branch of the wrapper or of a kernel is never taken"

    def changes(self, module: SourceModule) -> Iterator[Change]:
        """Make the test of an `if` false, and true where it has an `else`; keep one arm of a conditional expression."""
        for node in module.nodes(ast.If):
            test = module.code(node.test)
            dropped = module.replace(node.test, "False", f"branch `if {test}` is dropped")
            yield replace(dropped, runs=node.body[0])
            if node.orelse:
                dropped = module.replace(node.test, "True", f"the else of `if {test}` is dropped")
                yield replace(dropped, runs=node.orelse[0])
        for choice in module.nodes(ast.IfExp):
            for kept in (choice.body, choice.orelse):
                if kept is choice.body or not _copies(module, choice):
                    yield module.replace(choice, module.atom(kept))


def _copies(module: SourceModule, choice: ast.IfExp) -> bool:
    """Whether a helper returns `x if x.storage_offset() ... else x.clone()`: a copy more changes no result."""
    copy = choice.orelse
    return (
        isinstance(module.parent(choice), ast.Return)
        and module.function(choice) != "wrapper"
        and isinstance(copy, ast.Call)
        and isinstance(copy.func, ast.Attribute)
        and copy.func.attr == "clone"
        and same(copy.func.value, choice.body)
        and any(isinstance(n, ast.Attribute) and n.attr == "storage_offset" for n in ast.walk(choice.test))
    )
