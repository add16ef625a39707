"""`tl.dot_scaled`: products of matrices of small floats with a scale for every 32 elements of K (OCP's MX formats).

Elements are e2m1 (two in a byte, the lower half first), e4m3, e5m2, bf16 or fp16; scales are e8m0 bytes, 2^(s - 127),
255 for NaN. Each operand is widened and scaled in fp32, which is exact within fp32's range, and the product accumulated
in fp32 in the order of k, as `tl.dot` does.
"""

from __future__ import annotations

import math
import struct

from bringup.vpe import layout as L
from bringup.vpe.ir import Op, Value
from bringup.vpe.lower.core import Lowering
from bringup.vpe.lower.evaluate import Eval, Idx, Unsupported
from bringup.vpe.lower.lanes import V

GROUP = 32
"""Elements of K under one scale."""
_E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
_SLOT = {"bf16": L.Counter.DOT_BF16, "fp16": L.Counter.DOT_FP16}


def operands(op: Op) -> tuple[Value, Value | None, Value, Value | None, Value]:
    """Left matrix and its scales, right matrix and its scales, accumulator; None for scales that are not given."""
    parts = op.attrs["bare"].split(",")
    left, *rest = op.operands
    left_scale = rest.pop(0) if "scale" in parts[0] else None
    right, *rest = rest
    right_scale = rest.pop(0) if "scale" in parts[1] else None
    return left, left_scale, right, right_scale, rest[0]


def dot_scaled(low: Lowering, op: Op) -> None:
    """`tt.dot_scaled`: a @ b + c in fp32."""
    f = low.f
    left, left_scale, right, right_scale, c = operands(op)
    *batch, m, n = op.result.type.dims
    packed = op.attrs.get("lhs") == "e2m1" and op.attrs.get("lhs_k_pack") != "false"
    k = left.type.dims[-1] * (2 if packed else 1)
    if op.result.type.elem != "f32":
        raise Unsupported(op, f"a scaled dot with an accumulator of {op.result.type}; it is fp32")
    slot = next((_SLOT[kind] for side in ("lhs", "rhs") if (kind := op.attrs[side]) in _SLOT), L.Counter.DOT_FP8)
    low.counts[int(slot)] += math.prod(batch) * m * n * k
    a, b = (low.arena.take(math.prod(batch) * rows * k * 4) for rows in (m, n))
    _widen(low, left, left_scale, (*batch, m, k), op.attrs["lhs"], packed, low.address(a), along=-1)
    packed = op.attrs.get("rhs") == "e2m1" and op.attrs.get("rhs_k_pack") != "false"
    _widen(low, right, right_scale, (*batch, k, n), op.attrs["rhs"], packed, low.address(b), along=-2)
    target = low.buffer(op.result)
    low.put(c, target)
    name = f.unit.declare("vpe_dot_f32", "void", "ptr", "ptr", "ptr", "i64", "i64", "i64")
    for index in range(math.prod(batch)):
        f.do(
            f"call void {name}(ptr {f.gep8(low.address(a), index * m * k * 4)}, "
            f"ptr {f.gep8(low.address(b), index * k * n * 4)}, ptr {f.gep8(target, index * m * n * 4)}, "
            f"i64 {m}, i64 {n}, i64 {k})"
        )
    for offset in (a, b):
        low.arena.give(offset)


def _widen(
    low: Lowering, matrix: Value, scale: Value | None, shape: tuple[int, ...], kind: str, packed: bool, target: str,
    along: int,
) -> None:  # fmt: skip
    """Write a matrix of logical `shape`, K along axis `along`, as scaled fp32; `packed`: e2m1 pairs lie along K."""
    f = low.f
    k_axis = len(shape) + along
    pair_axis = k_axis if packed else 2 * len(shape) - 3 - k_axis  # the other one of the last two

    def body(evaluation: Eval, index: tuple[Idx, ...], linear: str) -> None:
        lanes = evaluation.lanes
        if kind == "e2m1":
            at = index[pair_axis].base
            pair = low.index(f"lshr i64 {at}, 1", shape[pair_axis] // 2 - 1)
            byte = evaluation.value(matrix, _at(index, pair_axis, pair))
            shift = f.emit(f"shl i64 {f.emit(f'and i64 {at}, 1')}, 2")
            wide = f.emit(f"zext i8 {byte.name} to i64")
            code = f.emit(f"and i64 {f.emit(f'lshr i64 {wide}, {shift}')}, 15")
            place = f.emit(f"getelementptr float, ptr {_table(low)}, i64 {code}")
            value = V(f.emit(f"load float, ptr {place}"), "f32")
        else:
            value = lanes.widen(evaluation.value(matrix, index))
        if scale is not None:
            group = low.index(f"lshr i64 {index[k_axis].base}, {GROUP.bit_length() - 1}", shape[k_axis] // GROUP - 1)
            other = index[2 * len(shape) - 3 - k_axis]
            code8 = evaluation.value(scale, (*index[:-2], other, Idx(group)))
            exponent = lanes.cast("zext", lanes.same(code8, "i8"), "i32")
            power = lanes.op("shl", [exponent, lanes.integer("i32", 23)])
            smallest = lanes.icmp("eq", exponent, lanes.integer("i32", 0))
            power = lanes.select(smallest, lanes.integer("i32", 0x00400000), power)
            nan = lanes.icmp("eq", exponent, lanes.integer("i32", 255))
            power = lanes.select(nan, lanes.integer("i32", 0x7FC00000), power)
            value = lanes.op("fmul", [value, lanes.bitcast(power, "f32")])
        evaluation.store(value, target, linear)

    low.each(shape, body, width=1)


def _at(index: tuple[Idx, ...], axis: int, base: str) -> tuple[Idx, ...]:
    return (*index[:axis], Idx(base), *index[axis + 1 :])


def _table(low: Lowering) -> str:
    """The sixteen values of e2m1 as a constant of the module."""
    unit = low.f.unit
    if unit.e2m1 is None:
        values = [*_E2M1, *(-value for value in _E2M1)]
        unit.e2m1 = unit.constant_bytes(struct.pack("<16f", *values))
    return unit.e2m1
