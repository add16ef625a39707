"""The engine with doubles: nodes, the inner loop, stops, resumption, several processes on one graph."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from search_doubles import Bench, FakeJudge, config, graph_of, module, reply

from bringup.candidate import Candidate
from bringup.errors import ClientError, ConfigError, StoreError
from bringup.judge.guards import RERUNS
from bringup.store import CallStarted, list_runs, open_run


def by_node(times: dict[str, str]):
    """A script that answers by the call's node."""
    return lambda messages, sampling, call: times[call.node]


async def begun(root: Path) -> Path:
    """Wait for the first node of the first search under `root`."""
    while True:
        for folder in list_runs(root):
            with suppress(StoreError):
                if len(graph_of(folder)):
                    return folder
        await asyncio.sleep(0.01)


async def test_a_search_keeps_the_best_of_what_passed(tmp_path: Path) -> None:
    script = by_node({"1": reply(0.5), "2": reply(2.0), "3": reply(0.1, kind="wrong"), "4": reply(0.4)})
    result = await Bench(tmp_path, script).start(config(policy="one-shot", calls=1))
    graph = result.graph
    assert result.ended is not None
    assert result.ended.cause == "nodes"
    assert [(node.id, node.result, pytest.approx(node.fitness)) for node in graph] == [
        ("0", "passed", 1.0), ("1", "passed", 2.0), ("2", "passed", 0.5), ("3", "wrong", 0.0), ("4", "passed", 2.5),
    ]  # fmt: skip
    assert graph.best is not None
    assert graph.best.id == "4"
    assert all(node.parents == ("0",) for node in graph if node.id != "0")
    assert [value for _, value in graph.curve()] == pytest.approx([1.0, 2.0, 2.0, 2.0, 2.5])


async def test_the_inner_loop_repairs_before_a_node_counts(tmp_path: Path) -> None:
    answers = ["I will think.", reply(kind="lint"), reply(kind="wrong"), reply(0.5, gate="raised"), reply(0.25)]
    bench = Bench(tmp_path, lambda messages, sampling, call: answers[call.turn - 1])
    result = await bench.start(config(nodes=1, calls=5))
    node = result.graph["1"]
    assert node.result == "passed"
    assert node.fitness == pytest.approx(4.0)
    assert node.calls == 5
    # the candidate that only the gate refused was timed, and judged on the gate; those before it never got there
    assert len(bench.judge.measured) == 1 + 3
    assert len(bench.judge.judged) == 1 + 2


async def test_a_first_answer_may_be_edits_of_the_kernel_that_is_shown(tmp_path: Path) -> None:
    edits = "Change: faster\n```patch\n<<<<<<< SEARCH\n{}=======\n{}>>>>>>> REPLACE\n```\n"
    line = module(1.0).splitlines(keepends=True)[1]
    faster = module(0.5).splitlines(keepends=True)[1]
    bench = Bench(tmp_path, lambda messages, sampling, call: edits.format(line, faster))
    result = await bench.start(config(nodes=1, calls=1))
    assert result.graph["1"].result == "passed"
    assert result.graph["1"].fitness == pytest.approx(2.0)


async def test_a_start_that_cannot_be_judged_is_named(tmp_path: Path) -> None:
    bench = Bench(tmp_path, lambda messages, sampling, call: reply(0.5))
    result = await bench.start(config(calls=1), (module(1.0, gate="untested"),))
    assert "nodes in a row stopped, the last with: the candidate could not be judged:" in str(result.interrupted)


async def test_what_fails_counts_as_a_node_of_no_fitness(tmp_path: Path) -> None:
    script = by_node({"1": "no module here", "2": reply(kind="lint"), "3": reply(0.5, gate="crashed"), "4": reply(3.0)})
    result = await Bench(tmp_path, script).start(config(calls=1))
    assert [node.result for node in result.graph] == ["passed", "no_module", "lint", "crashed", "passed"]
    assert [node.fitness > 0 for node in result.graph] == [True, False, False, False, True]
    assert result.graph.best is not None
    assert result.graph.best.id == "0"


async def test_drafts_come_first_and_remember_nothing(tmp_path: Path) -> None:
    prompts: dict[str, str] = {}

    def script(messages, sampling, call):
        prompts[call.node] = messages[-1].content
        return reply(0.5 + int(call.node) / 10, note=f"idea {call.node}")

    result = await Bench(tmp_path, script).start(config(policy="greedy", nodes=5, drafts=3))
    assert [node.phase for node in result.graph] == ["start", *["draft"] * 3, *["expand"] * 2]
    assert all("idea" not in prompts[node] and "bound by" not in prompts[node] for node in "123")
    assert "idea 1" in prompts["4"]  # its parent's own words
    assert "bound by memory" in prompts["4"]
    assert "vpe:pe64" in prompts["1"]


@pytest.mark.parametrize(
    ("memory", "has", "lacks"),
    [
        ("none", [], ["idea 1", "idea 2", "bound by"]),
        ("parent", ["idea 1", "bound by memory"], ["idea 2"]),
        ("siblings", ["idea 2"], []),
        ("both", ["idea 1", "idea 2"], []),
    ],
)
async def test_memory_modes(tmp_path: Path, memory: str, has: list[str], lacks: list[str]) -> None:
    """Node 1 is the best; node 2 comes from it and is worse; node 3 comes from it, too."""
    prompts: dict[str, str] = {}

    def script(messages, sampling, call):
        prompts[call.node] = messages[-1].content
        return reply({"1": 0.25, "2": 0.5, "3": 0.7}[call.node], note=f"idea {call.node}")

    result = await Bench(tmp_path, script).start(config(policy="greedy", nodes=3, memory=memory))
    assert result.graph["3"].parents == ("1",)
    task = prompts["3"].partition("# The operator")[2].replace(module(0.25, note="idea 1"), "")
    assert all(word in task for word in has)
    assert not any(word in task for word in lacks)


async def test_a_search_that_stagnates_restarts_without_memory(tmp_path: Path) -> None:
    result = await Bench(tmp_path, lambda *_: reply(2.0)).start(config(policy="linear", nodes=7, restart=3))
    restarts = [node.id for node in result.graph if node.notes.get("restart")]
    assert restarts == ["4", "7"]
    assert all(result.graph[node].parents == () and result.graph[node].memory == "none" for node in restarts)


async def test_stops(tmp_path: Path) -> None:
    faster = lambda m, s, call: reply(1 / (1 + int(call.node)), note=call.node)  # noqa: E731
    result = await Bench(tmp_path, faster).start(config(nodes=50, target_speedup=4.0))
    assert result.ended is not None
    assert (result.ended.cause, result.graph.spent) == ("target", 3)
    result = await Bench(tmp_path, lambda *_: reply(2.0)).start(config(nodes=50, stall=4))
    assert result.ended is not None
    assert (result.ended.cause, result.graph.spent) == ("stall", 4)
    result = await Bench(tmp_path, lambda *_: reply(2.0)).start(config(nodes=50, budget={"tokens": 30_000}))
    assert result.ended is not None
    assert result.ended.cause == "budget"
    slow = FakeJudge(delay=0.05)
    result = await Bench(tmp_path, lambda *_: reply(2.0), slow).start(config(nodes=5000, budget={"seconds": 1.0}))
    assert result.ended is not None
    assert result.ended.cause == "time"


async def test_a_search_that_ended_goes_on_with_wider_limits(tmp_path: Path) -> None:
    asked: list[str] = []

    def script(messages, sampling, call):
        asked.append(call.key)
        return reply(1 / (1 + int(call.node)), note=call.node)

    bench = Bench(tmp_path, script)
    first = await bench.start(config(nodes=2))

    def wider(data):
        return config(nodes=4)

    second = await bench.resume(first.folder, changes=wider)
    assert second.graph.spent == 4
    assert len(asked) == len(set(asked)) == 4
    assert second.graph.best is not None
    assert second.graph.best.id == "4"


async def test_zero_times_are_no_fitness(tmp_path: Path) -> None:
    class Broken(FakeJudge):
        def timing(self, case, seconds):
            found = super().timing(case, seconds)
            if seconds == 0.125:  # past the record's own check, as a file or another version may bring it
                broken = found.device.model_copy(update={"median": 0.0})
                return found.model_copy(update={"device": broken})
            return found

    script = by_node({"1": reply(0.125), "2": reply(0.5)})
    result = await Bench(tmp_path, script, Broken()).start(config(policy="one-shot", nodes=2))
    assert result.graph["1"].fitness == 0.0
    assert result.graph.best is not None
    assert result.graph.best.id == "2"


async def test_cases_count_as_their_weights_say(tmp_path: Path) -> None:
    """Twice as fast where nine tenths of the weight are, half as fast in the rest; and the other way round."""
    script = by_node({"1": reply((0.5, 2.0)), "2": reply((2.0, 0.5))})
    given = config(policy="one-shot", nodes=2, weights={"float32": (0.9, 0.1)})
    result = await Bench(tmp_path, script).start(given)
    assert [node.fitness for node in result.graph] == pytest.approx([1.0, 2**0.8, 2**-0.8])
    assert graph_of(result.folder)["1"].fitness == pytest.approx(2**0.8)  # of the events alone
    alike = await Bench(tmp_path, script).start(config(policy="one-shot", nodes=2))
    assert [node.fitness for node in alike.graph] == pytest.approx([1.0, 1.0, 1.0])


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ({"float32": (1.0,)}, "1 of float32, whose timed cases are 2"),
        ({"float32": (1.0, 0.0)}, "0.0 is no weight"),
        ({"int32": (1.0,)}, "1 of int32, whose timed cases are 0"),
    ],
)
def test_weights_that_fit_no_cases_are_told(tmp_path: Path, weights: dict, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Bench(tmp_path, lambda *_: reply()).plan(config(weights=weights))


async def test_the_gate_can_be_kept_for_improvements(tmp_path: Path) -> None:
    script = by_node({"1": reply(0.5), "2": reply(0.7), "3": reply(0.25, gate="wrong"), "4": reply(0.4)})
    bench = Bench(tmp_path, script)
    result = await bench.start(config(policy="one-shot", calls=1, gate="improvements"))
    graph = result.graph
    assert len(bench.judge.judged) == 4  # the start, 1, 3 and 4
    assert [node.finished.gate for node in graph if node.finished] == [True, True, False, False, True]
    assert graph["2"].valid
    assert not graph["3"].valid
    assert graph.best is not None
    assert graph.best.id == "4"


@pytest.mark.parametrize("dtypes", [("float32",), ("bfloat16",)])
def test_guards_that_call_again_are_left_to_a_gate_that_has_the_timed_cases(
    tmp_path: Path, dtypes: tuple[str, ...]
) -> None:
    problem = replace(Bench(tmp_path, lambda *_: "").plan(config()).problem, dtypes=dtypes)
    again = {guard.id for guard in RERUNS}
    candidate = Candidate(source=module())
    assert again <= set(problem.gate(candidate).guards)
    timed = set(problem.measuring(candidate, None).judge.guards)
    if set(problem.cases) <= set(dtypes):
        assert timed == set(problem.gate(candidate).guards) - again
    else:
        assert again <= timed


async def test_workers_make_nodes_at_once(tmp_path: Path) -> None:
    met = asyncio.Event()

    class Meeting(FakeJudge):
        """Ends no node's measurement before two are under way."""

        async def measure(self, job, progress=None):
            self.inside = getattr(self, "inside", 0) + 1
            if self.inside == 3:  # the start is measured alone
                met.set()
            if self.inside > 1:
                await asyncio.wait_for(met.wait(), 60)
            return await super().measure(job, progress)

    bench = Bench(tmp_path, lambda m, s, call: reply(0.5, note=call.node), Meeting())
    result = await bench.start(config(policy="mcts", nodes=8, workers=4))
    assert met.is_set()
    assert result.graph.spent == 8
    assert not result.graph.open


async def test_two_searches_on_one_graph_share_its_nodes(tmp_path: Path) -> None:
    asked: list[str] = []

    def script(messages, sampling, call):
        asked.append(call.key)
        return reply(0.9 ** int(call.node), note=call.node)

    bench = Bench(tmp_path, script, FakeJudge(delay=0.02))
    task = asyncio.create_task(bench.start(config(nodes=12), name="shared"))
    folder = await begun(tmp_path)
    other = await bench.resume(folder)
    first = await task
    graph = graph_of(first.folder)
    assert graph.spent == 12
    assert len(asked) == len(set(asked)) == 12
    assert len({node.worker for node in graph}) == 2
    assert other.graph.best is not None
    assert first.graph.best is not None
    assert other.graph.best.id == first.graph.best.id
    with open_run(first.folder) as run:
        kinds = [stored.event.kind for stored in run.events()]
    assert kinds.count("search_ended") == kinds.count("run_finished") == 1


async def test_helpers_are_stored_calls_before_an_expansion(tmp_path: Path) -> None:
    prompts: dict[tuple[str, str], str] = {}

    def script(messages, sampling, call):
        prompts[call.node, call.role] = messages[-1].content
        if call.role == "remember":
            return "**Next**: fewer bytes, please."
        if call.role == "look_up":
            first = messages[-1].content.partition("The files")[2]
            return next(line.partition(":")[0] for line in first.splitlines() if ".md:" in line)
        return reply(0.5, note=call.node)

    folder = tmp_path / "knowledge"
    folder.mkdir()
    front = "---\ntitle: Moving fewer bytes\nplatforms: [any]\nconcerns: [memory]\nsources: [us]\n"
    front += "specificity: general\nevidence: tested\n---\n"
    (folder / "fewer-bytes.md").write_text(f"{front}\n# Moving fewer bytes\n\nLoad every byte once.\n")
    settings = config(nodes=2, drafts=1, remember=True, look_up=True, knowledge=(str(folder),))
    result = await Bench(tmp_path / "runs", script).start(settings)
    roles = [role for node, role in prompts if node == "2"]
    assert roles == ["remember", "look_up", "generate"]
    assert [role for node, role in prompts if node == "1"] == ["generate"]  # a draft has none
    assert "fewer bytes, please" in prompts["2", "look_up"]
    assert "fewer bytes, please" in prompts["2", "generate"]
    assert "From the knowledge base" in prompts["2", "generate"]
    with open_run(result.folder) as run:
        keys = [stored.event.key for stored in run.events() if isinstance(stored.event, CallStarted)]
    assert len(keys) == len(set(keys)) == 4


async def test_a_helper_that_fails_does_not_end_the_node(tmp_path: Path) -> None:
    def script(messages, sampling, call):
        return ClientError("no answer") if call.role != "generate" else reply(0.5, note=call.node)

    result = await Bench(tmp_path, script).start(config(nodes=2, remember=True, look_up=True))
    assert [node.result for node in result.graph] == ["passed"] * 3
