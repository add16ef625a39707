"""Family `random`: shapes drawn by hypothesis; the same ones in every process for the same seed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from bringup.suites._opinfo_samples import Sample
from bringup.suites.audit._families import FAMILIES
from bringup.suites.audit._generic import Form, forms, others
from bringup.suites.audit._numbers import changed
from bringup.suites.audit._pool import Pool, lengths
from bringup.suites.audit._structure import among, structured
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import spread, turns

_OFFERED = 2 * FAMILIES["random"]
_ENTROPY = 2048  # bytes, far more than a shape takes
_TRIES = 20
_MAX_DIMS, _MAX_SIDE = 5, 19


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield calls of the generic classes in drawn shapes; other operators' samples with drawn lengths."""
    pool = Pool(subject)
    made = forms(subject, pool)
    yield from turns(
        *(_shaped(form, f"{subject.seed} {number}") for number, form in enumerate(spread(made, 3))),
        _resized(subject, pool, spread(others(subject, made), _OFFERED)),
        _renumbered(subject),
    )


def _renumbered(subject: Subject) -> Iterator[Draft]:
    from hypothesis import strategies as st

    yield from changed(subject, draws(st.integers(0, 40), f"{subject.seed} numbers", _OFFERED))


def _shaped(form: Form, key: str) -> Iterator[Draft]:
    from hypothesis import strategies as st
    from hypothesis.extra import numpy as shapes

    kind = {
        "unary": shapes.array_shapes(min_dims=0, max_dims=_MAX_DIMS, max_side=_MAX_SIDE),
        "binary": shapes.mutually_broadcastable_shapes(num_shapes=2, max_dims=_MAX_DIMS - 1, max_side=_MAX_SIDE),
        "reduction": shapes.array_shapes(min_dims=1, max_dims=_MAX_DIMS, max_side=_MAX_SIDE).flatmap(
            lambda shape: st.tuples(st.just(shape), st.integers(-len(shape), len(shape) - 1), st.booleans())
        ),
    }[form.kind]
    for drawn in draws(kind, key, _OFFERED):
        yield from _generic(form, drawn)


def _resized(subject: Subject, pool: Pool, samples: list[Sample]) -> Iterator[Draft]:
    from hypothesis import strategies as st

    if structured(subject.operator) or among("explosive", subject.operator):
        return
    for number, sample in enumerate(samples):
        found = lengths(sample)
        if not found:
            continue
        sides = st.lists(st.integers(1, 24), min_size=len(found), max_size=len(found), unique=True)
        drawn = draws(sides, f"{subject.seed} resized {number}", 1)[0]
        sizes = dict(zip(found, drawn, strict=True))
        words = ", ".join(f"{old} to {new}" for old, new in sizes.items())
        for numbers in (True, False):
            call = pool.resized(sample.call, sizes, numbers=numbers)
            yield Draft(f"length {words}", call, sample.variant, sample.entry, group=f"{id(sample)}")


def _generic(form: Form, drawn: Any) -> Iterator[Draft]:
    if form.kind == "unary":
        yield form.elementwise(drawn)
    elif form.kind == "binary":
        yield form.elementwise(*drawn.input_shapes)
    else:
        shape, dim, keepdim = drawn
        yield from list(form.reduction(shape, dim, keepdim))[:1]


def draws(strategy: Any, key: str, count: int) -> list[Any]:
    """Draw `count` different values (fewer if it hardly has them) of a strategy from bytes that `key` alone decides.

    hypothesis's own generation also picks constants out of the modules that happen to be loaded, so it differs from
    process to process; its interface for fuzzers takes the bytes from outside and does not.
    """
    from hypothesis import HealthCheck, given, settings

    found: list[Any] = []

    @settings(database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(strategy)
    def keep(value: Any) -> None:
        if repr(value) not in map(repr, found):
            found.append(value)

    for number in range(_TRIES * count):
        if len(found) == count:
            break
        keep.hypothesis.fuzz_one_input(hashlib.shake_256(f"{key} {number}".encode()).digest(_ENTROPY))
    return found
