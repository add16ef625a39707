"""`bringup coverage`: how much of PyTorch a device computes with one kernel library behind it, and nothing else."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bringup.cli._library import LibraryOption
from bringup.cli._output import JsonOption, listed, make_console, print_json

if TYPE_CHECKING:
    from bringup.coverage import Header, Results
    from bringup.coverage.measuring import Setting
    from bringup.operators import Operator
    from bringup.targets import Target

SHOWN = 20  # missing kernels and failures in a table


def register(app: typer.Typer) -> None:
    """Add `bringup coverage` and `bringup coverage show`."""
    coverage = typer.Typer(invoke_without_command=True, help=measure.__doc__)
    coverage.callback()(measure)
    coverage.command("show")(show)
    coverage.command("ship")(ship)
    app.add_typer(coverage, name="coverage")


def measure(
    context: typer.Context,
    target: Annotated[
        str, typer.Option("--target", "-t", help="Device: vpe:PROFILE, or cuda.", metavar="NAME")
    ] = "vpe:pe64",
    library: LibraryOption = None,
    ops: Annotated[
        list[str] | None,
        typer.Option("--ops", callback=listed, help="Only these operators: names, globs or @file (repeatable)."),
    ] = None,
    gradients: Annotated[
        bool, typer.Option("--gradients", help="Gradients in float32, too, compared with the CPU's.")
    ] = False,
    enable: Annotated[
        str,
        typer.Option(metavar="MODULE:FUNCTION", help="No library: call this, which registers kernels for the device."),
    ] = "",
    unjudged: Annotated[bool, typer.Option("--unjudged", help="Let kernels serve that nobody judged, too.")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File of the results (default: coverage-TARGET.jsonl).")
    ] = None,
    anew: Annotated[bool, typer.Option("--anew", help="Overwrite what the file holds, rather than go on.")] = False,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="The library has changed: measure again what its changes concern.")
    ] = False,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Processes that measure.")] = 1,
    seconds: Annotated[float, typer.Option(min=1, help="Time for one case.")] = 120.0,
    json_output: JsonOption = False,
) -> None:
    """Run every case of OpInfo on a device with one kernel library behind it, and say which operators it covers.

    An operator is covered if all of its cases pass: the call, in place, with out=, and its gradients where these were
    asked for; nothing falls back to the CPU. Each result is written to the file as it comes, and the same command goes
    on where it was stopped. Exit code 0 when all operators are covered that the device can be measured on, else 1.
    """
    if context.invoked_subcommand is not None:
        return
    from bringup.coverage import Results, file_name
    from bringup.errors import ConfigError
    from bringup.suites import select
    from bringup.suites.opinfo import OpInfoSuite
    from bringup.targets import get_target

    if enable and library is not None:
        raise ConfigError("command line", "--enable and --library exclude each other", "give one of them")
    suite = OpInfoSuite(options="alone")
    eligible = [operator for operator in suite.operators() if operator.exclusion is None]
    chosen = select(suite, ops) if ops else eligible
    found_target = get_target(target)
    if target.partition(":")[0] not in ("vpe", "cuda"):
        raise ConfigError(f"--target {target}", "no PyTorch device is measured there", "use vpe:PROFILE or cuda")
    setting, header = _setting(
        found_target, library, enable, unjudged=unjudged, gradients=gradients, seconds=seconds, eligible=len(eligible),
        suite=suite.forms_digest(),
    )  # fmt: skip
    path = out if out is not None else Path(file_name(setting.target))
    if anew and refresh:
        raise ConfigError("command line", "--anew and --refresh exclude each other", "give one of them")
    results = (
        _refreshed(path, header, setting.library, quiet=json_output)
        if refresh
        else Results.start(path, header, anew=anew)
    )
    _measure(results, setting, chosen, found_target, jobs, quiet=json_output)
    wanted = {operator.name for operator in chosen}
    part = Results(path, results.header, [r for name, r in results.operators.items() if name in wanted])
    _tell(part, json_output=json_output, markdown=False)
    open_ones = [r for r in part.operators.values() if r.status not in ("covered", "not_applicable")]
    if open_ones:
        raise typer.Exit(1)


def _refreshed(path: Path, header: Header, library: Path | None, *, quiet: bool) -> Results:
    from bringup.coverage import Results, file_name
    from bringup.coverage.refreshing import kept

    source = path
    if not path.exists() and library is not None and (library / file_name(header.target)).is_file():
        source = library / file_name(header.target)  # what ships stays as it is; the refreshed one goes to `path`
    before = Results.read(source)
    if before.header.key() == header.key() and source == path:
        return Results.start(path, header)
    still = before.operators
    if before.header.key() != header.key():
        still = kept(before.operators, before.header, header, str(source))
    if not quiet:
        typer.echo(
            f"{len(still)} of {len(before.operators)} results in {source} hold with the library as it is", err=True
        )
    return Results.refreshed(path, header, still.values())


def _setting(
    target: Target, library: Path | None, enable: str, *, unjudged: bool, gradients: bool, seconds: float,
    eligible: int, suite: str,
) -> tuple[Setting, Header]:  # fmt: skip
    import json
    from importlib.metadata import PackageNotFoundError, version

    from bringup.candidate import digest
    from bringup.coverage import Header, chosen_library, kernel_digests
    from bringup.coverage.measuring import Setting

    folder, content = (None, "") if enable else chosen_library(library)
    name = f"vpe:{target.profile}" if target.name.startswith("vpe") else target.name
    facts = target.facts()
    try:
        triton = version("triton")
    except PackageNotFoundError:
        triton = ""
    header = Header(
        target=name,
        library=_shown(folder) if folder else "",
        library_digest=f"{content}{' unjudged' if unjudged else ''}",
        kernels=kernel_digests(folder),
        enable=enable,
        gradients=gradients,
        suite=suite,
        torch=version("torch"),
        triton=triton,
        device=digest(json.dumps(facts, sort_keys=True, default=str)) if facts else "",
        eligible=eligible,
    )
    return Setting(name, folder, enable, unjudged, gradients, seconds), header


def _shown(folder: Path) -> str:
    """Name a folder as files that travel should: from here, where it is within; else by its last part."""
    here = Path.cwd()
    return str(folder.relative_to(here)) if folder.is_relative_to(here) else folder.name


def _measure(
    results: Results, setting: Setting, chosen: list[Operator], target: Target, jobs: int, *, quiet: bool
) -> None:
    from bringup.coverage import OperatorResult

    left = [operator for operator in chosen if operator.name not in results.operators]
    reasons = {operator.name: operator.not_applicable(target.features) for operator in left}
    left = [operator for operator in left if reasons[operator.name] is None]
    if left:
        _run(results, setting, left, jobs, quiet=quiet)
    # Last: a device that cannot be had leaves no result in the file.
    for name, reason in reasons.items():
        if reason is not None:
            results.add(OperatorResult(operator=name, status="not_applicable", reason=reason))


def _run(results: Results, setting: Setting, left: list[Operator], jobs: int, *, quiet: bool) -> None:
    from bringup.cli._progress import make_progress
    from bringup.coverage import OperatorResult
    from bringup.coverage.measuring import measure as run

    if not quiet:
        behind = setting.enable or setting.library or "no library (the bare device)"
        typer.echo(f"{setting.target} with {behind}: {len(left)} operators to measure, into {results.path}", err=True)
    from rich.progress import TextColumn

    covered = sum(r.status == "covered" for r in results.operators.values())
    shows = sys.stderr.isatty() and not quiet
    with make_progress(TextColumn("{task.fields[covered]} covered"), shows=shows) as bar:
        task = bar.add_task("measuring", total=len(left), covered=covered)

        def take(result: OperatorResult) -> None:
            nonlocal covered
            results.add(result)
            covered += result.status == "covered"
            bar.update(task, advance=1, description=result.operator, covered=covered)

        try:
            run(setting, [operator.name for operator in left], take, jobs=jobs)
        except KeyboardInterrupt:
            typer.echo(f"{len(results.operators)} results are in {results.path}; the same command goes on", err=True)
            raise


def ship(
    file: Annotated[Path, typer.Argument(help="File that `bringup coverage` has written.")],
    library: LibraryOption = None,
) -> None:
    """Lay a whole measurement beside the kernels that it is of, where `bringup plan` and --refresh find it.

    Seconds, most failing cases and the library's path are left out. A measurement of other kernels is refused.
    """
    from bringup.coverage import ship as write

    typer.echo(f"wrote {write(file, library)}")


def show(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="File that `bringup coverage` has written (default: as for --target, here or in the library)."
        ),
    ] = None,
    target: Annotated[
        str, typer.Option("--target", "-t", help="Whose measurement, where no file is given.", metavar="NAME")
    ] = "vpe:pe64",
    library: LibraryOption = None,
    ops: Annotated[
        list[str] | None,
        typer.Option("--ops", callback=listed, help="The results of these operators, case by case (globs)."),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the tables as Markdown.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Show what a measurement of a device has found: names covered, missing kernels, wrong results."""
    from fnmatch import fnmatchcase

    from bringup.coverage import Results, chosen_library, results_file, stale
    from bringup.errors import UnknownName

    folder = None
    if file is None:
        folder, _ = chosen_library(library)
        file = results_file(target, folder)
    results = Results.read(file)
    if folder is not None and (why := stale(results.header, folder)):
        typer.echo(f"{file}: of another state of the library, {why}", err=True)
    if ops:
        for pattern in ops:
            if not any(fnmatchcase(name, pattern) for name in results.operators):
                raise UnknownName("operator", pattern, results.operators, str(file))
        picked = [r for n, r in results.operators.items() if any(fnmatchcase(n, pattern) for pattern in ops)]
        if json_output:
            print_json([r.model_dump(mode="json") for r in picked])
        else:
            _print_operators(picked)
        return
    _tell(results, json_output=json_output, markdown=markdown)


def _tell(results: Results, *, json_output: bool, markdown: bool) -> None:
    from bringup.coverage import summarise

    summary = summarise(results)
    if json_output:
        print_json({
            "header": results.header.model_dump(mode="json"),
            "file": str(results.path),
            "measured": summary.measured,
            "statuses": dict(summary.statuses),
            "covered_by": dict(summary.how),
            "pass_without_gradients": summary.forward,
            "forms": {
                form: {"names_passed": a, "names": b, "cases_passed": c, "cases": d}
                for form, (a, b, c, d) in summary.forms.items()
            },
            "missing_kernels": [
                {"overload": u.overload, "unlocks": list(u.unlocks), "needed_by": u.needed_by} for u in summary.order
            ],
            "operators": [r.model_dump(mode="json") for r in results.operators.values()],
        })  # fmt: skip
        return
    tables = _tables(results, summary)
    if markdown:
        typer.echo("\n\n".join(_as_markdown(*table) for table in tables))
        return
    from rich.table import Table

    console = make_console()
    for title, head, rows in tables:
        table = Table(title=title, title_justify="left")
        for number, name in enumerate(head):
            table.add_column(name, justify="right" if number and all(r[number][:1].isdigit() for r in rows) else "left")
        for row in rows:
            table.add_row(*row)
        console.print(table)


Shown = tuple[str, list[str], list[list[str]]]


def _tables(results: Results, summary: Any) -> list[Shown]:
    """Return the tables of a measurement: title, head, rows."""
    header = results.header
    behind = f"with {header.enable}" if header.enable else "with its library" if header.library_digest else "bare"
    rows = [
        ["covered", str(summary.statuses["covered"]), _percent(summary.statuses["covered"], header.eligible)],
        ["  by a kernel of its own", str(summary.how["own"]), ""],
        ["  composed of others' kernels", str(summary.how["composed"]), ""],
        ["  needs no kernel", str(summary.how["none"]), ""],
        ["gradients apart, pass", str(summary.forward), _percent(summary.forward, header.eligible)],
        ["kernels are missing", str(summary.statuses["missing"]), ""],
        ["fails otherwise", str(summary.statuses["failed"]), ""],
        ["not applicable to the device", str(summary.statuses["not_applicable"]), ""],
        ["not measured", str(max(0, header.eligible - summary.measured)), ""],
    ]
    if summary.how["unknown"]:
        rows[1:4] = [["  by which kernels is not observed", str(summary.how["unknown"]), ""]]
    title = f"{header.target} {behind}, torch {header.torch}: of {header.eligible} operators"
    tables: list[Shown] = [(title, ["operators", "names", "of all"], rows)]
    forms = [
        [form, f"{a} of {b}", f"{c} of {d}"] for form, (a, b, c, d) in summary.forms.items() if b
    ]  # fmt: skip
    if forms:
        tables.append(("Forms", ["form", "names, all cases passed", "cases passed"], forms))
    if summary.order:
        order = [
            [str(n), one.overload, str(len(one.unlocks)), str(one.needed_by), _some(one.unlocks)]
            for n, one in enumerate(summary.order[:SHOWN], 1)
        ]
        title = f"Missing kernels, in the order that unlocks most names ({len(summary.order)} in all)"
        tables.append((title, ["", "kernel", "unlocks", "needed by", "names"], order))
    wrong = [r for r in results.operators.values() if r.status == "failed"]
    if wrong:
        rows = []
        for result in sorted(wrong, key=lambda r: r.operator)[:SHOWN]:
            first = next(f for f in result.failures if f.kind != "missing")
            count = sum(result.failed.values()) - result.failed.get("missing", 0)
            case = f"{first.dtype} {first.index} {first.form}"
            rows.append([result.operator, str(count), first.kind.replace("_", " "), case, first.message[:160]])
        tables.append((f"Failures ({len(wrong)} operators)", ["operator", "cases", "kind", "first", "message"], rows))
    return tables


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else ""


def _some(names: tuple[str, ...]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _as_markdown(title: str, head: list[str], rows: list[list[str]]) -> str:
    def line(cells: list[str]) -> str:
        return "| " + " | ".join(cell.strip().replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"

    return "\n".join([f"**{title}**", "", line(head), line(["---"] * len(head)), *map(line, rows)])


def _print_operators(picked: list[Any]) -> None:
    for result in picked:
        tallies = ", ".join(f"{form} {t.passed}/{t.total}" for form, t in result.forms.items())
        typer.echo(f"{result.operator}: {result.status.replace('_', ' ')}{f' ({result.how})' if result.how else ''}"
                   f"{f': {tallies}' if tallies else ''}{f': {result.reason}' if result.reason else ''}")  # fmt: skip
        if result.kernels:
            typer.echo(f"    kernels: {', '.join(f'{n} ({c})' for n, c in sorted(result.kernels.items()))}")
        for name, parts in sorted(result.needs.items()):
            composed = "" if tuple(parts) == (name,) else f", or for its decomposition: {', '.join(parts)}"
            typer.echo(f"    missing: {name}{composed}")
        for failure in result.failures:
            typer.echo(f"    {failure.dtype} {failure.index} {failure.form}: {failure.kind}: {failure.message}")
