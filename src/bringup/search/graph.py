"""The graph of a search as a fold of its events: nodes, edges, lineage, fitness. The same for every process.

Fitness is reference time over candidate time, the geometric mean over the timed cases, weighted where the suite says
how much each counts; 0 on any failure. The reference is the fastest baseline of each case, or, where the device has a
modelled clock and no baseline, the first kernel of the graph that was timed (the kernel that the search started from).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from bringup.judge.measuring import fitness
from bringup.store import (
    CallFinished,
    Memory,
    NodeFinished,
    NodeMeasured,
    NodeStarted,
    Phase,
    SearchEnded,
    StoredEvent,
)


@dataclass
class Node:
    """One candidate of the graph, or one that is still being made (`open`)."""

    id: str  # its name: "0" the start, "w1" a further kernel of the warm start, "1", "2" and so on all others
    number: int  # in the order of beginnings, from 0
    parents: tuple[str, ...]
    session: str
    started: NodeStarted
    begun_at: float
    seq: int
    worker: str = ""
    measured: NodeMeasured | None = None
    finished: NodeFinished | None = None
    ended_at: float | None = None
    tokens: int = 0
    cost: float = 0.0
    calls: int = 0
    reply: str | None = None  # blob: what its author said last
    fitness: float = 0.0
    children: list[str] = field(default_factory=list)

    @property
    def open(self) -> bool:
        """Whether it is still being made."""
        return self.finished is None

    @property
    def phase(self) -> Phase:
        """How it came about: the start, a draft or an expansion."""
        return self.started.phase

    @property
    def memory(self) -> Memory:
        """What it was told of others."""
        return self.started.memory

    @property
    def notes(self) -> dict[str, Any]:
        """What its policy wrote down with it."""
        return self.started.notes

    @property
    def candidate(self) -> str | None:
        """Blob of its source, the latest."""
        return self.finished.candidate if self.finished is not None else self.started.source

    @property
    def valid(self) -> bool:
        """Whether it counts as a kernel: it passed what it was judged on, and was timed."""
        return self.fitness > 0.0

    @property
    def result(self) -> str:
        """One word for tables."""
        return self.finished.result if self.finished is not None else "open"


class Graph:
    """The nodes of one search, in the order in which they were begun. Feed it with `add`."""

    def __init__(self) -> None:
        """Begin with no node."""
        self.nodes: dict[str, Node] = {}
        self.order: list[Node] = []  # finished ones, in the order of their ends
        self.ended: SearchEnded | None = None
        self.last_seq = 0
        self.begun_at: float | None = None
        self._sessions: dict[str, Node] = {}
        self.reference: dict[str, float] = {}  # by case: seconds, where the device has no baseline

    @classmethod
    def of(cls, events: Iterable[StoredEvent]) -> Graph:
        """Fold events."""
        graph = cls()
        for stored in events:
            graph.add(stored)
        return graph

    def add(self, stored: StoredEvent) -> None:
        """Take one more event; those of before the last one taken are passed over."""
        if stored.seq and stored.seq <= self.last_seq:
            return
        self.last_seq = max(self.last_seq, stored.seq)
        if self.begun_at is None:
            self.begun_at = stored.time
        event = stored.event
        if isinstance(event, NodeStarted):
            self._begin(stored, event)
        elif isinstance(event, SearchEnded):
            self.ended = event
        elif (node := self._sessions.get(stored.session or "")) is not None:
            if isinstance(event, NodeMeasured):
                node.measured = event
            elif isinstance(event, NodeFinished):
                self._finish(node, event, stored.time)
            elif isinstance(event, CallFinished):
                node.tokens += event.usage.input_tokens + event.usage.output_tokens
                node.cost += event.cost or 0.0
                node.calls += 1
                if event.role == "generate":
                    node.reply = event.reply

    def _begin(self, stored: StoredEvent, event: NodeStarted) -> None:
        if stored.node in self.nodes:
            return  # begun a second time by a process that resumed a search killed at its very start
        node = Node(
            id=stored.node,
            number=len(self.nodes),
            parents=stored.parents,
            session=stored.session or "",
            started=event,
            begun_at=stored.time,
            seq=stored.seq,
            worker=stored.worker,
        )
        self.nodes[node.id] = node
        self._sessions[node.session] = node
        for parent in node.parents:
            self.nodes[parent].children.append(node.id)
        self.ended = None

    def _finish(self, node: Node, event: NodeFinished, when: float) -> None:
        node.finished = event
        node.ended_at = when
        node.fitness = self._fitness(node)
        self.order.append(node)

    def _fitness(self, node: Node) -> float:
        event, measured = node.finished, node.measured
        if event is None or event.result != "passed" or measured is None or measured.result != "passed":
            return 0.0
        if measured.candidate != event.candidate:
            return 0.0
        if not measured.baselines and not self.reference:
            self.reference = dict(measured.seconds)
        return self.fitness_of(measured)

    def fitness_of(self, measured: NodeMeasured) -> float:
        """Return the fitness that a measurement has, also that of a candidate that is not in the graph yet."""
        return fitness(measured.seconds, self._references(measured), measured.weights)

    def speedups(self, measured: NodeMeasured) -> dict[str, float]:
        """Return reference time over candidate time by case; those that have no reference are left out."""
        found = self._references(measured)
        ratios = {case: fitness({case: own}, found) for case, own in measured.seconds.items()}
        return {case: ratio for case, ratio in ratios.items() if ratio}

    def _references(self, measured: NodeMeasured) -> dict[str, float]:
        best = {case: min(found.values()) for case, found in measured.baselines.items() if found}
        return best or self.reference

    # what policies and commands ask

    def __len__(self) -> int:
        """Return the number of nodes, open ones and the start included."""
        return len(self.nodes)

    def __iter__(self) -> Iterator[Node]:
        """Yield the nodes in the order of their beginnings."""
        return iter(self.nodes.values())

    def __getitem__(self, node: str) -> Node:
        """Return a node; raises KeyError."""
        return self.nodes[node]

    @property
    def valid(self) -> list[Node]:
        """Nodes with a fitness, in the order of their ends."""
        return [node for node in self.order if node.valid]

    @property
    def open(self) -> list[Node]:
        """Nodes that are being made."""
        return [node for node in self if node.open]

    @property
    def spent(self) -> int:
        """Nodes that count against a limit: all but the kernels that the search began with."""
        return sum(node.phase != "start" for node in self)

    @property
    def gated(self) -> list[Node]:
        """Those of `valid` that passed the whole gate."""
        return [node for node in self.valid if node.finished is not None and node.finished.gate]

    @property
    def best(self) -> Node | None:
        """The fittest node that passed the whole gate; the first of equals."""
        return max(self.gated, key=lambda node: (node.fitness, -node.number), default=None)

    @property
    def roots(self) -> list[Node]:
        """Kernels that the search began with."""
        return [node for node in self if node.phase == "start"]

    def since_best(self) -> int:
        """Return how many nodes have ended since the best one improved (starts do not count)."""
        best, count = 0.0, 0
        for node in self.order:
            if node.fitness > best * (1 + EQUAL):
                best, count = node.fitness, 0
            elif node.phase != "start":
                count += 1
        return count

    def curve(self) -> list[tuple[int, float]]:
        """Return the best fitness after 0, 1, ... finished nodes beside the start."""
        points: list[tuple[int, float]] = [(0, 0.0)]
        for node in self.order:
            gated = node.fitness if node.finished is not None and node.finished.gate else 0.0
            best = max(points[-1][1], gated)
            if node.phase == "start":
                points[-1] = (points[-1][0], best)
            else:
                points.append((points[-1][0] + 1, best))
        return points

    def ancestors(self, node: str) -> list[Node]:
        """Return all nodes that `node` came from, nearest first, each once."""
        found: dict[str, Node] = {}
        todo = list(self[node].parents)
        while todo:
            name = todo.pop(0)
            if name not in found:
                found[name] = self[name]
                todo += self[name].parents
        return list(found.values())

    def descendants(self, node: str) -> list[Node]:
        """Return all nodes that came from `node`, each once."""
        found: dict[str, Node] = {}
        todo = list(self[node].children)
        while todo:
            name = todo.pop(0)
            if name not in found:
                found[name] = self[name]
                todo += self[name].children
        return list(found.values())

    def siblings(self, parents: Iterable[str], but: str = "") -> list[Node]:
        """Return the finished children of any of `parents`, in the order of their beginnings, without node `but`."""
        names = {child for parent in parents for child in self[parent].children if child != but}
        return [node for node in self if node.id in names and not node.open]


EQUAL = 1e-9  # relative: fitness is a ratio of times, and more than this apart is another
