"""What of a search goes into a kernel library: its best kernel, for the kinds of calls where it won.

A search times some calls. For calls like those that it won it becomes a variant; all others stay with what they had:
the library's kernel for all calls, or PyTorch's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bringup.config import RunConfig
from bringup.errors import BringupError
from bringup.library import When
from bringup.search.graph import EQUAL, Graph, Node
from bringup.store import Judged, Run
from bringup.suites import get_suite


@dataclass(frozen=True)
class Timed:
    """A timed call as a library chooses variants by it."""

    dtype: str  # of the first tensor
    rank: int  # of the first tensor
    elements: int  # of the largest tensor
    speedup: float

    @property
    def won(self) -> bool:
        """Whether the kernel was faster than what it was compared with."""
        return self.speedup > 1.0 + EQUAL


@dataclass(frozen=True)
class Result:
    """The best kernel of a search, and what may go into a library."""

    node: Node
    source: str
    judged: Judged  # the gate's verdict on it
    variants: tuple[tuple[str, When], ...]  # names and conditions; empty: it won nowhere


def result_of(run: Run) -> Result:
    """Return the result of a search; raises BringupError where it has none. Builds the timed cases (imports torch)."""
    graph = Graph()
    judged: dict[str, Judged] = {}
    for stored in run.events():
        graph.add(stored)
        if isinstance(stored.event, Judged) and stored.node and stored.event.result == "passed":
            judged[stored.node] = stored.event
    best = graph.best
    if best is None or best.candidate is None or best.id not in judged:
        raise BringupError(f"run {run.id}: the search has found no kernel that is right; nothing can be added")
    config = RunConfig.model_validate(run.config())
    calls = timed_calls(config, graph, best)
    whens = conditions(calls)
    names = ["tuned"] if len(whens) == 1 else [f"tuned-{number}" for number in range(1, len(whens) + 1)]
    return Result(best, run.blob(best.candidate), judged[best.id], tuple(zip(names, whens, strict=True)))


def timed_calls(config: RunConfig, graph: Graph, node: Node) -> list[Timed]:
    """Return the calls that were timed, with the node's speed-up on each. Builds their inputs."""
    assert config.search is not None
    measured = node.measured
    if measured is None:
        return []
    suite, operator = get_suite(config.suite_spec), config.ops[0]
    found = []
    for dtype, indices in config.search.cases.items():
        for inputs in suite.materialise(operator, dtype, config.seed):
            case = str(inputs.case)
            seconds = measured.seconds.get(case)
            if inputs.case.index not in indices or not seconds:
                continue
            baselines = measured.baselines.get(case, {})
            reference = min(baselines.values()) if baselines else graph.reference.get(case, 0.0)
            tensors = list(_tensors((inputs.args, dict(inputs.kwargs))))
            if tensors and reference:
                first = tensors[0]
                found.append(
                    Timed(
                        dtype=str(first.dtype).removeprefix("torch."),
                        rank=int(first.dim()),
                        elements=max(int(tensor.numel()) for tensor in tensors),
                        speedup=reference / seconds,
                    )
                )
    return found


def _tensors(value: Any) -> Iterable[Any]:
    if callable(getattr(value, "numel", None)):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _tensors(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _tensors(one)


def conditions(calls: Sequence[Timed]) -> list[When]:
    """Return the kinds of calls that were won: for each dtype and rank, sizes from the smallest win up to a loss.

    Nothing is claimed below the smallest call that was won, nor at or beyond one that was lost; what lies above the
    largest win is claimed only where nothing was lost there. Equal claims of several dtypes are one.
    """
    claims: dict[tuple[int, int, int | None], list[str]] = {}
    for dtype, rank in dict.fromkeys((call.dtype, call.rank) for call in calls):
        group = [call for call in calls if (call.dtype, call.rank) == (dtype, rank)]
        by_size: dict[int, bool] = {}
        for call in group:
            by_size[call.elements] = by_size.get(call.elements, True) and call.won
        low: int | None = None
        last = 0
        for size in [*sorted(by_size), None]:
            won = size is not None and by_size[size]
            if won and low is None:
                low = size
            if won and size is not None:
                last = size
            if not won and low is not None:
                claims.setdefault((rank, low, None if size is None else last), []).append(dtype)
                low = None
    return [
        When(dtypes=tuple(dtypes), ranks=(rank,), min_elements=low, max_elements=high)
        for (rank, low, high), dtypes in claims.items()
    ]
