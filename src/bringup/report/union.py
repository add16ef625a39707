"""Several runs taken together: an operator is covered when any run covered it."""

from __future__ import annotations

from collections.abc import Sequence

from bringup.report.curves import category_order, curve
from bringup.report.model import CurvePoint, OperatorRow, RunReport, Union, UnionRow, UnionRun, share


def unite(runs: Sequence[RunReport]) -> Union:
    """Aggregate runs in the order given; the order decides only which run counts as the first to cover."""
    tables = [{row.name: row for row in report.operators} for report in runs]
    rows = [_row(name, [table.get(name) for table in tables]) for name in _names(runs)]
    asked, applicable = len(rows), sum(r.applicable for r in rows)
    covered = sum(r.covered for r in rows)
    so_far = 0
    steps = []
    for index, report in enumerate(runs):
        newly = tuple(r.name for r in rows if r.first == index)
        so_far += len(newly)
        steps.append(
            UnionRun(run=report.run.id, covered=report.counts.covered, newly_covered=newly, covered_so_far=so_far)
        )
    return Union(
        targets=tuple(sorted({r.run.target for r in runs})),
        asked=asked,
        applicable=applicable,
        covered=covered,
        share_of_applicable=share(covered, applicable),
        share_of_asked=share(covered, asked),
        runs=tuple(steps),
        categories=_categories(rows),
        curve=_curve(rows, runs, applicable, asked),
        operators=tuple(rows),
    )


def _names(runs: Sequence[RunReport]) -> list[str]:
    """Return every operator once, in the order of the first run, then of the second, and so on."""
    return list(dict.fromkeys(row.name for report in runs for row in report.operators))


def _row(name: str, rows: Sequence[OperatorRow | None]) -> UnionRow:
    present = [row for row in rows if row is not None]
    first = next((i for i, row in enumerate(rows) if row is not None and row.status == "covered"), None)
    return UnionRow(
        name=name,
        category=present[0].category,
        status=tuple(row.status if row else None for row in rows),
        verdicts=tuple(row.verdict if row else None for row in rows),
        calls=tuple(row.calls if row else None for row in rows),
        applicable=any(row.status != "not_applicable" for row in present),
        covered=first is not None,
        first=first,
    )


def _categories(rows: Sequence[UnionRow]) -> tuple[tuple[str, int, int, int], ...]:
    result = []
    for name in category_order(row.category for row in rows):
        group = [row for row in rows if row.category == name]
        result.append((name, len(group), sum(r.applicable for r in group), sum(r.covered for r in group)))
    return tuple(result)


def _curve(rows: Sequence[UnionRow], runs: Sequence[RunReport], applicable: int, asked: int) -> tuple[CurvePoint, ...]:
    fewest = [
        min((c for c, s in zip(row.calls, row.status, strict=True) if s == "covered" and c is not None), default=None)
        for row in rows
    ]
    return curve(fewest, applicable, asked, max(r.curve[-1].calls for r in runs))
