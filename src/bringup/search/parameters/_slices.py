"""Which integer literals of host code an expression takes its value from."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bringup.search.parameters._kernels import parameters
from bringup.search.parameters._text import ModuleText, calls, integer, name_of

_ROUND_UP = frozenset({"triton.next_power_of_2"})
_SHARE = frozenset({"triton.cdiv", "tl.cdiv"})


class Slices:
    """Follows names of host code back to where they are bound: in a function, by its callers, or in the module."""

    def __init__(self, module: ModuleText) -> None:
        self._module = module
        self._known: dict[tuple[str, str], list[ast.expr]] = {}
        self._inside = {name: list(ast.walk(function)) for name, function in module.hosts.items()}

    def bindings(self, name: str, function: str) -> list[ast.expr]:
        """Return every expression that a name of a host function is bound to, wherever that is recognisable."""
        if (name, function) not in self._known:
            self._known[name, function] = []  # a name that is bound to itself adds nothing
            self._known[name, function] = list(self._bindings(name, function))
        return self._known[name, function]

    def _bindings(self, name: str, function: str) -> Iterator[ast.expr]:
        local = False
        for node in self._inside.get(function, self._module.tree.body):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    values = list(self._bound(target, node.value, name))
                    local |= bool(values)
                    yield from values
            elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and name_of(node.target) == name and node.value:
                local = True
                yield node.value
        if not function or local:
            return
        names = [argument.arg for argument in parameters(self._module.hosts[function])]
        if name not in names:
            yield from self.bindings(name, "")
            return
        for call in (call for host in self._module.hosts.values() for call in calls(host, function)):
            at = names.index(name)
            if at < len(call.args) and not any(isinstance(a, ast.Starred) for a in call.args[: at + 1]):
                yield call.args[at]
            yield from (argument.value for argument in call.keywords if argument.arg == name)

    def _bound(self, target: ast.expr, value: ast.expr, name: str) -> Iterator[ast.expr]:
        """Yield what `name` gets when `value` is assigned to `target`, through tuples on both sides."""
        if name_of(target) == name:
            yield value
        elif not isinstance(target, ast.Tuple | ast.List):
            return
        elif isinstance(value, ast.IfExp):
            yield from self._bound(target, value.body, name)
            yield from self._bound(target, value.orelse, name)
        elif isinstance(value, ast.Tuple | ast.List) and len(target.elts) == len(value.elts):
            for inner, part in zip(target.elts, value.elts, strict=True):
                yield from self._bound(inner, part, name)
        elif isinstance(value, ast.Call) and (called := self._module.hosts.get(name_of(value.func))) is not None:
            for returned in ast.walk(called):
                if isinstance(returned, ast.Return) and isinstance(returned.value, ast.Tuple):
                    yield from self._bound(target, returned.value, name)

    def sizes(self, node: ast.expr, function: str) -> list[ast.Constant]:
        """Return the literals that a size of a block is made of: fixed, an upper limit, or a budget that is divided.

        A lower limit is left out: it is there because smaller blocks are not possible.
        """
        return list(self._sizes(node, function, set()))

    def _sizes(self, node: ast.expr, function: str, seen: set[ast.AST]) -> Iterator[ast.Constant]:
        if node in seen:
            return
        seen.add(node)
        if isinstance(node, ast.Constant) and integer(node) is not None:
            yield node
        elif isinstance(node, ast.Name):
            for value in self.bindings(node.id, function):
                yield from self._sizes(value, self._module.owner(value), seen)
        elif isinstance(node, ast.IfExp):
            yield from self._sizes(node.body, function, seen)
            yield from self._sizes(node.orelse, function, seen)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
            yield from self._sizes(node.left, function, seen)
            if isinstance(node.right, ast.Name):
                yield from self._sizes(node.right, function, seen)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            yield from self._sizes(node.left, function, seen)
            yield from self._sizes(node.right, function, seen)
        elif isinstance(node, ast.Dict):
            for value in node.values:
                yield from self._sizes(value, function, seen)
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name | ast.Dict):
            yield from self._sizes(node.value, function, seen)
        elif isinstance(node, ast.Call):
            yield from self._called(node, function, seen)

    def _called(self, node: ast.Call, function: str, seen: set[ast.AST]) -> Iterator[ast.Constant]:
        called = name_of(node.func)
        if called in {"min", "max"}:
            for argument in node.args:
                if called == "min" or integer(argument) is None:
                    yield from self._sizes(argument, function, seen)
        elif called in _ROUND_UP:
            # The share of one of so many: next_power_of_2(cdiv(rows, 64)).
            for argument in node.args:
                if isinstance(argument, ast.Call) and name_of(argument.func) in _SHARE:
                    yield from (one for one in argument.args[1:] if isinstance(one, ast.Constant))
        elif called in self._module.hosts:
            for returned in ast.walk(self._module.hosts[called]):
                if isinstance(returned, ast.Return) and returned.value is not None:
                    yield from self._sizes(returned.value, called, seen)

    def everything(self, node: ast.expr, function: str) -> list[ast.Constant]:
        """Return every integer literal that an expression can depend on through assignments and arguments."""
        found: list[ast.Constant] = []
        seen: set[tuple[str, str]] = set()
        todo = [(node, function)]
        while todo:
            expression, owner = todo.pop()
            for inner in ast.walk(expression):
                if isinstance(inner, ast.Constant) and integer(inner) is not None:
                    found.append(inner)
                elif isinstance(inner, ast.Name) and (inner.id, owner) not in seen:
                    seen.add((inner.id, owner))
                    todo += [(value, self._module.owner(value)) for value in self.bindings(inner.id, owner)]
        return found
