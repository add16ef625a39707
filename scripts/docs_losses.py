"""The drawing of the models' losses, on the device and on the CPU, from docs/models.json.

`bringup models run all --out docs/models.json` measures; nothing here does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from pathlib import Path

from docs_drawings import svg

from bringup.models import records

ACROSS, WIDE, HIGH, GAP = 3, 330, 150, 56  # panels in a row; a panel; what is between two, in pixels
CPU = 'fill="none" stroke="#9fb0c0" stroke-width="5" stroke-opacity="0.7" stroke-linejoin="round"'
DEVICE = 'fill="none" stroke="#c4473d" stroke-width="1.4" stroke-linejoin="round"'


def losses(root: Path) -> str:
    """Draw one panel for each model: losses over steps."""
    found = records.load(root / "docs" / "models.json")
    shapes = []
    for number, one in enumerate(found):
        x = 48 + (number % ACROSS) * (WIDE + GAP)
        y = 40 + (number // ACROSS) * (HIGH + GAP)
        shapes += _panel(one, x, y)
    height = 40 + math.ceil(len(found) / ACROSS) * (HIGH + GAP)
    shapes += [f'<path {CPU} d="M48 {height + 2}h40"/>', f'<path {DEVICE} d="M228 {height + 2}h40"/>']
    targets = ", ".join(sorted({one.target for one in found}))
    for at, words in ((96, "the CPU"), (276, targets)):
        shapes.append(f'<text x="{at}" y="{height + 6}">{escape(words)}</text>')
    return svg(48 + ACROSS * (WIDE + GAP), height + 26, "Losses of small models on the device and on the CPU", shapes)


def _panel(one: records.ModelResult, x: float, y: float) -> list[str]:
    every = [loss for loss in (*one.losses_cpu, *one.losses) if math.isfinite(loss)]
    low, high = min(every), max(every)
    error = f"within {one.loss_error:.0e}" if one.loss_error is not None else "did not train"
    shapes = [
        f'<rect class="box" x="{x:g}" y="{y:g}" width="{WIDE}" height="{HIGH}" rx="4"/>',
        f'<text x="{x:g}" y="{y - 8:g}">{escape(one.model)}</text>',
        f'<text class="small" x="{x + WIDE:g}" y="{y - 8:g}" text-anchor="end">{error}</text>',
        f'<text class="small" x="{x - 6:g}" y="{y + 14:g}" text-anchor="end">{high:.2f}</text>',
        f'<text class="small" x="{x - 6:g}" y="{y + HIGH - 4:g}" text-anchor="end">{low:.2f}</text>',
        f'<text class="small" x="{x + WIDE:g}" y="{y + HIGH + 16:g}" text-anchor="end">{one.steps} steps</text>',
    ]
    for losses_, style in ((one.losses_cpu, CPU), (one.losses, DEVICE)):
        if line := _line(losses_, x, y, low, high):
            shapes.append(f'<path {style} d="{line}"/>')
    return shapes


def _line(values: Sequence[float], x: float, y: float, low: float, high: float) -> str:
    points = []
    for step, value in enumerate(values):
        if not math.isfinite(value):
            break
        across = x + 8 + (WIDE - 16) * step / max(len(values) - 1, 1)
        down = y + 8 + (HIGH - 16) * (high - value) / max(high - low, 1e-12)
        points.append(f"{across:.1f} {down:.1f}")
    return "M" + "L".join(points) if points else ""
