"""What a search measured of its nodes, as far as lessons and rewards need it."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bringup.judge.measuring import fitness
from bringup.store import StoredEvent


@dataclass(frozen=True)
class Timed:
    """A node's candidate that was timed. Times are medians in seconds, by case."""

    node: str
    parents: tuple[str, ...]
    candidate: str  # blob
    seconds: Mapping[str, float]
    baselines: Mapping[str, Mapping[str, float]]
    bound: str  # "" where nothing was diagnosed
    blob: str  # the whole measurement
    passed: bool
    weights: Mapping[str, float] = field(default_factory=dict)  # by case: how much it counts; {}: all alike
    asked: str = ""  # what the node was to change
    choice: Mapping[str, Any] = field(default_factory=dict)  # of what its parent's source leaves open

    @property
    def mean(self) -> float:
        """Geometric mean of the times in seconds."""
        return statistics.geometric_mean(self.seconds.values())


def timed_nodes(events: Iterable[StoredEvent]) -> list[Timed]:
    """Return the measured candidates in order; of a node that was measured several times, each."""
    started: dict[str, Any] = {}
    found: list[Timed] = []
    for stored in events:
        event: Any = stored.event  # node events are of the search alone
        if event.kind == "node_started":
            started[stored.node] = event
        elif event.kind == "node_measured":
            begun = started.get(stored.node)
            found.append(
                Timed(
                    node=stored.node,
                    parents=stored.parents,
                    candidate=event.candidate,
                    seconds=event.seconds,
                    baselines=event.baselines,
                    bound=event.bound,
                    blob=event.measured,
                    passed=event.result == "passed" and bool(event.seconds),
                    weights=event.weights,
                    asked=getattr(begun, "asked", ""),
                    choice=getattr(begun, "choice", {}),
                )
            )
    return found


def fitness_of(timed: Timed, start: Mapping[str, float]) -> float:
    """Return reference time over candidate time, the geometric mean over the cases; 0 for what did not pass.

    The reference of a case is its fastest baseline; where there is none, `start`: what the first kernel that the
    search timed takes (a chip with a modelled clock has no other reference).
    """
    if not timed.passed:
        return 0.0
    best = {case: min(times.values()) for case, times in timed.baselines.items() if times}
    return fitness(timed.seconds, best or start, timed.weights)


def start_times(nodes: Iterable[Timed]) -> Mapping[str, float]:
    """Return the times of the first kernel that passed, by case."""
    return next((node.seconds for node in nodes if node.passed), {})


def gain(parent: Timed, child: Timed) -> float:
    """Return the parent's time over the child's over the cases that both have; 0 where they share none."""
    shared = [case for case in child.seconds if parent.seconds.get(case, 0.0) > 0 and child.seconds[case] > 0]
    if not (parent.passed and child.passed and shared):
        return 0.0
    return statistics.geometric_mean(parent.seconds[case] / child.seconds[case] for case in shared)
