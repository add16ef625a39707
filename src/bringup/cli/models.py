"""`bringup models`: small models of each kind, trained on a device with a kernel library behind it beside the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bringup.cli._library import LibraryOption
from bringup.cli._output import JsonOption, make_console, print_json

if TYPE_CHECKING:
    from bringup.models import ModelResult


def register(app: typer.Typer) -> None:
    """Add `bringup models list`, `run` and `show`."""
    models = typer.Typer(no_args_is_help=True, help="Train small models on a device beside the CPU.")
    models.command("list")(list_models)
    models.command("run")(run)
    models.command("show")(show)
    app.add_typer(models, name="models")


def list_models(json_output: JsonOption = False) -> None:
    """List the models: what they are, their optimisers and tolerances, and why one cannot run here."""
    from bringup.models import catalog

    rows = []
    for name in catalog.names():
        problem = catalog.unusable(name)
        row: dict[str, Any] = {"name": name, "needs": catalog.lacking(name), "problem": "; ".join(problem or ())}
        if not problem:
            recipe = catalog.get(name)
            row |= {
                "what": recipe.what, "optimizer": recipe.optimizer_name, "loss_tolerance": recipe.tolerance.loss,
                "gradient_tolerance": recipe.tolerance.gradient, "generates": recipe.generates,
            }  # fmt: skip
        rows.append(row)
    if json_output:
        print_json(rows)
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("model", "what", "optimiser", "tolerance"):
        table.add_column(column, overflow="fold", no_wrap=column == "model")
    for row in rows:
        if row["problem"]:
            table.add_row(row["name"], Text(row["problem"]), "", "", style="dim")
        else:
            table.add_row(row["name"], row["what"], row["optimizer"], f"{row['loss_tolerance']:g}")
    make_console().print(table)


def run(
    names: Annotated[list[str], typer.Argument(help="Models, or all: every model whose packages are installed.")],
    library: LibraryOption = None,
    target: Annotated[
        str, typer.Option("--target", "-t", help="Device: vpe:PROFILE, or cuda.", metavar="NAME")
    ] = "vpe:pe64",
    steps: Annotated[int, typer.Option(min=1, help="Steps of training.")] = 50,
    fallback: Annotated[
        str | None, typer.Option(metavar="cpu", help="cpu: let the CPU compute what has no kernel; counted.")
    ] = None,
    unjudged: Annotated[bool, typer.Option("--unjudged", help="Let kernels serve that nobody judged, too.")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the results there, as JSON; other models' stay.")
    ] = None,
    operators: Annotated[bool, typer.Option("--operators", help="Show what served each operator.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Train models on the CPU and on a device with one kernel library behind it, and compare.

    Compared are the losses of all steps, the first step's gradients of every parameter, and what the trained model
    generates. What has no kernel is composed of other operators where PyTorch can do that; what is missing then is
    listed with the command that would make it. Exit code 1 when a model differs or lacks a kernel, with --fallback cpu,
    too.
    """
    from bringup.errors import ConfigError
    from bringup.models import catalog, records

    if fallback not in (None, "cpu"):
        raise ConfigError(f"--fallback {fallback}", "only the CPU can stand in", "use --fallback cpu, or leave it out")
    if target.partition(":")[0] not in ("vpe", "cuda"):
        raise ConfigError(f"--target {target}", "no PyTorch device is there", "use vpe:PROFILE or cuda")
    chosen = catalog.chosen(names)
    if out is not None and not out.parent.is_dir():
        raise ConfigError(f"--out {out}", "its folder does not exist", "make it first")
    if out is not None and out.exists():
        records.load(out)  # an error now rather than after the training
    from bringup.cli._library import open_library
    from bringup.models import running

    setting = running.Setting(open_library(library), target, fallback == "cpu", unjudged)
    found = []
    for name in chosen:
        found.append(_one(name, setting, steps, quiet=json_output))
        if not json_output:
            _print(found[-1], operators)
        if out is not None:
            records.save(found, out)
    _end(found, json_output)


def _one(name: str, setting: Any, steps: int, *, quiet: bool) -> ModelResult:
    from bringup.cli._progress import make_progress
    from bringup.models import catalog, running

    with make_progress(shows=not quiet) as bar:
        task = bar.add_task(name, total=2 * steps)

        def told(device: str, step: int, loss: float) -> None:
            bar.update(task, advance=1, description=f"{name} on {device}: loss {loss:.4f}")

        return running.run(catalog.get(name), setting, steps, told)


def show(
    file: Annotated[Path, typer.Argument(help="What `bringup models run --out` wrote.")],
    operators: Annotated[bool, typer.Option("--operators", help="Show what served each operator.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="The table as it stands in a page.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Show the results of models again. Exit code as of `run`."""
    from bringup.models import records, tables

    found = records.load(file)
    if markdown:
        typer.echo(tables.markdown(found))
    elif not json_output:
        for one in found:
            _print(one, operators)
    _end(found, json_output, quiet=markdown)


def _print(result: ModelResult, operators: bool) -> None:
    from bringup.models import tables

    console = make_console()
    style = {"passed": "bold green", "differs": "bold red", "failed": "bold red", "lacks": "bold yellow"}
    console.print(f"[{style[result.status]}]{result.model}: {result.status}[/]", end="")
    console.print(f"  {tables.summary(result)}", markup=False, soft_wrap=True)
    for line in tables.details(result):
        console.print(f"    {line}", markup=False, soft_wrap=True)
    if not operators:
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("operator", "calls", "served by"):
        table.add_column(column, justify="right" if column == "calls" else "left", overflow="fold")
    for one in result.operators:
        table.add_row(one.overload, str(one.calls) if one.calls else "", tables.served(one))
    console.print(table)


def _end(found: list[ModelResult], json_output: bool, quiet: bool = False) -> None:
    from bringup.models import records, tables

    if json_output:
        print_json([records.as_data(one) for one in found])
    elif len(found) > 1 and not quiet:
        for line in tables.together(found):
            typer.echo(line)
    if any(one.status != "passed" for one in found):
        raise typer.Exit(1)
