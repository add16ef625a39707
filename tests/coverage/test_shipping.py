"""A measurement beside the kernels: what it leaves out, who finds it, and how it is known to be of other kernels."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from library_kernels import ADD, MUL
from library_testkit import make_library
from typer.testing import CliRunner

from bringup.cli.main import build_app
from bringup.coverage import Failure, Header, OperatorResult, Results, Tally, chosen_library, kernel_digests
from bringup.coverage.shipping import changes
from bringup.errors import BringupError

TARGET = "vpe:pe64"
NAME = "coverage-vpe-pe64.jsonl"


def failure(index: int) -> Failure:
    return Failure(dtype="float32", index=index, form="call", kind="wrong", message="m")


RESULTS = (
    OperatorResult(operator="mul", status="missing", needs={"mul.out": ("mul.out",)}, seconds=3.5,
                   forms={"call": Tally(passed=0, total=5, failed={"missing": 5})}, failed={"missing": 5}),
    OperatorResult(operator="add", status="failed", forms={"call": Tally(passed=1, total=7, failed={"wrong": 6})},
                   failed={"wrong": 6}, failures=tuple(map(failure, range(6))), kernels={"add.out": 7}, seconds=2.0),
)  # fmt: skip


def command(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(build_app(), list(arguments))
    if isinstance(result.exception, BringupError):
        return result.exception.exit_code, str(result.exception)
    return result.exit_code, result.output


def measurement(path: Path, library: Path, **differing: object) -> Path:
    header = Header(
        target=TARGET, library=str(library), library_digest=chosen_library(library)[1], gradients=True, suite="s",
        torch="2.13.0", eligible=2, kernels=kernel_digests(library),
    ).model_copy(update=differing)  # fmt: skip
    results = Results.start(path, header, anew=True)
    for one in RESULTS:
        results.add(one)
    return path


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a library of `add.out`, and elsewhere a measurement of it."""
    monkeypatch.chdir(tmp_path)
    make_library(tmp_path / "kernels", {"add.out": ADD}, TARGET)
    (tmp_path / "elsewhere").mkdir()
    measurement(tmp_path / "elsewhere" / "m.jsonl", tmp_path / "kernels")
    return tmp_path


def test_what_ships_is_compact_and_says_the_same(here: Path) -> None:
    assert command("coverage", "ship", "elsewhere/m.jsonl")[0] == 0
    text = (here / "kernels" / NAME).read_text()
    assert str(here) not in text
    assert "seconds" not in text
    before, after = Results.read(here / "elsewhere" / "m.jsonl"), Results.read(here / "kernels" / NAME)
    assert after.header.key() == before.header.key()
    assert after.header.library == "kernels"
    assert list(after.operators) == ["add", "mul"]
    for name, one in before.operators.items():
        expected = one.model_copy(update={"seconds": 0.0, "failures": one.failures[:3]})
        assert after.operators[name] == expected
    again = here / "elsewhere" / "again.jsonl"
    again.write_text("\n".join([text.splitlines()[0], *reversed(text.splitlines()[1:])]) + "\n")
    assert command("coverage", "ship", str(again))[0] == 0
    assert (here / "kernels" / NAME).read_text() == text  # in one order, whoever measured first


def test_it_is_found_by_plan_show_and_run(here: Path) -> None:
    from bringup.runs.planned import planned

    code, output = command("plan")
    assert code == 2
    assert "there is no measurement coverage-vpe-pe64.jsonl" in output
    assert command("coverage", "ship", "elsewhere/m.jsonl")[0] == 0
    code, output = command("plan", "--json")
    told = json.loads(output)
    assert [k["overload"] for k in told["kernels"]] == ["mul.out"]
    assert (told["stale"], Path(told["results"])) == ("", here / "kernels" / NAME)
    assert planned("@plan", "aten", TARGET) == ["mul.out"]
    assert json.loads(command("coverage", "show", "--json")[1])["measured"] == 2
    measurement(here / NAME, here / "kernels", eligible=3)
    assert json.loads(command("coverage", "show", "--json")[1])["header"]["eligible"] == 3  # the one here comes first


def test_other_kernels_are_said_in_one_line(here: Path) -> None:
    assert command("coverage", "ship", "elsewhere/m.jsonl")[0] == 0
    make_library(here / "more", {"add.out": ADD + "\n# another text\n", "mul.out": MUL}, TARGET)
    (here / "more" / NAME).write_bytes((here / "kernels" / NAME).read_bytes())
    said = "kernels since: 1 new, 1 changed; measure what they concern: bringup coverage --target vpe:pe64 --refresh"
    assert json.loads(command("plan", "-l", "more", "--json")[1])["stale"] == said
    code, output = command("plan", "-l", "more")
    assert code == 0  # what was missing has come
    assert output.count(said) == 1
    assert command("coverage", "show", "-l", "more")[1].count(said) == 1
    assert "since" not in command("coverage", "show")[1]
    assert str(changes({"gone.out": "1"}, None)) == "kernels since: 1 removed"
    assert changes(None, here / "more") is None


@pytest.mark.parametrize(
    ("differing", "words"),
    [
        ({"eligible": 3}, "has 2 of 3 names"),
        ({"enable": "flag_gems:use_gems", "kernels": {}}, "not a measurement of a library of kernels"),
        ({"library_digest": ""}, "not a measurement of a library of kernels"),
        ({"kernels": {"add.out": "another", "old.out": "1"}}, "(kernels since: 1 changed, 1 removed)"),
        ({"kernels": None}, "not of the kernels in"),
    ],
)
def test_what_is_not_a_whole_measurement_of_these_kernels_is_refused(
    here: Path, differing: dict[str, object], words: str
) -> None:
    measurement(here / "elsewhere" / "m.jsonl", here / "kernels", **differing)
    code, output = command("coverage", "ship", "elsewhere/m.jsonl")
    assert code == 2
    assert words in output
    assert "\n" not in output.strip()
    assert not (here / "kernels" / NAME).exists()


def test_bad_files_give_one_line(here: Path) -> None:
    (here / "bad.txt").write_text("hello\n")
    for name, words in (("bad.txt", "not a measurement"), ("nosuch", "nosuch: cannot be read")):
        code, output = command("coverage", "ship", name)
        assert code == 2
        assert words in output
    assert "there is no measurement" in command("coverage", "show")[1]
