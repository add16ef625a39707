"""Calls of the special-function library: each function is compiled once, for one value and for 16 lanes, and
shared by all kernels.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from bringup.vpe import native
from bringup.vpe.ir import Op
from bringup.vpe.llvm_text import ATTRIBUTES
from bringup.vpe.lower.core import WIDTH
from bringup.vpe.lower.evaluate import Unsupported
from bringup.vpe.lower.lanes import REGISTER, Lanes, V


@dataclass(frozen=True)
class FunctionKey:
    """One overload: the symbol (`__nv_expf`, `math.exp`) and TTIR's argument types."""

    symbol: str
    arguments: tuple[str, ...]

    @property
    def name(self) -> str:
        """Stem of its native names."""
        return "vpem_" + "".join(c if c.isalnum() else "_" for c in f"{self.symbol}_{'_'.join(self.arguments)}")


class Calls:
    """Emits calls and remembers which functions a kernel needs."""

    def __init__(self) -> None:
        self.used: dict[FunctionKey, None] = {}

    def __call__(self, lanes: Lanes, name: str, args: list[V], elem: str) -> V:
        """Call `exp` or `__nv_expf` on values; see `elementwise.Call`."""
        symbol = name if name.startswith("__nv_") else f"math.{name}"
        key = FunctionKey(symbol, tuple(value.elem for value in args))
        result = _result(key)
        self.used.setdefault(key)
        args = lanes.unify(args)
        f = lanes.f
        registers = [REGISTER[value.elem] for value in args]
        if not args[0].vec or lanes.w == 1:
            f.unit.declare(f"{key.name}_s", REGISTER[result], *registers)
            text = ", ".join(f"{register} {value.name}" for register, value in zip(registers, args, strict=True))
            return V(f.emit(f"call {REGISTER[result]} @{key.name}_s({text})"), result, False)
        w = lanes.w
        if w == WIDTH:
            types = [f"<{WIDTH} x {register}>" for register in registers]
            target = f"<{WIDTH} x {REGISTER[result]}>"
            f.unit.declare(f"{key.name}_v", target, *types)
            text = ", ".join(f"{type_} {value.name}" for type_, value in zip(types, args, strict=True))
            return V(f.emit(f"call {target} @{key.name}_v({text})"), result, True)
        f.unit.declare(f"{key.name}_s", REGISTER[result], *registers)
        current = "poison"
        for lane in range(w):
            parts = [
                f"{register} " + f.emit(f"extractelement <{w} x {register}> {value.name}, i64 {lane}")
                for register, value in zip(registers, args, strict=True)
            ]
            one = f.emit(f"call {REGISTER[result]} @{key.name}_s({', '.join(parts)})")
            current = f.emit(
                f"insertelement <{w} x {REGISTER[result]}> {current}, {REGISTER[result]} {one}, i64 {lane}"
            )
        return V(current, result, True)


def _result(key: FunctionKey) -> str:
    from bringup.vpe.libdevice import UnknownMathFunction, lookup

    try:
        return lookup(key.symbol, key.arguments).result
    except UnknownMathFunction as error:
        raise Unsupported(Op(key.symbol), str(error)) from None


@functools.cache
def text_of(key: FunctionKey) -> tuple[str, tuple[str, ...]]:
    """LLVM IR of a function for one value and for 16 lanes, and the C functions that it calls."""
    from bringup.vpe.libdevice import lookup

    function = lookup(key.symbol, key.arguments)
    result = REGISTER[function.result]
    kinds = [REGISTER[kind] for kind in function.arguments]
    params = ", ".join(f"{kind} %a{i}" for i, kind in enumerate(kinds))
    forward = ", ".join(f"{kind} %a{i}" for i, kind in enumerate(kinds))
    callee = f'@"{function.callee}"'
    lines = [*function.texts.values()]
    lines.append(
        f"define {result} @{key.name}_s({params}) #77 "
        f"{{\n  %r = call {result} {callee}({forward})\n  ret {result} %r\n}}"
    )
    vectors = [f"<{WIDTH} x {kind}>" for kind in kinds]
    lines.append(
        f"define <{WIDTH} x {result}> @{key.name}_v({', '.join(f'{t} %a{i}' for i, t in enumerate(vectors))}) #77 {{"
    )
    lines.append("entry:")
    lines.append(f"  %out = alloca [{WIDTH} x {result}], align 64")
    for i, type_ in enumerate(vectors):
        lines.append(f"  %m{i} = alloca [{WIDTH} x {kinds[i]}], align 64")
        lines.append(f"  store {type_} %a{i}, ptr %m{i}, align 64")
    lines.append("  br label %loop\nloop:\n  %i = phi i64 [ 0, %entry ], [ %n, %loop ]")
    for i, kind in enumerate(kinds):
        lines.append(f"  %p{i} = getelementptr {kind}, ptr %m{i}, i64 %i\n  %v{i} = load {kind}, ptr %p{i}")
    values = ", ".join(f"{kind} %v{i}" for i, kind in enumerate(kinds))
    lines.append(f"  %r = call {result} {callee}({values})")
    lines.append(f"  %q = getelementptr {result}, ptr %out, i64 %i\n  store {result} %r, ptr %q")
    lines.append(
        f"  %n = add nuw nsw i64 %i, 1\n  %c = icmp ult i64 %n, {WIDTH}\n  br i1 %c, label %loop, label %done\ndone:"
    )
    lines.append(f"  %w = load <{WIDTH} x {result}>, ptr %out, align 64\n  ret <{WIDTH} x {result}> %w\n}}")
    lines.append(f"attributes #77 = {{ {ATTRIBUTES} }}")
    return "\n".join(lines), tuple(function.natives)


def packed(key: FunctionKey) -> list[Any]:
    """What a packed kernel keeps of a function: enough to load it from the disk cache without building its text."""
    text, natives = text_of(key)
    return [key.symbol, list(key.arguments), native.object_key(text, 3, True), list(natives)]


def load_packed(entry: list[Any]) -> native.Library:
    """Load what `packed` described."""
    symbol, arguments, where, natives = entry
    return load(FunctionKey(symbol, tuple(arguments)), where, tuple(natives))


@native.once
def load(key: FunctionKey, where: str | None = None, natives: tuple[str, ...] = ()) -> native.Library:
    """Compile a function, or take it from the cache, and make it known to kernels loaded afterwards."""
    from bringup.vpe.libdevice.native import address

    for symbol in natives:
        native.add_symbol(symbol, address(symbol))
    library = native.load_cached(where) if where else None
    if library is None:
        text, called = text_of(key)
        for symbol in called:
            native.add_symbol(symbol, address(symbol))
        library = native.compile_text(text, level=3, vectorise=True)
    for suffix in ("_s", "_v"):
        native.add_symbol(key.name + suffix, library.address(key.name + suffix))
    return library
