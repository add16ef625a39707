"""fp32 functions that kernels call all day: straight-line code without calls, which LLVM vectorises in loops.

All arithmetic is fp32 except in sin and cos: a reduction by pi/2 that is right for every fp32 argument needs 94 bits,
and its result is kept in fp64 until the end. Special values follow C99 annex F. Errors are at most 1.5 units in the
last place, tested against arithmetic of many digits.
"""

from __future__ import annotations

from fractions import Fraction

from bringup.vpe.libdevice import coefficients
from bringup.vpe.libdevice.values import INF, NAN, Value

# 1.5 * 2**23: adding it rounds to an integer and leaves that integer in the low bits, without a conversion.
_MAGIC = 12582912.0
_MAGIC_BITS = 0x4B400000

# ln(2) in two parts; the product of the first with an exponent is exact.
_LN2_HIGH, _LN2_LOW = 0.693359375, -2.12194440054690581e-04
_LOG2E = 1.44269504088896341
_LOG2E_HIGH, _LOG2E_LOW = 1.44269502162933349609375, 1.92596299112661746887e-08


def _round(x: Value) -> tuple[Value, Value]:
    """Nearest integer of a small fp32 number, as fp32 and as i32."""
    shifted = x + _MAGIC
    return shifted - _MAGIC, shifted.bits() - _MAGIC_BITS


def _scale(x: Value, exponent: Value) -> Value:
    """`x * 2**exponent` for exponents in [-252, 254], in two steps so that subnormal results round once."""
    first = exponent.ashr(1)
    second = exponent - first
    return x * ((first + 127) << 23).as_float() * ((second + 127) << 23).as_float()


def _clamp(x: Value, low: float, high: float) -> Value:
    """`x` within bounds; NaN stays NaN."""
    x = (x > high).choose(high, x)
    return (x < low).choose(low, x)


def exp(x: Value) -> Value:
    """e**x."""
    x = _clamp(x, -104.0, 89.0)
    n, exponent = _round(x * _LOG2E)
    r = n.fma(-_LN2_LOW, n.fma(-_LN2_HIGH, x))
    return _scale((r * r).fma(r.polynomial(coefficients.EXP), r) + 1.0, exponent)


def exp2(x: Value) -> Value:
    """2**x."""
    x = _clamp(x, -151.0, 129.0)
    n, exponent = _round(x)
    r = x - n
    return _scale(r.fma(r.polynomial(coefficients.EXP2), 1.0), exponent)


def _split(x: Value) -> tuple[Value, Value]:
    """e (fp32) and f of a positive fp32 number x = 2**e * (1 + f), sqrt(1/2) <= 1 + f < sqrt(2)."""
    tiny = x < 1.1754943508222875e-38
    bits = tiny.choose(x * 8388608.0, x).bits()
    exponent = (bits - 0x3F3504F3).ashr(23)
    fraction = (bits - (exponent << 23)).as_float() - 1.0
    return exponent.to("f32") + tiny.choose(x.constant(-23.0), 0.0), fraction


def _log_special(x: Value, result: Value) -> Value:
    """Zero, negative numbers, infinity and NaN of a logarithm."""
    result = (x > 0.0).choose(result, x.equals(0.0).choose(x.constant(-INF), NAN))
    return x.equals(INF).choose(INF, result)


def log(x: Value) -> Value:
    """Natural logarithm."""
    e, f = _split(x)
    square = f * f
    tail = e.fma(_LN2_LOW, f * square * f.polynomial(coefficients.LOG))
    return _log_special(x, e.fma(_LN2_HIGH, f - (0.5 * square - tail)))


def log2(x: Value) -> Value:
    """Logarithm to base 2."""
    e, f = _split(x)
    square = f * f
    # log(1 + f) = f + rest; the product of f with 1/ln(2) is kept in two parts, since it decides the last bit.
    rest = (f * square).fma(f.polynomial(coefficients.LOG), -0.5 * square)
    product = f * _LOG2E_HIGH
    error = f.fma(_LOG2E_HIGH, -product) + f.fma(_LOG2E_LOW, rest * _LOG2E)
    return _log_special(x, e + product + error)


def _two_over_pi(bits: int) -> int:
    """2/pi as a fixed-point integer with this many fraction bits (Machin's formula in integers)."""
    unit = 1 << (bits + 64)

    def arctan_of_inverse(n: int) -> int:
        term = total = unit // n
        k = 1
        while term:
            term //= n * n
            k += 2
            total += (-term if k % 4 == 3 else term) // k
        return total

    pi = 4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239))
    return int(Fraction(2 * unit, pi) * (1 << bits))


# Smallest biased exponent that is reduced: 2**-1; smaller arguments are below pi/4 already.
_FIRST_EXPONENT = 126


def _reduction_tables() -> tuple[list[int], list[int]]:
    """2/pi * 2**(E - 150) modulo 4 for each biased exponent E: 64 bits in units of 2**-62, and the next 32 bits."""
    precision = 320
    value = _two_over_pi(precision)
    high, low = [], []
    for exponent in range(_FIRST_EXPONENT, 256):
        shift = precision - 94 - (exponent - 150)
        word = (value >> shift) & ((1 << 96) - 1)
        high.append(word >> 32)
        low.append(word & 0xFFFFFFFF)
    return high, low


_TABLE_HIGH, _TABLE_LOW = _reduction_tables()
_HALF_PI_UNIT = 1.5707963267948966 * 2.0**-62


def _reduce(x: Value) -> tuple[Value, Value]:
    """r (fp64, at most pi/4 in size) and quadrant (i32, 0..3) with |x| = r + quadrant * pi/2 modulo 2 pi, x finite."""
    bits = x.bits() & 0x7FFFFFFF
    mantissa = ((bits & 0x7FFFFF) | 0x800000).to("i64")
    steps = bits.lshr(23) - _FIRST_EXPONENT
    small = steps < 0
    index = small.choose(0, steps)
    high = index.load("vpe.two_over_pi.high", "i64", _TABLE_HIGH)
    low = index.load("vpe.two_over_pi.low", "i32", _TABLE_LOW).to("i64", signed=False)
    product = mantissa * high + (mantissa * low).lshr(32)
    quadrant = (product + (1 << 61)).lshr(62)
    rest = product - (quadrant << 62)
    r = rest.to("f64") * _HALF_PI_UNIT
    # pi/4 as fp32 lies above 2**-1: arguments below it go without reduction, so that tiny ones stay exact.
    direct = bits < 0x3F490FDB
    return direct.choose(bits.as_float().to("f64"), r), direct.choose(0, quadrant.to("i32"))


def _sine_and_cosine(r: Value) -> tuple[Value, Value]:
    square = r * r
    sine = (r * square).fma(square.polynomial(coefficients.SIN), r)
    return sine, square.fma(square.polynomial(coefficients.COS), 1.0)


def _finish(x: Value, value: Value, negative: Value) -> Value:
    """fp64 `value` to fp32 with bit 31 of `negative` flipped in; NaN for infinite arguments."""
    result = (value.to("f32").bits() ^ (negative & -0x80000000)).as_float()
    return (x.abs() < INF).choose(result, NAN)


def sin(x: Value) -> Value:
    """Sine; right for every finite argument."""
    r, quadrant = _reduce(x)
    sine, cosine = _sine_and_cosine(r)
    value = (quadrant & 1).equals(0).choose(sine, cosine)
    return _finish(x, value, (quadrant << 30) ^ x.bits())


def cos(x: Value) -> Value:
    """Cosine; right for every finite argument."""
    r, quadrant = _reduce(x)
    sine, cosine = _sine_and_cosine(r)
    value = (quadrant & 1).equals(0).choose(cosine, sine)
    return _finish(x, value, (quadrant + 1) << 30)


def tanh(x: Value) -> Value:
    """Hyperbolic tangent."""
    size = x.abs()
    square = x * x
    near = (size * square).fma(square.polynomial(coefficients.TANH), size)
    far = 1.0 - 2.0 / (exp(_clamp(size, 0.0, 10.0) * 2.0) + 1.0)
    return (size < 0.6).choose(near, far).with_sign_of(x)


def erf(x: Value) -> Value:
    """Error function."""
    size = x.abs()
    square = x * x
    near = x.fma(square.polynomial(coefficients.ERF), x)
    far = 1.0 - exp(_clamp(size, 0.0, 4.0).polynomial(coefficients.ERF_TAIL))
    return (size < 0.95).choose(near, far.with_sign_of(x))


def rsqrt(x: Value) -> Value:
    """1/sqrt(x), two roundings; -0 gives -inf."""
    return 1.0 / x.sqrt()
