"""Compare what a candidate returned with the CPU reference: structure, dtype, shape, values, aliasing, mutation.

Tolerances are those of `torch.testing.assert_close` for the dtype of the expected output: |actual - expected| <=
atol + rtol * |expected|, NaN equal to NaN, integers and booleans exactly; overridden only by the suite's data.
"""

from __future__ import annotations

from typing import Any

import torch

from bringup.judge._codec import tensors_of
from bringup.verdict import Difference, Mismatch, TensorSummary

SMALL = 64  # tensors of at most so many elements are printed in full
FIRST = 8  # so many differing elements are shown
# assert_close's defaults (torch.testing._comparison._DTYPE_PRECISIONS), by dtype: rtol, atol
PRECISION: dict[torch.dtype, tuple[float, float]] = {
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
    torch.complex32: (1e-3, 1e-5),
    torch.complex64: (1.3e-6, 1e-5),
    torch.complex128: (1e-7, 1e-7),
}


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


def compare(
    expected: Any, actual: Any, rtol: float | None = None, atol: float | None = None, path: str = "output"
) -> Mismatch | None:
    """Return the first mismatch between two trees of host tensors and Python values, or None."""
    if isinstance(expected, torch.Tensor):
        if not isinstance(actual, torch.Tensor):
            return _structure(path, f"a tensor was expected, {type(actual).__name__} {actual!r:.80} was returned")
        return compare_tensors(expected, actual, rtol, atol, path)
    if isinstance(expected, list | tuple):
        if not isinstance(actual, list | tuple):
            return _structure(path, f"a sequence of {len(expected)} was expected, not {type(actual).__name__}")
        if len(expected) != len(actual):
            return _structure(path, f"a sequence of {len(expected)} was expected, {len(actual)} came")
        for index, (one, other) in enumerate(zip(expected, actual, strict=True)):
            if found := compare(one, other, rtol, atol, f"{path}[{index}]"):
                return found
        return None
    if isinstance(expected, dict):
        if not isinstance(actual, dict) or set(expected) != set(actual):
            return _structure(path, f"a mapping with the keys {sorted(map(str, expected))} was expected")
        for key, one in expected.items():
            if found := compare(one, actual[key], rtol, atol, f"{path}[{key!r}]"):
                return found
        return None
    return _compare_values(expected, actual, rtol, atol, path)


def _compare_values(expected: Any, actual: Any, rtol: float | None, atol: float | None, path: str) -> Mismatch | None:
    if isinstance(expected, float | complex) and isinstance(actual, float | int | complex):
        if isinstance(actual, bool):
            return _structure(path, f"{expected!r} was expected, {actual!r} was returned")
        kind = torch.complex128 if isinstance(expected, complex) else torch.float64
        return compare_tensors(torch.tensor(expected, dtype=kind), torch.tensor(actual, dtype=kind), rtol, atol, path)
    if isinstance(actual, torch.Tensor):
        return _structure(path, f"the Python value {expected!r} was expected, a tensor was returned")
    if type(expected) is not type(actual) or expected != actual:
        return _structure(path, f"{expected!r} was expected, {actual!r} was returned")
    return None


def _structure(path: str, message: str) -> Mismatch:
    return Mismatch(aspect="structure", output=path, message=message)


def compare_tensors(
    expected: torch.Tensor, actual: torch.Tensor, rtol: float | None, atol: float | None, path: str
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
    default_rtol, default_atol = PRECISION.get(expected.dtype, (0.0, 0.0))
    rtol, atol = (default_rtol if rtol is None else rtol), (default_atol if atol is None else atol)
    exact = expected.dtype not in PRECISION
    # The check runs in float64: in the outputs' own dtype the difference itself would be rounded.
    if exact:
        bad = expected != actual
    else:
        wide = torch.complex128 if expected.is_complex() else torch.float64
        bad = ~torch.isclose(actual.to(wide), expected.to(wide), rtol=rtol, atol=atol, equal_nan=True)
    count = int(bad.sum())
    if not count:
        return None
    return _value_mismatch(expected, actual, bad, count, rtol, atol, path, exact)


def _value_mismatch(
    expected: torch.Tensor,
    actual: torch.Tensor,
    bad: torch.Tensor,
    count: int,
    rtol: float,
    atol: float,
    path: str,
    exact: bool,
) -> Mismatch:
    wide = torch.complex128 if expected.is_complex() else torch.float64
    error = (actual.to(wide) - expected.to(wide)).abs()
    finite = error[torch.isfinite(error)]
    relative = (error / expected.to(wide).abs())[torch.isfinite(error) & (expected != 0)]
    where = bad.nonzero()[:FIRST].tolist()
    first = tuple(
        Difference(index=tuple(index), expected=_element(expected, index), actual=_element(actual, index))
        for index in where
    )
    tolerance = "exact equality" if exact else f"rtol {rtol:g}, atol {atol:g}"
    return Mismatch(
        aspect="values",
        output=path,
        message=f"{count} of {expected.numel()} elements differ ({tolerance})",
        expected=summarise(expected),
        actual=summarise(actual),
        max_abs_error=float(finite.max()) if finite.numel() else None,
        mean_abs_error=float(finite.mean()) if finite.numel() else None,
        max_rel_error=float(relative.max()) if relative.numel() else None,
        mismatched=count,
        elements=expected.numel(),
        rtol=rtol,
        atol=atol,
        first=first,
    )


def compare_errors(exact: Any, expected: Any, actual: Any, factor: float) -> Mismatch | None:
    """Compare errors against the exact result: the candidate's largest may be at most `factor` times PyTorch's.

    `exact` is the reference in double precision, `expected` PyTorch's result and `actual` the candidate's in the case's
    dtype, all of one structure. PyTorch's error counts as at least half a unit in the last place of the largest exact
    value, so that a correctly rounded PyTorch result does not forbid any other rounding.
    """
    trees = zip(tensors_of(exact, "output"), tensors_of(expected, "output"), tensors_of(actual, "output"), strict=True)
    for (path, true), (_, theirs), (_, ours) in trees:
        if not theirs.is_floating_point() or not theirs.numel():
            continue
        true = true.to(torch.float64)
        usable = torch.isfinite(true) & torch.isfinite(theirs) & torch.isfinite(ours)
        if not bool(usable.any()):
            continue
        true, theirs_wide, ours_wide = (t.to(torch.float64)[usable] for t in (true, theirs, ours))
        info = torch.finfo(theirs.dtype)
        half_ulp = max(float(true.abs().max()) * info.eps / 2, info.smallest_normal * info.eps / 2)
        error, allowed = float((ours_wide - true).abs().max()), float((theirs_wide - true).abs().max())
        limit = factor * max(allowed, half_ulp)
        if error > limit:
            message = (
                f"the largest error against the exact result is {error:.3g}, more than {factor:g} times PyTorch's own "
                f"({max(allowed, half_ulp):.3g})"
            )
            return Mismatch(
                aspect="values",
                output=path,
                message=message,
                expected=summarise(theirs),
                actual=summarise(ours),
                max_abs_error=error,
                atol=limit,
                elements=theirs.numel(),
            )
    return None


def _element(tensor: torch.Tensor, index: list[int]) -> str:
    return repr(tensor[tuple(index)].item())


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
