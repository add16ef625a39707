"""A module's text with its syntax tree: where nodes stand, and edits that leave every other byte as it is."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bringup.candidate import FormatProblem, parse_source


@dataclass(frozen=True, order=True)
class Edit:
    """Replace the bytes from `start` to `end` of the module's UTF-8 text."""

    start: int
    end: int
    text: str


class ModuleText:
    """A candidate's module. Raises ValueError, with the reason, for text that is not Python."""

    def __init__(self, text: str) -> None:
        tree = parse_source(text)
        if isinstance(tree, FormatProblem):
            raise ValueError(tree.explanation)
        self.tree = tree
        self.data = text.encode("utf-8")
        self._starts = [0]
        for line in self.data.split(b"\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)
        self.functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        self.kernels = {name: node for name, node in self.functions.items() if is_jit(node)}
        self.hosts = {name: node for name, node in self.functions.items() if name not in self.kernels}
        self._parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        self._owners: dict[ast.AST, str] = {
            node: name for name, function in self.functions.items() for node in ast.walk(function)
        }

    def parent(self, node: ast.AST) -> ast.AST | None:
        """Return the node that holds `node`."""
        return self._parents.get(node)

    def owner(self, node: ast.AST) -> str:
        """Return the top-level function around `node`; "" at the level of the module."""
        return self._owners.get(node, "")

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return the bytes of a node: first, and one after the last."""
        assert isinstance(node, ast.expr | ast.keyword | ast.stmt)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return (
            self._starts[node.lineno - 1] + node.col_offset,
            self._starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def code(self, node: ast.AST) -> str:
        """Return the text of a node."""
        start, end = self.span(node)
        return self.data[start:end].decode("utf-8")

    def replace(self, node: ast.AST, text: str) -> Edit:
        """Return the edit that writes `text` for a node."""
        return Edit(*self.span(node), text)

    def add_keyword(self, call: ast.Call, text: str) -> Edit:
        """Return the edit that adds the argument `name=value` at the end of a call."""
        end = self.span(call)[1] - 1
        arguments = [*call.args, *call.keywords]
        if not arguments:
            return Edit(end, end, text)
        last = max(self.span(node)[1] for node in arguments)
        # Between the last argument and the parenthesis stand blanks, comments, and perhaps a comma.
        between = re.sub(rb"#[^\n]*", lambda comment: b" " * len(comment.group()), self.data[last:end])
        comma = between.find(b",")
        return Edit(end, end, f", {text}") if comma < 0 else Edit(last + comma + 1, last + comma + 1, f" {text},")

    def apply(self, edits: Iterable[Edit]) -> str:
        """Return the text with the edits made. Raises ValueError where two of them overlap."""
        data, before = self.data, len(self.data) + 1
        for edit in sorted(set(edits), reverse=True):
            if edit.end > before:
                raise ValueError("two choices change the same text")
            data = data[: edit.start] + edit.text.encode("utf-8") + data[edit.end :]
            before = edit.start
        return data.decode("utf-8")


def is_jit(function: ast.FunctionDef) -> bool:
    """Whether a function is Triton's: `@triton.jit`, alone or under other decorators."""
    return any(
        name_of(decorator.func if isinstance(decorator, ast.Call) else decorator) == "triton.jit"
        for decorator in function.decorator_list
    )


def name_of(node: ast.AST) -> str:
    """Return the dotted name that an expression is; "" where it is something else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := name_of(node.value)):
        return f"{before}.{node.attr}"
    return ""


def calls(node: ast.AST, *names: str) -> Iterator[ast.Call]:
    """Yield the calls of functions by their dotted names, in the order of the text."""
    yield from (call for name, call in _calls_in(node) if name in names)


@functools.lru_cache(maxsize=256)  # a search asks for many names in the same functions
def _calls_in(node: ast.AST) -> tuple[tuple[str, ast.Call], ...]:
    found = [n for n in ast.walk(node) if isinstance(n, ast.Call)]
    return tuple((name_of(n.func), n) for n in sorted(found, key=lambda call: (call.lineno, call.col_offset)))


def keyword(call: ast.Call, name: str) -> ast.keyword | None:
    """Return a keyword argument of a call."""
    return next((argument for argument in call.keywords if argument.arg == name), None)


def integer(node: ast.AST | None) -> int | None:
    """Return the value of an integer literal, or None."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int) and not isinstance(node.value, bool):
        return node.value
    return None
