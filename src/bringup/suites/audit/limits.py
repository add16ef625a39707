"""Family `limits`: Python numbers at the limits of the data's dtype and beyond, and numbers in place of an operand.

`scalars` has numbers that are special in any dtype. What a dtype just holds is taken, what it does not is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import torch
from torch.utils import _pytree as pytree

from bringup.suites._opinfo_calls import Call
from bringup.suites._opinfo_samples import Sample
from bringup.suites.audit._generic import forms
from bringup.suites.audit._pool import Pool
from bringup.suites.audit._spoilt import places, refused, taken_or_refused, with_value
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import elements, exchanged, given_values, shuffled, turns
from bringup.suites.audit._vet import dense_results, raised, run, small_result

_OPERANDS = (3, True, 0.5, -2)
_LARGEST = 1 << 14  # elements of a sample


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield numbers for the first and the second operand, then limits for every number, place by place in turn."""
    samples = _numbered(subject)
    numbers = dict.fromkeys(
        place for sample in samples for place, value in places(sample.call) if type(value) in (int, float, bool)
    )
    sources = [_operands(subject), *(_limits(subject, samples, place) for place in numbers)]
    yield from turns(*sources)
    for place in numbers:
        yield from _wrapping(subject, samples, place)


def _numbered(subject: Subject) -> list[Sample]:
    """Return samples with numbers among their arguments, and the operator's generic call with one for its second."""
    found = []
    for form in [form for form in forms(subject, Pool(subject))[:1] if form.kind == "binary"]:
        call = exchanged(form.elementwise((3, 5)).call, {form.leaves[1].index: 1})
        found.append(Sample(form.sample.variant, form.entry, call, None))
    seen: dict[tuple[object, ...], Sample] = {}
    for sample in shuffled(subject.samples):
        kinds = tuple((place, type(value)) for place, value in places(sample.call))
        if elements((sample.call.args, sample.call.kwargs)) <= _LARGEST:
            seen.setdefault((sample.variant, *kinds), sample)
    return [*found, *seen.values()]


def _operands(subject: Subject) -> Iterator[Draft]:
    for form in [form for form in forms(subject, Pool(subject)) if form.kind == "binary"][:1]:
        call = form.elementwise((3, 5)).call
        for number in _OPERANDS:
            for leaf, which in zip(form.leaves, ("first", "second"), strict=True):
                words = f"{number!r} as {which} operand".replace("-", "minus ")
                yield from taken_or_refused(form.sample, exchanged(call, {leaf.index: number}), words)


def _limits(subject: Subject, samples: list[Sample], place: int | str) -> Iterator[Draft]:
    """Yield what the dtype does not hold any more, where PyTorch refuses it for that, then what it just holds."""
    for sample in samples:
        if type(dict(places(sample.call)).get(place)) not in (int, float, bool):
            continue
        dtype = _dtype(subject, sample.call)
        if dtype is None:
            continue
        beyond = [(name, with_value(sample.call, place, number)) for name, number in _beyond(dtype)]
        # Numbers that are sizes, dimensions and the like are refused for other reasons, if they are.
        if not all(small_result(call) and re.search("overflow", raised(call)) and refused(call) for _, call in beyond):
            continue
        for name, call in beyond:
            words = f"argument {place} {name}"
            yield Draft(f"{words}, refused", call, sample.variant, sample.entry, fails=True, group=words)
        for name, number in _within(dtype):
            call = with_value(sample.call, place, number)
            if _moved(call, number):
                words = f"argument {place} {name}"
                yield Draft(words, call, sample.variant, sample.entry, group=words)


def _wrapping(subject: Subject, samples: list[Sample], place: int | str) -> Iterator[Draft]:
    """Yield the limits of int64 beside integers, of which whole numbers are computed: modulo a power of two."""
    if subject.torch_dtype is not torch.int64:
        return
    info = torch.iinfo(torch.int64)
    for sample in samples:
        if type(dict(places(sample.call)).get(place)) is not int:
            continue
        for name, number in (("smallest", info.min), ("largest", info.max)):
            call = with_value(sample.call, place, number)
            if small_result(call) and _is_value(sample.call, place):
                words = f"argument {place} the {name} int64"
                yield Draft(words, call, sample.variant, sample.entry, group=words, whole=True)


def _is_value(call: Call, place: int | str) -> bool:
    """Whether results are computed of a number: another one gives others, of the same shape."""
    one, other = (dense_results(with_value(call, place, number)) for number in (3, 4))
    if one is None or other is None or [t.shape for t in one[1]] != [t.shape for t in other[1]]:
        return False
    return any(not torch.equal(a, b) for a, b in zip(one[1], other[1], strict=True))


def _dtype(subject: Subject, call: Call) -> torch.dtype | None:
    """Return the dtype whose limits count: that of the results, of those that the suite is about."""
    try:
        found = [leaf.dtype for leaf in pytree.tree_leaves(run(call)) if isinstance(leaf, torch.Tensor)]
    except Exception:  # whatever PyTorch raises
        return None
    if found and found[0] is torch.bool:
        return subject.torch_dtype
    return found[0] if found and found[0] in (torch.int32, torch.float32, torch.float16, torch.bfloat16) else None


def _beyond(dtype: torch.dtype) -> list[tuple[str, float]]:
    if not dtype.is_floating_point:
        info = torch.iinfo(dtype)
        return [("above the largest integer", info.max + 1), ("below the smallest integer", info.min - 1)]
    most = torch.finfo(dtype).max
    return [("above the largest number", most * 1.5), ("below the smallest number", -most * 1.5)]


def _within(dtype: torch.dtype) -> list[tuple[str, float]]:
    info = torch.finfo(dtype) if dtype.is_floating_point else torch.iinfo(dtype)
    kind = "number" if dtype.is_floating_point else "integer"
    return [(f"at the smallest {kind}", info.min), (f"at the largest {kind}", info.max)]


def _moved(call: Call, number: float) -> bool:
    """Whether the results are values of the arguments, the number, zeros and ones: nothing is computed, or flags."""
    if not small_result(call) or raised(call):
        return False
    known = given_values(call, float(number))
    found = [leaf for leaf in pytree.tree_leaves(run(call)) if isinstance(leaf, torch.Tensor)]
    return all(leaf.layout is torch.strided and bool(torch.isin(leaf.double(), known).all()) for leaf in found)
