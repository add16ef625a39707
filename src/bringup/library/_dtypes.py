"""Which dtypes a kernel was judged with, argument by argument: it serves calls with these, and no others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch

from bringup.library._call import tensors_in
from bringup.library._index import Entry
from bringup.library.schemas import Schema


def name_of(dtype: torch.dtype) -> str:
    """Return `float32` for `torch.float32`."""
    return str(dtype).removeprefix("torch.")


def judged_with(entry: Entry) -> Mapping[str, frozenset[str]]:
    """Return the dtypes that an entry's judged cases gave to each argument, by position ("0") or keyword ("out").

    Empty for a kernel that was not judged, or by a version that did not note it: then nothing is known.
    """
    found: dict[str, frozenset[str]] = {}
    for judged in entry.judged:
        for argument, dtypes in judged.argument_dtypes:
            found[argument] = found.get(argument, frozenset()) | frozenset(dtypes)
    return found


def unknown(entry: Entry, schema: Schema, values: Sequence[Any], results: Iterable[torch.dtype] = ()) -> str:
    """Say which argument of a call has a dtype that no judged case gave it; "" where there is none.

    `values` are the inputs in the schema's order, for all of the kernel's parameters but its outputs; `results` are
    the dtypes that its outputs have. A dtype that the schema has as default need not have been written out: cases in
    it leave it out.
    """
    known = judged_with(entry)
    if not known:
        return ""
    whole = {dtype for judged in entry.judged for dtype in judged.dtypes}
    given = [*zip(schema.inputs, map(_dtypes, values), strict=False)]
    given += [(parameter, {dtype}) for parameter, dtype in zip(schema.outs, results, strict=False)]
    for parameter, dtypes in given:
        place = str(schema.parameters.index(parameter))
        judged = known.get(place, frozenset()) | known.get(parameter.name, frozenset())
        if isinstance(parameter.default, torch.dtype):
            judged |= {name_of(parameter.default)} & whole
        for dtype in sorted(map(name_of, dtypes)):
            if dtype not in judged:
                those = f"only {', '.join(sorted(judged))}" if judged else "none at all"
                return f"argument '{parameter.name}' is {dtype} and the kernel was judged with {those}"
    return ""


def _dtypes(value: Any) -> set[torch.dtype]:
    if isinstance(value, torch.dtype):
        return {value}
    return {tensor.dtype for tensor in _on_device([value])}


def _on_device(values: Sequence[Any]) -> Iterator[torch.Tensor]:
    """Yield the tensors of a call, without the numbers that PyTorch wraps as tensors of the host."""
    for tensor in tensors_in(values):
        if tensor.dim() or tensor.device.type != "cpu":
            yield tensor
