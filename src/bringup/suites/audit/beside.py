"""Family `beside`: what stands beside what: optional tensors beside broadcasting and without each other, tolerances
between singular values, matrices of large and small norm, sums that leave a half's range and come back, sizes
whose product leaves 32 bits, many boundaries.

As in `combined`, these are the rules that plausible mistakes by a reader of the documentation had in common.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import torch

from bringup.suites._opinfo_calls import Call
from bringup.suites._opinfo_samples import Sample
from bringup.suites.audit._pool import Pool, distinct
from bringup.suites.audit._signature import alternatives, argument_of, with_argument
from bringup.suites.audit._spoilt import refused
from bringup.suites.audit._structure import structured
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import Leaf, elements, exchanged, shuffled, tensors, turns
from bringup.suites.audit._vet import dense_results, raised

# Parameters that are tensors or None: their signature says only that they may be left out.
_TENSORS = ("weight", "bias", "pos_weight", "running_mean", "running_var", "attn_mask", "fweights", "aweights")
_PARSER = ("TypeError", "RuntimeError: Expected a proper Tensor")  # what refuses None before any wrapper is called
_AS_LARGE = ("weight", "pos_weight")  # of these, one number for each element
_TOLERANCES = ("rcond", "rtol", "atol", "tol")
_VALUES = (1.0, 0.25, 0.0625, 2.0**-8, 2.0**-10)  # singular values, far from each tolerance
_TOLERANCE = {1: 2.0**-1, 2: 2.0**-3, 3: 2.0**-7}  # singular values that are above it -> tolerance
_NORMS = (3.0, 12.0, 50.0, 2.0**-12)
_FEW = 1 << 12  # elements of a sample
_LENGTHS = 65537, 40001  # of data and result: their product leaves 32 bits
_BOUNDARIES = (1 << 17) + 3  # a search of 18 steps


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield in turn optional tensors beside broadcasting, one of two alone, tolerances, norms, sums that come back."""
    samples = [sample for sample in distinct(subject) if elements(sample.call.args) <= _FEW]
    yield from turns(
        _broadcast(subject, samples),
        _alone(subject, samples),
        _tolerances(subject),
        _norms(subject, samples),
        _back(subject, samples),
        _far(subject, samples),
        _searched(subject, samples),
    )


def _optional(subject: Subject) -> list[str]:
    """The names of tensors that may be None, in the signature's order: running statistics without a default too."""
    ways = [p for way in alternatives(subject.operator.signature) for p in way if p.name in _TENSORS]
    return list(dict.fromkeys(p.name for p in ways if p.default == "None" or p.name.startswith("running_")))


def _wider(subject: Subject, pool: Pool, sample: Sample) -> Iterator[Call]:
    """Yield a sample's call as it is, and with each weight that it leaves out, as large as its first tensor."""
    yield sample.call
    data = subject.data(sample.call)
    signature = subject.operator.signature
    for name in [name for name in _optional(subject) if name in _AS_LARGE] if data else ():
        if argument_of(signature, sample.call, name) is None:
            tensor = pool.like(Leaf(-1, data[0].place, data[0].tensor), data[0].tensor.shape).abs()
            call = with_argument(signature, sample.call, name, tensor)
            if call is not None and not raised(call):
                yield call


def _broadcast(subject: Subject, samples: list[Sample]) -> Iterator[Draft]:
    """Yield calls with three tensors, one or two of which are broadcast."""
    if structured(subject.operator):
        return
    pool = Pool(subject)
    for sample in samples:
        for call in _wider(subject, pool, sample):
            found = tensors(call)
            if len(found) < 3 or raised(call) or not dense_results(call):
                continue
            for words, shapes in shuffled(list(_narrow(found))):
                narrower = pool.with_shapes(call, shapes)
                if not raised(narrower) and dense_results(narrower):
                    what = f"{words}, of {len(found)} tensors"
                    yield Draft(what, narrower, sample.variant, sample.entry, group=what)


def _narrow(found: list[Leaf]) -> Iterator[tuple[str, dict[int, tuple[int, ...]]]]:
    """Yield shapes with one length made 1, or the first axis gone, in one tensor or in two that have the same shape."""
    for leaf in found:
        shape = tuple(leaf.tensor.shape)
        twins = [other for other in found if other.index > leaf.index and other.tensor.shape == leaf.tensor.shape]
        ways = [(f"axis {axis} of length 1", (*shape[:axis], 1, *shape[axis + 1 :]))
                for axis, length in enumerate(shape) if length > 1]  # fmt: skip
        ways += [("without its first axis", shape[1:])] if len(shape) > 1 else []
        for words, smaller in ways:
            yield f"{leaf.place}, {words}", {leaf.index: smaller}
            for twin in twins:
                yield f"{leaf.place} and {twin.place}, {words}", {leaf.index: smaller, twin.index: smaller}


def _alone(subject: Subject, samples: list[Sample]) -> Iterator[Draft]:
    """Yield calls without one of two optional tensors that a sample gives: PyTorch may refuse them."""
    for sample in samples:
        values = {name: argument_of(subject.operator.signature, sample.call, name) for name in _optional(subject)}
        given = [name for name, value in values.items() if isinstance(value, torch.Tensor)]
        for name in given if len(given) > 1 else ():
            call = with_argument(subject.operator.signature, sample.call, name, None)
            words = f"{name} missing beside {', '.join(one for one in given if one != name)}"
            if call is None:
                continue
            if not raised(call):
                yield Draft(words, call, sample.variant, sample.entry, group=words)
            elif refused(call) and not raised(call).startswith(_PARSER):
                yield Draft(words, call, sample.variant, sample.entry, fails=True, group=words)


def _tolerances(subject: Subject) -> Iterator[Draft]:
    """Yield matrices whose singular values lie far above and far below a tolerance that is given."""
    names = [p.name for way in alternatives(subject.operator.signature) for p in way if p.name in _TOLERANCES]
    if not names or not subject.torch_dtype.is_floating_point or subject.operator.category != "Linear Algebra":
        return
    names = list(dict.fromkeys(names))
    for number, sample in enumerate(_by_form(subject)):
        kept = {key: one for key, one in sample.call.kwargs.items() if key not in _TOLERANCES}
        if "gelsy" in kept.values():  # drops columns of a factorisation with pivots, no singular values
            continue
        shape = sample.call.args[0].shape
        matrix = _of_values(shape).to(subject.torch_dtype)
        name, above = names[number % len(names)], 1 + number % min(len(_TOLERANCE), min(shape[-2:]) - 1)
        plain = exchanged(Call(sample.call.reference, sample.call.args, kept), {0: matrix})
        call = with_argument(subject.operator.signature, plain, name, _TOLERANCE[above])
        given = "".join(f", {key} {one}" for key, one in kept.items() if type(one) in (str, bool))
        words = f"{name} {_TOLERANCE[above]}, {above} singular values above in {_form(shape)} matrices{given}"
        if call is not None and not raised(call):
            yield Draft(words, call, sample.variant, sample.entry, group=words)


def _form(shape: torch.Size) -> str:
    rows, columns = shape[-2:]
    return "tall" if rows > columns else "wide" if rows < columns else "square"


def _by_form(subject: Subject) -> Iterator[Sample]:
    """Yield samples whose first argument is a matrix of two rows and columns or more, tall, wide, square in turn."""
    found: dict[str, list[Sample]] = {"tall": [], "wide": [], "square": []}
    for sample in subject.samples:
        data = [leaf for leaf in subject.data(sample.call) if leaf.tensor.dim() > 1 and leaf.tensor.numel()]
        if data and not data[0].index and sample.call.args and sample.call.args[0] is data[0].tensor:
            shape = data[0].tensor.shape
            if min(shape[-2:]) >= 2 and data[0].tensor.numel() <= _FEW:
                found[_form(shape)].append(sample)
    yield from turns(*(shuffled(samples) for samples in found.values()))


def _of_values(shape: torch.Size) -> torch.Tensor:
    """Return matrices (..., m, n) of known singular values; symmetric where they are square."""
    rows, columns = shape[-2:]
    count = min(rows, columns)
    left = torch.linalg.qr(torch.rand(*shape[:-2], rows, count, dtype=torch.float64) - 0.5)[0]
    right = left if rows == columns else torch.linalg.qr(
        torch.rand(*shape[:-2], columns, count, dtype=torch.float64) - 0.5
    )[0]  # fmt: skip
    values = torch.tensor([_VALUES[min(n, len(_VALUES) - 1)] for n in range(count)], dtype=torch.float64)
    return (left * values) @ right.mT


def _norms(subject: Subject, samples: list[Sample]) -> Iterator[Draft]:
    """Yield matrices of large and of small norm, alone among the data."""
    if not subject.torch_dtype.is_floating_point or subject.operator.category != "Linear Algebra":
        return
    if not structured(subject.operator):  # `scales` has these
        return
    for norm, sample in itertools.product(_NORMS, samples):
        data = subject.data(sample.call)
        if len(data) != 1 or data[0].tensor.dim() < 2 or data[0].tensor.shape[-1] < 2:
            continue
        matrix = data[0].tensor.detach()
        size = matrix.double().abs().sum(-1).amax().item()
        if not 0 < size < float("inf"):
            continue
        call = exchanged(sample.call, {data[0].index: (matrix.double() * (norm / size)).to(matrix.dtype)})
        words = f"a matrix of norm {norm:g}"
        if not raised(call):
            yield Draft(words, call, sample.variant, sample.entry, steady=True, group=words)


def _back(subject: Subject, samples: list[Sample]) -> Iterator[Draft]:
    """Yield halves whose sum leaves the range of the dtype on the way and is back at the end."""
    if subject.dtype != "float16" or structured(subject.operator):
        return
    for sample in sorted(samples, key=lambda sample: -elements(sample.call.args)):
        data = subject.data(sample.call)
        for axis in (-1, 0):
            if not data or not data[0].tensor.dim() or data[0].tensor.shape[axis] < 4 or len(data) > 2:
                continue
            length = data[0].tensor.shape[axis] // 4 * 4
            line = torch.zeros(data[0].tensor.shape[axis])
            line[: length // 2], line[length // 2 : length] = 40000.0, -40000.0
            shape = [1] * data[0].tensor.dim()
            shape[axis] = -1
            large = (line.reshape(shape).expand(data[0].tensor.shape) + torch.zeros(data[0].tensor.shape)).half()
            ones = {leaf.index: torch.ones_like(leaf.tensor) for leaf in data[1:]}
            call = exchanged(sample.call, {data[0].index: large, **ones})
            found = None if raised(call) else dense_results(call)
            results = () if found is None else found[1]
            finite = all(bool(t.isfinite().all()) for t in results if t.is_floating_point())
            if finite and any(t.numel() < large.numel() for t in results):
                words = f"sums that leave the range and come back, axis {axis}"
                yield Draft(words, call, sample.variant, sample.entry, group=words)


def _far(subject: Subject, samples: list[Sample]) -> Iterator[Draft]:
    """Yield windows that share out a long axis among many results: places are products of two lengths."""
    if ".adaptive_" not in subject.operator.name:
        return
    pool = Pool(subject)
    for sample in samples:
        size = sample.call.args[1] if len(sample.call.args) > 1 else None
        lengths = (size,) if isinstance(size, int) else size
        if not isinstance(lengths, tuple | list):
            continue
        data = subject.data(sample.call)[0]
        for place in range(len(lengths)):
            long = [1] * len(lengths), [1] * len(lengths)
            long[0][place], long[1][place] = _LENGTHS
            wanted = long[1][0] if isinstance(size, int) else tuple(long[1])
            call = pool.with_shapes(sample.call, {0: (*data.tensor.shape[: -len(lengths)], *long[0])})
            words = f"{_LENGTHS[0]} to {_LENGTHS[1]} along axis {place - len(lengths)}"
            moved = Call(call.reference, (call.args[0][(slice(0, 1),) * (data.tensor.dim() - len(lengths))], wanted,
                                          *call.args[2:]), call.kwargs)  # fmt: skip
            if not raised(moved):
                yield Draft(words, moved, sample.variant, sample.entry, group=words)


def _searched(subject: Subject, samples: list[Sample]) -> Iterator[Draft]:
    """Yield searches among more boundaries than 16 steps divide."""
    places = {"bucketize": (0, 1), "searchsorted": (1, 0)}  # of what is looked for, of the boundaries
    if subject.operator.name not in places or subject.dtype not in ("float32", "int32"):
        return
    looked, sorted_ = places[subject.operator.name]
    for sample in samples:
        args = sample.call.args
        if len(args) < 2 or not all(isinstance(one, torch.Tensor) and one.dim() for one in args[:2]):
            continue
        if args[sorted_].dim() > 1 or "sorter" in sample.call.kwargs:
            continue
        many = torch.arange(_BOUNDARIES).mul(3).to(subject.torch_dtype)
        wanted = torch.randint(-5, 3 * _BOUNDARIES + 5, tuple(args[looked].shape)).to(subject.torch_dtype)
        wanted.view(-1)[0], wanted.view(-1)[-1] = 3 * _BOUNDARIES - 4, 4
        words = f"{_BOUNDARIES} boundaries{', right' if sample.call.kwargs.get('right') else ''}"
        call = exchanged(sample.call, {looked: wanted, sorted_: many})
        if not raised(call):
            yield Draft(words, call, sample.variant, sample.entry, group=words)
