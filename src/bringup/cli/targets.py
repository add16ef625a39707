"""`bringup targets`: what kernels can be brought up on."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer

from bringup.cli._output import JsonOption, make_console, print_json


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(help="Targets: a device and its toolchain.", no_args_is_help=True)
    group.command("list")(list_targets)
    group.command("show")(show)
    group.command("check")(check)
    group.command("new")(new)
    group.command("faults")(faults)
    app.add_typer(group, name="targets")


def list_targets(json_output: JsonOption = False) -> None:
    """List the targets, built in and from plug-ins, and whether this machine can run them."""
    from rich.table import Table
    from rich.text import Text

    from bringup.errors import PluginError
    from bringup.targets import get_target, targets

    rows: list[dict[str, Any]] = []
    for name in targets.names():
        try:
            target = get_target(name)
            rows.append({"name": name, "profiles": target.profiles(), "unavailable": target.unavailable()})
        except PluginError as error:  # the others are there all the same
            rows.append({"name": name, "profiles": (), "unavailable": str(error)})
    if json_output:
        print_json(rows)
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("target", "profiles", "on this machine"):
        table.add_column(column)
    for row in rows:
        table.add_row(row["name"], ", ".join(row["profiles"]) or "–", Text(row["unavailable"] or "ready"))
    make_console().print(table)


def show(
    spec: Annotated[str, typer.Argument(help="Target, NAME or NAME:PROFILE.")],
    json_output: JsonOption = False,
) -> None:
    """Show a target: its dialect of Triton, its rules for kernel authors, and the chip's figures."""
    from rich.table import Table
    from rich.text import Text

    from bringup.targets import get_target

    target = get_target(spec)
    dialect, facts = target.dialect(), target.facts()
    if json_output:
        print_json({"target": spec, "facts": facts, "dialect": dialect.model_dump(mode="json")})
        return
    console = make_console()
    console.print(Text.assemble((spec, "bold"), f"  {dialect.description}"))
    missing = target.unavailable()
    if missing is not None:
        console.print(Text(f"not on this machine: {missing}", style="yellow"))
    if facts:
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
        for key, value in _flat(facts):
            table.add_row(key, value)
        console.print(table)
    console.print("\n[bold]What a kernel author must know[/]")
    for rule in dialect.rules:
        console.print(f"- {rule}", highlight=False, markup=False)
    for title, names in (("In kernels", dialect.tl_functions), ("In the wrapper, torch", dialect.torch_functions)):
        console.print(f"\n[bold]{title}[/]: {', '.join(names)}", highlight=False)
    console.print(f"\n[bold]Also compiled for[/]: {', '.join(target.compile_for) or 'nothing else'}", highlight=False)


def check(
    spec: Annotated[str, typer.Argument(help="Target, NAME or NAME:PROFILE.")],
    json_output: JsonOption = False,
) -> None:
    """Run the conformance suite: what every target, built in or plug-in, must do. Exit code 1 when something fails."""
    from rich.text import Text

    from bringup.judge import CheckResult, check_target

    console = make_console(stderr=json_output)
    marks = {"passed": ("passed ", "green"), "lacking": ("lacking", "yellow"), "failed": ("failed ", "red")}

    async def run() -> list[CheckResult]:
        results = []
        async for result in check_target(spec):
            results.append(result)
            mark, style = marks[result.status]
            detail = f"  {result.detail.splitlines()[0]}" if result.detail else ""
            console.print(Text.assemble((mark, style), f"  {result.name}", (detail, "dim")))
        return results

    results = asyncio.run(run())
    if json_output:
        print_json([vars(result) for result in results])
    counts = {status: sum(r.status == status for r in results) for status in marks}
    console.print(", ".join(f"{count} {status}" for status, count in counts.items()))
    if counts["failed"]:
        raise typer.Exit(1)


def faults(
    retry: Annotated[
        bool, typer.Option("--retry", help="Compile those again that were seen with another compiler than today's.")
    ] = False,
    everything: Annotated[bool, typer.Option("--all", help="With --retry: all of them.")] = False,
    kernel_cache: Annotated[str, typer.Option(help="The folder of compiled kernels, beside which the ledger is.")] = "",
    json_output: JsonOption = False,
) -> None:
    """List the kernels that a compiler has died of, and try them again.

    Exit code 1 when one that was tried still fails.
    """
    from bringup.cli._faults import ledger_of, rows_of, try_again
    from bringup.cli._output import make_console, print_json

    ledger = ledger_of(kernel_cache)
    tried = try_again(ledger, everything=everything) if retry else {}
    rows = rows_of(ledger, tried)
    if json_output:
        print_json(rows)
    elif not rows:
        typer.echo(f"no compiler has died yet ({ledger.folder})")
    else:
        from rich.table import Table
        from rich.text import Text

        table = Table("entry", "target", "kernel", "what died", "seen", "state")
        for row in rows:
            table.add_row(*(Text(str(row[name])) for name in ("entry", "target", "kernel", "how", "seen", "state")))
        make_console().print(table)
    if any(not compiles for compiles in tried.values()):
        raise typer.Exit(1)


def new(
    name: Annotated[str, typer.Argument(help="The target's name: small letters, digits and '_'.")],
    to: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Where to; by default bringup-NAME here.")] = None,
    extends: Annotated[str, typer.Option(help="Shipped profile of vpe that the chip's profile starts from.")] = "pe64",
) -> None:
    """Write a package with a target of your own: the simulator plays the chip until its toolchain is there.

    It holds the chip's profile, its dialect, a lint rule, worked examples, and a test that runs the conformance suite.
    """
    from bringup.targets import new_target

    folder = new_target(name, to, extends)
    console = make_console()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        console.print(f"  {path}", highlight=False, markup=False)
    console.print("\nNow:", highlight=False)
    for line in (f"pip install -e {folder}", f"bringup targets check {name}", f"bringup targets show {name}"):
        console.print(f"  {line}", highlight=False, markup=False)
    console.print("docs/targets.md goes on from there.", highlight=False)


def _flat(data: dict[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    rows = []
    for key, value in data.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            rows += _flat(value, f"{name}.")
        elif isinstance(value, list):
            rows.append((name, ", ".join(map(str, value))))
        else:
            rows.append((name, str(value)))
    return rows
