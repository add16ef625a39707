"""`bringup tree`: the graph of a search, on the terminal and as a page; several searches side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bringup.cli._output import JsonOption, make_console, print_json
from bringup.cli._runs import RunsDirOption

if TYPE_CHECKING:
    from bringup.search.graph import Graph, Node
    from bringup.store import Run


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("tree")(tree)
    app.command("best")(best)


def tree(
    runs: Annotated[list[str] | None, typer.Argument(metavar="RUN...", help="Searches; default: the latest.")] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Where the page goes (default: the first run's folder).")
    ] = None,
    page: Annotated[bool, typer.Option("--page/--no-page", help="Write the page, too.")] = True,
    runs_dir: RunsDirOption = None,
    json_output: JsonOption = False,
) -> None:
    """Show the graph of a search: every node, what it came from, what was changed, and what came of it.

    The page has code, difference to the parent, verdict and profile of every node, and the best fitness over nodes.
    With several searches they stand side by side, with one plot.
    """
    from contextlib import ExitStack

    from rich.text import Text

    from bringup.search.export import search_data
    from bringup.search.page import read_search, write_page
    from bringup.search.words import best_line

    with ExitStack() as stack:
        opened = [stack.enter_context(_search(spec, runs_dir)) for spec in runs or ["latest"]]
        if json_output:
            data = []
            for run in opened:
                graph = _graph(run)
                data.append(search_data(graph, run.id, run.config(), _changes(run)))
            print_json(data if len(data) > 1 else data[0])
            return
        console = make_console()
        for run in opened:
            graph = _graph(run)
            console.print(Text(f"{run.started.operators[0].name}, run {run.id}", style="bold"))
            for text, node in _drawn(graph, _changes(run)):
                style = "green bold" if node is graph.best else "" if node.valid else "cyan" if node.open else "red"
                console.print(Text(text, style=style), soft_wrap=True)
            console.print(Text(best_line(graph), style="bold green" if graph.best is not None else "bold yellow"))
            if graph.ended is not None:
                console.print(Text(f"ended: {graph.ended.reason}", style="dim"))
        if len(opened) > 1:
            console.print(_side_by_side(opened))
        if page:
            path = html or opened[0].folder / "tree.html"
            write_page([read_search(run) for run in opened], path)
            console.print(Text(f"page  {path}"), soft_wrap=True)


def best(
    run: Annotated[str, typer.Argument(metavar="[RUN]", help="A search; default: the latest.")] = "latest",
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE.py", help="Write it there.")] = None,
    node: Annotated[str | None, typer.Option(help="Another node than the best.")] = None,
    runs_dir: RunsDirOption = None,
    json_output: JsonOption = False,
) -> None:
    """Print the best kernel of a search, or write it to a file. Exit code 1 when none is right.

    Beside it (on standard error where the kernel goes to standard output): which node is the fastest in which kind of
    timed calls. Each of these has passed the whole gate; `bringup library add RUN` takes them all.
    """
    from bringup.errors import EnvironmentFault, UnknownName
    from bringup.files import write_atomically
    from bringup.search.export import node_data, serving_data
    from bringup.search.words import best_line, serving_lines

    with _search(run, runs_dir) as opened:
        graph = _graph(opened)
        if node is not None and node not in graph.nodes:
            raise UnknownName("node", node, graph.nodes, f"run {opened.id}")
        chosen = graph.best if node is None else graph[node]
        if chosen is None or chosen.candidate is None:
            typer.echo(
                f"run {opened.id}: {best_line(graph) if node is None else 'the node has no candidate'}", err=True
            )
            raise typer.Exit(1)
        source = opened.blob(chosen.candidate)
        if json_output:
            found = node_data(chosen, _changes(opened)(chosen))
            print_json({**found, "serving": serving_data(graph), "run": opened.id, "source": source})
            return
        if output is None:
            typer.echo(source, nl=not source.endswith("\n"))
            for text in serving_lines(graph):
                typer.echo(text, err=True)
            return
        try:
            write_atomically(output, source.encode())
        except OSError as error:
            raise EnvironmentFault(f"{output}: cannot be written: {error.strerror}; give another file") from error
        gate = "" if chosen.finished is not None and chosen.finished.gate else ", which has not passed the whole gate"
        typer.echo(f"{output}: node {chosen.id} of {opened.id}, {chosen.fitness:.3g}x{gate}")
        for text in serving_lines(graph):
            typer.echo(text)


def _search(spec: str, runs_dir: Path | None) -> Run:
    """Open a search; `latest` is the latest search, whatever other runs came after it."""
    from bringup.cli._runs import open_named, runs_root
    from bringup.errors import BringupError, ConfigError, StoreError
    from bringup.store import list_runs, open_run

    if spec == "latest":
        root = runs_root(runs_dir)
        for folder in reversed(list_runs(root)):
            try:
                run = open_run(folder)
                if run.started.config.get("search"):
                    return run
                run.close()
            except BringupError:
                continue
        raise StoreError(f"no search in {root}; start one with `bringup tune OP`, or give the folder with --runs-dir")
    run = open_named(spec, runs_dir)
    if not run.started.config.get("search"):
        run.close()
        raise ConfigError(f"run {run.id}", "is no search", "see `bringup report` for it")
    return run


def _graph(run: Run) -> Graph:
    from bringup.search.graph import Graph

    return Graph.of(run.events())


def _changes(run: Run) -> Any:
    from bringup.search.prompting import change_of

    return lambda node: change_of(run.blob(node.reply)) if node.reply is not None else ""


def _drawn(graph: Graph, change: Any) -> list[tuple[str, Node]]:
    from bringup.search.words import line, tree

    return [(f"{branch}{line(node, change(node)).strip()}", node) for branch, node in tree(graph)]


def _side_by_side(opened: list[Run]) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("run", "operator", "target", "policy", "nodes", "right", "best", "at node"):
        table.add_column(name, justify="right" if name in {"nodes", "right", "best", "at node"} else "left")
    for run in opened:
        graph, config = _graph(run), run.config()
        search: Any = config["search"]
        found = graph.best
        table.add_row(
            Text(run.id), run.started.operators[0].name, str(config["target"]), search["policy"], str(graph.spent),
            str(len(graph.valid)), f"{found.fitness:.3g}x" if found else "none", found.id if found else "",
        )  # fmt: skip
    return table
