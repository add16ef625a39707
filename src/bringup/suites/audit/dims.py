"""Family `dims`: dimensions named by the first and by the last number that PyTorch takes for them, -rank and rank - 1.

Which arguments are dimensions is found out: PyTorch takes every number from -rank to rank - 1 and refuses those beside
them (`stack` and its like have one dimension more than their tensors).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bringup.suites._opinfo_calls import Call
from bringup.suites._opinfo_samples import Sample
from bringup.suites.audit._spoilt import places, rank_of, refused, whole_numbers, with_value
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import elements, shuffled, turns

_LARGEST = 1 << 14  # elements of a sample


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield, argument by argument, calls with its lowest and highest dimension, of few dimensions and of many."""
    found: dict[int | str, dict[int, Sample]] = {}
    for sample in shuffled(subject.samples):
        for place, value in places(sample.call):
            if _numbers(value) and 0 < elements((sample.call.args, sample.call.kwargs)) <= _LARGEST:
                found.setdefault(place, {}).setdefault(rank_of(sample.call), sample)
    yield from turns(
        *(_of_place(place, [by_rank[rank] for rank in sorted(by_rank)]) for place, by_rank in found.items())
    )
    yield from _from_the_end(subject)


def _from_the_end(subject: Subject) -> Iterator[Draft]:
    """Yield calls whose list of dimensions is counted from the end: each less the rank, if the results are the same."""
    for sample in subject.samples:
        rank = rank_of(sample.call)
        for place, value in places(sample.call):
            if not whole_numbers(value) or not all(0 <= dim < rank for dim in value) or len(value) < 2:
                continue
            if not 0 < elements((sample.call.args, sample.call.kwargs)) <= _LARGEST:
                continue
            call = with_value(sample.call, place, type(value)([dim - rank for dim in value]))
            words = f"argument {place} counted from the end"
            yield Draft(words, call, sample.variant, sample.entry, plain=sample.call, group=words)


def _of_place(place: int | str, few: list[Sample]) -> Iterator[Draft]:
    ways = (("lowest", few), ("highest", few[::-1]), ("lowest", few[::-1]), ("highest", few))
    for what, samples in ways:
        for sample in samples:
            value = dict(places(sample.call))[place]
            rank = dimensions_of(sample.call, place, value)
            if rank:
                dim = -rank if what == "lowest" else rank - 1
                call = with_value(sample.call, place, _with_dim(value, dim))
                words = f"argument {place} the {what} of {rank}"
                yield Draft(words, call, sample.variant, sample.entry, group=words)


def dimensions_of(call: Call, place: int | str, value: Any) -> int:
    """Return how many dimensions the argument may name; 0 where it is none."""
    least = rank_of(call)
    for rank in (least, least + 1):
        inside = not any(refused(with_value(call, place, _with_dim(value, d))) for d in (-rank, rank - 1))
        if inside and all(refused(with_value(call, place, _with_dim(value, d))) for d in (-rank - 1, rank)):
            return rank
    return 0


def _numbers(value: Any) -> bool:
    return type(value) is int or whole_numbers(value)


def _with_dim(value: Any, dim: int) -> Any:
    """Return the number, or a list or tuple of it alone."""
    return dim if type(value) is int else type(value)([dim])
