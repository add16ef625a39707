"""Family `rare`: two unusual things in one call: fewer dimensions, or no elements, and numbers that are 1, 0 or -1.

A rule of its own often stands where both meet (a pooling to one element takes any tensor that has enough dimensions),
or a check does that is the only one for them; and what has nothing to compute returns before it has looked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from bringup.suites._opinfo_calls import Call
from bringup.suites._opinfo_samples import Sample
from bringup.suites.audit._pool import distinct
from bringup.suites.audit._spoilt import places, refused, whole_numbers, with_value
from bringup.suites.audit._structure import among, structured
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import mapped, shuffled, tensors, turns
from bringup.suites.audit._vet import raised
from bringup.suites.audit.errors import CHANGES


def _fewer(count: int) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda tensor: tensor[(0,) * count].clone() if tensor.dim() >= count else tensor


_SHAPES: tuple[tuple[str, Callable[[torch.Tensor], torch.Tensor]], ...] = (
    ("no elements", lambda t: t[:0].clone() if t.dim() else t),
    ("nothing in each row", lambda t: t[..., :0].clone() if t.dim() else t),
    ("no dimension", lambda t: t.reshape(-1)[0].clone()),
    ("two dimensions fewer", _fewer(2)),
    ("a dimension fewer", _fewer(1)),
)


# Which change of shapes meets which number, the rarest first: each tells of another rule.
_PAIRS = (
    ("no elements", 0), ("nothing in each row", 1), ("a dimension fewer", 1), ("no dimension", 1), ("no elements", -1),
    ("two dimensions fewer", 1), ("no dimension", 0), ("no elements", 1), ("a dimension fewer", 0),
    ("no dimension", -1),
)  # fmt: skip
_LARGEST = 1 << 14  # elements of a tensor
_KINDS = ("number", "list", "number for a list")
_NAMES = {0: "zero", 1: "one", -1: "minus one"}


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield each change of shapes with its number, alone, in lists and for lists, under one dtype; taken or refused."""
    if subject.dtype != subject.operator.dtypes[0] or among("crashes_when_misshapen", subject.operator):
        return
    samples = sorted(_chosen(subject), key=lambda sample: max(leaf.tensor.dim() for leaf in tensors(sample.call)))
    yield from turns(_paired(subject, samples), _idle(subject))


def _idle(subject: Subject) -> Iterator[Draft]:
    """Yield calls with one argument spoilt and nothing to compute: they are refused before anybody sees that."""
    for name, change in CHANGES:
        for sample in distinct(subject):
            for place, value in places(sample.call):
                for what, new in change(value, sample.call):
                    empty = mapped(with_value(sample.call, place, new), dict(_SHAPES)["no elements"])
                    if all(not leaf.tensor.numel() for leaf in tensors(empty)) and refused(empty):
                        words = f"no elements, {name.format(place)}: {what}"
                        yield Draft(
                            words, empty, sample.variant, sample.entry, fails=True, group=f"idle {name} {place}"
                        )


def _paired(subject: Subject, samples: list[Sample]) -> Iterator[Draft]:
    for what, number in _PAIRS:
        for sample in samples:
            for kind in _KINDS:
                call = numbered(mapped(sample.call, dict(_SHAPES)[what]), number, kind)
                if call is None or not _reshaped(sample.call, call):
                    continue
                if kind != "number for a list" or not raised(call).startswith("TypeError"):  # its parser's, no kernel's
                    yield from _draft(subject, sample, f"{what}, every {kind} {_NAMES[number]}", call)


def _chosen(subject: Subject) -> list[Sample]:
    """Return samples with numbers to exchange: one for each variant, numbers of dimensions, and way to have them."""
    seen: dict[tuple[object, ...], Sample] = {}
    for sample in shuffled(subject.samples):
        found = tensors(sample.call)
        ways = [numbered(sample.call, 1, kind) is not None for kind in _KINDS]
        if any(ways) and found and all(0 < leaf.tensor.numel() <= _LARGEST for leaf in found):
            dims = [leaf.tensor.dim() for leaf in found]
            seen.setdefault((sample.variant, *dims, *sample.call.kwargs, *ways), sample)
    return list(seen.values())


def _draft(subject: Subject, sample: Sample, words: str, call: Call) -> Iterator[Draft]:
    if not raised(call):
        if not structured(subject.operator):
            yield Draft(words, call, sample.variant, sample.entry, group=words)
    elif refused(call):
        yield Draft(f"{words}, refused", call, sample.variant, sample.entry, fails=True, group=words)


def _reshaped(one: Call, other: Call) -> bool:
    return any(a.tensor.shape != b.tensor.shape for a, b in zip(tensors(one), tensors(other), strict=True))


def numbered(call: Call, number: int, kind: str) -> Call | None:
    """Return the call with every integer exchanged, or every list (by a list, or a number); None without any."""

    def change(value: Any) -> Any:
        if type(value) is int and kind == "number":
            return number
        if whole_numbers(value) and "list" in kind:
            return type(value)([number] * len(value)) if kind == "list" else number
        return value

    args = tuple(map(change, call.args))
    kwargs = {name: change(value) for name, value in call.kwargs.items()}
    old, new = ((*c, *k.values()) for c, k in ((call.args, call.kwargs), (args, kwargs)))
    return Call(call.reference, args, kwargs) if any(a is not b for a, b in zip(old, new, strict=True)) else None
