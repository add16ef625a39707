"""`tl.device_print`: what programs wrote to their print buffers, formatted as Triton does on a GPU."""

from __future__ import annotations

import io
import math
import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from bringup.vpe.ir import Op, Type, Value
from bringup.vpe.kernel import LoadedKernel
from bringup.vpe.lower.lanes import FP8

_NUMPY: dict[str, str] = {
    "i1": "u1",
    "i8": "i1",
    "i16": "i2",
    "i32": "i4",
    "i64": "i8",
    "f16": "f2",
    "f32": "f4",
    "f64": "f8",
    "ptr": "u8",
}


def decode(data: npt.NDArray[np.uint8], type_: Type, unsigned: bool = False) -> npt.NDArray[Any]:
    """Bytes of a tensor to a NumPy array of its shape; bf16 and fp8 come as float32."""
    raw = data[: type_.nbytes]
    if type_.elem == "bf16":
        array: npt.NDArray[Any] = (raw.view("<u2").astype(np.uint32) << 16).view(np.float32)
    elif type_.elem in FP8:
        array = raw.astype(np.float32) if type_.elem not in FP8 else _fp8(raw, type_.elem)
    else:
        code = _NUMPY[type_.elem]
        array = raw.view("<" + (code.replace("i", "u") if unsigned and code[0] == "i" else code))
    if type_.elem == "i1":
        array = array.astype(bool)
    return array.reshape(type_.dims)


def _fp8(raw: npt.NDArray[np.uint8], elem: str) -> npt.NDArray[np.float32]:
    mantissa, bias, has_inf, unsigned_zero = FP8[elem]
    table = np.zeros(256, np.float32)
    for code in range(256):
        magnitude = code & 0x7F
        exponent, fraction = magnitude >> mantissa, magnitude & ((1 << mantissa) - 1)
        value = (
            math.ldexp(fraction, 1 - bias - mantissa)
            if exponent == 0
            else math.ldexp((1 << mantissa) + fraction, exponent - bias - mantissa)
        )
        if has_inf and exponent == 31:
            value = math.nan if fraction else math.inf
        elif not has_inf and not unsigned_zero and magnitude == 0x7F:
            value = math.nan
        table[code] = -value if code & 0x80 else value
    if unsigned_zero:
        table[0x80] = np.nan
    return table[raw]


def _lines(op: Op, program: tuple[int, int, int], payload: npt.NDArray[np.uint8]) -> list[str]:
    prefix = op.attrs.get("text", "")
    hexadecimal = op.attrs.get("hex") == "true"
    signed = op.ints_attr("isSigned") if "isSigned" in op.attrs else ()
    lines = []
    at = 0
    many = len(op.operands) > 1
    for position, value in enumerate(op.operands):
        array = decode(payload[at:], value.type, unsigned=position < len(signed) and not signed[position])
        at += max(value.type.nbytes, 8)
        for index in np.ndindex(*array.shape) if value.type.is_tensor else [()]:
            shown = _number(array[index], value, hexadecimal)
            padded = (f"{i:{len(str(size - 1))}}" for i, size in zip(index, array.shape, strict=True))
            where = f"idx ({', '.join(padded)})"
            operand = f"(operand {position}) " if many else ""
            lines.append(f"pid ({program[0]}, {program[1]}, {program[2]}) {where}{prefix}{operand}{shown}")
    if not op.operands:
        lines.append(f"pid ({program[0]}, {program[1]}, {program[2]}){prefix}")
    return lines


def _number(item: Any, value: Value, hexadecimal: bool) -> str:
    if hexadecimal:
        bits = item.view(f"u{item.dtype.itemsize}") if item.dtype.kind == "f" else item
        width = item.dtype.itemsize * 2
        return f"0x{int(bits) & ((1 << (4 * width)) - 1):0{width}x}"
    if item.dtype.kind == "f":
        return f"{float(item):f}"
    if value.type.elem == "ptr":
        return f"0x{int(item):x}"
    return str(int(item))


class Beginning(io.StringIO):
    """What is printed, as far as somebody reads it: a program may print a thousand times more."""

    def __init__(self, most: int) -> None:
        """`most`: characters; no line is cut."""
        super().__init__()
        self.left = most

    def write(self, text: str) -> int:
        """Take a text, while there is room."""
        if self.left > 0:
            super().write(text)
        self.left -= len(text)
        return len(text)


def show(kernel: LoadedKernel, grid: tuple[int, int, int], buffers: list[npt.NDArray[np.uint8] | None]) -> None:
    """Print everything that the programs of a launch printed, in program order of each thread.

    Where standard output is a `Beginning`, no more is made into text than it takes.
    """
    ops = {op.id: op for op in kernel.module.walk() if op.name == "tt.print"}
    out = sys.stdout
    for buffer in buffers:
        if buffer is None:
            continue
        used = int(buffer[:8].view(np.int64)[0])
        at = 8
        while at < used and not (isinstance(out, Beginning) and out.left <= 0):
            site, program, size = (int(x) for x in buffer[at : at + 24].view(np.int64))
            pid = (program % grid[0], program // grid[0] % grid[1], program // (grid[0] * grid[1]))
            out.write("".join(f"{line}\n" for line in _lines(ops[site], pid, buffer[at + 24 : at + 24 + size])))
            at += 24 + size
    out.flush()
