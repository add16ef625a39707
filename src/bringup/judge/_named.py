"""The numbers that a candidate's source names: what it compares sizes and values with is among them."""

from __future__ import annotations

import ast
import functools
import math
import operator
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
    except (SyntaxError, ValueError, RecursionError):
        return Named((), ())
    values = _by_name(tree)
    compared: dict[Number, None] = {}
    names: dict[str, None] = {}
    looked: set[int] = set()  # what lies within another comparison is looked at once
    for node in ast.walk(tree):
        chooses = isinstance(node, ast.Compare) or (isinstance(node, ast.Call) and _called(node) in CHOOSING)
        if chooses and id(node) not in looked:
            compared |= dict.fromkeys(_numbers(node))
            for inner in ast.walk(node):
                looked.add(id(inner))
                if isinstance(inner, ast.Name):
                    names[inner.id] = None
    for name in names:
        compared |= dict.fromkeys(values.get(name, ()))
    others = [number for number in dict.fromkeys(_numbers(tree)) if number not in compared]
    return Named(tuple(compared), tuple(others))


def _by_name(tree: ast.AST) -> defaultdict[str, list[Number]]:
    """The numbers that a name is assigned, or that a parameter has as its default; whatever the scope."""
    values: defaultdict[str, list[Number]] = defaultdict(list)
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    values[target.id] += _numbers(node.value)
        elif isinstance(node, ast.arguments):
            ordered = [*node.posonlyargs, *node.args]
            given = zip(ordered[len(ordered) - len(node.defaults) :], node.defaults, strict=True)
            for parameter, default in [*given, *zip(node.kwonlyargs, node.kw_defaults, strict=True)]:
                if default is not None:
                    values[parameter.arg] += _numbers(default)
        elif isinstance(node, ast.keyword) and node.arg:
            values[node.arg] += _numbers(node.value)  # a constexpr that a launch gives
    return values


def _called(node: ast.Call) -> str:
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _numbers(tree: ast.AST) -> Iterator[Number]:
    """The numbers in a tree, what is a constant expression as one."""
    stack = [tree]
    while stack:
        node = stack.pop()
        number = _folded(node)
        if number is not None:
            yield number
        else:
            stack += reversed(list(ast.iter_child_nodes(node)))


def _folded(node: ast.AST) -> Number | None:
    number: Number | None = None
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        number = node.value  # type: ignore[assignment]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _folded(node.operand)
        number = None if inner is None else -inner
    elif isinstance(node, ast.BinOp) and type(node.op) in _FOLDED:
        left, right = _folded(node.left), _folded(node.right)
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Pow | ast.LShift) and not 0 <= right <= _MOST_POWER:
            return None
        try:
            number = _FOLDED[type(node.op)](left, right)
        except (ArithmeticError, TypeError, ValueError):
            return None
    if not isinstance(number, int | float) or not math.isfinite(number):
        return None
    return number if isinstance(number, float) or abs(number) <= LARGEST else None


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
