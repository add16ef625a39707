"""Which code computes which function: for each name and kind of number, how its LLVM function is made."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from bringup.vpe.libdevice import elementary, integers, special
from bringup.vpe.libdevice.rounding import MODES, directed
from bringup.vpe.libdevice.values import Value

Unit = Literal["vector", "special"]


@dataclass(frozen=True)
class Recipe:
    """How one function on one type is computed."""

    build: Callable[..., Any]
    """Appends instructions; takes and returns `Value`s."""
    unit: Unit
    """What a chip computes it with: its vector unit or its special function unit."""
    native: str | None = None
    """The libm function that is all there is to it, if so."""
    widened: bool = False
    """fp32 that is computed in fp64 and rounded at the end."""


def _native(name: str) -> Recipe:
    return Recipe(special.native_function(name), "special", native=name)


def _widen(inner: Callable[..., Any]) -> Recipe:
    def build(*args: Value) -> Value:
        wide: Value = inner(*(arg.to("f64") if arg.is_float else arg for arg in args))
        return wide.to("f32")

    return Recipe(build, "special", widened=True)


def _intrinsic(name: str) -> Callable[..., Any]:
    def build(first: Value, *others: Value) -> Value:
        return first.intrinsic(name, *others)

    return build


def _arithmetic(name: str) -> Callable[..., Any]:
    return {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv}[name]


def _one_over(x: Value) -> Value:
    return 1.0 / x


# fp32 from libm, fp32 form: within 2 ulp there.
_NATIVE_BOTH = (
    "asin",
    "acos",
    "atan",
    "expm1",
    "log10",
    "log1p",
    "nextafter",
    "fmod",
    "remainder",
    "pow",
    "exp10",
    "cosh",
)
# fp32 by way of libm's fp64 form: the fp32 form is slower than that or off by more than 2 ulp.
_NATIVE_WIDE = (
    *("tan", "sinh", "asinh", "acosh", "atanh", "atan2", "hypot", "erfc", "lgamma", "tgamma"),
    *("j0", "j1", "y0", "y1"),
)
_NATIVE_DOUBLE = ("exp", "exp2", "log", "log2", "sin", "cos", "tanh", "erf")
_OWN_DOUBLE = (
    *("erfinv", "erfcinv", "erfcx", "normcdf", "normcdfinv", "cyl_bessel_i0", "cyl_bessel_i1"),
    *("sinpi", "cospi", "cbrt"),
)
_INTRINSICS = {
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "rint": "roundeven",
    "nearbyint": "roundeven",
    "round": "round",
    "sqrt": "sqrt",
    "sqrt_rn": "sqrt",
    "copysign": "copysign",
    "fma": "fma",
    "fma_rn": "fma",
}
_SPECIAL_UNIT = frozenset({"sqrt", "sqrt_rn"})
_ROUNDINGS = {"rn": "roundeven", "rz": "trunc", "rd": "floor", "ru": "ceil"}


def _floating() -> dict[tuple[str, str], Recipe]:
    table: dict[tuple[str, str], Recipe] = {}
    for name in _NATIVE_BOTH:
        table[name, "f32"], table[name, "f64"] = _native(f"{name}f"), _native(name)
    for name in _NATIVE_WIDE:
        table[name, "f32"], table[name, "f64"] = _widen(special.native_function(name)), _native(name)
    for name in ("jn", "yn"):
        inner = special.bessel_of_order(name)
        table[name, "f32"], table[name, "f64"] = _widen(inner), Recipe(inner, "special")
    for name in _NATIVE_DOUBLE:
        table[name, "f32"], table[name, "f64"] = Recipe(getattr(elementary, name), "special"), _native(name)
    for name in _OWN_DOUBLE:
        inner = getattr(special, name)
        table[name, "f32"], table[name, "f64"] = _widen(inner), Recipe(inner, "special")
    for name, inner in {
        "rhypot": special.reciprocal(special.norm),
        "norm3d": special.norm,
        "rnorm3d": special.reciprocal(special.norm),
        "norm4d": special.norm,
        "rnorm4d": special.reciprocal(special.norm),
        "rcbrt": special.reciprocal(special.cbrt),
    }.items():
        table[name, "f32"], table[name, "f64"] = _widen(inner), Recipe(inner, "special")
    for kind in ("f32", "f64"):
        for name, intrinsic in _INTRINSICS.items():
            table[name, kind] = Recipe(_intrinsic(intrinsic), "special" if name in _SPECIAL_UNIT else "vector")
        table["rsqrt", kind] = table["rsqrt_rn", kind] = Recipe(elementary.rsqrt, "special")
        table["abs", kind] = Recipe(Value.abs, "vector")
        for name in ("isnan", "isinf", "signbit", "fdim", "ilogb", "logb"):
            table[name, kind] = Recipe(getattr(integers, name), "vector")
        table["finitef", kind] = table["isfinited", kind] = Recipe(integers.isfinite, "vector")
        table["ldexp", kind] = table["scalbn", kind] = Recipe(integers.scale_by_power, "vector")
        table["llrint", kind] = Recipe(integers.rounded_to_integer("roundeven", "i64", True), "vector")
        table["llround", kind] = Recipe(integers.rounded_to_integer("round", "i64", True), "vector")
    table["saturatef", "f32"] = Recipe(integers.saturatef, "vector")
    table["rcp64h", "f64"] = Recipe(integers.rcp64h, "special")
    # The names say "fast"; a CPU has nothing faster than the functions above.
    for name in ("sin", "cos", "tan", "exp", "exp10", "log", "log2", "log10", "pow", "tanh"):
        table[f"fast_{name}f", "f32"] = table[name, "f32"]
    table["fast_dividef", "f32"] = Recipe(_arithmetic("div"), "special")
    return table


_FLOATING = _floating()

_BY_SYMBOL: dict[str, Recipe] = {
    "abs": Recipe(integers.absolute, "vector"),
    "llabs": Recipe(integers.absolute, "vector"),
    "powif": _widen(special.power_of_integer),
    "powi": Recipe(special.power_of_integer, "special"),
    "mul64hi": Recipe(integers.mulhi, "vector"),
    "umul64hi": Recipe(integers.umulhi, "vector"),
    **{
        f"{name}{suffix}": Recipe(getattr(integers, name), "vector")
        for name in ("clz", "popc", "ffs", "brev")
        for suffix in ("", "ll")
    },
    **{
        name: Recipe(getattr(integers, name), "vector")
        for name in (
            *("byte_perm", "mulhi", "umulhi", "mul24", "umul24", "sad", "usad", "hadd", "uhadd", "rhadd", "urhadd"),
            *("hiloint2double", "double2hiint", "double2loint"),
        )
    },
    **{
        f"{source}_as_{target}": Recipe(integers.reinterpret, "vector")
        for source, target in (
            *(("int", "float"), ("uint", "float"), ("float", "int"), ("float", "uint")),
            *(("longlong", "double"), ("double", "longlong")),
        )
    },
}


def _converted(symbol: str, result: str) -> Recipe | None:
    """Conversions: `float2int_rd`, `ull2double_rz`, `double2float_ru`, ..."""
    match = re.fullmatch(r"(u?)(int|ll|float|double)2(u?)(int|ll|float|double)_(r[nzdu])", symbol)
    if match is None:
        return None
    unsigned_source, source, unsigned_result, target, mode = match.groups()
    if target in ("int", "ll"):
        return Recipe(integers.rounded_to_integer(_ROUNDINGS[mode], result, not unsigned_result), "vector")
    signed = not unsigned_source
    if mode == "rn":

        def nearest(x: Value) -> Value:
            return x.to(result, signed)

        return Recipe(nearest, "vector")
    operation = "fptrunc" if source == "double" else ("sitofp" if signed else "uitofp")
    return Recipe(directed(operation, mode, result), "vector")


_OPERATIONS = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv", "rcp": "fdiv", "sqrt": "sqrt", "fma": "fma"}


def _directed(name: str, result: str) -> Recipe | None:
    """Arithmetic in a rounding mode: `add_rn`, `rcp_rz`, `fma_ru`, ..."""
    verb, _, mode = name.partition("_")
    if verb not in _OPERATIONS or (mode != "rn" and mode not in MODES):
        return None
    unit: Unit = "special" if verb in ("div", "rcp", "sqrt") else "vector"
    if mode == "rn":
        return Recipe(_one_over if verb == "rcp" else _arithmetic(verb), unit)
    build = directed(_OPERATIONS[verb], mode, result)
    if verb != "rcp":
        return Recipe(build, unit)

    def reciprocal(x: Value) -> Value:
        return build(x.constant(1.0), x)

    return Recipe(reciprocal, unit)


def find(name: str, symbol: str, arguments: tuple[str, ...], result: str) -> Recipe:
    """The recipe of the overload of `name` with this symbol (without `__nv_`) and these MLIR types.

    Raises `KeyError` when there is none, which a test rules out for every line of the table of signatures.
    """
    if symbol in _BY_SYMBOL:
        return _BY_SYMBOL[symbol]
    kind = next((argument for argument in reversed(arguments) if argument.startswith("f")), "")
    known = _FLOATING.get((name, kind))
    recipe = known or _converted(symbol, result) or _directed(name, result)
    if recipe is None:
        raise KeyError(symbol)
    return recipe
