"""Mutations of what only Triton code has: masks, neutral values, tiles, strides, axes, programs and dtypes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from bringup.linter import dotted
from bringup.mutation.mutator import Mutator
from bringup.mutation.source import Change, Edit, SourceModule, called, keyword

_LOWER = {
    "tl.float64": ("tl.float32",), "tl.float32": ("tl.float16", "tl.bfloat16"), "tl.int64": ("tl.int32",),
    "tl.int32": ("tl.int16",), "tl.int16": ("tl.int8",),
}  # fmt: skip
_AXIS_POSITION = {
    "tl.sum": 1, "tl.max": 1, "tl.min": 1, "tl.argmax": 1, "tl.argmin": 1, "tl.cumsum": 1, "tl.cumprod": 1,
    "tl.reduce": 1, "tl.associative_scan": 1, "tl.xor_sum": 1, "tl.sort": 1, "tl.flip": 1, "tl.expand_dims": 1,
}  # fmt: skip
_STRIDE = re.compile(r"stride|pitch|step|(^|_)s[a-z0-9]?($|_)", re.IGNORECASE)


def launches(module: SourceModule) -> Iterator[tuple[ast.Call, ast.Subscript, ast.FunctionDef]]:
    """Yield every `kernel[grid](...)`: the call, its `kernel[grid]` and the kernel's definition."""
    for call in module.nodes(ast.Call):
        if isinstance(call.func, ast.Subscript) and isinstance(call.func.value, ast.Name):
            name = call.func.value.id
            if name in module.kernels:
                yield call, call.func, module.functions[name]


class MaskDropped(Mutator):
    """An access without its mask."""

    id = "mask-dropped"
    title = "a load, store or atomic lost its mask"

    def changes(self, module: SourceModule) -> Iterator[Change]:
        """Remove `mask=`, and `other=` with it."""
        for call in module.nodes(ast.Call, "kernel"):
            name = called(call)
            mask = keyword(call, "mask")
            if name.startswith(("tl.load", "tl.store", "tl.atomic_")) and mask is not None:
                parts = [mask, *([other] if (other := keyword(call, "other")) else [])]
                edits = tuple(Edit(module.keyword_span(call, k), "") for k in parts)
                yield Change(call, edits, f"mask {module.code(mask.value)} of a {name.removeprefix('tl.')} is dropped")


class NeutralChanged(Mutator):
    """Another value where there is no data."""

    id = "neutral-changed"
    title = "another `other=`, initial value of an accumulator, or neutral value of a reduction"

    def changes(self, module: SourceModule) -> Iterator[Change]:
        """Change `other=`, `tl.zeros`, the value of `tl.full` and constant arms of `tl.where`."""
        for call in module.nodes(ast.Call, "kernel"):
            name = called(call)
            if name == "tl.load" and (other := keyword(call, "other")) is not None:
                # Where lanes never meet, a lane without data is never seen.
                if _lanes_meet(module.functions[module.function(call)]):
                    yield from self._another(module, other.value)
            elif name == "tl.full" and len(call.args) >= 2:
                yield from self._another(module, call.args[1])
            elif name == "tl.zeros":
                edits = [Edit(module.span(call.func), "tl.full")]
                shape = call.args[0] if call.args else None
                if shape is not None:
                    edits.append(Edit(module.span(shape), f"{module.code(shape)}, 1"))
                    yield Change(call, tuple(edits), f"starts at 1: {module.code(call)}")
            elif name == "tl.where" and len(call.args) == 3:
                for arm in call.args[1:]:
                    yield from self._another(module, arm)

    @staticmethod
    def _another(module: SourceModule, node: ast.expr) -> Iterator[Change]:
        code = module.code(node).replace("'", '"')
        if code in {'float("-inf")', '-float("inf")', 'float("inf")'} or code in {'float("nan")'}:
            yield module.replace(node, "0.0")
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield module.replace(node, str(not node.value))
        elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            kind = type(node.value)
            yield module.replace(node, repr(kind(0) if node.value == 1 else kind(1)))


def _lanes_meet(function: ast.FunctionDef) -> bool:
    calls = (called(node) for node in ast.walk(function) if isinstance(node, ast.Call))
    return any(name in _AXIS_POSITION or name in {"tl.dot", "tl.histogram", "tl.gather"} for name in calls)


class PrecisionLowered(Mutator):
    """A narrower dtype inside a kernel."""

    id = "precision-lowered"
    title = "an accumulator or intermediate has a narrower dtype"

    def changes(self, module: SourceModule) -> Iterator[Change]:
        """Replace dtypes in kernels by narrower ones; casts only between floats, since an index is rarely wide."""
        for node in module.nodes(ast.Attribute, "kernel"):
            for new in _LOWER.get(dotted(node), ()):
                if not self._index(module, node):
                    yield module.replace(node, new)

    @staticmethod
    def _index(module: SourceModule, node: ast.Attribute) -> bool:
        """Whether the dtype is that of a cast to integers, or of a reinterpretation of bits."""
        parent = module.parent(node)
        if (
            isinstance(parent, ast.Call)
            and isinstance(parent.func, ast.Attribute)
            and parent.func.attr in ("to", "cast")
        ):
            return keyword(parent, "bitcast") is not None or dotted(node).startswith("tl.int")
        return False


class TailSkipped(Mutator):
    """The last, partial tile is forgotten."""

    id = "tail-skipped"
    title = "the last partial tile is left out (`cdiv` becomes a floor division)"

    def changes(self, module: SourceModule) -> Iterator[Change]:
        """Round down where tiles are counted; end a loop over tiles one tile early."""
        for call in module.nodes(ast.Call):
            name = called(call)
            if name in {"triton.cdiv", "tl.cdiv"} and len(call.args) == 2 and not module.share(call.args[1]):
                text = f"({module.atom(call.args[0])} // {module.atom(call.args[1])})"
                yield module.replace(call, text)
            elif name in {"range", "tl.range"} and len(call.args) == 3:
                stop, step = call.args[1:]
                yield module.replace(stop, f"{module.atom(stop)} - {module.atom(step)}")
        for node in module.nodes(ast.BinOp):
            # (n + b - 1) // b
            if isinstance(node.op, ast.FloorDiv) and isinstance(node.left, ast.BinOp):
                shape = re.sub(r"\s", "", module.code(node.left))
                by = re.sub(r"\s", "", module.code(node.right))
                if shape.endswith((f"+{by}-1", f"+({by}-1)")):
                    left, _ = module.binary(node).operands
                    count = shape.removesuffix(f"+{by}-1").removesuffix(f"+({by}-1)")
                    yield Change(node, (Edit(left, count),), f"{module.code(node)} rounds down")


class StridesConfused(Mutator):
    """One stride for another."""

    id = "strides-confused"
    title = "two strides or sizes are mixed up at the launch"

    def changes(self, module: SourceModule) -> Iterator[Change]:
        """Swap neighbouring strides, then neighbouring sizes, of a launch; take the stride of another axis."""
        for call, _, kernel in launches(module):
            names = [a.arg for a in kernel.args.args]
            types = [module.code(a.annotation) if a.annotation else "" for a in kernel.args.args]
            for i, (one, other) in enumerate(zip(call.args, call.args[1:], strict=False)):
                if isinstance(one, ast.Starred) or isinstance(other, ast.Starred):
                    break
                if i + 1 >= len(names):
                    break
                if any("constexpr" in types[j] for j in (i, i + 1)):
                    continue
                strides = all(_STRIDE.search(names[j]) for j in (i, i + 1))
                if strides or all(self._number(kernel, names[j]) for j in (i, i + 1)):
                    what = "strides" if strides else "arguments"
                    yield from module.swap(
                        one, one, other, f"{what} {names[i]} and {names[i + 1]} swapped at the launch"
                    )
        for method in module.nodes(ast.Call):
            if isinstance(method.func, ast.Attribute) and method.func.attr in {"stride", "size"} and method.args:
                yield from _other_axis(module, method.args[0])
        for item in module.nodes(ast.Subscript):
            if isinstance(item.ctx, ast.Load) and _sizes(item.value):
                yield from _other_axis(module, item.slice)

    @staticmethod
    def _number(kernel: ast.FunctionDef, name: str) -> bool:
        """Whether a parameter of a kernel is a number rather than a pointer: it never starts an address."""
        if "ptr" in name:
            return False
        for node in ast.walk(kernel):
            if isinstance(node, ast.Call) and called(node).startswith(("tl.load", "tl.store", "tl.atomic_")):
                first = node.args[0] if node.args else None
                while isinstance(first, ast.BinOp):
                    first = first.left
                if isinstance(first, ast.Name) and first.id == name:
                    return False
        return True


def _sizes(node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in {"shape", "strides"}
    return isinstance(node, ast.Name) and node.id in {"shape", "sizes", "strides"}


def _other_axis(module: SourceModule, node: ast.expr) -> Iterator[Change]:
    text = module.code(node)
    if text in {"0", "1", "2", "3", "-1", "-2"}:
        new = {"0": "1", "1": "0", "2": "1", "3": "2", "-1": "-2", "-2": "-1"}[text]
        yield module.replace(node, new, f"axis {text} becomes {new} in {module.code(module.parent(node) or node)}")


class AxisSwapped(Mutator):
    """The wrong axis."""

    id = "axis-swapped"
    title = "a reduction, an expansion or a program id takes another axis"

    def changes(self, module: SourceModule) -> Iterator[Change]:
        """Change axes of reductions, scans and program ids, `[:, None]`, and the axes of layout methods."""
        for call in module.nodes(ast.Call):
            name = called(call)
            axis = keyword(call, "axis")
            place = _AXIS_POSITION.get(name)
            if axis is not None and module.place(call) == "kernel":
                yield from _other_axis(module, axis.value)
            elif place is not None and len(call.args) > place:
                yield from _other_axis(module, call.args[place])
            # Not tl.num_programs: with another number of programs they do some work twice.
            if name == "tl.program_id" and call.args:
                yield from _other_axis(module, call.args[0])
            method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            if method in {"movedim", "transpose", "swapaxes"} and len(call.args) == 2:
                yield from module.swap(call, call.args[0], call.args[1], f"axes swapped in {module.code(call)}")
            elif method in {"unsqueeze", "narrow", "select", "flatten", "squeeze", "unbind"} and call.args:
                yield from _other_axis(module, call.args[0])
        for item in module.nodes(ast.Subscript, "kernel"):
            flipped = {"[:,None]": "[None, :]", "[None,:]": "[:, None]"}
            code = re.sub(r"\s", "", f"[{module.code(item.slice)}]")
            if code in flipped:
                yield module.replace(item.slice, flipped[code][1:-1], f"{module.code(item)} takes the other axis")


class ProgramsSkipped(Mutator):
    """The last program of the grid is not started."""

    id = "last-program-skipped"
    title = "the last program along an axis of the grid is not started"

    def changes(self, module: SourceModule) -> Iterator[Change]:
        """Take one off each axis of a grid that has more than one program, unless any number of programs will do."""
        seen: set[ast.AST] = set()
        for _, subscript, kernel in launches(module):
            if any(isinstance(n, ast.Call) and called(n) == "tl.num_programs" for n in ast.walk(kernel)):
                continue
            for grid in self._grids(module, subscript.slice):
                for axis in grid.elts if isinstance(grid, ast.Tuple | ast.List) else [grid]:
                    if axis not in seen and not isinstance(axis, ast.Constant | ast.Starred):
                        seen.add(axis)
                        yield module.replace(axis, f"max({module.code(axis)} - 1, 1)")

    @staticmethod
    def _grids(module: SourceModule, grid: ast.expr) -> Iterator[ast.expr]:
        if isinstance(grid, ast.Lambda):
            yield grid.body
        elif isinstance(grid, ast.Name):
            for node in module.nodes(ast.Assign):
                if any(isinstance(t, ast.Name) and t.id == grid.id for t in node.targets):
                    value = node.value.body if isinstance(node.value, ast.Lambda) else node.value
                    if isinstance(value, ast.Tuple | ast.List):
                        yield value
        elif isinstance(grid, ast.Tuple | ast.List):
            yield grid


class DtypeBranchBroken(Mutator):
    """One dtype is treated like another."""

    id = "dtype-branch"
    title = "one dtype is treated like another"

    def changes(self, module: SourceModule) -> Iterator[Change]:
        """Change one entry of a table of dtypes; drop one dtype from a list; compare with another dtype."""
        for table in module.nodes(ast.Dict):
            for key, value in zip(table.keys, table.values, strict=True):
                if key is not None and dotted(key).startswith("torch.") and dotted(key) not in _NEVER:
                    for other in self._neighbour(module, table, value):
                        yield module.replace(value, other, f"{module.code(key)} maps to {other}")
        for node in module.nodes(ast.Compare):
            if len(node.ops) != 1:
                continue
            right = node.comparators[0]
            if isinstance(right, ast.Tuple | ast.List) and len(right.elts) > 1 and _dtype(right.elts[0]):
                for i, gone in enumerate(right.elts):
                    if dotted(gone) in _NEVER:
                        continue
                    rest = [module.code(e) for j, e in enumerate(right.elts) if j != i]
                    text = f"({', '.join(rest)}{',' if len(rest) == 1 else ''})"
                    yield module.replace(right, text, f"{module.code(gone)} is not in the list")
            elif _dtype(right):
                name = dotted(right)
                other = "torch.bfloat16" if name == "torch.float16" else "torch.float16"
                other = other if "float" in name else "torch.int32" if name != "torch.int32" else "torch.int64"
                yield module.replace(right, other)

    @staticmethod
    def _neighbour(module: SourceModule, table: ast.Dict, value: ast.expr) -> Iterator[str]:
        own = module.code(value)
        others = [module.code(v) for v in table.values if module.code(v) != own]
        if others:
            following = [module.code(v) for v in table.values[table.values.index(value) + 1 :]]
            yield next((text for text in following if text != own), others[0])


# Of the tensors that gates and audits have: those of the five dtypes, bool, uint8, and results of float64.
_NEVER = {f"torch.{name}" for name in ("int8", "int16", "short", "uint16", "uint32", "uint64", "complex32")}
_DTYPES = {"float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"}


def _dtype(node: ast.expr) -> bool:
    name = dotted(node)
    return name.startswith(("torch.", "tl.")) and name.partition(".")[2] in _DTYPES


class LayoutIgnored(Mutator):
    """A tensor is taken as it lies in memory."""

    id = "layout-ignored"
    title = "a copy that makes a tensor contiguous or separate, or writes the result back, is left out"

    def changes(self, module: SourceModule) -> Iterator[Change]:
        """Leave out `.contiguous()`, `.clone()` and `.copy_(...)`."""
        for call in module.nodes(ast.Call, "wrapper"):
            if not isinstance(call.func, ast.Attribute):
                continue
            if call.func.attr in {"contiguous", "clone"} and not call.args:
                yield module.replace(call, module.code(call.func.value))
            elif call.func.attr == "copy_" and isinstance(module.parent(call), ast.Expr):
                yield module.replace(call, "pass", f"left out: {module.code(call)}")
