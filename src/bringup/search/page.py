"""A search as one HTML file that needs nothing else and runs no script: click a node for what is known of it.

Several searches stand side by side, with one plot of their best fitness over nodes.
"""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from bringup.errors import EnvironmentFault
from bringup.files import write_atomically
from bringup.judge.measuring import Measured
from bringup.report.svg import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, number, ticks
from bringup.search.graph import Graph, Node
from bringup.search.prompting import change_of, outcome
from bringup.search.words import came_from, seconds, tree
from bringup.store import Judged, Run
from bringup.verdict import Verdict

STYLES = 6  # colours of lines, see the style sheet
ROW, COLUMN, MARGIN = 22.0, 26.0, 16.0


@dataclass(frozen=True)
class Searched:
    """One search with all that its page shows."""

    run: str
    config: dict[str, Any]
    graph: Graph
    details: dict[str, dict[str, Any]]  # by node

    @property
    def title(self) -> str:
        """The operator, where and how it was searched."""
        search = self.config.get("search") or {}
        return f"{self.operator} on {self.config.get('target', '')}, {search.get('policy', '')}"

    @property
    def operator(self) -> str:
        """The operator's name."""
        return str((list(self.config.get("ops") or ()) or [""])[0])


def read_search(run: Run) -> Searched:
    """Read a search with the texts of its nodes; raises StoreError."""
    graph = Graph()
    judged: dict[str, Judged] = {}
    for stored in run.events():
        graph.add(stored)
        if isinstance(stored.event, Judged) and stored.node:
            judged[stored.node] = stored.event
    sources = {node.id: run.blob(node.candidate) for node in graph if node.candidate}
    details = {node.id: _detail(run, node, graph, sources, judged.get(node.id)) for node in graph}
    return Searched(run.id, dict(run.config()), graph, details)


def _detail(run: Run, node: Node, graph: Graph, sources: dict[str, str], judged: Judged | None) -> dict[str, Any]:
    measured = None
    if node.measured is not None:
        measured = Measured.model_validate_json(run.blob(node.measured.measured))
    verdict: Verdict | None = run.verdict(judged) if judged is not None else None
    source = sources.get(node.id, "")
    parent = next((name for name in node.parents if name in sources), None)
    return {
        "source": source,
        "diff": _diff(sources[parent], source, parent, node.id) if parent is not None and source else [],
        "change": change_of(run.blob(node.reply)) if node.reply is not None else "",
        "verdict": verdict,
        "measured": measured,
    }


def _diff(before: str, after: str, parent: str, node: str) -> list[tuple[str, str]]:
    """Return the unified difference of two sources as (class, line)."""
    found = difflib.unified_diff(
        before.splitlines(), after.splitlines(), f"node {parent}", f"node {node}", lineterm="", n=3
    )
    kinds = {"+": "add", "-": "del", "@": "at"}
    return [(kinds.get(text[:1], ""), text) for text in found]


def to_html(searches: Sequence[Searched]) -> str:
    """Return the page."""
    titles = [search.title for search in searches]
    return (
        _environment()
        .get_template("tree.html.jinja")
        .render(searches=searches, title=titles[0] if len(titles) == 1 else f"{len(titles)} searches")
    )


def write_page(searches: Sequence[Searched], path: Path) -> Path:
    """Write the page, whole or not at all; raises EnvironmentFault when it cannot be written."""
    try:
        write_atomically(path, to_html(searches).encode(), durable=False)
    except OSError as error:
        raise EnvironmentFault(f"page {path}: cannot be written: {error.strerror}; give another file") from error
    return path


def _text(name: str) -> str:
    return files("bringup.search").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_text), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"seconds": seconds, "outcome": outcome, "came_from": came_from, "json": _json}
    environment.globals |= {"plot": plot, "drawing": drawing, "style": Markup(_text("tree.css")), "STYLES": STYLES}
    return environment


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False)


def plot(searches: Sequence[Searched]) -> Markup:
    """Return the best fitness over nodes, one step line a search, as SVG; a table beside it has the numbers."""
    curves = [search.graph.curve() for search in searches]
    most = max(curve[-1][0] for curve in curves)
    high = max([1.0, *(value for curve in curves for _, value in curve)])
    step = _round_step(high)
    top = math.ceil(high / step - 1e-9) * step

    def x(nodes: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * nodes / max(most, 1)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / top

    shapes = []
    for mark in (step * i for i in range(round(top / step) + 1)):
        at = number(y(mark))
        shapes.append(f'<line class="grid" x1="{number(LEFT)}" x2="{number(WIDTH - RIGHT)}" y1="{at}" y2="{at}"/>')
        shapes.append(f'<text class="tick" x="{number(LEFT - 8)}" y="{at}" dy="4" text-anchor="end">{mark:g}x</text>')
    for mark in ticks(most, 12):
        at, below = number(x(mark)), number(HEIGHT - BOTTOM + 18)
        shapes.append(f'<text class="tick" x="{at}" y="{below}" text-anchor="middle">{mark}</text>')
    shapes.append(
        f'<text class="axis" x="{number((LEFT + WIDTH - RIGHT) / 2)}" y="{number(HEIGHT - 6)}" text-anchor="middle">'
        "nodes that have ended</text>"
    )
    for place, (search, curve) in enumerate(zip(searches, curves, strict=True)):
        path = f"M{number(x(curve[0][0]))} {number(y(curve[0][1]))}"
        before = curve[0][1]
        dots = []
        for nodes, value in curve[1:]:
            path += f"H{number(x(nodes))}V{number(y(value))}"
            if value != before:
                tip = escape(f"{search.title}: {value:.3g}x after {nodes}")
                dots.append(
                    f'<circle class="dot s{place % STYLES}" cx="{number(x(nodes))}" cy="{number(y(value))}" r="3">'
                    f"<title>{tip}</title></circle>"
                )
            before = value
        shapes.append(f'<path class="line s{place % STYLES}" d="{path}"/>')
        shapes += dots
    title = "Best fitness over nodes"
    return Markup(
        f'<svg class="chart" viewBox="0 0 {number(WIDTH)} {number(HEIGHT)}" role="img" aria-labelledby="plot-t">'
        f'<title id="plot-t">{title}</title>{"".join(shapes)}</svg>'
    )


def _round_step(high: float) -> float:
    """Return a round step that gives four to ten marks up to `high`."""
    size: float = 10 ** math.floor(math.log10(high / 4))
    return next(size * factor for factor in (1, 2, 2.5, 5, 10) if high / (size * factor) <= 8)


def drawing(search: Searched, place: int) -> Markup:
    """Return the graph as SVG: a node a row, its depth to the right, edges to all parents; each is a link."""
    graph = search.graph
    rows = [node for _, node in tree(graph)]
    depth: dict[str, int] = {}
    for node in rows:
        depth[node.id] = depth[node.parents[0]] + 1 if node.parents else 0
    at = {node.id: (MARGIN + COLUMN * depth[node.id], MARGIN + ROW * index) for index, node in enumerate(rows)}
    best = graph.best
    high = best.fitness if best is not None else 1.0
    shapes = []
    for node in rows:
        x, y = at[node.id]
        for rank, parent in enumerate(node.parents):
            px, py = at[parent]
            style = "edge" if rank == 0 else "edge second"
            if rank == 0:
                shapes.append(f'<path class="{style}" d="M{number(px)} {number(py)}V{number(y)}H{number(x)}"/>')
            else:
                bend = number(max(px, x) + COLUMN)
                shapes.append(
                    f'<path class="{style}" d="M{number(px)} {number(py)}C{bend} {number(py)} {bend} {number(y)} '
                    f'{number(x)} {number(y)}"/>'
                )
    wide = max((x for x, _ in at.values()), default=0.0)
    for node in rows:
        x, y = at[node.id]
        style = "open" if node.open else "failed" if not node.valid else "best" if node is best else "works"
        radius = 4 + 5 * min(node.fitness / high, 1.0) if node.valid else 4
        words = escape(f"{node.id}  {outcome(node)}"[:70])
        shapes.append(
            f'<a href="#s{place}-n{node.id}"><title>{escape(came_from(node))}</title>'
            f'<circle class="{style}" cx="{number(x)}" cy="{number(y)}" r="{number(radius)}"/>'
            f'<text class="label" x="{number(x + 14)}" y="{number(y + 4)}">{words}</text></a>'
        )
    return Markup(
        f'<svg class="tree" viewBox="0 0 {number(wide + 480)} {number(MARGIN * 2 + ROW * len(rows))}" '
        f'width="{number(wide + 480)}" role="img" aria-label="The graph of the search">{"".join(shapes)}</svg>'
    )
