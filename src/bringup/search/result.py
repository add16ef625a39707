"""What of a search goes into a kernel library: for each kind of timed call the kernel that is the fastest there.

A kernel becomes a variant for calls like those where it is the fastest; calls like those that no kernel won stay with
what they had: the library's kernel for all calls, or PyTorch's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bringup.config import RunConfig
from bringup.errors import BringupError
from bringup.judge.measuring import call_kind
from bringup.library import When
from bringup.search.graph import Graph, Node
from bringup.search.serving import Served, serving
from bringup.store import Judged, Run
from bringup.suites import get_suite
from bringup.verdict import CallKind


@dataclass(frozen=True)
class Part:
    """A kernel of a search, and the calls that it is for."""

    node: Node
    source: str
    judged: Judged  # the gate's verdict on it
    variants: tuple[tuple[str, When], ...]  # names and conditions


@dataclass(frozen=True)
class Result:
    """What a search has come to."""

    best: Part  # the fittest kernel; its variants are empty where it is the fastest in no kind of call
    parts: tuple[Part, ...]  # kernels that are the fastest somewhere, with disjoint conditions; the fittest first


def result_of(run: Run) -> Result:
    """Return the result of a search; raises BringupError where it has none.

    Builds the timed cases of a search whose events do not say of what kind they are (imports torch).
    """
    graph = Graph()
    judged: dict[str, Judged] = {}
    for stored in run.events():
        graph.add(stored)
        if isinstance(stored.event, Judged) and stored.node and stored.event.result == "passed":
            judged[stored.node] = stored.event
    best = graph.best
    if best is None or best.candidate is None or best.id not in judged:
        raise BringupError(f"run {run.id}: the search has found no kernel that is right; nothing can be added")
    measured = [node.measured for node in graph.gated if node.measured is not None]
    known = all(one.calls for one in measured)
    calls = {} if known else kinds_of(RunConfig.model_validate(run.config()))
    claims = conditions(serving(graph, calls))
    names = iter(["tuned"] if len(claims) == 1 else [f"tuned-{number}" for number in range(1, len(claims) + 1)])
    variants: dict[str, list[tuple[str, When]]] = {}
    for node, when in claims:
        variants.setdefault(node, []).append((next(names), when))

    def part(node: Node) -> Part:
        assert node.candidate is not None  # it was judged
        return Part(node, run.blob(node.candidate), judged[node.id], tuple(variants.get(node.id, ())))

    serves = sorted((graph[node] for node in variants), key=lambda node: (-node.fitness, node.number))
    return Result(part(best), tuple(part(node) for node in serves))


def kinds_of(config: RunConfig) -> dict[str, CallKind]:
    """Return the kinds of the timed calls by case. Builds their inputs."""
    assert config.search is not None
    suite, operator = get_suite(config.suite_spec), config.ops[0]
    found: dict[str, CallKind] = {}
    for dtype, indices in config.search.cases.items():
        for inputs in suite.materialise(operator, dtype, config.seed):
            kind = call_kind(inputs.args, inputs.kwargs)
            if inputs.case.index in indices and kind is not None:
                found[str(inputs.case)] = kind
    return found


def conditions(served: Mapping[CallKind, Served]) -> list[tuple[str, When]]:
    """Return which node is for which calls: of each dtype and rank sizes from the smallest that it serves upwards.

    Nothing is claimed below the smallest size that was won, nor beyond a win up to a size that was lost; what lies
    above the largest win is claimed only where nothing was lost there. Between two sizes that two nodes serve lie calls
    of the smaller one's where that won the larger size, too. Equal claims of several dtypes are one.
    """
    claims: dict[tuple[str, int, int, int | None], list[str]] = {}
    for dtype, rank in dict.fromkeys((kind.dtype, kind.rank) for kind in served):
        by_size = {kind.elements: found for kind, found in served.items() if (kind.dtype, kind.rank) == (dtype, rank)}
        sizes = sorted(by_size)
        low = 0  # the first size of the present claim, as a place in `sizes`
        for place, size in enumerate(sizes):
            node = by_size[size].node
            after = by_size[sizes[place + 1]] if place + 1 < len(sizes) else None
            if after is not None and node is after.node:
                continue
            if node is not None:
                high = _end(node, size, after, sizes[place + 1 :])
                claims.setdefault((node.id, rank, sizes[low], high), []).append(dtype)
            low = place + 1
    return [
        (node, When(dtypes=tuple(dtypes), ranks=(rank,), min_elements=low, max_elements=high))
        for (node, rank, low, high), dtypes in claims.items()
    ]


def _end(node: Node, last: int, after: Served | None, larger: Sequence[int]) -> int | None:
    """The largest size that a node is for, when `last` is the largest that it serves; None: no size is too large."""
    if after is None:
        return None
    return larger[0] - 1 if after.node is not None and node.id in after.winners else last
