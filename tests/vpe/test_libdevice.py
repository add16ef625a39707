"""The math functions: accuracy against many digits, special values, rounding modes, integers, Triton's names."""

from __future__ import annotations

import inspect
import re
import struct
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from libdevice_loops import compile_loop

from bringup.vpe.libdevice import UnknownMathFunction, function_names, lookup, name_of, signatures

INF, NAN = float("inf"), float("nan")
SAMPLES = 150


def cbrt(x: Any) -> Any:
    return mp.sign(x) * mp.cbrt(abs(x))


def length(*xs: Any) -> Any:
    return mp.sqrt(mp.fsum(x * x for x in xs))


def inverse(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *xs: 1 / function(*xs)


def uniform(low: float, high: float) -> Callable[..., Any]:
    return lambda rng, n: rng.uniform(low, high, n)


def scales(low: float, high: float, signed: bool = False) -> Callable[..., Any]:
    """Magnitudes spread evenly over the exponents."""

    def draw(rng: Any, n: int) -> Any:
        values = np.exp(rng.uniform(np.log(low), np.log(high), n))
        return values * rng.choice([-1, 1], n) if signed else values

    return draw


TINY = scales(1e-30, 1, True)

# name: (exact function, ranges of its arguments, bound in ulp for fp32, for fp64). The fp64 bounds above 4 are those of
# the C library.
EXACT: dict[str, tuple[Callable[..., Any], list[Callable[..., Any]], float, float]] = {
    "exp": (mp.exp, [uniform(-103, 88), TINY], 1.0, 1.0),
    "exp2": (lambda x: mp.mpf(2) ** x, [uniform(-149, 127), TINY], 1.0, 1.0),
    "exp10": (lambda x: mp.mpf(10) ** x, [uniform(-37, 38), TINY], 1.0, 2.0),
    "expm1": (mp.expm1, [uniform(-20, 80), TINY], 1.5, 1.5),
    "log": (mp.log, [scales(1e-44, 3e38), uniform(0.5, 2)], 1.0, 1.0),
    "log2": (lambda x: mp.log(x, 2), [scales(1e-44, 3e38), uniform(0.5, 2)], 1.5, 1.0),
    "log10": (mp.log10, [scales(1e-44, 3e38), uniform(0.5, 2)], 2.0, 2.0),
    "log1p": (mp.log1p, [uniform(-0.99, 3), scales(1e-30, 1e30)], 1.5, 1.5),
    "sin": (mp.sin, [uniform(-10, 10), scales(1e-40, 3e38, True), scales(1, 1e6)], 0.6, 1.0),
    "cos": (mp.cos, [uniform(-10, 10), scales(1e-40, 3e38, True), scales(1, 1e6)], 0.6, 1.0),
    "tan": (mp.tan, [uniform(-10, 10), scales(1e-30, 1e30, True)], 1.0, 1.0),
    "sinpi": (mp.sinpi, [uniform(-10, 10), scales(1e-30, 1e6, True)], 1.0, 1.5),
    "cospi": (mp.cospi, [uniform(-10, 10), scales(1e-30, 1e6, True)], 1.0, 1.5),
    "asin": (mp.asin, [uniform(-1, 1)], 1.5, 1.0),
    "acos": (mp.acos, [uniform(-1, 1)], 1.5, 1.0),
    "atan": (mp.atan, [uniform(-5, 5), scales(1e-20, 1e20, True)], 1.5, 1.0),
    "atan2": (mp.atan2, [scales(1e-9, 1e9, True), scales(1e-9, 1e9, True)], 1.0, 1.0),
    "sinh": (mp.sinh, [uniform(-88, 88), TINY], 1.0, 2.0),
    "cosh": (mp.cosh, [uniform(-88, 88)], 1.5, 2.0),
    "tanh": (mp.tanh, [uniform(-3, 3), uniform(-12, 12), TINY], 1.5, 2.0),
    "asinh": (mp.asinh, [uniform(-3, 3), scales(1e-20, 1e20, True)], 1.0, 2.0),
    "acosh": (mp.acosh, [uniform(1, 3), scales(1.001, 1e20)], 1.0, 2.0),
    "atanh": (mp.atanh, [uniform(-1, 1), scales(1e-20, 0.9, True)], 1.0, 2.0),
    "erf": (mp.erf, [uniform(-4.5, 4.5), TINY], 1.0, 1.5),
    "erfc": (mp.erfc, [uniform(-5, 9)], 1.0, 5.0),
    "erfcx": (lambda x: mp.exp(x * x) * mp.erfc(x), [uniform(-9, 10), scales(1e-10, 1e10)], 1.0, 3.0),
    "erfinv": (mp.erfinv, [uniform(-1, 1), scales(1e-20, 1, True)], 1.0, 3.0),
    "erfcinv": (lambda x: mp.erfinv(1 - x), [uniform(0, 2), scales(1e-37, 1)], 1.0, 3.0),
    "normcdf": (lambda x: mp.erfc(-x / mp.sqrt(2)) / 2, [uniform(-12, 5)], 1.0, 5.0),
    "normcdfinv": (lambda p: mp.sqrt(2) * mp.erfinv(2 * p - 1), [uniform(0, 1), scales(1e-37, 0.5)], 1.0, 4.0),
    "lgamma": (lambda x: mp.log(abs(mp.gamma(x))), [uniform(3, 100), scales(1e-10, 0.5)], 1.0, 5.0),
    "tgamma": (mp.gamma, [uniform(0.01, 34), uniform(-5, 0)], 1.0, 10.0),
    "j0": (lambda x: mp.besselj(0, x), [uniform(-2, 2)], 1.0, 5.0),
    "j1": (lambda x: mp.besselj(1, x), [uniform(-3, 3)], 1.0, 5.0),
    "y0": (lambda x: mp.bessely(0, x), [uniform(0.01, 0.8)], 1.0, 5.0),
    "y1": (lambda x: mp.bessely(1, x), [uniform(0.01, 1.5)], 1.0, 5.0),
    "cyl_bessel_i0": (lambda x: mp.besseli(0, x), [uniform(-85, 85)], 1.0, 4.0),
    "cyl_bessel_i1": (lambda x: mp.besseli(1, x), [uniform(-85, 85), TINY], 1.0, 4.0),
    "sqrt": (mp.sqrt, [scales(1e-44, 3e38)], 0.5001, 0.5001),
    "rsqrt": (lambda x: 1 / mp.sqrt(x), [scales(1e-44, 3e38)], 1.5, 1.5),
    "cbrt": (cbrt, [scales(1e-44, 3e38, True)], 1.0, 1.0),
    "rcbrt": (inverse(cbrt), [scales(1e-44, 3e38, True)], 1.0, 2.0),
    "pow": (lambda x, y: x**y, [scales(1e-3, 1e3), uniform(-10, 10)], 1.0, 1.0),
    "hypot": (length, [scales(1e-15, 1e15, True)] * 2, 1.0, 1.0),
    "rhypot": (inverse(length), [scales(1e-15, 1e15, True)] * 2, 1.0, 2.0),
    "norm3d": (length, [scales(1e-15, 1e15, True)] * 3, 1.0, 2.0),
    "rnorm3d": (inverse(length), [scales(1e-15, 1e15, True)] * 3, 1.0, 3.0),
    "norm4d": (length, [scales(1e-15, 1e15, True)] * 4, 1.0, 2.0),
    "rnorm4d": (inverse(length), [scales(1e-15, 1e15, True)] * 4, 1.0, 3.0),
}
TWO_ARGUMENTS = {"atan2", "pow", "hypot", "rhypot", "norm3d", "rnorm3d", "norm4d", "rnorm4d"}


def errors_in_ulp(got: Any, exact: list[Any], dtype: Any) -> list[float]:
    info = np.finfo(dtype)
    errors = []
    for value, true in zip(got, exact, strict=True):
        if abs(true) > mp.mpf(float(info.max)):
            assert np.isinf(value)
            continue
        exponent = int(mp.floor(mp.log(abs(true), 2))) if true != 0 else -5000
        unit = mp.mpf(2) ** (max(exponent, info.minexp) - info.nmant)
        assert np.isfinite(value), true
        errors.append(float(abs(mp.mpf(float(value)) - true) / unit))
    return errors


@pytest.mark.parametrize("name", list(EXACT))
@pytest.mark.parametrize("kind", ["fp32", "fp64"])
def test_accuracy(name: str, kind: str) -> None:
    exact, draws, *bounds = EXACT[name]
    overload = next(entry for entry in signatures()[name] if set(entry.arguments) == {kind})
    dtype = np.float32 if kind == "fp32" else np.float64
    rng = np.random.default_rng(sum(map(ord, name)))
    if name in TWO_ARGUMENTS:
        arrays = [draw(rng, SAMPLES).astype(dtype) for draw in draws]
    else:
        arrays = [np.concatenate([draw(rng, SAMPLES) for draw in draws]).astype(dtype)]
    got = compile_loop(overload.symbol, overload.mlir_arguments)(*arrays)
    with mp.workdps(60):
        true = [exact(*(mp.mpf(float(value)) for value in row)) for row in zip(*arrays, strict=True)]
        worst = max(errors_in_ulp(got, true, dtype))
    assert worst <= bounds[0 if kind == "fp32" else 1]


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=400, deadline=None)
@example(0x7F800001)
@example(0x00000001)
@example(0x80000001)
def test_vectorised_functions_agree_with_numpy_on_any_bits(bits: int) -> None:
    """Every fp32 bit pattern, in a full vector so that the vector code is what runs; NaN and infinities included."""
    x = np.full(64, struct.unpack("f", struct.pack("I", bits))[0], np.float32)
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        for name, true in (
            ("exp", np.exp(wide)),
            ("exp2", np.exp2(wide)),
            ("log", np.log(wide)),
            ("log2", np.log2(wide)),
            ("sin", np.sin(wide)),
            ("cos", np.cos(wide)),
            ("tanh", np.tanh(wide)),
            ("rsqrt", 1 / np.sqrt(wide)),
        ):
            got = compile_loop(f"math.{name}", ("f32",))(x)
            expected = true.astype(np.float32)
            spacing = np.spacing(np.abs(expected))
            same = (got == expected) | (np.isnan(got) & np.isnan(expected)) | (np.abs(got - expected) <= 2 * spacing)
            assert same.all(), (name, x[0], got[0], expected[0])
            if not np.isnan(expected[0]) and expected[0] == 0:
                assert np.signbit(got[0]) == np.signbit(expected[0]), (name, x[0])


@pytest.mark.parametrize("name", ["exp", "exp2", "log", "log2", "sin", "cos", "tanh", "erf", "rsqrt", "sqrt", "floor"])
def test_hot_functions_vectorise(name: str) -> None:
    loop = compile_loop(f"math.{name}" if name != "tanh" else "__nv_tanhf", ("f32",))
    assert loop.function.vectorises
    assert not loop.function.widened
    assert " x float>" in loop.optimised
    body = loop.optimised.split("define void @loop")[1]
    assert not re.search(r"call (float|<\d+ x float>) @(?!llvm\.)", body)


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


def test_every_signature_has_a_function_and_all_texts_fit_into_one_module() -> None:
    import llvmlite.binding as llvm

    texts: dict[str, str] = {}
    count = 0
    for name, overloads in signatures().items():
        for overload in overloads:
            function = lookup(overload.symbol, overload.arguments)
            assert function.name == name == name_of(overload.symbol)
            assert function.callee in function.texts
            assert function.result == overload.mlir_result
            for key, text in function.texts.items():
                assert texts.setdefault(key, text) == text
            count += 1
    assert count == 314
    llvm.parse_assembly("\n".join(texts.values())).verify()


def test_operations_of_ttir() -> None:
    for operation, kinds, symbol in (
        ("math.exp", ("f32",), "__nv_expf"),
        ("math.absf", ("f64",), "__nv_fabs"),
        ("math.absi", ("i32",), "__nv_abs"),
        ("math.fma", ("f32", "f32", "f32"), "__nv_fmaf"),
        ("tt.precise_sqrt", ("f32",), "__nv_fsqrt_rn"),
        ("tt.precise_divf", ("f32", "f32"), "__nv_fdiv_rn"),
        ("tt.mulhiui", ("i32", "i32"), "__nv_umulhi"),
        ("tt.mulhiui", ("i64", "i64"), "__nv_umul64hi"),
    ):
        assert lookup(operation, kinds).callee == lookup(symbol, kinds).callee


def test_what_does_not_exist_is_named() -> None:
    with pytest.raises(UnknownMathFunction, match=r"no function __nv_expg; did you mean __nv_exp"):
        lookup("__nv_expg", ("f32",))
    with pytest.raises(UnknownMathFunction, match=r"__nv_expf takes \(f32\), not \(f64\)"):
        lookup("__nv_expf", ("f64",))
    with pytest.raises(UnknownMathFunction, match=r"math.exp takes \(f32\) or \(f64\), not \(f16\)"):
        lookup("math.exp", ("f16",))
    with pytest.raises(UnknownMathFunction, match=r"no math function stands for the operation math\.frob"):
        lookup("math.frob", ("f32",))
    assert name_of("__nv_nothing") is None


def test_names_are_those_of_upstream() -> None:
    pytest.importorskip("triton")
    from triton.language.extra import libdevice as generic
    from triton.language.extra.cuda import libdevice as upstream

    from bringup.vpe.language import libdevice as ours

    names = {n for n, value in vars(upstream).items() if getattr(value, "__triton_builtin__", False)}
    names |= {n for n, value in vars(generic).items() if inspect.isfunction(value)}
    assert names <= set(function_names()) == set(ours.__all__)
    for name in names - {"fast_tanhf"}:
        mine = inspect.signature(getattr(ours, name)).parameters
        theirs = inspect.signature(getattr(upstream, name)).parameters
        assert list(mine) == list(theirs)


def test_import_is_light() -> None:
    import subprocess
    import sys

    code = "import sys, bringup.vpe.libdevice as l; l.function_names(); assert 'llvmlite' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
def test_coefficients_are_what_the_fit_gives(capsys: pytest.CaptureFixture[str]) -> None:
    from bringup.vpe.libdevice import coefficients, fit

    fit.main()
    fresh: dict[str, Any] = {}
    exec(capsys.readouterr().out, fresh)
    names = [name for name in vars(coefficients) if name.isupper()]
    assert len(names) > 12
    for name in names:
        assert fresh[name] == getattr(coefficients, name), name
