"""Finds every parameter of a module with the edits that set it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bringup.search.parameters._kernels import (
    Launch,
    Numbering,
    block_parameters,
    has_loop_over_memory,
    launches,
    numbering,
    widened_operands,
)
from bringup.search.parameters._slices import Slices
from bringup.search.parameters._text import Edit, ModuleText, calls, integer, keyword, name_of
from bringup.search.parameters.space import DEFAULT, Kind, Value

NATIVE, WIDENED = "native", "widened"
SWAPPED, KEPT = "swapped", "kept"
_LARGEST_BLOCK = 1 << 17  # literals beyond are no sizes of blocks
_FEWEST = 1000  # a smaller literal in a grid is no limit of programs
_SHARES = frozenset({"triton.cdiv", "tl.cdiv"})
_CONFIGURED = frozenset({"triton.autotune", "triton.heuristics"})


@dataclass(frozen=True)
class Found:
    """A parameter in a text. `edits` takes a value that is not the present one and returns what sets it."""

    name: str
    kind: Kind
    function: str
    line: int
    present: Value
    edits: Callable[[Value], list[Edit]]
    dot: bool = False  # a block that `tl.dot` multiplies


def find(module: ModuleText) -> list[Found]:
    """Return all parameters, in the order of the text; names are unique."""
    found = [*_blocks_and_programs(module), *_options(module), *_dots(module), *_orders(module), *_axes(module)]
    found.sort(key=lambda one: (one.line, one.kind, one.name))
    names: dict[str, int] = {}
    unique = []
    for one in found:
        names[one.name] = names.get(one.name, 0) + 1
        again = f"#{names[one.name]}" if names[one.name] > 1 else ""
        unique.append(Found(one.name + again, one.kind, one.function, one.line, one.present, one.edits, one.dot))
    return unique


# Sizes of blocks, numbers of programs ----------------------------------------------------------------------------


class _Groups:
    """Literals that must keep being equal."""

    def __init__(self) -> None:
        self._leader: dict[ast.Constant, ast.Constant] = {}

    def leader(self, node: ast.Constant) -> ast.Constant:
        while (above := self._leader.setdefault(node, node)) is not node:
            node = above
        return node

    def join(self, one: ast.Constant, other: ast.Constant) -> None:
        self._leader[self.leader(other)] = self.leader(one)

    def members(self, node: ast.Constant) -> list[ast.Constant]:
        return [other for other in self._leader if self.leader(other) is self.leader(node)]


def _blocks_and_programs(module: ModuleText) -> Iterator[Found]:
    slices, groups = Slices(module), _Groups()
    blocks = block_parameters(module)
    sizes: dict[ast.Constant, tuple[str, str]] = {}  # literal -> kernel, parameter
    fixed: dict[ast.Constant, Launch] = {}  # literals that stand in a launch themselves
    every = launches(module)
    for launch in every:
        owner = module.owner(launch.call)
        for name in sorted(blocks[launch.kernel] & launch.arguments.keys()):
            for literal in slices.sizes(launch.arguments[name], owner):
                if _is_size(module, literal):
                    sizes.setdefault(literal, (launch.kernel, name))
                    groups.leader(literal)
                    if literal is launch.arguments[name]:
                        fixed[literal] = launch
    partners: dict[ast.Constant, int] = {}  # literals that follow a fixed size, and by how much they differ
    for literal, launch in fixed.items():
        value, owner = integer(literal), module.owner(launch.call)
        assert value is not None
        for other in _counted(module, slices, launch, owner):
            number = integer(other)
            if other not in sizes and value >= 8 and number in {value, value - 1}:
                partners[other] = value - number if number is not None else 0
                groups.join(literal, other)
        # Equal sizes in one launch share what counts its programs: they cannot be told apart.
        if any(_counts(module, member) for member in groups.members(literal)):
            for other, place in fixed.items():
                if place is launch and integer(other) == value:
                    groups.join(literal, other)
    done: set[ast.Constant] = set()
    for literal in sorted(sizes, key=module.span):
        if groups.leader(literal) in done:
            continue
        done.add(groups.leader(literal))
        members = sorted(groups.members(literal), key=module.span)
        kernel, name = sizes[literal]
        present = integer(literal)
        assert present is not None
        dot = any(True for _ in calls(module.kernels[kernel], "tl.dot"))
        yield Found(
            f"{name}@{literal.lineno}",
            "block",
            kernel,
            literal.lineno,
            present,
            _rewrite(module, members, partners),
            dot,
        )
    yield from _programs(module, slices, every, {*sizes, *partners})


def _rewrite(
    module: ModuleText, literals: list[ast.Constant], less: dict[ast.Constant, int]
) -> Callable[[Value], list[Edit]]:
    return lambda value: [module.replace(one, str(int(value) - less.get(one, 0))) for one in literals]


def _is_size(module: ModuleText, literal: ast.Constant) -> bool:
    value = integer(literal)
    if value is None or not 1 <= value <= _LARGEST_BLOCK or value & (value - 1):
        return False
    # A one is a size only where it stands for itself: `rows = 1`, `ROWS=1`, `1 if few else 8`.
    return value > 1 or not isinstance(module.parent(literal), ast.BinOp | ast.Call) or _in_launch(module, literal)


def _in_launch(module: ModuleText, literal: ast.Constant) -> bool:
    holder = module.parent(literal)
    return isinstance(holder, ast.keyword)


def _counts(module: ModuleText, literal: ast.Constant) -> bool:
    holder = module.parent(literal)
    return isinstance(holder, ast.BinOp) or (isinstance(holder, ast.Call) and name_of(holder.func) in _SHARES)


def _counted(module: ModuleText, slices: Slices, launch: Launch, owner: str) -> list[ast.Constant]:
    """Return the literals that count a launch's programs and arguments: `cdiv(n, 1024)`, `(n + 1023) // 1024`."""
    expressions = [launch.grid, *launch.call.args, *(argument.value for argument in launch.call.keywords)]
    found: dict[ast.Constant, None] = {}
    for expression in expressions:
        for literal in slices.everything(expression, owner):
            holder = module.parent(literal)
            if not _counts(module, literal):
                continue
            above = module.parent(holder) if holder is not None else None
            value = integer(literal)
            if isinstance(holder, ast.BinOp) and isinstance(holder.op, ast.Mult):
                continue
            # cdiv(n, 32) * 32 rounds a length up: that 32 is an alignment.
            rounded = isinstance(above, ast.BinOp) and isinstance(above.op, ast.Mult)
            if rounded and value in {integer(above.left), integer(above.right)}:  # type: ignore[union-attr]
                continue
            found[literal] = None
    return list(found)


def _programs(module: ModuleText, slices: Slices, every: list[Launch], taken: set[ast.Constant]) -> Iterator[Found]:
    """Yield the limits of the number of programs: `min(tiles, 65535)`, `cdiv(blocks, 32768)` programs' share."""
    seen: set[ast.Constant] = set()
    for launch in every:
        alike: dict[int, list[ast.Constant]] = {}
        for literal in slices.everything(launch.grid, module.owner(launch.call)):
            holder, value = module.parent(literal), integer(literal)
            limits = isinstance(holder, ast.Call) and (
                name_of(holder.func) == "min" or (name_of(holder.func) in _SHARES and holder.args[-1] is literal)
            )
            if value is not None and value >= _FEWEST and limits and literal not in taken and literal not in seen:
                seen.add(literal)
                alike.setdefault(value, []).append(literal)
        for value, literals in alike.items():
            first = min(literals, key=module.span)
            yield Found(
                f"programs@{first.lineno}",
                "programs",
                launch.kernel,
                first.lineno,
                value,
                _rewrite(module, literals, {}),
            )


# Options of a launch ---------------------------------------------------------------------------------------------


def _options(module: ModuleText) -> Iterator[Found]:
    for launch in launches(module):
        function = module.kernels[launch.kernel]
        if any(name_of(d.func) in _CONFIGURED for d in function.decorator_list if isinstance(d, ast.Call)):
            continue
        options: list[Kind] = ["num_warps"]
        if has_loop_over_memory(function):
            options.append("num_stages")
        if any(argument.arg is None for argument in launch.call.keywords):
            continue  # **options may hold them already
        for option in options:
            given = keyword(launch.call, option)
            value = integer(given.value) if given else None
            yield Found(
                f"{option}@{launch.call.lineno}", option, launch.kernel, launch.call.lineno,
                DEFAULT if given is None else value if value is not None else module.code(given.value),
                _option(module, launch.call, option, given),
            )  # fmt: skip


def _option(
    module: ModuleText, call: ast.Call, option: str, given: ast.keyword | None
) -> Callable[[Value], list[Edit]]:
    if given is None:
        return lambda value: [module.add_keyword(call, f"{option}={value}")]
    return lambda value: [module.replace(given.value, str(value))]


# Matrix products -------------------------------------------------------------------------------------------------


def _dots(module: ModuleText) -> Iterator[Found]:
    for name, function in module.kernels.items():
        dots = list(calls(function, "tl.dot"))
        if not dots:
            continue
        given = [keyword(dot, "input_precision") for dot in dots]
        values = {_text(one.value) if one is not None else DEFAULT for one in given}
        if len(values) == 1 and None not in values:
            yield Found(
                f"input_precision@{dots[0].lineno}", "input_precision", name, dots[0].lineno, values.pop() or DEFAULT,
                _precision(module, dots, given),
            )  # fmt: skip
        if casts := widened_operands(module, function):
            line = min(call.lineno for call, _ in casts)
            yield Found(f"operands@{line}", "operands", name, line, WIDENED, _unwidened(module, casts))


def _text(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _precision(
    module: ModuleText, dots: list[ast.Call], given: list[ast.keyword | None]
) -> Callable[[Value], list[Edit]]:
    def edits(value: Value) -> list[Edit]:
        return [
            module.replace(one.value, f'"{value}"') if one is not None
            else module.add_keyword(dot, f'input_precision="{value}"')
            for dot, one in zip(dots, given, strict=True)
        ]  # fmt: skip

    return edits


def _unwidened(module: ModuleText, casts: list[tuple[ast.Call, ast.expr]]) -> Callable[[Value], list[Edit]]:
    # The cast's own text goes: what follows the value that it casts.
    return lambda _: [Edit(module.span(inner)[1], module.span(call)[1], "") for call, inner in casts]


# Orders ----------------------------------------------------------------------------------------------------------


def _orders(module: ModuleText) -> Iterator[Found]:
    for name, function in module.kernels.items():
        # Which tiles are near in time matters where they share operands.
        tiles = numbering(module, function) if next(calls(function, "tl.dot"), None) is not None else None
        if tiles is None:
            continue

        line = min(node.lineno for node in (*tiles.divisions, *tiles.remainders))
        yield Found(f"group@{line}", "order", name, line, 1, _grouped(module, tiles))


def _grouped(module: ModuleText, tiles: Numbering) -> Callable[[Value], list[Edit]]:
    def edits(value: Value) -> list[Edit]:
        number, across, total = tiles.number, tiles.across, tiles.total
        pair = f"tl.swizzle2d({number} // {across}, {number} % {across}, {total} // {across}, {across}, {value})"
        return [
            *(module.replace(node, f"{pair}[0]") for node in tiles.divisions),
            *(module.replace(node, f"{pair}[1]") for node in tiles.remainders),
        ]

    return edits


def _axes(module: ModuleText) -> Iterator[Found]:
    """Yield the order of the first two axes of a grid, where the kernel and all its launches name both."""
    every = launches(module)
    for name, function in module.kernels.items():
        places = [
            given.value if (given := keyword(call, "axis")) else call.args[0]
            for call in calls(function, "tl.program_id", "tl.num_programs")
            if call.args or keyword(call, "axis")
        ]
        axes = [integer(place) for place in places]
        own = [launch for launch in every if launch.kernel == name]
        grids = [_pair(module, launch) for launch in own]
        pairs = [grid for grid in grids if grid is not None]
        if not {0, 1} <= set(axes) or None in axes or 2 in axes or not pairs or len(pairs) != len(grids):
            continue
        edits = [module.replace(place, str(1 - int(axis or 0))) for place, axis in zip(places, axes, strict=True)]
        for grid in {id(grid): grid for grid in pairs}.values():
            first, second = grid.elts
            edits += [module.replace(first, module.code(second)), module.replace(second, module.code(first))]
        line = min(place.lineno for place in places)
        yield Found(f"axes@{line}", "axes", name, line, KEPT, _always(edits))


def _always(edits: list[Edit]) -> Callable[[Value], list[Edit]]:
    return lambda _: edits


def _pair(module: ModuleText, launch: Launch) -> ast.Tuple | None:
    grid: ast.expr | None = launch.grid
    if isinstance(grid, ast.Name):
        values = list(Slices(module).bindings(grid.id, module.owner(launch.call)))
        used = [n for n in ast.walk(module.tree) if isinstance(n, ast.Name) and n.id == grid.id]
        # Nobody else may read the grid that is changed.
        grid = values[0] if len(values) == 1 and len(used) == 2 else None
    return grid if isinstance(grid, ast.Tuple) and len(grid.elts) == 2 else None
