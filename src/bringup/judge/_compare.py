"""Compare what a candidate returned with the CPU reference: structure, dtype, shape, values, aliasing, mutation.

Values are compared with a `Limit` (bringup.accuracy): bit for bit, or within a bound around the exact result. Where
there is none, the tolerances of `torch.testing.assert_close` for the dtype of the expected output hold: |actual -
expected| <= atol + rtol * |expected|, NaN equal to NaN, integers and booleans exactly; overridden by the suite's data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from bringup.accuracy import PRECISION, Limit
from bringup.judge._codec import tensors_of
from bringup.verdict import Difference, Mismatch, TensorSummary

SMALL = 64  # tensors of at most so many elements are printed in full
FIRST = 8  # so many differing elements are shown
_MOST_SHOWN = 400  # characters of a value
MOST_DIMS = 64  # PyTorch reduces over no more


def summarise(tensor: torch.Tensor) -> TensorSummary:
    """Describe a host tensor for a human or a model; NaN and infinities are counted, not averaged."""
    summary: dict[str, Any] = {
        "dtype": _name(tensor.dtype),
        "shape": tuple(tensor.shape),
        "stride": tuple(tensor.stride()),
    }
    if 0 < tensor.numel() <= SMALL:
        summary["values"] = str(tensor.detach().tolist())
    if tensor.numel() and not tensor.is_complex():
        wide = tensor.detach().to(torch.float64)
        finite = wide[torch.isfinite(wide)]
        summary["nans"] = int(torch.isnan(wide).sum())
        summary["infs"] = int(torch.isinf(wide).sum())
        if finite.numel():
            summary |= {"minimum": float(finite.min()), "maximum": float(finite.max()), "mean": float(finite.mean())}
    return TensorSummary(**summary)


def describe_call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Return the call as text: `wrapper(Tensor[float32, 3x4], dim=1)`."""
    parts = [_describe(arg) for arg in args] + [f"{key}={_describe(value)}" for key, value in kwargs.items()]
    return f"wrapper({', '.join(parts)})"


def _describe(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        shape = "x".join(map(str, value.shape)) or "0-d"
        layout = "" if value.is_contiguous() else f", strides {tuple(value.stride())}"
        offset = f", offset {value.storage_offset()}" if value.storage_offset() else ""
        return f"Tensor[{_name(value.dtype)}, {shape}{layout}{offset}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(_describe, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, list):
        return f"[{', '.join(map(_describe, value))}]"
    return repr(value)


Bounds = Mapping[str, Limit]  # by path


def compare(
    expected: Any,
    actual: Any,
    rtol: float | None = None,
    atol: float | None = None,
    path: str = "output",
    limits: Bounds | None = None,
) -> Mismatch | None:
    """Return the first mismatch between two trees of host tensors and Python values, or None.

    `limits`: what the tensors at some paths may be; `rtol` and `atol` hold for all others.
    """
    if isinstance(expected, torch.Tensor):
        if not isinstance(actual, torch.Tensor):
            return _structure(path, f"a tensor was expected, {type(actual).__name__} {actual!r:.80} was returned")
        return compare_tensors(expected, actual, rtol, atol, path, (limits or {}).get(path))
    if isinstance(expected, list | tuple):
        if not isinstance(actual, list | tuple):
            return _structure(path, f"a sequence of {len(expected)} was expected, not {type(actual).__name__}")
        if len(expected) != len(actual):
            return _structure(path, f"a sequence of {len(expected)} was expected, {len(actual)} came")
        for index, (one, other) in enumerate(zip(expected, actual, strict=True)):
            if found := compare(one, other, rtol, atol, f"{path}[{index}]", limits):
                return found
        return None
    if isinstance(expected, dict):
        if not isinstance(actual, dict) or set(expected) != set(actual):
            return _structure(path, f"a mapping with the keys {sorted(map(str, expected))} was expected")
        for key, one in expected.items():
            if found := compare(one, actual[key], rtol, atol, f"{path}[{key!r}]", limits):
                return found
        return None
    return _compare_values(expected, actual, rtol, atol, path)


def _compare_values(expected: Any, actual: Any, rtol: float | None, atol: float | None, path: str) -> Mismatch | None:
    if isinstance(expected, float | complex) and isinstance(actual, float | int | complex):
        if isinstance(actual, bool):
            return _structure(path, f"{_shown(expected)} was expected, {_shown(actual)} was returned")
        kind = torch.complex128 if isinstance(expected, complex) else torch.float64
        return compare_tensors(torch.tensor(expected, dtype=kind), torch.tensor(actual, dtype=kind), rtol, atol, path)
    if isinstance(actual, torch.Tensor):
        return _structure(path, f"the Python value {_shown(expected)} was expected, a tensor was returned")
    if expected is True and isinstance(actual, str):  # a statement, and how it does not hold
        return Mismatch(aspect="values", output=path, message=f"it does not hold: {actual[:_MOST_SHOWN]}")
    if type(expected) is not type(actual) or expected != actual:
        return _structure(path, f"{_shown(expected)} was expected, {_shown(actual)} was returned")
    return None


def _shown(value: Any) -> str:
    """A value as Python writes it, cut: a guest may have returned anything."""
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}... ({len(text)} characters)"


def _structure(path: str, message: str) -> Mismatch:
    return Mismatch(aspect="structure", output=path, message=message)


def compare_tensors(
    expected: torch.Tensor,
    actual: torch.Tensor,
    rtol: float | None,
    atol: float | None,
    path: str,
    limit: Limit | None = None,
) -> Mismatch | None:
    """Compare two host tensors; `rtol`/`atol` None means the defaults of the expected dtype."""
    if expected.dtype != actual.dtype:
        message = f"dtype {_name(expected.dtype)} was expected, {_name(actual.dtype)} was returned"
        return Mismatch(
            aspect="dtype", output=path, message=message, expected=summarise(expected), actual=summarise(actual)
        )
    if expected.shape != actual.shape:
        message = f"shape {tuple(expected.shape)} was expected, {tuple(actual.shape)} was returned"
        return Mismatch(
            aspect="shape", output=path, message=message, expected=summarise(expected), actual=summarise(actual)
        )
    if not expected.numel():
        return None
    if expected.dim() > MOST_DIMS and (limit is None or limit.exact is None):
        expected, actual = expected.reshape(-1), actual.reshape(-1)
    default_rtol, default_atol = PRECISION.get(expected.dtype, (0.0, 0.0))
    used = (default_rtol if rtol is None else rtol), (default_atol if atol is None else atol)
    if limit is not None:
        limit = limit.within(*used)
        bad = limit.wrong(expected, actual)
        return _value_mismatch(expected, actual, bad, path, limit=limit) if bool(bad.any()) else None
    if expected.dtype not in PRECISION:
        bad = expected != actual
        if expected.dtype is torch.bool:
            # A byte of another value passes for true here, and for something else in the next kernel.
            bad |= actual.contiguous().view(torch.uint8) > 1
        return _value_mismatch(expected, actual, bad, path) if bool(bad.any()) else None
    # The check runs in float64: in the outputs' own dtype the difference itself would be rounded.
    wide = torch.complex128 if expected.is_complex() else torch.float64
    bad = ~torch.isclose(actual.to(wide), expected.to(wide), rtol=used[0], atol=used[1], equal_nan=True)
    return _value_mismatch(expected, actual, bad, path, tolerance=used) if bool(bad.any()) else None


def _value_mismatch(
    expected: torch.Tensor,
    actual: torch.Tensor,
    bad: torch.Tensor,
    path: str,
    *,
    tolerance: tuple[float, float] | None = None,
    limit: Limit | None = None,
) -> Mismatch:
    wide = torch.complex128 if expected.is_complex() else torch.float64
    exact = limit.exact if limit is not None else None
    right = exact if exact is not None else expected.to(wide)
    error = (actual.to(wide) - right).abs()
    finite = error[torch.isfinite(error)]
    relative = (error / right.abs())[torch.isfinite(error) & (right != 0)]
    first = tuple(
        Difference(
            index=tuple(index),
            expected=_element(expected, index),
            actual=_element(actual, index),
            exact="" if exact is None else _element(exact, index),
            off="" if exact is None else f"{error[tuple(index)].item():.3g}",
            allowed="" if limit is None or limit.allowed is None else f"{limit.allowed[tuple(index)].item():.3g}",
        )
        for index in bad.nonzero()[:FIRST].tolist()
    )
    if limit is not None:
        rule = limit.words
    elif tolerance is None:
        rule = "exactly PyTorch's result"
    else:
        rule = f"PyTorch's result on the host, within rtol {tolerance[0]:g}, atol {tolerance[1]:g}"
    count = int(bad.sum())
    message = f"{count} of {expected.numel()} elements differ; right is {rule}"
    if limit is not None and limit.reordered(actual):
        message += (
            ". The errors are as small as those of a sum whose terms are rounded on the way: any order of summing is "
            "right, in float32"
        )
    return Mismatch(
        aspect="values",
        output=path,
        message=message,
        expected=summarise(expected),
        actual=summarise(actual),
        max_abs_error=float(finite.max()) if finite.numel() else None,
        mean_abs_error=float(finite.mean()) if finite.numel() else None,
        max_rel_error=float(relative.max()) if relative.numel() else None,
        mismatched=count,
        elements=expected.numel(),
        rtol=tolerance[0] if tolerance else None,
        atol=tolerance[1] if tolerance else None,
        rule=rule,
        first=first,
    )


def _element(tensor: torch.Tensor, index: list[int]) -> str:
    value = tensor[tuple(index)]
    if value.dtype is torch.bool and (byte := int(value.view(torch.uint8).item())) > 1:
        return f"True, stored as the byte {byte} (a bool is 0 or 1)"
    return repr(value.item())


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def input_paths(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[tuple[str, torch.Tensor]]:
    """List the tensors of a call with names that a model understands: `argument 0`, `argument weight`."""
    found = [pair for index, arg in enumerate(args) for pair in tensors_of(arg, f"argument {index}")]
    return found + [pair for key, value in kwargs.items() for pair in tensors_of(value, f"argument {key}")]


def aliases(outputs: list[tuple[str, torch.Tensor]], inputs: list[tuple[str, torch.Tensor]]) -> dict[str, str]:
    """Map each output's path to the first input whose storage it shares; empty storages alias nothing."""
    by_storage = {t.untyped_storage()._cdata: p for p, t in reversed(inputs) if t.untyped_storage().nbytes()}
    return {
        path: by_storage[tensor.untyped_storage()._cdata]
        for path, tensor in outputs
        if tensor.untyped_storage()._cdata in by_storage
    }
