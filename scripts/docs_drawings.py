"""The documentation's drawings as SVG. They follow the reader's light or dark preference and need nothing else.

The rooms are read from the import contract in pyproject.toml, the states and transitions from the engine's table; a
state that has no place here is an error, so that a drawing never shows less than the code has.
"""

from __future__ import annotations

import math
import textwrap
import tomllib
from html import escape
from pathlib import Path

from bringup.session.table import ENDS, TABLE, State

STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1b232c; }
.small { font-size: 11.5px; fill: #5a6774; }
.box { fill: #f3f6f9; stroke: #9fb0c0; }
.model { fill: #e3eefb; stroke: #5b8fd0; }
.good { fill: #def3e7; stroke: #3f9e6b; }
.bad { fill: #fbe6e4; stroke: #c76b64; }
.guest { fill: #fdf0d9; stroke: #cf9b3d; }
.group { fill: none; stroke: #9fb0c0; stroke-dasharray: 4 3; }
.wall { fill: #c3ccd5; }
.edge { fill: none; stroke: #6b7a88; stroke-width: 1.3; }
.tip { fill: #6b7a88; }
.page { fill: #ffffff; }
@media (prefers-color-scheme: dark) {
  text { fill: #e4e9ee; } .small { fill: #9aa7b4; }
  .box { fill: #232b34; stroke: #566575; } .model { fill: #1d3048; stroke: #5b8fd0; }
  .good { fill: #1b3627; stroke: #43a974; } .bad { fill: #412422; stroke: #cf6f68; }
  .guest { fill: #3a2f1a; stroke: #c7983f; }
  .group { stroke: #566575; } .wall { fill: #4a5763; }
  .edge { stroke: #8a98a6; } .tip { fill: #8a98a6; } .page { fill: #1e2129; }
}
""".strip()


def drawings(root: Path) -> dict[str, str]:
    """Return every drawing by name."""
    return {"state-machine": state_machine(), "rooms": rooms(root), "processes": processes(), "wall": wall(),
            "search": search()}  # fmt: skip


def svg(width: int, height: int, title: str, shapes: list[str]) -> str:
    """Return a drawing with a title for readers that cannot see it."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img">\n<title>{escape(title)}</title>\n<style>\n{STYLE}\n</style>\n'
        f'<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path class="tip" d="M0 0L8 4L0 8z"/></marker></defs>\n'
        f'<rect class="page" width="{width}" height="{height}"/>\n' + "\n".join(shapes) + "\n</svg>\n"
    )


def box(
    x: float, y: float, width: float, height: float, lines: list[str], style: str = "box", rx: int = 8
) -> list[str]:
    """Return a box with centred lines; the first is in normal size, the others are small."""
    shapes = [f'<rect class="{style}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{rx}"/>']
    top = y + height / 2 - (len(lines) - 1) * 8 + 4.5
    for index, line in enumerate(lines):
        small = ' class="small"' if index else ""
        shapes.append(
            f'<text{small} x="{x + width / 2:g}" y="{top + index * 16:g}" text-anchor="middle">{escape(line)}</text>'
        )
    return shapes


# The state machine ------------------------------------------------------------------------------------------------

WIDE, HIGH = 118.0, 36.0
WORDS = 30  # characters in a line of a label: it must fit between two boxes side by side
PLACES: dict[State, tuple[float, float]] = {  # centres
    State.START: (90, 150),
    State.GENERATE: (440, 150),
    State.NEW_DIALOG: (740, 50),
    State.NEXT_ATTEMPT: (740, 222),
    State.EXHAUSTED: (1010, 222),
    State.UNANSWERED: (1010, 140),
    State.NOT_APPLICABLE: (90, 50),
    State.LINT: (150, 400),
    State.JUDGE: (440, 400),
    State.DIAGNOSE: (740, 400),
    State.COVERED: (440, 520),
    State.DEBUG: (1010, 330),
    State.SUMMARISE: (1010, 400),
    State.STOPPED: (740, 520),
    State.ANY: (1010, 520),
}
# How an edge bends away from the straight line (pixels to its left), and where on it (0 to 1) its words stand.
BENDS: dict[tuple[State, State], tuple[float, float]] = {
    (State.GENERATE, State.NEXT_ATTEMPT): (14, 0.5),
    (State.NEXT_ATTEMPT, State.GENERATE): (14, 0.4),
    (State.GENERATE, State.NEW_DIALOG): (20, 0.55),
    (State.NEW_DIALOG, State.GENERATE): (12, 0.45),
    (State.GENERATE, State.LINT): (30, 0.5),
    (State.LINT, State.GENERATE): (30, 0.5),
    (State.DIAGNOSE, State.GENERATE): (0, 0.4),
    (State.DEBUG, State.GENERATE): (22, 0.25),
    (State.SUMMARISE, State.GENERATE): (14, 0.3),
}


def state_machine() -> str:
    """Draw every row of the engine's table."""
    together: dict[tuple[State, State], list[str]] = {}
    for row in TABLE:
        together.setdefault((row.state, row.to), []).append(row.on.value)
    shapes: list[str] = []
    labels: list[str] = []
    for (state, to), reasons in together.items():
        if to is State.BEFORE:  # back to wherever it was: said in words below
            continue
        line, words = _loop(state, reasons) if state is to else _edge(state, to, reasons)
        shapes.append(line)
        labels += words
    shapes += labels  # over all lines
    for state, (x, y) in PLACES.items():
        style = {State.GENERATE: "model", State.SUMMARISE: "model", State.COVERED: "good"}.get(state, "box")
        if state in ENDS and state is not State.COVERED:
            style = "bad"
        shapes += box(
            x - WIDE / 2, y - HIGH / 2, WIDE, HIGH, ["any state" if state is State.ANY else state.value], style
        )
    missing = {s for row in TABLE for s in (row.state, row.to)} - set(PLACES) - {State.BEFORE}
    if missing:
        raise ValueError(f"no place in the drawing for {', '.join(sorted(missing))}: add it to PLACES")
    note = "Blue: the model is called. A stopped or unanswered session that is resumed goes on where it was."
    shapes.append(f'<text class="small" x="30" y="572">{note}</text>')
    return svg(1100, 590, "The states of a session and what moves it from one to the next", shapes)


def _edge(state: State, to: State, reasons: list[str]) -> tuple[str, list[str]]:
    (x1, y1), (x2, y2) = PLACES[state], PLACES[to]
    bend, at = BENDS.get((state, to), (0.0, 0.5))
    length = math.hypot(x2 - x1, y2 - y1)
    # the control point of a quadratic curve lies twice as far out as the curve
    cx = (x1 + x2) / 2 + 2 * bend * (y2 - y1) / length
    cy = (y1 + y2) / 2 - 2 * bend * (x2 - x1) / length
    sx, sy = _border(x1, y1, cx, cy)
    ex, ey = _border(x2, y2, cx, cy)
    lx = (1 - at) ** 2 * sx + 2 * at * (1 - at) * cx + at**2 * ex
    ly = (1 - at) ** 2 * sy + 2 * at * (1 - at) * cy + at**2 * ey
    path = f"M{sx:.1f} {sy:.1f}Q{cx:.1f} {cy:.1f} {ex:.1f} {ey:.1f}"
    return f'<path class="edge" d="{path}" marker-end="url(#tip)"/>', _words(lx, ly, reasons)


def _loop(state: State, reasons: list[str]) -> tuple[str, list[str]]:
    x, y = PLACES[state]
    top = y - HIGH / 2
    path = f"M{x - 34:g} {top:g}C{x - 44:g} {top - 34:g} {x + 44:g} {top - 34:g} {x + 34:g} {top:g}"
    return f'<path class="edge" d="{path}" marker-end="url(#tip)"/>', _words(x, top - 36, reasons)


def _border(x: float, y: float, towards_x: float, towards_y: float) -> tuple[float, float]:
    """Return where the line from a box's centre leaves the box."""
    dx, dy = towards_x - x, towards_y - y
    scale = min(
        (WIDE / 2 + 3) / abs(dx) if dx else math.inf,
        (HIGH / 2 + 3) / abs(dy) if dy else math.inf,
    )
    return x + dx * scale, y + dy * scale


def _words(x: float, y: float, reasons: list[str]) -> list[str]:
    parts = [line for reason in reasons for line in reason.split(", ", 1)] if len(reasons) == 1 else reasons
    lines = [line for part in parts for line in textwrap.wrap(part, WORDS)]
    shapes = []
    for index, line in enumerate(lines):
        at = y + 4 + (index - (len(lines) - 1) / 2) * 14
        width = 6.1 * len(line) + 6
        shapes.append(f'<rect class="page" x="{x - width / 2:.1f}" y="{at - 11:.1f}" width="{width:.1f}" height="14"/>')
        shapes.append(f'<text class="small" x="{x:.1f}" y="{at:.1f}" text-anchor="middle">{escape(line)}</text>')
    return shapes


# The rooms --------------------------------------------------------------------------------------------------------


def rooms(root: Path) -> str:
    """Draw the layers of the import contract, the uppermost first."""
    data = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    contract = next(c for c in data["tool"]["importlinter"]["contracts"] if c["type"] == "layers")
    shapes: list[str] = []
    width, gap, high = 900.0, 12.0, 40.0
    y = 16.0
    for layer in contract["layers"]:
        names = [name.strip().removeprefix("bringup.").strip("()") for name in layer.split("|")]
        each = (width - gap * (len(names) - 1)) / len(names)
        for index, name in enumerate(names):
            shapes += box(20 + index * (each + gap), y, each, high, [name])
        y += high + 22
        shapes.append(f'<path class="edge" d="M470 {y - 21:g}V{y - 2:g}" marker-end="url(#tip)"/>')
    shapes.pop()
    return svg(
        940, int(y), "The rooms in layers: each may import those below it, never those above or beside it", shapes
    )


# The judge's processes ---------------------------------------------------------------------------------------------


def processes() -> str:
    """Draw the process tree of one judge."""
    shapes: list[str] = ['<rect class="group" x="40" y="320" width="500" height="216" rx="10"/>']
    shapes += box(400, 14, 300, 52, ["bringup", "waits: models, store, judge"])
    shapes += box(40, 118, 750, 52, ["fork server “run”", "torch, Triton and the target, imported once; no context"])
    shapes += box(850, 118, 270, 52, ["fork server “referee”", "torch and OpInfo, imported once; sees no GPU"])
    for x, name, words in (
        (60, "guests", "has the device of handles"),
        (310, "compiles", "has the compiler"),
        (570, "devices", "has the driver, no context"),
    ):
        shapes += box(x, 222, 210, 52, [f"service “{name}”", words])
    shapes += box(850, 222, 270, 68, ["referee", "rebuilds cases, computes references,", "compares, decides"])
    shapes += box(60, 342, 210, 36, ["init"])
    shapes += box(310, 342, 210, 36, ["init"])
    what = ["guest", "runs the candidate's wrapper;", "holds handles, no data;", "one for each candidate"]
    shapes += box(60, 424, 210, 84, what, "guest")
    what = ["compiling process", "text in, kernel out;", "holds no data;", "one for each candidate"]
    shapes += box(310, 424, 210, 84, what, "guest")
    what = ["device process", "memory, launches, account;", "serves one candidate after another,", "wiped in between"]
    shapes += box(570, 424, 230, 84, what, "good")
    shapes += _small(290, 528, "own namespaces, limits on memory, time and processes, no network, no secrets")
    shapes += _small(685, 528, "runs nothing of a candidate's but compiled text")
    shapes += _arrow("M470 66V92H415V116") + _arrow("M630 66V92H985V116")
    shapes += _small(440, 86, "starts", "end") + _small(800, 86, "starts")
    shapes += _arrow("M165 170V220") + _arrow("M415 170V220") + _arrow("M675 170V220") + _arrow("M985 170V220")
    shapes += _small(290, 200, "forks, for each referee") + _small(1000, 200, "forks, for each of --jobs", "start")
    shapes += _arrow("M165 274V340") + _arrow("M415 274V340") + _arrow("M675 274V422")
    shapes += _arrow("M165 378V422") + _arrow("M415 378V422")
    shapes += _small(290, 402, "fork, for each candidate") + _small(690, 350, "forks, after a fault again", "start")
    shapes += _arrow("M985 290V466H802")
    crossing = ("inputs and outputs, as bytes;", "the account of each call;", "texts and compiled kernels")
    for line, words in enumerate(crossing):
        shapes += _small(978, 404 + 16 * line, words, "end")
    return svg(
        1160, 556,
        "The judge's processes: a referee, and services that fork guests, compiling processes and devices", shapes,
    )  # fmt: skip


# The wall ---------------------------------------------------------------------------------------------------------


def wall() -> str:
    """Draw who is on which side of the wall, and what crosses it."""
    shapes = [f'<rect class="wall" x="{x}" y="20" width="10" height="270" rx="2"/>' for x in (330, 790)]
    what = [
        "guest",
        "the candidate's wrapper,",
        "Triton's front end;",
        "handles: no data, only",
        "shapes and addresses",
    ]
    shapes += box(30, 50, 200, 210, what, "guest")
    what = ["device process", "memory, and who wrote each byte;", "launches, faults, the clock;"]
    what += ["counts, and keeps the first", "rule that is broken"]
    shapes += box(450, 50, 220, 210, what, "good")
    what = ["referee", "cases and references;", "compares, decides;", "runs no code of", "a candidate's"]
    shapes += box(900, 50, 190, 130, what)
    shapes += box(900, 226, 190, 64, ["compiling process", "sandboxed; thrown away", "with the candidate"], "guest")
    for x1, x2, crossings in (
        (230, 450, (
            (90, True, "text of kernels (TTIR)", ""),
            (144, True, "allocate, free, copy,", "upload, launch"),
            (214, False, "counted reads;", "names of faults"),
        )),
        (670, 900, (
            (84, False, "inputs, as bytes;", "compiled kernels"),
            (124, True, "outputs, as bytes; who wrote each", ""),
            (158, True, "the account, faults;", "texts to compile"),
        )),
    ):  # fmt: skip
        for y, right, first, second in crossings:
            shapes += _arrow(f"M{x1 + 2} {y}H{x2 - 2}" if right else f"M{x2 - 2} {y}H{x1 + 2}")
            middle = (x1 + x2) / 2 - (5 if x1 == 230 else -10)
            shapes += _plate(middle, y - 7, first) + (_plate(middle, y + 15, second) if second else [])
    shapes += _arrow("M970 180V224") + _arrow("M1020 224V182")
    shapes += _small(962, 206, "text", "end") + _small(1028, 206, "kernel", "start")
    shapes += _arrow("M1092 115H1166") + _small(1130, 106, "verdict")
    shapes += _arrow("M1130 140V330H130V262") + _arrow("M1130 330V140H1092")
    shapes += _plate(600, 334, "shapes of the arguments; which handles are the result")
    return svg(
        1180, 356,
        "The wall: the guest sends text and commands, the device process holds the data, the referee decides", shapes,
    )  # fmt: skip


def _arrow(points: str) -> list[str]:
    return [f'<path class="edge" d="{points}" marker-end="url(#tip)"/>']


def _small(x: float, y: float, words: str, anchor: str = "middle") -> list[str]:
    return [f'<text class="small" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(words)}</text>']


def _plate(x: float, y: float, words: str) -> list[str]:
    """Small words over whatever runs behind them."""
    width = 6.1 * len(words) + 6
    plate = f'<rect class="page" x="{x - width / 2:.1f}" y="{y - 11:g}" width="{width:.1f}" height="14"/>'
    return [plate, *_small(x, y, words)]


# The speed engine -------------------------------------------------------------------------------------------------

SHAPES: dict[str, tuple[list[tuple[float, float]], list[tuple[int, int]], set[int]]] = {
    # nodes as (column, row), edges by index, and the nodes that the policy would expand next
    "one-shot": ([(2, 0), (0, 1), (1, 1), (2, 1), (3, 1), (4, 1)], [(0, n) for n in range(1, 6)], {0}),
    "linear": ([(2, row) for row in range(4)], [(0, 1), (1, 2), (2, 3)], {3}),
    "greedy": ([(2, 0), (1, 1), (3, 1), (0, 2), (2, 2), (2, 3)], [(0, 1), (0, 2), (1, 3), (1, 4), (4, 5)], {5}),
    "mcts": (
        [(2, 0), (0.5, 1), (3.5, 1), (0, 2), (1, 2), (3, 2), (4, 2), (1, 3)],
        [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6), (4, 7)],
        {1, 2},
    ),
    "islands": (
        [(0, 0), (1, 0), (0.5, 1), (3, 0), (4, 0), (3.5, 1), (0.5, 2), (3.5, 2), (2, 3)],
        [(0, 2), (1, 2), (3, 5), (4, 5), (2, 6), (5, 7), (6, 8), (7, 8)],
        {6, 7},
    ),
}
TURN = [
    ("the policy chooses", ["parents, memory"], "box"),
    ("helpers", ["what was tried; which files"], "model"),
    ("one prompt", ["lineage, diagnosis, device"], "box"),
    ("repair loop", ["write, lint, repair"], "model"),
    ("timed cases", ["judged, then timed"], "guest"),
    ("whole gate", ["judged"], "guest"),
    ("a node", ["fitness, or 0"], "good"),
]


def search() -> str:
    """Draw how a node is made, and the shapes that the policies give the graph."""
    shapes: list[str] = []
    wide, gap = 128.0, 22.0
    for place, (head, lines, style) in enumerate(TURN):
        x = 20 + place * (wide + gap)
        shapes += box(x, 40, wide, 56, [head, *lines], style)
        if place:
            shapes.append(f'<path class="edge" marker-end="url(#tip)" d="M{x - gap:g} 68H{x - 2:g}"/>')
    first, last = 20 + wide / 2, 20 + (len(TURN) - 1) * (wide + gap) + wide / 2
    shapes.append(f'<path class="edge" marker-end="url(#tip)" d="M{last:g} 96V128H{first:g}V98"/>')
    back = (first + last) / 2
    shapes.append(f'<text class="small" x="{back:g}" y="122" text-anchor="middle">the graph, in the store</text>')
    loop = 20 + 3 * (wide + gap) + wide / 2
    gate = 20 + 5 * (wide + gap) + wide / 2
    shapes.append(f'<path class="edge" marker-end="url(#tip)" d="M{gate:g} 40V22H{loop:g}V38"/>')
    middle = (loop + gate) / 2
    shapes.append(f'<text class="small" x="{middle:g}" y="16" text-anchor="middle">a failure is repaired</text>')
    for place, (name, (nodes, edges, next_)) in enumerate(SHAPES.items()):
        left, top = 40 + place * 205.0, 190.0
        at = [(left + 33 * x, top + 40 * y) for x, y in nodes]
        for a, b in edges:
            (x1, y1), (x2, y2) = at[a], at[b]
            shapes.append(f'<path class="edge" d="M{x1:g} {y1:g}L{x2:g} {y2:g}"/>')
        for index, (x, y) in enumerate(at):
            style = "good" if index in next_ else "box"
            shapes.append(f'<circle class="{style}" cx="{x:g}" cy="{y:g}" r="10"/>')
        shapes.append(f'<text x="{left + 66:g}" y="{top + 160:g}" text-anchor="middle">{escape(name)}</text>')
    note = "Blue: a model is called (the tuner `parameters` needs none). Green, below: what the policy expands next."
    shapes.append(f'<text class="small" x="30" y="388">{escape(note)}</text>')
    return svg(1080, 400, "How a node of a search is made, and the shapes that the policies give the graph", shapes)
