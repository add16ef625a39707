"""Family `borders`: numbers on either side of a border: an operand beyond the dtype of the others, whose result is
within it; the largest number beside a float64 just above it; data next to a float64; lone ones that become flags.

These are the rules that changes of right kernels had in common which no other family found.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import torch

from bringup.suites.audit._generic import Form, forms
from bringup.suites.audit._pool import Pool, distinct
from bringup.suites.audit._signature import alternatives, value_of, with_argument
from bringup.suites.audit._spoilt import taken_or_refused
from bringup.suites.audit._structure import among, structured, takes_nonfinite
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import elements, exchanged, tensors, turns
from bringup.suites.audit._vet import dense_results, raised
from bringup.suites.audit.ends import DEGREES
from bringup.suites.audit.singles import ALIKE

_FEW = 1 << 10  # elements of a sample
_BEYOND = 1.07  # of the largest number: infinite in the dtype, while half of it is not
_BETWEEN = 1.003, -0.7001  # no number of float32, float16 or bfloat16
_LONE = (1e300, float("nan"), -5e-324, float("-inf"), -0.0)
_MORE = 7  # numbers that each seed draws anew
_ORDERS = ("second", "first")


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield one of each sort in turn, then numbers among the arguments."""
    if not subject.torch_dtype.is_floating_point:
        return
    binary = [form for form in forms(subject, Pool(subject)) if form.kind == "binary"][:1]
    if subject.operator.category not in ALIKE:
        yield from turns(_above(subject, binary), _next_to(subject, binary), _beyond(subject, binary), _flags(subject))
    if not structured(subject.operator):
        yield from _numbers(subject, binary)


def _beyond(subject: Subject, binary: list[Form]) -> Iterator[Draft]:
    """Yield a number without dimension that is infinite in the dtype of the data, in the place of each operand."""
    if not takes_nonfinite(subject.operator):
        return
    value = torch.finfo(subject.torch_dtype).max * _BEYOND
    wider = [dtype for dtype in (torch.float64, torch.float32) if value < torch.finfo(dtype).max]
    patterns = [form.elementwise((3, 5)) for form in binary]
    samples = [sample for sample in distinct(subject) if elements(sample.call.args) <= _FEW]
    patterns += [Draft("", s.call, s.variant, s.entry) for s in samples] if not binary else []
    for dtype, pattern in itertools.product(wider, patterns):
        data = subject.data(pattern.call)
        for leaf in (data[0], data[-1]) if len(data) > 1 else ():
            call = exchanged(pattern.call, {leaf.index: torch.tensor(value, dtype=dtype)})
            found = dense_results(call)
            if found is not None and {one.dtype for one in found[1]} <= {subject.torch_dtype, torch.bool}:
                words = f"{leaf.place} 0-d {str(dtype).removeprefix('torch.')} beyond {subject.dtype}"
                yield Draft(words, call, pattern.variant, pattern.entry, group=words, doubled=True,
                            rounded=subject.torch_dtype)  # fmt: skip


def _flags(subject: Subject) -> Iterator[Draft]:
    """Yield float64 without dimension as the only tensor of what gives flags; under one dtype."""
    if subject.dtype != next((d for d in subject.operator.dtypes if getattr(torch, d).is_floating_point), ""):
        return
    for value, sample in itertools.product(_LONE, distinct(subject)):
        found = tensors(sample.call)
        if len(found) == 1 and found[0].tensor.dtype is subject.torch_dtype:
            call = exchanged(sample.call, {found[0].index: torch.tensor(value, dtype=torch.float64)})
            results = dense_results(call)
            if results is not None and {one.dtype for one in results[1]} == {torch.bool}:
                words = f"a lone 0-d float64 {_said(value)}, a flag"
                yield Draft(words, call, sample.variant, sample.entry, group=words, doubled=True)


def _next_to(subject: Subject, binary: list[Form]) -> Iterator[Draft]:
    """Yield data around a number of float64 that their dtype does not hold, in comparisons."""
    for value, order in itertools.product(_BETWEEN, (0, 1)):
        width = 2.0 ** math.floor(math.log2(abs(value)))
        own = torch.finfo(subject.torch_dtype).eps * width
        sizes = torch.tensor([own, 2.0**-10 * width, 2.0**-7 * width], dtype=torch.float64)
        steps = (sizes[:, None] * torch.tensor([-1, 0, 1])).reshape(-1)
        further = sizes[torch.randint(0, 3, (_MORE,))] * torch.randint(-9, 10, (_MORE,))
        near = _mixed(torch.cat((steps, further)) + value).to(subject.torch_dtype)
        yield from _compared(subject, binary, near, value, order, f"data next to float64 {_said(value)}", number=False)


def _above(subject: Subject, binary: list[Form]) -> Iterator[Draft]:
    """Yield the largest numbers of the data's dtype beside what is just above them, in comparisons.

    Up to the middle between the largest number and what would be the next it is the largest, from there on infinite.
    """
    info = torch.finfo(subject.torch_dtype)
    middle = info.max * (1 + info.eps / (4 - 2 * info.eps))
    largest = torch.tensor([info.max, -info.max, float("inf"), float("-inf")], dtype=torch.float64)
    data = _mixed(torch.cat((largest, torch.randn(_MORE) * info.max / 8))).to(subject.torch_dtype)
    above = info.max * (1 + info.eps / 8)
    ways = (
        (above, 0, True, "the largest number"), (-above, 0, False, "the largest number, negative"),
        (middle, 1, False, "the largest number, half a unit"),
        (math.nextafter(middle, 0), 0, True, "the largest number, nearly half a unit"),
        (-above, 1, False, "the largest number, negative"), (middle, 0, True, "the largest number, half a unit"),
    )  # fmt: skip
    for value, order, number, what in ways:
        yield from _compared(subject, binary, data, value, order, f"just above {what}", number=number)


def _compared(
    subject: Subject, binary: list[Form], data: torch.Tensor, value: float, order: int, words: str, *, number: bool
) -> Iterator[Draft]:
    for form in binary:
        index = [leaf.index for leaf in form.leaves]
        other = value if number else torch.tensor(value, dtype=torch.float64)
        pair = (data, other)
        plain = form.elementwise(tuple(data.shape)).call
        call = exchanged(plain, {index[0]: pair[order], index[1]: pair[1 - order]})
        found = dense_results(call)
        if found is not None and {one.dtype for one in found[1]} == {torch.bool}:
            kind = "a number" if number else "0-d float64"
            what = f"{words}, {kind} the {_ORDERS[order]}"
            yield Draft(what, call, form.sample.variant, form.entry, group=what, doubled=not number, steady=True)


def _numbers(subject: Subject, binary: list[Form]) -> Iterator[Draft]:
    """Yield a number just above the largest among the arguments, beside ordinary data and beside the largest numbers.

    Taken as the largest number, or refused, as PyTorch does.
    """
    info = torch.finfo(subject.torch_dtype)
    value = info.max * (1 + info.eps / 8)
    small = _mixed(torch.cat((torch.tensor([0.0, 0.25, 0.5, 1.0]), torch.rand(_MORE)))).to(subject.torch_dtype)
    for form in binary:
        plain = form.elementwise(tuple(small.shape)).call
        places = [leaf.index for leaf in form.leaves]
        # A degree that no integer holds becomes what the processor likes.
        for place, order in ((0, "first"), (1, "second"))[: 1 if among("recurrences", subject.operator) else 2]:
            call = exchanged(plain, {places[place]: value, places[1 - place]: small})
            yield from taken_or_refused(form.sample, call, f"a number just above the largest as {order} operand")
    samples = [sample for sample in distinct(subject) if elements(sample.call.args) <= _FEW]
    signature = subject.operator.signature
    options = [one for way in alternatives(signature) for one in way if one.default is not None]
    floats = [one.name for one in options if type(value_of(one.default or "")[1]) is float]
    for name in dict.fromkeys([*(one.name for one in options if one.name == "dx"), *floats]):
        if name in DEGREES:
            continue
        for sample in samples:
            data = subject.data(sample.call)
            large = {
                leaf.index: torch.full_like(
                    leaf.tensor.detach(), info.max if leaf is data[0] else float(torch.rand(()) / 4)
                )
                for leaf in data
            }
            ways = {"": {leaf.index: _tiny(leaf.tensor) for leaf in data}, ", data as large": large}
            for which, new in ways.items():
                given = with_argument(signature, exchanged(sample.call, new), name, value)
                if given is None or not data or (which and (subject.operator.category in ALIKE or raised(given))):
                    continue
                yield from taken_or_refused(sample, given, f"{name} just above the largest number{which}")


def _tiny(tensor: torch.Tensor) -> torch.Tensor:
    """Return numbers far below 1, of whose sum the largest number can be a multiple."""
    return (torch.rand(tensor.shape) / 8).to(tensor.dtype)


def _mixed(values: torch.Tensor) -> torch.Tensor:
    """Return the numbers in an order of their own."""
    return values[torch.randperm(values.numel())]


def _said(value: float) -> str:
    return f"{'minus ' if math.copysign(1, value) < 0 else ''}{abs(value):g}"
