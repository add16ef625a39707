"""Which node serves which calls: the fastest of each kind that passed the gate, and what a library gets of that."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path

import pytest
from search_doubles import Bench, FakeJudge, config, module, reply
from typer.testing import CliRunner

from bringup.cli._library import collect
from bringup.cli.main import build_app
from bringup.library import When
from bringup.search.conformance import MadeUp
from bringup.search.graph import Graph, Node
from bringup.search.policies import Step
from bringup.search.result import conditions, result_of
from bringup.search.serving import Served, Worth, serving, worths
from bringup.store import NodeMeasured, open_run
from bringup.verdict import CallKind

Claims = list[tuple[str, When]]


@functools.cache
def nodes() -> dict[str, Node]:
    world = MadeUp()
    for _ in range(2):
        world.finish(world.begin(Step(parents=("0",))), 2.0)
    return world.graph.nodes


def claimed(*calls: tuple[int, Mapping[str, float]], dtype: str = "float32", rank: int = 2) -> dict[CallKind, Served]:
    """Calls of some elements with the speed-ups of nodes there; the fastest above 1 serves."""
    found = {}
    for elements, speedups in calls:
        winners = {node: speedup for node, speedup in speedups.items() if speedup > 1}
        best = max(winners, key=lambda node: winners[node], default=None)
        node = nodes()[best] if best is not None else None
        worth = Worth(winners[best], 0.0, True) if best is not None else None
        found[CallKind(dtype=dtype, rank=rank, elements=elements)] = Served(node, worth, frozenset(winners))
    return found


def one(*calls: tuple[int, float]) -> Claims:
    """What a single kernel gets, by elements and speed-up."""
    return conditions(claimed(*((elements, {"1": speedup}) for elements, speedup in calls)))


def test_a_kernel_gets_the_kinds_of_calls_that_it_won() -> None:
    f32 = ("float32",)
    assert one((10, 2.0), (100, 1.5)) == [("1", When(f32, (2,), 10, None))]
    assert one((10, 0.9), (100, 1.5), (1000, 2.0)) == [("1", When(f32, (2,), 100, None))]
    assert one((10, 2.0), (100, 2.0), (1000, 0.5)) == [("1", When(f32, (2,), 10, 100))]
    lost_between = one((10, 2.0), (100, 0.5), (1000, 2.0))
    assert lost_between == [("1", When(f32, (2,), 10, 10)), ("1", When(f32, (2,), 1000, None))]
    assert one((10, 1.0)) == []
    ten = (10, {"1": 2.0})
    both = claimed(ten) | claimed(ten, dtype="float16") | claimed(ten, rank=3)
    assert conditions(both) == [
        ("1", When(("float32", "float16"), (2,), 10, None)),
        ("1", When(f32, (3,), 10, None)),
    ]


def test_two_kernels_get_disjoint_calls() -> None:
    f32 = ("float32",)
    # 1 is faster than the reference at 1000, too, so it holds up to there; 2 is not at 10
    assert conditions(claimed((10, {"1": 3.0}), (100, {"1": 2.0, "2": 1.5}), (1000, {"1": 1.2, "2": 4.0}))) == [
        ("1", When(f32, (2,), 10, 999)),
        ("2", When(f32, (2,), 1000, None)),
    ]
    # 1 loses at 1000: nothing is known of what lies between
    assert conditions(claimed((10, {"1": 3.0}), (1000, {"1": 0.8, "2": 4.0}))) == [
        ("1", When(f32, (2,), 10, 10)),
        ("2", When(f32, (2,), 1000, None)),
    ]
    by_dtype = claimed((10, {"1": 3.0, "2": 2.0})) | claimed((10, {"1": 0.5, "2": 2.0}), dtype="float16")
    assert conditions(by_dtype) == [("1", When(f32, (2,), 10, None)), ("2", When(("float16",), (2,), 10, None))]


def test_a_kind_is_won_where_each_of_its_calls_is() -> None:
    kind = CallKind(dtype="float32", rank=1, elements=4)

    def worth(*seconds: float) -> Worth:
        times = {str(number): one for number, one in enumerate(seconds)}
        baselines = {case: {"eager": 1.0, "compile": 2.0} for case in times}
        measured = NodeMeasured(
            candidate="", measured="", result="passed", seconds=times, baselines=baselines, doubts={"0": 0.02}
        )
        [(found, worth)] = worths(Graph(), measured, dict.fromkeys(times, kind)).items()
        assert found == kind
        return worth

    assert worth(0.5, 0.125) == Worth(pytest.approx(4.0), 0.02, True)
    assert worth(0.5, 2.0) == Worth(pytest.approx(1.0), 0.02, False)
    assert not worth(0.99, 0.1).won


async def searched(tmp_path: Path, replies: Mapping[str, str], judge: FakeJudge | None = None, **settings):
    bench = Bench(tmp_path, lambda m, s, call: replies[call.node], judge)
    given = config(policy="one-shot", nodes=len(replies), calls=1, **settings)
    return bench, await bench.start(given, name="one")


def served(graph) -> list[tuple[str, str | None]]:
    return [(str(kind), found.node.id if found.node else None) for kind, found in serving(graph).items()]


RANK1, RANK2 = "float32, rank 1, 4 elements", "float32, rank 2, 15 elements"


@pytest.mark.parametrize("gate", ["always", "improvements"])
async def test_the_fastest_of_each_kind_serves_whatever_is_the_fittest(tmp_path: Path, gate: str) -> None:
    """Node 1 is the fittest; 2 is the fastest in the first call, and 4 would be in the second, but fails the gate."""
    replies = {
        "1": reply((0.5, 0.25)),  # 2x and 4x: 2.83x
        "2": reply((0.25, 1.25)),  # 4x and 0.8x: 1.79x
        "3": reply((0.4, 0.5)),  # 2.5x and 2x: the fastest nowhere
        "4": reply((2.0, 0.2), gate="wrong"),
    }
    bench, result = await searched(tmp_path, replies, gate=gate)
    assert result.graph.best is not None
    assert result.graph.best.id == "1"
    assert served(result.graph) == [(RANK1, "2"), (RANK2, "1")]
    gated = {node.id for node in result.graph.gated}
    assert gated == ({"0", "1", "2", "3"} if gate == "always" else {"0", "1", "2"})
    assert len(bench.judge.judged) == (5 if gate == "always" else 4)
    with open_run(result.folder) as run:
        found = result_of(run)
    assert found.best.node.id == "1"
    assert [(part.node.id, [(name, str(when)) for name, when in part.variants]) for part in found.parts] == [
        ("1", [("tuned-2", "dtype=float32,rank=2,elements>=15")]),
        ("2", [("tuned-1", "dtype=float32,rank=1,elements>=4")]),
    ]
    assert [part.source for part in found.parts] == [module((0.5, 0.25)), module((0.25, 1.25))]
    sources, _ = collect(str(result.folder), None, [], None)
    assert [source.source for source in sources] == [part.source for part in found.parts]
    assert [source.bundle.evidence.kind for source in sources if source.bundle] == ["passed", "passed"]
    [alone], _ = collect(str(result.folder), None, [], None, best_alone=True)
    assert alone.source == module((0.5, 0.25))


async def test_best_shows_who_serves_what(tmp_path: Path) -> None:
    await searched(tmp_path, {"1": reply((0.5, 1.5)), "2": reply((0.25, 2.0))})

    def best(*arguments: str):
        outcome = CliRunner().invoke(build_app(), ["best", "one", *arguments, "--runs-dir", str(tmp_path)])
        assert outcome.exit_code == 0, outcome.output
        return outcome

    shown = best()
    assert shown.stdout == module((0.25, 2.0))
    lost = f"{RANK2}: no node is faster than what it is compared with"
    assert shown.stderr.splitlines() == [f"{RANK1}: node 2, 4x", lost]
    assert best("-o", str(tmp_path / "best.py")).stdout.splitlines()[1:] == [f"{RANK1}: node 2, 4x", lost]
    assert '"node": null' in best("--json").stdout


async def test_a_kind_is_won_by_more_than_the_times_leave_open(tmp_path: Path) -> None:
    """With times known to 5 % node 2 (4 % faster in one call) is no other than node 1, and its gate is not asked."""
    replies = {"1": reply((0.5, 0.5)), "2": reply((0.48, 0.9)), "3": reply((0.4, 0.9)), "4": reply((0.97, 0.97))}
    judge = FakeJudge(width=0.05)
    _, result = await searched(tmp_path, replies, judge, gate="improvements")
    assert [node.id for node in result.graph.gated] == ["0", "1", "3"]
    assert served(result.graph) == [(RANK1, "3"), (RANK2, "1")]
    _, exact = await searched(tmp_path / "exact", replies, gate="improvements")
    assert [node.id for node in exact.graph.gated] == ["0", "1", "2", "3"]


async def test_one_kernel_serves_what_times_cannot_tell_apart(tmp_path: Path) -> None:
    replies = {"1": reply((0.5, 0.5)), "2": reply((0.49, 0.9))}
    _, result = await searched(tmp_path, replies, FakeJudge(width=0.05))
    assert served(result.graph) == [(RANK1, "1"), (RANK2, "1")]


async def test_a_win_within_the_doubt_is_none(tmp_path: Path) -> None:
    _, result = await searched(tmp_path, {"1": reply(0.97)}, FakeJudge(width=0.05))
    assert result.graph.best is not None
    assert result.graph.best.id == "1"
    with open_run(result.folder) as run:
        assert result_of(run).parts == ()
