"""Monte-Carlo tree search over the graph: UCT, normalised values, progressive widening."""

from __future__ import annotations

import math
from typing import Literal

from pydantic import Field

from bringup.search.graph import Graph, Node
from bringup.search.policies._base import Done, Parameters, PolicyDefaults, Step, View, Wait


class TreeParameters(Parameters):
    """Parameters of `mcts`."""

    exploration: float = Field(
        default=math.sqrt(2.0),
        ge=0,
        description="c of UCT, Q/N + c sqrt(ln N(parent) / N) (sqrt 2: Auer, Cesa-Bianchi and Fischer 2002; Kocsis "
        "and Szepesvari 2006, for values between 0 and 1; KernelEvolve publishes none).",
    )
    widening: float = Field(
        default=1.0,
        gt=0,
        description="k of progressive widening: a node has at most k N^alpha children (Coulom 2007; Couetoux et al. "
        "2011).",
    )
    alpha: float = Field(
        default=0.5, gt=0, le=1, description="Exponent of progressive widening (0.5: Couetoux et al. 2011)."
    )
    backup: Literal["mean", "max"] = Field(
        default="mean",
        description="Value of a subtree: the mean of its nodes (UCT's own), or the best of them (what counts here is "
        "the best kernel found).",
    )


class TreeSearch(PolicyDefaults):
    """UCT on the first parent of each node. Fitness over the best fitness so far is a node's value, 0 on failure.

    A node that is being made counts as a visit of value 0 (the virtual loss of Chaslot, Winands and van den Herik
    2008), so that workers at once spread out.
    """

    name = "mcts"
    Options = TreeParameters

    def next(self, view: View) -> Step | Wait | Done:
        """Walk down from the nodes without parents to the one to expand."""
        graph = view.graph
        best = graph.best.fitness if graph.best is not None else max((n.fitness for n in graph.valid), default=0.0)
        if best <= 0.0:
            return Wait() if graph.open and not graph.order else Step(asked="nothing works yet: from scratch")
        visits = {node.id: self._subtree(graph, node) for node in graph}
        values = {name: self._value(nodes, best) for name, nodes in visits.items()}
        tops = [node for node in graph if not node.parents and node.valid]
        total = sum(len(visits[node.id]) for node in tops)
        if not tops:  # what works came from what does not: begin at the works themselves
            tops = graph.valid
            total = len(graph)
        node = max(tops, key=lambda n: self._uct(n, visits, values, total))
        while True:
            children = [c for c in map(graph.__getitem__, node.children) if c.parents[0] == node.id]
            count = len(visits[node.id])
            works = [child for child in children if child.valid]
            if not works or len(children) < self.options.widening * count**self.options.alpha:
                break
            node = max(works, key=lambda n: self._uct(n, visits, values, count))
        value = values[node.id]
        return Step(parents=(node.id,), asked=f"expand {node.fitness:.2f}x (value {value:.2f} over {count} visits)")

    def _subtree(self, graph: Graph, node: Node) -> list[Node]:
        found = [node]
        for one in found:
            found += [c for c in map(graph.__getitem__, one.children) if c.parents[0] == one.id]
        return found

    def _value(self, nodes: list[Node], best: float) -> float:
        shares = [min(node.fitness / best, 1.0) for node in nodes]
        return max(shares) if self.options.backup == "max" else sum(shares) / len(shares)

    def _uct(
        self, node: Node, visits: dict[str, list[Node]], values: dict[str, float], total: int
    ) -> tuple[float, int]:
        count = len(visits[node.id])
        bonus = self.options.exploration * math.sqrt(math.log(max(total, 1)) / count)
        return values[node.id] + bonus, -node.number
