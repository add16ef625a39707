"""Which functions of libdevice the GPUs' Triton has, and how a dialect that has some speaks of them.

Names as in `triton.language.extra.cuda.libdevice` and `triton.language.extra.hip.libdevice` of Triton 3.6 and 3.7; left
out are conversions and roundings that a cast or tl.math does as well, and what 3.7 alone has (`rint` of hip).
"""

from __future__ import annotations

from bringup.dialect import Dialect

_BOTH = (
    "abs acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh cyl_bessel_i0 cyl_bessel_i1 erf erfc erfcx "
    "erfinv exp exp2 expm1 fast_dividef fast_expf floor fma fmod hypot ilogb isinf isnan j0 j1 ldexp lgamma llrint "
    "log log10 log1p log2 nearbyint nextafter pow round rsqrt signbit sin sinh sqrt tan tanh trunc y0 y1"
)
_NVIDIA_ALONE = (
    "brev byte_perm cbrt clz cospi div_rd div_rn div_ru div_rz erfcinv exp10 fast_cosf fast_exp10f fast_log10f "
    "fast_log2f fast_logf fast_powf fast_sinf fast_tanf fdim ffs finitef float_as_int float_as_uint fma_rd fma_rn "
    "fma_ru fma_rz int_as_float isfinited jn llround logb mulhi normcdf normcdfinv popc rcbrt remainder rhypot rint "
    "rsqrt_rn scalbn sinpi sqrt_rn tgamma uint_as_float yn"
)
NVIDIA = tuple(sorted(f"{_BOTH} {_NVIDIA_ALONE}".split()))
AMD = tuple(_BOTH.split())


def with_libdevice(dialect: Dialect, names: tuple[str, ...]) -> Dialect:
    """Return the dialect with these functions of libdevice and no others."""
    functions = tuple(name for name in dialect.tl_functions if not name.startswith("libdevice."))
    functions += tuple(f"libdevice.{name}" for name in names)
    modules = dialect.modules if "libdevice" in dialect.modules else (*dialect.modules, "libdevice")
    return dialect.model_copy(
        update={"tl_functions": functions, "modules": modules, "rules": language_rules(dialect.rules, functions)}
    )


def language_rules(rules: tuple[str, ...], functions: tuple[str, ...]) -> tuple[str, ...]:
    """Leave out what upstream's rules say of functions that libdevice supplies, or that the chip lacks."""
    left_out = ("There is no tanh", *(["tl.device_assert"] if "tl.device_assert" not in functions else []))
    return tuple(rule for rule in rules if not rule.startswith(left_out))
