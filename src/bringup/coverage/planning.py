"""Which kernels to make next: what is missing, in the order in which it unlocks names, gradients and models.

A measurement says of each name which overloads it calls that nothing serves, and what a decomposition of each lacks.
What a device cannot do is never in the order; it is listed apart, with the reason and with the goals that it blocks.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from bringup.coverage.records import OperatorResult

Kind = Literal["name", "gradient", "model"]
KINDS: tuple[Kind, ...] = ("name", "gradient", "model")
Needs = Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class Goal:
    """Something that passes once all that it calls is served."""

    kind: Kind
    """A public name in its forms without gradients, its gradients, or a captured program."""
    name: str
    needs: Needs
    """Overloads called that nothing serves; with each, what its decomposition lacks (itself, if it has none)."""
    weight: float = 1.0
    """How many names it is worth."""


@dataclass(frozen=True)
class Step:
    """A kernel to make."""

    overload: str
    unlocks: Mapping[Kind, tuple[str, ...]]
    """Goals that lack nothing else once this kernel and those before it in the order are there."""
    needed_by: int
    """Goals that lack it, others beside it or not."""


@dataclass
class Order:
    """The kernels to make, in order, and what no kernel can unlock."""

    steps: list[Step] = field(default_factory=list)
    goals: Counter[Kind] = field(default_factory=Counter)
    """How many goals of each kind are open."""
    apart: dict[str, str] = field(default_factory=dict)
    """Missing overloads that cannot be made, with the reason."""
    blocked: list[tuple[Goal, tuple[str, ...]]] = field(default_factory=list)
    """Goals that need such a one, with those that they need."""

    @property
    def kernels(self) -> list[str]:
        """The overloads, in order."""
        return [step.overload for step in self.steps]


def goals_of(results: Iterable[OperatorResult], had: Iterable[str] = ()) -> list[Goal]:
    """Return what a measurement leaves open for lack of kernels alone: another kernel does not mend a wrong result.

    `had`: kernels that have come since it was made; what they unlock alone is done. A name's gradients are a goal where
    its other forms pass or lack kernels, too.
    """
    there = frozenset(had)
    goals = []
    for result in results:
        every = {name: frozenset(parts) for name, parts in result.needs.items()}
        forward = {name: parts for name, parts in every.items() if name not in result.gradient_only}
        others = [tally for form, tally in result.forms.items() if form != "gradient"]
        gradient = result.forms.get("gradient")
        # Files of before forms were told apart say only what failed in all.
        wrong = set(result.failed) - {"missing"}
        if wrong and not any(tally.failed for tally in result.forms.values()):
            continue
        if any(set(tally.failed) - {"missing"} for tally in others):
            continue
        if any(tally.passed < tally.total for tally in others) and forward:
            goals.append(Goal("name", result.operator, forward))
        if gradient and gradient.passed < gradient.total and every and set(gradient.failed) <= {"missing"}:
            goals.append(Goal("gradient", result.operator, every))
    return [goal for goal in (without(goal, there) for goal in goals) if goal.needs]


def without(goal: Goal, kernels: frozenset[str]) -> Goal:
    """Return a goal with the needs that more kernels leave open."""
    needs = {d: p - kernels for d, p in goal.needs.items() if d not in kernels and not p <= kernels}
    return Goal(goal.kind, goal.name, needs, goal.weight)


def order(goals: Sequence[Goal], cannot: Callable[[str], str | None]) -> Order:
    """Put missing kernels into the order that unlocks goals soonest.

    Each step takes the kernel that unlocks goals of the most weight; where none unlocks any, the one with the largest
    share in what goals lack (a goal that lacks n kernels gives each 1/n of its weight). Kernels first in the alphabet
    come first among equals. `cannot` gives the reason why a kernel cannot be made, or None.
    """
    found = Order()
    reasons: dict[str, str | None] = {}

    def makes(kernel: str) -> bool:
        if kernel not in reasons:
            reasons[kernel] = cannot(kernel)
        return reasons[kernel] is None

    left: list[Goal] = []
    for goal in goals:
        needs: dict[str, frozenset[str]] = {}
        blocked: list[str] = []
        for direct, parts in goal.needs.items():
            if makes(direct):
                # A decomposition with a part that cannot be made is none.
                needs[direct] = parts if all(map(makes, parts)) else frozenset({direct})
            elif direct not in parts and all(map(makes, parts)):
                needs[direct] = parts
            else:
                blocked.extend(k for k in {direct, *parts} if not makes(k))
        if blocked:
            found.blocked.append((goal, tuple(sorted(blocked))))
        else:
            left.append(Goal(goal.kind, goal.name, needs, goal.weight))
    found.goals.update(goal.kind for goal in left)
    needed = Counter(kernel for goal in left for kernel in _offered(goal, makes))
    while left:
        alone: defaultdict[str, float] = defaultdict(float)
        share: defaultdict[str, float] = defaultdict(float)
        for goal in left:
            for direct, parts in goal.needs.items():
                part = goal.weight / len(goal.needs)
                for kernel in {direct, *parts}:
                    if makes(kernel):
                        # The kernel of the overload itself closes this call; a part of its decomposition a share of it.
                        share[kernel] += part if kernel == direct else part / len(parts)
            for kernel in _offered(goal, makes):
                if not without(goal, frozenset({kernel})).needs:
                    alone[kernel] += goal.weight
        best = min(share, key=lambda k: (-alone[k], -share[k], k))
        left = [without(goal, frozenset({best})) for goal in left]
        freed = [goal for goal in left if not goal.needs]
        left = [goal for goal in left if goal.needs]
        unlocks = {kind: tuple(sorted(g.name for g in freed if g.kind == kind)) for kind in KINDS}
        found.steps.append(Step(best, {k: names for k, names in unlocks.items() if names}, needed[best]))
    found.apart = {kernel: reason for kernel, reason in sorted(reasons.items()) if reason is not None}
    return found


def _offered(goal: Goal, makes: Callable[[str], bool]) -> set[str]:
    return {kernel for direct, parts in goal.needs.items() for kernel in (direct, *parts) if makes(kernel)}


__all__ = ["KINDS", "Goal", "Order", "Step", "goals_of", "order", "without"]
