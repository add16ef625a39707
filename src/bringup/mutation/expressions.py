"""Mutations of arithmetic: operators, operands, constants, choices between two values."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bringup.mutation.mutator import Mutator
from bringup.mutation.source import Change, Edit, SourceModule, called, is_tile, keyword, same, symbol

_ORDERED = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.RShift)
_OTHER = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.Div: "*", ast.BitAnd: "|", ast.BitOr: "&", ast.LShift: ">>",
    ast.RShift: "<<", ast.FloorDiv: "%", ast.Mod: "//",
}  # fmt: skip
_OPPOSITE = {
    "min": "max", "max": "min", "tl.minimum": "tl.maximum", "tl.maximum": "tl.minimum", "tl.min": "tl.max",
    "tl.max": "tl.min", "tl.argmin": "tl.argmax", "tl.argmax": "tl.argmin", "tl.atomic_min": "tl.atomic_max",
    "tl.atomic_max": "tl.atomic_min",
}  # fmt: skip
_ROUNDING = {
    "floor": ("ceil", "trunc"), "ceil": ("floor",), "trunc": ("floor",), "rint": ("round", "floor"),
    "nearbyint": ("round", "floor"), "round": ("rint", "floor"),
}  # fmt: skip


def _textual(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


class OperandsSwapped(Mutator):
    """`b - a` for `a - b`."""

    id = "operands-swapped"
    title = "the operands of `-`, `/`, `//`, `%`, `**` or a shift are swapped"

    def changes(self, module: SourceModule) -> Iterator[Change]:
        """Swap the operands of operators that do not commute."""
        for node in module.nodes(ast.BinOp):
            if isinstance(node.op, _ORDERED) and not _textual(node.left) and not same(node.left, node.right):
                left, right = module.binary(node).operands
                edits = (Edit(left, module.atom(node.right, right)), Edit(right, module.atom(node.left, left)))
                yield Change(node, edits, f"operands of `{symbol(node.op)}` swapped in {module.code(node)}")


class OperatorReplaced(Mutator):
    """Another arithmetic operator."""

    id = "operator-replaced"
    title = "an arithmetic operator is another one (`+` for `-`)"

    def changes(self, module: SourceModule) -> Iterator[Change]:
        """Replace an operator by its nearest relative; drop a minus sign."""
        for node in module.nodes(ast.BinOp):
            new = _OTHER.get(type(node.op))
            if new is not None and not _textual(node.left) and not _textual(node.right) and not _address(module, node):
                sign = module.binary(node).operators[0]
                yield Change(node, (Edit(sign, new),), f"`{symbol(node.op)}` becomes `{new}` in {module.code(node)}")
        for update in module.nodes(ast.AugAssign):
            new = _OTHER.get(type(update.op))
            if new is not None:
                value = module.code(update.value)
                text = f"{module.code(update.target)} {new}= {value}"
                yield module.replace(update, text, f"`{symbol(update.op)}=` becomes `{new}=`")
        for minus in module.nodes(ast.UnaryOp):
            if isinstance(minus.op, ast.USub) and not isinstance(minus.operand, ast.Constant):
                yield module.replace(minus, module.atom(minus.operand))


def _address(module: SourceModule, node: ast.BinOp) -> bool:
    """Whether an expression is `x.storage_offset() * x.element_size()` before a `%`.

    A sum in its place is never a multiple of the alignment, since `%` binds tighter: the tensor is always copied.
    """
    parts = {called(part).rpartition(".")[2] for part in (node.left, node.right) if isinstance(part, ast.Call)}
    around = module.parent(node)
    return (
        parts == {"storage_offset", "element_size"} and isinstance(around, ast.BinOp) and isinstance(around.op, ast.Mod)
    )


class ConstantNudged(Mutator):
    """A slightly different number."""

    id = "constant-nudged"
    title = "an integer constant is off by one, a float constant by one per cent"

    def changes(self, module: SourceModule) -> Iterator[Change]:
        """Nudge numbers, except those that other classes change (axes, neutral values) and tile sizes."""
        for node in module.nodes(ast.Constant):
            value = node.value
            if isinstance(value, bool) or not isinstance(value, int | float) or self._elsewhere(module, node):
                continue
            if isinstance(value, float):
                yield module.replace(node, repr(float(f"{value * 1.01:.12g}")) if value else "0.01")
                continue
            if module.place(node) != "kernel" and is_tile(value):
                continue
            if not module.repeated(node):
                yield module.replace(node, str(value + 1))
            if value > 0:
                yield module.replace(node, str(value - 1))

    @staticmethod
    def _elsewhere(module: SourceModule, node: ast.Constant) -> bool:
        parent = module.parent(node)
        if isinstance(parent, ast.keyword):
            return parent.arg in {"axis", "other"}
        if isinstance(parent, ast.Call):
            # also int("3"), float("inf"): never numbers
            return called(parent) in {"tl.program_id", "tl.num_programs"}
        if isinstance(parent, ast.arguments):
            return _unread(module, parent, node)
        return isinstance(parent, ast.Compare) and _remainder(module, parent)


def _unread(module: SourceModule, arguments: ast.arguments, default: ast.Constant) -> bool:
    """Whether a default is that of an argument which nothing reads."""
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = [*zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True)]
    pairs += [(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None]
    names = {argument.arg for argument, found in pairs if found is default}
    return not any(name.id in names and isinstance(name.ctx, ast.Load) for name in module.nodes(ast.Name))


def _remainder(module: SourceModule, node: ast.Compare) -> bool:
    """Whether a comparison asks for the rest of an address: `x.storage_offset() * x.element_size() % 32 == 0`.

    With any other rest the tensor is always copied, unless its elements have one byte.
    """
    left = node.left
    return (
        isinstance(left, ast.BinOp)
        and isinstance(left.op, ast.Mod)
        and isinstance(left.left, ast.BinOp)
        and _address(module, left.left)
    )


class MinMaxSwapped(Mutator):
    """`max` for `min`."""

    id = "min-max-swapped"
    title = "`min` becomes `max`, and the other way round"

    def changes(self, module: SourceModule) -> Iterator[Change]:
        """Exchange minima and maxima."""
        for call in module.nodes(ast.Call):
            if new := _OPPOSITE.get(called(call)):
                yield module.replace(call.func, new)


class ArmsSwapped(Mutator):
    """`where(c, b, a)` for `where(c, a, b)`."""

    id = "arms-swapped"
    title = "the two arms of `tl.where` or of `a if c else b` are swapped"

    def changes(self, module: SourceModule) -> Iterator[Change]:
        """Swap the arms of choices."""
        for call in module.nodes(ast.Call):
            if called(call) == "tl.where" and len(call.args) == 3:
                yield from module.swap(call, call.args[1], call.args[2], f"arms swapped in {module.code(call)}")
        for choice in module.nodes(ast.IfExp):
            yield from module.swap(choice, choice.body, choice.orelse, f"arms swapped in {module.code(choice)}")


class RoundingChanged(Mutator):
    """Another way of rounding."""

    id = "rounding"
    title = "another rounding: `ceil` for `floor`, the first of two casts left out"

    def changes(self, module: SourceModule) -> Iterator[Change]:
        """Exchange rounding functions; leave out a cast whose result is cast again."""
        for call in module.nodes(ast.Call):
            name = called(call)
            stem, _, last = name.rpartition(".")
            for new in _ROUNDING.get(last, ()) if stem else ():
                if stem != "tl" or new in {"floor", "ceil"}:
                    yield module.replace(call.func, f"{stem}.{new}")
            inner = call.func.value if isinstance(call.func, ast.Attribute) else None
            if module.place(call) == "kernel" and inner is not None and _casts(call) and _casts(inner):
                # A single cast is no step of rounding: Triton would widen or narrow the value by itself.
                assert isinstance(inner, ast.Call)
                assert isinstance(inner.func, ast.Attribute)
                note = f"rounding to {module.code(inner.args[0])} left out"
                yield module.replace(inner, module.code(inner.func.value), note)


def _casts(node: ast.expr) -> bool:
    """Whether an expression is `x.to(dtype)` and not a reinterpretation of bits."""
    to = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "to"
    return to and isinstance(node, ast.Call) and bool(node.args) and keyword(node, "bitcast") is None


def number(node: ast.expr) -> bool | int | float | None:
    """Return the value of a number as it is written, with its sign; None for anything else."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = number(node.operand)
        return None if value is None else -value
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int | float) else None


class DefaultChanged(Mutator):
    """Another default value of the wrapper."""

    id = "default-changed"
    title = "a default value of the wrapper's arguments is another one"

    def changes(self, module: SourceModule) -> Iterator[Change]:
        """Flip, nudge or replace the wrapper's defaults."""
        wrapper = module.functions.get("wrapper")
        if wrapper is None:
            return
        read = {name.id for name in module.nodes(ast.Name) if isinstance(name.ctx, ast.Load)}
        arguments = wrapper.args
        positional = [*arguments.posonlyargs, *arguments.args][-len(arguments.defaults) :] if arguments.defaults else []
        pairs = [*zip(positional, arguments.defaults, strict=True)]
        pairs += [(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None]
        for argument, default in pairs:
            value = number(default)
            if argument.arg not in read:
                continue
            if isinstance(value, bool):
                yield module.replace(default, str(not value))
            elif isinstance(value, int):
                yield module.replace(default, str(value + 1))
            elif isinstance(value, float):
                yield module.replace(default, repr(float(f"{value * 2:.12g}")) if value else "1.0")
