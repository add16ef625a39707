"""Policies on made-up graphs: what each expands next, and the contract that all of them keep."""

from __future__ import annotations

import math
from typing import Any

import pytest

from bringup.errors import ConfigError, PluginError, UnknownName
from bringup.search.conformance import MadeUp, check_policy
from bringup.search.graph import Node
from bringup.search.policies import Done, PolicyDefaults, Step, View, Wait, make_policy, policies


def grown(*nodes: tuple[tuple[str, ...], float | None], **options: Any) -> MadeUp:
    """A graph with a start of fitness 1 and then these nodes: (parents, fitness or None where it is open)."""
    world = MadeUp(**options)
    for parents, fitness in nodes:
        node = world.begin(Step(parents=parents))
        if fitness is not None:
            world.finish(node, fitness)
    return world


def parents(name: str, world: MadeUp, **options: Any) -> tuple[str, ...]:
    step = make_policy(name, options).next(world.view())
    assert isinstance(step, Step)
    return step.parents


@pytest.mark.parametrize("name", ["one-shot", "linear", "greedy", "mcts", "islands", "parameters"])
def test_shipped_policies_keep_the_contract(name: str) -> None:
    failed = [result for result in check_policy(name) if not result.passed]
    assert not failed


def test_one_shot_samples_from_the_start_alone() -> None:
    assert parents("one-shot", grown((("0",), 3.0), (("0",), 2.0))) == ("0",)
    assert parents("one-shot", MadeUp(start=False)) == ()


def test_linear_goes_on_from_the_latest_that_works() -> None:
    assert parents("linear", grown((("0",), 3.0), (("1",), 0.5))) == ("2",)
    assert parents("linear", grown((("0",), 3.0), (("1",), 0.0))) == ("1",)
    assert isinstance(make_policy("linear").next(grown((("0",), None)).view()), Wait)


def test_greedy_takes_the_fittest_until_its_patience_is_used_up() -> None:
    two = [(("0",), 2.0), (("0",), 1.5)]
    assert parents("greedy", grown(*two), patience=2) == ("1",)
    assert parents("greedy", grown(*two, (("1",), 1.9)), patience=2) == ("1",)
    assert parents("greedy", grown(*two, (("1",), 1.2), (("1",), 0.0)), patience=2) == ("2",)
    # children that are better do not use it up, and are the next to be expanded; open ones do, so that workers spread
    assert parents("greedy", grown(*two, (("1",), 1.9), (("1",), 2.1)), patience=2) == ("4",)
    assert parents("greedy", grown(*two, (("1",), None), (("1",), None)), patience=2) == ("2",)


def uct(value: float, total: int, count: int, c: float) -> float:
    return value + c * math.sqrt(math.log(total) / count)


def test_tree_search_walks_by_uct() -> None:
    # start 0 (1.0) with children 1 (2.0) and 2 (1.0); 1 has three failed children: widening lets none more below it
    nodes = [(("0",), 2.0), (("0",), 1.0), *[(("1",), 0.0)] * 3]
    world = grown(*nodes)
    value_1, value_2 = (1.0 + 0 + 0 + 0) / 4, 0.5
    for c, expected in ((0.0, "2"), (10.0, "2")):
        assert uct(value_2, 6, 1, c) > uct(value_1, 6, 4, c)
        assert parents("mcts", world, exploration=c, widening=0.5) == (expected,)
    # by the best of a subtree, without exploration, it stays with 1
    assert parents("mcts", world, exploration=0.0, widening=0.5, backup="max") == ("1",)
    # wide enough, and the start itself gets another child: 2 children < 2 * sqrt(6)
    assert parents("mcts", world, widening=2.0) == ("0",)


def test_tree_search_counts_nodes_under_way_as_visits() -> None:
    nodes: list[tuple[tuple[str, ...], float | None]] = [(("0",), 2.0), (("0",), 2.0)]
    assert parents("mcts", grown(*nodes), exploration=1.0, widening=0.5) == ("1",)
    assert parents("mcts", grown(*nodes, (("1",), None)), exploration=1.0, widening=0.5) == ("2",)


def test_islands_breed_apart_and_send_migrants() -> None:
    options = {"islands": 2, "population": 2, "tournament": 1, "crossover": 0.0, "migration": 2}
    world = MadeUp()
    policy = make_policy("islands", options)
    origin: list[int] = []
    for _ in range(8):
        step = policy.next(world.view())
        assert isinstance(step, Step)
        origin.append(step.notes["island"])
        node = world.begin(step)
        if "migrant" in step.notes:
            assert len(step.parents) == 2
            assert world.graph[step.notes["migrant"]].notes.get("island", 1 - origin[-1]) != origin[-1]
        else:
            assert len(step.parents) == 1
            assert all(island_of(world.graph[parent], origin[-1]) == origin[-1] for parent in step.parents)
        world.finish(node, 1.0 + len(world.graph) / 10)
    assert origin == [0, 1] * 4


def island_of(node: Node, default: int) -> int:
    return int(node.notes.get("island", default))


def test_islands_keep_each_source_once_and_cross_the_most_different() -> None:
    world = grown((("0",), 1.1), (("0",), 1.2), (("0",), 1.3))
    same, alike, other = (world.graph[node] for node in "123")
    for node, text in ((same, "a b c d"), (alike, "a b c e"), (other, "w x y z")):
        world.sources[str(node.candidate)] = text
    policy = make_policy("islands", {"islands": 1, "crossover": 1.0, "tournament": 9, "population": 9})
    step = policy.next(world.view())
    assert isinstance(step, Step)
    assert step.parents[0] == "3"  # the fittest of all, then one with nothing in common
    assert step.parents[1] in {"0", "1", "2"}
    copies = grown((("0",), 2.0), (("0",), 1.5))
    second = copies.graph["2"]
    assert second.finished is not None
    second.finished = second.finished.model_copy(update={"candidate": copies.graph["1"].candidate})
    population = policy.population(copies.graph, [copies.graph["1"], second])  # type: ignore[attr-defined]
    assert [node.id for node in population] == ["1", "0"]


def test_the_tuner_asks_no_choice_twice_and_ends() -> None:
    world = MadeUp()
    policy = make_policy("parameters")
    seen: set[str] = set()
    for _ in range(200):
        step = policy.next(world.view())
        if isinstance(step, Done):
            break
        assert isinstance(step, Step)
        assert step.source is not None
        assert step.source not in seen
        assert step.choice
        seen.add(step.source)
        world.finish(world.begin(step), 1.0)
    else:
        pytest.fail("a finite space of choices never ended")
    assert len(seen) > 3


def test_bad_parameters_are_named() -> None:
    with pytest.raises(ConfigError, match=r"policy greedy: has no parameter patients; did you mean patience\?"):
        make_policy("greedy", {"patients": 3})
    with pytest.raises(ConfigError, match=r"policy mcts: parameter alpha: .*less than or equal to 1"):
        make_policy("mcts", {"alpha": 2})
    with pytest.raises(ConfigError, match="policy linear: has no parameter depth; it has none"):
        make_policy("linear", {"depth": 2})
    with pytest.raises(UnknownName, match="did you mean greedy"):
        make_policy("gready")


def test_every_parameter_says_where_its_default_comes_from() -> None:
    for name in policies.names():
        options = getattr(policies.factory(name), "Options")  # noqa: B009
        for key, field in options.model_fields.items():
            assert len(field.description or "") > 40, f"{name}: {key}"


class Restless(PolicyDefaults):
    """Breaks the contract: it names parents that are not there, and counts for itself."""

    name = "restless"

    def __init__(self) -> None:
        self.calls = 0

    def next(self, view: View) -> Step | Wait | Done:
        self.calls += 1
        return Step(parents=("99",)) if self.calls > 5 else Step(asked=str(self.calls))


def test_the_contract_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(policies._factories, "restless", Restless)
    failed = {result.name: result.detail for result in check_policy("restless") if not result.passed}
    assert (
        "parent '99' is not in the graph"
        in failed["its steps name nodes of the graph, and bring a source where no model is asked"]
    )
    assert "it decides the same on the same graph" in failed
    monkeypatch.setitem(policies._factories, "nothing", object)
    with pytest.raises(PluginError, match="it has no name, asks_model, next"):
        make_policy("nothing")
