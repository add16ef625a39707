"""The math functions of kernels: what libdevice and `tl.math` name, as LLVM IR or as functions of the C library.

    >>> function = lookup("__nv_expf", ("f32",))
    >>> function.callee, function.unit
    ('vpe.expf.f32', 'special')

A compiler calls `function.callee` and adds `function.texts` (LLVM text of everything that the call needs, by global
name) to its module; `function.natives` are the addresses of the C functions among them, by symbol.
Loading this package is cheap: llvmlite and the recipes load with the first lookup.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from bringup.vpe.libdevice.signatures import TABLE

_MLIR_TYPES = {
    **{f"{sign}int{bits}": f"i{bits}" for sign in ("", "u") for bits in (1, 8, 16, 32, 64)},
    **{f"fp{bits}": f"f{bits}" for bits in (16, 32, 64)},
}

# Operations of TTIR that stand for a function of the table; `math.X` otherwise stands for X.
_OPERATIONS = {
    "math.absf": "abs",
    "math.absi": "abs",
    "math.powf": "pow",
    "math.fpowi": "pow",
    "math.roundeven": "rint",
    "math.ctlz": "clz",
    "math.ctpop": "popc",
    "tt.precise_sqrt": "sqrt_rn",
    "tt.precise_divf": "div_rn",
}


class UnknownMathFunction(LookupError):
    """A symbol, or a symbol with these argument types, that libdevice does not have."""


@dataclass(frozen=True)
class Signature:
    """One overload as `triton.language` sees it."""

    symbol: str
    """`__nv_...`"""
    arguments: tuple[str, ...]
    """Triton's dtype names: `fp32`, `uint32`, ..."""
    result: str

    @property
    def mlir_arguments(self) -> tuple[str, ...]:
        """The same in MLIR's names, where integers have no sign."""
        return tuple(_MLIR_TYPES[name] for name in self.arguments)

    @property
    def mlir_result(self) -> str:
        """The result in MLIR's names."""
        return _MLIR_TYPES[self.result]


@dataclass(frozen=True)
class MathFunction:
    """A function on scalars that compiled kernels can call; element-wise on tensors."""

    name: str
    """Name in libdevice: what a profile's allow list holds."""
    symbol: str
    """What was looked up: `__nv_expf`, `math.exp`, ..."""
    arguments: tuple[str, ...]
    """MLIR types."""
    result: str
    """MLIR type."""
    callee: str
    """LLVM name to call, without `@`: an internal function of `texts`, or a C function."""
    texts: Mapping[str, str]
    """LLVM text by global name: the function, its tables, and declarations of what they call.

    Entries of the same name from several functions are identical and go into a module once.
    """
    natives: Mapping[str, int]
    """Addresses of C functions by symbol, among them those that LLVM may call for an intrinsic."""
    unit: Literal["vector", "special"]
    """What the chip computes it with: for the cost model."""
    vectorises: bool
    """Whether a loop around the call can be vectorised: no C function is called."""
    widened: bool
    """fp32 computed in fp64 and rounded at the end, because the function is not accurate otherwise."""


STEPS = {"arith.remf": 32, "fmod": 32, "remainder": 32, "remquo": 32, "jn": 256, "yn": 256}


@functools.cache
def signatures() -> Mapping[str, tuple[Signature, ...]]:
    """Every function by name with its overloads, in the order of the table."""
    table: dict[str, tuple[Signature, ...]] = {}
    for line in TABLE.strip().splitlines():
        if line.startswith("#"):
            continue
        name, _, overloads = line.partition(":")
        entries = []
        for overload in overloads.split(";"):
            head, _, result = overload.strip().rpartition(" ")
            symbol, _, arguments = head.rstrip(")").partition("(")
            entries.append(Signature(f"__nv_{symbol}", tuple(arguments.split()), result))
        table[name] = tuple(entries)
    return table


def function_names() -> tuple[str, ...]:
    """Names of all functions: what `libdevice.<name>` can be in a kernel."""
    return tuple(signatures())


@functools.cache
def _by_symbol() -> Mapping[str, tuple[str, Signature]]:
    return {overload.symbol: (name, overload) for name, overloads in signatures().items() for overload in overloads}


def name_of(symbol: str) -> str | None:
    """Name in libdevice of a symbol such as `__nv_sinf`; None if there is no such symbol."""
    found = _by_symbol().get(symbol)
    return found[0] if found else None


def steps_of(symbol: str) -> int:
    """How many operations of the special function unit a function counts as: of symbols, and of `arith.remf`.

    Most are one. A remainder takes a step for each bit by which its operands' exponents differ, a Bessel function one
    for each of its order: without them a kernel would be done long before whoever runs it.
    """
    return STEPS.get(name_of(symbol) or symbol, 1)


@functools.cache
def lookup(symbol: str, argument_types: tuple[str, ...]) -> MathFunction:
    """The function for a symbol of `tt.extern_elementwise` (`__nv_expf`) or an operation of TTIR (`math.exp`).

    `argument_types` are MLIR's (`f32`, `i32`) or Triton's names (`fp32`, `uint32`). Raises `UnknownMathFunction`.
    """
    from bringup.vpe.libdevice.build import build

    kinds = tuple(_MLIR_TYPES.get(kind, kind) for kind in argument_types)
    name, overload = _resolve(symbol, kinds)
    return build(name, symbol, overload)


def result_of(symbol: str, argument_types: tuple[str, ...]) -> str:
    """The MLIR type that a function gives for arguments of MLIR types. Raises `UnknownMathFunction`."""
    return _resolve(symbol, argument_types)[1].mlir_result


def _resolve(symbol: str, kinds: tuple[str, ...]) -> tuple[str, Signature]:
    if symbol.startswith("__nv_"):
        found = _by_symbol().get(symbol)
        if found is None:
            close = difflib.get_close_matches(symbol, list(_by_symbol()), n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise UnknownMathFunction(f"libdevice has no function {symbol}{hint}")
        candidates = [found]
    elif symbol == "tt.mulhiui":
        unsigned = [entry for entry in signatures()["mulhi"] if entry.arguments[0].startswith("u")]
        candidates = [("mulhi", entry) for entry in unsigned]
    else:
        name = _OPERATIONS.get(symbol, symbol.removeprefix("math."))
        candidates = [(name, entry) for entry in signatures().get(name, ())]
        if not candidates:
            raise UnknownMathFunction(f"no math function stands for the operation {symbol}")
    for name, entry in candidates:
        if entry.mlir_arguments == kinds:
            return name, entry
    offered = " or ".join(f"({', '.join(entry.mlir_arguments)})" for _, entry in candidates)
    raise UnknownMathFunction(f"{symbol} takes {offered}, not ({', '.join(kinds)})")
