"""Integer functions and changes of representation; results follow the CUDA math API."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from bringup.vpe.libdevice.values import INF, NAN, TYPES, Value


def _with_flag(x: Value, name: str) -> Value:
    """`llvm.ctlz`/`llvm.cttz`, defined for zero."""
    kind = x.raw.type
    function = x.builder.module.declare_intrinsic(f"llvm.{name}", [kind], ir.FunctionType(kind, [kind, ir.IntType(1)]))
    return Value(x.builder, x.builder.call(function, [x.raw, ir.Constant(ir.IntType(1), 0)]))


def clz(x: Value) -> Value:
    """Leading zeros; the width for 0."""
    return _with_flag(x, "ctlz").to("i32")


def ffs(x: Value) -> Value:
    """Position of the lowest set bit from 1; 0 for 0."""
    return x.equals(0).choose(0, _with_flag(x, "cttz").to("i32") + 1)


def popc(x: Value) -> Value:
    """Number of set bits."""
    return x.intrinsic("ctpop").to("i32")


def brev(x: Value) -> Value:
    """Bits in reverse order."""
    return x.intrinsic("bitreverse")


def absolute(x: Value) -> Value:
    """Magnitude; the smallest number stays."""
    return (x < 0).choose(-x, x)


def byte_perm(x: Value, y: Value, selector: Value) -> Value:
    """Four bytes picked from the eight of (y, x) by the low three bits of each nibble of the selector."""
    both = x.to("i64", signed=False) | (y.to("i64", signed=False) << 32)
    result = x.constant(0)
    for place in range(4):
        pick = (selector.lshr(4 * place) & 7) << 3
        result = result | ((both.lshr(pick.to("i64", signed=False)).to("i32") & 0xFF) << (8 * place))
    return result


def _product_high(x: Value, y: Value, signed: bool) -> Value:
    kind = x.kind
    bits = int(kind[1:])
    wide = f"i{2 * bits}"
    return (x.to(wide, signed) * y.to(wide, signed)).lshr(bits).to(kind)


def mulhi(x: Value, y: Value) -> Value:
    """Upper half of the signed product."""
    return _product_high(x, y, signed=True)


def umulhi(x: Value, y: Value) -> Value:
    """Upper half of the unsigned product."""
    return _product_high(x, y, signed=False)


def mul24(x: Value, y: Value) -> Value:
    """Low 32 bits of the product of the low 24 bits, signed."""
    return (x << 8).ashr(8) * (y << 8).ashr(8)


def umul24(x: Value, y: Value) -> Value:
    """Low 32 bits of the product of the low 24 bits, unsigned."""
    return (x & 0xFFFFFF) * (y & 0xFFFFFF)


def sad(x: Value, y: Value, z: Value) -> Value:
    """|x - y| + z, signed."""
    return (x < y).choose(y - x, x - y) + z


def usad(x: Value, y: Value, z: Value) -> Value:
    """|x - y| + z, unsigned."""
    return x.below(y).choose(y - x, x - y) + z


def _average(x: Value, y: Value, signed: bool, up: int) -> Value:
    total = x.to("i64", signed) + y.to("i64", signed) + up
    return total.ashr(1).to("i32")


def hadd(x: Value, y: Value) -> Value:
    """Average rounded down, signed, without overflow."""
    return _average(x, y, True, 0)


def uhadd(x: Value, y: Value) -> Value:
    """Average rounded down, unsigned, without overflow."""
    return _average(x, y, False, 0)


def rhadd(x: Value, y: Value) -> Value:
    """Average rounded up, signed, without overflow."""
    return _average(x, y, True, 1)


def urhadd(x: Value, y: Value) -> Value:
    """Average rounded up, unsigned, without overflow."""
    return _average(x, y, False, 1)


def reinterpret(x: Value) -> Value:
    """The same bits as the other kind of number."""
    return x.bits() if x.is_float else x.as_float()


def hiloint2double(high: Value, low: Value) -> Value:
    """fp64 from its upper and lower 32 bits."""
    return ((high.to("i64") << 32) | low.to("i64", signed=False)).as_float()


def double2hiint(x: Value) -> Value:
    """Upper 32 bits of fp64."""
    return x.bits().lshr(32).to("i32")


def double2loint(x: Value) -> Value:
    """Lower 32 bits of fp64."""
    return x.bits().to("i32")


def rcp64h(x: Value) -> Value:
    """Reciprocal of fp64 with the lower 32 bits cleared: 20 bits, as the GPU's seed for Newton steps."""
    return ((1.0 / x).bits() & -0x100000000).as_float()


def isnan(x: Value) -> Value:
    """1 for NaN."""
    return x.is_nan().to("i32", signed=False)


def isinf(x: Value) -> Value:
    """1 for an infinity of either sign."""
    return x.abs().equals(INF).to("i32", signed=False)


def isfinite(x: Value) -> Value:
    """1 for a number that is neither infinite nor NaN."""
    return (x.abs() < INF).to("i32", signed=False)


def signbit(x: Value) -> Value:
    """1 where the sign bit is set, of zeros and NaN too."""
    return (x.bits() < 0).to("i32", signed=False)


def saturatef(x: Value) -> Value:
    """Clamped to [0, 1]; NaN gives 0."""
    return (x > 0.0).choose((x > 1.0).choose(1.0, x), 0.0)


def fdim(x: Value, y: Value) -> Value:
    """x - y where positive, else 0; NaN where either is."""
    return (x <= y).choose(0.0, x - y)


def scale_by_power(x: Value, exponent: Value) -> Value:
    """x * 2**exponent, rounded once."""
    kind = x.raw.type
    function = x.builder.module.declare_intrinsic(
        "llvm.ldexp", [kind, exponent.raw.type], ir.FunctionType(kind, [kind, exponent.raw.type])
    )
    return Value(x.builder, x.builder.call(function, [x.raw, exponent.raw]))


def ilogb(x: Value) -> Value:
    """Exponent as an integer: 0 and NaN give the smallest i32, infinities the largest."""
    wide = x.abs().to("f64") if x.kind == "f32" else x.abs()
    tiny = wide < 2.2250738585072014e-308
    bits = tiny.choose(wide * 2.0**54, wide).bits()
    exponent = bits.lshr(52).to("i32") - 1023 + tiny.choose(x.constant(-54, "i32"), 0)
    exponent = (wide > 0.0).choose(exponent, -(2**31))
    return wide.equals(INF).choose(2**31 - 1, exponent)


def logb(x: Value) -> Value:
    """Exponent as a number: 0 gives -inf, infinities +inf."""
    size = x.abs()
    finite = (size > 0.0).choose(ilogb(x).to(x.kind), size.equals(0.0).choose(x.constant(-INF), NAN))
    return size.equals(INF).choose(INF, finite)


def rounded_to_integer(rounding: str, kind: str, signed: bool) -> Callable[[Value], Value]:
    """A recipe: round by an intrinsic (`roundeven`, `trunc`, `floor`, `ceil`, `round`), then convert, saturating.

    NaN gives 0 from fp32 to 32 bits and the value with only the top bit set otherwise, as PTX's `cvt` does.
    """

    def converted(x: Value) -> Value:
        number = x.intrinsic(rounding).to_integer(kind, signed)
        if x.kind == "f32" and kind == "i32":
            return number
        return x.is_nan().choose(-(1 << (int(kind[1:]) - 1)), number)

    assert kind in TYPES
    return converted
