"""Family `values`: extreme, equal, sorted and repeated values, where the operator's definition covers them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import torch
from torch.utils import _pytree as pytree

from bringup.suites._opinfo_calls import Call
from bringup.suites._opinfo_samples import Sample, seed_of, seeded
from bringup.suites.audit._pool import Pool, distinct
from bringup.suites.audit._structure import among, structured, takes_nonfinite
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import Leaf, exchanged, given_values, spread, tensors
from bringup.suites.audit._vet import run

LARGEST = "the largest finite numbers"
NEIGHBOURS = "numbers that differ by the last bit"
Fill = Callable[[torch.Tensor], torch.Tensor]  # from ordinary values to those of the case, same shape and dtype


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield one case a kind of value, over a spread of samples."""
    if structured(subject.operator):
        return
    pool = Pool(subject)
    chosen = [s for s in distinct(subject) if any(leaf.tensor.numel() > 1 for leaf in subject.data(s.call))]
    chosen = spread(chosen, 4)
    for again in range(min(2, len(chosen))):
        for number, (what, fill) in enumerate(_fills(subject)):
            yield from _filled(subject, pool, chosen[(number + again) % len(chosen)], what, fill)
        if not again and not subject.torch_dtype.is_floating_point:
            # Drawn apart, so that what comes behind it keeps its values.
            with seeded(seed_of(subject.seed, subject.operator.name, "audit.values.integers", subject.dtype)):
                found = [*_magnitudes(subject, pool, chosen), *_golden(subject, chosen)]
            with seeded(seed_of(subject.seed, subject.operator.name, "audit.values.forms", subject.dtype)):
                found += [
                    draft for sample in _other_forms(subject, chosen) for draft in _magnitudes(subject, pool, [sample])
                ]
            yield from found
        elif not again and takes_nonfinite(subject.operator):
            with seeded(seed_of(subject.seed, subject.operator.name, "audit.values.largest", subject.dtype)):
                found = list(_filled(subject, pool, max(chosen, key=_elements), LARGEST, _largest))
            yield from (draft for draft in found if _computes_nothing(draft.call))
        if not again and subject.torch_dtype.is_floating_point:
            yield from _next_to_another(subject, pool, chosen)


def _next_to_another(subject: Subject, pool: Pool, chosen: list[Sample]) -> Iterator[Draft]:
    """Yield neighbours for the largest sample and for one of each other variant, where nothing is computed of them."""
    with seeded(seed_of(subject.seed, subject.operator.name, "audit.values.neighbours", subject.dtype)):
        for sample in [max(chosen, key=_elements), *_other_forms(subject, chosen)]:
            for draft in _filled(subject, pool, sample, NEIGHBOURS, _neighbours):
                if _computes_nothing(draft.call):
                    yield draft


def _other_forms(subject: Subject, chosen: list[Sample]) -> list[Sample]:
    """Return a sample of each variant (`max(x)`, `max(x, dim)`) but that of the largest, which has had its turn."""
    first = max(chosen, key=_elements).variant
    several = [s for s in distinct(subject) if any(leaf.tensor.numel() > 1 for leaf in subject.data(s.call))]
    return [*{sample.variant: sample for sample in several if sample.variant != first}.values()]


def _fills(subject: Subject) -> Iterator[tuple[str, Fill]]:
    dtype = subject.torch_dtype
    if dtype.is_floating_point:
        tiny = torch.finfo(dtype).smallest_normal
        if takes_nonfinite(subject.operator):
            yield "NaN among ordinary values", _strewn(float("nan"))
            yield "infinities among ordinary values", _strewn(float("inf"), float("-inf"))
        yield "zeros of both signs", _strewn(0.0, -0.0)
        yield "subnormal numbers", _strewn(tiny / 2, -tiny / 4, torch.finfo(dtype).smallest_normal)
    else:
        info = torch.iinfo(dtype)
        least = info.min + 1 if among("divides", subject.operator) else info.min
        yield "largest and smallest integers", _strewn(info.max, least)
        yield "zeros", _strewn(0)
    yield "all equal", lambda tensor: tensor.reshape(-1)[0].expand(tensor.shape).clone()
    yield "ascending", lambda tensor: tensor.reshape(-1).sort().values.reshape(tensor.shape)
    yield "few different values", _repeated
    yield "descending", lambda tensor: tensor.reshape(-1).sort(descending=True).values.reshape(tensor.shape)


def _neighbours(tensor: torch.Tensor) -> torch.Tensor:
    """The number below 2 and the next three above, of either sign: what is chosen of them is exactly one."""
    step = torch.finfo(tensor.dtype).eps * 2
    values = torch.tensor([2 - step / 2, 2 + step, 2 + 2 * step, 2 + 3 * step], dtype=torch.float64)
    drawn = values[torch.randint(0, 4, tuple(tensor.shape))] * (torch.randint(0, 2, tuple(tensor.shape)) * 2 - 1)
    return drawn.to(tensor.dtype)


def _largest(tensor: torch.Tensor) -> torch.Tensor:
    """Put the dtype's largest finite numbers, and one that float16 has not, in the place of most of the values.

    They are infinite in a narrower dtype: the largest of float32 in bfloat16 too.
    """
    most = torch.finfo(tensor.dtype).max
    return _strewn(most, -most, min(most, 1e5))(tensor)


def _computes_nothing(call: Call) -> bool:
    """Whether the results are integers, flags, or values of the arguments, their magnitudes, zeros and ones.

    Then a right kernel classifies, compares and moves, and does so without an error. Where numbers are added or
    multiplied, what is right so near to overflow may hang on the order.
    """
    try:
        result = run(call)
    except Exception:  # whatever PyTorch raises: this input is not accepted
        return False
    known = given_values(call)
    found = [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]
    numbers = [leaf.to_dense().double() for leaf in found if leaf.is_floating_point()]  # PyTorch seeks in strided ones
    return all(bool(torch.isin(values, known).all()) for values in numbers)


def _magnitudes(subject: Subject, pool: Pool, chosen: list[Sample]) -> Iterator[Draft]:
    """Integers of which every number of bits is as likely, of both signs: between the small and the extreme."""
    width = torch.iinfo(subject.torch_dtype).bits - 1

    def fill(tensor: torch.Tensor) -> torch.Tensor:
        bits = torch.randint(1, width + 1, tensor.shape)
        drawn = torch.randint(0, 1 << 62, tensor.shape) * 2 + torch.randint(0, 2, tensor.shape)
        sign = torch.randint(0, 2, tensor.shape) * 2 - 1
        return ((drawn >> (63 - bits)) * sign).to(tensor.dtype)

    yield from _filled(subject, pool, max(chosen, key=_elements), "integers of every magnitude", fill)


def _golden(subject: Subject, chosen: list[Sample]) -> Iterator[Draft]:
    """Pairs of consecutive Fibonacci numbers times a small one, for operators of two integers.

    No pairs of their size need more steps of Euclid's algorithm, whose quotients are all 1 (Lamé, 1844).
    """
    if not among("any_integers", subject.operator) and not among("divides", subject.operator):
        return
    samples = [sample for sample in chosen if len(subject.data(sample.call)) == 2]
    if not samples:
        return
    sample = max(samples, key=_elements)
    one, other = subject.data(sample.call)
    most, factors = torch.iinfo(subject.torch_dtype).max, 9
    multiplied = among("multiplies", subject.operator)
    numbers = [1, 2]
    while factors * (numbers[-1] + numbers[-2]) * (numbers[-1] if multiplied else 1) <= most:
        numbers.append(numbers[-1] + numbers[-2])
    shape = one.tensor.shape if one.tensor.numel() >= other.tensor.numel() else other.tensor.shape
    # From the middle on: small ones are among all integers.
    places = torch.randint(len(numbers) // 2, len(numbers), shape)
    pair = torch.tensor(numbers)[torch.stack((places, places - 1))] * torch.randint(1, factors + 1, shape)
    pair *= torch.randint(0, 2, pair.shape) * 2 - 1
    order = torch.randint(0, 2, (1, *shape))
    pair = torch.gather(pair, 0, torch.cat((order, 1 - order))).to(one.tensor.dtype)
    call = exchanged(sample.call, {one.index: pair[0].clone(), other.index: pair[1].clone()})
    yield Draft("integers in the golden ratio", call, sample.variant, sample.entry, whole=True, steady=True)


def _elements(sample: Sample) -> int:
    sizes: list[int] = [leaf.tensor.numel() for leaf in tensors(sample.call)]
    return max(sizes)


def _strewn(*values: float) -> Fill:
    """Return the fill that puts each value in the place of a quarter of the ordinary ones, at least one."""

    def fill(tensor: torch.Tensor) -> torch.Tensor:
        flat = tensor.reshape(-1).clone()
        order = torch.randperm(flat.numel())
        share = max(1, flat.numel() // 4)
        for number, value in enumerate(values):
            flat[order[number * share : (number + 1) * share]] = value
        return flat.reshape(tensor.shape)

    return fill


def _repeated(tensor: torch.Tensor) -> torch.Tensor:
    flat = tensor.reshape(-1)
    return flat[torch.randint(0, min(3, flat.numel()), (flat.numel(),))].reshape(tensor.shape)


def _filled(subject: Subject, pool: Pool, sample: Sample, what: str, fill: Fill) -> Iterator[Draft]:
    integers = not subject.torch_dtype.is_floating_point
    extreme = integers and "integers" in what
    leaves = [leaf for leaf in subject.data(sample.call) if leaf.tensor.numel()]
    if extreme and not among("any_integers", subject.operator):
        leaves = leaves[:1]
    if integers and what == "zeros" and among("divides", subject.operator):
        leaves = leaves[:1]
    if not leaves:
        return
    new = {leaf.index: fill(_ordinary(pool, leaf)) for leaf in leaves}
    draft = Draft(what, exchanged(sample.call, new), sample.variant, sample.entry, steady=True)
    # The largest integers have no exact image in floating point: only whole results are compared.
    yield replace(draft, whole=True) if extreme else draft


def _ordinary(pool: Pool, leaf: Leaf) -> torch.Tensor:
    return pool.like(leaf, leaf.tensor.shape)
