"""The numbers that a candidate's source names: what it compares sizes and values with is among them."""

from __future__ import annotations

import ast
import functools
import math
import operator
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeGuard

if TYPE_CHECKING:
    import torch

Number = int | float

LARGEST = 1 << 128  # of whole numbers: a float32 has no larger ones
BITS = (1 << 20, 1 << 31)  # whole numbers that may be meant as the bits of a float32
CHOOSING = frozenset(("min", "max", "minimum", "maximum", "clamp", "where", "cdiv"))  # functions that compare
_FOLDED: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.LShift: operator.lshift, ast.Pow: operator.pow,
}  # fmt: skip
_MOST_POWER = 128
MOST_GATHERED = 1 << 20  # nodes that are looked at for what names stand for, all together


@dataclass(frozen=True)
class Named:
    """Numbers in a source, none twice: those first that stand in a comparison, or behind a name that does."""

    compared: tuple[Number, ...]
    others: tuple[Number, ...]

    @property
    def all(self) -> tuple[Number, ...]:
        """All of them."""
        return (*self.compared, *self.others)


@functools.lru_cache(maxsize=16)
def named(source: str) -> Named:
    """Return the numbers of a source, constant expressions (`1 << 16`, `-2**31`) as what they are.

    A source that is no Python names none.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Named((), ())
    values = _by_name(tree, folded := _folded(tree))
    compared: dict[Number, None] = {}
    names: dict[str, None] = {}
    looked: set[int] = set()  # what lies within another comparison is looked at once
    for node in ast.walk(tree):
        chooses = isinstance(node, ast.Compare) or (isinstance(node, ast.Call) and _called(node) in CHOOSING)
        if chooses and id(node) not in looked:
            compared |= dict.fromkeys(_numbers(node, folded))
            for inner in ast.walk(node):
                looked.add(id(inner))
                if isinstance(inner, ast.Name):
                    names[inner.id] = None
    for name in names:
        compared |= dict.fromkeys(values.get(name, ()))
    others = [number for number in dict.fromkeys(_numbers(tree, folded)) if number not in compared]
    return Named(tuple(compared), tuple(others))


def _by_name(tree: ast.AST, folded: _Folded) -> defaultdict[str, dict[Number, None]]:
    """The numbers that a name is assigned, or that a parameter has as its default; whatever the scope."""
    values: defaultdict[str, dict[Number, None]] = defaultdict(dict)
    left = MOST_GATHERED

    def gather(name: str, node: ast.AST) -> None:
        nonlocal left
        for number in _looked_at(node, folded, left):
            left -= 1
            if number is not None:
                values[name][number] = None

    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    gather(target.id, node.value)
        elif isinstance(node, ast.arguments):
            ordered = [*node.posonlyargs, *node.args]
            given = zip(ordered[len(ordered) - len(node.defaults) :], node.defaults, strict=True)
            for parameter, default in [*given, *zip(node.kwonlyargs, node.kw_defaults, strict=True)]:
                if default is not None:
                    gather(parameter.arg, default)
        elif isinstance(node, ast.keyword) and node.arg:
            gather(node.arg, node.value)  # a constexpr that a launch gives
    return values


def _called(node: ast.Call) -> str:
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _numbers(tree: ast.AST, folded: _Folded) -> Iterator[Number]:
    """The numbers in a tree, what is a constant expression as one."""
    return (number for number in _looked_at(tree, folded, sys.maxsize) if number is not None)


def _looked_at(tree: ast.AST, folded: _Folded, most: int) -> Iterator[Number | None]:
    """Each node of a tree, at most so many: its number, and nothing within it, or None."""
    stack = [tree]
    while stack and most > 0:
        most -= 1
        node = stack.pop()
        number = folded.get(id(node))
        yield number
        if number is None:
            stack += reversed(list(ast.iter_child_nodes(node)))


_Folded = dict[int, Number]
"""What constant expressions are, by the id of their nodes."""


def _folded(tree: ast.AST) -> _Folded:
    """Fold all constant expressions of a tree, parts before what they are parts of: each node is looked at once."""
    found: _Folded = {}
    for node in reversed(list(ast.walk(tree))):
        number = _fold(node, found)
        if _usable(number):
            found[id(node)] = number
    return found


def _usable(number: object) -> TypeGuard[Number]:
    """Whether a number is of use; an integer may be larger than any float, of which `isfinite` makes an error."""
    if isinstance(number, int):
        return abs(number) <= LARGEST
    return isinstance(number, float) and math.isfinite(number)


def _fold(node: ast.AST, found: _Folded) -> Number | None:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value  # type: ignore[return-value]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = found.get(id(node.operand))
        return None if inner is None else -inner
    if isinstance(node, ast.BinOp) and type(node.op) in _FOLDED:
        left, right = found.get(id(node.left)), found.get(id(node.right))
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Pow | ast.LShift) and not 0 <= right <= _MOST_POWER:
            return None
        try:
            return _FOLDED[type(node.op)](left, right)
        except (ArithmeticError, TypeError, ValueError):
            return None
    return None


def around(number: Number, dtype: torch.dtype) -> Iterator[float]:
    """Yield values at and right beside a number, of both signs, and such as have its bits; finite in the dtype."""
    import torch

    if not dtype.is_floating_point:
        limits = torch.iinfo(dtype)
        if isinstance(number, int) or number.is_integer():
            beside = (sign * int(number) + by for sign in (1, -1) for by in (-1, 0, 1))
            yield from (one for one in beside if limits.min <= one <= limits.max)
        return
    values = [float(number)]
    if isinstance(number, int):
        values += [float(number - 1), float(number + 1)]
        if BITS[0] <= number < BITS[1]:
            values.append(float(torch.tensor(number, dtype=torch.int32).view(torch.float32)))
    for value in values:
        rounded = torch.tensor(value, dtype=torch.float64).to(dtype)
        ends = torch.tensor([math.inf, -math.inf], dtype=dtype)
        for one in (rounded, *torch.nextafter(rounded, ends)):
            if bool(one.isfinite()):
                yield from (float(one), -float(one))
