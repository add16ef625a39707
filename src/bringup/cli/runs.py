"""`bringup runs`: the runs of a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bringup.cli._output import JsonOption, print_json
from bringup.cli._runs import RunArgument, RunsDirOption

if TYPE_CHECKING:
    from bringup.store import Address


def register(app: typer.Typer) -> None:
    """Add the group; without a command it lists."""
    group = typer.Typer(invoke_without_command=True)
    group.callback()(runs)
    group.command("note")(note)
    group.command("prune")(prune)
    app.add_typer(group, name="runs")


def runs(
    context: typer.Context,
    runs_dir: RunsDirOption = None,
    store_url: Annotated[
        str | None,
        typer.Option("--store-url", envvar="BRINGUP_STORE_URL", help="List the runs of this shared database, too."),
    ] = None,
    json_output: JsonOption = False,
) -> None:
    """List the runs, newest last; note something on one, or remove old ones."""
    if context.invoked_subcommand is not None:
        context.obj = runs_dir
        return
    from bringup.cli._output import make_console
    from bringup.cli._runs import runs_root
    from bringup.store import list_runs, stored_runs

    root = runs_root(runs_dir)
    rows = [_row(folder) for folder in list_runs(root)]
    if store_url:
        here = {row["run"] for row in rows}
        rows += [_row(root / run, address) for run, address in stored_runs(store_url).items() if run not in here]
        rows.sort(key=lambda row: str(row["run"])[: len("20260131-142501")])
    if json_output:
        print_json(rows)
        return
    from rich.table import Table
    from rich.text import Text

    console = make_console()
    if not rows:
        console.print(Text(f"no runs in {root}; start one with `bringup run`"))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("run", "state", "client", "target", "covered", "applicable", "asked", "calls", "tokens", "note"):
        number = name in {"covered", "applicable", "asked", "calls", "tokens"}
        table.add_column(name, justify="right" if number else "left", no_wrap=name in {"run", "state"})
    for row in rows:
        if row.get("error"):
            table.add_row(row["run"], Text(row["error"], style="yellow"))
            continue
        table.add_row(
            row["run"],
            row["state"],
            row["client"] + (f" ({row['model']})" if row["model"] else ""),
            row["target"],
            str(row["covered"]),
            str(row["applicable"]),
            str(row["asked"]),
            f"{row['calls']:,}",
            f"{row['tokens']:,}",
            Text(row["note"]),
        )
    console.print(table)


def note(
    context: typer.Context,
    run: RunArgument,
    text: Annotated[str, typer.Argument(help='The remark; "" takes the old one away.')],
    runs_dir: RunsDirOption = None,
    json_output: JsonOption = False,
) -> None:
    """Keep a remark with a run; it is shown in lists and reports."""
    import asyncio

    from bringup.cli._runs import runs_root
    from bringup.store import RunNoted, find_run, resume_run

    path = find_run(run, runs_root(runs_dir or context.obj))
    kept = " ".join(text.split())
    log = resume_run(path)
    try:
        asyncio.run(log.append(None, [RunNoted(note=kept)]))
    finally:
        log.close()
    if json_output:
        print_json({"run": path.name, "note": kept})


def prune(
    context: typer.Context,
    runs: Annotated[list[str] | None, typer.Argument(metavar="[RUN]...", help="Runs to remove.")] = None,
    keep: Annotated[int | None, typer.Option(min=0, help="Remove all but the newest so many.")] = None,
    older_than: Annotated[
        float | None, typer.Option(metavar="DAYS", min=0, help="Remove only what nobody wrote to for so long.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Remove them; without it they are only listed.")] = False,
    runs_dir: RunsDirOption = None,
    json_output: JsonOption = False,
) -> None:
    """Remove runs that are no longer wanted. Runs at work, and runs whose events lie in another database, stay."""
    from bringup.cli._runs import runs_root
    from bringup.runs.prune import remove, unwanted
    from bringup.store import find_run

    root = runs_root(runs_dir or context.obj)
    found = unwanted(root, keep=keep, days=older_than, runs=[find_run(spec, root) for spec in runs or ()])
    rows: list[dict[str, Any]] = []
    for one in found:
        gone = yes and not one.kept
        if gone:
            remove(one)
        rows.append({"run": one.folder.name, "bytes": one.bytes, "removed": gone, "kept": one.kept})
    if json_output:
        print_json(rows)
        return
    for row in rows:
        what = f"stays: {row['kept']}" if row["kept"] else "removed" if row["removed"] else "would be removed"
        typer.echo(f"{row['run']}  {row['bytes'] / 1e6:.1f} MB  {what}")
    if not rows:
        typer.echo("nothing to remove")
    elif not yes:
        typer.echo("nothing was removed; add --yes")


def _row(folder: Path, address: Address | None = None) -> dict[str, Any]:
    from bringup.errors import StoreError
    from bringup.store import open_address, open_run

    try:
        with open_run(folder) if address is None else open_address(folder, address) as run:
            started = run.started
            summaries = list(run.summaries().values())
            holder = run.holder()
            note = run.note()
    except StoreError as error:
        return {"run": folder.name, "error": str(error).partition(": ")[2] or str(error)}
    unfinished = any(s.outcome in {None, "stopped"} for s in summaries)
    client = started.config.get("client", {})
    return {
        "run": folder.name,
        "holder": holder,
        "state": "running" if holder else "resumable" if unfinished else "finished",
        "client": client.get("name", ""),
        "model": client.get("model"),
        "target": started.config.get("target", ""),
        "parent": started.parent,
        "note": note,
        "covered": sum(s.covered for s in summaries),
        "applicable": sum(s.applicable for s in summaries),
        "asked": len(summaries),
        "calls": sum(s.calls for s in summaries),
        "tokens": sum(s.tokens for s in summaries),
    }
