"""A search as plain data: for `--json`, the page and other programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bringup.search.graph import Graph, Node
from bringup.search.serving import serving
from bringup.search.words import came_from


def search_data(
    graph: Graph, run: str, config: Mapping[str, Any], change: Callable[[Node], str] | None = None
) -> dict[str, Any]:
    """Return a search with its nodes; `change` says what the author of a node changed."""
    best = graph.best
    search = config.get("search") or {}
    return {
        "run": run,
        "operator": (list(config.get("ops") or ()) or [""])[0],
        "suite": config.get("suite", ""),
        "target": config.get("target", ""),
        "policy": search.get("policy", ""),
        "cases": search.get("cases", {}),
        "weights": search.get("weights", {}),
        "best": best.id if best is not None else None,
        "fitness": best.fitness if best is not None else 0.0,
        "serving": serving_data(graph),
        "curve": graph.curve(),
        "nodes": [node_data(node, change(node) if change is not None else "") for node in graph],
    }


def serving_data(graph: Graph) -> list[dict[str, Any]]:
    """Return which node serves which kind of timed calls; None where none is faster than what it is compared with."""
    return [
        {
            **kind.model_dump(),
            "node": served.node.id if served.node is not None else None,
            "speedup": served.worth.speedup if served.worth is not None else None,
        }
        for kind, served in serving(graph).items()
    ]


def node_data(node: Node, change: str = "") -> dict[str, Any]:
    """Return one node."""
    measured, finished = node.measured, node.finished
    return {
        "node": node.id,
        "parents": list(node.parents),
        "phase": node.phase,
        "memory": node.memory,
        "result": node.result,
        "fitness": node.fitness,
        "gate": finished.gate if finished is not None else False,
        "summary": finished.summary if finished is not None else "",
        "from": came_from(node),
        "asked": node.started.asked,
        "change": change,
        "choice": node.started.choice,
        "notes": node.notes,
        "candidate": node.candidate,
        "seconds_by_case": measured.seconds if measured is not None else {},
        "baselines": measured.baselines if measured is not None else {},
        "clock": measured.clock if measured is not None else "",
        "bound": measured.bound if measured is not None else "",
        "calls": node.calls,
        "tokens": node.tokens,
        "begun_at": node.begun_at,
        "ended_at": node.ended_at,
    }
