"""Family `corners`: where two rare shapes or options meet: a weight beside none, many or longer elements; -1 twice in a
list of sizes; a refused dtype without elements; nothing along an axis beside each word; channels last beside each
dimension; eight axes broadcast in turn; labels one after another; one dimension named of tensors that have none.

These are the rules that changes of right kernels had in common which no other family found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import torch

from bringup.suites._opinfo_calls import Call
from bringup.suites._opinfo_samples import Sample
from bringup.suites.audit._pool import Pool, distinct
from bringup.suites.audit._signature import alternatives, argument_of, by_name, with_argument
from bringup.suites.audit._spoilt import knowable, places, refused, taken_or_refused, whole_numbers, with_value
from bringup.suites.audit._structure import among, structured
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import Leaf, elements, exchanged, mapped, shuffled, tensors, turns
from bringup.suites.audit._vet import dense_results, raised, small_result
from bringup.suites.audit.dims import dimensions_of
from bringup.suites.audit.offsets import channels_last
from bringup.suites.audit.rare import numbered

_FEW = 1 << 12  # elements of a sample
_WEIGHTS = ("weight", "pos_weight")
_MANY, _LONGER = 3000, 1000  # elements of each tensor, and what one is longer than the others
_DTYPES = (torch.float16, torch.bfloat16, torch.int64, torch.bool, torch.float32)
# What the parser refuses before a kernel is called, and what one kind of device refuses.
_OF_THE_BUILD = re.compile(r"^TypeError: (\w+\(\)[: ]|argument|invalid combination)|\bCPU\b")
_SHAPE = (2, 3, 4, 5)
_IN_TURN = ((2, 1) * 4, (1, 2) * 4)


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield one of each sort in turn; what hangs on shapes alone under the first dtype."""
    samples = [sample for sample in distinct(subject) if elements(sample.call.args) <= _FEW]
    sources = [_weighted(subject, samples), _in_turn(subject, samples)]
    if subject.dtype == subject.operator.dtypes[0]:
        sources += [
            _unknown_twice(subject, samples),
            _hollow(subject, samples),
            _channels(subject, samples),
            _nothing(subject),
            _joined(subject),
        ]
    yield from turns(*sources)
    if subject.dtype == subject.operator.dtypes[0]:
        yield from _of_no_dimension(subject, samples)


def _weighted(subject: Subject, samples: list[Sample]) -> Iterator[Draft]:
    """Yield a weight together with no elements, with several blocks of them, and beside one tensor that is longer."""
    signature = subject.operator.signature
    known = {one.name for way in alternatives(signature) for one in way if one.default is not None}
    ways: tuple[tuple[str, Callable[[Call], Call]], ...] = (
        ("no elements", lambda call: _along(call, lambda t: t[:0])),
        (f"{_MANY} elements and more", lambda call: _along(call, _repeated)),
        *((f"{_LONGER} times as many in argument {place}", _long(place)) for place in (1, 0)),
    )
    for name in [name for name in _WEIGHTS if name in known]:
        for what, change in ways:
            for sample in samples:
                for call in _with_weight(subject, sample, name):
                    changed = change(call)
                    if changed is not call and not raised(changed):
                        words = f"{name}, {what}"
                        yield Draft(words, changed, sample.variant, sample.entry, group=words)


def _with_weight(subject: Subject, sample: Sample, name: str) -> Iterator[Call]:
    """Yield a sample's call with the weight that it gives, or as many weights as elements, or as one of its lengths.

    Words are left to their defaults: of a mean more is divided by weights than of a sum.
    """
    kept = {key: one for key, one in sample.call.kwargs.items() if type(one) is not str}
    plain = Call(sample.call.reference, sample.call.args, kept)
    data = subject.data(plain)
    if not data or not data[0].tensor.dim() or raised(plain):
        return
    if argument_of(subject.operator.signature, plain, name) is not None:
        yield plain
        return
    shape = tuple(data[0].tensor.shape)
    for size in (shape, *((n,) for n in dict.fromkeys(shape[1:]))):
        weight = Pool(subject).like(Leaf(-1, data[0].place, data[0].tensor), size).abs()
        call = with_argument(subject.operator.signature, plain, name, weight)
        if call is not None and not raised(call):
            yield call


def _along(call: Call, change: Callable[[torch.Tensor], torch.Tensor]) -> Call:
    """Return the call with each tensor changed that has the rows of the first one; others belong to its columns."""
    rows = tensors(call)[0].tensor.shape[:1]
    new = {
        leaf.index: change(leaf.tensor.detach())
        for leaf in tensors(call)
        if leaf.tensor.dim() and leaf.tensor.shape[:1] == rows
    }
    return exchanged(call, new) if new else call


def _repeated(tensor: torch.Tensor) -> torch.Tensor:
    row = max(1, tensor[0].numel())
    count = -(-_MANY // (row * tensor.shape[0]))
    return tensor.repeat(count, *(1 for _ in tensor.shape[1:]))


def _long(place: int) -> Callable[[Call], Call]:
    """Make the tensor at a place, of one shape with the other one, longer by an axis before its own."""

    def change(call: Call) -> Call:
        found = tensors(call)
        if len(found) < 2 or found[0].tensor.shape != found[1].tensor.shape:
            return call
        tensor = found[place].tensor.detach()
        return exchanged(call, {found[place].index: tensor.repeat(_LONGER, *(1 for _ in tensor.shape))})

    return change


def _unknown_twice(subject: Subject, samples: list[Sample]) -> Iterator[Draft]:
    """Yield -1 twice in a list of numbers, at its beginning too: of sizes only one can be found."""
    if among("crashes_when_misshapen", subject.operator):
        return
    for sample in samples:
        for place, value in places(sample.call):
            if not whole_numbers(value):
                continue
            count = max(2, len(value))
            ways = ([-1, -1], [-1] * count, [-1, *value[1:-1], -1] if len(value) > 2 else [-1, 1, -1])
            for way, what in zip(ways, ("alone", "everywhere", "at both ends"), strict=True):
                call = with_value(sample.call, place, type(value)(way))
                if small_result(call):
                    yield from taken_or_refused(
                        sample, call, f"argument {place} with -1 {what}".replace("-1", "minus 1")
                    )


def _hollow(subject: Subject, samples: list[Sample]) -> Iterator[Draft]:
    """Yield dtypes that PyTorch refuses of tensors without elements too: nothing is computed that could refuse them."""
    if any(among(group, subject.operator) for group in ("crashes_when_misshapen", "crashes_when_empty")):
        return
    for other in _DTYPES:
        for sample in samples:
            for empty in (mapped(sample.call, lambda t: t[:0] if t.dim() else t), mapped(sample.call, _empty_matrix)):
                if any(leaf.tensor.numel() for leaf in tensors(empty)) or raised(empty):
                    continue
                data = subject.data(empty)
                ways = [(leaf.place, [leaf]) for leaf in data] + [("all data", data)] * (len(data) > 1)
                for which, leaves in ways:
                    call = exchanged(empty, {leaf.index: leaf.tensor.to(other) for leaf in leaves})
                    error = "" if other is subject.torch_dtype else raised(call)
                    if error and not _OF_THE_BUILD.search(error) and refused(call) and knowable(call):
                        words = f"no elements, {which} in {str(other).removeprefix('torch.')}"
                        yield Draft(words, call, sample.variant, sample.entry, fails=True, group=words)


def _empty_matrix(tensor: torch.Tensor) -> torch.Tensor:
    return tensor[..., :0, :0] if tensor.dim() > 1 else tensor[:0] if tensor.dim() else tensor


def _nothing(subject: Subject) -> Iterator[Draft]:
    """Yield nothing along each axis beside each word, as the numbers are and with sizes of 1; taken or refused."""
    groups = ("crashes_when_empty", "undefined_when_empty", "crashes_when_misshapen")
    if structured(subject.operator) or any(among(group, subject.operator) for group in groups):
        return
    found = [list(_nothing_of(sample, words)) for words, sample in _by_words(subject)]
    for rarity in range(3):
        yield from turns(*([draft for draft in drafts if _rarity(draft) == rarity] for drafts in found))


def _rarity(draft: Draft) -> int:
    """Results of nothing that have elements come first, then what is refused, then results without elements."""
    results = None if draft.fails else dense_results(draft.call)
    return 1 if results is None else 0 if any(one.numel() for one in results[1]) else 2


def _by_words(subject: Subject) -> list[tuple[str, Sample]]:
    """Return samples with words among the arguments: one for each set of these, of what is given, of dimensions."""
    seen: dict[tuple[object, ...], tuple[str, Sample]] = {}
    for sample in shuffled(subject.samples):
        values = [value for _, value in places(sample.call)]
        words = ", ".join(str(value) for value in values if type(value) is str)
        if words and tensors(sample.call) and 0 < elements(sample.call.args) <= _FEW:
            form = words, tensors(sample.call)[0].tensor.dim(), *map(type, values)
            seen.setdefault(form, (words, sample))
    return list(seen.values())


def _nothing_of(sample: Sample, words: str) -> Iterator[Draft]:
    shape = tensors(sample.call)[0].tensor.shape
    for axis in (-2, -1):
        if len(shape) < abs(axis):
            continue
        new = {
            leaf.index: leaf.tensor.detach().narrow(axis, 0, 0).clone()
            for leaf in tensors(sample.call)
            if leaf.tensor.shape == shape
        }
        empty = exchanged(sample.call, new)
        for kind in ("list", "number", ""):
            call = numbered(empty, 1, kind) if kind else empty
            if call is not None and small_result(call):
                which = f"axis minus {-axis} of {len(shape)}"
                what = f"{words}: nothing along {which}{f', every {kind} one' if kind else ''}"
                yield from taken_or_refused(sample, call, what)


def _channels(subject: Subject, samples: list[Sample]) -> Iterator[Draft]:
    """Yield tensors of four dimensions, channels last, beside each number of a dimension."""
    if structured(subject.operator):
        return
    pool = Pool(subject)
    for sample in samples:
        found = tensors(sample.call)
        if len({leaf.tensor.shape for leaf in found}) > 1:
            continue
        deep = pool.with_shapes(sample.call, {leaf.index: _SHAPE for leaf in found})
        if raised(deep):
            continue
        laid = mapped(deep, channels_last)
        for place, value in places(deep):
            rank = dimensions_of(deep, place, value) if type(value) is int else 0
            for dim in shuffled([*range(rank), -2] if rank else []):
                words = f"channels last, argument {place} {dim} of {rank}".replace("-", "minus ")
                call = with_value(laid, place, dim)
                steady = among("misread_layouts", subject.operator)
                yield Draft(words, call, sample.variant, sample.entry, group=words, steady=steady)


def _in_turn(subject: Subject, samples: list[Sample]) -> Iterator[Draft]:
    """Yield two tensors of eight dimensions of which every other one is broadcast: no two of them merge."""
    if structured(subject.operator):
        return
    pool = Pool(subject)
    for sample in samples:
        found = tensors(sample.call)
        if len(found) < 2:
            continue
        shapes = {leaf.index: _IN_TURN[number % 2] for number, leaf in enumerate(found)}
        call = pool.with_shapes(sample.call, shapes)
        if not raised(call) and dense_results(call):
            words = "eight dimensions, broadcast in turn"
            yield Draft(words, call, sample.variant, sample.entry, group=words)


def _of_no_dimension(subject: Subject, samples: list[Sample]) -> Iterator[Draft]:
    """Yield tensors without dimension beside a list of one dimension: they count as tensors of one."""
    if among("crashes_when_misshapen", subject.operator) or among("structured", subject.operator):
        return
    for dim in (0, -1, 1):
        for sample in samples:
            flat = mapped(sample.call, lambda t: t.detach().reshape(-1)[0].clone())
            for place, value in places(flat):
                if whole_numbers(value):
                    call = with_value(flat, place, type(value)([dim]))
                    words = f"no dimension, argument {place} with {dim} alone".replace("-", "minus ")
                    yield from taken_or_refused(sample, call, words)


def _joined(subject: Subject) -> Iterator[Draft]:
    """Yield labels of all samples one after another in one dimension, in the place of a row for each."""
    for way in alternatives(subject.operator.signature):
        for sample in shuffled(subject.samples):
            named = by_name(sample.call, way)
            if named is None or not {"targets", "target_lengths"} <= named.keys():
                continue
            labels, sizes = named["targets"], named["target_lengths"]
            counts = sizes.tolist() if isinstance(sizes, torch.Tensor) else list(sizes)
            if labels.dim() != 2 or len(counts) != len(labels) or len(counts) < 2:
                continue
            counts = [max(1, min(n, labels.shape[1]) - place % 2) for place, n in enumerate(counts)]
            flat = torch.cat([row[:n] for row, n in zip(labels, counts, strict=True)])
            lengths: Any = torch.tensor(counts, dtype=sizes.dtype) if isinstance(sizes, torch.Tensor) else tuple(counts)
            call = with_argument(subject.operator.signature, sample.call, "targets", flat)
            call = call and with_argument(subject.operator.signature, call, "target_lengths", lengths)
            if call is not None and not raised(call):
                words = f"labels one after another{_words(sample.call)}"
                yield Draft(words, call, sample.variant, sample.entry, group=words)


def _words(call: Call) -> str:
    return "".join(f", {value}" for _, value in places(call) if type(value) is str)
