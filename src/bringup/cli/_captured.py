"""Which operators of a captured program a library serves: its kernels judged on the captured calls."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bringup.cli._output import make_console

if TYPE_CHECKING:
    from bringup.library import Library
    from bringup.operators import Operator
    from bringup.suites.captured import CapturedSuite


@dataclass(frozen=True)
class Asked:
    """What `bringup capture coverage` was asked for."""

    file: Path
    library: Path | None
    target: str | None
    refined: str | None
    ops: tuple[str, ...]
    jobs: int
    runs_dir: Path | None


def measure(asked: Asked, shows: bool) -> dict[str, Any]:
    """Judge the library's kernels, and then a run's for what is left; return the figures and a row an operator."""
    from bringup.cli._library import collect, judge, open_library
    from bringup.cli._progress import Bar
    from bringup.suites import get_suite, select
    from bringup.targets import get_target

    spec = f"captured:{asked.file}"
    suite: Any = get_suite(spec, Bar("working out the calls") if shows else None)
    library = open_library(asked.library)
    target = asked.target or library.target
    features = get_target(target).features
    operators = [op for op in select(suite, asked.ops) if op.exclusion is None]
    rows = {op.name: _row(op, suite) for op in operators}
    for op in operators:
        reason = op.not_applicable(features)
        if reason is not None:
            rows[op.name] |= {"status": "not applicable", "why": reason}
    sources = _sources(library, target)
    first = [(name, sources[name]) for name in rows if name in sources and rows[name]["status"] == "missing"]
    for bundle in asyncio.run(judge(first, spec, target, asked.jobs, shows)) if first else ():
        _note(rows[bundle.evidence.operator], bundle.evidence, "served")
    if asked.refined is not None:
        made, _ = collect(asked.refined, None, (), asked.runs_dir, best_alone=True)
        left = [(s.operator, s.source) for s in made if rows.get(s.operator, {}).get("status") in ("failed", "missing")]
        for bundle in asyncio.run(judge(left, spec, target, asked.jobs, shows)) if left else ():
            _note(rows[bundle.evidence.operator], bundle.evidence, "refined")
    counts = Counter(row["status"] for row in rows.values())
    applicable = {name: row for name, row in rows.items() if row["status"] != "not applicable"}
    return {
        "file": str(asked.file),
        "library": str(library.path),
        "target": target,
        "run": asked.refined,
        "operators": len(applicable),
        **{status: counts[status] for status in ("served", "refined", "failed", "missing")},
        "not_applicable": counts["not applicable"],
        "left_out": dict(suite.survey.failed),
        "table": list(rows.values()),
    }


def _row(operator: Operator, suite: CapturedSuite) -> dict[str, Any]:
    calls = sum(suite.overloads[operator.name].counts.values())
    return {
        "operator": operator.name,
        "calls": calls,
        "cases": operator.cases_total,
        "status": "missing",
        "passed": 0,
        "why": "the library has no kernel of it",
    }


def _sources(library: Library, target: str) -> dict[str, str]:
    """Return the kernel that serves all calls of each overload on a target: its override, else the base's."""
    found = {}
    for name in library.overloads():
        entries = [e for e in library.of(name) if e.profile in ("", target) and not e.variant]
        entries.sort(key=lambda entry: not entry.profile)
        if entries:
            found[name] = library.source(entries[0])
    return found


def _note(row: dict[str, Any], evidence: Any, word: str) -> None:
    passed = sum(evidence.passed_by_dtype.values())
    if evidence.kind == "passed":
        row |= {"status": word, "passed": passed, "why": ""}
    else:
        why = evidence.kind.replace("_", " ")
        if evidence.guard:  # all cases may have passed: what it takes to see the same again
            why += f" (guard {evidence.guard}, judge.fresh_seed {evidence.fresh_seed})"
        row |= {"status": "failed", "passed": passed, "why": why}


def print_coverage(found: dict[str, Any]) -> None:
    """Print the table and the two shares."""
    from rich.table import Table

    console = make_console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("operator", "calls", "cases", "passed"):
        table.add_column(column, justify="left" if column == "operator" else "right", no_wrap=True)
    table.add_column("status", no_wrap=True)
    table.add_column("why", overflow="fold")
    order = ["served", "refined", "failed", "missing", "not applicable"]
    for row in sorted(found["table"], key=lambda row: (order.index(row["status"]), row["operator"])):
        numbers = [str(row[column]) for column in ("calls", "cases", "passed")]
        table.add_row(row["operator"], *numbers, row["status"], row["why"])
    console.print(table)
    for name, reasons in found["left_out"].items():
        for reason, count in reasons.items():
            console.print(f"not judged: {count} calls of {name}: {reason}", soft_wrap=True)
    total = found["operators"]
    if not total:
        console.print("no operator of the capture can be judged there")
        return
    served, refined = found["served"], found["refined"]
    console.print(
        f"\n{found['library']} serves {served} of {total} operators as it is: {100 * served / total:.1f} %",
        soft_wrap=True,
    )
    if found["run"] is not None:
        both = served + refined
        console.print(
            f"with the kernels of run {found['run']} {both} of {total}: {100 * both / total:.1f} %", soft_wrap=True
        )
    console.print(
        f"{found['failed']} failed, {found['missing']} without a kernel, on {found['target']}", soft_wrap=True
    )
    if found["failed"] + found["missing"]:
        console.print(
            f"refine or make them: bringup run --suite captured:{found['file']} --target {found['target']} "
            f"--refine-from {found['library']} --ops all",
            soft_wrap=True,
        )
