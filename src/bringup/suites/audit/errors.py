"""Family `errors`: calls that PyTorch refuses, OpInfo's `error_inputs` and others; the wrapper must refuse them too.

The others are samples with one argument spoilt: a dimension one too high or too low, one that is given twice, a
negative number, a tensor one element longer. Arguments of another type are not among them: PyTorch's own parser refuses
those before it calls a kernel.

Only errors that a wrapper can know are asked for: of OpInfo's those that PyTorch also raises on the meta device, where
no tensor has values. Left out are, besides: other devices, sparse layouts, autograd, overlapping memory, and kernels
that PyTorch's CPU build lacks for a dtype.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import torch

from bringup.suites._opinfo_calls import Call, canonical_call
from bringup.suites.audit._families import FAMILIES
from bringup.suites.audit._pool import distinct
from bringup.suites.audit._spoilt import UNKNOWABLE, knowable, places, rank_of, refused, whole_numbers, with_value
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import spread, tensors
from bringup.suites.audit._vet import raised, run


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield a spread of the error inputs that belong to the dtype: that of their first tensor, or the first dtype."""
    found = []
    for entry in subject.entries:
        if entry.error_inputs_func is None:
            continue
        for error in entry.error_inputs_func(entry, "cpu"):
            sample, variant = error.sample_input, entry.variant_test_name
            try:
                call = canonical_call(
                    subject.operator.name, variant, entry.op, sample.input, sample.args, sample.kwargs
                )
            except (TypeError, ValueError):
                continue
            if _home(subject, call) == subject.dtype and _as_announced(error, call) and knowable(call):
                requires = "out" if "out" in call.kwargs else ""
                found.append(Draft(_words(raised(call)), call, variant, entry, fails=True, requires=requires))
    yield from spread(found, FAMILIES["errors"] - _SPOILT)
    yield from _spoilt(subject)


def _spoilt(subject: Subject) -> Iterator[Draft]:
    """Yield samples with one argument spoilt, kind by kind, where PyTorch refuses them; under one dtype."""
    if subject.dtype != subject.operator.dtypes[0]:
        return
    for name, change in CHANGES:
        for sample in distinct(subject):
            for place, value in places(sample.call):
                for what, new in change(value, sample.call):
                    spoilt = with_value(sample.call, place, new)
                    # No value is asked for: it is known from sizes and numbers, whatever the meta device says.
                    if refused(spoilt):
                        words = f"{name.format(place)}: {what}"
                        yield Draft(words, spoilt, sample.variant, sample.entry, fails=True, group=f"{name} {place}")


def _too_high(value: Any, call: Call) -> Iterator[tuple[str, Any]]:
    if type(value) is int:
        yield str(rank_of(call)), rank_of(call)
    elif whole_numbers(value):
        yield str(rank_of(call)), type(value)([*value[:-1], rank_of(call)])


def _too_low(value: Any, call: Call) -> Iterator[tuple[str, Any]]:
    if type(value) is int:
        yield str(-rank_of(call) - 1), -rank_of(call) - 1
    elif whole_numbers(value):
        yield str(-rank_of(call) - 1), type(value)([*value[:-1], -rank_of(call) - 1])


def _twice(value: Any, call: Call) -> Iterator[tuple[str, Any]]:
    if whole_numbers(value):
        yield "twice", type(value)([*value, value[-1]])


def _zero(value: Any, call: Call) -> Iterator[tuple[str, Any]]:
    if type(value) is int and value:
        yield "0", 0
    elif whole_numbers(value) and any(value):
        yield "0", type(value)([0] * len(value))


def _longer(value: Any, call: Call) -> Iterator[tuple[str, Any]]:
    if isinstance(value, torch.Tensor) and value.dim() and len(tensors(call)) > 1:
        shape = (*value.shape[:-1], value.shape[-1] + 1)
        if value.shape[-1] > 1:
            yield "one longer", value.new_zeros(shape)


_SPOILT = 7  # cases of this kind; more where OpInfo has fewer of its own
CHANGES: tuple[tuple[str, Callable[[Any, Call], Iterator[tuple[str, Any]]]], ...] = (
    ("argument {} too high", _too_high),
    ("argument {} too low", _too_low),
    ("argument {} repeated", _twice),
    ("last dimension of argument {}", _longer),
    ("argument {} zero", _zero),
)


def _home(subject: Subject, call: Call) -> str:
    """Return the dtype under which an error is asked for, so that it is asked for once."""
    dtypes = [str(leaf.tensor.dtype).removeprefix("torch.") for leaf in tensors(call)]
    return next((name for name in dtypes if name in subject.operator.dtypes), subject.operator.dtypes[0])


def _as_announced(error: Any, call: Call) -> bool:
    """Whether PyTorch raises what OpInfo says, and for the reason that it says."""
    try:
        run(call)
    except error.error_type as found:
        text = str(found)
        return bool(re.search(error.error_regex, text)) and not UNKNOWABLE.search(text)
    except Exception:
        return False
    return False


def _words(error: str) -> str:
    kind, _, text = error.partition(": ")
    return f"{kind}, {text[:70].rstrip()}"
