"""Evolution on islands: two parents a node, small populations apart, migration around a ring, and diversity."""

from __future__ import annotations

import random
import re

from pydantic import Field

from bringup.search.graph import Graph, Node
from bringup.search.policies._base import Done, Parameters, PolicyDefaults, Step, View, Wait


class IslandParameters(Parameters):
    """Parameters of `islands`."""

    islands: int = Field(
        default=4,
        ge=1,
        description="Populations that evolve apart (FunSearch, Romera-Paredes et al. 2024, has 10 for searches of "
        "10^6 samples; ours have some dozens of nodes).",
    )
    population: int = Field(
        default=6, ge=2, description="Nodes an island keeps: its fittest (argued: nodes / islands / 2)."
    )
    tournament: int = Field(
        default=3,
        ge=1,
        description="Nodes of the population drawn, of whom the fittest is the first parent (Miller and Goldberg 1995: "
        "2 to 5).",
    )
    crossover: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="Share of nodes with two parents; the others have one, as a mutation (argued: half and half).",
    )
    migration: int = Field(
        default=5,
        ge=1,
        description="Every so many nodes of an island the second parent is the best of the island before it in the "
        "ring (Alba and Troya 1999: rare migration of few keeps islands apart).",
    )


class Islands(PolicyDefaults):
    """KernelEvolve's evolutionary shape: a multi-island graph with crossover and mutation."""

    name = "islands"
    Options = IslandParameters

    def next(self, view: View) -> Step | Wait | Done:
        """Take the island with the fewest nodes, choose one or two parents of its population."""
        graph, rng, options = view.graph, view.rng, self.options
        members: dict[int, list[Node]] = {island: [] for island in range(options.islands)}
        bred: dict[int, int] = dict.fromkeys(members, 0)
        for node in graph:
            if node.phase == "start":
                continue
            island = self._island(node)
            members[island].append(node)
            bred[island] += node.phase == "expand"
        island = min(members, key=lambda i: (bred[i], i))
        population = self.population(graph, members[island])
        notes = {"island": island}
        if not population:
            if graph.open and not graph.order:
                return Wait()
            return Step(asked=f"island {island} is empty: from scratch", notes=notes)
        first = self._tournament(population, rng)
        neighbour = (island - 1) % options.islands
        if options.islands > 1 and bred[island] % options.migration == options.migration - 1:
            abroad = self.population(graph, members[neighbour])
            abroad = [node for node in abroad if node.candidate != first.candidate]
            if abroad:
                return Step(
                    parents=(first.id, abroad[0].id),
                    asked=f"join the strengths of island {island} and of a migrant of island {neighbour}",
                    notes={**notes, "migrant": abroad[0].id},
                )
        others = [node for node in population if node.candidate != first.candidate]
        if others and rng.random() < options.crossover:
            drawn = rng.sample(others, min(options.tournament, len(others)))
            # the most different of those drawn: crossing a kernel with its copy gives nothing
            words = _words(view.source(first))
            second = max(drawn, key=lambda n: (_distance(words, _words(view.source(n))), n.fitness, -n.number))
            return Step(parents=(first.id, second.id), asked=f"island {island}: join two parents", notes=notes)
        return Step(parents=(first.id,), asked=f"island {island}: vary one parent", notes=notes)

    def population(self, graph: Graph, members: list[Node]) -> list[Node]:
        """Return an island's fittest nodes, each source once, the fittest first; the start where none works."""
        found: dict[str | None, Node] = {}
        works = sorted((node for node in members if node.valid), key=lambda n: (-n.fitness, n.number))
        starts = sorted((node for node in graph.roots if node.valid), key=lambda n: (-n.fitness, n.number))
        for node in [*works, *starts]:
            found.setdefault(node.candidate, node)
        return sorted(found.values(), key=lambda n: (-n.fitness, n.number))[: self.options.population]

    def _island(self, node: Node) -> int:
        return int(node.notes.get("island", node.number)) % int(self.options.islands)

    def _tournament(self, population: list[Node], rng: random.Random) -> Node:
        drawn = rng.sample(population, min(self.options.tournament, len(population)))
        return max(drawn, key=lambda n: (n.fitness, -n.number))


def _words(source: str) -> frozenset[str]:
    return frozenset(re.findall(r"[A-Za-z_][A-Za-z0-9_.]*|\d+", source))


def _distance(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the Jaccard distance between the words of two sources: 0 the same, 1 nothing in common."""
    whole = one | other
    return 1.0 - len(one & other) / len(whole) if whole else 0.0
