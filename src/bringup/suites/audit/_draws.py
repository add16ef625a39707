"""Single families and cases of the audit under seeds of their own: for published cases, and for fresh draws after them.

Imports torch and OpInfo.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import replace

from bringup.operators import Operator
from bringup.suites._additions import drawn_seed, family_of
from bringup.suites._base import CaseInputs
from bringup.suites._opinfo_facts import Facts
from bringup.suites._opinfo_source import OpInfoSource
from bringup.suites.audit._build import family_cases
from bringup.suites.audit._families import FAMILIES
from bringup.suites.audit._subject import Subject


def cases_by_key(operator: str, dtype: str, seed: int, keys: Iterable[str]) -> dict[str, CaseInputs]:
    """Build the audit's cases with the given keys under `seed`; keys that it does not have are left out.

    Only the families of the keys are built.
    """
    wanted = set(keys)
    source = _source()
    subject = Subject(source.operator(operator), source.facts[operator], dtype, seed)
    found: dict[str, CaseInputs] = {}
    for family in FAMILIES:
        if until := {key for key in wanted if family_of(key) == family}:
            cases = family_cases(subject, family, FAMILIES[family], 0, seed, until, numbered=False)
            found |= {case.notes["key"]: case for case in cases if case.notes["key"] in wanted}
    return found


def cases_of_family(operator: str, dtype: str, seed: int, family: str, most: int | None = None) -> list[CaseInputs]:
    """Build the audit's cases of one family under `seed`, or the first of them; by default all."""
    source = _source()
    subject = Subject(source.operator(operator), source.facts[operator], dtype, seed)
    return family_cases(subject, family, FAMILIES[family] if most is None else most, 0, seed)


def drawn_cases(operator: Operator, facts: Facts, dtype: str, seed: int, draws: Mapping[str, int]) -> list[CaseInputs]:
    """Build the audit's cases of one operator in one dtype, a family with published cases from a fresh seed.

    `notes["seed"]` is the seed that a case was drawn with: under it `cases_by_key` builds the same one.
    """
    subjects: dict[int, Subject] = {}
    found: list[CaseInputs] = []
    for family, cap in FAMILIES.items():
        drawn = drawn_seed(seed, operator.name, dtype, family, draws.get(family, 0))
        subject = subjects.setdefault(drawn, Subject(operator, facts, dtype, drawn))
        for case in family_cases(subject, family, cap, len(found), drawn):
            identity = case.case.model_copy(update={"seed": seed})
            found.append(replace(case, case=identity, notes={**case.notes, "seed": drawn}))
    return found


@functools.cache
def _source() -> OpInfoSource:
    return OpInfoSource()
