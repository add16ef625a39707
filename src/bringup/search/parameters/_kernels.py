"""Facts of kernels that their parameters hang on: which arguments are sizes of blocks, how tiles are numbered."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from bringup.search.parameters._text import ModuleText, calls, integer, keyword, name_of

_SHAPED = ("tl.zeros", "tl.full")
_RANGES = frozenset({"range", "tl.range"})


@dataclass(frozen=True)
class Launch:
    """A launch `kernel[grid](...)`: its call, the grid's expression, and the arguments by the kernel's parameters."""

    call: ast.Call
    kernel: str
    grid: ast.expr
    arguments: dict[str, ast.expr]


@dataclass(frozen=True)
class Numbering:
    """Tiles numbered row by row: `number // across` and `number % across`, both of one number of a tile.

    `total` is the text of how many tiles there are.
    """

    divisions: tuple[ast.BinOp, ...]
    remainders: tuple[ast.BinOp, ...]
    number: str
    across: str
    total: str


def parameters(function: ast.FunctionDef) -> list[ast.arg]:
    """Return all parameters that a call can name or place, in order."""
    return [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


def launches(module: ModuleText) -> list[Launch]:
    """Return the launches of the module's kernels in its host code, in the order of the text."""
    found = []
    for host in module.hosts.values():
        for call in ast.walk(host):
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Subscript)):
                continue
            kernel = name_of(call.func.value)
            if kernel not in module.kernels:
                continue
            names = [argument.arg for argument in parameters(module.kernels[kernel])]
            given: dict[str, ast.expr] = {}
            for name, value in zip(names, call.args, strict=False):
                if isinstance(value, ast.Starred):
                    break
                given[name] = value
            given |= {argument.arg: argument.value for argument in call.keywords if argument.arg in names}
            found.append(Launch(call, kernel, call.func.slice, given))
    return sorted(found, key=lambda launch: module.span(launch.call))


def block_parameters(module: ModuleText) -> dict[str, set[str]]:
    """Return, by kernel or helper, the parameters that are sizes of blocks: of ranges, shapes, or steps of loops."""
    found = {name: _direct(function) for name, function in module.kernels.items()}
    changed = True
    while changed:  # a helper's block size is its caller's
        changed = False
        for name, function in module.kernels.items():
            own = {argument.arg for argument in parameters(function)}
            for call in calls(function, *module.kernels):
                callee = name_of(call.func)
                names = [argument.arg for argument in parameters(module.kernels[callee])]
                pairs = [*zip(names, call.args, strict=False), *((k.arg, k.value) for k in call.keywords)]
                for parameter, value in pairs:
                    if parameter in found[callee]:
                        new = (_names(value) & own) - found[name]
                        changed |= bool(new)
                        found[name] |= new
    return found


def _direct(function: ast.FunctionDef) -> set[str]:
    sizes: set[str] = set()
    for call in calls(function, "tl.arange"):
        sizes |= {name for argument in call.args[1:2] for name in _names(argument)}
    for call in calls(function, *_SHAPED):
        for argument in call.args[:1]:
            sizes |= _names(argument)
    for call in calls(function, "range", "tl.range"):
        sizes |= {name for argument in call.args[2:3] for name in _names(argument)}
    constants = {argument.arg for argument in parameters(function) if _is_constexpr(argument)}
    return sizes & constants


def _is_constexpr(argument: ast.arg) -> bool:
    return argument.annotation is not None and name_of(argument.annotation) in {"tl.constexpr", "constexpr"}


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def has_loop_over_memory(function: ast.FunctionDef) -> bool:
    """Whether a kernel loads in a loop, so that the compiler can overlap the loads of one turn with the next's work."""
    return any(
        next(calls(loop, "tl.load"), None) is not None
        for loop in ast.walk(function)
        if isinstance(loop, ast.For | ast.While)
    )


def widened_operands(module: ModuleText, function: ast.FunctionDef) -> list[tuple[ast.Call, ast.expr]]:
    """Return the casts to fp32 that operands of `tl.dot` get and nothing else needs, with what each of them casts.

    Products of two 16-bit floats are exact in fp32, which a matrix unit accumulates in: the casts change its speed
    alone. Empty unless every operand of every `tl.dot` of the kernel is such a cast, of 16-bit and fp32 values alike.
    """
    found: dict[ast.Call, ast.expr] = {}
    for dot in calls(function, "tl.dot"):
        for operand in dot.args[:2]:
            casts = _casts(module, function, operand)
            if not casts:
                return []
            found.update(casts)
    return list(found.items())


def _casts(module: ModuleText, function: ast.FunctionDef, operand: ast.expr) -> dict[ast.Call, ast.expr]:
    own = _widening(operand)
    if own is not None:
        return {operand: own} if isinstance(operand, ast.Call) else {}
    if not isinstance(operand, ast.Name):
        return {}
    casts: dict[ast.Call, ast.expr] = {}
    for node in ast.walk(function):
        if not (isinstance(node, ast.Name) and node.id == operand.id):
            continue
        holder = module.parent(node)
        if isinstance(node.ctx, ast.Load):
            if not (isinstance(holder, ast.Call) and name_of(holder.func) == "tl.dot" and node in holder.args[:2]):
                return {}
            continue
        value = holder.value if isinstance(holder, ast.Assign) and holder.targets == [node] else None
        inner = _widening(value)
        if inner is None or not isinstance(value, ast.Call):
            return {}
        casts[value] = inner
    return casts


def _widening(node: ast.AST | None) -> ast.expr | None:
    """Return what `x.to(tl.float32)` casts."""
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "to"
        and len(node.args) == 1
        and not node.keywords
        and name_of(node.args[0]) == "tl.float32"
    ):
        return node.func.value
    return None


def numbering(module: ModuleText, function: ast.FunctionDef) -> Numbering | None:
    """Return how the kernel splits the number of a tile into row and column, where that is recognisable.

    The number is a program's id, the variable of `range(tl.program_id(0), total, tl.num_programs(0))`, a number that is
    compared with the total (`tile < total`), or the remainder of one of them (`number % each`: the tile within its
    matrix). Nothing else may use it but one pair of `//` and `%`.
    """
    totals = _totals(module, function)
    for number, total in totals.items():
        split: dict[str, tuple[list[ast.BinOp], list[ast.BinOp]]] = {}
        other = False
        for use in _loads(function, number):
            holder = module.parent(use)
            if isinstance(holder, ast.Compare) and _limit(holder, number) is not None:
                continue
            if isinstance(holder, ast.Call) and holder in _aliases(module, function, totals):
                continue
            if not (isinstance(holder, ast.BinOp) and holder.left is use and _plain(holder.right)):
                other = True
            elif isinstance(holder.op, ast.FloorDiv):
                split.setdefault(module.code(holder.right), ([], []))[0].append(holder)
            elif isinstance(holder.op, ast.Mod):
                split.setdefault(module.code(holder.right), ([], []))[1].append(holder)
            else:
                other = True
        if other or len(split) != 1:
            continue
        across, (divisions, remainders) = next(iter(split.items()))
        # The number within a matrix comes of a pair itself: the tiles of that pair are whole matrices.
        matrices = any(_target(module.parent(node), node) in totals for node in remainders)
        if divisions and remainders and not matrices and across != total:
            return Numbering(tuple(divisions), tuple(remainders), number, across, total)
    return None


def _plain(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) or integer(node) is not None


def _loads(function: ast.FunctionDef, name: str) -> list[ast.Name]:
    return [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
    ]


def _target(statement: ast.AST | None, value: ast.AST) -> str:
    """Return the name that a statement binds to `value`; "" for anything else."""
    if isinstance(statement, ast.Assign) and statement.value is value and len(statement.targets) == 1:
        return name_of(statement.targets[0])
    return ""


def _limit(compared: ast.Compare, number: str) -> ast.expr | None:
    """Return the total of `number < total`."""
    if name_of(compared.left) == number and len(compared.ops) == 1 and isinstance(compared.ops[0], ast.Lt):
        return compared.comparators[0] if _plain(compared.comparators[0]) else None
    return None


def _aliases(module: ModuleText, function: ast.FunctionDef, totals: Mapping[str, str]) -> dict[ast.Call, str]:
    """Return the casts of numbers of tiles that get a name, `t = tl.cast(tile, tl.int64)`, with the number."""
    found = {}
    for call in ast.walk(function):
        if isinstance(call, ast.Call) and _target(module.parent(call), call) and call.args:
            cast = name_of(call.func) == "tl.cast" and name_of(call.args[0])
            if cast and cast in totals:
                found[call] = cast
    return found


def _totals(module: ModuleText, function: ast.FunctionDef) -> dict[str, str]:
    """Return, by the name of a number of a tile, the text of how many there are."""
    bound: dict[str, int] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound[node.id] = bound.get(node.id, 0) + 1
    once = {name for name, times in bound.items() if times == 1}
    found: dict[str, str] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.For) and name_of(node.target) in once:
            given = node.iter.args if isinstance(node.iter, ast.Call) else []
            if len(given) == 3 and _plain(given[1]) and name_of(node.iter.func) in _RANGES:  # type: ignore[attr-defined]
                first = _axis(function, given[0], "tl.program_id")
                if first is not None and first == _axis(function, given[2], "tl.num_programs"):
                    found[name_of(node.target)] = module.code(given[1])
        elif isinstance(node, ast.Assign) and (name := _target(node, node.value)) in once:
            axis = _axis(function, node.value, "tl.program_id")
            if axis is not None and _is_number(node.value):
                found[name] = f"tl.num_programs({axis})"
        if isinstance(node, ast.Compare) and name_of(node.left) in once:
            limit = _limit(node, name_of(node.left))
            if limit is not None and _scalar(function, name_of(node.left)):
                found[name_of(node.left)] = module.code(limit)
    for call, number in _aliases(module, function, found).items():
        if (name := _target(module.parent(call), call)) in once:
            found[name] = found[number]
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and (name := _target(node, node.value)) in once:
            value = node.value
            within = isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mod)
            if within and name_of(value.left) in found and _plain(value.right):  # type: ignore[attr-defined]
                found[name] = module.code(value.right)  # type: ignore[attr-defined]
    return found


def _is_number(node: ast.expr) -> bool:
    """Whether an expression is a program's id itself, cast perhaps: not one that only goes through a name."""
    return not isinstance(node, ast.Name)


def _scalar(function: ast.FunctionDef, name: str) -> bool:
    """Whether a name is bound to sums and products of numbers of programs and turns of loops: no block of values."""
    values = [
        node.value for node in ast.walk(function) if isinstance(node, ast.Assign) and _target(node, node.value) == name
    ]
    if len(values) != 1:
        return False
    inside = list(ast.walk(values[0]))
    if any(isinstance(n, ast.Call) and name_of(n.func) != "tl.program_id" for n in inside):
        return False
    names = {n.id for n in inside if isinstance(n, ast.Name)} - {"tl", name}
    return any(_axis(function, ast.Name(id=n, ctx=ast.Load()), "tl.program_id") is not None for n in names) or any(
        isinstance(n, ast.Call) for n in inside
    )


def _axis(function: ast.FunctionDef, node: ast.expr, what: str) -> int | None:
    """Return the axis of `tl.program_id(axis)`, also through a name that is assigned once."""
    if isinstance(node, ast.Name):
        values = [
            n.value
            for n in ast.walk(function)
            if isinstance(n, ast.Assign) and any(name_of(target) == node.id for target in n.targets)
        ]
        return _axis(function, values[0], what) if len(values) == 1 and values[0] is not node else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "to":
        return _axis(function, node.func.value, what)
    if isinstance(node, ast.Call) and name_of(node.func) == what:
        given = keyword(node, "axis")
        return integer(given.value if given else node.args[0] if node.args else None)
    return None
