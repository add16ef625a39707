"""`bringup route`: which kernel serves a call on a device, and why."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from bringup.cli._library import LibraryOption
from bringup.cli._output import JsonOption, print_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("route")(route)


def route(
    names: Annotated[list[str], typer.Argument(help="Overloads such as aten.add.Tensor, or operators: all overloads.")],
    library: LibraryOption = None,
    device: Annotated[str, typer.Option(help="vpe, vpe:PROFILE or cuda.")] = "vpe",
    include: Annotated[list[str] | None, typer.Option(help="Only these kernels (repeatable).")] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="All but these (repeatable).")] = None,
    fallback: Annotated[str | None, typer.Option(help="cpu: as enable(fallback='cpu').")] = None,
    unjudged: Annotated[bool, typer.Option("--unjudged", help="As enable(unjudged=True).")] = False,
    json_output: JsonOption = False,
) -> None:
    """Say which kernel serves a call, and why. Exit code 1 when nothing serves one of them."""
    from bringup.cli._library import open_library
    from bringup.library import routing, schemas
    from bringup.library.enabled import plain_name
    from bringup.library.enabling import device_of

    opened = open_library(library)
    where = device_of(device, opened)
    choice = routing.choose(opened, where, include=include, exclude=exclude or (), unjudged=unjudged)
    found = []
    for given in names:
        name = plain_name(given)
        known = schemas.overloads(name)
        # The name of an operator without overload is also that of its default overload.
        wanted = known if known and name not in known else [name]
        found += [routing.route(one, choice, where, fallback=fallback) for one in wanted]
    if json_output:
        print_json([_row(one) for one in found])
    else:
        for one in found:
            typer.echo(f"{one.overload}: {one.kind}: {one.why}")
            for entry in one.entries:
                path = opened.file(entry)
                judged = (
                    "; ".join(f"{j.target}, torch {j.torch}, {j.cases} cases" for j in entry.judged) or "not judged"
                )
                typer.echo(f"    {path}  ({f'when {entry.when}; ' if entry.when else ''}{judged})")
    if any(one.kind == "missing" for one in found):
        raise typer.Exit(1)


def _row(one: Any) -> dict[str, Any]:
    return {
        "overload": one.overload,
        "kind": one.kind,
        "why": one.why,
        "kernels": [{"folder": e.folder, "when": str(e.when) if e.when else ""} for e in one.entries],
    }
