"""`bringup lessons`: what cost calls, over one run or many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bringup.cli._output import JsonOption, make_console, print_json
from bringup.cli._runs import RunsDirOption

if TYPE_CHECKING:
    from bringup.report.lessons import Lessons


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("lessons")(lessons)


def lessons(
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUN]...", help="Id, unique beginning, folder, or `latest` (the default)."),
    ] = None,
    most: Annotated[int, typer.Option("--top", "-n", min=1, help="Only so many causes.")] = 30,
    places: Annotated[bool, typer.Option("--places", help="With examples: where, and what was said.")] = False,
    json_output: JsonOption = False,
    runs_dir: RunsDirOption = None,
) -> None:
    """Say what cost calls: formats, linter's rules, guards and verdicts, and which section of the prompt is about each.

    A reply that fails costs the next call. Where many replies, of several operators, stumble over one thing, the
    prompt, the advice or the report on it can be mended. `bringup show RUN OPERATOR` has the dialogs.
    """
    from bringup.cli._runs import runs_root
    from bringup.errors import ConfigError
    from bringup.report.lessons import lessons_of
    from bringup.store import find_run

    root = runs_root(runs_dir)
    folders = [find_run(spec, root) for spec in runs or ["latest"]]
    twice = [f.name for i, f in enumerate(folders) if f.resolve() in {g.resolve() for g in folders[:i]}]
    if twice:
        raise ConfigError("command line", f"run {twice[0]} is given twice", "name each run once")
    found = lessons_of(folders)
    if json_output:
        print_json({**found.model_dump(mode="json"), "sections": found.by("section"), "stages": found.by("stage")})
    else:
        _show(found, most, places)


def _show(found: Lessons, most: int, places: bool) -> None:
    from rich.table import Table

    console = make_console()
    if not found.calls:
        console.print(f"no model was asked in {', '.join(found.runs)}", soft_wrap=True)
        return
    covered = sum(found.covered_after.values())
    by_calls = ", ".join(f"{count} after {calls}" for calls, count in found.covered_after.items())
    console.print(
        f"{found.calls} calls for {found.sessions} operators in {len(found.runs)} "
        f"{'run' if len(found.runs) == 1 else 'runs'}; {covered} covered ({by_calls or 'none'}); "
        f"{found.failed} replies failed",
        soft_wrap=True,
    )
    if found.lessons:
        table = Table(box=None, pad_edge=False, header_style="bold", title_justify="left")
        for column in ("stage", "what", "calls", "replies", "operators", "tokens after", "section of the task"):
            left = column in ("stage", "what", "section of the task")
            table.add_column(column, justify="left" if left else "right", no_wrap=True)
        for lesson in found.lessons[:most]:
            counts = (f"{lesson.calls:g}", f"{lesson.replies}", f"{len(lesson.operators)}", f"{lesson.tokens:,}")
            table.add_row(lesson.stage, lesson.what, *counts, lesson.section)
        console.print(table)
        if len(found.lessons) > most:
            console.print(f"and {len(found.lessons) - most} more causes (--top)")
        sections = Table(box=None, pad_edge=False, header_style="bold")
        for column in ("section of the task", "calls", "tokens after"):
            sections.add_column(column, justify="left" if column.startswith("section") else "right", no_wrap=True)
        for name, (calls, tokens) in found.by("section").items():
            sections.add_row(name, f"{calls:g}", f"{tokens:,}")
        console.print()
        console.print(sections)
    edits = found.edits
    if edits.repairs:
        console.print(
            f"\n{edits.repairs} repairs: {edits.patches} with edits, of which {edits.unfit} did not fit", soft_wrap=True
        )
    if places:
        for lesson in found.lessons[:most]:
            console.print(f"\n[bold]{lesson.stage} {lesson.what}[/bold]")
            for place in lesson.places:
                where = f"{place.run} {place.operator}, attempt {place.attempt}, call {place.turn}"
                console.print(f"  {where}: {place.message}", soft_wrap=True, markup=False)
