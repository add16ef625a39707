"""Trivial candidates against gates: who passes, why, and which cases close a gate."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from bringup.accuracy import Standard
from bringup.audit import (
    TRIVIAL,
    Choice,
    Choices,
    DtypeResult,
    OperatorResult,
    add_choices,
    additions_path,
    choose,
    definition_of,
    definitions,
    forget_choices,
    stale_definitions,
    survey,
)
from bringup.audit._helper_main import cover
from bringup.audit._trivial import CANDIDATES, Tally, expected_of, judge, passes
from bringup.audit.helper import ask
from bringup.cli.main import build_app
from bringup.errors import ConfigError
from bringup.operators import DTYPES
from bringup.suites import Addition, Additions, CaseInputs, get_suite, read_additions, write_additions
from bringup.verdict import CaseId

Reference = Callable[..., Any]


def case(index: int, reference: Reference, *args: Any, **more: Any) -> CaseInputs:
    identity = CaseId(operator="op", dtype="float32", index=index)
    return CaseInputs(case=identity, variant="", args=args, kwargs={}, reference=reference, **more)


def gate(reference: Reference, *inputs: torch.Tensor) -> list[CaseInputs]:
    return [case(index, reference, tensor) for index, tensor in enumerate(inputs)]


def test_the_table_describes_every_candidate() -> None:
    assert list(TRIVIAL) == list(CANDIDATES)


@pytest.mark.parametrize(
    ("reference", "survivors"),
    [
        (torch.zeros_like, {"zeros"}),
        (torch.ones_like, {"ones"}),
        (torch.neg, set()),
        (torch.clone, {"input"}),
        (torch.isnan, {"zeros", "nan"}),  # NaN as a bool counts as 0
        (torch.isfinite, {"ones", "minus-one", "input"}),
        (lambda x: torch.full_like(x, float("nan")), {"nan"}),
        (lambda x: x.sum(), {"constant-shape"}),
    ],
)
def test_who_passes_a_gate_of_ordinary_values(reference: Reference, survivors: set[str]) -> None:
    tally = judge(gate(reference, torch.tensor([1.0, 2.0]), torch.tensor([3.0, -4.0, 5.0])))
    assert set(tally.alive) == survivors


def test_one_case_proves_neither_the_values_nor_the_shape() -> None:
    tally = judge(gate(torch.exp, torch.tensor([1.0, 2.0])))
    assert set(tally.alive) == {"first-answer", "constant-shape"}
    tally.add(case(1, torch.exp, torch.tensor([2.0, 1.0])))
    assert set(tally.alive) == {"constant-shape"}
    assert tally.killed_by["first-answer"] == 1


def test_structures_numbers_and_failing_references() -> None:
    both = judge(gate(lambda x: (x, [x.argmax(), bool(x.any())]), torch.tensor([0.0, 1.0]), torch.tensor([2.0, 0.5])))
    assert both.alive == ["constant-shape"]
    broken = judge(gate(lambda x: x.no_such_method(), torch.ones(2)))
    assert broken.judged == 0
    assert broken.alive == []
    silent = judge([case(0, torch.exp, torch.ones(2), raises="RuntimeError: no"), case(1, torch.exp, torch.ones(2))])
    assert silent.skipped == 1


def test_tolerance_postprocess_and_accuracy_are_those_of_the_judge() -> None:
    near = case(0, torch.exp, torch.tensor([1e-3]), rtol=0.0, atol=0.01)
    found = expected_of(near)
    assert found is not None
    assert passes("ones", near, found, None)
    exact = case(
        0, torch.exp, torch.tensor([1e-3]), rtol=0.0, atol=0.01, standard=Standard("exp", torch.exp, "float32")
    )
    found = expected_of(exact)
    assert found is not None
    assert not passes("ones", exact, found, None)
    signless = case(0, torch.neg, torch.tensor([1.0]), postprocess=torch.abs)
    found = expected_of(signless)
    assert found is not None
    assert passes("ones", signless, found, None)


def test_cover_takes_few_and_plain_cases() -> None:
    first = Tally()
    first.add(case(0, torch.exp, torch.tensor([1.0, 2.0])))
    assert first.first is not None

    def audit(index: int, key: str, tensor: torch.Tensor, **more: Any) -> CaseInputs:
        return case(index, torch.exp, tensor, notes={"key": key}, **more)

    cases = [
        audit(0, "empty/0/0", torch.empty(0)),  # refuses by shape alone
        audit(1, "values/nan-among-ordinary-values/0", torch.tensor([float("nan"), 1.0, 1.0])),
        audit(2, "sizes/1000/0", torch.ones(1000)),
        audit(3, "values/ascending/0", torch.tensor([1.0, 2.0, 3.0])),
        audit(4, "errors/none/0", torch.ones(3), raises="TypeError: no"),
        audit(5, "keywords/out/0", torch.ones(3), requires="out"),
    ]
    chosen, left = cover(cases, first.first, ["first-answer", "constant-shape"])
    assert [(inputs.case.index, kills) for inputs, kills in chosen] == [(3, ["first-answer", "constant-shape"])]
    assert left == []
    chosen, left = cover(cases[:1], first.first, ["first-answer"])
    assert (chosen, left) == ([], ["first-answer"])


def test_marks_by_definition_name_operators_candidates_and_dtypes() -> None:
    known = {operator.name for operator in get_suite("opinfo").operators()}
    known |= {operator.name.partition(".")[0] for operator in get_suite("aten").operators()}
    for entry in definitions():
        assert set(entry.operators) <= known
        assert set(entry.trivial) <= set(TRIVIAL)
        assert set(entry.dtypes) <= {*DTYPES, "uint8", "int8", "int16"}
        assert set(entry.suites) <= {"opinfo", "aten"}
        assert len(entry.reason) > 15
    assert definition_of("floor", "int32", "input")
    assert definition_of("floor", "float32", "input") is None


def test_a_mark_holds_for_the_overloads_of_aten_and_in_its_suites() -> None:
    assert definition_of("floor.out", "int8", "input", "aten") == definition_of("floor", "int32", "input")
    assert definition_of("floor.out", "float64", "input", "aten") is None
    assert definition_of("abs.out", "uint8", "input", "aten")
    assert definition_of("abs.out", "int8", "input", "aten") is None
    # Gates of aten in int32 have cases whose tensors are float32.
    for suite, dtype, marked in (("opinfo", "int32", 1), ("aten:alone", "int32", 0), ("aten", "int8", 1)):
        assert bool(definition_of("zero_", dtype, "nan", suite)) == bool(marked)
        result = OperatorResult(operator="zero_", suite=suite, dtypes={dtype: DtypeResult(cases=3)})
        assert ("nan" in result.open()[dtype]) != bool(marked)
    assert definition_of("masked_scatter", "int32", "input") is None


def test_a_mark_that_a_case_refutes_is_reported() -> None:
    result = OperatorResult(operator="floor", dtypes={"int32": DtypeResult(cases=3, killed_by={"input": 2})})
    assert list(stale_definitions({"floor": result})) == [("floor", "int32", "input", 2)]


def test_results_tell_the_own_cases_from_the_added_ones() -> None:
    closed = DtypeResult(cases=3, added=2, killed_by=dict.fromkeys(TRIVIAL, 0) | {"zeros": 1})
    assert closed.alone == ("zeros",)
    assert closed.now == ()
    result = OperatorResult(operator="x", dtypes={"float32": closed, "int32": DtypeResult(cases=1, skipped=1)})
    assert result.alone == ("zeros",)
    assert result.open() == {}
    assert result.partly() == {}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "bringup"


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(build_app(), ["audit", "vacuity", *arguments])
    return result.exit_code, result.stdout


@pytest.mark.long
def test_opinfo_alone_does_not_test_isnan_but_tests_add(cache: Path) -> None:
    """The figures of torch 2.13; the helper is asked once, then the cache answers."""
    source = get_suite("opinfo")
    operators = [source.operator(name) for name in ("isnan", "add", "empty")]
    found = survey("opinfo", operators)
    assert set(found["isnan"].alone) >= {"zeros"}
    assert found["add"].alone == ()
    assert not found["add"].open()
    assert "uninitialised" in found["empty"].note
    [file] = cache.glob("vacuity-*.jsonl")
    assert len(file.read_text().splitlines()) == 2
    file.write_text(file.read_text() + '{"key": "torn')
    again = survey("opinfo", operators)
    assert again == found  # with the same seconds: nothing was computed again


@pytest.mark.long
def test_a_helper_that_dies_costs_one_operator(cache: Path) -> None:
    answers: list[Mapping[str, Any]] = []
    deadly = {"operator": "abs", "refuse": "what is no mapping kills the helper"}
    ask("opinfo", [{"operator": "no such operator"}, deadly, {"operator": "add"}], answers.append)
    by_name = {answer["operator"]: answer for answer in answers}
    assert "unknown operator" in by_name["no such operator"]["error"]
    assert "ended with code 1" in by_name["abs"]["error"]
    assert by_name["add"]["dtypes"]["float32"]["cases"] == get_suite("opinfo").operator("add").case_counts["float32"]


def test_chosen_cases_are_written_and_can_be_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "more.yaml"
    suite = f"opinfo:{path}"
    assert additions_path(suite) == path
    published = Addition(key="values/zeros/0", seed=3, reason="published: failed in the audit of run r")
    write_additions(path, Additions().with_cases("abs", "int32", [published]))
    choice = Choice(operator="abs", dtype="int32", key="sizes/127/0", kills=("input", "zeros"))
    assert add_choices([Choices(operator="abs", chosen=(choice,))], suite) == (path, 1)
    assert add_choices([Choices(operator="abs", chosen=(choice,))], suite) == (path, 0)
    [_, added] = read_additions(path).of("abs", "int32")
    assert added.reason == "vacuous: input, zeros passes"
    assert forget_choices(suite) == 1
    assert read_additions(path).of("abs", "int32") == (published,)
    assert read_additions(path).draws("abs", "int32") == {"values": 1, "sizes": 1}
    assert forget_choices(f"opinfo:{tmp_path / 'none.yaml'}") == 0


@pytest.mark.long
def test_the_audit_has_cases_that_close_a_gate(cache: Path) -> None:
    """`choose` on a gate as OpInfo has it: a result that says what passes its own cases."""
    own = DtypeResult(cases=1, killed_by={t: 0 for t in TRIVIAL if t not in ("zeros", "first-answer")})
    [found] = choose("opinfo", [OperatorResult(operator="isposinf", dtypes={"float32": own})])
    assert not found.left
    assert {trivial for choice in found.chosen for trivial in choice.kills} == {"zeros", "first-answer"}
    known = {case.notes["key"] for case in get_suite("audit").materialise("isposinf", "float32")}
    assert {choice.key for choice in found.chosen} <= known


def test_the_command_shows_what_the_added_cases_close(cache: Path) -> None:
    code, output = run("--op", "isposinf", "--json")
    data = json.loads(output)
    assert code == 0
    assert data["totals"]["vacuous"] == 1  # by OpInfo's cases alone
    assert data["totals"]["cases"] == 5
    assert data["totals"]["added"] >= 3
    assert data["totals"]["open"] == 0
    code, output = run("--op", "isposinf")
    assert "every gate refuses every candidate" in output
    assert "5 cases of the suite's source + " in output


def test_a_suite_without_additions_has_no_file_to_write_to() -> None:
    with pytest.raises(ConfigError, match="opinfo:alone: has no file of additions"):
        additions_path("opinfo:alone")
