"""Exact results of math functions: special values, rounding modes, conversions, integers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from libdevice_loops import compile_loop

from bringup.vpe.libdevice import signatures

INF, NAN = float("inf"), float("nan")

SPECIAL = [
    ("exp", (INF,), INF),
    ("exp", (-INF,), 0.0),
    ("exp", (89.0,), INF),
    ("exp", (-104.0,), 0.0),
    ("exp", (NAN,), NAN),
    ("log", (0.0,), -INF),
    ("log", (-0.0,), -INF),
    ("log", (-1.0,), NAN),
    ("log", (INF,), INF),
    ("log", (1.0,), 0.0),
    ("log2", (8.0,), 3.0),
    ("exp2", (-149.0,), 2.0**-149),
    ("exp2", (128.0,), INF),
    ("sin", (INF,), NAN),
    ("sin", (-0.0,), -0.0),
    ("cos", (INF,), NAN),
    ("cos", (0.0,), 1.0),
    ("tanh", (INF,), 1.0),
    ("tanh", (-INF,), -1.0),
    ("tanh", (-0.0,), -0.0),
    ("tanh", (NAN,), NAN),
    ("erf", (INF,), 1.0),
    ("erf", (-INF,), -1.0),
    ("erf", (NAN,), NAN),
    ("erf", (-0.0,), -0.0),
    ("rsqrt", (0.0,), INF),
    ("rsqrt", (-0.0,), -INF),
    ("rsqrt", (-1.0,), NAN),
    ("rsqrt", (INF,), 0.0),
    ("erfinv", (1.0,), INF),
    ("erfinv", (-1.0,), -INF),
    ("erfinv", (1.5,), NAN),
    ("erfinv", (0.0,), 0.0),
    ("erfcinv", (0.0,), INF),
    ("erfcinv", (2.0,), -INF),
    ("erfcinv", (-0.1,), NAN),
    ("erfcinv", (1.0,), 0.0),
    ("normcdf", (-INF,), 0.0),
    ("normcdf", (INF,), 1.0),
    ("normcdf", (NAN,), NAN),
    ("normcdfinv", (0.5,), 0.0),
    ("erfcx", (INF,), 0.0),
    ("erfcx", (-INF,), INF),
    ("erfcx", (-30.0,), INF),
    ("erfcx", (NAN,), NAN),
    ("cyl_bessel_i0", (INF,), INF),
    ("cyl_bessel_i0", (0.0,), 1.0),
    ("cyl_bessel_i1", (-INF,), -INF),
    ("cyl_bessel_i1", (0.0,), 0.0),
    ("cyl_bessel_i0", (NAN,), NAN),
    ("sinpi", (3.0,), 0.0),
    ("sinpi", (-3.0,), -0.0),
    ("sinpi", (0.5,), 1.0),
    ("sinpi", (INF,), NAN),
    ("cospi", (0.5,), 0.0),
    ("cospi", (1.0,), -1.0),
    ("cospi", (2.0**30 + 2,), 1.0),
    ("cospi", (INF,), NAN),
    ("cbrt", (-27.0,), -3.0),
    ("cbrt", (INF,), INF),
    ("cbrt", (-0.0,), -0.0),
    ("rcbrt", (0.0,), INF),
    ("pow", (0.0, 0.0), 1.0),
    ("pow", (NAN, 0.0), 1.0),
    ("pow", (-2.0, 3.0), -8.0),
    ("pow", (-2.0, 0.5), NAN),
    ("hypot", (INF, NAN), INF),
    ("norm3d", (NAN, -INF, 1.0), INF),
    ("rhypot", (INF, NAN), 0.0),
    ("rhypot", (0.0, 0.0), INF),
    ("fmod", (-7.0, 3.0), -1.0),
    ("remainder", (5.0, 3.0), -1.0),
    ("fdim", (1.0, 3.0), 0.0),
    ("fdim", (3.0, 1.0), 2.0),
    ("fdim", (NAN, 1.0), NAN),
    ("copysign", (3.0, -0.0), -3.0),
    ("nextafter", (1.0, 2.0), 1.0000001192092896),
    ("round", (2.5,), 3.0),
    ("round", (-0.5,), -1.0),
    ("rint", (2.5,), 2.0),
    ("nearbyint", (-1.5,), -2.0),
    ("trunc", (-1.7,), -1.0),
    ("floor", (-1.2,), -2.0),
    ("ceil", (-1.2,), -1.0),
    ("logb", (0.0,), -INF),
    ("logb", (-INF,), INF),
    ("logb", (10.0,), 3.0),
    ("saturatef", (NAN,), 0.0),
    ("saturatef", (2.0,), 1.0),
    ("saturatef", (-1.0,), 0.0),
    ("saturatef", (0.25,), 0.25),
    ("lgamma", (-3.0,), INF),
    ("tgamma", (5.0,), 24.0),
    ("y0", (-1.0,), NAN),
    ("y0", (0.0,), -INF),
    ("j1", (0.0,), 0.0),
    ("fast_dividef", (7.0, 2.0), 3.5),
    ("fast_tanhf", (-0.0,), -0.0),
    ("abs", (-0.0,), 0.0),
    ("div_rn", (1.0, 0.0), INF),
]


@pytest.mark.parametrize(("name", "arguments", "expected"), SPECIAL)
def test_special_values_fp32(name: str, arguments: tuple[float, ...], expected: float) -> None:
    overload = next(entry for entry in signatures()[name] if set(entry.arguments) == {"fp32"})
    got = compile_loop(overload.symbol, overload.mlir_arguments)(*[np.full(20, a, np.float32) for a in arguments])
    for value in got:
        if np.isnan(expected):
            assert np.isnan(value)
        else:
            assert value == np.float32(expected)
            assert np.signbit(value) == np.signbit(expected)


def exactly_rounded(value: Fraction, mode: str, dtype: Any) -> float:
    """A rational number rounded to fp32 or fp64 in a mode, by integer arithmetic."""
    info = np.finfo(dtype)
    if value == 0:
        return 0.0
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    unit = Fraction(2) ** (max(exponent, int(info.minexp)) - int(info.nmant))
    down = size // unit
    away = {"rz": False, "rd": value < 0, "ru": value > 0}[mode] and down * unit != size
    rounded = (down + away) * unit
    if rounded > Fraction(float(info.max)):
        result = INF if {"rz": False, "rd": value < 0, "ru": value > 0}[mode] else float(info.max)
    else:
        result = float(rounded)
    return -result if value < 0 else result


numbers = {
    np.float32: st.floats(width=32, allow_nan=False, allow_infinity=False),
    np.float64: st.floats(width=64, allow_nan=False, allow_infinity=False),
}


@pytest.mark.thinned
@pytest.mark.parametrize("mode", ["rz", "rd", "ru"])
@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("verb", ["add", "sub", "mul", "div", "fma", "rcp"])
def test_rounding_modes(verb: str, kind: str, mode: str) -> None:
    dtype = np.float32 if kind == "f32" else np.float64
    overload = next(e for e in signatures()[f"{verb}_{mode}"] if e.mlir_result == kind)
    loop = compile_loop(overload.symbol, overload.mlir_arguments)
    assert not loop.function.vectorises

    @given(numbers[dtype], numbers[dtype], numbers[dtype])
    @settings(max_examples=60, deadline=None)
    def check(x: float, y: float, z: float) -> None:
        a, b, c = Fraction(x), Fraction(y), Fraction(z)
        if verb in ("div", "rcp") and (b == 0 if verb == "div" else a == 0):
            return
        true = {
            "add": lambda: a + b,
            "sub": lambda: a - b,
            "mul": lambda: a * b,
            "div": lambda: a / b,
            "fma": lambda: a * b + c,
            "rcp": lambda: 1 / a,
        }[verb]()
        arguments = [np.full(3, v, dtype) for v in (x, y, z)[: len(overload.arguments)]]
        got = loop(*arguments)
        assert (got == exactly_rounded(true, mode, dtype)).all()

    check()


def test_rounding_mode_is_back_to_nearest_afterwards() -> None:
    compile_loop("__nv_fadd_ru", ("f32", "f32"))(np.ones(4, np.float32), np.ones(4, np.float32))
    assert np.float32(1) + np.float32(2**-25) == np.float32(1)
    assert 1.0 + 2.0**-60 == 1.0


@pytest.mark.parametrize(
    ("symbol", "kind", "value", "expected"),
    [
        ("float2int_rn", "f32", 2.5, 2),
        ("float2int_rz", "f32", -2.9, -2),
        ("float2int_rd", "f32", -2.1, -3),
        ("float2int_ru", "f32", 2.1, 3),
        ("float2int_rn", "f32", 1e20, 2**31 - 1),
        ("float2int_rn", "f32", NAN, 0),
        ("float2uint_rz", "f32", -5.0, 0),
        ("float2uint_rz", "f32", 4294967040.0, -256),
        ("float2uint_rz", "f32", 1e20, -1),
        ("double2int_rn", "f64", NAN, -(2**31)),
        ("double2ll_rd", "f64", -1.5, -2),
        ("double2ll_rn", "f64", 1e300, 2**63 - 1),
        ("float2ll_rn", "f32", NAN, -(2**63)),
        ("double2ull_rz", "f64", 2.0**63, -(2**63)),
        ("int2float_rz", "i32", 16777217, 16777216.0),
        ("int2float_ru", "i32", 16777217, 16777218.0),
        ("int2float_rd", "i32", -16777217, -16777218.0),
        ("uint2float_rd", "i32", -1, 4294967040.0),
        ("uint2float_rn", "i32", -1, 4294967296.0),
        ("ll2double_rz", "i64", 2**53 + 1, 2.0**53),
        ("ull2float_ru", "i64", -1, 2.0**64),
        ("ull2double_rd", "i64", -1, 2.0**64 - 2.0**11),
        ("double2float_rz", "f64", 1 + 2.0**-24 + 2.0**-30, 1.0),
        ("double2float_ru", "f64", 1 + 2.0**-40, 1 + 2.0**-23),
        ("double2float_rd", "f64", 1e300, 3.4028234663852886e38),
        ("int2double_rn", "i32", -7, -7.0),
    ],
)
def test_conversions(symbol: str, kind: str, value: float, expected: float) -> None:
    loop = compile_loop(f"__nv_{symbol}", (kind,))
    dtype = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64}[kind]
    assert (loop(np.full(5, value, dtype)) == expected).all()


@given(st.integers(-(2**31), 2**31 - 1), st.integers(-(2**31), 2**31 - 1), st.integers(-(2**31), 2**31 - 1))
@settings(max_examples=150, deadline=None)
def test_integer_functions(x: int, y: int, z: int) -> None:
    def call(symbol: str, *values: int) -> int:
        return int(
            compile_loop(f"__nv_{symbol}", ("i32",) * len(values))(*[np.array([v], np.int32) for v in values])[0]
        )

    def wrap(value: int) -> int:
        return (value + 2**31) % 2**32 - 2**31

    ux, uy, uz = x % 2**32, y % 2**32, z % 2**32
    assert call("clz", x) == 32 - ux.bit_length()
    assert call("popc", x) == ux.bit_count()
    assert call("ffs", x) == ((ux & -ux).bit_length())
    assert call("brev", x) == wrap(int(f"{ux:032b}"[::-1], 2))
    assert call("mulhi", x, y) == (x * y) >> 32
    assert call("umulhi", x, y) == wrap((ux * uy) >> 32)
    assert call("mul24", x, y) == wrap(((ux << 8 & 0xFFFFFFFF) - (2**32 if ux & 0x800000 else 0) >> 8)
                                       * ((uy << 8 & 0xFFFFFFFF) - (2**32 if uy & 0x800000 else 0) >> 8))  # fmt: skip
    assert call("umul24", x, y) == wrap((ux & 0xFFFFFF) * (uy & 0xFFFFFF))
    assert call("sad", x, y, z) == wrap(abs(x - y) + uz)
    assert call("usad", x, y, z) == wrap(abs(ux - uy) + uz)
    assert call("hadd", x, y) == (x + y) >> 1
    assert call("rhadd", x, y) == (x + y + 1) >> 1
    assert call("uhadd", x, y) == wrap((ux + uy) >> 1)
    assert call("urhadd", x, y) == wrap((ux + uy + 1) >> 1)
    assert call("abs", x) == wrap(abs(x))
    both = (uy << 32 | ux).to_bytes(8, "little")
    picked = bytes(both[(uz >> (4 * i)) & 7] for i in range(4))
    assert call("byte_perm", x, y, z) == int.from_bytes(picked, "little", signed=True)


def test_64_bit_integers_and_representation() -> None:
    big = np.array([2**63 - 1, -1, 12345678901234567, 0], np.int64)
    assert compile_loop("__nv_mul64hi", ("i64", "i64"))(big, big).tolist() == [(int(v) * int(v)) >> 64 for v in big]
    unsigned = [int(v) % 2**64 for v in big]
    got = compile_loop("__nv_umul64hi", ("i64", "i64"))(big, big)
    assert [int(v) % 2**64 for v in got] == [(v * v) >> 64 for v in unsigned]
    assert compile_loop("__nv_clzll", ("i64",))(big).tolist() == [64 - v.bit_length() for v in unsigned]
    assert compile_loop("__nv_ffsll", ("i64",))(big).tolist() == [1, 1, 1, 0]
    x = np.array([1.5, -0.0, np.pi], np.float64)
    high, low = (compile_loop(f"__nv_double2{part}int", ("f64",))(x) for part in ("hi", "lo"))
    assert (compile_loop("__nv_hiloint2double", ("i32", "i32"))(high, low).view(np.int64) == x.view(np.int64)).all()
    single = x.astype(np.float32)
    assert (compile_loop("__nv_float_as_int", ("f32",))(single) == single.view(np.int32)).all()
    assert compile_loop("__nv_rcp64h", ("f64",))(np.array([3.0]))[0] == pytest.approx(1 / 3, rel=2**-20)


def test_classes_exponents_and_powers() -> None:
    x = np.array([NAN, INF, -INF, 0.0, -0.0, 1.0, -2.0, 1e-45], np.float32)
    assert compile_loop("__nv_isnanf", ("f32",))(x).tolist() == [1, 0, 0, 0, 0, 0, 0, 0]
    assert compile_loop("__nv_isinff", ("f32",))(x).tolist() == [0, 1, 1, 0, 0, 0, 0, 0]
    assert compile_loop("__nv_finitef", ("f32",))(x).tolist() == [0, 0, 0, 1, 1, 1, 1, 1]
    assert compile_loop("__nv_signbitf", ("f32",))(x).tolist()[1:] == [0, 1, 0, 1, 0, 1, 0]
    smallest = -(2**31)
    assert compile_loop("__nv_ilogbf", ("f32",))(x).tolist() == [
        smallest,
        2**31 - 1,
        2**31 - 1,
        smallest,
        smallest,
        0,
        1,
        -149,
    ]
    n = np.array([3, -2, 0, 200], np.int32)
    base = np.array([2.0, 0.5, NAN, 1.5], np.float32)
    got = compile_loop("__nv_powif", ("f32", "i32"))(base, n)
    assert got[:3].tolist() == [8.0, 4.0, 1.0]
    assert got[3] == np.float32(1.5**200)
    assert compile_loop("__nv_ldexpf", ("f32", "i32"))(base[:2], np.array([-149, 3], np.int32)).tolist() == [
        2.0**-148,
        4.0,
    ]
    assert compile_loop("__nv_jnf", ("i32", "f32"))(np.array([2], np.int32), np.array([1.0], np.float32))[
        0
    ] == pytest.approx(0.11490348, rel=1e-6)
    assert compile_loop("__nv_llroundf", ("f32",))(np.array([2.5, -2.5, 1e30], np.float32)).tolist() == [
        3,
        -3,
        2**63 - 1,
    ]
