"""What every operation of a text must say of its operands and results, for each that can be lowered: shapes, elements.

The lowering takes room for a result by the type that the text declares, and fills it by the types of the operands.
Triton's verifier leaves some of that open (it takes `tt.cat` of two blocks of 1024 for a block of 2), and its front end
never says otherwise; a text may. So nothing is lowered that this module has no rule for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bringup.vpe.ir import Block, Func, Module, Op, Type, Value
from bringup.vpe.lower.elementwise import ELEMENTWISE
from bringup.vpe.parse import ParseError

_ACCUMULATES = "the accumulator is like the result"


class _Wrong(Exception):
    """A rule that an operation breaks."""


def check_shapes(module: Module) -> None:
    """Check each operation of a module; raises ParseError for the first one that breaks its rule."""
    for func in module.funcs.values():
        if any(value.type.is_tensor for value in func.args):
            raise ParseError(f"'{func.name}' takes a tensor")
        for block in func.blocks:
            _block(module, func, block)


def _block(module: Module, func: Func, block: Block) -> None:
    for op in block.everything:
        try:
            for value in (*op.operands, *op.results, *(arg for region in op.regions for arg in region.args)):
                _must(
                    all(_power_of_two(size) for size in value.type.dims), f"{value.type} has an axis of no power of 2"
                )
            if op.name == "tt.return":
                _alike(_types(op.operands), func.result_types, "what is returned is like the function's results")
            elif op.name == "tt.call":
                _call(module, op)
            elif op.name in ("cf.br", "cf.cond_br"):
                _branch(func, block, op)
            elif (rule := RULES.get(op.name)) is not None:
                rule(op)
        except _Wrong as error:
            raise ParseError(f"'{op.name}' is ill-formed: {error}") from None
        except (IndexError, KeyError, ValueError) as error:
            raise ParseError(f"'{op.name}' is ill-formed: {type(error).__name__}: {error}") from None
        for region in op.regions:
            _block(module, func, region)


def _must(holds: bool, words: str) -> None:
    if not holds:
        raise _Wrong(words)


def _power_of_two(size: int) -> bool:
    return size > 0 and size & (size - 1) == 0


def _types(values: Sequence[Value]) -> list[Type]:
    return [value.type for value in values]


def _alike(found: Sequence[Type], wanted: Sequence[Type], words: str) -> None:
    """Types one by one: shape, element, and how large the element is that a pointer points to."""
    _must(len(found) == len(wanted), f"{words}: {len(found)} of them, {len(wanted)} there")
    for one, other in zip(found, wanted, strict=True):
        _must(one.shape == other.shape and _same_element(one, other), f"{words}: {one} is not {other}")


def _same_element(one: Type, other: Type) -> bool:
    return one.elem == other.elem and (one.elem != "ptr" or one.pointee == other.pointee)


def _of_shape(values: Sequence[Value], shape: tuple[int, ...] | None) -> None:
    for value in values:
        _must(value.type.shape == shape, f"{value.type} where the shape is {list(shape or ())}")


def _results(op: Op, count: int = 1) -> list[Type]:
    _must(len(op.results) == count, f"{len(op.results)} results")
    return _types(op.results)


def _operands(op: Op, least: int, most: int | None = None) -> list[Type]:
    _must(least <= len(op.operands) <= (least if most is None else most), f"{len(op.operands)} operands")
    return _types(op.operands)


def _axis(op: Op, rank: int) -> int:
    axis = op.int_attr("axis")
    _must(0 <= axis < rank, f"axis {axis} of {rank}")
    return axis


# element by element ---------------------------------------------------------------------------------------------------


def _elementwise(op: Op) -> None:
    (result,) = _results(op)
    given = op.operands
    if op.name == "arith.select" and not given[0].type.is_tensor:
        given = given[1:]  # one condition for all
    _of_shape(given, result.shape)


def _ceil_divide(op: Op) -> None:
    _elementwise(op)
    _must(op.result.type.elem != "i1", "truth values are not divided")


def _addptr(op: Op) -> None:
    pointer, offset = _operands(op, 2)
    _alike(_results(op), [pointer], "the result is like the pointer")
    _must(pointer.elem == "ptr" and offset.elem in ("i8", "i16", "i32", "i64"), "a pointer and an offset")
    _of_shape(op.operands, pointer.shape)


def _select(op: Op) -> None:
    _elementwise(op)
    _, yes, no = _operands(op, 3)
    _alike([yes, no], [op.result.type] * 2, "both sides are like the result")


# how blocks lie -------------------------------------------------------------------------------------------------------


def _splat(op: Op) -> None:
    (source,), (result,) = _operands(op, 1), _results(op)
    _must(not source.is_tensor and result.is_tensor and _same_element(source, result), f"{source} to {result}")


def _unsplat(op: Op) -> None:
    (source,), (result,) = _operands(op, 1), _results(op)
    _must(source.numel == 1 and not result.is_tensor and _same_element(source, result), f"{source} to {result}")


def _broadcast(op: Op) -> None:
    (source,), (result,) = _operands(op, 1), _results(op)
    fits = len(source.dims) == len(result.dims) and all(
        have in (1, want) for have, want in zip(source.dims, result.dims, strict=True)
    )
    _must(fits and _same_element(source, result), f"{source} to {result}")


def _expand_dims(op: Op) -> None:
    (source,), (result,) = _operands(op, 1), _results(op)
    axis = _axis(op, len(result.dims))
    wanted = (*source.dims[:axis], 1, *source.dims[axis:])
    _must(result.dims == wanted and _same_element(source, result), f"{source} to {result}")


def _trans(op: Op) -> None:
    (source,), (result,) = _operands(op, 1), _results(op)
    order = op.ints_attr("order")
    _must(sorted(order) == list(range(len(source.dims))), f"order {list(order)}")
    wanted = tuple(source.dims[axis] for axis in order)
    _must(result.dims == wanted and _same_element(source, result), f"{source} to {result}")


def _reshape(op: Op) -> None:
    (source,), (result,) = _operands(op, 1), _results(op)
    fits = source.is_tensor and result.is_tensor and source.numel == result.numel
    _must(fits and _same_element(source, result), f"{source} to {result}")


def _make_range(op: Op) -> None:
    (result,) = _results(op)
    count = op.int_attr("end") - op.int_attr("start")
    _must(result.elem == "i32" and result.dims == (count,), f"{count} numbers are {result}")


def _join(op: Op) -> None:
    left, right = _operands(op, 2)
    _alike([right], [left], "both operands are alike")
    (result,) = _results(op)
    _must(result.dims == (*left.dims, 2) and _same_element(result, left), f"{left} twice is {result}")


def _split(op: Op) -> None:
    (source,) = _operands(op, 1)
    _must(source.dims[-1:] == (2,), f"{source} is not split")
    for result in _results(op, 2):
        _must(result.dims == source.dims[:-1] and _same_element(result, source), f"half of {source} is {result}")


def _cat(op: Op) -> None:
    left, right = _operands(op, 2)
    (result,) = _results(op)
    fits = len(left.dims) == len(right.dims) == len(result.dims) >= 1 and left.dims[1:] == right.dims[1:]
    fits = fits and result.dims == (left.dims[0] + right.dims[0], *left.dims[1:])
    _must(fits and _same_element(left, result) and _same_element(right, result), f"{left} and {right} is {result}")


def _constant(op: Op) -> None:
    _operands(op, 0)
    (result,) = _results(op)
    text = op.attrs["value"]
    if text.startswith("["):
        _must(text.count(",") + 1 == result.numel, f"{text.count(',') + 1} numbers for {result}")


def _nothing(op: Op) -> None:
    _operands(op, 0)
    _results(op)


# blocks as a whole ----------------------------------------------------------------------------------------------------


def _scan(op: Op) -> None:
    _must(bool(op.operands), "no operands")
    shape = op.operands[0].type.shape
    _must(shape is not None, "scalars are not scanned")
    _axis(op, len(shape or ()))
    _of_shape(op.operands, shape)
    _alike(_types(op.results), _types(op.operands), "results are like the operands")
    _combines(op)


def _reduce(op: Op) -> None:
    _must(bool(op.operands), "no operands")
    shape = op.operands[0].type.shape
    _must(shape is not None, "scalars are not reduced")
    axis = _axis(op, len(shape or ()))
    _of_shape(op.operands, shape)
    dims = [size for d, size in enumerate(shape or ()) if d != axis]
    wanted = [Type(value.type.elem, tuple(dims) if dims else None, value.type.pointee) for value in op.operands]
    _alike(_types(op.results), wanted, "results have the other axes")
    _combines(op)


def _combines(op: Op) -> None:
    """The region takes two of each and returns one of each."""
    scalars = [value.type.scalar for value in op.operands]
    (region,) = op.regions
    _alike(_types(region.args), [*scalars, *scalars], "the function takes two of each operand")
    for end in _ends(region, f"{op.name}.return"):
        _alike(_types(end.operands), scalars, "the function returns one of each operand")


def _ends(region: Block, name: str) -> list[Op]:
    found = [op for op in region.everything if op.name == name]
    _must(bool(found), f"no {name}")
    return found


def _map(op: Op) -> None:
    pack = op.int_attr("pack", 1)
    _must(_power_of_two(pack) and bool(op.results), f"pack = {pack}")
    _of_shape([*op.operands, *op.results], op.results[0].type.shape)
    (region,) = op.regions
    _alike(_types(region.args), [v.type.scalar for v in op.operands for _ in range(pack)], "the function's arguments")
    for end in _ends(region, "tt.map_elementwise.return"):
        _alike(_types(end.operands), [v.type.scalar for v in op.results for _ in range(pack)], "what it returns")


def _dot(op: Op) -> None:
    a, b, c = _operands(op, 3)
    _alike(_results(op), [c], _ACCUMULATES)
    _must(len(a.dims) == len(b.dims) == len(c.dims) and len(c.dims) in (2, 3), f"{a} by {b} is {c}")
    fits = a.dims[:-2] == b.dims[:-2] == c.dims[:-2] and a.dims[-1] == b.dims[-2]
    _must(fits and c.dims[-2:] == (a.dims[-2], b.dims[-1]), f"{a} by {b} is {c}")


def _dot_scaled(op: Op) -> None:
    from bringup.vpe.lower.scaled import GROUP, operands

    left, left_scale, right, right_scale, c = operands(op)
    _must(len(op.operands) == 3 + (left_scale is not None) + (right_scale is not None), f"{len(op.operands)} operands")
    _alike(_results(op), [c.type], _ACCUMULATES)
    *batch, m, n = c.type.dims
    sizes = []
    for side, value, outer, along in (("lhs", left, m, -1), ("rhs", right, n, -2)):
        dims = list(value.type.dims)
        _must(len(dims) == len(c.type.dims) and len(dims) in (2, 3) and dims[:-2] == batch, f"{value.type}")
        if op.attrs[side] == "e2m1":
            packed = op.attrs.get(f"{side}_k_pack") != "false"
            dims[along if packed else -3 - along] *= 2
        _must(dims[-3 - along] == outer, f"{value.type} in a product {c.type}")
        sizes.append(dims[along])
    _must(sizes[0] == sizes[1], f"{left.type} by {right.type}")
    for scale, outer in ((left_scale, m), (right_scale, n)):
        if scale is not None:
            _must(scale.type.dims == (*batch, outer, sizes[0] // GROUP), f"scales {scale.type} for K = {sizes[0]}")


def _gather(op: Op) -> None:
    source, places = _operands(op, 2)
    (result,) = _results(op)
    axis = _axis(op, len(source.dims))
    fits = len(places.dims) == len(source.dims) and all(
        have == want for d, (have, want) in enumerate(zip(source.dims, places.dims, strict=True)) if d != axis
    )
    _must(fits and result.shape == places.shape and _same_element(result, source), f"{places} of {source} is {result}")


def _histogram(op: Op) -> None:
    source, *mask = _operands(op, 1, 2)
    (result,) = _results(op)
    _must(len(source.dims) == len(result.dims) == 1 and result.elem in ("i32", "i64"), f"{source} to {result}")
    _must(not mask or (mask[0].shape == source.shape and mask[0].elem == "i1"), f"a mask {mask} of {source}")


# memory ---------------------------------------------------------------------------------------------------------------


def _pointed(op: Op) -> Type:
    """The type of what an access moves."""
    pointer = op.operands[0].type
    _must(pointer.elem == "ptr", f"{pointer} is no pointer")
    return Type(pointer.target.elem, pointer.shape, pointer.target.pointee)


def _masked(op: Op, masks: Sequence[Type]) -> None:
    for mask in masks:
        _must(mask.elem == "i1" and mask.shape == op.operands[0].type.shape, f"a mask {mask}")


def _load(op: Op) -> None:
    _, *rest = _operands(op, 1, 3)
    _alike(_results(op), [_pointed(op)], "the result is what is pointed to")
    _masked(op, rest[:1])
    _alike(rest[1:], [op.result.type] * len(rest[1:]), "the other value is like the result")


def _store(op: Op) -> None:
    _, value, *rest = _operands(op, 2, 3)
    _results(op, 0)
    _alike([value], [_pointed(op)], "the value is what is pointed to")
    _masked(op, rest)


def _atomic_rmw(op: Op) -> None:
    _, value, *rest = _operands(op, 2, 3)
    _alike([value, *_results(op)], [_pointed(op)] * 2, "value and result are what is pointed to")
    _masked(op, rest)


def _atomic_cas(op: Op) -> None:
    _, *values = _operands(op, 3)
    _alike([*values, *_results(op)], [_pointed(op)] * 3, "values and result are what is pointed to")


# control flow ---------------------------------------------------------------------------------------------------------


def _for(op: Op) -> None:
    bounds, inits = op.operands[:3], op.operands[3:]
    (body,) = op.regions
    _must(len(bounds) == 3 and bool(body.args), "three bounds and a counter")
    counter = body.args[0].type
    _must(not counter.is_tensor and counter.elem in ("i8", "i16", "i32", "i64"), f"a counter {counter}")
    _alike(_types(bounds), [counter] * 3, "bounds are like the counter")
    for what in (body.args[1:], op.results, body.ops[-1].operands):
        _alike(_types(what), _types(inits), "what is carried")


def _while(op: Op) -> None:
    before, after = op.regions
    _alike(_types(before.args), _types(op.operands), "what is carried")
    condition, *passed = before.ops[-1].operands
    _must(condition.type == Type("i1"), f"a condition {condition.type}")
    _alike(_types(after.args), _types(passed), "what is passed on")
    _alike(_types(op.results), _types(passed), "what is passed on")
    _alike(_types(after.ops[-1].operands), _types(op.operands), "what is carried")


def _if(op: Op) -> None:
    _must(_types(op.operands) == [Type("i1")], "one condition")
    _must(len(op.regions) == 2 or (len(op.regions) == 1 and not op.results), f"{len(op.regions)} regions")
    for region in op.regions:
        end = region.ops[-1]
        _alike(_types(end.operands) if end.name == "scf.yield" else [], _types(op.results), "what a side yields")


def _call(module: Module, op: Op) -> None:
    callee = module.funcs[op.attrs["callee"]]
    _alike(_types(op.operands), _types(callee.args), "arguments")
    _alike(_types(op.results), callee.result_types, "results")


def _branch(func: Func, block: Block, op: Op) -> None:
    blocks = {known.label: known for known in (*func.blocks, *block.others.values()) if known.label}
    if op.name == "cf.cond_br":
        _must(op.operands[0].type == Type("i1"), f"a condition {op.operands[0].type}")
    for label, values in op.successors:
        if label in blocks:
            _alike(_types(values), _types(blocks[label].args), "what a block is given")


def _free(op: Op) -> None:
    """Nothing is made of what it takes, or the operation around it says what that must be."""


RULES: dict[str, Callable[[Op], None]] = {
    **dict.fromkeys(ELEMENTWISE, _elementwise),
    **dict.fromkeys(("arith.ceildivsi", "arith.ceildivui", "arith.floordivsi"), _ceil_divide),
    "tt.addptr": _addptr, "arith.select": _select,
    "tt.splat": _splat, "tt.unsplat": _unsplat, "tt.broadcast": _broadcast, "tt.expand_dims": _expand_dims,
    "tt.trans": _trans, "tt.reshape": _reshape, "tt.make_range": _make_range, "tt.join": _join, "tt.split": _split,
    "tt.cat": _cat, "arith.constant": _constant, "ub.poison": _nothing, "tt.get_program_id": _nothing,
    "tt.get_num_programs": _nothing, "tt.scan": _scan, "tt.reduce": _reduce, "tt.map_elementwise": _map,
    "tt.dot": _dot, "tt.dot_scaled": _dot_scaled, "tt.gather": _gather, "tt.histogram": _histogram,
    "tt.load": _load, "tt.store": _store, "tt.atomic_rmw": _atomic_rmw, "tt.atomic_cas": _atomic_cas,
    "scf.for": _for, "scf.while": _while, "scf.if": _if,
    **dict.fromkeys(
        ("tt.print", "tt.assert", "scf.yield", "scf.condition", "tt.reduce.return", "tt.scan.return",
         "tt.map_elementwise.return", "llvm.intr.assume", "gpu.barrier", "ttg.barrier", "ttg.local_barrier"), _free,
    ),
}  # fmt: skip
"""What each operation must say; `tt.call`, `tt.return` and branches are checked against what they lead to."""
