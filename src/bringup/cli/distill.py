"""`bringup distill`: write what helped in a run as files of a knowledge base."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bringup.cli._output import JsonOption, print_json
from bringup.cli._runs import RunArgument, RunsDirOption


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("distill")(distill)


def distill(
    run: RunArgument,
    into: Annotated[Path, typer.Option(help="Folder of knowledge files to write to; made if need be.")] = Path(
        "knowledge"
    ),
    ops: Annotated[list[str] | None, typer.Option("--op", help="Only this operator (repeatable).")] = None,
    most_lines: Annotated[
        int, typer.Option("--max-lines", min=1, help="Changed lines at most: a larger change is another kernel.")
    ] = 80,
    min_gain: Annotated[
        float, typer.Option("--min-speedup", min=1.0, help="Of a search's node over its parent, at least.")
    ] = 1.2,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be written, and write nothing.")] = False,
    runs_dir: RunsDirOption = None,
    json_output: JsonOption = False,
) -> None:
    """Write what helped in a run as knowledge files: the change that made a kernel pass, or made it faster.

    Each file has the report before, the change, operator, target and figures. It is marked unreviewed until a person
    fills in `reviewed` in its front matter; files that are there already are left as they are.
    """
    from bringup.cli._runs import count, open_named
    from bringup.errors import UnknownName
    from bringup.lessons import Lesson, Skipped, Written, as_data, distil, write

    with open_named(run, runs_dir) as opened:
        known = [info.name for info in opened.started.operators]
        for name in ops or ():
            if name not in known:
                raise UnknownName("operator", name, known, f"run {opened.id}")
        found = list(distil(opened, ops or (), most_lines=most_lines, min_gain=min_gain))
        run_id = opened.id
    lessons = [one for one in found if isinstance(one, Lesson)]
    skipped = [one for one in found if isinstance(one, Skipped)]
    done = Written((), ()) if dry_run else write(lessons, into)
    if json_output:
        print_json(
            {
                "run": run_id,
                "folder": str(into),
                "lessons": [as_data(lesson) for lesson in lessons],
                "skipped": [one.__dict__ for one in skipped],
                "written": done.written,
                "kept": done.kept,
            }
        )
        return
    for lesson in lessons:
        note = "would write" if dry_run else "there already" if lesson.path in done.kept else "written"
        typer.echo(f"{into / lesson.path}: {lesson.front.title} ({note})")
    for one in skipped:
        typer.echo(f"left out: {one.operator}: {one.reason}")
    typer.echo(f"{count(len(lessons), 'lesson')} in run {run_id}, {len(done.written)} written, {len(done.kept)} kept")
    if done.written:
        typer.echo(f"read them, then fill in `reviewed: NAME, DATE`; use them with --knowledge {into}")
