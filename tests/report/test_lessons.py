"""What cost calls."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest
from report_runs import Op, write_run
from typer.testing import CliRunner

from bringup.candidate import FormatProblem, digest
from bringup.cli.main import build_app
from bringup.clients import Usage
from bringup.errors import BringupError
from bringup.linter import RULES
from bringup.report import lessons as rooms
from bringup.report.lessons import SECTION_OF_RULE, causes_of, lessons_of
from bringup.store import (
    AttemptStarted,
    CallFinished,
    CallStarted,
    DialogStarted,
    Event,
    Parsed,
    SessionStarted,
    StoredCall,
    create_run,
)
from bringup.verdict import Violation


def command(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(build_app(), ["lessons", *arguments])
    if isinstance(result.exception, BringupError):
        return result.exception.exit_code, str(result.exception)
    return result.exit_code, result.output


async def test_each_failed_reply_costs_the_next_call(tmp_path: Path) -> None:
    ops = [
        Op("a", attempts=[["passed"]], outcome="covered"),
        Op("b", attempts=[["format", "lint", "passed"]], outcome="covered", rule="tl-function"),
        Op("c", attempts=[["lint", "compile"], ["wrong", "passed"]], outcome="covered", rule="tl-function"),
        Op("d", attempts=[["cheated", "timed_out"]], outcome="exhausted"),
        Op("e", attempts=[[]], outcome="not_applicable"),
    ]
    found = lessons_of([await write_run(tmp_path, "one", ops)])
    assert (found.sessions, found.calls, found.failed) == (4, 10, 7)
    assert found.covered_after == {1: 1, 3: 1, 4: 1}
    by_cause = {(lesson.stage, lesson.what): lesson for lesson in found.lessons}
    lint = by_cause["lint", "tl-function"]
    assert found.lessons[0] == lint
    assert (lint.calls, lint.replies, lint.operators, lint.section) == (2, 2, ("b", "c"), "What kernels may use")
    # A call of turn n reads 1000 * n tokens and writes 400: here b's third call, and c's second.
    assert lint.tokens == 3400 + 2400
    assert [place.operator for place in lint.places] == ["b", "c"]
    assert by_cause["compile", ""].tokens == 1400  # the first call of the next attempt
    last = by_cause["timed out", ""]
    assert (last.calls, last.tokens) == (1, 0)  # nothing came after it
    assert found.by("stage")["lint"] == (2, 5800)
    assert sum(calls for calls, _ in found.by("section").values()) == found.failed


async def test_several_runs_are_one_account(tmp_path: Path) -> None:
    folders = [
        await write_run(tmp_path, name, [Op("a", attempts=[["format", "passed"]], outcome="covered")])
        for name in ("one", "two")
    ]
    found = lessons_of(folders)
    assert found.runs == ("one", "two")
    assert [(lesson.what, lesson.replies, lesson.operators) for lesson in found.lessons] == [("no_block", 2, ("a",))]
    code, output = command("one", "two", "--runs-dir", str(tmp_path), "--json")
    assert code == 0
    assert json.loads(output)["sections"] == {"Format of the answer": [2.0, 4800]}
    code, output = command("one", "--runs-dir", str(tmp_path), "--places")
    assert code == 0
    assert "one a, attempt 1, call 1: no Python block more" in output
    assert command("one", "one", "--runs-dir", str(tmp_path))[0] == 2
    assert command("three", "--runs-dir", str(tmp_path))[0] == 2


def call(**outcome: object) -> StoredCall:
    return StoredCall(
        key="k", attempt=1, dialog=1, turn=1, template="first", template_digest="", prompt="", **outcome  # type: ignore[arg-type]
    )  # fmt: skip


def test_several_rules_share_a_reply_and_one_rule_counts_once() -> None:
    violations = tuple(Violation(rule=rule, message=rule, line=1) for rule in ("no-try", "tl-function", "no-try"))
    assert [cause.what for cause in causes_of(call(violations=violations))] == ["no-try", "tl-function"]


@pytest.mark.parametrize(
    ("result", "guard", "title", "expected"),
    [
        ("wrong", "", "", ("wrong", "", "The operator")),
        ("wrong", "", "layout: input 0 transposed", ("wrong", "layout", "What the tests ask: layout")),
        ("raised", "", "out: of another dtype", ("raised", "out", "What the tests ask: out")),
        ("timed_out", "", "sizes: 4097", ("timed out", "sizes", "What the tests ask: sizes")),
        ("cheated", "provenance", "layout: x", ("cheated", "provenance", "When it is right")),
        ("wrong", "repeat", "", ("wrong", "repeat", "When it is right")),
        ("crashed", "", "layout: x", ("crashed", "", "About this device's Triton")),
    ],
)
def test_the_section_is_the_one_that_speaks_of_it(
    result: str, guard: str, title: str, expected: tuple[str, str, str]
) -> None:
    from bringup.store import Judged

    judged = Judged.model_validate(
        {"attempt": 1, "turn": 1, "candidate": "", "result": result, "summary": "s", "guard": guard, "verdict": ""}
    )
    (cause,) = causes_of(call(judged=judged), title)
    assert (cause.stage, cause.what, cause.section) == expected


def test_sections_are_headings_of_the_task_and_every_rule_has_one() -> None:
    folder = files("bringup.prompts").joinpath("templates")
    task = "".join(folder.joinpath(name).read_text() for name in ("_task.jinja", "_format.jinja", "first.jinja"))
    for section in (
        rooms.FORMAT,
        rooms.WRITE,
        rooms.WRAPPER,
        rooms.KERNELS,
        rooms.DEVICE,
        rooms.RIGHT,
        rooms.TESTS,
        rooms.OPERATOR,
    ):
        assert section in task, section
    for rules in RULES.values():
        assert {rule.id for rule in rules} <= set(SECTION_OF_RULE)


async def test_repairs_with_edits_are_counted(tmp_path: Path) -> None:
    edits = "```patch\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n```"
    log = create_run(tmp_path, "one")
    events: list[Event] = [
        SessionStarted(),
        AttemptStarted(attempt=1),
        DialogStarted(attempt=1, dialog=1, reason="attempt"),
    ]
    texts = [edits, "module", "p"]
    outcomes = (
        ("first", "module", True),
        ("wrong", edits, True),
        ("wrong", edits, False),
        ("format_error", "module", True),
    )
    for turn, (template, reply, fits) in enumerate(outcomes, 1):
        at = {"attempt": 1, "turn": turn}
        problem = FormatProblem(kind="edit_not_found", explanation="x")
        events += [
            CallStarted(key=f"k{turn}", dialog=1, template=template, template_digest="", prompt=digest("p"), **at),
            CallFinished(key=f"k{turn}", reply=digest(reply), usage=Usage(output_tokens=10 * turn), **at),
            Parsed(candidate=digest("module"), patch=reply is edits, **at) if fits else Parsed(problem=problem, **at),
        ]
    try:
        from bringup.store import OperatorInfo, RunStarted

        infos = (OperatorInfo(name="a", category="x"),)
        await log.append(None, [RunStarted(run="one", version="0", config={}, operators=infos)])
        await log.append("a", events, texts)
    finally:
        log.close()
    found = lessons_of([tmp_path / "one"]).edits
    assert (found.repairs, found.patches, found.unfit, found.output_tokens, found.module_tokens) == (3, 2, 1, 20, 40)
