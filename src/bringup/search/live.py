"""The live view of a search: the best so far, what is under way, the latest nodes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bringup.search.graph import Graph
from bringup.search.words import best_line, line
from bringup.store import NodeFinished, StoredEvent

if TYPE_CHECKING:
    from rich.console import Console
    from rich.panel import Panel

Observer = Callable[[StoredEvent], None]
SHOWN = 8


@contextmanager
def lines(graph: Graph, title: str, console: Console) -> Iterator[Observer]:
    """Print a line a node as it ends."""
    from rich.text import Text

    console.print(Text(title), soft_wrap=True)

    def observe(stored: StoredEvent) -> None:
        before = graph.best
        graph.add(stored)
        if isinstance(stored.event, NodeFinished):
            better = graph.best is not before
            style = "green" if better else ""
            console.print(Text(line(graph[stored.node]) + ("  <- best" if better else ""), style=style), soft_wrap=True)

    yield observe


@contextmanager
def live(graph: Graph, title: str, console: Console) -> Iterator[Observer]:
    """Keep a panel up to date while the search runs."""
    from rich.live import Live

    began = time.monotonic()
    with Live(_panel(graph, title, 0.0), console=console, refresh_per_second=4, transient=False) as shown:

        def observe(stored: StoredEvent) -> None:
            graph.add(stored)
            shown.update(_panel(graph, title, time.monotonic() - began))

        yield observe


def _panel(graph: Graph, title: str, elapsed: float) -> Panel:
    from rich.panel import Panel
    from rich.text import Text

    body = Text()
    body.append(best_line(graph) + "\n", style="bold green" if graph.best is not None else "bold")
    body.append(
        f"{graph.spent} nodes, {len(graph.valid)} right and timed, {len(graph.open)} under way, "
        f"{graph.since_best()} since the best, {elapsed:.0f} s\n",
        style="dim",
    )
    curve = graph.curve()
    if len(curve) > 1:
        body.append(spark([value for _, value in curve][-60:]) + "\n", style="cyan")
    for node in list(graph)[-SHOWN:]:
        style = "cyan" if node.open else "" if node.valid else "red"
        body.append(line(node)[:160] + "\n", style=style)
    return Panel(body, title=title, title_align="left")


def spark(values: list[float]) -> str:
    """Return values as a row of bars."""
    bars = "▁▂▃▄▅▆▇█"
    low, high = min(values), max(values)
    if high <= low:
        return bars[0] * len(values)
    return "".join(bars[round((value - low) / (high - low) * (len(bars) - 1))] for value in values)
