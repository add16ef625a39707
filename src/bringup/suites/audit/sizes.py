"""Family `sizes`: lengths around the blocks of kernels, above 2^20 elements, and many programs along every axis."""

from __future__ import annotations

import random
from collections.abc import Iterator

from bringup.suites._opinfo_samples import Sample
from bringup.suites.audit._generic import Form, forms
from bringup.suites.audit._pool import Pool, distinct, lengths
from bringup.suites.audit._structure import among, structured
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import elements, spread, tensors

_AROUND = ((127, 128, 129), (1023, 1024, 1025), (4095, 4096, 4097))  # two of each under one seed
_HUGE = (1 << 20) + 7  # a tail that is odd for every power of two
_GRID = (33, 65, 129)  # many blocks of any size along each of three axes
# Growing other operators: their work may grow faster than their arguments.
_MODEST = 1 << 17
_LENGTHS = (129, 257, 1025)


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield the two large cases first, then lengths around block boundaries."""
    pool = Pool(subject)
    made = forms(subject, pool)
    if made:
        for form in spread(made, 3):
            yield from _large(form)
        yield from _turns([list(_around(form)) for form in made])
    elif not structured(subject.operator) and not among("explosive", subject.operator):
        yield from _grown(subject, pool)


def _turns(rows: list[list[Draft]]) -> Iterator[Draft]:
    for position in range(max(map(len, rows))):
        yield from (row[position] for row in rows if position < len(row))


def _large(form: Form) -> Iterator[Draft]:
    if form.kind == "reduction":
        yield from list(form.reduction((_HUGE,), 0))[:1]
        yield from list(form.reduction(_GRID, 1))[:1]
    else:
        yield form.elementwise((_HUGE,))
        yield form.elementwise(_GRID, (1, 65, 1)) if form.kind == "binary" else form.elementwise(_GRID)


def _around(form: Form) -> Iterator[Draft]:
    chosen = [n for trio in _AROUND for n in sorted(random.sample(trio, 2))]
    for number, n in enumerate(chosen):
        if form.kind == "reduction":
            ways = (((n,), 0), ((3, n), -1), ((n, 3), 0))
            shape, dim = ways[number % 3]
            yield from list(form.reduction(shape, dim, keepdim=bool(number % 2)))[:1]
        elif form.kind == "binary":
            yield (form.elementwise((n,)), form.elementwise((3, n), (n,)), form.elementwise((n, 1), (1, 5)))[number % 3]
        else:
            yield form.elementwise(((n,), (3, n), (n, 3))[number % 3])


def _grown(subject: Subject, pool: Pool) -> Iterator[Draft]:
    """Yield samples with one length, or all of them, made longer wherever they occur."""
    heavy = subject.operator.category in ("Linear Algebra", "Deep Learning")
    chosen = spread(distinct(subject), 6)
    if not heavy:
        for sample in chosen:
            yield from _huge(pool, sample)
    for sample in chosen:
        yield from _everywhere(pool, sample, _MODEST)
    for number in range(len(_LENGTHS)):
        for offset, sample in enumerate(chosen):
            found = lengths(sample)
            new = _LENGTHS[(number + offset) % len(_LENGTHS)]
            for old in found[number : number + 1]:
                yield from _draft(pool, sample, {old: new}, _MODEST if heavy else 1 << 20)


def _everywhere(pool: Pool, sample: Sample, most: int) -> Iterator[Draft]:
    found = lengths(sample)
    dims = max((leaf.tensor.dim() for leaf in tensors(sample.call)), default=0)
    if found and dims > 1:
        steps = (131, 67, 37, 33, 17) if dims == 2 else (33, 37, 17, 13, 11)
        yield from _draft(pool, sample, dict(zip(found, steps, strict=False)), most)


def _huge(pool: Pool, sample: Sample) -> Iterator[Draft]:
    """Make one length so long that the largest tensor has more than 2^20 elements."""
    largest = max((leaf.tensor for leaf in tensors(sample.call)), key=lambda t: t.numel())
    for old in lengths(sample)[:1]:
        times = list(largest.shape).count(old)
        if times == 1 and largest.dim() <= 3:
            yield from _draft(pool, sample, {old: (1 << 20) * old // largest.numel() | 7}, 1 << 21)


def _draft(pool: Pool, sample: Sample, sizes: dict[int, int], most: int) -> Iterator[Draft]:
    total = sum(_product([sizes.get(n, n) for n in leaf.tensor.shape]) for leaf in tensors(sample.call))
    if total <= most and total > elements((sample.call.args, sample.call.kwargs)):
        words = ", ".join(f"{old} to {new}" for old, new in sizes.items())
        for numbers in (True, False):
            call = pool.resized(sample.call, sizes, numbers=numbers)
            yield Draft(f"length {words}", call, sample.variant, sample.entry, group=f"{id(sample)} {words}")


def _product(numbers: list[int]) -> int:
    total = 1
    for number in numbers:
        total *= number
    return total
