"""`bringup record`: keep the dialogs of a run as a set that `--client recorded` replays."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bringup.cli._output import JsonOption, print_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("record")(record)


def record(
    run: Annotated[str, typer.Argument(help="Run: id, unique prefix, path, or `latest`.")],
    directory: Annotated[Path, typer.Argument(help="Folder of the set; operators already in it stay.")],
    ops: Annotated[list[str] | None, typer.Option(help="Only these operators (repeatable).")] = None,
    uncovered: Annotated[bool, typer.Option("--uncovered", help="Also operators that did not get covered.")] = False,
    runs_dir: Annotated[Path | None, typer.Option(help="Folder that holds the runs.")] = None,
    json_output: JsonOption = False,
) -> None:
    """Write the dialogs of a run, prompts' digests and replies as they happened, to a set of recordings."""
    from bringup.files import file_stem
    from bringup.runs.recordings import record_run
    from bringup.store import default_root, find_run, open_run

    before = {path.stem for path in directory.glob("*.jsonl")}
    with open_run(find_run(run, runs_dir or default_root())) as opened:
        names = record_run(opened, directory, operators=ops or (), covered_only=not uncovered)
    replaced = [name for name in names if file_stem(name) in before]
    if json_output:
        print_json({"directory": str(directory), "operators": list(names), "replaced": replaced})
        return
    typer.echo(f"{len(names)} operators recorded in {directory}: replay with --client recorded --ops recorded")
    if replaced:
        typer.echo(f"in place of what was there: {', '.join(replaced)}")
