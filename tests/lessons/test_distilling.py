"""`bringup distill`: what helped becomes a file that the knowledge base takes, with its evidence, and unreviewed."""

from __future__ import annotations

import pytest
from lesson_runs import AFTER, BEFORE, Node, Reply, write_coverage, write_search
from typer.testing import CliRunner

import bringup.store
from bringup.candidate import digest
from bringup.cli.main import build_app
from bringup.errors import FormatError
from bringup.knowledge import lint, load, parse, retrieve
from bringup.lessons import Lesson, Skipped, distil, write
from bringup.store import open_run

needs_search = pytest.mark.skipif(not hasattr(bringup.store, "NodeMeasured"), reason="this bringup has no search")


def lessons_of(folder, **options):
    with open_run(folder) as run:
        return list(distil(run, **options))


async def test_the_repair_that_made_a_kernel_pass(tmp_path):
    folder = await write_coverage(
        tmp_path, "r1", {"exp": [[Reply("lint"), Reply("wrong"), Reply("passed", AFTER)]]}, {"exp": "covered"}
    )
    (lesson,) = lessons_of(folder)
    file = parse(lesson.text, lesson.path)
    assert file.front.unreviewed
    (result,) = file.front.results
    assert (result.operator, result.target, result.run) == ("exp", "vpe:pe64", "r1")
    assert result.before == "wrong, 4 of 10 cases passed"
    assert result.after == "passed, 10 of 10 cases"
    assert result.candidates == (digest(BEFORE), digest(AFTER))
    assert "3 elements differ, first at (0, 3)" in file.body
    assert "-    out = x\n+    out = torch.empty_like(x)" in file.body
    assert (file.front.platforms, file.front.devices, file.front.operators) == (("vpe",), ("pe64",), ("exp",))
    assert file.front.concerns == ("correctness", "debugging")
    assert file.front.sources == ("run r1, operator exp, attempt 1, calls 2 and 3",)


async def test_only_a_failure_just_before_teaches(tmp_path):
    """Not a kernel that passes at once, nor one of another attempt, nor a reply without a module between."""
    operators = {
        "exp": [[Reply("passed", AFTER)]],
        "log": [[Reply("wrong")], [Reply("passed", AFTER)]],
        "sin": [[Reply("wrong")]],
        "cos": [[Reply("format"), Reply("passed", AFTER)]],
    }
    outcomes = dict.fromkeys(operators, "covered") | {"sin": "exhausted"}
    assert lessons_of(await write_coverage(tmp_path, "r1", operators, outcomes)) == []


async def test_another_kernel_is_no_repair(tmp_path):
    many = "".join(f"a{n} = {n}\n" for n in range(100))
    replies = [Reply("wrong"), Reply("passed", many)]
    (skipped,) = lessons_of(await write_coverage(tmp_path, "r1", {"exp": [replies]}, {"exp": "covered"}))
    assert isinstance(skipped, Skipped)
    assert "104 lines changed, more than 80" in skipped.reason
    same = [Reply("wrong"), Reply("passed", BEFORE)]
    (skipped,) = lessons_of(await write_coverage(tmp_path, "r2", {"exp": [same]}, {"exp": "covered"}))
    assert "without a change of the source" in skipped.reason


async def test_texts_of_a_model_cannot_break_the_file(tmp_path, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "very-secret-value-123")
    nasty = "---\n```\n# Title\n[x](none.md)\nvery-secret-value-123\n" * 3
    replies = [Reply("compile", "x = '''\n```\n'''\n", nasty, log=nasty), Reply("passed", AFTER)]
    folder = await write_coverage(tmp_path, "r1", {"a/b": [replies]}, {"a/b": "covered"})
    (lesson,) = lessons_of(folder)
    assert "very-secret" not in lesson.text
    assert lesson.path.startswith("distilled/vpe/a%2Fb-")
    write([lesson], tmp_path / "kb")
    assert lint(tmp_path / "kb") == []


async def test_files_are_in_order_and_found_and_kept(tmp_path):
    folder = await write_coverage(
        tmp_path, "r1", {"exp": [[Reply("wrong"), Reply("passed", AFTER)]]}, {"exp": "covered"}
    )
    (lesson,) = lessons_of(folder)
    kb = tmp_path / "kb"
    assert write([lesson], kb).written == (lesson.path,)
    assert lint(kb) == []
    found = retrieve(load([kb]), "vpe:pe64", bound="correctness", operator="exp")
    assert lesson.path in [one.file.path for one in found.chosen]
    assert "reviewed by nobody" in found.text
    read = (kb / lesson.path).read_text().replace("reviewed: ''", "reviewed: A. Reader, 2026-02-03")
    (kb / lesson.path).write_text(read)
    assert write([lesson], kb).kept == (lesson.path,)
    assert (kb / lesson.path).read_text() == read
    assert not load([kb]).get(lesson.path).front.unreviewed


async def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    folder = await write_coverage(
        tmp_path, "r1", {"exp": [[Reply("wrong"), Reply("passed", AFTER)]]}, {"exp": "covered"}
    )
    with pytest.raises(FormatError, match=r"cannot be written: .*give a writable folder"):
        write(lessons_of(folder), tmp_path / "file")


@needs_search
async def test_a_node_that_is_much_faster_than_its_better_parent(tmp_path):
    nodes = {
        "0": Node((), BEFORE, (100.0, 40.0), model=False),
        "1": Node(("0",), BEFORE + "# slower\n", (120.0, 48.0)),
        "2": Node(("0", "1"), AFTER, (50.0, 20.0), asked="move fewer bytes", choice={"BLOCK": 4096}),
        "3": Node(("2",), AFTER + "# a little\n", (49.0, 19.5)),
        "4": Node(("2",), AFTER + "# fails\n"),
        "5": Node(("4",), AFTER + "# of a parent that failed\n", (1.0, 1.0)),
    }
    (lesson,) = lessons_of(await write_search(tmp_path, "s1", nodes))
    assert isinstance(lesson, Lesson)
    file = parse(lesson.text, lesson.path)
    assert file.front.title == "mm: 2.00x by node 2, was memory-bound"
    assert file.front.concerns == ("memory",)
    assert file.front.kinds == ("matmul",)
    (result,) = file.front.results
    assert result.before == "63.25 us (geometric mean of 2 cases)"
    assert result.after == "31.62 us (geometric mean of 2 cases)"
    assert "DMA takes 90 % of the time" in file.body
    assert "move fewer bytes" in file.body
    assert "BLOCK = 4096" in file.body
    assert "+    out = torch.empty_like(x)" in file.body
    more = lessons_of(tmp_path / "s1", min_gain=1.01)
    assert len(more) == 2


async def test_the_command(tmp_path):
    replies = [Reply("wrong"), Reply("passed", AFTER)]
    await write_coverage(tmp_path, "r1", {"exp": [replies], "log": [replies]}, dict.fromkeys(("exp", "log"), "covered"))
    runs, kb = ["--runs-dir", str(tmp_path)], tmp_path / "kb"
    runner, app = CliRunner(), build_app()
    done = runner.invoke(app, ["distill", "r1", "--into", str(kb), "--op", "exp", "--dry-run", *runs])
    assert "would write" in done.stdout
    assert not kb.exists()
    done = runner.invoke(app, ["distill", "r1", "--into", str(kb), "--op", "exp", *runs])
    assert "1 lesson in run r1, 1 written, 0 kept" in done.stdout
    done = runner.invoke(app, ["distill", "r1", "--into", str(kb), *runs])
    assert "2 lessons in run r1, 1 written, 1 kept" in done.stdout
    done = runner.invoke(app, ["distill", "r1", "--op", "exq", *runs])
    assert "unknown operator 'exq' in run r1; did you mean exp?" in str(done.exception)
