"""`bringup export-trajectories`: the dialogs of a run as JSON lines, with verdicts as rewards."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal, cast

import typer

from bringup.cli._runs import RunArgument, RunsDirOption


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("export-trajectories")(export_trajectories)


def export_trajectories(
    run: RunArgument,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="File to write; one that is there is gone on with. Left out: stdout."),
    ] = None,
    ops: Annotated[list[str] | None, typer.Option("--op", help="Only this operator (repeatable).")] = None,
    form: Annotated[
        str, typer.Option(help="dialogs: a line each; calls: a line for each model call, with the messages as sent.")
    ] = "dialogs",
    unfinished: Annotated[
        bool, typer.Option("--unfinished", help="Also dialogs that may go on when the run is resumed.")
    ] = False,
    runs_dir: RunsDirOption = None,
) -> None:
    """Export the dialogs of a run, coverage or search, as JSON lines for post-training.

    Each line has messages, for each reply its candidate's digest, verdict and reward, and what the reward means.
    Keys are hidden. Figures go to stderr.
    """
    from bringup.cli._runs import count, open_named
    from bringup.errors import ConfigError, UnknownName
    from bringup.lessons import Exported, export, trajectories

    if form not in ("dialogs", "calls"):
        raise ConfigError(f"--form {form}", "no such form", "use dialogs or calls")
    chosen = cast(Literal["dialogs", "calls"], form)
    done = Exported()
    with open_named(run, runs_dir) as opened:
        known = [info.name for info in opened.started.operators]
        for name in ops or ():
            if name not in known:
                raise UnknownName("operator", name, known, f"run {opened.id}")
        found = trajectories(opened, ops or (), form=chosen, unfinished=unfinished, done=done)
        export(found, output if output is not None else sys.stdout, done)
        where = str(output) if output is not None else "stdout"
        typer.echo(f"{where}: {count(done.written, 'conversation')} of run {opened.id}", err=True)
    if done.rewards:
        mean = sum(done.rewards) / len(done.rewards)
        typer.echo(f"mean last reward {mean:.3f}, {sum(r > 0 for r in done.rewards)} above 0", err=True)
    if done.cut:
        typer.echo("the last line was half written, and is replaced", err=True)
    if done.present:
        typer.echo(f"{done.present} were there already", err=True)
    if done.open:
        typer.echo(f"{count(done.open, 'dialog')} left out: they may go on (--unfinished takes them)", err=True)
    if done.helpers:
        typer.echo(f"{count(done.helpers, 'call')} of helpers left out: they have no reward", err=True)
    if done.hidden:
        typer.echo(f"{count(done.hidden, 'secret')} hidden", err=True)
