"""`bringup audit`: tests that no model sees, and whether the gate's own cases prove anything."""

from __future__ import annotations

from typing import Annotated

import typer

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    audit = typer.Typer(
        help="Tests that no model sees: they decide 'trusted'. And the tests of the tests.", no_args_is_help=True
    )
    audit.command("vacuity")(vacuity)
    app.add_typer(audit, name="audit")


def vacuity(
    op: Annotated[
        list[str] | None, typer.Option("--op", metavar="GLOB", help="Only these operators (repeatable).")
    ] = None,
    suite: Annotated[
        str, typer.Option(help="Suite whose gates are judged; opinfo:FILE adds a file of gate additions.")
    ] = "opinfo",
    every: Annotated[bool, typer.Option("--all", help="Show the operators too that refuse every candidate.")] = False,
    add: Annotated[
        bool, typer.Option("--add", help="Choose audit cases that close the gates, and write them down.")
    ] = False,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="FILE", help="Additions file for --add (default: the suite's FILE, or ours)."),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Helper processes.")] = 1,
    json_output: JsonOption = False,
) -> None:
    """Run trivial candidates (zeros, the input, the first answer, ...) against the gates; say which let them pass.

    An operator that such a candidate implements by definition is marked so, with the reason. Exit code 1 when a gate
    is left that proves nothing.
    """
    from bringup.cli._vacuity import run_vacuity

    if not run_vacuity(op or ["all"], suite, every=every, add=add, out=out, jobs=jobs, as_json=json_output):
        raise typer.Exit(1)
