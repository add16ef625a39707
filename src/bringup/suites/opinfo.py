"""The `opinfo` suite: PyTorch's own operator database with its sample inputs, and published cases of the audit."""

from __future__ import annotations

import functools
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bringup.errors import EnvironmentFault
from bringup.operators import Operator
from bringup.suites._additions import BREADTH_REASON, Additions, additions_for
from bringup.suites._base import CaseInputs
from bringup.suites._cache import Progress, torch_version
from bringup.suites._digest import source_digest
from bringup.suites._opinfo_facts import Facts
from bringup.suites._opinfo_source import OpInfoSource, operator_of
from bringup.verdict import CaseId

TRIED = 4  # published cases that are built for each one that is drawn: many of them are there to be refused


class OpInfoSuite(OpInfoSource):
    """The operators of `op_db`; their gate is OpInfo's cases followed by published ones of the audit.

    Published are the cases of the shipped additions and, for `opinfo:PATH`, of the additions file PATH;
    `opinfo:alone` has none.
    """

    def __init__(self, progress: Progress | None = None, options: str = "") -> None:
        """`options`: the path of an additions file, or `alone`; `progress` as for OpInfoSource."""
        super().__init__(progress)
        self._path = options or None
        self.audit = f"audit:{options}" if options else "audit"
        if options:
            self.name = f"{OpInfoSource.name}:{options}"

    @functools.cached_property
    def additions(self) -> Additions:
        """The published cases that belong to the gate; raises ConfigError when the file cannot be read."""
        return additions_for(self._path)

    def _operator(self, facts: Facts) -> Operator:
        operator = operator_of(facts, self.name)
        published = self.additions.counts(operator.name)
        added = {dtype: n for dtype, n in published.items() if operator.case_counts.get(dtype)}
        counts = {dtype: n + added.get(dtype, 0) for dtype, n in operator.case_counts.items()}
        return operator.model_copy(update={"case_counts": counts, "added_counts": added})

    def digest(self) -> str:
        """Return the digest of the survey, the published cases and the code that builds both."""
        return source_digest("opinfo", self.survey.model_dump_json(), self.additions.model_dump_json())

    def materialise(self, operator: str, dtype: str, seed: int = 0) -> Sequence[CaseInputs]:
        """Rebuild all cases of an operator in one dtype: same arguments, same bits, in every process.

        OpInfo's cases come first, then the published ones. Imports torch and OpInfo. The arguments of two cases may
        share tensors; copy before calling what may write.
        Raises UnknownOperator; an unknown dtype, or one without cases, gives an empty list.
        """
        if not self.operator(operator).case_counts.get(dtype):
            return []
        own = self.own_cases(operator, dtype, seed)
        return [*own, *added_cases(self.additions, operator, dtype, len(own), seed)]

    def drawn_cases(self, operator: str, dtype: str, seed: int, count: int) -> Sequence[CaseInputs]:
        """Rebuild up to `count` of the published cases, without building the others; the seed draws which."""
        own = len(self.own_cases(operator, dtype, seed))
        places = list(range(len(self.additions.of(operator, dtype))))
        random.Random(f"{seed} {operator} {dtype}").shuffle(places)
        found: list[CaseInputs] = []
        for place in places[: TRIED * count]:
            if len(found) == count:
                break
            made = added_cases(self.additions, operator, dtype, own, seed, only=place)
            found += [case for case in made if not case.raises and not case.requires]
        return found


def added_cases(
    additions: Additions, operator: str, dtype: str, first_index: int, seed: int = 0, only: int | None = None
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
    from bringup.suites.audit._draws import cases_by_key

    drawn = {addition: addition.gate_seed(operator, dtype, seed) for addition in wanted}
    found: dict[tuple[int, str], CaseInputs] = {}
    for chosen in (drawn, {addition: addition.seed for addition in wanted}):
        by_seed: dict[int, dict[str, int]] = {}
        for addition in wanted:
            # A recipe may lead to other shapes, and so to another key, under another seed: then the first one stands.
            if (drawn[addition], addition.key) not in found:
                by_seed.setdefault(chosen[addition], {})[addition.key] = drawn[addition]
        for one, keys in by_seed.items():
            found |= {(keys[key], key): case for key, case in cases_by_key(operator, dtype, one, keys).items()}
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
