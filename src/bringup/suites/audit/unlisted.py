"""Family `unlisted`: data of integer dtypes that PyTorch takes although no sample has any."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch.utils import _pytree as pytree

from bringup.suites._opinfo_calls import Call
from bringup.suites.audit._meta import on_meta
from bringup.suites.audit._pool import distinct
from bringup.suites.audit._structure import structured
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import exchanged
from bringup.suites.audit._vet import raised

_OTHERS = ("int64", "int32")


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield samples with all data in a dtype that the operator has no cases in; under its first dtype.

    The meta device must take it too, else it is this build's own; results must be integers, whose values are plain.
    So the numbers beside the data are whole: which part of a formula cuts a fraction off is PyTorch's own way.
    """
    operator = subject.operator
    if subject.dtype != operator.dtypes[0] or structured(operator):
        return
    if any(name.startswith("int") for name in operator.dtypes):  # then it is known which integers it takes
        return
    for name in _OTHERS:
        for sample in distinct(subject):
            data = subject.data(sample.call)
            if not data:
                continue
            dtype = getattr(torch, name)
            new = {leaf.index: leaf.tensor.clamp(-1000, 1000).nan_to_num().to(dtype) for leaf in data}
            call = exchanged(sample.call, {**new, **_whole(sample.call)})
            try:
                on_meta(call)
            except Exception:  # whatever PyTorch raises
                continue
            if not raised(call):
                yield Draft(f"all data in {name}", call, sample.variant, sample.entry, whole=True)


def _whole(call: Call) -> dict[int, float]:
    """Return the numbers that replace the fractions among a call's arguments."""
    leaves = enumerate(pytree.tree_leaves((call.args, call.kwargs)))
    return {index: float(round(leaf)) for index, leaf in leaves if type(leaf) is float and math.isfinite(leaf)}
