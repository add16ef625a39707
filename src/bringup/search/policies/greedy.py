"""Best first: the fittest node is expanded until it has disappointed often enough."""

from __future__ import annotations

from pydantic import Field

from bringup.search.graph import EQUAL, Graph, Node
from bringup.search.policies._base import Done, Parameters, PolicyDefaults, Step, View, Wait


class GreedyParameters(Parameters):
    """Parameters of `greedy`."""

    patience: int = Field(
        default=5,
        ge=1,
        description="Children of a node in a row that are no better than it, after which the next best has its turn "
        "(5: `max_no_improvement` of the greedy search in meta-pytorch/KernelAgent; KernelEvolve publishes none).",
    )


class Greedy(PolicyDefaults):
    """argmax of fitness (KernelEvolve's greedy selection), with patience so that one good node is not a dead end."""

    name = "greedy"
    Options = GreedyParameters

    def next(self, view: View) -> Step | Wait | Done:
        """Expand the fittest node among those that have disappointed least."""
        graph = view.graph
        nodes = graph.valid
        if not nodes:
            return Wait() if graph.open and not graph.order else Step(asked="nothing works yet: from scratch")
        chosen = min(nodes, key=lambda n: (self.disappointments(graph, n), -n.fitness, n.number))
        return Step(parents=(chosen.id,), asked=f"improve the best, {chosen.fitness:.2f}x")

    def disappointments(self, graph: Graph, node: Node) -> int:
        """Return how many times a node's patience is used up: by children that are no better, open ones included."""
        fruitless = sum(
            child.open or child.fitness <= node.fitness * (1 + EQUAL) for child in map(graph.__getitem__, node.children)
        )
        return fruitless // int(self.options.patience)
