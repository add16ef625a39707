"""Which Python variable a value of a stopped program is, at the place where it was stopped.

Triton writes a variable's name into the location of the operation that computes it. It writes none for `a = b`, and one
location serves all results of a loop or a branch. So results take the names of what the loop carries, or both branches
end with; and a value whose variable the source assigns anew before that place is left out rather than shown.
"""

from __future__ import annotations

import ast
import functools
import os
import re
from dataclasses import dataclass
from typing import Any

from bringup.vpe import sources
from bringup.vpe.ir import Frame, Value
from bringup.vpe.parse import frames

Place = tuple[str, int]
"""File and line."""


def source_of(file: str) -> str:
    """A file's text, "" if this process knows none: see `sources`."""
    return "".join(sources.lines(file))


@functools.lru_cache(maxsize=64)
def functions(source: str) -> list[ast.FunctionDef]:
    """All functions of a text; none if it is no Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def function_at(file: str, line: int) -> ast.FunctionDef | None:
    """The innermost function around a line; None if the file cannot be read."""
    inside = [node for node in functions(source_of(file)) if node.lineno <= line <= _end(node)]
    return max(inside, key=lambda node: node.lineno, default=None)


def places(stack: list[Frame]) -> list[Place]:
    """File and line of each frame, outermost first."""
    return [(frame.file, frame.line) for frame in reversed(stack)]


def function_name(file: str, line: int) -> str:
    """Name of the function that a line is in; empty if unknown."""
    function = function_at(file, line)
    return function.name if function else ""


@dataclass(frozen=True)
class Variable:
    """What a value is called."""

    name: str
    function: str = ""
    """The called function that it is a variable of; empty for the kernel's own."""
    file: str = ""
    line: int = 0
    """End of the statement that gave it the value; 0 if unknown."""
    depth: int = 0
    """Calls around it."""

    @property
    def shown(self) -> str:
        """The name, with the function's."""
        return f"{self.function}.{self.name}" if self.function else self.name


def variable_of(module: Any, value: Value, running: list[Place]) -> Variable | None:
    """The variable that a value is bound to; None for what is no variable in scope.

    `running` are the places of the statement that was stopped, outermost first; empty where nothing is half done.
    """
    if value.op is None and value.arg_of is not None:
        name = _argument_name(value)
        stack = frames(module, value.arg_of.loc)
        depth = max(len(stack) - 1, 0)
        here = stack[0] if stack else Frame("", 0, 0)
        return None if name is None else Variable(name, "", here.file, 0 if depth else here.line, depth)
    joined = _joined(module, value, running)
    if joined is not None:
        return joined
    if value.op is not None and len(value.op.results) > 1:
        return None  # one location for all of them
    return _bound(module, value.loc, running)


def _bound(module: Any, loc: str, running: list[Place]) -> Variable | None:
    stack = frames(module, loc)
    around = places(stack)
    for depth in reversed(range(len(stack))):
        frame = stack[len(stack) - 1 - depth]
        if not frame.name or f"{os.sep}triton{os.sep}language{os.sep}" in frame.file:
            continue
        if around[:depth] != running[:depth]:
            continue  # a variable of a call that has returned; what the call was for may have a name
        if around[: depth + 1] == running[: depth + 1]:
            return None  # part of the statement that was stopped: not yet the variable's value
        function = function_name(frame.file, frame.line) if depth else ""
        return Variable(frame.name, function, frame.file, frame.line, depth)
    return None


def _argument_name(value: Value) -> str | None:
    # MLIR prints a block argument's name as its SSA name, with a number where that was taken
    name = re.sub(r"_\d+$", "", value.name.split("#")[0])
    return None if re.fullmatch(r"(arg)?\d+", name) else name


def _last_name(module: Any, value: Value, depth: int) -> str | None:
    """What a value is called last in the function that `depth` calls lead to."""
    if value.op is None:
        return _argument_name(value)
    stack = frames(module, value.loc)
    return stack[len(stack) - 1 - depth].last_name if len(stack) > depth else None


def _joined(module: Any, value: Value, running: list[Place]) -> Variable | None:
    """The variable that a loop or a branch leaves a result in."""
    op = value.op
    if op is None or not op.regions:
        return None
    stack = frames(module, op.loc)
    around, depth = places(stack), len(stack) - 1
    if not stack or around[:depth] != running[:depth]:
        return None
    name = None
    if op.name == "scf.for":
        name = _argument_name(op.regions[0].args[1 + value.index])
    elif op.name == "scf.while":
        name = _argument_name(op.regions[1].args[value.index])
    elif op.name == "scf.if":
        ends = [region.ops[-1].operands[value.index] for region in op.regions]
        names = {_last_name(module, end, depth) for end in ends}
        name = names.pop() if len(names) == 1 else None
    if name is None:
        return None
    frame = stack[0]
    function = function_at(frame.file, frame.line)
    within = [node for node in ast.walk(function) if isinstance(node, ast.stmt)] if function else []
    end = max((_end(node) for node in within if node.lineno == frame.line), default=frame.line)
    return Variable(name, function.name if depth and function else "", frame.file, end, depth)


def overwritten(module: Any, variable: Variable, running: list[Place]) -> bool:
    """Whether the source assigns a variable anew after it got this value and before the statement that was stopped."""
    if variable.depth >= len(running) or not variable.line:
        return False
    file, stop = running[variable.depth]
    function = function_at(file, stop)
    if file != variable.file or function is None or function is not function_at(file, variable.line):
        return False
    found = [line for name, line in _assigned(function.body, stop, _compiled(module, file)) if name == variable.name]
    return any(line > variable.line for line in found)


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _assigned(body: list[ast.stmt], stop: int, compiled: frozenset[int]) -> list[tuple[str, int]]:
    """Names and lines of the assignments on the way to line `stop`, without those of branches left out."""
    found: list[tuple[str, int]] = []
    for statement in body:
        if statement.lineno > stop:
            break
        parts = [getattr(statement, part, []) for part in ("body", "orelse")]
        if _end(statement) < stop:
            for part in parts:
                if not isinstance(statement, ast.If) or _covered(part, compiled):
                    found += _assigned(part, stop, compiled)
            found += [(name, statement.lineno) for name in _targets(statement)]
            continue
        for part in parts:
            if part and part[0].lineno <= stop <= _end(part[-1]):
                found += _assigned(part, stop, compiled)
    return found


def _covered(body: list[ast.stmt], lines: frozenset[int]) -> bool:
    """Whether operations come from a branch: one that is decided at compile time may leave none."""
    return bool(body) and any(line in lines for line in range(body[0].lineno, _end(body[-1]) + 1))


def _targets(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, (ast.AugAssign, ast.AnnAssign)):
        targets = [statement.target]
    else:
        return []
    return [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]


def _compiled(module: Any, file: str) -> frozenset[int]:
    """Lines of a file that operations come from."""
    return frozenset(frame.line for op in module.walk() for frame in frames(module, op.loc) if frame.file == file)
