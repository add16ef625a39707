"""Family `sizes`: lengths around the blocks of kernels, above 2^20 elements, and many programs along every axis.

Arguments with a structure are repeated as they are, all together: indices that are written to twice write the same.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import replace

import torch

from bringup.suites._opinfo_samples import Sample, seed_of, seeded
from bringup.suites.audit._families import MAX_INPUT
from bringup.suites.audit._generic import Form, forms, others
from bringup.suites.audit._numbers import changed
from bringup.suites.audit._pool import Pool, distinct, lengths
from bringup.suites.audit._structure import among, structured
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import elements, exchanged, shape_text, spread, tensors, turns

_AROUND = ((127, 128, 129), (1023, 1024, 1025), (4095, 4096, 4097))
_HUGE = (1 << 20) + 7  # a tail that is odd for every power of two
_GRID = (33, 65, 129)  # many blocks of any size along each of three axes
_MANY = (17, 33, 65)  # more than one block, for gates that a slow simulator must pass in time
_ROWS = ((7, 2051), (5, 3079), (13, 1531))  # odd rows of more than one block, none of them aligned
_ODD_ROWS = 1 << 16
_TRIED = 6  # samples whose rows are made odd, until PyTorch takes one
_SLOW = 1 << 14
_TILED = 5003  # elements of a repeated sample
_MODEST = 1 << 17  # elements where the work grows faster than the arguments


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield odd rows first, then the large cases, then lengths around block boundaries."""
    pool = Pool(subject)
    made = forms(subject, pool)
    chosen = [] if structured(subject.operator) or among("explosive", subject.operator) else others(subject, made)
    most = _MODEST if subject.operator.category in ("Linear Algebra", "Deep Learning") else 1 << 20
    most = _SLOW if among("slow", subject.operator) else most
    yield from _odd_rows(subject, pool, made, chosen, min(most, _ODD_ROWS))
    yield from turns(*map(_large, spread(made, 3)), _grown_large(pool, chosen, most))
    yield from turns(*map(_around, made), _grown(pool, chosen, most))
    if among("repeatable", subject.operator) and subject.torch_dtype not in (torch.float16, torch.bfloat16):
        yield from _tiled(subject)
    yield from changed(subject, [_HUGE, *(n for trio in _AROUND for n in random.sample(trio, 3))] * 2)


def _large(form: Form) -> Iterator[Draft]:
    if form.kind == "reduction":
        yield from list(form.reduction((_HUGE,), 0))[:1]
        yield from list(form.reduction(_GRID, 1))[:1]
        yield from list(form.reduction(_MANY, 1))[:1]
    else:
        yield form.elementwise((_HUGE,))
        yield form.elementwise(_GRID, (1, 65, 1)) if form.kind == "binary" else form.elementwise(_GRID)
        yield form.elementwise(_MANY, (1, 33, 1)) if form.kind == "binary" else form.elementwise(_MANY)


def _around(form: Form) -> Iterator[Draft]:
    chosen = [n for trio in _AROUND for n in sorted(random.sample(trio, 2))]  # two of each under one seed
    for number, n in enumerate(chosen):
        if form.kind == "reduction":
            ways = (((n,), 0), ((3, n), -1), ((n, 3), 0))
            shape, dim = ways[number % 3]
            yield from list(form.reduction(shape, dim, keepdim=bool(number % 2)))[:1]
        elif form.kind == "binary":
            yield (form.elementwise((n,)), form.elementwise((3, n), (n,)), form.elementwise((n, 1), (1, 5)))[number % 3]
        else:
            yield form.elementwise(((n,), (3, n), (n, 3))[number % 3])


def _grown_large(pool: Pool, samples: list[Sample], most: int) -> Iterator[Draft]:
    if most > _MODEST:
        huge = (draft for sample in samples for draft in _huge(pool, sample))
        yield from itertools.islice(huge, 3)  # one more than are kept: some are vetted out
    for sample in spread(samples, 3)[-2:]:
        yield from _everywhere(pool, sample, min(most, _MODEST))


def _grown(pool: Pool, samples: list[Sample], most: int) -> Iterator[Draft]:
    """Yield samples with one length made longer: every sample and every one of its lengths in turn."""
    chosen = spread(samples, 6)
    around = [n for trio in _AROUND for n in random.sample(trio, 3)]
    for number, new in enumerate(around * 2):
        for sample in chosen[number % len(chosen) :][:1] if chosen else ():
            yield from _longer(pool, sample, number // len(chosen), new, most)


def _longer(pool: Pool, sample: Sample, which: int, new: int, most: int) -> Iterator[Draft]:
    """Make one axis longer where all tensors have one shape, else one length wherever it occurs."""
    shapes = {tuple(leaf.tensor.shape) for leaf in tensors(sample.call)}
    shape = shapes.pop()
    if shapes:
        found = lengths(sample)
        for old in found[which % len(found) :][:1] if found else ():
            yield from _draft(pool, sample, {old: new}, most)
    elif shape:
        axis = which % len(shape)
        longer = (*shape[:axis], new, *shape[axis + 1 :])
        if math.prod(longer) * len(tensors(sample.call)) <= most:
            call = pool.with_shapes(sample.call, {leaf.index: longer for leaf in tensors(sample.call)})
            yield Draft(f"{shape_text(shape)} to {shape_text(longer)}", call, sample.variant, sample.entry)


def _everywhere(pool: Pool, sample: Sample, most: int) -> Iterator[Draft]:
    """Make all lengths longer, each to another one."""
    found = lengths(sample)
    dims = max((leaf.tensor.dim() for leaf in tensors(sample.call)), default=0)
    if found and dims > 1:
        steps = (131, 67, 37, 33, 17) if dims == 2 else (33, 37, 17, 13, 11)
        yield from _draft(pool, sample, dict(zip(found, steps, strict=False)), most)


def _odd_rows(subject: Subject, pool: Pool, made: list[Form], samples: list[Sample], most: int) -> list[Draft]:
    """Return calls with rows that are odd and longer than one block, from a generator of their own.

    What the other sizes draw stays what it was, and published cases with it.
    """
    with seeded(seed_of(subject.seed, subject.operator.name, "audit.odd rows", subject.dtype)):
        rows = random.choice(_ROWS)
        found: list[Draft] = []
        for form in made:
            if form.kind == "reduction":
                found += list(form.reduction(rows, -1))[:1]
            else:
                found.append(form.elementwise(rows, (rows[0], 1)) if form.kind == "binary" else form.elementwise(rows))
        for sample in samples[:_TRIED]:
            leaf = max(tensors(sample.call), key=lambda leaf: leaf.tensor.dim(), default=None)
            if leaf is None or leaf.tensor.dim() < 2:
                continue
            *outer, last = leaf.tensor.shape
            if last not in outer:
                found += _draft(pool, sample, {last: rows[1]}, most)
            elif math.prod(outer) * rows[1] <= most:
                call = pool.with_shapes(sample.call, {leaf.index: (*outer, rows[1])})
                words = f"{shape_text(leaf.tensor.shape)} to {shape_text((*outer, rows[1]))}"
                found.append(Draft(words, call, sample.variant, sample.entry))
        return [replace(draft, what=f"odd rows, {draft.what}", group="odd rows") for draft in found]


def _huge(pool: Pool, sample: Sample) -> Iterator[Draft]:
    """Make the last axis (all tensors of one shape), or the longest, so long that there are over 2^20 elements."""
    leaves = tensors(sample.call)
    shapes = {tuple(leaf.tensor.shape) for leaf in leaves}
    largest = max((leaf.tensor for leaf in leaves), key=lambda tensor: tensor.numel())
    if len(shapes) == 1 and largest.dim():
        longer = (*largest.shape[:-1], _beyond(largest.shape[-1], largest.numel()))
        call = pool.with_shapes(sample.call, {leaf.index: longer for leaf in leaves})
        yield Draft(f"{shape_text(largest.shape)} to {shape_text(longer)}", call, sample.variant, sample.entry)
        return
    for old in lengths(sample)[:1]:
        if list(largest.shape).count(old) == 1:
            yield from _draft(pool, sample, {old: _beyond(old, largest.numel())}, MAX_INPUT)


def _tiled(subject: Subject) -> Iterator[Draft]:
    """Repeat samples along the first axis, so often that there are some thousands of elements, or far more.

    What lands in one place is added up exactly: floating-point data is -1, 0 and 1.
    """
    many = _TILED if among("quadratic", subject.operator) else _MODEST // 2
    for number, sample in enumerate(spread(distinct(subject), 4)):
        leaves = tensors(sample.call)
        rank = max(leaf.tensor.dim() for leaf in leaves)
        largest = max(leaf.tensor.numel() for leaf in leaves)
        times = (_TILED, many)[number % 2] // largest + 1
        for least in (1, rank):  # every tensor, or only those of the most dimensions
            new = {
                leaf.index: _whole(leaf.tensor).repeat(times, *[1] * (leaf.tensor.dim() - 1))
                for leaf in leaves
                if leaf.tensor.dim() >= max(1, least)
            }
            if new:
                what = f"repeated {times} times"
                call = exchanged(sample.call, new)
                yield Draft(what, call, sample.variant, sample.entry, group=f"{id(sample)} tiled", steady=True)


def _whole(tensor: torch.Tensor) -> torch.Tensor:
    return torch.randint(-1, 2, tensor.shape).to(tensor.dtype) if tensor.is_floating_point() else tensor


def _beyond(length: int, elements: int) -> int:
    """Return the odd length in place of `length` with which `elements` become more than 2^20."""
    return ((1 << 20) * length // elements + 1) | 7


def _draft(pool: Pool, sample: Sample, sizes: dict[int, int], most: int) -> Iterator[Draft]:
    total = sum(math.prod([sizes.get(n, n) for n in leaf.tensor.shape]) for leaf in tensors(sample.call))
    if total <= most and total > elements((sample.call.args, sample.call.kwargs)):
        words = ", ".join(f"{old} to {new}" for old, new in sizes.items())
        for numbers in (True, False):
            call = pool.resized(sample.call, sizes, numbers=numbers)
            yield Draft(f"length {words}", call, sample.variant, sample.entry, group=f"{id(sample)} {words}")
