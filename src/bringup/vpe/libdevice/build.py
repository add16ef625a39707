"""From a recipe to LLVM text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llvmlite import ir

from bringup.vpe.libdevice import MathFunction, native
from bringup.vpe.libdevice.recipes import find
from bringup.vpe.libdevice.values import TYPES, Value

if TYPE_CHECKING:
    from bringup.vpe.libdevice import Signature

# C functions that LLVM calls for an intrinsic where the CPU has no instruction for it.
_LIBRARY_CALLS = {
    "llvm.fma": "fma",
    "llvm.floor": "floor",
    "llvm.ceil": "ceil",
    "llvm.trunc": "trunc",
    "llvm.roundeven": "roundeven",
    "llvm.round": "round",
    "llvm.ldexp": "ldexp",
    "llvm.sqrt": "sqrt",
}


def build(name: str, symbol: str, overload: Signature) -> MathFunction:
    """The function for one overload of `name`, looked up as `symbol`."""
    arguments, result = overload.mlir_arguments, overload.mlir_result
    recipe = find(name, overload.symbol.removeprefix("__nv_"), arguments, result)
    module = ir.Module()
    kinds = ir.FunctionType(TYPES[result], [TYPES[kind] for kind in arguments])
    if recipe.native:
        function = ir.Function(module, kinds, recipe.native)
        callee = recipe.native
    else:
        # Named after the symbol's signedness too: mulhi and umulhi have the same MLIR types.
        callee = f"vpe.{overload.symbol.removeprefix('__nv_')}.{'.'.join(arguments)}"
        function = ir.Function(module, kinds, callee)
        function.linkage = "internal"
        builder = ir.IRBuilder(function.append_basic_block())
        builder.ret(recipe.build(*(Value(builder, argument) for argument in function.args)).raw)
        if "noinline" not in function.attributes:
            function.attributes.add("alwaysinline")
    function.attributes.add("nounwind")
    if recipe.native:
        function.attributes.add("readnone")
    texts = {key: str(value).strip() for key, value in module.globals.items()}
    natives = _natives(module)
    return MathFunction(
        name=name,
        symbol=symbol,
        arguments=arguments,
        result=result,
        callee=callee,
        texts=texts,
        natives=natives,
        unit=recipe.unit,
        vectorises=not any(not key.startswith(("llvm.", "vpe.")) for key in texts)
        and "noinline" not in function.attributes,
        widened=recipe.widened,
    )


def _natives(module: ir.Module) -> dict[str, int]:
    natives = {}
    for key in module.globals:
        if key.startswith("llvm."):
            stem, _, suffix = key.removeprefix("llvm.").partition(".")
            called = _LIBRARY_CALLS.get(f"llvm.{stem}")
            if called and suffix.startswith(("f32", "f64")):
                symbol = called + ("f" if suffix.startswith("f32") else "")
                natives[symbol] = native.address(symbol)
        elif not key.startswith("vpe."):
            natives[key] = native.address(key)
    return natives
