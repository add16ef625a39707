"""Evidence: written with a verdict, read back, judged again, compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bringup_testkit import DOUBLE
from typer.testing import CliRunner

from bringup.candidate import Candidate
from bringup.cli.main import build_app
from bringup.errors import FormatError
from bringup.judge.evidence import Evidence, circumstances, differences, evidence_of, read_evidence, write_evidence
from bringup.verdict import CaseId, Verdict

CANDIDATE = Candidate(source=DOUBLE)


def evidence(**changes: object) -> Evidence:
    environment = {
        "target": "vpe:permissive",
        "versions": {"torch": "2.13.0"},
        "guards": ["fresh", "reads"],
        "dtypes": ["float32"],
        "seed": 3,
        "fresh_seed": 99,
        "isolation": "namespaces",
    }
    verdict = Verdict(
        kind="passed", summary="", cases_total=5, passed_by_dtype={"float32": 5}, environment=environment, seconds=1.0
    )
    return evidence_of(verdict, CANDIDATE, "double", "tiny").model_copy(update=changes)


def test_evidence_names_what_a_verdict_depends_on() -> None:
    found = evidence()
    assert found.candidate == CANDIDATE.digest
    assert (found.seed, found.fresh_seed, found.dtypes, found.cases) == (3, 99, ("float32",), None)
    assert found.guards == ("fresh", "reads")


def test_the_same_verdict_has_no_differences() -> None:
    assert differences(evidence(), evidence(seconds=9.0, versions={"torch": "2.11.0"})) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"kind": "wrong"}, "verdict passed, now wrong"),
        ({"kind": "cheated", "guard": "reads"}, "now cheated (guard reads)"),
        ({"cases_total": 6}, "5 cases, now 6"),
        ({"passed_by_dtype": {"float32": 4}}, "float32: 5 cases passed, now 4"),
        ({"passed_by_dtype": {"float32": 5, "int32": 1}}, "int32: 0 cases passed, now 1"),
    ],
)
def test_what_differs_is_said(changes: dict[str, object], said: str) -> None:
    assert any(said in line for line in differences(evidence(), evidence(**changes)))


def test_another_failing_case_is_a_difference() -> None:
    first, second = (CaseId(operator="double", dtype="float32", index=i) for i in (1, 2))
    one, other = evidence(kind="wrong", failing=first), evidence(kind="wrong", failing=second)
    assert differences(one, other) == ["failed at double[float32:1], now at double[float32:2]"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"versions": {"torch": "2.11.0"}}, "torch 2.13.0, now 2.11.0"),
        ({"target": "vpe:pe64"}, "target vpe:permissive, now vpe:pe64"),
        ({"chip": "other"}, "the figures of vpe:permissive have changed"),
        ({"guards": ("fresh",)}, "guard reads is off now"),
        ({"guards": ("fresh", "reads", "near")}, "guard near is new"),
        ({"isolation": "process"}, "isolation is another"),
        ({"device_modes": ("race",)}, "mode race of the device is on now"),
    ],
)
def test_other_circumstances_are_said(changes: dict[str, object], said: str) -> None:
    assert any(said in line for line in circumstances(evidence(), evidence(**changes)))


def test_a_changed_source_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "e.json"
    write_evidence(path, evidence(), CANDIDATE)
    assert read_evidence(path).evidence == evidence()
    data = json.loads(path.read_text())
    data["source"] += "\n"
    path.write_text(json.dumps(data))
    with pytest.raises(FormatError, match="another digest"):
        read_evidence(path)


@pytest.mark.long
def test_the_command_judges_again(tmp_path: Path) -> None:
    file, out = tmp_path / "double.py", tmp_path / "e.json"
    file.write_text(DOUBLE)
    app, runner = build_app(), CliRunner()
    common = ["--suite", "tiny", "--target", "vpe:permissive", "--no-compile"]
    first = runner.invoke(app, ["test", "double", str(file), *common, "--evidence", str(out)])
    assert first.exit_code == 0, first.output
    again = runner.invoke(app, ["verify", str(out)])
    assert again.exit_code == 0, again.output
    assert "1 of 1 verdicts are the same" in again.output
    data = json.loads(out.read_text())
    data["evidence"]["passed_by_dtype"]["float32"] = 4
    out.write_text(json.dumps(data))
    differs = runner.invoke(app, ["verify", str(out)])
    assert differs.exit_code == 1
    assert "float32: 4" in " ".join(differs.output.split())
