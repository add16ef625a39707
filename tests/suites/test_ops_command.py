"""`bringup ops`, as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import command_line
import pytest


def bringup(*arguments: str, code: int = 0) -> command_line.Done:
    found = command_line.bringup("ops", *arguments)
    assert found.returncode == code, found.stderr
    return found


def test_list_shows_the_counts() -> None:
    output = bringup("list").stdout
    assert "nn.functional.conv2d" in output
    assert "fft.fft " not in output
    assert "568 operators, 31,099 cases" in output or "2.13" not in output
    assert "after: random operators" in output
    counted = [line for line in output.splitlines() if "(of the audit's families)" in line]
    told = (Path(__file__).parents[2] / "docs" / "operators.md").read_text(encoding="utf-8")
    assert counted[0].partition(" (of the audit")[0] in told or "2.13" not in output


def test_list_filters_and_json() -> None:
    listed = json.loads(bringup("list", "--category", "linear", "--dtype", "int32", "-g", "linalg.*", "--json").stdout)
    assert listed["suite"] == "opinfo"
    assert listed["funnel"][0]["operators"] >= 600
    assert {operator["category"] for operator in listed["operators"]} == {"Linear Algebra"}
    for operator in listed["operators"]:
        assert operator["name"].startswith("linalg.")
        assert operator["case_counts"]["int32"]
        assert operator["exclusion"] is None
    excluded = json.loads(bringup("list", "--excluded", "--json").stdout)["operators"]
    assert all(operator["exclusion"] for operator in excluded)
    every = json.loads(bringup("list", "--all", "--json").stdout)["operators"]
    assert len(every) > len(excluded) > 50


def test_list_for_a_target_says_what_is_not_applicable() -> None:
    listed = json.loads(bringup("list", "--target", "vpe:pe64", "--json").stdout)["operators"]
    reasons = {operator["name"]: operator["not_applicable"] for operator in listed}
    assert reasons["jiterator_unary"]
    assert reasons["exp"] is None
    assert "can be judged" in bringup("list", "--target", "vpe:pe64").stdout


def test_show() -> None:
    output = bringup("show", "nn.functional.embedding").stdout
    for part in ("aten.embedding.default", "of the suite's source", "2 positional, max_norm=", "mutates"):
        assert part in output
    assert "random: dispatches to" in bringup("show", "nn.functional.dropout").stdout
    assert "needs complex" in bringup("show", "linalg.eig").stdout


def test_show_docs() -> None:
    text = bringup("show", "sigmoid", "--docs").stdout
    assert text.startswith("# sigmoid")
    assert "logistic sigmoid" in text
    record = json.loads(bringup("show", "sigmoid", "--docs", "--json").stdout)
    assert record["docs"]["nodes"][1]["name"] == "torch.special.expit"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("show", "sofmax"), "did you mean softmax"),
        (("list", "--category", "quantum"), "unknown category"),
        (("list", "--dtype", "float8"), "unknown dtype"),
        (("list", "--glob", "zzz*"), "unknown operator"),
        (("list", "--suite", "opinf"), "unknown suite"),
        (("list", "--eligible", "--excluded"), "exclude each other"),
        (("list", "--target", "nonesuch"), "unknown target"),
    ],
)
def test_bad_input(arguments: tuple[str, ...], message: str) -> None:
    found = bringup(*arguments, code=2)
    assert message in found.stderr
    assert "Traceback" not in found.stderr
    assert found.stdout == ""


def test_a_survey_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    import bringup.suites
    from bringup.cli.main import build_app
    from bringup.errors import EnvironmentFault

    monkeypatch.setattr(bringup.suites, "resurvey", lambda bar: (b"data", "cache", [("all names", 2, 5), ("x", 1, 3)]))
    runner = CliRunner()
    good = runner.invoke(build_app(), ["ops", "survey", "--out", str(tmp_path / "s.json.gz")])
    assert "2 -> 1 operators, 3 cases" in good.output
    assert (tmp_path / "s.json.gz").read_bytes() == b"data"
    bad = runner.invoke(build_app(), ["ops", "survey", "--out", str(tmp_path / "no" / "s")])
    assert isinstance(bad.exception, EnvironmentFault)
