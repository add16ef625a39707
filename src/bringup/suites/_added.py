"""Published cases of an audit, rebuilt as a gate's own: indices, seeds, and what may be missing."""

from __future__ import annotations

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


def with_added(operator: Operator, additions: Additions) -> Operator:
    """Return an operator's record with the published cases of the dtypes that it has, counted apart."""
    published = additions.counts(operator.name)
    added = {dtype: n for dtype, n in published.items() if operator.case_counts.get(dtype)}
    counts = {dtype: n + added.get(dtype, 0) for dtype, n in operator.case_counts.items()}
    return operator.model_copy(update={"case_counts": counts, "added_counts": added})


def added_cases(
    additions: Additions, operator: str, dtype: str, first_index: int, by_key: ByKey, seed: int = 0
) -> Sequence[CaseInputs]:
    """Rebuild the published cases of an operator in one dtype.

    Their indices go on from `first_index`, also behind a case that is left out.

    With seed 0 each case has the values that it was published with; any other seed of the gate draws others for the
    same recipes. Raises EnvironmentFault for a key that the audit suite does not have; with another torch version
    than that of the file such a case is left out instead, and so is one that is there for breadth: which drafts the
    audit keeps depends on the processor too.
    """
    wanted = additions.of(operator, dtype)
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
    for place, addition in enumerate(wanted):
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
