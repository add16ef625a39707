"""What a candidate's module holds, collected in one walk: zones, names, attribute chains and nodes by type."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Literal, TypeVar, cast

ZoneKind = Literal["module", "host", "kernel"]
N = TypeVar("N", bound=ast.AST)

PROVIDED = frozenset({"torch", "triton", "tl", "math", "libdevice"})


def words(text: str, prefix: str = "") -> frozenset[str]:
    """The words of a text as a set, each with a prefix."""
    return frozenset(prefix + word for word in text.split())


@dataclass(slots=True)
class Chain:
    """An attribute chain `root.a.b`: its root expression, the path and whether the whole is called."""

    root: ast.expr
    path: tuple[str, ...]
    node: ast.Attribute
    call: ast.Call | None
    store: bool
    root_name: str  # the root when it is a name, else the empty string
    dotted: str  # the chain as text: `tl.math.exp`


@dataclass(slots=True)
class Zone:
    """One top-level function, or the rest of the module. Nested functions belong to the zone around them."""

    kind: ZoneKind
    function: ast.FunctionDef | None = None
    nodes: dict[type, list[ast.AST]] = field(default_factory=dict)
    names: list[ast.Name] = field(default_factory=list)  # loads that are not the root of a chain
    chains: list[Chain] = field(default_factory=list)
    bound: set[str] = field(default_factory=set)  # parameters and everything assigned in it
    _calls: dict[int, str] | None = None

    @property
    def name(self) -> str:
        """The function's name; "module" outside functions."""
        return self.function.name if self.function else "module"

    def called(self, call: ast.Call) -> str:
        """The dotted name of what a call of this zone calls; empty when it is no dotted name."""
        if self._calls is None:
            self._calls = {id(c.call): c.dotted for c in self.chains if c.call is not None and c.root_name}
        function = call.func
        return function.id if isinstance(function, ast.Name) else self._calls.get(id(call), "")

    def of(self, *types: type[N]) -> list[N]:
        """Return the zone's nodes of the given types, in source order within each type."""
        if len(types) == 1:
            return cast(list[N], self.nodes.get(types[0], []))
        return [cast(N, node) for t in types for node in self.nodes.get(t, ())]


class Module:
    """A parsed candidate, indexed for the rules."""

    def __init__(self, tree: ast.Module, lines: list[str]) -> None:
        self.tree = tree
        self.lines = lines
        self.top = Zone("module")
        self.functions: dict[str, ast.FunctionDef] = {}  # the last definition of each name
        self.duplicates: list[ast.FunctionDef] = []
        self.jit: dict[str, ast.FunctionDef] = {}
        self.globals: dict[str, ast.expr | None] = {}  # module-level assignments
        self.zones: list[Zone] = [self.top]
        for statement in tree.body:
            if isinstance(statement, ast.FunctionDef):
                self._function(statement)
            else:
                _collect(statement, self.top)
                self._globals(statement)
        self.hosts = [z for z in self.zones if z.kind == "host"]
        self.kernels = [z for z in self.zones if z.kind == "kernel"]
        self.outside = [z for z in self.zones if z.kind != "kernel"]

    def _function(self, node: ast.FunctionDef) -> None:
        if node.name in self.functions:
            self.duplicates.append(node)
        self.functions[node.name] = node
        self.top.bound.add(node.name)
        jit = any(decorator_name(d) == "triton.jit" for d in node.decorator_list)
        if jit:
            self.jit[node.name] = node
        # A function called kernel* without the decorator is judged as the kernel that it is meant to be.
        zone = Zone("kernel" if jit or (node.name.startswith("kernel") and _takes_constexpr(node)) else "host", node)
        self.zones.append(zone)
        for decorator in node.decorator_list:
            _collect(decorator, self.top)
        if zone.kind == "kernel":
            _collect(node.args, zone)
        else:
            # Defaults of a host function are evaluated once, with the module.
            for default in (*node.args.defaults, *(d for d in node.args.kw_defaults if d)):
                _collect(default, self.top)
            for argument in arguments(node.args):
                zone.bound.add(argument.arg)
                if argument.annotation:
                    _collect(argument.annotation, zone)
        if node.returns:
            _collect(node.returns, zone)
        for statement in node.body:
            _collect(statement, zone)

    def _globals(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        self.globals[name.id] = statement.value if isinstance(target, ast.Name) else None
        elif isinstance(statement, ast.AnnAssign | ast.AugAssign) and isinstance(statement.target, ast.Name):
            self.globals[statement.target.id] = statement.value

    def type_positions(self) -> set[int]:
        """Ids of the nodes that stand where only a type is named: annotations, and the types of isinstance."""
        places: list[ast.expr | None] = []
        for zone in self.zones:
            if zone.function is not None:
                places.append(zone.function.returns)
                places.extend(a.annotation for a in arguments(zone.function.args))
            places.extend(a.annotation for a in zone.of(ast.arg))
            places.extend(a.annotation for a in zone.of(ast.AnnAssign))
            places.extend(c.args[1] for c in zone.of(ast.Call) if len(c.args) == 2 and zone.called(c) == "isinstance")
        return {id(node) for place in places if place is not None for node in ast.walk(place)}

    def source(self, line: int) -> str:
        """Return a line of the source, stripped; empty when out of range."""
        return self.lines[line - 1].strip() if 0 < line <= len(self.lines) else ""

    def reachable(self, start: str = "wrapper") -> list[Zone]:
        """Return the host zones that `start` can run: itself and every host function that is named on the way."""
        hosts = {z.name: z for z in self.hosts}
        seen: dict[str, Zone] = {}
        todo = [start]
        while todo:
            zone = hosts.get(todo.pop())
            if zone is None or zone.name in seen:
                continue
            seen[zone.name] = zone
            todo.extend(n.id for n in zone.names if n.id in hosts)
        return list(seen.values())


def nested_zone(function: ast.FunctionDef) -> Zone:
    """A zone of its own for a function inside another one."""
    zone = Zone("host", function)
    for statement in function.body:
        _collect(statement, zone)
    return zone


def arguments(args: ast.arguments) -> list[ast.arg]:
    """All parameters of a function, in order, with `*args` and `**kwargs`."""
    found = [*args.posonlyargs, *args.args]
    if args.vararg:
        found.append(args.vararg)
    found.extend(args.kwonlyargs)
    if args.kwarg:
        found.append(args.kwarg)
    return found


def decorator_name(node: ast.expr) -> str:
    """The dotted name of a decorator, without its arguments; empty when it is not a dotted name."""
    return dotted(node.func if isinstance(node, ast.Call) else node)


def dotted(node: ast.expr) -> str:
    """`a.b.c` for a chain of names; the empty string for anything else."""
    path: list[str] = []
    while isinstance(node, ast.Attribute):
        path.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    path.append(node.id)
    return ".".join(reversed(path))


def _takes_constexpr(node: ast.FunctionDef) -> bool:
    uses = (dotted(a.annotation) == "tl.constexpr" for a in arguments(node.args) if a.annotation)
    return any(uses) or any(isinstance(n, ast.Attribute) and dotted(n).startswith("tl.") for n in ast.walk(node))


# For each type of node the fields that hold other nodes, last first; contexts, operators and plain values are left out.
_FIELDS: dict[type, tuple[str, ...]] = {
    kind: tuple(
        name
        for name in reversed(kind._fields)
        if name not in {"ctx", "op", "ops", "id", "attr", "type_comment", "kind"}
    )
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}


def _collect(start: ast.AST, zone: Zone) -> None:
    """Put `start` and everything below it into the zone. Parents come before children."""
    nodes, bound = zone.nodes, zone.bound
    inner: set[int] = set()  # attributes inside a longer chain, and names that are the root of one
    calls: dict[int, ast.Call] = {}
    stack: list[ast.AST] = [start]
    while stack:
        node = stack.pop()
        kind: type[ast.AST] = type(node)
        fields = _FIELDS.get(kind)
        if fields is None:  # a string or None in a list of nodes
            continue
        same = nodes.get(kind)
        if same is None:
            nodes[kind] = [node]
        else:
            same.append(node)
        if kind is ast.Name:
            name = cast(ast.Name, node)
            if type(name.ctx) is not ast.Load:
                bound.add(name.id)
            elif id(name) not in inner:
                zone.names.append(name)
            continue
        if kind is ast.Constant:
            continue
        if kind is ast.Attribute:
            attribute = cast(ast.Attribute, node)
            inner.add(id(attribute.value))
            if id(attribute) not in inner:
                path = [attribute.attr]
                root = attribute.value
                while isinstance(root, ast.Attribute):
                    path.append(root.attr)
                    root = root.value
                path.reverse()
                root_name = root.id if isinstance(root, ast.Name) else ""
                name_ = ".".join((root_name or "...", *path))
                store = type(attribute.ctx) is not ast.Load
                chain = Chain(root, tuple(path), attribute, calls.get(id(attribute)), store, root_name, name_)
                zone.chains.append(chain)
            stack.append(attribute.value)
            continue
        if kind is ast.Call:
            calls[id(cast(ast.Call, node).func)] = cast(ast.Call, node)
        elif kind is ast.arg:
            bound.add(cast(ast.arg, node).arg)
        elif kind is ast.FunctionDef or kind is ast.ClassDef or kind is ast.AsyncFunctionDef:
            bound.add(cast(ast.FunctionDef, node).name)
        elif kind is ast.ExceptHandler:
            bound.add(cast(ast.ExceptHandler, node).name or "")
        elif kind is ast.Import or kind is ast.ImportFrom:
            bound.update((a.asname or a.name.split(".")[0]) for a in cast(ast.Import, node).names)
        elif kind is ast.MatchAs or kind is ast.MatchStar:
            bound.add(cast(ast.MatchAs, node).name or "")
        # The same as ast.iter_child_nodes in reverse, inlined: this loop is half of the linter's time.
        for name_ in fields:
            value = getattr(node, name_)
            if type(value) is list:
                stack.extend(value[::-1])
            elif value is not None:
                stack.append(value)
