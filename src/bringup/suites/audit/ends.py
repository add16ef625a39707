"""Family `ends`: numbers near the ends of ranges: of whole numbers and of float32 before an `out=` of float64, of
numbers among the arguments, of degrees; float64 numbers beside others without dimension; matrices of one element.

These are the rules that changes of right kernels had in common which no other family found.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import torch

from bringup.accuracy import rule_of
from bringup.suites._opinfo_calls import Call
from bringup.suites._opinfo_postprocess import postprocess_of
from bringup.suites._opinfo_samples import Sample
from bringup.suites.audit._generic import forms
from bringup.suites.audit._layouts import hostile
from bringup.suites.audit._pool import Pool, distinct
from bringup.suites.audit._signature import alternatives, argument_of, names_of, value_of, with_argument
from bringup.suites.audit._spoilt import places, taken_or_refused, with_value
from bringup.suites.audit._structure import among, structured
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import elements, exchanged, turns
from bringup.suites.audit._vet import dense_results, raised, small_result
from bringup.suites.audit.singles import ALIKE

_FEW = 1 << 10  # elements of a sample
_SEVERAL = ("composite", "factors", "undefined")  # kinds that square on the way: of the largest numbers no chip can
DEGREES = ("p", "ord", "norm_type", "norm", "degree")
_NORMS = (float("inf"), float("-inf"), 0.0, 1.0, 2.5)
_NUMBERS = (3e38, -3e38, 1e-42)
_BEYOND = (1e300, -1e300)  # float32: asked for where PyTorch refuses it, for a kernel takes no such number
_FRACTIONS = (-1.5, 2.75)
_ELEMENTS = (1e-35, 3e38, -1e-35)
_WHOLE = 12, 23  # bits of whole numbers that float32 holds, and few samples have
_WIDE = 52, 62  # bits of whole numbers beyond those that float64 holds all of
_DIGITS = 40  # of these that may not be 0: with more, `cat` of torch 2.11 is not what it is with 2.13
# The number without dimension, and what stands beside it without dimension, too: once rounded they are one.
_LONE = ((0.1, 0.1), (16777217.0, 16777216.0), (5e-324, 0.0), (1e300, float("inf")), (2.5, 2.5))
_TIES = {torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield one of each sort in turn."""
    samples = [sample for sample in distinct(subject) if elements(sample.call.args) <= _FEW]
    yield from turns(
        _stored(subject, samples),
        _degrees(subject, samples),
        _lone(subject),
        _numbers(subject, samples),
        _ties(subject, samples),
        _whole(subject, samples),
        _fractions(subject, samples),
        _single(subject, samples),
    )


def _stored(subject: Subject, samples: list[Sample]) -> Iterator[Draft]:
    """Yield whole numbers of more bits than float64 has, and float32 beyond which it overflows, into float64."""
    dtype = subject.torch_dtype
    if "out" not in names_of(subject.operator.signature) or dtype not in (torch.int64, torch.float32):
        return
    if structured(subject.operator) or rule_of(subject.operator.name).kind in _SEVERAL:
        return
    if among("recurrences", subject.operator):
        return
    for sample in samples:
        if sample.call.kwargs.keys() & {"dtype", "out"} or postprocess_of(subject.operator.name, sample.call):
            continue
        leaves = [leaf for leaf in subject.data(sample.call)[:1] if leaf.tensor.numel()]
        new = {leaf.index: _far(leaf.tensor) for leaf in leaves}
        call = exchanged(sample.call, new)
        found = dense_results(call) if new and small_result(call) else None
        if found is None or not isinstance(found[0], torch.Tensor) or found[0].dtype is not dtype:
            continue
        written = Call(call.reference, call.args, {**call.kwargs, "out": hostile(tuple(found[0].shape), torch.float64)})
        if not raised(written):
            what = "whole numbers of 52 to 62 bits" if dtype is torch.int64 else "float32 near its ends"
            computed = None if dtype is torch.int64 else dtype
            yield Draft(f"{what} into out= of float64", written, sample.variant, sample.entry, requires="out",
                        group="stored", wide_out=True, computed=computed)  # fmt: skip


def _far(tensor: torch.Tensor) -> torch.Tensor:
    """Every other element far from zero, as far as results of the dtype can be; of floats small ones, too."""
    flat = tensor.detach().reshape(-1).clone()
    count = flat[::2].numel()
    if tensor.dtype is torch.int64:
        bits = torch.randint(*_WIDE, (count,))
        wide = (1 << bits) + (torch.randint(0, 1 << _DIGITS, (count,)) << (bits - _DIGITS))
        flat[::2] = wide * (torch.randint(0, 2, (count,)) * 2 - 1)
    else:
        info = torch.finfo(tensor.dtype)
        ends = torch.tensor([info.max, -info.max, info.tiny, -1.5 * info.tiny], dtype=tensor.dtype)
        flat[::2] = ends[torch.randint(0, len(ends), (count,))]
    return flat.reshape(tensor.shape)


def _degrees(subject: Subject, samples: list[Sample]) -> Iterator[Draft]:
    """Yield each degree of a norm that samples leave out or give otherwise, alone and beside a largest norm."""
    if not subject.torch_dtype.is_floating_point or structured(subject.operator):
        return
    signature = subject.operator.signature
    known = names_of(signature)
    for name in (name for name in DEGREES if name in known):
        for value, most in itertools.product(_NORMS, (None, 0.75) if "max_norm" in known else (None,)):
            for sample in samples:
                if type(argument_of(signature, sample.call, name)) not in (int, float, type(None)):
                    continue
                call = with_argument(signature, sample.call, name, value)
                if call is not None and most is not None:
                    call = with_argument(signature, call, "max_norm", most)
                if call is not None and not raised(call):
                    words = f"{name} {_said(value)}{'' if most is None else ', max_norm given'}"
                    yield Draft(words, call, sample.variant, sample.entry, group=words)


def _lone(subject: Subject) -> Iterator[Draft]:
    """Yield float64 beside data without dimension, too, where the result is a flag: they are compared as float64."""
    made = [form for form in forms(subject, Pool(subject)) if form.kind == "binary"][:1]
    for form in made:
        call = form.elementwise((3, 5)).call
        for (double, beside), order in itertools.product(_LONE, (0, 1)):
            wide = torch.tensor(double, dtype=torch.float64)
            own = torch.tensor(beside if subject.torch_dtype.is_floating_point else min(beside, 2.0**31 - 1))
            pair = (wide, own.to(subject.torch_dtype))
            index = [leaf.index for leaf in form.leaves]
            lone = exchanged(call, {index[0]: pair[order], index[1]: pair[1 - order]})
            found = dense_results(lone)
            if found is not None and {one.dtype for one in found[1]} == {torch.bool}:
                words = f"two without dimension, float64 {double} the {('first', 'second')[order]}"
                yield Draft(words, lone, form.sample.variant, form.entry, group=words, doubled=True)


def _ties(subject: Subject, samples: list[Sample]) -> Iterator[Draft]:
    """Yield float64 without dimension between two numbers of the data's dtype; beside integers what gives flags."""
    if subject.operator.category in ALIKE:
        return
    width = _TIES.get(subject.torch_dtype)
    values = (1 + width, 1 + 3 * width) if width else (10.0, 2.5)
    for value in values:
        for sample in samples:
            data = subject.data(sample.call)
            for leaf in data[::-1] if len(data) > 1 else ():
                call = exchanged(sample.call, {leaf.index: torch.tensor(value, dtype=torch.float64)})
                found = dense_results(call)
                dtypes = {one.dtype for one in found[1]} if found is not None else set()
                if dtypes and torch.float64 not in dtypes and (width or dtypes == {torch.bool}):
                    which = ("below", "above")[values.index(value)] if width else value
                    words = f"{leaf.place} 0-d float64 {f'rounds to the number {which}' if width else which}"
                    yield Draft(words, call, sample.variant, sample.entry, group=words, doubled=True)


def _numbers(subject: Subject, samples: list[Sample]) -> Iterator[Draft]:
    """Yield far numbers for options that no sample gives, and for those that samples give where nothing is computed."""
    if not subject.torch_dtype.is_floating_point or structured(subject.operator):
        return
    signature = subject.operator.signature
    options = [p for way in alternatives(signature) for p in way if p.default is not None]
    names = [p.name for p in options if type(value_of(p.default or "")[1]) is float and p.name not in DEGREES]
    for value in (*_NUMBERS, *_BEYOND):
        for name in dict.fromkeys(names):
            for sample in samples:
                if argument_of(signature, sample.call, name) is not None:
                    continue
                call = with_argument(signature, sample.call, name, value)
                if call is not None and (value in _NUMBERS or raised(call)):
                    yield from taken_or_refused(sample, call, f"{name} {_said(value)}")
    for sample in subject.samples:
        if not elements(sample.call.args):
            for place, number in places(sample.call):
                if type(number) is float:
                    call = with_value(sample.call, place, 1e300)
                    yield from taken_or_refused(sample, call, f"no elements, argument {place} 1e300")


def _said(value: float) -> str:
    return f"{'minus ' if value < 0 else ''}{abs(value):g}"


def _whole(subject: Subject, samples: list[Sample]) -> Iterator[Draft]:
    """Yield whole numbers of 12 to 23 bits in the place of small ones, where results are of floating point."""
    if subject.torch_dtype.is_floating_point or structured(subject.operator):
        return
    for sample in samples:
        new = {
            leaf.index: (
                torch.randint(1 << _WHOLE[0], 1 << _WHOLE[1], tuple(leaf.tensor.shape))
                * (torch.randint(0, 2, tuple(leaf.tensor.shape)) * 2 - 1)
            ).to(leaf.tensor.dtype)
            for leaf in subject.data(sample.call)[:1]
        }
        call = exchanged(sample.call, new)
        found = dense_results(call) if new and small_result(call) else None
        if found is not None and any(one.is_floating_point() for one in found[1]):
            words = "whole numbers of 12 to 23 bits"
            yield Draft(words, call, sample.variant, sample.entry, group=f"{words} {sample.variant}")


def _fractions(subject: Subject, samples: list[Sample]) -> Iterator[Draft]:
    """Yield fractions for numbers that are put among whole ones: they are cut, towards zero."""
    if subject.torch_dtype.is_floating_point:
        return
    given = [(sample, place) for sample in samples for place, one in places(sample.call) if type(one) in (int, float)]
    # What PyTorch refuses of some sample is no rule where it happens to be taken.
    refusing = {place for sample, place in given if raised(with_value(sample.call, place, _FRACTIONS[0]))}
    for value, (sample, place) in itertools.product(_FRACTIONS, given):
        if place not in refusing:
            call = with_value(sample.call, place, value)
            found = dense_results(call)
            if found is not None and all(not one.is_floating_point() for one in found[1]):
                words = f"argument {place} {_said(value)} among whole numbers"
                yield Draft(words, call, sample.variant, sample.entry, group=words, whole=True)


def _single(subject: Subject, samples: list[Sample]) -> Iterator[Draft]:
    """Yield matrices of one row and one column whose element is very small or very large."""
    if subject.operator.category != "Linear Algebra" or subject.torch_dtype is not torch.float32:
        return
    for value in _ELEMENTS:
        for sample in samples:
            data = subject.data(sample.call)
            if len(data) != 1 or data[0].tensor.dim() < 2:
                continue
            shape = (*data[0].tensor.shape[:-2], 1, 1)
            call = exchanged(sample.call, {data[0].index: torch.full(shape, value, dtype=subject.torch_dtype)})
            words = f"one row and column of {_said(value)}"
            if not raised(call):
                yield Draft(words, call, sample.variant, sample.entry, group=words)
