"""fp64 functions that the C library lacks, from piecewise polynomials and libm; their fp32 forms round the fp64 result.

Conditions that cost digits (a square under an exponential, a product under a tail) are carried in two parts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from bringup.vpe.libdevice import coefficients
from bringup.vpe.libdevice.values import INF, NAN, TYPES, Value

_SQRT_HALF, _SQRT_HALF_LOW = 0.70710678118654752440, -4.833646656726457e-17
_TWO_OVER_SQRT_PI = 1.12837916709551257390
_PI, _PI_LOW = 3.14159265358979323846, 1.2246467991473532e-16

ORDERS = 4096  # of Bessel functions
Table = tuple[tuple[float, ...], tuple[tuple[float, ...], ...]]


def native(name: str, *args: Value) -> Value:
    """Call a libm function on fp64 (and i32) values; declared pure, since no kernel looks at errno."""
    builder = args[0].builder
    function = builder.module.globals.get(name)
    if function is None:
        kinds = [arg.raw.type for arg in args]
        result = next(kind for kind in reversed(kinds) if kind in (TYPES["f32"], TYPES["f64"]))
        function = ir.Function(builder.module, ir.FunctionType(result, kinds), name)
        function.attributes.add("nounwind")
        function.attributes.add("readnone")
    return Value(builder, builder.call(function, [arg.raw for arg in args]))


def piecewise(x: Value, name: str, table: Table) -> Value:
    """A table of `fit.piecewise` at `x`; outside its range the outer pieces extrapolate."""
    bounds, rows = table
    flat: list[float] = []
    for low, high, row in zip(bounds, bounds[1:], rows, strict=False):
        flat += [(low + high) / 2, 2 / (high - low), *row]
    width = len(rows[0]) + 2
    index = x.constant(0, "i32")
    for bound in bounds[1:-1]:
        index = index + (x >= bound).to("i32", signed=False)
    start = index * width
    middle, scale, *row_values = ((start + k).load(f"vpe.table.{name}", "f64", flat) for k in range(width))
    return ((x - middle) * scale).polynomial(row_values)


def _erfinv_central(q: Value) -> Value:
    return q * piecewise(q * q, "erfinv", coefficients.ERFINV)


def _erfcinv_tail(s: Value) -> Value:
    return piecewise((-native("log", s)).sqrt(), "erfcinv", coefficients.ERFCINV)


def erfinv(x: Value) -> Value:
    """Inverse of erf; +-1 give infinities, beyond them NaN."""
    size = x.abs()
    tail = _erfcinv_tail(1.0 - size).with_sign_of(x)
    result = (size <= 0.75).choose(_erfinv_central(x), size.equals(1.0).choose(x.constant(INF).with_sign_of(x), tail))
    return (size > 1.0).choose(NAN, result)


def erfcinv(x: Value) -> Value:
    """Inverse of erfc on [0, 2]; the ends give infinities, beyond them NaN."""
    upper = x < 1.0
    s = upper.choose(x, 2.0 - x)
    size = s.equals(0.0).choose(INF, _erfcinv_tail(s))
    result = (s >= 0.25).choose(_erfinv_central(1.0 - x), upper.choose(size, -size))
    return ((s >= 0.0) & (x <= 2.0)).choose(result, NAN)


def normcdfinv(x: Value) -> Value:
    """Quantile of the standard normal distribution."""
    return -1.4142135623730951 * erfcinv(x + x) + 0.0


def normcdf(x: Value) -> Value:
    """Standard normal distribution function."""
    x = (x > 40.0).choose(40.0, x)
    x = (x < -40.0).choose(-40.0, x)
    z = x * -_SQRT_HALF
    rest = x.fma(-_SQRT_HALF, -z) - x * _SQRT_HALF_LOW
    slope = native("exp", -(z * z)) * _TWO_OVER_SQRT_PI
    return 0.5 * (native("erfc", z) - rest * slope)


def erfcx(x: Value) -> Value:
    """exp(x*x) * erfc(x), without overflow for large x."""
    size = x.abs()
    far = piecewise(4.0 / (4.0 + size), "erfcx", coefficients.ERFCX) / (4.0 + size)
    positive = (size < 1.0).choose(piecewise(size, "erfcx_near", coefficients.ERFCX_NEAR), far)
    square = x * x
    power = native("exp", square)
    doubled = 2.0 * power.fma(x.fma(x, -square), power)
    negative = (x < -26.7).choose(INF, doubled - positive)
    return (x < 0.0).choose(negative, positive)


def _bessel_i(x: Value, near: tuple[str, Table], far: tuple[str, Table]) -> tuple[Value, Value]:
    """|x| and I(|x|) for orders 0 and 1; order 1 still lacks the factor |x| of its near part."""
    size = x.abs()
    inner = native("exp", size) * piecewise(size, *near)
    # exp alone overflows before the function does: the last part of the argument goes into a second factor, mostly 1.
    first = (size > 709.0).choose(709.0, size)
    outer = native("exp", first) * (piecewise(1.0 / size, *far) / size.sqrt()) * native("exp", size - first)
    return inner, (size > 1000.0).choose(INF, outer)


def cyl_bessel_i0(x: Value) -> Value:
    """Modified Bessel function of the first kind, order 0."""
    near, far = _bessel_i(x, ("i0", coefficients.I0), ("i0_far", coefficients.I0_FAR))
    return (x.abs() < 8.0).choose(near, far)


def cyl_bessel_i1(x: Value) -> Value:
    """Modified Bessel function of the first kind, order 1."""
    near, far = _bessel_i(x, ("i1", coefficients.I1), ("i1_far", coefficients.I1_FAR))
    return (x.abs() < 8.0).choose(x * near, far.with_sign_of(x))


def _half_turns(x: Value) -> tuple[Value, Value]:
    """x = n/2 + r with |r| <= 1/4, exactly; returns r and n modulo 4 as i64."""
    # Numbers from 2**53 on are even integers.
    x = (x.abs() < 2.0**53).choose(x, x - x)
    n = (x * 2.0).intrinsic("roundeven")
    return n.fma(-0.5, x), n.to_integer("i64") & 3


def _sinpi_kernel(r: Value) -> Value:
    high = r * _PI
    low = r.fma(_PI, -high) + r * _PI_LOW
    return low.fma(native("cos", high), native("sin", high))


def _cospi_kernel(r: Value) -> Value:
    high = r * _PI
    low = r.fma(_PI, -high) + r * _PI_LOW
    return (-low).fma(native("sin", high), native("cos", high))


def _turned(n: Value, even: Value, odd: Value) -> Value:
    value = (n & 1).equals(0).choose(even, odd)
    return (n & 2).equals(0).choose(value, -value)


def sinpi(x: Value) -> Value:
    """sin(pi*x); integers give zeros of their own sign."""
    r, n = _half_turns(x)
    value = _turned(n, _sinpi_kernel(r), _cospi_kernel(r))
    return value.equals(0.0).choose(x.constant(0.0).with_sign_of(x), value)


def cospi(x: Value) -> Value:
    """cos(pi*x); half-integers give +0."""
    r, n = _half_turns(x)
    return _turned(n, _cospi_kernel(r), -_sinpi_kernel(r)) + 0.0


def cbrt(x: Value) -> Value:
    """Cube root: libm's, and one Newton step with an exact residual."""
    y = native("cbrt", x)
    square = y * y
    residual = square.fma(y, -x) + y.fma(y, -square) * y
    better = y - residual / (3.0 * square)
    regular = (x.abs() < INF) & (x.abs() > 0.0)
    return regular.choose(better, y)


def reciprocal(function: Callable[..., Value]) -> Callable[..., Value]:
    """1/function(...)."""

    def inverted(*args: Value) -> Value:
        return 1.0 / function(*args)

    return inverted


def norm(*coordinates: Value) -> Value:
    """Euclidean length without overflow; infinite where one coordinate is, even beside NaN."""
    total = coordinates[0]
    for coordinate in coordinates[1:]:
        total = native("hypot", total, coordinate)
    return total


def power_of_integer(x: Value, n: Value) -> Value:
    """x**n for an i32 n."""
    return native("pow", x, n.to("f64"))


def native_function(name: str) -> Callable[..., Any]:
    """A recipe that is nothing but a libm call."""

    def called(*args: Value) -> Value:
        return native(name, *args)

    return called


def bessel_of_order(name: str) -> Callable[..., Any]:
    """A recipe of libm's `jn` or `yn`, which takes as many steps as the order says: NaN beyond ORDERS."""

    def called(order: Value, x: Value) -> Value:
        near = (order + ORDERS).below(2 * ORDERS + 1)
        return near.choose(native(name, near.choose(order, 0), x), x.constant(math.nan))

    return called
