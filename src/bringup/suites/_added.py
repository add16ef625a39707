"""Published cases of an audit, rebuilt as a gate's own: indices, seeds, and what may be missing."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bringup.errors import EnvironmentFault
from bringup.operators import Operator
from bringup.suites._additions import BREADTH_REASON, Additions
from bringup.suites._base import CaseInputs
from bringup.suites._cache import torch_version
from bringup.verdict import CaseId

# (dtype, seed, keys) -> the audit's cases of one operator with these keys; those that it does not have are left out.
ByKey = Callable[[str, int, Iterable[str]], Mapping[str, CaseInputs]]


TRIED = 4  # published cases that are built for each one that is drawn: many of them are there to be refused


def with_added(operator: Operator, additions: Additions, dtypes: Sequence[str] = ()) -> Operator:
    """Return an operator's record with its published cases counted apart: of dtypes that it has, and of `dtypes`.

    `dtypes` are those of the suite, in judging order; () where only dtypes with cases of their own have others.
    """
    own, published = operator.case_counts, additions.counts(operator.name)
    order = [dtype for dtype in dtypes if published.get(dtype) or own.get(dtype)] if own and dtypes else list(own)
    added = {dtype: published[dtype] for dtype in order if published.get(dtype) and (dtypes or own.get(dtype))}
    counts = {dtype: own.get(dtype, 0) + added.get(dtype, 0) for dtype in order}
    return operator.model_copy(update={"case_counts": counts, "added_counts": added})


def added_cases(
    additions: Additions,
    operator: str,
    dtype: str,
    first_index: int,
    by_key: ByKey,
    seed: int = 0,
    only: int | None = None,
) -> Sequence[CaseInputs]:
    """Rebuild the published cases of an operator in one dtype, or the one at place `only`.

    Their indices go on from `first_index`, also behind a case that is left out.

    With seed 0 each case has the values that it was published with; any other seed of the gate draws others for the
    same recipes. Raises EnvironmentFault for a key that the audit suite does not have; with another torch version
    than that of the file such a case is left out instead, and so is one that is there for breadth: which drafts the
    audit keeps depends on the processor too.
    """
    places = dict(enumerate(additions.of(operator, dtype)))
    if only is not None:
        places = {only: places[only]}
    wanted = tuple(places.values())
    if not wanted:
        return []
    drawn = {addition: addition.gate_seed(operator, dtype, seed) for addition in wanted}
    found: dict[tuple[int, str], CaseInputs] = {}
    for chosen in (drawn, {addition: addition.seed for addition in wanted}):
        by_seed: dict[int, dict[str, int]] = {}
        for addition in wanted:
            # A recipe may lead to other shapes, and so to another key, under another seed: then the first one stands.
            if (drawn[addition], addition.key) not in found:
                by_seed.setdefault(chosen[addition], {})[addition.key] = drawn[addition]
        for one, keys in by_seed.items():
            found |= {(keys[key], key): case for key, case in by_key(dtype, one, keys).items()}
    cases: list[CaseInputs] = []
    same_torch = additions.torch in {"", ".".join(torch_version().split(".")[:2])}
    for place, addition in places.items():
        made = found.get((drawn[addition], addition.key))
        if made is None:
            if same_torch and addition.reason != BREADTH_REASON:
                raise EnvironmentFault(
                    f"gate addition {operator}[{dtype}] {addition.key}: the audit suite has no such case; "
                    "correct the additions file, or write it anew with `bringup audit vacuity --add`"
                )
            continue
        identity = CaseId(operator=operator, dtype=dtype, index=first_index + place, seed=seed)
        notes: Mapping[str, Any] = {**made.notes, "added": addition.reason}
        cases.append(replace(made, case=identity, notes=notes))
    return cases


def drawn_of_added(
    additions: Additions, operator: str, dtype: str, first_index: int, by_key: ByKey, seed: int, count: int
) -> Sequence[CaseInputs]:
    """Rebuild up to `count` of the published cases, without building the others; the seed draws which."""
    places = list(range(len(additions.of(operator, dtype))))
    random.Random(f"{seed} {operator} {dtype}").shuffle(places)
    found: list[CaseInputs] = []
    for place in places[: TRIED * count]:
        if len(found) == count:
            break
        made = added_cases(additions, operator, dtype, first_index, by_key, seed, only=place)
        found += [case for case in made if not case.raises and not case.requires]
    return found
