"""What every policy must do, tried on made-up graphs: `bringup policies check NAME`. No model, no device."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Mapping
from typing import Any

from bringup.candidate import digest
from bringup.errors import BringupError
from bringup.search.graph import Graph, Node
from bringup.search.policies import Done, Policy, Step, View, Wait, make_policy
from bringup.store import NodeFinished, NodeMeasured, NodeStarted, StoredEvent, session_id
from bringup.verdict import Record

OPERATOR = "double"
NODES = 40
START = """@triton.jit
def kernel_double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0)
    tl.store(y_ptr + i, x + x, mask=i < n)


def wrapper(input):
    x = input.contiguous()
    out = torch.empty_like(x)
    n = x.numel()
    if n:
        kernel_double[(triton.cdiv(n, 1024),)](x, out, n, BLOCK=1024)
    return out
"""
"""The kernel that the made-up searches begin with; it leaves its block size open."""


class CheckResult(Record):
    """What became of one check."""

    name: str
    passed: bool
    detail: str = ""


class MadeUp:
    """A graph that grows by what a policy asks, with results drawn from a seed: no model, no device."""

    def __init__(self, seed: int = 0, start: bool = True, fails: float = 0.3) -> None:
        """`fails`: the share of nodes that come to nothing."""
        self.graph = Graph()
        self.rng = random.Random(seed)
        self.seed = seed
        self.fails = fails
        self._seq = 0
        self.sources: dict[str, str] = {}
        if start:
            self.finish(self.begin(Step(source=START), "start"), 1.0)

    def view(self) -> View:
        """What a policy is shown."""
        rng = random.Random(f"{self.seed}/{len(self.graph)}")
        return View(self.graph, rng, lambda node: self.sources[node.candidate or ""], self.seed, "vpe:pe64")

    def begin(self, step: Step, phase: str = "expand") -> Node:
        """Begin the node that a step asks for."""
        name = str(len(self.graph))
        source = step.source
        if source is not None:
            self.sources[digest(source)] = source
        event = NodeStarted.model_validate(
            {
                "phase": phase,
                "memory": step.memory or "both",
                "source": digest(source) if source is not None else None,
                "choice": dict(step.choice),
                "asked": step.asked,
                "notes": dict(step.notes),
            }
        )
        self._add(event, name, step.parents)
        return self.graph[name]

    def finish(self, node: Node, fitness: float | None = None) -> None:
        """End a node, with a fitness drawn around its parents' best where none is given."""
        if fitness is None:
            base = max((self.graph[parent].fitness for parent in node.parents), default=0.5) or 0.5
            fitness = 0.0 if self.rng.random() < self.fails else base * self.rng.uniform(0.6, 1.5)
        name = node.started.source or digest(f"{START}# node {node.id}\n")
        self.sources.setdefault(name, f"{START}# node {node.id}\n")
        if fitness > 0:
            measured = NodeMeasured(candidate=name, measured="", result="passed", gate=True, seconds={"a": 1 / fitness})
            self._add(measured, node.id, node.parents)
        end: Any = {"result": "passed" if fitness > 0 else "wrong", "candidate": name, "gate": fitness > 0}
        self._add(NodeFinished.model_validate(end), node.id, node.parents)

    def _add(self, event: Any, node: str, parents: tuple[str, ...]) -> None:
        self._seq += 1
        self.graph.add(
            StoredEvent(
                run="made-up",
                seq=self._seq,
                time=float(self._seq),
                operator=OPERATOR,
                session=session_id(OPERATOR, f"n{node}"),
                node=node,
                parents=parents,
                event=event,
            )
        )


def check_policy(name: str, options: Mapping[str, Any] | None = None) -> list[CheckResult]:
    """Try a policy; raises UnknownName, ConfigError or PluginError where it cannot be made."""
    given = dict(options or {})
    make_policy(name, given)
    checks: list[tuple[str, Callable[[Callable[[], Policy]], str]]] = [
        ("its name and whether it asks a model are said", _says),
        ("its steps name nodes of the graph, and bring a source where no model is asked", _steps),
        ("it decides the same on the same graph", _repeats),
        ("it changes nothing of the graph", _changes_nothing),
        ("it goes on where others work at once", _at_once),
        ("it goes on where nothing works", _nothing_works),
        ("it begins without a start", _no_start),
        ("it waits only while a node is open", _waits),
    ]
    results = []
    for title, check in checks:
        try:
            problem = check(lambda: make_policy(name, given))
        except BringupError as error:
            problem = str(error)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        results.append(CheckResult(name=title, passed=not problem, detail=problem))
    return results


def _says(make: Callable[[], Policy]) -> str:
    policy = make()
    if not isinstance(policy.name, str) or not policy.name:
        return "`name` is empty"
    return "" if isinstance(policy.asks_model, bool) else "`asks_model` is neither True nor False"


def _fault(policy: Policy, world: MadeUp, step: object) -> str:
    """Return what is wrong with an answer, "" if nothing is."""
    if isinstance(step, Wait | Done):
        return ""
    if not isinstance(step, Step):
        return f"`next` returned {type(step).__name__}; Step, Wait or Done is due"
    for parent in step.parents:
        if parent not in world.graph.nodes:
            return f"parent {parent!r} is not in the graph"
        if world.graph[parent].open:
            return f"parent {parent!r} is still being made"
        if not world.graph[parent].valid:
            return f"parent {parent!r} does not work"
    if len(set(step.parents)) != len(step.parents):
        return "a parent is named twice"
    if not policy.asks_model and step.source is None:
        return "it asks no model, and its step brings no source"
    return ""


def _grow(policy: Policy, world: MadeUp, nodes: int = NODES, at_once: int = 1) -> str:
    """Let a graph grow; return the first fault."""
    open_: list[Node] = []
    while len(world.graph) < nodes:
        step = policy.next(world.view())
        if fault := _fault(policy, world, step):
            return f"node {len(world.graph)}: {fault}"
        if isinstance(step, Step):
            open_.append(world.begin(step))
        if isinstance(step, Done) and not open_:
            return ""
        if isinstance(step, Wait) and not open_:
            return f"node {len(world.graph)}: it waits although no node is open"
        if open_ and (len(open_) >= at_once or not isinstance(step, Step)):
            world.finish(open_.pop(world.rng.randrange(len(open_))))
    return ""


def _steps(make: Callable[[], Policy]) -> str:
    return next((fault for seed in range(4) if (fault := _grow(make(), MadeUp(seed)))), "")


def _repeats(make: Callable[[], Policy]) -> str:
    worlds = MadeUp(7), MadeUp(7)
    policy = make()
    for number in range(NODES // 2):
        # a new policy object each time, as after a resumption, against one that has seen it all
        steps = policy.next(worlds[0].view()), make().next(worlds[1].view())
        if steps[0] != steps[1]:
            return f"node {number + 1}: one process asks {steps[0]}, another one {steps[1]}"
        if not isinstance(steps[0], Step):
            return ""
        for world in worlds:
            world.finish(world.begin(steps[0]))
    return ""


def _changes_nothing(make: Callable[[], Policy]) -> str:
    world = MadeUp(3)
    policy = make()
    _grow(policy, world, NODES // 2)
    before = copy.deepcopy(world.graph.nodes)
    policy.next(world.view())
    return "" if world.graph.nodes == before else "the graph is another one after `next`"


def _at_once(make: Callable[[], Policy]) -> str:
    return next((fault for seed in range(3) if (fault := _grow(make(), MadeUp(seed), at_once=4))), "")


def _nothing_works(make: Callable[[], Policy]) -> str:
    return _grow(make(), MadeUp(1, fails=1.0), NODES // 2, at_once=2)


def _no_start(make: Callable[[], Policy]) -> str:
    return _grow(make(), MadeUp(2, start=False), NODES // 2)


def _waits(make: Callable[[], Policy]) -> str:
    world = MadeUp(5)
    return "it waits although no node is open" if isinstance(make().next(world.view()), Wait) else ""
