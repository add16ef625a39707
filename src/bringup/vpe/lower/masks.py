"""Masks that cut a box out of a block: conjunctions of `start + index < bound` along single axes.

Nearly all masks are of this form. Such a mask is never computed lane by lane: the DMA engine gets the box.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from bringup.vpe.ir import Value
from bringup.vpe.lower.affine import Affine, AffineAnalysis, Expr, Fits, saturated

Axes = tuple[int | None, ...]
MOST_PARTS = 100  # of a mask that is a box
_FLIP = {"slt": "sgt", "sgt": "slt", "sle": "sge", "sge": "sle"}


@dataclass
class Box:
    """Bounds by axis (`low` inclusive, `high` exclusive), and scalars that must all hold.

    It is the mask only where all of `needs` hold: a comparison whose left side passes the end of its type is no box.
    """

    low: list[tuple[int, Expr]] = field(default_factory=list)
    high: list[tuple[int, Expr]] = field(default_factory=list)
    conditions: list[Value] = field(default_factory=list)
    needs: list[Fits] = field(default_factory=list)


def box_of(analysis: AffineAnalysis, mask: Value) -> Box | None:
    """The box that a mask cuts out, or None if it is of another form."""
    box = Box()
    return box if _collect(analysis, mask, tuple(range(len(mask.type.dims))), box, set()) else None


def _collect(analysis: AffineAnalysis, mask: Value, axes: Axes, box: Box, known: set[tuple[Value, Axes]]) -> bool:
    """Add what `mask` demands; `axes[d]` is the axis of the whole block that axis d of this value lies along.

    `known`: what was added before, once for all that share it. What has more parts than lanes are worth is no box.
    """
    op = mask.op
    if op is None or len(known) > MOST_PARTS:
        return False
    if (mask, axes) in known:
        return True
    known.add((mask, axes))
    if op.name == "arith.andi":
        return all(_collect(analysis, part, axes, box, known) for part in op.operands)
    if op.name == "arith.constant":
        return op.attrs["value"] in ("true", "1")
    if op.name == "tt.splat":
        box.conditions.append(op.operands[0])
        return True
    if op.name == "tt.broadcast":
        inner = op.operands[0].type.dims
        kept = tuple(
            None if have != want else axis for have, want, axis in zip(inner, op.result.type.dims, axes, strict=True)
        )
        return _collect(analysis, op.operands[0], kept, box, known)
    if op.name == "tt.expand_dims":
        at = op.int_attr("axis")
        return _collect(analysis, op.operands[0], (*axes[:at], *axes[at + 1 :]), box, known)
    if op.name == "arith.cmpi":
        predicate = op.attrs["bare"].split(",")[0].strip()
        left, right = (analysis.line(value) for value in op.operands)
        if left is None or right is None:
            return False
        box.needs += [*left[1], *right[1]]
        return _compare(predicate, left[0], right[0], axes, box)
    return False


def _compare(predicate: str, left: Affine, right: Affine, axes: Axes, box: Box) -> bool:
    if predicate not in _FLIP:
        return False
    if left.uniform:
        predicate, left, right = _FLIP[predicate], right, left
    moving = [d for d, stride in enumerate(left.strides) if stride != 0]
    if not right.uniform or len(moving) != 1 or left.strides[moving[0]] != 1:
        return False
    axis = axes[moving[0]]
    if axis is None:
        return False
    bound = saturated("ssub.sat", right.start, left.start)
    if predicate in ("slt", "sle"):
        box.high.append((axis, bound if predicate == "slt" else saturated("sadd.sat", bound, 1)))
    else:
        box.low.append((axis, bound if predicate == "sge" else saturated("sadd.sat", bound, 1)))
    return True
