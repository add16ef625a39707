"""The math functions: accuracy against many digits, vectorisation, and the names of Triton."""

from __future__ import annotations

import inspect
import re
import struct
from collections.abc import Callable
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


@pytest.mark.thinned
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
@pytest.mark.long
def test_coefficients_are_what_the_fit_gives(capsys: pytest.CaptureFixture[str]) -> None:
    from bringup.vpe.libdevice import coefficients, fit

    fit.main()
    fresh: dict[str, Any] = {}
    exec(capsys.readouterr().out, fresh)
    names = [name for name in vars(coefficients) if name.isupper()]
    assert len(names) > 12
    for name in names:
        assert fresh[name] == getattr(coefficients, name), name
