"""What comes of a search: its page, its kernel in a library, its dialogs as recordings, warm starts, commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from search_doubles import OPERATOR, Bench, config, module, reply
from typer.testing import CliRunner

from bringup.cli._library import collect
from bringup.cli.main import build_app
from bringup.clients.recorded import RecordedClient
from bringup.clients.recording import RecordingSet, find_set
from bringup.config import RunConfig
from bringup.errors import BringupError, ConfigError
from bringup.runs import runner as coverage
from bringup.runs.recordings import record_run
from bringup.search.page import read_search, to_html
from bringup.search.result import kinds_of, result_of
from bringup.search.starts import find_starts, read_start
from bringup.search.words import tree
from bringup.store import open_run
from bringup.suites import get_suite

TIMES = {"1": 0.5, "2": 0.25, "3": 0.4, "4": 0.2}


async def searched(tmp_path: Path, **settings):
    bench = Bench(tmp_path, lambda m, s, call: reply(TIMES[call.node], note=f"idea {call.node} <b>"))
    return await bench.start(config(policy="mcts", **settings), name="one")


def command(*arguments: str, root: Path):
    return CliRunner().invoke(build_app(), [*arguments, "--runs-dir", str(root)])


async def test_the_page_has_every_node_with_code_difference_verdict_and_profile(tmp_path: Path) -> None:
    result = await searched(tmp_path)
    with open_run(result.folder) as run:
        page = to_html([read_search(run)])
        both = to_html([read_search(run), read_search(run)])
    for node in result.graph:
        assert f'id="s0-n{node.id}"' in page
        assert f'href="#s0-n{node.id}"' in page
    assert "idea 4 &lt;b&gt;" in page
    assert "idea 4 <b>" not in page  # what a model says is text, never markup
    assert '<span class="add">+    return input  # kind=passed gate=passed seconds=0.2' in page
    assert "moves 3 bytes" in page
    assert "<script" not in page
    assert "http" not in page.replace("http://www.w3.org", "")
    assert both.count('class="line s0"') == both.count('class="line s1"') == 1


async def test_the_tree_is_drawn_whole_and_deep_chains_do_not_break_it(tmp_path: Path) -> None:
    result = await searched(tmp_path)
    assert sorted(node.id for _, node in tree(result.graph)) == sorted(node.id for node in result.graph)
    chain = Bench(tmp_path / "chain", lambda m, s, call: reply(1 / (2 + int(call.node)), note=call.node))
    deep = await chain.start(config(policy="linear", nodes=40))
    branches = [text for text, _ in tree(deep.graph)]
    assert len(branches) == 41
    assert branches[-1].count("   ") == 39


async def test_commands_on_a_search(tmp_path: Path) -> None:
    result = await searched(tmp_path)
    shown = command("tree", "one", root=tmp_path)
    assert shown.exit_code == 0, shown.output
    assert "best 5x, node 4" in shown.output
    assert (result.folder / "tree.html").is_file()
    data = json.loads(command("tree", "latest", "--json", root=tmp_path).stdout)
    assert [node["fitness"] for node in data["nodes"]] == pytest.approx([1.0, 2.0, 4.0, 2.5, 5.0])
    assert data["nodes"][1]["change"] == "idea 1 <b>"
    file = tmp_path / "best.py"
    assert command("best", "one", "-o", str(file), root=tmp_path).exit_code == 0
    assert "seconds=0.2" in file.read_text()
    assert "seconds=0.5" in command("best", "one", "--node", "1", root=tmp_path).stdout
    assert isinstance(command("best", "one", "--node", "77", root=tmp_path).exception, BringupError)
    with pytest.raises(ConfigError, match=r"is a search; go on with it by bringup tune --resume"):
        await coverage.resume(result.folder)


async def test_the_run_is_taken_to_have_its_best_kernel(tmp_path: Path) -> None:
    result = await searched(tmp_path)
    with open_run(result.folder) as run:
        summary = run.summaries()[OPERATOR]
        assert summary.covered
        assert summary.candidate == result.graph["4"].candidate
    bench = Bench(tmp_path, lambda m, s, call: reply(0.01, note="late"))
    await bench.resume(result.folder, changes=lambda data: config(policy="mcts", nodes=5))
    with open_run(result.folder) as run:
        assert run.blob(run.summaries()[OPERATOR].candidate or "") == module(0.01, note="late")


async def test_the_result_is_the_best_node_for_the_calls_that_it_won(tmp_path: Path) -> None:
    result = await searched(tmp_path)
    with open_run(result.folder) as run:
        [found] = result_of(run).parts
        [source], target = collect(str(result.folder), None, [], None)
        # cases 0 and 1 of the probe are float32 tensors of 4 elements and of 3 x 5
        assert kinds_of(RunConfig.model_validate(run.config())) == result.graph["4"].measured.calls
    assert found.node.id == "4"
    assert [str(when) for _, when in found.variants] == [
        "dtype=float32,rank=1,elements>=4",
        "dtype=float32,rank=2,elements>=15",
    ]
    assert source.variants == found.variants
    assert source.source == found.source
    assert source.bundle is not None
    assert source.bundle.evidence.kind == "passed"
    assert target == "vpe:pe64"
    bad = Bench(tmp_path / "bad", lambda *_: reply(kind="wrong"))
    failed = await bad.start(config(nodes=1, calls=1), [module(kind="wrong")])
    with open_run(failed.folder) as run, pytest.raises(BringupError, match="no kernel that is right"):
        result_of(run)


async def test_dialogs_are_recorded_by_node_and_replay(tmp_path: Path) -> None:
    def script(messages, sampling, call):
        if call.role != "generate":
            return f"{call.role} says: guidance"
        return reply(kind="lint") if call.turn == 1 else reply(TIMES[call.node], note=f"idea {call.node}")

    first = await Bench(tmp_path, script).start(config(policy="greedy", drafts=1, remember=True))
    with open_run(first.folder) as run:
        assert record_run(run, tmp_path / "set") == [OPERATOR]
    bench = Bench(tmp_path, script)
    bench.client = RecordedClient(str(tmp_path / "set"))
    settings = config({"name": "recorded", "path": str(tmp_path / "set")}, policy="greedy", drafts=1, remember=True)
    operator = get_suite("conformance").operator(OPERATOR)
    [start] = find_starts(settings.model_copy(update={"target": "vpe:next"}), operator, tmp_path / "none")
    assert start.source == module()
    second = await bench.start(settings, [start.source])
    assert [(n.parents, n.fitness, n.calls) for n in second.graph] == [
        (n.parents, n.fitness, n.calls) for n in first.graph
    ]
    assert bench.client.counts.exact == sum(node.calls for node in first.graph)


async def test_a_search_begins_with_the_best_that_is_stored(tmp_path: Path) -> None:
    await searched(tmp_path)
    operator = get_suite("conformance").operator(OPERATOR)
    plain: RunConfig = config(policy="greedy")
    [start] = find_starts(plain, operator, tmp_path)
    assert start.source == module(0.2, note="idea 4 <b>")
    assert "node 4, 5x there" in start.origin
    file = tmp_path / "mine.py"
    file.write_text(module(3.0))
    given = config(policy="greedy", start=str(file))
    assert [one.source for one in find_starts(given, operator, tmp_path)] == [module(3.0), start.source]
    assert len(find_starts(config(start=str(file), warm=0), operator, tmp_path)) == 1
    elsewhere = plain.model_copy(update={"target": "cuda"})
    assert find_starts(elsewhere, operator, tmp_path) == []


@pytest.mark.parametrize("target", ["vpe:pe64", "cuda"])
def test_without_a_model_a_search_begins_with_what_the_recorded_dialog_came_to(tmp_path: Path, target: str) -> None:
    """Not with what that dialog began from; a replay of recorded dialogs does that."""
    operator = get_suite("opinfo").operator("exp")  # its recorded session repaired an earlier kernel
    came_to = RecordingSet(find_set("vpe-pe64")).candidates(["exp"])["exp"].source
    plain = RunConfig.model_validate(
        {"ops": ("exp",), "target": target, "search": {"policy": "parameters", "warm": 0, "cases": {"float32": (0,)}}}
    )
    assert [start.source for start in find_starts(plain, operator, tmp_path)] == [came_to]
    asked = plain.model_copy(
        update={"target": "vpe:pe64", "search": plain.search.model_copy(update={"policy": "greedy"})}
    )
    assert [start.source for start in find_starts(asked, operator, tmp_path)] != [came_to]


@pytest.mark.slow
@pytest.mark.long
def test_the_embedded_default_tunes_a_kernel(tmp_path: Path) -> None:
    outcome = command("tune", "logsumexp", "--nodes", "2", "--json", root=tmp_path)
    assert outcome.exit_code in {0, 1}, outcome.output
    found = json.loads(outcome.stdout)
    assert found["nodes"][0]["result"] == "passed", found["nodes"][0]
    assert len(found["nodes"]) == 3
    assert command("tree", "latest", root=tmp_path).exit_code == 0


def test_a_start_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    file = tmp_path / "start.py"
    with pytest.raises(ConfigError, match=r"--start .*start\.py: cannot be read: No such file"):
        read_start(file)
    file.write_text("x = 1\n")
    with pytest.raises(ConfigError, match=r"start\.py: .*give one module with a `wrapper`"):
        read_start(file)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="not UTF-8 text"):
        read_start(file)


@pytest.mark.thinned
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tune"], "which operator?"),
        (["tune", "nosuchop"], "unknown operator 'nosuchop'"),
        (["tune", "double", "--suite", "conformance"], "there is no kernel of it to start from"),
        (["tune", "softmax", "--case", "float32"], "is not DTYPE:INDEX"),
        (["tune", "softmax", "--case", "float32:9999"], "has no case 9999 of float32"),
        (["tune", "softmax", "--policy", "gready"], "unknown policy 'gready'; did you mean greedy?"),
        (
            ["tune", "softmax", "-o", "patience=2", "--case", "float32:0"],
            "policy parameters: has no parameter patience",
        ),
        (["tune", "softmax", "--against", "eager", "--case", "float32:0"], "have none there; compare with `start`"),
        (["tune", "--resume", "nosuch"], "nosuch"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    outcome = command(*arguments, root=tmp_path)
    assert isinstance(outcome.exception, BringupError), outcome.output
    assert message in str(outcome.exception)
    assert "\n" not in str(outcome.exception)
    assert not list(tmp_path.iterdir())
