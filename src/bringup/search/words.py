"""A search in words: a node as a line, the tree as text, the best so far. The terminal's and the page's."""

from __future__ import annotations

from collections.abc import Iterator

from bringup.search.graph import Graph, Node
from bringup.search.prompting import outcome
from bringup.search.serving import serving


def seconds(value: float) -> str:
    """Return a duration: `1.25 ms`, `3.1 s`, `2 min 5 s`."""
    if value >= 90:
        return f"{int(value // 60)} min {int(value % 60)} s"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= size:
            return f"{value / size:.4g} {unit}"
    return f"{value / 1e-9:.4g} ns"


def came_from(node: Node) -> str:
    """Return what a node came from, and how: `draft`, `from 3`, `from 3 and 5`, `start: recordings vpe-pe64`."""
    if node.phase == "start":
        return f"start: {node.started.asked}"
    word = "draft" if node.phase == "draft" else "restart" if not node.parents else ""
    parents = f"from {' and '.join(node.parents)}" if node.parents else ""
    return " ".join(filter(None, (word, parents))) or "from scratch"


def line(node: Node, change: str = "") -> str:
    """Return a node as one line: number, outcome, where it came from, what was changed."""
    asked = change or (node.started.asked if node.started.choice else "")
    what = f": {asked}" if asked else ""
    return f"{node.id:>4}  {outcome(node)}  {came_from(node)}{what}"


def best_line(graph: Graph) -> str:
    """Return the best so far in a line."""
    best = graph.best
    if best is None:
        return "no kernel that is right yet"
    total = sum(best.measured.seconds.values()) if best.measured is not None else 0.0
    return f"best {best.fitness:.3g}x, node {best.id}{f', {seconds(total)} over the timed calls' if total else ''}"


def serving_lines(graph: Graph) -> Iterator[str]:
    """Yield which node serves which kind of timed calls, a line each."""
    for kind, served in serving(graph).items():
        if served.node is None or served.worth is None:
            yield f"{kind}: no node is faster than what it is compared with"
        else:
            yield f"{kind}: node {served.node.id}, {served.worth.speedup:.4g}x"


def tree(graph: Graph) -> Iterator[tuple[str, Node]]:
    """Yield every node once with the drawn branch before it, children under their first parent."""
    children: dict[str, list[Node]] = {}
    tops = []
    for node in graph:
        if node.parents:
            children.setdefault(node.parents[0], []).append(node)
        else:
            tops.append(node)
    for top in tops:
        yield "", top
        yield from _below(top, children, "")


def _below(node: Node, children: dict[str, list[Node]], indent: str) -> Iterator[tuple[str, Node]]:
    # an explicit stack: a chain of hundreds of nodes is deeper than Python's own
    stack: list[tuple[list[Node], str]] = [(children.get(node.id, []), indent)]
    while stack:
        rest, indent = stack[-1]
        if not rest:
            stack.pop()
            continue
        child, *others = rest
        stack[-1] = (others, indent)
        yield indent + ("├─ " if others else "└─ "), child
        stack.append((children.get(child.id, []), indent + ("│  " if others else "   ")))
