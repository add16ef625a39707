"""Family `precisions`: `dtype=` of another precision or kind, and half-precision data beside float32 parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import torch
from torch.utils import _pytree as pytree

from bringup.operators import DTYPES
from bringup.suites._opinfo_calls import Call
from bringup.suites._opinfo_samples import Sample
from bringup.suites.audit._numbers import without_tensors
from bringup.suites.audit._pool import distinct
from bringup.suites.audit._signature import names_of
from bringup.suites.audit._spoilt import refused
from bringup.suites.audit._structure import among
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import elements, exchanged, tensors, turns
from bringup.suites.audit._vet import alike, dense_results, raised, run

_FACTORIES = 4  # samples without tensors
_HELD = 2**31  # by the narrower of the two integer dtypes
_HALVES = (torch.bfloat16, torch.float16)
# data's dtype -> `dtype=` and what most of the data are multiplied by: beyond float16, beyond int32 but not int64
_SCALED: Mapping[str, Mapping[str, float]] = {
    "float32": {"float16": 2.0**17, "int64": 2.0**33},
    "bfloat16": {"float16": 2.0**17, "int64": 2.0**33},
}
_PAIRS = {
    "large values beside small ones": (2.0**17, 2.0**-17),
    "values next to 1": (1.0004, 1.0004),
}


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield a case for each other dtype as `dtype=`, narrower ones first, and in turn one for the parameters.

    Behind them, values that the data's own dtype holds and a narrower one does not.
    """
    yield from turns(_named(subject), _parameters(subject))
    yield from _beyond(subject)
    yield from _compensated(subject)


def _named(subject: Subject) -> Iterator[Draft]:
    names = names_of(subject.operator.signature)
    if "dtype" not in names:
        return
    samples = sorted(distinct(subject), key=lambda sample: -elements(sample.call.args))
    samples = samples or without_tensors(subject)[:_FACTORIES]
    others = [name for name in ("float16", "int32", "bfloat16", "bool", *DTYPES) if name != subject.dtype]
    for name in dict.fromkeys(others):
        words = f"dtype={name}"
        for sample in samples:
            if any(isinstance(value, torch.dtype) for value in sample.call.args):
                continue
            if not getattr(torch, name).is_floating_point and name != "bool" and not _convertible(sample.call):
                continue
            call = replace(sample.call, kwargs={**sample.call.kwargs, "dtype": getattr(torch, name)})
            error = raised(call)
            if error.startswith("NotImplementedError"):
                break  # PyTorch has no kernel for the dtype; smaller samples need none
            if not error:
                rounded = getattr(torch, name) if name in ("float16", "bfloat16") else None
                yield Draft(words, call, sample.variant, sample.entry, group=words, rounded=rounded)
            elif not error.startswith("TypeError") and refused(call):
                yield Draft(f"{words}, refused", call, sample.variant, sample.entry, fails=True, group=words)


def _beyond(subject: Subject) -> Iterator[Draft]:
    """Yield `dtype=` for data that leave the range of the next narrower dtype."""
    if "dtype" not in names_of(subject.operator.signature) or among("casts_late", subject.operator):
        return
    for name, factor in _SCALED.get(subject.dtype, {}).items():
        for sample in sorted(distinct(subject), key=_alone):
            data = subject.data(sample.call)
            call = exchanged(sample.call, {leaf.index: _large(leaf.tensor.detach(), factor) for leaf in data[:1]})
            call = _with_dtype(call, getattr(torch, name))
            if data and _casts_first(call, data[0].index, getattr(torch, name)):
                rounded = torch.float16 if name == "float16" else None
                words = f"dtype={name}, large values"
                yield Draft(words, call, sample.variant, sample.entry, group=words, rounded=rounded)


def _compensated(subject: Subject) -> Iterator[Draft]:
    """Yield `dtype=float16` for data that it does not hold singly, while it holds what is computed of them.

    Whether data are cast before or afterwards shows in nothing else where results are as large as the data.
    """
    if "dtype" not in names_of(subject.operator.signature) or subject.dtype not in _SCALED:
        return
    for sample in distinct(subject):
        data = subject.data(sample.call)[:1]
        if not data or data[0].tensor.numel() < 2 or among("casts_late", subject.operator):
            continue
        for words, (one, other) in _PAIRS.items():
            flat = torch.full((data[0].tensor.numel(),), one)
            flat[1::2] = other
            flat[2 * (flat.numel() // 2) :] = 1.0
            changed = exchanged(
                sample.call, {data[0].index: flat.reshape(data[0].tensor.shape).to(subject.torch_dtype)}
            )
            call, late = _with_dtype(changed, torch.float16), dense_results(changed)
            first = dense_results(call)
            if late is None or first is None or not _casts_first(call, data[0].index, torch.float16):
                continue
            if not alike(first[0], pytree.tree_map(lambda t: t.to(torch.float16), late[0])):
                what = f"dtype=float16, {words}"
                yield Draft(what, call, sample.variant, sample.entry, group=what, rounded=torch.float16)


def _large(tensor: torch.Tensor, factor: float) -> torch.Tensor:
    """Return a tensor with most of its elements so much larger, of both signs, the first one always."""
    chosen = torch.randint(-1, 2, tuple(tensor.shape)).to(tensor.dtype)
    chosen.view(-1)[:1] = 1 - 2 * (chosen.view(-1)[:1] < 0).to(tensor.dtype)
    return torch.where(chosen == 0, tensor, tensor.abs() * chosen * factor)


def _alone(sample: Sample) -> bool:
    """Whether nothing stands in a row beside what leaves the range: no length of the first tensor is above 1."""
    shape = tensors(sample.call)[0].tensor.shape
    return not shape or max(shape) < 2


def _casts_first(call: Call, index: int, dtype: torch.dtype) -> bool:
    """Whether the data are cast to `dtype` before anything else: the result is of it, and that of data cast before."""
    found = dense_results(call)
    if found is None or any(one.dtype is not dtype for one in found[1]):
        return False
    cast = {leaf.index: leaf.tensor.to(dtype) for leaf in tensors(call) if leaf.index == index}
    first = dense_results(exchanged(call, cast))
    return first is not None and alike(found[0], first[0])


def _with_dtype(call: Call, dtype: torch.dtype) -> Call:
    """Return the call with another `dtype`, by position where it has one there."""
    if any(isinstance(value, torch.dtype) for value in call.args):
        args = tuple(dtype if isinstance(value, torch.dtype) else value for value in call.args)
        return Call(call.reference, args, call.kwargs)
    return replace(call, kwargs={**call.kwargs, "dtype": dtype})


def _convertible(call: Call) -> bool:
    """Whether data and results are numbers that an integer holds: what else becomes is the processor's own."""
    try:
        found = pytree.tree_leaves(run(call))
    except Exception:  # whatever PyTorch raises: there is no result without `dtype`
        found = []
    numbers = [leaf for leaf in found if isinstance(leaf, torch.Tensor)] + [leaf.tensor for leaf in tensors(call)]
    return all(bool((leaf.abs() < _HELD).all()) for leaf in numbers if leaf.is_floating_point())


def _parameters(subject: Subject) -> Iterator[Draft]:
    """Data in half precision, all other floating-point tensors in float32: what a network in mixed precision has."""
    if subject.torch_dtype not in _HALVES or not among("mixed_parameters", subject.operator):
        return
    for sample in distinct(subject):
        others = [leaf for leaf in tensors(sample.call)[1:] if leaf.tensor.dtype is subject.torch_dtype]
        if others:
            call = exchanged(sample.call, {leaf.index: leaf.tensor.float() for leaf in others})
            names = ", ".join(leaf.place.removeprefix("argument ") for leaf in others)
            words = f"float32 parameters: {names}"
            if not raised(call):
                yield Draft(words, call, sample.variant, sample.entry, group=words)
