"""The order of missing kernels, and which results still hold after a library has changed; no device."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from library_kernels import ADD, MUL
from library_testkit import make_library
from typer.testing import CliRunner

from bringup.cli.main import build_app
from bringup.config import RunConfig
from bringup.coverage import Header, OperatorResult, Results, Tally, plan
from bringup.coverage.planning import Goal, goals_of, order
from bringup.coverage.records import Form, Kind
from bringup.coverage.refreshing import kept
from bringup.errors import BringupError, ConfigError
from bringup.library import Library
from bringup.runs import make_plan

HEADER = Header(target="vpe:pe64", gradients=True, suite="s", torch="2.13.0", eligible=568)


def result(
    name: str, needs: dict[str, tuple[str, ...]], gradient_only: tuple[str, ...] = (), **failed: dict[Kind, int]
) -> OperatorResult:
    """A name of which each form has five cases; `failed` says how many fail, and how."""
    forms: dict[Form, Tally] = {}
    for form, kinds in {"call": {}, **failed}.items():
        forms[form] = Tally(passed=5 - sum(kinds.values()), total=5, failed=kinds)  # type: ignore[index]
    every: dict[Kind, int] = {}
    for kinds in failed.values():
        for kind, count in kinds.items():
            every[kind] = every.get(kind, 0) + count
    status = "covered" if not every else "missing" if set(every) == {"missing"} else "failed"
    return OperatorResult(
        operator=name, status=status, forms=forms, needs=needs, gradient_only=gradient_only, failed=every
    )  # fmt: skip


def own(*names: str) -> dict[str, tuple[str, ...]]:
    return {name: (name,) for name in names}


def goal(name: str, *needs: str, kind: Any = "name", weight: float = 1.0) -> Goal:
    return Goal(kind, name, {one: frozenset({one}) for one in needs}, weight)


def anything(kernel: str) -> None:
    return None


def test_names_and_gradients_are_goals_of_their_own() -> None:
    found = goals_of([
        result("both", own("a", "b"), ("b",), call={"missing": 1}, gradient={"missing": 2}),
        result("backward", own("c"), ("c",), gradient={"missing": 2}),
        result("done", {}),
    ])  # fmt: skip
    assert [(g.kind, g.name, sorted(g.needs)) for g in found] == [
        ("name", "both", ["a"]),
        ("gradient", "both", ["a", "b"]),
        ("gradient", "backward", ["c"]),
    ]


def test_a_kernel_does_not_mend_a_wrong_result() -> None:
    found = goals_of([
        result("wrong", own("a"), call={"missing": 1, "wrong": 1}, gradient={"missing": 1}),
        result("wrong backwards", own("a"), call={"missing": 1}, gradient={"missing": 1, "wrong": 1}),
    ])  # fmt: skip
    assert [(g.kind, g.name) for g in found] == [("name", "wrong backwards")]


def test_what_came_since_is_no_longer_missing() -> None:
    found = [
        result("one", {"a": ("x", "y"), "b": ("b",)}, call={"missing": 1}),
        result("two", own("c"), call={"missing": 1}),
    ]
    assert [sorted(g.needs) for g in goals_of(found, ["b", "c"])] == [["a"]]
    assert goals_of(found, ["x", "y", "b", "c"]) == []  # a decomposition with all its parts will do


def test_the_kernel_that_unlocks_most_comes_first() -> None:
    found = order([goal("1", "a"), goal("2", "b"), goal("3", "b"), goal("4", "a", "c"), goal("5", "b", "d")], anything)
    # b: 2 and 3; then a: 1; then c and d, one each.
    assert found.kernels == ["b", "a", "c", "d"]
    assert [dict(step.unlocks) for step in found.steps] == [
        {"name": ("2", "3")}, {"name": ("1",)}, {"name": ("4",)}, {"name": ("5",)},
    ]  # fmt: skip
    assert [step.needed_by for step in found.steps] == [3, 2, 1, 1]


def test_where_nothing_is_unlocked_at_once_the_largest_share_counts() -> None:
    found = order([goal("1", "a", "b"), goal("2", "a", "c"), goal("3", "d", "e", "f")], anything)
    assert found.kernels[0] == "a"
    assert found.kernels[1:3] == ["b", "c"]


def test_a_program_is_worth_what_its_user_says() -> None:
    names = [goal("1", "a"), goal("2", "a")]
    assert order([*names, goal("m", "b", kind="model", weight=1.0)], anything).kernels == ["a", "b"]
    found = order([*names, goal("m", "b", kind="model", weight=10.0)], anything)
    assert found.kernels == ["b", "a"]
    assert found.steps[0].unlocks == {"model": ("m",)}


def test_parts_of_a_decomposition_will_do_in_the_place_of_a_kernel() -> None:
    one = Goal("name", "1", {"big": frozenset({"x"})})
    found = order([one, goal("2", "x"), goal("3", "x")], anything)
    assert found.kernels == ["x"]
    assert found.steps[0].unlocks == {"name": ("1", "2", "3")}


def test_what_cannot_be_made_is_apart_with_what_it_blocks() -> None:
    reasons = {"no": "the results are complex"}
    by_parts = Goal("name", "parts", {"no": frozenset({"x"})})
    with_bad_part = Goal("name", "direct", {"big": frozenset({"no", "x"})})
    found = order([goal("blocked", "no", "a"), goal("free", "a"), by_parts, with_bad_part], reasons.get)
    assert found.apart == reasons
    assert [(g.name, why) for g, why in found.blocked] == [("blocked", ("no",))]
    assert set(found.kernels) == {"a", "x", "big"}
    assert found.goals == {"name": 3}


# -------------------------------------------------------------------------------------------------- refreshing


def header(**kernels: str) -> Header:
    return HEADER.model_copy(update={"library_digest": str(kernels), "kernels": kernels})


def test_only_what_a_changed_kernel_concerns_is_measured_again() -> None:
    results = {
        r.operator: r
        for r in (
            OperatorResult(operator="calls it", status="covered", kernels={"atan.out": 3}),
            OperatorResult(operator="lacks it", status="missing", needs={"sin.out": ("sin.out",)}),
            OperatorResult(operator="lacks a part", status="missing", needs={"big": ("sin.out",)}),
            OperatorResult(operator="calls another form", status="missing", needs={"sin_": ("sin_",)}),
            OperatorResult(operator="was composed", status="covered", composed={"tan.out": 1}),
            OperatorResult(operator="failed", status="failed"),
            OperatorResult(operator="other", status="covered", kernels={"cos.out": 3}),
            OperatorResult(operator="lacks another", status="missing", needs={"exp.out": ("exp.out",)}),
            OperatorResult(operator="is composed now", status="missing", needs={"mode.values": ("mode.values",)}),
            OperatorResult(operator="was composed in part", status="missing", needs={"mode.values": ("exp.out",)}),
        )
    }
    old = header(**{"atan.out": "1", "cos.out": "1"})
    new = header(**{"atan.out": "2", "cos.out": "1", "sin.out": "1", "tan.out": "1"})
    assert set(kept(results, old, new, "r")) == {
        "other", "lacks another", "calls another form", "was composed in part",
    }  # fmt: skip
    assert set(kept(results, old, old, "r")) == set(results) - {"failed", "is composed now"}


def test_a_kernel_of_what_pytorch_composes_may_concern_any_name() -> None:
    results = {"a": OperatorResult(operator="a", status="covered", kernels={"mm.out": 1})}
    assert kept(results, header(), header(**{"linear": "1"}), "r") == {}


def test_another_torch_is_no_refreshing() -> None:
    with pytest.raises(ConfigError, match=r"torch is '2.13.0' there, '2.12.0' now"):
        kept({}, HEADER, HEADER.model_copy(update={"torch": "2.12.0"}), "r")
    with pytest.raises(ConfigError, match="which kernels it was measured with"):
        kept({}, HEADER, header(), "r")


# -------------------------------------------------------------------------------------------------- the commands

LACKING = (
    result("sin", own("sin.out"), call={"missing": 5}),
    result("cos", own("cos.out", "sin.out"), call={"missing": 5}),
    result("masked_select", own("masked_select.out"), call={"missing": 5}),
    result("eig", own("linalg_eig"), call={"missing": 5}),
    result("odd", own("no_such_thing.out"), call={"missing": 5}),
    result("add", own("add.out"), call={"missing": 5}),
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a measurement of vpe:pe64, and a library that has come to have `add.out` since."""
    monkeypatch.chdir(tmp_path)
    results = Results.start(tmp_path / "coverage-vpe-pe64.jsonl", HEADER)
    for one in LACKING:
        results.add(one)
    make_library(tmp_path / "kernels", {"add.out": ADD}, "vpe:pe64")
    return tmp_path


def command(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(build_app(), ["plan", *arguments])
    if isinstance(result.exception, BringupError):
        return result.exception.exit_code, str(result.exception)
    return result.exit_code, result.output


def test_the_plan_of_a_target(here: Path) -> None:
    code, output = command("--json")
    assert code == 1
    told = json.loads(output)
    assert [k["overload"] for k in told["kernels"]] == ["sin.out", "cos.out", "masked_select"]
    assert told["kernels"][0] == {"overload": "sin.out", "unlocks": {"name": ["sin"]}, "needed_by": 2}
    assert told["served_since"] == 1
    assert told["cannot"] == {
        "linalg_eig": "the results are complex",
        "no_such_thing.out": "no sample of the suite aten calls it",
    }
    assert {b["name"] for b in told["blocked"]} == {"eig", "odd"}
    assert command("--names", "-n", "2")[1].split() == ["sin.out", "cos.out"]
    code, output = command()
    assert "linalg_eig: the results are complex; needed by eig (name)" in output
    assert "--ops @plan:3" in output


def test_captured_programs_are_goals(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Composed everywhere, served by the library, lacking elsewhere, and never met by the measurement."""
    from bringup.suites import _base

    results = Results.read(here / "coverage-vpe-pe64.jsonl")
    results.add(OperatorResult(operator="composed", status="covered", composed={"silu.out": 2, "sin.out": 1}))
    programs = {
        "captured:one.json": ("silu.out", "add.out", "sin.out", "tanh.out"),
        "captured:two.json": ("silu.out", "add.out"),
    }

    class Captured:
        def __init__(self, names: tuple[str, ...]) -> None:
            self.names = names

        def operators(self) -> Any:
            listed = [SimpleNamespace(name=name, exclusion=None) for name in self.names]
            return [*listed, SimpleNamespace(name="normal_", exclusion="random")]

    real = _base.get_suite
    monkeypatch.setattr(
        "bringup.suites.get_suite",
        lambda spec, progress=None: Captured(programs[spec]) if spec in programs else real(spec, progress),
    )
    found = plan("vpe:pe64", captures=[Path("one.json"), Path("two.json")])
    assert found.served == ("two.json",)
    unlocked = {step.overload: step.unlocks.get("model") for step in found.order.steps}
    assert found.order.kernels[:2] == ["tanh.out", "sin.out"] or found.order.kernels[:2] == ["sin.out", "tanh.out"]
    assert {unlocked["sin.out"], unlocked["tanh.out"]} == {None, ("one.json",)}


def test_a_kernel_that_was_there_and_did_not_serve_is_still_missing(here: Path) -> None:
    from bringup.coverage import chosen_library

    digest = chosen_library(here / "kernels")[1]
    results = Results.start(here / "same.jsonl", HEADER.model_copy(update={"library_digest": digest}))
    results.add(result("add", own("add.out"), call={"missing": 5}))
    assert command("--results", "same.jsonl", "--names")[1].split() == ["add.out"]


def test_another_kernel_that_came_since_changes_nothing_for_one_that_did_not_serve(here: Path) -> None:
    from bringup.coverage._library import kernel_digests

    before = kernel_digests(here / "kernels")
    results = Results.start(here / "was.jsonl", header(**before))
    results.add(result("add", own("add.out"), call={"missing": 5}))
    results.add(result("mul", own("mul.out"), call={"missing": 5}))
    make_library(here / "kernels", {"mul.out": MUL}, "vpe:pe64")
    assert command("--results", "was.jsonl", "--names")[1].split() == ["add.out"]


def test_more_dtypes_of_a_judgement_are_a_change(here: Path) -> None:
    from dataclasses import replace

    from bringup.coverage._library import kernel_digests

    library = Library.open(here / "kernels")
    before = kernel_digests(library.path)
    [entry] = library.entries
    [judged] = entry.judged
    library.restate(entry, (replace(judged, argument_dtypes=(("0", ("float32", "int8")),)),))
    assert kernel_digests(library.path) != before
    library.restate(library.entries[0], (judged,))
    assert kernel_digests(library.path) == before


def test_nothing_missing_is_exit_code_0(here: Path) -> None:
    make_library(here / "other", {"add.out": ADD, "mul.out": MUL}, "vpe:pe64")
    results = Results.start(here / "few.jsonl", HEADER)
    results.add(result("add", own("add.out", "mul.out"), call={"missing": 5}))
    code, output = command("--results", "few.jsonl", "--library", "other")
    assert code == 0
    assert "no kernel is missing" in output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--target", "vpe:permissive"], "there is no measurement coverage-vpe-permissive.jsonl"),
        (["--results", "nosuch"], "nosuch: no such measurement"),
        (["--results", "bad.txt"], "not a measurement"),
        (["--results", "coverage-vpe-pe64.jsonl", "--target", "vpe:permissive"], "a measurement of vpe:pe64"),
        (["--capture", "nosuch.json"], "nosuch.json"),
    ],
)
def test_bad_input_gives_one_line(here: Path, arguments: list[str], words: str) -> None:
    (here / "bad.txt").write_text("hello\n")
    code, output = command(*arguments)
    assert code in (2, 3)
    assert words in output
    assert "\n" not in output.strip()


def planned(*ops: str, suite: str = "aten", skip: tuple[str, ...] = ()) -> list[str]:
    config = RunConfig(suite=suite, ops=ops, skip=skip)
    return [operator.name for operator in make_plan(config, Path("runs")).operators]


def test_a_run_takes_the_plan_in_its_order(here: Path) -> None:
    assert planned("@plan") == ["sin.out", "cos.out", "masked_select"]
    assert planned("@plan:2") == ["sin.out", "cos.out"]
    assert planned("@plan:coverage-vpe-pe64.jsonl:1,tan.out") == ["sin.out", "tan.out"]
    assert planned("@plan", skip=("sin.out",)) == ["cos.out", "masked_select"]


@pytest.mark.parametrize(
    ("ops", "suite", "words"),
    [
        ("@plan:0", "aten", "0 kernels are none"),
        ("@plan:nosuch.jsonl", "aten", "no such measurement"),
        ("@plan", "opinfo", "kernels of the suite aten, not opinfo"),
    ],
)
def test_a_plan_that_cannot_be_taken(here: Path, ops: str, suite: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        planned(ops, suite=suite)
