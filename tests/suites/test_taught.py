"""Whatever the audit asks, a gate publishes cases of and the prompt says: no family is without both."""

from __future__ import annotations

import pytest

from bringup.audit.breadth import ARGUMENTS, KINDS, SEED
from bringup.operators import Operator
from bringup.prompts import asked
from bringup.suites import CaseInputs, get_suite
from bringup.suites._additions import family_of, shipped_additions
from bringup.suites.audit import FAMILIES
from bringup.suites.audit._tree import elements

FEW = 20  # elements up to which two draws may be equal: empty tensors, single numbers
OPERATORS = ("add", "index_select", "full", "cholesky_solve")


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_has_a_sentence_a_rule_and_published_cases(family: str) -> None:
    assert len(asked()[family]) > 40
    assert any(kind.family == family for kind in (*KINDS, *ARGUMENTS))
    published = [
        addition
        for dtypes in shipped_additions().additions.values()
        for additions in dtypes.values()
        for addition in additions
        if addition.family == family
    ]
    assert published
    assert all(addition.seed == SEED for addition in published if addition.reason == "breadth")


@pytest.mark.parametrize("name", OPERATORS)
def test_what_the_audit_asks_of_an_operator_its_gate_has_cases_of(name: str) -> None:
    audit = get_suite("audit")
    operator: Operator = audit.operator(name)
    has = {case.notes["family"] for dtype in operator.dtypes[:1] for case in audit.materialise(name, dtype)}
    additions = shipped_additions().additions[name]
    published = {family_of(addition.key) for found in additions.values() for addition in found}
    assert not has - published


def test_published_cases_are_in_the_gate_and_not_in_the_audit() -> None:
    gate, audit = get_suite("opinfo"), get_suite("audit")
    added = [case for case in gate.materialise("index_select", "float32") if case.notes.get("added")]
    assert len(added) == gate.operator("index_select").added_counts["float32"]
    titles = {case.title for case in added}
    assert "out: out= of another dtype that it can be cast to" in titles
    assert any(title.startswith("sizes: odd rows") for title in titles)
    seen = {values(case) for case in added if elements(case.args) > FEW}
    drawn = {values(case) for case in audit.materialise("index_select", "float32") if elements(case.args) > FEW}
    assert seen
    assert drawn
    assert not seen & drawn


def values(case: CaseInputs) -> tuple[float, ...]:
    return tuple(case.args[0].reshape(-1).tolist())
