"""Arithmetic in a given rounding mode (`_rz`, `_rd`, `_ru` of libdevice), on the hardware's own rounding control.

LLVM's constrained intrinsics keep their place between the two changes of the mode. Slow (two writes of the control
register), never vectorised and rarely used; right in every case, subnormal and overflowing ones included.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from bringup.vpe.libdevice.values import TYPES, Value

MODES = {"rz": 0, "ru": 2, "rd": 3}
"""Rounding modes as `llvm.set.rounding` numbers them; to nearest is 1."""


def directed(operation: str, mode: str, result: str) -> Callable[..., Value]:
    """A recipe: one constrained `operation` (`fadd`, `fptrunc`, ...) in `mode`, giving a value of type `result`."""

    def rounded(*args: Value) -> Value:
        builder = args[0].builder
        module = builder.module
        builder.function.attributes.add("noinline")
        # llvmlite does not know the name of the attribute that LLVM asks of callers of constrained intrinsics.
        set.add(builder.function.attributes, "strictfp")
        control = module.declare_intrinsic("llvm.set.rounding", (), ir.FunctionType(ir.VoidType(), [TYPES["i32"]]))
        metadata = ir.MetaDataType()
        kinds = [arg.raw.type for arg in args]
        overloads = [TYPES[result]] if operation in _SAME_TYPE else [TYPES[result], kinds[0]]
        function = module.declare_intrinsic(
            f"llvm.experimental.constrained.{operation}",
            overloads,
            ir.FunctionType(TYPES[result], [*kinds, metadata, metadata]),
        )
        how = [ir.MetaDataString(module, "round.dynamic"), ir.MetaDataString(module, "fpexcept.strict")]
        builder.call(control, [ir.Constant(TYPES["i32"], MODES[mode])])
        value = builder.call(function, [*(arg.raw for arg in args), *how])
        builder.call(control, [ir.Constant(TYPES["i32"], 1)])
        return Value(builder, value)

    return rounded


_SAME_TYPE = frozenset({"fadd", "fsub", "fmul", "fdiv", "sqrt", "fma"})
