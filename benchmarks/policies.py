"""Policies at equal node budgets on simulated fitness landscapes with traps. Nothing is judged, no model is asked.

    python benchmarks/policies.py [--nodes 32] [--repetitions 200] [--landscapes slope,broken] [--json FILE]

A made-up author takes the parents' designs, and improves, worsens or breaks them with known chances; what a policy sees
is the graph with fitnesses, as in a search. All policies have the same authors (one a repetition), budgets and
landscapes. The policy decides every node: drafts and clean restarts, which all have in common, are off. Printed: the
best speed-up over the start after 4, 8, 16 and 32 nodes, median and quartiles over the repetitions.

What the landscapes are, and their chances, is in `LANDSCAPES`. They are made up: how policies compare on kernels hangs
on how often a model's changes help, mislead and break. `benchmarks/policies_judged.py` has real kernels, judged each.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bringup.search.conformance import MadeUp
from bringup.search.policies import Step, make_policy

POLICIES = ("one-shot", "linear", "greedy", "mcts", "islands")
MARKS = (4, 8, 16, 32)
PARTS = 4  # of a kernel, that are made faster one by one: loads, tiles, order, arithmetic


@dataclass(frozen=True)
class Design:
    """What a node is beneath its fitness; no policy sees it."""

    levels: tuple[int, ...] = (0,) * PARTS  # how far each part is made faster
    other: bool = False  # of the other algorithm
    barren: bool = False  # nearly nothing that is made of it works


@dataclass(frozen=True)
class Landscape:
    """The chances of an author's changes, and what designs are worth."""

    says: str
    broken: float = 0.2  # of a change
    better: float = 0.35  # of a change that works: one part is a level up, else a level down
    gain: float = 0.12  # of a level
    top: int = 6  # levels of a part
    switch: float = 0.0  # of a change of algorithm, which begins without any gain
    other_worth: float = 1.0  # of the other algorithm, at its beginning
    other_gain: float = 0.12
    other_top: int = 6
    barren: float = 0.0  # of a change that is a dead end
    barren_worth: float = 1.3  # of a dead end, over what it would be worth
    barren_broken: float = 0.95  # of a change of a dead end

    def fitness(self, design: Design) -> float:
        """Speed-up over the start."""
        gain, top = (self.other_gain, self.other_top) if design.other else (self.gain, self.top)
        worth = math.prod(1 + gain * max(-3, min(level, top)) for level in design.levels)
        return worth * (self.other_worth if design.other else 1.0) * (self.barren_worth if design.barren else 1.0)

    def change(self, parents: Sequence[Design], rng: random.Random) -> Design | None:
        """Return what an author makes of designs; None: it does not work."""
        first = parents[0]
        if rng.random() < (self.barren_broken if first.barren else self.broken):
            return None
        if rng.random() < self.switch:
            return Design(other=not first.other)
        levels = list(first.levels)
        if len(parents) > 1 and parents[1].other == first.other:
            levels = [rng.choice(pair) for pair in zip(first.levels, parents[1].levels, strict=True)]
        part = rng.randrange(PARTS)
        levels[part] += 1 if rng.random() < self.better else -1
        return replace(first, levels=tuple(levels), barren=first.barren or rng.random() < self.barren)


LANDSCAPES = {
    "slope": Landscape("35 % of changes improve, 20 % break, no traps"),
    "broken": Landscape("60 % of changes break", broken=0.6),
    "local optimum": Landscape(
        "60 % of changes improve, but the start's algorithm ends at 2.1x; another begins at 0.9x and ends at 9.4x, and "
        "15 % of changes go over to it, or back",
        better=0.6, gain=0.2, top=1, switch=0.15, other_worth=0.9, other_gain=0.4, other_top=2,
    ),
    "dead ends": Landscape(
        "25 % of changes give a kernel that is 1.3x as fast as it should be, and 95 % of its changes break", barren=0.25
    ),
}  # fmt: skip


def search(policy: str, landscape: Landscape, nodes: int, repetition: int) -> list[float]:
    """Let a policy expand a graph; return the best fitness after 0, 1, ... nodes."""
    world, decides = MadeUp(repetition), make_policy(policy)
    designs = {"0": Design()}
    curve = [1.0]
    for number in range(1, nodes + 1):
        step = decides.next(world.view())
        assert isinstance(step, Step), f"{policy} has nothing to expand: {step}"
        node = world.begin(step)
        parents = [designs[name] for name in step.parents] or [Design()]
        design = landscape.change(parents, random.Random(f"{repetition}/{number}"))
        if design is not None:
            designs[node.id] = design
        world.finish(node, landscape.fitness(design) if design is not None else 0.0)
        curve.append(max(curve[-1], node.fitness))
    return curve


def main() -> None:
    """Run all searches and print what came of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--landscapes", default=",".join(LANDSCAPES))
    parser.add_argument("--policies", default=",".join(POLICIES))
    parser.add_argument("--nodes", type=int, default=MARKS[-1])
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    marks = [mark for mark in MARKS if mark <= options.nodes]
    curves: dict[str, dict[str, list[list[float]]]] = {}
    print(f"| landscape | policy | {' | '.join(f'{mark} nodes' for mark in marks)} |")
    print(f"| --- | --- | {' | '.join('---' for _ in marks)} |")
    for name in options.landscapes.split(","):
        for policy in options.policies.split(","):
            found = [search(policy, LANDSCAPES[name], options.nodes, number) for number in range(options.repetitions)]
            curves.setdefault(name, {})[policy] = found
            cells = []
            for mark in marks:
                low, middle, high = statistics.quantiles([curve[mark] for curve in found], n=4, method="inclusive")
                cells.append(f"{middle:.2f} ({low:.2f} to {high:.2f})")
            print(f"| {name} | `{policy}` | {' | '.join(cells)} |", flush=True)
    if options.json:
        options.json.write_text(json.dumps(curves, indent=1) + "\n")


if __name__ == "__main__":
    main()
