"""Family `combined`: what samples have apart, together: options of two, special values of two operands, odd shapes.

Each of these a kernel may get right alone. Plausible mistakes by a reader of the documentation were written down, and
these are the rules that those had in common which no other family found.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils import _pytree as pytree

from bringup.suites._opinfo_calls import Call
from bringup.suites._opinfo_postprocess import postprocess_of
from bringup.suites._opinfo_samples import Sample
from bringup.suites._opinfo_types import CAST_TO
from bringup.suites.audit._layouts import hostile, transposed
from bringup.suites.audit._pool import Pool, distinct
from bringup.suites.audit._signature import PLACES, alternatives, names_of, positional, value_of
from bringup.suites.audit._spoilt import refused
from bringup.suites.audit._structure import among, structured, takes_nonfinite
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import Leaf, elements, exchanged, shuffled, tensors, turns
from bringup.suites.audit._vet import dense_results, raised

_PAIRS, _WHOLES = 40, 4  # of samples whose options are put together, and samples that get all of them
_AXES = 60  # ways to make lengths 0 or 1
_FEW = 1 << 12  # elements of a sample
_DTYPES = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool)


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield in turn options together, special values, reduced axes without elements, lengths of 1, in place, casts."""
    samples = [sample for sample in distinct(subject) if elements(sample.call.args) <= _FEW]
    yield from turns(
        _options(subject),
        _specials(subject, samples),
        _reduced(subject, samples),
        _against_one(subject, samples),
        _flat_out(subject, samples),
        _in_place(subject, samples),
        _cast(subject, samples),
        _defaults(subject, samples),
    )


def _options(subject: Subject) -> Iterator[Draft]:
    """Yield one sample's tensors with others' keyword arguments: with all that go together, then with one other's."""
    if among("structured", subject.operator):  # offsets of another sample's length, say
        return
    known = shuffled([s for s in subject.samples if s.call.kwargs and elements(s.call.args) <= _FEW])
    kinds: dict[tuple[object, ...], Sample] = {}
    for sample in known:
        kinds.setdefault((sample.variant, *sorted(sample.call.kwargs)), sample)
    seen: set[frozenset[str]] = {frozenset(sample.call.kwargs) for sample in known}
    unknown = list(_unlisted(subject, {name for sample in subject.samples for name in sample.call.kwargs}))
    pairs = [[pair] for pair in itertools.permutations(kinds.values(), 2)]
    wholes = [[(one, other) for other in kinds.values()] for one in itertools.islice(kinds.values(), _WHOLES)]
    for steps in itertools.islice(itertools.chain(wholes, pairs), _PAIRS):
        one, call = steps[0][0], steps[0][0].call
        others = [other.call.kwargs for _, other in steps if one.variant == other.variant]
        for given in [*others, *(unknown if len(steps) > 1 else ())]:
            more = {name: value for name, value in given.items() if name not in call.kwargs}
            wider = Call(call.reference, call.args, {**call.kwargs, **more})
            if more and not raised(wider):
                call = wider
        together = frozenset(call.kwargs)
        if together not in seen:
            seen.add(together)
            words = f"{', '.join(sorted(together))} together"
            yield Draft(words, call, one.variant, one.entry, group=words)


def _unlisted(subject: Subject, known: set[str]) -> Iterator[dict[str, Any]]:
    """Yield options that no sample gives by name, each with values that are not the default."""
    for way in alternatives(subject.operator.signature):
        for one in way:
            if one.default is None or one.name in known or one.name in PLACES:
                continue
            plain, value = value_of(one.default)
            if plain and type(value) in (bool, float):
                yield from ({one.name: other} for other in ((not value,) if type(value) is bool else (0.25, 2.5)))


def _specials(subject: Subject, samples: list[Sample]) -> Iterator[Draft]:
    """Yield each special value beside each, of up to two tensors, and every plain number of the call among them."""
    if not subject.torch_dtype.is_floating_point or structured(subject.operator):
        return
    nonfinite = takes_nonfinite(subject.operator)
    nans = nonfinite and not among("nan_lost", subject.operator)
    for sample in sorted(samples, key=lambda sample: -elements(sample.call.args)):
        data = subject.data(sample.call)
        if not 1 <= len(data) <= 2 or any(leaf.tensor.numel() < 2 for leaf in data):
            continue
        numbers = [float(n) for n in pytree.tree_leaves([sample.call.args, sample.call.kwargs]) if type(n) is float]
        values = [0.0, -0.0, 1.0, -1.0, *numbers, *(-n for n in numbers if n)]
        values += [float("inf"), float("-inf")] if nonfinite else []
        values += [float("nan"), -float("nan")] if nans else []
        pairs = list(itertools.product(values, repeat=len(data)))
        yield Draft("special values beside each other", _strewn(subject, sample.call, data, pairs), sample.variant,
                    sample.entry, steady=True, group=f"special {sorted(sample.call.kwargs)}")  # fmt: skip


def _strewn(subject: Subject, call: Call, data: list[Leaf], pairs: list[tuple[float, ...]]) -> Call:
    """Return the call with the operands' values in each tensor's places, first to last, again and again."""
    new = {}
    count = max(leaf.tensor.numel() for leaf in data)
    order = torch.randperm(len(pairs)).repeat(-(-count // len(pairs)))
    for number, leaf in enumerate(data):
        column = torch.tensor([pair[number] for pair in pairs], dtype=torch.float64)[order]
        flat = column[: leaf.tensor.numel()]
        new[leaf.index] = flat.to(subject.torch_dtype).reshape(leaf.tensor.shape)
    return exchanged(call, new)


def _changed(sample: Sample, length: int) -> Iterator[tuple[str, dict[int, tuple[int, ...]]]]:
    """Yield the shapes with one axis of one tensor of this length, and with one of another tensor as well."""
    found = [
        (leaf, axis)
        for leaf in tensors(sample.call)
        for axis, n in enumerate(leaf.tensor.shape)
        if n not in (0, length)
    ]

    def shape(leaf: Leaf, axis: int) -> tuple[int, ...]:
        return (*leaf.tensor.shape[:axis], length, *leaf.tensor.shape[axis + 1 :])

    for leaf, axis in found:
        yield f"{leaf.place}, axis {axis}", {leaf.index: shape(leaf, axis)}
    for (one, a), (other, b) in itertools.combinations(found, 2):
        if one.index != other.index and one.tensor.shape[a] == other.tensor.shape[b]:
            words = f"{one.place}, axis {a}, and {other.place}, axis {b}"
            yield words, {one.index: shape(one, a), other.index: shape(other, b)}


def _reduced(subject: Subject, samples: list[Sample]) -> Iterator[Draft]:
    """Yield calls in which an axis has no elements and the result has some."""
    operator = subject.operator
    if any(among(group, operator) for group in ("crashes_when_empty", "undefined_when_empty")) or structured(operator):
        return
    pool = Pool(subject)
    for sample in samples:
        for words, shapes in itertools.islice(_changed(sample, 0), _AXES):
            call = pool.with_shapes(sample.call, shapes)
            found = None if raised(call) else dense_results(call)
            if found is not None and any(leaf.numel() for leaf in found[1]):
                yield Draft(f"{words}: no elements, in a result with some", call, sample.variant, sample.entry,
                            group=f"reduced {sample.variant}")  # fmt: skip


def _against_one(subject: Subject, samples: list[Sample]) -> Iterator[Draft]:
    """Yield a length of 1 where others have more and PyTorch does not broadcast it."""
    if among("crashes_when_misshapen", subject.operator) or among("structured", subject.operator):
        return
    pool = Pool(subject)
    for sample in samples:
        for words, shapes in itertools.islice(_changed(sample, 1), _AXES):
            if len(shapes) == 1:
                call = pool.with_shapes(sample.call, shapes)
                if refused(call):
                    what = f"{words}: length 1"
                    yield Draft(what, call, sample.variant, sample.entry, fails=True, group=what)


def _flat_out(subject: Subject, samples: list[Sample]) -> Iterator[Draft]:
    """Yield an `out=` with as many elements as the result, in another shape: PyTorch resizes it."""
    if "out" not in names_of(subject.operator.signature):
        return
    for sample in samples:
        found = dense_results(sample.call)
        if found is None or "out" in sample.call.kwargs or postprocess_of(subject.operator.name, sample.call):
            continue
        result, leaves = found
        if not isinstance(result, torch.Tensor) or not result.dim() or leaves[0].dtype not in CAST_TO:
            continue
        out = hostile((result.numel(),) if result.dim() > 1 else (1, result.numel()), result.dtype)
        call = Call(sample.call.reference, sample.call.args, {**sample.call.kwargs, "out": out})
        words = "out= of another shape with as many elements"
        yield Draft(words, call, sample.variant, sample.entry, plain=sample.call, requires="out", group=words)


def _in_place(subject: Subject, samples: list[Sample]) -> Iterator[Draft]:
    """Yield `inplace=True` of a tensor that is transposed."""
    if "inplace" not in names_of(subject.operator.signature):
        return
    pool = Pool(subject)
    for sample in samples:
        data = subject.data(sample.call)[:1]
        if not data or data[0].index or "inplace" in sample.call.kwargs:
            continue
        wide = data[0].tensor.detach() if data[0].tensor.dim() > 1 else pool.like(data[0], (5, 7))
        plain = exchanged(sample.call, {0: wide})
        laid = exchanged(sample.call, {0: transposed(wide)})
        call = Call(laid.reference, laid.args, {**laid.kwargs, "inplace": True})
        words = "inplace=True, transposed"
        yield Draft(words, call, sample.variant, sample.entry, plain=plain, requires="inplace", group=words)


def _cast(subject: Subject, samples: list[Sample]) -> Iterator[Draft]:
    """Yield `dtype=` for each integer dtype: integers that wrap, fractions that the dtype holds, NaN as bool."""
    if not among("casts", subject.operator) and "dtype" not in names_of(subject.operator.signature):
        return
    if not among("casts", subject.operator) and (structured(subject.operator) or subject.torch_dtype.is_floating_point):
        return
    for dtype in _DTYPES:
        for sample in samples:
            data = [leaf for leaf in subject.data(sample.call) if leaf.tensor.numel() > 3]
            named = [place for place, n in enumerate(sample.call.args) if isinstance(n, torch.dtype)]
            if not data or not (named or "dtype" in sample.call.kwargs):
                continue
            new = {leaf.index: _beyond(leaf.tensor, dtype) for leaf in data}
            args = tuple(dtype if place in named else n for place, n in enumerate(sample.call.args))
            kwargs = {**sample.call.kwargs, **({"dtype": dtype} if "dtype" in sample.call.kwargs else {})}
            call = exchanged(Call(sample.call.reference, args, kwargs), new)
            if not raised(call):
                words = f"numbers around the limits of {str(dtype).removeprefix('torch.')}"
                yield Draft(words, call, sample.variant, sample.entry, group=words)


def _beyond(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Numbers near the limits of a dtype: beyond them too, where integers wrap."""
    if dtype is torch.bool:
        values = [0.0, -0.0, 0.25, -3.0, *([float("nan"), float("inf")] if tensor.is_floating_point() else [])]
    else:
        info = torch.iinfo(dtype)
        if tensor.is_floating_point():
            top = float(min(info.max, torch.finfo(tensor.dtype).max) * 0.9)
            values = [top, info.min and -top, 1.9, info.min and -1.9]
        else:
            own = torch.iinfo(tensor.dtype)
            ends = [info.max, info.max + 1, info.min, info.min - 1, 2 * info.max + 2, info.max // 2]
            values = [n for n in ends if own.min <= n <= own.max] or [own.max]
    kept = torch.tensor(values, dtype=torch.float64 if tensor.is_floating_point() else torch.int64)
    return kept[torch.randint(0, len(values), tuple(tensor.shape))].to(tensor.dtype)


def _defaults(subject: Subject, samples: list[Sample]) -> Iterator[Draft]:
    """Yield calls without one of their keyword arguments, or without the last number, where PyTorch takes them."""
    ways = alternatives(subject.operator.signature)
    required = {one.name for way in ways for one in way if one.default is None}
    for sample in samples:
        for name in sample.call.kwargs:
            if name in PLACES or name in required or isinstance(sample.call.kwargs[name], torch.Tensor):
                continue
            kept = {key: value for key, value in sample.call.kwargs.items() if key != name}
            call = Call(sample.call.reference, sample.call.args, kept)
            words = f"without {name}, which samples give"
            if not raised(call):
                yield Draft(words, call, sample.variant, sample.entry, group=words)
        last = len(sample.call.args) - 1
        names = {positional(way)[last] for way in ways if len(positional(way)) > last}
        if last > 0 and names and not names & required and type(sample.call.args[-1]) in (int, float, bool, str):
            call = Call(sample.call.reference, sample.call.args[:-1], sample.call.kwargs)
            words = f"without argument {last}"
            if not raised(call):
                yield Draft(words, call, sample.variant, sample.entry, group=f"{words} {_rank(sample)}")


def _rank(sample: Sample) -> int:
    """The most dimensions of a sample's tensors."""
    return max((leaf.tensor.dim() for leaf in tensors(sample.call)), default=0)
