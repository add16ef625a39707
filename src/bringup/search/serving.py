"""Which node of a search serves which kinds of timed calls: the fastest there that passed the whole gate.

The fittest node is the fastest on the whole; another may be faster for one dtype or size. A kind of call is what a
library can tell apart: dtype and rank of the first tensor, elements of the largest.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field

from bringup.search.graph import EQUAL, Graph, Node
from bringup.store import NodeMeasured
from bringup.verdict import CallKind


@dataclass(frozen=True)
class Worth:
    """What a measurement says of one kind of call."""

    speedup: float  # the geometric mean over the calls of that kind
    doubt: float  # how far it may be off, relative: of the calls the largest
    won: bool  # faster than the reference in each of them, by more than the doubt

    def beats(self, other: Worth) -> bool:
        """Whether it is the faster one by more than both measurements leave open."""
        return self.speedup > other.speedup * (1.0 + max(math.hypot(self.doubt, other.doubt), EQUAL))


@dataclass(frozen=True)
class Served:
    """Who serves a kind of call."""

    node: Node | None  # None: nothing was faster than the reference; what there was before serves
    worth: Worth | None = None
    winners: frozenset[str] = field(default=frozenset())  # all nodes that were faster than the reference


def worths(graph: Graph, measured: NodeMeasured, calls: Mapping[str, CallKind]) -> dict[CallKind, Worth]:
    """Return what a measurement says of each kind of call; `calls` has the kinds by case."""
    by_kind: dict[CallKind, list[tuple[float, float]]] = {}
    for case, speedup in graph.speedups(measured).items():
        if case in calls:
            by_kind.setdefault(calls[case], []).append((speedup, measured.doubts.get(case, 0.0)))
    return {
        kind: Worth(
            statistics.geometric_mean([speedup for speedup, _ in found]),
            max(doubt for _, doubt in found),
            all(speedup > 1.0 + max(doubt, EQUAL) for speedup, doubt in found),
        )
        for kind, found in by_kind.items()
    }


def serving(graph: Graph, calls: Mapping[str, CallKind] | None = None) -> dict[CallKind, Served]:
    """Return who serves each kind of timed call. `calls`: the kinds by case, where the events do not say.

    Of nodes that the measurements cannot tell apart there the fittest serves, so that few kernels serve all.
    """
    found: dict[CallKind, list[tuple[Node, Worth]]] = {}
    for node in graph.gated:
        assert node.measured is not None
        for kind, worth in worths(graph, node.measured, node.measured.calls or calls or {}).items():
            winners = found.setdefault(kind, [])
            if worth.won:
                winners.append((node, worth))
    return {kind: _served(winners) for kind, winners in found.items()}


def _served(winners: list[tuple[Node, Worth]]) -> Served:
    if not winners:
        return Served(None)
    _, fastest = max(winners, key=lambda pair: pair[1].speedup)
    equals = [pair for pair in winners if not fastest.beats(pair[1])]
    node, worth = max(equals, key=lambda pair: (pair[0].fitness, -pair[0].number))
    return Served(node, worth, frozenset(one.id for one, _ in winners))


def leads(graph: Graph, measured: NodeMeasured) -> bool:
    """Whether a candidate that is not in the graph yet would serve a kind of call, if it passed the whole gate."""
    known = serving(graph)
    for kind, worth in worths(graph, measured, measured.calls).items():
        served = known.get(kind, Served(None))
        if worth.won and (served.worth is None or worth.beats(served.worth)):
            return True
    return False
