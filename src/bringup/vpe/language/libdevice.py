"""`triton.language.extra.libdevice` for vpe: one function for each name of `bringup.vpe.libdevice`.

Triton's front end replaces the functions of the generic module by those of this one (`get_module_map` of the backend),
so `from triton.language.extra import libdevice` and `libdevice.tanh(x)` work in any kernel. The functions are made from
the table of signatures when the module is imported; each takes tensors or scalars of one of its overloads' dtypes and
broadcasts them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from triton.language import core

from bringup.vpe.libdevice import Signature, signatures

# Upstream declares an i32 result and turns it into a bool.
_BOOLEAN = frozenset({"isnan", "isinf", "finitef", "isfinited"})

_Dtypes = tuple[Any, ...]


def _call(name: str, overloads: dict[_Dtypes, tuple[str, Any]], arguments: list[Any], semantic: Any) -> Any:
    values = [semantic.to_tensor(argument) for argument in arguments]
    given = tuple(value.dtype for value in values)
    if given not in overloads:
        offered = " or ".join(f"({', '.join(str(dtype) for dtype in dtypes)})" for dtypes in overloads)
        raise TypeError(
            f"libdevice.{name} takes {offered}, not ({', '.join(str(dtype) for dtype in given)}); convert with .to(...)"
        )
    result = core.extern_elementwise("", "", values, overloads, is_pure=True, _semantic=semantic)
    return result.to(core.int1, _semantic=semantic) if name in _BOOLEAN else result


def _one(name: str, overloads: dict[_Dtypes, tuple[str, Any]]) -> Callable[..., Any]:
    def function(arg0: Any, _semantic: Any = None) -> Any:
        return _call(name, overloads, [arg0], _semantic)

    return function


def _two(name: str, overloads: dict[_Dtypes, tuple[str, Any]]) -> Callable[..., Any]:
    def function(arg0: Any, arg1: Any, _semantic: Any = None) -> Any:
        return _call(name, overloads, [arg0, arg1], _semantic)

    return function


def _three(name: str, overloads: dict[_Dtypes, tuple[str, Any]]) -> Callable[..., Any]:
    def function(arg0: Any, arg1: Any, arg2: Any, _semantic: Any = None) -> Any:
        return _call(name, overloads, [arg0, arg1, arg2], _semantic)

    return function


def _four(name: str, overloads: dict[_Dtypes, tuple[str, Any]]) -> Callable[..., Any]:
    def function(arg0: Any, arg1: Any, arg2: Any, arg3: Any, _semantic: Any = None) -> Any:
        return _call(name, overloads, [arg0, arg1, arg2, arg3], _semantic)

    return function


# Spelled out by arity: Triton reads the signature, and keyword arguments have upstream's names.
_MAKERS = {1: _one, 2: _two, 3: _three, 4: _four}


def _make(name: str, signature: tuple[Signature, ...]) -> Any:
    overloads = {
        tuple(core.dtype(kind) for kind in overload.arguments): (overload.symbol, core.dtype(overload.result))
        for overload in signature
    }
    function = _MAKERS[len(signature[0].arguments)](name, overloads)
    function.__name__ = function.__qualname__ = name
    types = "; ".join(f"({', '.join(entry.arguments)}) -> {entry.result}" for entry in signature)
    function.__doc__ = f"Element-wise `{name}`: {types}."
    return core.extern(function)


globals().update({_name: _make(_name, _overloads) for _name, _overloads in signatures().items()})
__all__ = list(signatures())
