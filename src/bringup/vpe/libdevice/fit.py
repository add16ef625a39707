"""Makes `coefficients.py`: polynomial fits in 60-digit arithmetic.

Run `python -m bringup.vpe.libdevice.fit > coefficients.py` after a change here; it needs mpmath (which torch brings
along through sympy) and prints the largest relative error of every fit as a comment. Nothing imports this module at
run time.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable
from typing import Any

import mpmath as mp  # type: ignore[import-untyped]

mp.mp.dps = 60
Real = Any  # an mpmath number


def _round32(value: Real) -> float:
    rounded: float = struct.unpack("f", struct.pack("f", float(value)))[0]
    return rounded


def _nodes(low: Real, high: Real, count: int) -> list[Real]:
    middle, half = (low + high) / 2, (high - low) / 2
    return [middle + half * mp.cos(mp.pi * (2 * k + 1) / (2 * count)) for k in range(count)]


def _least_squares(
    target: Callable[[Real], Real], weight: Callable[[Real], Real], powers: list[int], points: list[Real]
) -> list[Real]:
    """Coefficients of `powers` that fit `target` best at `points`, each residual times `weight`."""
    rows = mp.matrix(len(points), len(powers))
    right = mp.matrix(len(points), 1)
    for i, x in enumerate(points):
        w = weight(x)
        right[i] = target(x) * w
        for j, power in enumerate(powers):
            rows[i, j] = (x**power if power else mp.mpf(1)) * w
    return list(mp.lu_solve(rows.T * rows, rows.T * right))


def polynomial(
    target: Callable[[Real], Real],
    weight: Callable[[Real], Real],
    interval: tuple[float, float],
    degree: int,
    single: bool,
) -> list[float]:
    """Coefficients (constant first) of a weighted fit, rounded to fp32 or fp64 one after the other.

    Each rounding is compensated by fitting the higher coefficients again, which keeps the error of the rounded
    polynomial close to that of the exact one.
    """
    points = _nodes(mp.mpf(interval[0]), mp.mpf(interval[1]), 6 * (degree + 1))
    fixed: list[float] = []
    for low in range(degree + 1):
        known = list(fixed)

        def rest(x: Real, known: list[float] = known) -> Real:
            return target(x) - sum((mp.mpf(c) * x**k for k, c in enumerate(known)), mp.mpf(0))

        best = _least_squares(rest, weight, list(range(low, degree + 1)), points)[0]
        fixed.append(_round32(best) if single else float(best))
    return fixed


def piecewise(function: Callable[[Real], Real], bounds: list[float], degree: int) -> tuple[list[list[float]], float]:
    """Chebyshev fits of `function` between neighbouring `bounds`, as monomials of u in [-1, 1]; and the worst error.

    Every piece has the same degree, so that a piece is picked by loading its row of coefficients.
    """
    pieces = []
    worst = 0.0
    for low, high in itertools.pairwise(bounds):
        middle, half = (mp.mpf(low) + mp.mpf(high)) / 2, (mp.mpf(high) - mp.mpf(low)) / 2

        def scaled(u: Real, middle: Real = middle, half: Real = half) -> Real:
            return function(middle + half * u)

        row = mp.chebyfit(scaled, [-1, 1], degree + 1)[::-1]
        pieces.append([float(c) for c in row])
        for x in _nodes(mp.mpf(-1), mp.mpf(1), 37):
            exact = scaled(x)
            worst = max(worst, float(abs(mp.polyval(row[::-1], x) / exact - 1)))
    return pieces, worst


def _show(name: str, values: list[float], comment: str) -> None:
    print(f"\n{name} = (")
    for value in values:
        print(f"    {value!r},")
    print(f")\n# {comment}")


def _show_table(name: str, function: Callable[[Real], Real], bounds: list[float], degree: int, comment: str) -> None:
    pieces, worst = piecewise(function, bounds, degree)
    print(f"\n{name} = (\n    {tuple(bounds)!r},\n    (")
    for row in pieces:
        print("        (")
        for value in row:
            print(f"            {value!r},")
        print("        ),")
    print(f"    ),\n)\n# {comment}; largest relative error {worst:.1e}")


def _erfcinv_of_exp(t: Real) -> Real:
    """y with erfc(y) = exp(-t*t), by Newton on the logarithm, which stays finite where erfc underflows."""
    y = mp.mpf(t)
    for _ in range(60):
        tail = mp.erfc(y)
        step = (mp.log(tail) + t * t) / (-2 * mp.exp(-y * y) / (mp.sqrt(mp.pi) * tail))
        y -= step
        if abs(step) < mp.mpf(10) ** -45:
            break
    return y


def _erfcx(x: Real) -> Real:
    return mp.exp(x * x) * mp.erfc(x)


def _limit(value: Callable[[Real], Real], at_zero: Real) -> Callable[[Real], Real]:
    return lambda x: at_zero if x == 0 else value(x)


def _bessel_near(order: int) -> Callable[[Real], Real]:
    return lambda x: mp.besseli(order, x) * mp.exp(-x) / x**order


def _bessel_far(order: int) -> Callable[[Real], Real]:
    def scaled(w: Real) -> Real:
        return mp.besseli(order, 1 / w) * mp.exp(-1 / w) / mp.sqrt(w) if w > 1e-9 else 1 / mp.sqrt(2 * mp.pi)

    return scaled


def main() -> None:
    """Print the module."""
    print('"""Coefficients of polynomial fits. Generated by `bringup.vpe.libdevice.fit`; do not edit."""')
    ln2 = float(mp.log(2))
    one = mp.mpf(1)
    root_half, root_two = float(mp.sqrt(mp.mpf(1) / 2)), float(mp.sqrt(2))
    _show(
        "EXP",
        polynomial(
            _limit(lambda r: (mp.exp(r) - 1 - r) / r**2, one / 2), lambda r: r * r, (-ln2 / 2, ln2 / 2), 5, True
        ),
        "exp(r) = 1 + r + r*r*EXP(r), |r| <= ln(2)/2, fp32",
    )
    _show(
        "EXP2",
        polynomial(_limit(lambda r: (2**r - 1) / r, mp.log(2)), lambda r: r, (-0.5, 0.5), 6, True),
        "2**r = 1 + r*EXP2(r), |r| <= 1/2, fp32",
    )
    _show(
        "LOG",
        polynomial(
            _limit(lambda f: (mp.log1p(f) - f + f * f / 2) / f**3, one / 3),
            lambda f: f**3 / mp.log1p(f) if f else mp.mpf(0),
            (root_half - 1, root_two - 1),
            8,
            True,
        ),
        "log(1 + f) = f - f*f/2 + f*f*f*LOG(f), sqrt(1/2) <= 1 + f <= sqrt(2), fp32",
    )
    quarter = float(mp.pi / 4) * 1.0001
    _show(
        "SIN",
        polynomial(
            lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z if z else -one / 6,
            lambda z: z,
            (0.0, quarter**2),
            4,
            False,
        ),
        "sin(r) = r + r*z*SIN(z), z = r*r, |r| <= pi/4, fp64 coefficients",
    )
    _show(
        "COS",
        polynomial(lambda z: (mp.cos(mp.sqrt(z)) - 1) / z if z else -one / 2, lambda z: z, (0.0, quarter**2), 4, False),
        "cos(r) = 1 + z*COS(z), z = r*r, |r| <= pi/4, fp64 coefficients",
    )
    _show(
        "TANH",
        polynomial(
            lambda z: (mp.tanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z if z else -one / 3, lambda z: z, (0.0, 0.6**2), 5, True
        ),
        "tanh(x) = x + x*z*TANH(z), z = x*x, |x| < 0.6, fp32",
    )
    _show(
        "ERF",
        polynomial(
            lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1 if z else 2 / mp.sqrt(mp.pi) - 1,
            lambda z: mp.sqrt(z) / mp.erf(mp.sqrt(z)) if z else one,
            (0.0, 0.95**2),
            6,
            True,
        ),
        "erf(x) = x + x*ERF(z), z = x*x, |x| < 0.95, fp32",
    )
    _show(
        "ERF_TAIL",
        polynomial(lambda x: mp.log(mp.erfc(x)), mp.erfc, (0.94, 4.0), 9, True),
        "erf(x) = 1 - exp(ERF_TAIL(x)), 0.95 <= x < 4, fp32",
    )
    _show_table(
        "ERFINV",
        lambda z: mp.erfinv(mp.sqrt(z)) / mp.sqrt(z) if z else mp.sqrt(mp.pi) / 2,
        [0.0, 0.2, 0.4, 0.5626],
        16,
        "erfinv(q) = q*ERFINV(q*q), |q| <= 3/4, fp64",
    )
    _show_table(
        "ERFCINV",
        _erfcinv_of_exp,
        [1.17, 1.5, 1.95, 2.6, 3.6, 5.2, 8.0, 13.0, 27.4],
        20,
        "erfcinv(s) = ERFCINV(sqrt(-log(s))), 0 < s <= 1/4, fp64",
    )
    _show_table("ERFCX_NEAR", _erfcx, [0.0, 0.3, 0.6, 1.0], 16, "erfcx(x) = ERFCX_NEAR(x), 0 <= x <= 1, fp64")
    _show_table(
        "ERFCX",
        lambda v: _erfcx(4 / v - 4) * 4 / v if v else 1 / mp.sqrt(mp.pi),
        [0.0, 0.1, 0.22, 0.36, 0.52, 0.68, 0.8],
        16,
        "erfcx(x) = ERFCX(v)/(4 + x), v = 4/(4 + x), x >= 1, fp64",
    )
    for order, name in ((0, "I0"), (1, "I1")):
        _show_table(
            name,
            _limit(_bessel_near(order), one / 2 if order else one),
            [0.0, 1.0, 2.2, 3.6, 5.0, 6.5, 8.0],
            15,
            f"I{order}(x) = x**{order}*exp(x)*{name}(x), 0 <= x <= 8, fp64",
        )
        _show_table(
            f"{name}_FAR",
            _bessel_far(order),
            [0.0, 0.02, 0.045, 0.08, 0.125],
            15,
            f"I{order}(x) = exp(x)/sqrt(x)*{name}_FAR(1/x), x >= 8, fp64",
        )


if __name__ == "__main__":
    main()
