"""`bringup export-trajectories`: whole dialogs with rewards that follow the verdicts, written once, without secrets."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from lesson_runs import AFTER, BEFORE, SYSTEM, Node, Reply, write_coverage, write_search
from typer.testing import CliRunner

import bringup.store
from bringup.candidate import digest
from bringup.cli.main import build_app
from bringup.errors import FormatError
from bringup.lessons import REWARDS, SCHEMA, Exported, Trajectory, export, line_of, trajectories
from bringup.store import open_run

needs_search = pytest.mark.skipif(not hasattr(bringup.store, "NodeMeasured"), reason="this bringup has no search")
REPAIR = [Reply("format"), Reply("lint"), Reply("wrong"), Reply("passed", AFTER)]


def read(folder, **options):
    done = Exported()
    with open_run(folder) as run:
        return list(trajectories(run, done=done, **options)), done


async def test_a_dialog_with_its_rewards(tmp_path):
    (found,), done = read(await write_coverage(tmp_path, "r1", {"exp": [REPAIR]}, {"exp": "covered"}))
    assert [m.role for m in found.messages] == ["system", *["user", "assistant"] * 4]
    assert found.messages[0].content == SYSTEM
    assert found.messages[1].content == "prompt exp.a1.t1"
    assert [s.result for s in found.steps] == ["format", "lint", "wrong", "passed"]
    assert [s.reward for s in found.steps] == [0.0, 0.0, 0.0, 1.0]
    assert [s.progress for s in found.steps] == [0.0, 0.0, 0.4, 1.0]
    assert [s.message for s in found.steps] == [2, 4, 6, 8]
    for step in found.steps:
        assert f"t{step.turn}\n" in found.messages[step.message].content
    assert found.steps[0].candidate is None
    assert found.steps[3].candidate == digest(AFTER)
    assert (found.reward, found.best_reward, found.complete, found.engine) == (1.0, 1.0, True, "coverage")
    assert (found.client, found.target, found.sampling["top_p"]) == ("scripted:scribe", "vpe:pe64", 0.9)
    assert found.reward_meaning == REWARDS[found.reward_name]
    assert done.open == done.helpers == done.hidden == 0


async def test_rewards_of_what_was_not_decided(tmp_path):
    replies = [Reply("passed", wanted=True), Reply("untested"), Reply("cheated"), Reply("unjudged")]
    (found,), _ = read(await write_coverage(tmp_path, "r1", {"exp": [replies]}, {"exp": "exhausted"}))
    assert [s.reward for s in found.steps] == [0.0, None, 0.0, None]
    assert (found.reward, found.best_reward) == (None, 0.0)


async def test_every_attempt_is_a_conversation(tmp_path):
    folder = await write_coverage(tmp_path, "r1", {"exp": [[Reply("wrong")], REPAIR]}, {"exp": "covered"})
    found, _ = read(folder)
    assert [(t.attempt, t.reward) for t in found] == [(1, 0.0), (2, 1.0)]
    assert len({t.id for t in found}) == 2
    assert found == read(folder)[0], "the same run gives the same lines"


async def test_calls_have_the_messages_as_they_were_sent(tmp_path):
    """With three whole replies the first one of a dialog of five is left out of the last prompt."""
    replies = [Reply("wrong", BEFORE + f"# {n}\n") for n in range(4)] + [Reply("passed", AFTER)]
    folder = await write_coverage(tmp_path, "r1", {"exp": [replies]}, {"exp": "covered"})
    found, _ = read(folder, form="calls")
    assert [len(t.steps) for t in found] == [1] * 5
    assert [t.steps[0].message for t in found] == [len(t.messages) - 1 for t in found]
    assert [m.role for m in found[0].messages] == ["system", "user", "assistant"]
    last = [m.content for m in found[4].messages]
    assert "left out" in last[2]
    assert "answer exp.a1.t2" in last[4]
    assert last[-2:] == ["prompt exp.a1.t5", f"answer exp.a1.t5\n```python\n{AFTER}```"]
    assert len({t.id for t in found}) == 5


async def test_dialogs_that_may_go_on_are_left_out(tmp_path):
    operators = {"exp": [[Reply("wrong")], [Reply("wrong")]], "log": [REPAIR], "sin": [[Reply("wrong")]]}
    outcomes = {"log": "covered", "sin": "stopped"}
    folder = await write_coverage(tmp_path, "r1", operators, outcomes, finished=False)
    found, done = read(folder)
    assert [(t.operator, t.attempt) for t in found] == [("exp", 1), ("log", 1)]
    assert done.open == 2
    found, done = read(folder, unfinished=True)
    assert [(t.operator, t.attempt, t.complete) for t in found] == [
        ("exp", 1, True), ("exp", 2, False), ("log", 1, True), ("sin", 1, False),
    ]  # fmt: skip


async def test_secrets_and_the_home_folder_are_hidden(tmp_path, monkeypatch):
    monkeypatch.setenv("ANY_API_KEY", "value-of-a-key-0123")
    monkeypatch.setenv("SHORT_TOKEN", "EMPTY")
    text = f"EMPTY value-of-a-key-0123 sk-{'a' * 30} {Path.home()}/x.py sk_stride ghp_{'A1' * 18}"
    folder = await write_coverage(tmp_path, "r1", {"exp": [[Reply("wrong")]]}, {"exp": "exhausted"}, text=text)
    (found,), done = read(folder)
    assert found.messages[-1].content == "EMPTY [hidden] [hidden] ~/x.py sk_stride [hidden]"
    assert done.hidden == 3


async def test_an_export_is_gone_on_with(tmp_path):
    operators = {name: [REPAIR] for name in ("exp", "log", "sin")}
    folder = await write_coverage(tmp_path, "r1", operators, dict.fromkeys(operators, "covered"))
    found, _ = read(folder)
    whole = tmp_path / "whole.jsonl"
    export(found, whole, Exported())
    lines = whole.read_bytes().splitlines(keepends=True)
    assert len(lines) == 3
    data = json.loads(lines[0])
    assert next(iter(data)) == "schema"
    assert data.pop("schema") == SCHEMA
    assert Trajectory.model_validate(data) == found[0]
    for size in range(0, len(whole.read_bytes()), 997):  # killed at any moment
        part = tmp_path / "part.jsonl"
        part.write_bytes(whole.read_bytes()[:size])
        done = export(found, part, Exported())
        assert part.read_bytes() == whole.read_bytes()
        assert done.written + done.present == 3


@pytest.mark.parametrize(
    "content", ["[tool]\nx = 1\n", '{"a": 1}\n', "no newline", '{"schema": "other/1", "id": "x"}\n']
)
async def test_another_file_is_refused_and_unchanged(tmp_path, content):
    (found,), _ = read(await write_coverage(tmp_path, "r1", {"exp": [REPAIR]}, {"exp": "covered"}))
    other = tmp_path / "other"
    other.write_text(content)
    with pytest.raises(FormatError, match="line 1 is no trajectory"):
        export([found], other, Exported())
    assert other.read_text() == content


async def test_lines_are_written_one_by_one(tmp_path):
    folder = await write_coverage(
        tmp_path, "r1", {name: [REPAIR] for name in ("exp", "log")}, dict.fromkeys(("exp", "log"), "covered")
    )
    found, _ = read(folder)
    seen = []
    out = io.StringIO()

    def one_by_one():
        for trajectory in found:
            seen.append(out.getvalue().count("\n"))
            yield trajectory

    export(one_by_one(), out, Exported())
    assert seen == [0, 1]
    assert out.getvalue() == "".join(line_of(t) + "\n" for t in found)


@needs_search
@pytest.mark.parametrize(("baseline", "expected"), [(None, [1.0, 2.0, 0.0]), (200.0, [2.0, 4.0, 0.0])])
async def test_rewards_of_a_search_are_speedups(tmp_path, baseline, expected):
    """Over the fastest baseline; on a modelled clock without one, over the first kernel that was timed."""
    nodes = {
        "0": Node((), BEFORE, (100.0, 100.0), baseline),
        "1": Node(("0",), AFTER, (50.0, 50.0), baseline),
        "2": Node(("1",), AFTER + "# wrong\n"),
        "3": Node(("1",), AFTER + "# of a tuner\n", (10.0, 10.0), baseline, model=False),
    }
    found, _ = read(await write_search(tmp_path, "s1", nodes))
    assert [t.reward for t in found] == pytest.approx(expected)
    assert [(t.node, t.parents) for t in found] == [("0", ()), ("1", ("0",)), ("2", ("1",))]
    assert {(t.engine, t.reward_name) for t in found} == {("search", "speedup/1")}


async def test_the_command(tmp_path):
    await write_coverage(tmp_path, "r1", {"exp": [REPAIR]}, {"exp": "covered"})
    runner, app = CliRunner(), build_app()
    runs = ["--runs-dir", str(tmp_path)]
    done = runner.invoke(app, ["export-trajectories", "r1", *runs])
    assert json.loads(done.stdout)["operator"] == "exp"
    assert "mean last reward 1.000" in done.stderr
    out = str(tmp_path / "t.jsonl")
    assert runner.invoke(app, ["export-trajectories", "r1", "-o", out, *runs]).stdout == ""
    assert "1 were there already" in runner.invoke(app, ["export-trajectories", "r1", "-o", out, *runs]).stderr
    for arguments, message in (
        (["--form", "x"], "no such form; use dialogs or calls"),
        (["--op", "exq"], "did you mean exp?"),
        (["-o", str(tmp_path / "none" / "x")], "cannot be written: No such file"),
        (["-o", str(tmp_path)], "cannot be written: Is a directory"),
    ):
        done = runner.invoke(app, ["export-trajectories", "r1", *arguments, *runs])
        assert message in str(done.exception)


@pytest.mark.long
@pytest.mark.slow
def test_a_run_of_recorded_dialogs(tmp_path):
    """`diag` is repaired after a report of the linter."""
    bringup = [sys.executable, "-m", "bringup.cli.main"]
    runs = ["--runs-dir", str(tmp_path)]
    subprocess.run([*bringup, "run", "--client", "recorded", "--ops", "diag", *runs], check=True, capture_output=True)
    out = subprocess.run([*bringup, "export-trajectories", "latest", *runs], check=True, capture_output=True, text=True)
    (line,) = out.stdout.splitlines()
    data = json.loads(line)
    assert data.pop("schema") == SCHEMA
    found = Trajectory.model_validate(data)
    assert [s.result for s in found.steps] == ["lint", "passed"]
    assert [s.reward for s in found.steps] == [0.0, 1.0]
    for step in found.steps:
        assert found.messages[step.message].role == "assistant"
        assert "def wrapper" in found.messages[step.message].content
    kb = tmp_path / "kb"
    done = subprocess.run(
        [*bringup, "distill", "latest", "--into", str(kb), *runs], check=True, capture_output=True, text=True
    )
    assert "1 lesson" in done.stdout
    subprocess.run([*bringup, "knowledge", "lint", str(kb)], check=True, capture_output=True)
