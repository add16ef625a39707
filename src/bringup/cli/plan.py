"""`bringup plan`: which kernels to make next, and what they unlock."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bringup.cli._library import LibraryOption
from bringup.cli._output import JsonOption, make_console, print_json

if TYPE_CHECKING:
    from bringup.coverage import Planned


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("plan")(plan)


def plan(
    target: Annotated[
        str, typer.Option("--target", "-t", help="Device: vpe:PROFILE, or cuda.", metavar="NAME")
    ] = "vpe:pe64",
    library: LibraryOption = None,
    results: Annotated[
        Path | None,
        typer.Option(help="File of `bringup coverage` (default: coverage-TARGET.jsonl here or in the library)."),
    ] = None,
    captures: Annotated[
        list[Path] | None,
        typer.Option("--capture", metavar="FILE", help="Captured program that shall run, too (repeatable)."),
    ] = None,
    worth: Annotated[float, typer.Option(min=0, help="How many names a captured program is worth.")] = 10.0,
    top: Annotated[int | None, typer.Option("--top", "-n", min=1, help="Only so many kernels.")] = None,
    names: Annotated[bool, typer.Option("--names", help="Print the kernels' names alone, one a line.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Put the kernels that a device lacks into the order that unlocks names, gradients and programs soonest.

    The data is a measurement by `bringup coverage`; kernels that have come into the library since are taken as serving.
    `bringup run --suite aten --ops @plan:40` makes the first forty. What the device cannot do is listed apart. Exit
    code 0 when nothing is missing, else 1.
    """
    from bringup.cli._progress import Bar
    from bringup.coverage import plan as work_out

    shows = not (json_output or names)
    found = work_out(
        target, library, results, captures or (), worth=worth,
        progress=Bar("working out the calls") if captures and shows else None,
    )  # fmt: skip
    if names:
        typer.echo("\n".join(found.order.kernels[:top]))
    elif json_output:
        print_json(_data(found, top))
    else:
        _show(found, top)
    if found.order.steps or found.order.blocked:
        raise typer.Exit(1)


def _data(found: Planned, top: int | None) -> dict[str, Any]:
    order = found.order
    return {
        "target": found.results.header.target,
        "results": str(found.results.path),
        "library": str(found.library) if found.library else "",
        "served_since": found.since,
        "stale": found.stale,
        "programs_served": list(found.served),
        "open": dict(order.goals),
        "kernels": [
            {"overload": step.overload, "unlocks": dict(step.unlocks), "needed_by": step.needed_by}
            for step in order.steps[:top]
        ],
        "cannot": order.apart,
        "blocked": [{"kind": goal.kind, "name": goal.name, "needs": list(why)} for goal, why in order.blocked],
    }


def _show(found: Planned, top: int | None) -> None:
    from collections import Counter

    from rich.table import Table

    from bringup.coverage.planning import KINDS

    order, console = found.order, make_console()
    sums: Counter[str] = Counter()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("", "kernel", "names", "gradients", "programs", "needed by", "unlocks"):
        left = column in ("kernel", "unlocks")
        table.add_column(column, justify="left" if left else "right", no_wrap=column != "unlocks", overflow="fold")
    for number, step in enumerate(order.steps, 1):
        sums.update({kind: len(names) for kind, names in step.unlocks.items()})
        if top is None or number <= top:
            # The sum up to here: after so many kernels so many pass.
            counts = [f"{sums[kind]} (+{len(step.unlocks[kind])})" if kind in step.unlocks else "" for kind in KINDS]
            unlocked = dict.fromkeys(name for kind in KINDS for name in step.unlocks.get(kind, ()))
            table.add_row(str(number), step.overload, *counts, str(step.needed_by), _some(list(unlocked)))
    header = found.results.header
    words = dict(zip(KINDS, ("names", "gradients", "programs"), strict=True))
    open_ones = " and ".join(f"{order.goals[kind]} {words[kind]}" for kind in KINDS if order.goals[kind])
    if order.steps:
        console.print(table)
        shown = "" if top is None or top >= len(order.steps) else f", {top} shown"
        console.print(
            f"\n{len(order.steps)} kernels{shown} unlock {open_ones} on {header.target}; measured: "
            f"{found.results.path}, {len(found.results.operators)} of {header.eligible} names",
            soft_wrap=True,
        )
    else:
        console.print(f"no kernel is missing on {header.target} that could be made", soft_wrap=True)
    if found.since:
        console.print(
            f"{found.since} overloads that were missing have kernels by now, and are taken as served", soft_wrap=True
        )
    if found.stale:
        console.print(f"the measurement is of another state of the library, {found.stale}", soft_wrap=True)
    for program in found.served:
        console.print(f"{program} lacks no kernel", soft_wrap=True)
    if order.apart:
        console.print("\n[bold]Not in the plan[/bold]: cannot be made for this target")
        for kernel, reason in order.apart.items():
            needing = [f"{goal.name} ({goal.kind})" for goal, why in order.blocked if kernel in why]
            names = f"; needed by {_some(needing)}" if needing else ""
            console.print(f"  {kernel}: {reason}{names}", soft_wrap=True)
    if order.steps:
        count = min(top or len(order.steps), len(order.steps))
        console.print(f"\nmake them: bringup run --suite aten --ops @plan:{count} --target {header.target}")


def _some(names: list[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
