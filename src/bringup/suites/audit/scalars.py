"""Family `scalars`: Python numbers that no sample has: zeros of both signs, NaN, infinities, negative ones, fractions.

Beside the numbers among the arguments, the second of two operands is one. What PyTorch refuses for its value alone (a
division by an integer 0, an infinity for integers, no parts at all) must be refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils import _pytree as pytree

from bringup.accuracy import rule_of
from bringup.suites._opinfo_calls import Call
from bringup.suites._opinfo_samples import Sample
from bringup.suites.audit._generic import forms
from bringup.suites.audit._numbers import without_tensors
from bringup.suites.audit._pool import Pool, distinct
from bringup.suites.audit._signature import names_a_way
from bringup.suites.audit._spoilt import places, refused, with_value
from bringup.suites.audit._structure import among, structured
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import exchanged, given_values, tensors, turns
from bringup.suites.audit._vet import raised, run

_FRACTION = 1.2345678  # of more digits than a half precision has
_FLOATS = (float("nan"), -0.0, float("inf"), _FRACTION, -_FRACTION, 0.0, float("-inf"))
_INTEGERS = (0, float("nan"), -1, _FRACTION, float("inf"))
_OPERANDS = (0, float("nan"), float("inf"), -0.0, _FRACTION, -3)
_COMPARED = ("correction", "rtol", "atol")  # with sizes and differences: what NaN gives there hangs on the formula
_FACTORIES = 4  # samples without tensors


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield, place by place in turn, samples with one number exchanged."""
    samples = distinct(subject) or without_tensors(subject)[:_FACTORIES]
    known: dict[int | str, set[Any]] = {}
    for sample in subject.samples:
        for place, value in places(sample.call):
            if type(value) is float or (type(value) is int and not names_a_way(subject.operator.signature, place)):
                known.setdefault(place, set()).add(value)
    # Integers among the arguments of operators with a structure are its sizes.
    kinds = (float,) if structured(subject.operator) else (int, float)
    # Of one element, a norm of a degree that is no number is its size or what the formula gives: PyTorch does both.
    many = [sample for sample in samples if _many(sample.call)] if "norm" in subject.operator.name else samples
    found = turns(
        _operands(subject), *(_of_place(samples, many, place, values, kinds) for place, values in known.items())
    )
    # A degree is converted to an integer, of which there is no NaN and no infinity.
    finite = among("recurrences", subject.operator)
    # A factor of a sum may be multiplied before or after it: of an infinity there is a NaN here and none there.
    sums = rule_of(subject.operator.name).kind == "accumulating"
    for draft in found:
        if finite and re.search(r"\b(nan|inf)\b", draft.what):
            continue
        if sums and draft.what.endswith(" inf") and _gives_nan(draft.call):
            continue
        yield draft


def _operands(subject: Subject) -> Iterator[Draft]:
    for form in forms(subject, Pool(subject))[:1]:
        if form.kind == "binary" and form.entry.supports_rhs_python_scalar:
            call = form.elementwise((3, 5)).call
            for number in _OPERANDS:
                new = exchanged(call, {form.leaves[1].index: number})
                yield from _drafted(form.sample, new, f"{_text(number)} as second operand", number)


def _of_place(
    samples: list[Sample], many: list[Sample], place: int | str, known: set[Any], kinds: tuple[type, ...]
) -> Iterator[Draft]:
    """Yield drafts with a number in one place; one that is not finite in calls of `many` alone."""
    whole = all(type(value) is int for value in known)
    for number in _INTEGERS if whole else _FLOATS:
        if any(_same(number, value) for value in known) or (place in _COMPARED and not math.isfinite(number)):
            continue
        for sample in samples if math.isfinite(number) else many:
            if type(dict(places(sample.call)).get(place)) in kinds:
                call = with_value(sample.call, place, number)
                yield from _drafted(sample, call, f"argument {place} {_text(number)}", number)


def _many(call: Call) -> bool:
    return any(leaf.tensor.numel() > 1 for leaf in tensors(call))


def _text(number: float) -> str:
    return repr(number).replace("-", "minus ")


def _same(one: float, other: float) -> bool:
    return one == other and math.copysign(1, one) == math.copysign(1, other)


def _drafted(sample: Sample, call: Call, words: str, number: float) -> Iterator[Draft]:
    error = raised(call)
    if error:
        # A TypeError is the parser's, which refuses other types before it calls a kernel; a fraction in the place of an
        # integer is of another type too.
        if number != _FRACTION and not error.startswith("TypeError") and refused(call):
            yield Draft(f"{words}, refused", call, sample.variant, sample.entry, fails=True, group=words)
    elif _determined(call, number) if not math.isfinite(number) else number != _FRACTION or not _whole(call):
        yield Draft(words, call, sample.variant, sample.entry, group=words)


def _whole(call: Call) -> bool:
    """Whether the results are integers: then a fraction is a number of another type, which some functions refuse."""
    found = [leaf for leaf in pytree.tree_leaves(run(call)) if isinstance(leaf, torch.Tensor)]
    return any(not leaf.is_floating_point() and leaf.dtype is not torch.bool for leaf in found)


def _gives_nan(call: Call) -> bool:
    found = [leaf for leaf in pytree.tree_leaves(run(call)) if isinstance(leaf, torch.Tensor)]
    return any(bool(leaf.isnan().any()) for leaf in found)


def _determined(call: Call, number: float) -> bool:
    """Whether each result at a number that is not finite is NaN, an infinity or a value of the arguments.

    Other results there hang on the formula.
    """
    known = given_values(call, math.inf, -math.inf, number)
    found = [leaf for leaf in pytree.tree_leaves(run(call)) if isinstance(leaf, torch.Tensor)]
    values = [leaf.double() for leaf in found if leaf.layout is torch.strided and leaf.is_floating_point()]
    if not found or not values:  # NaN and infinities have no value among integers
        return all(leaf.dtype is torch.bool for leaf in found)
    return all(bool((value.isnan() | torch.isin(value, known)).all()) for value in values)
