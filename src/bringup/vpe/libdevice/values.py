"""LLVM values with Python's operators, so that a formula reads like one.

`Value` wraps an instruction of llvmlite; numbers on either side become constants of the same type. No fast-math flag is
ever set: each operation rounds once, `fma` is a fused multiply-add.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from llvmlite import ir

TYPES: dict[str, Any] = {
    "f16": ir.HalfType(),
    "f32": ir.FloatType(),
    "f64": ir.DoubleType(),
    **{f"i{bits}": ir.IntType(bits) for bits in (1, 8, 16, 32, 64, 128)},
}
"""LLVM scalar types by MLIR name."""

INF = float("inf")
NAN = float("nan")


def type_name(kind: Any) -> str:
    """MLIR's name of an LLVM scalar type."""
    return next(name for name, known in TYPES.items() if known == kind)


class Value:
    """One scalar in a function under construction. Every operation rounds to nearest, ties to even."""

    __slots__ = ("builder", "raw")

    def __init__(self, builder: Any, raw: Any) -> None:
        self.builder, self.raw = builder, raw

    @property
    def kind(self) -> str:
        """Type by MLIR name: `f32`, `i32`, ..."""
        return type_name(self.raw.type)

    @property
    def is_float(self) -> bool:
        """Whether the type is a floating-point type."""
        return self.kind.startswith("f")

    def _new(self, raw: Any) -> Self:
        return type(self)(self.builder, raw)

    def constant(self, number: float, kind: str | None = None) -> Self:
        """A constant of this value's type or of `kind`."""
        target = TYPES[kind or self.kind]
        return self._new(ir.Constant(target, number))

    def _lift(self, other: Value | float) -> Any:
        return other.raw if isinstance(other, Value) else ir.Constant(self.raw.type, other)

    def _binary(self, floating: str | None, integer: str | None, other: Value | float, swap: bool = False) -> Self:
        name = floating if self.is_float else integer
        assert name is not None, f"no such operation on {self.kind}"
        left, right = self.raw, self._lift(other)
        if swap:
            left, right = right, left
        return self._new(getattr(self.builder, name)(left, right))

    def __add__(self, other: Value | float) -> Self:
        return self._binary("fadd", "add", other)

    __radd__ = __add__

    def __sub__(self, other: Value | float) -> Self:
        return self._binary("fsub", "sub", other)

    def __rsub__(self, other: Value | float) -> Self:
        return self._binary("fsub", "sub", other, swap=True)

    def __mul__(self, other: Value | float) -> Self:
        return self._binary("fmul", "mul", other)

    __rmul__ = __mul__

    def __truediv__(self, other: Value | float) -> Self:
        return self._binary("fdiv", None, other)

    def __rtruediv__(self, other: Value | float) -> Self:
        return self._binary("fdiv", None, other, swap=True)

    def __and__(self, other: Value | int) -> Self:
        return self._binary(None, "and_", other)

    def __or__(self, other: Value | int) -> Self:
        return self._binary(None, "or_", other)

    def __xor__(self, other: Value | int) -> Self:
        return self._binary(None, "xor", other)

    def __lshift__(self, other: Value | int) -> Self:
        return self._binary(None, "shl", other)

    def __neg__(self) -> Self:
        return self._new(self.builder.fneg(self.raw) if self.is_float else self.builder.neg(self.raw))

    def ashr(self, other: Value | int) -> Self:
        """Arithmetic shift right."""
        return self._binary(None, "ashr", other)

    def lshr(self, other: Value | int) -> Self:
        """Logical shift right."""
        return self._binary(None, "lshr", other)

    def _compare(self, operation: str, other: Value | float, unsigned: bool = False) -> Self:
        if self.is_float:
            # Ordered comparisons: false when either side is NaN, except != which is then true, as in C.
            method = self.builder.fcmp_unordered if operation == "!=" else self.builder.fcmp_ordered
        else:
            method = self.builder.icmp_unsigned if unsigned else self.builder.icmp_signed
        return self._new(method(operation, self.raw, self._lift(other)))

    def __lt__(self, other: Value | float) -> Self:
        return self._compare("<", other)

    def __le__(self, other: Value | float) -> Self:
        return self._compare("<=", other)

    def __gt__(self, other: Value | float) -> Self:
        return self._compare(">", other)

    def __ge__(self, other: Value | float) -> Self:
        return self._compare(">=", other)

    def equals(self, other: Value | float) -> Self:
        """Equality (`==` is left to Python)."""
        return self._compare("==", other)

    def below(self, other: Value | int) -> Self:
        """Unsigned `<` of integers."""
        return self._compare("<", other, unsigned=True)

    def is_nan(self) -> Self:
        """Whether this is NaN, `i1`."""
        return self._new(self.builder.fcmp_unordered("uno", self.raw, self.raw))

    def choose(self, yes: Value | float, no: Value | float) -> Value:
        """`yes` where this `i1` is set, else `no`; at least one of them is a `Value`. Both are evaluated."""
        model = yes if isinstance(yes, Value) else no
        assert isinstance(model, Value)
        return model._new(self.builder.select(self.raw, model._lift(yes), model._lift(no)))

    def intrinsic(self, name: str, *others: Value | float) -> Self:
        """Call `llvm.<name>` on this value and values of the same type."""
        args = [self.raw, *(self._lift(other) for other in others)]
        function = self.builder.module.declare_intrinsic(
            f"llvm.{name}", [self.raw.type], ir.FunctionType(self.raw.type, [arg.type for arg in args])
        )
        return self._new(self.builder.call(function, args))

    def fma(self, factor: Value | float, term: Value | float) -> Self:
        """`self * factor + term`, rounded once."""
        return self.intrinsic("fma", factor, term)

    def abs(self) -> Self:
        """Magnitude of a floating-point number."""
        return self.intrinsic("fabs")

    def sqrt(self) -> Self:
        """Square root, correctly rounded."""
        return self.intrinsic("sqrt")

    def with_sign_of(self, other: Value) -> Self:
        """This magnitude with the sign bit of `other`."""
        return self.intrinsic("copysign", other)

    def polynomial(self, coefficients: Sequence[Value | float]) -> Value:
        """Horner's scheme with fused steps; the constant term comes first."""
        last = coefficients[-1]
        total: Value = last if isinstance(last, Value) else self.constant(last)
        for coefficient in reversed(coefficients[:-1]):
            total = total.fma(self, coefficient)
        return total

    def bits(self) -> Self:
        """The same bits as an integer."""
        return self._new(self.builder.bitcast(self.raw, TYPES[f"i{self.kind[1:]}"]))

    def as_float(self) -> Self:
        """The same bits as a floating-point number."""
        return self._new(self.builder.bitcast(self.raw, TYPES[f"f{self.kind[1:]}"]))

    def to(self, kind: str, signed: bool = True) -> Self:
        """Convert: float to float, integer to float (rounding to nearest), integer to integer."""
        if kind == self.kind:
            return self
        target = TYPES[kind]
        wider = int(kind[1:]) > int(self.kind[1:])
        if self.is_float:
            assert kind.startswith("f"), "float to integer is `to_integer`"
            operation = self.builder.fpext if wider else self.builder.fptrunc
        elif kind.startswith("f"):
            operation = self.builder.sitofp if signed else self.builder.uitofp
        elif wider:
            operation = self.builder.sext if signed else self.builder.zext
        else:
            operation = self.builder.trunc
        return self._new(operation(self.raw, target))

    def to_integer(self, kind: str, signed: bool = True) -> Self:
        """Truncate to an integer; saturates, NaN gives 0."""
        target = TYPES[kind]
        name = "llvm.fptosi.sat" if signed else "llvm.fptoui.sat"
        function = self.builder.module.declare_intrinsic(
            name, [target, self.raw.type], ir.FunctionType(target, [self.raw.type])
        )
        return self._new(self.builder.call(function, [self.raw]))

    def load(self, name: str, kind: str, numbers: Sequence[float]) -> Value:
        """Element of a constant table; this integer is the index and must be within it."""
        module = self.builder.module
        table = module.globals.get(name)
        if table is None:
            array = ir.ArrayType(TYPES[kind], len(numbers))
            table = ir.GlobalVariable(module, array, name)
            table.linkage, table.global_constant = "private", True
            table.initializer = ir.Constant(array, list(numbers))
        zero = ir.Constant(ir.IntType(32), 0)
        return self._new(self.builder.load(self.builder.gep(table, [zero, self.raw], inbounds=True)))
