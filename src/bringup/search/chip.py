"""The figures of the chip that a search is for: the local target's, else those that came with a node's times.

A device that is reached by files is not here: its target knows nothing of it. Whoever judged a node there has written
down what it is.
"""

from __future__ import annotations

from typing import Any

from bringup.judge.measuring import Measured
from bringup.search.graph import Graph
from bringup.search.problem import Problem
from bringup.store import Run


class Chip:
    """Reads texts from the store: ask it in a thread."""

    def __init__(self, problem: Problem, texts: Run) -> None:
        """`texts` holds what was measured."""
        self._problem, self._texts = problem, texts
        self._known: dict[str, dict[str, Any]] = {}  # by blob of a measurement

    def facts(self, graph: Graph) -> dict[str, Any]:
        """As `Target.facts` gives them; {} until a node was measured by somebody who knows."""
        if self._problem.facts:
            return dict(self._problem.facts)
        for node in reversed(list(graph)):
            if node.measured is not None and (found := self._of(node.measured.measured)):
                return found
        return {}

    def _of(self, blob: str) -> dict[str, Any]:
        if blob not in self._known:
            self._known[blob] = dict(Measured.model_validate_json(self._texts.blob(blob)).facts)
        return self._known[blob]


def device_of(facts: dict[str, Any]) -> str:
    """What the knowledge base calls an NVIDIA GPU (`sm_90`); "" for what is none, or not known."""
    capability = facts.get("capability")
    return f"sm_{capability}" if isinstance(capability, int) else ""
