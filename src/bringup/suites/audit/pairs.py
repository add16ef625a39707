"""Family `pairs`: two precisions in one call, whichever argument has which, and operands that the result cannot hold.

`promotion` and `mixed` have a few of these among many others; here a half precision meets float32 at each argument.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch

from bringup.suites._opinfo_calls import Call
from bringup.suites.audit._generic import forms
from bringup.suites.audit._layouts import hostile
from bringup.suites.audit._pool import Pool, distinct
from bringup.suites.audit._signature import names_of
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import exchanged, turns
from bringup.suites.audit._vet import dense_results

_OTHERS = {
    torch.float32: (torch.float16, torch.bfloat16),
    torch.float16: (torch.float32, torch.bfloat16),
    torch.bfloat16: (torch.float32, torch.float16),
}
# Wider than the case's dtype, and a value that this does not hold: an operand without dimension does not widen it.
_BEYOND = {
    torch.int32: (torch.int64, (1 << 32) + 5, -(1 << 33) - 7),
    torch.float16: (torch.float32, 1.2345678, 1e5),
    torch.bfloat16: (torch.float32, 1.2345678, 1e5),
}
# PyTorch wants data of one dtype; what its CPU kernels take besides is no rule.
_ALIKE = ("Deep Learning", "Linear Algebra")


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield one tensor at a time in another precision, then 0-d tensors of a wider dtype, for two tensors or more."""
    if subject.operator.category not in _ALIKE:
        yield from turns(_precisions(subject), _wider(subject), _stored(subject))


def _patterns(subject: Subject) -> Iterator[Draft]:
    """Yield ordinary calls: of two operands where that is the operator's class, else samples."""
    found = [form for form in forms(subject, Pool(subject)) if form.kind == "binary"]
    if found:
        yield found[0].elementwise((3, 5))
    else:
        for sample in distinct(subject):
            yield Draft("", sample.call, sample.variant, sample.entry)


def _precisions(subject: Subject) -> Iterator[Draft]:
    for pattern in _patterns(subject):
        data = subject.data(pattern.call)
        for other in _OTHERS.get(subject.torch_dtype, ()) if len(data) > 1 else ():
            for leaf in (data[0], data[-1]):
                call = exchanged(pattern.call, {leaf.index: leaf.tensor.to(other)})
                yield _draft(pattern, f"{leaf.place} in {_name(other)} beside {subject.dtype}", call)


def _wider(subject: Subject) -> Iterator[Draft]:
    if subject.torch_dtype not in _BEYOND:
        return
    other, *values = _BEYOND[subject.torch_dtype]
    for pattern in _patterns(subject):
        for leaf in subject.data(pattern.call)[1:]:
            for value in values:
                call = exchanged(pattern.call, {leaf.index: torch.tensor(value, dtype=other)})
                found = dense_results(call)
                # A function of floating point casts integers to that: none is beyond it.
                if found is None or any(one.is_floating_point() != other.is_floating_point for one in found[1]):
                    continue
                yield _draft(pattern, f"{leaf.place} 0-d {_name(other)} {value} beside {subject.dtype}", call)


def _stored(subject: Subject) -> Iterator[Draft]:
    """An operand that the result cannot hold, and an `out=` that could: it is rounded all the same."""
    if subject.torch_dtype not in _BEYOND or "out" not in names_of(subject.operator.signature):
        return
    other, value, _ = _BEYOND[subject.torch_dtype]
    for pattern in _patterns(subject):
        for leaf in subject.data(pattern.call)[1:]:
            call = exchanged(pattern.call, {leaf.index: torch.tensor(value, dtype=other)})
            found = dense_results(call)
            if found is None or [one.dtype for one in found[1]] != [subject.torch_dtype]:
                continue
            out = hostile(tuple(found[1][0].shape), other)
            call = Call(call.reference, call.args, {**call.kwargs, "out": out})
            words = f"{leaf.place} 0-d {_name(other)} {value} beside {subject.dtype}, out= of {_name(other)}"
            computed = subject.torch_dtype if subject.torch_dtype.is_floating_point else None
            yield replace(_draft(pattern, words, call), requires="out", computed=computed)


def _draft(pattern: Draft, words: str, call: Call) -> Draft:
    return Draft(words, call, pattern.variant, pattern.entry, group=words)


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
