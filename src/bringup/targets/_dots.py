"""The arithmetic of a kernel's matrix products (`tl.dot`), from its TTIR: shapes, and turns where they are constant.

A loop whose bounds hang on arguments, or a product behind a condition, has no number of its own in the text: there the
operations are not known, and nothing is guessed.
"""

from __future__ import annotations

import math
from typing import Any

# What the matrix unit multiplies for a precision that a float32 dot asks for, and how many products of that it takes.
_PRECISIONS = {"ieee": ("fp32", 1), "tf32": ("tf32", 1), "tf32x3": ("tf32", 3), "bf16x3": ("bf16", 3),
               "bf16x6": ("bf16", 6)}  # fmt: skip
_ELEMENTS = {"f16": "fp16", "bf16": "bf16", "i8": "int8", "f64": "fp64 dot"}


def dots_of(text: str) -> dict[str, Any] | None:
    """What a kernel's dots do; None where the text cannot be read.

    `unit`: what is multiplied, a name of `peak_tflops`; "" for several, or one that is not known. `times`: products on
    the unit for each of the dot's. `operations` of one program, on the unit; None where the text alone does not say. No
    dots: {}.
    """
    if "tt.dot" not in text:
        return {}
    from bringup.vpe.parse import ParseError, parse

    try:
        module = parse(text)
    except (ParseError, ArithmeticError, AssertionError, LookupError, RecursionError, TypeError, ValueError):
        return None  # a construct that this reader does not know
    dots = [op for op in module.walk() if op.name in ("tt.dot", "tt.dot_scaled")]
    if not dots:
        return None
    units = {_unit(op) for op in dots}
    unit, times = next(iter(units)) if len(units) == 1 else ("", 1)
    total: int | None = 0
    apart = len(module.funcs) > 1 or any(len(func.blocks) > 1 for func in module.funcs.values())
    for op in dots:
        turns = None if apart or not unit else _turns(op)
        total = None if turns is None or total is None else total + turns * times * _operations(op)
    return {"unit": unit, "times": times, "operations": total}


def _unit(op: Any) -> tuple[str, int]:
    left, right = (value.type.elem for value in op.operands[:2])
    if op.name != "tt.dot" or left != right:
        return ("fp8", 1) if op.name == "tt.dot" and left[:2] == right[:2] == "f8" else ("", 1)
    if left == "f32":
        return _PRECISIONS.get(op.attrs.get("inputPrecision", "ieee"), ("", 1))
    return ("fp8" if left.startswith("f8") else _ELEMENTS.get(left, "")), 1


def _operations(op: Any) -> int:
    *batch, m, k = op.operands[0].type.dims
    n = op.operands[1].type.dims[-1]
    return int(2 * math.prod(batch) * m * k * n)


def _turns(op: Any) -> int | None:
    """How often an operation runs in one program; None where the text does not say."""
    turns, inside = 1, op.parent
    while inside is not None:
        if inside.name != "scf.for":
            return None
        first, last, step = (_constant(value) for value in inside.operands[:3])
        if first is None or last is None or not step:
            return None
        turns *= max(0, -(-(last - first) // step))
        inside = inside.parent
    return turns


def _constant(value: Any) -> int | None:
    if value.op is None or value.op.name != "arith.constant":
        return None
    try:
        return int(value.op.attrs["value"])
    except ValueError:
        return None
