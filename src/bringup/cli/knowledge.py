"""`bringup knowledge`: what the knowledge base holds, what of it fits a kernel, whether a folder of it is in order."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bringup.cli._output import JsonOption, make_console, print_json

if TYPE_CHECKING:
    from bringup.knowledge import Base, Chosen, KnowledgeFile

FoldersOption = Annotated[
    list[Path] | None,
    typer.Option("--knowledge", help="Further folder of knowledge files (repeatable; also $BRINGUP_KNOWLEDGE)."),
]
FolderArgument = Annotated[
    Path | None, typer.Argument(metavar="[DIR]", help="Folder of knowledge files; left out: the shipped base.")
]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(help="Knowledge base: short files on limits, idioms and devices.", no_args_is_help=True)
    group.command("list")(list_files)
    group.command("search")(search)
    group.command("show")(show)
    group.command("lint")(lint)
    group.command("index")(index)
    app.add_typer(group, name="knowledge")


def list_files(
    platform: Annotated[
        str | None, typer.Option(help="Only files that hold there: nvidia, amd, vpe, or a target such as vpe:pe64.")
    ] = None,
    concern: Annotated[
        str | None,
        typer.Option(help="Only files on this: memory, compute, special, latency, launch, correctness, debugging."),
    ] = None,
    section: Annotated[
        str | None, typer.Option(help="Only one folder: constraints, guidance, hardware, samples, distilled.")
    ] = None,
    unreviewed: Annotated[
        bool, typer.Option("--unreviewed", help="Only files from runs that nobody has read.")
    ] = False,
    knowledge: FoldersOption = None,
    json_output: JsonOption = False,
) -> None:
    """List the files: path, title, platform, concerns, what stands behind them."""
    from bringup.knowledge import Question, candidates

    base = _load(knowledge)
    found = list(base.files)
    if platform is not None:
        _note_unknown(base, platform)
        serving = {one.file.path for one in candidates(base, Question(platform))}
        found = [file for file in found if file.path in serving]
    if concern is not None:
        _checked_concerns((concern,))
        found = [file for file in found if concern in file.front.concerns]
    if section is not None:
        found = [file for file in found if file.section == section.strip("/")]
    if unreviewed:
        found = [file for file in found if file.front.unreviewed]
    if json_output:
        print_json([_data(file) for file in found])
        return
    _table(found)
    typer.echo(f"{len(found)} of {len(base.files)} files")


def search(
    text: Annotated[
        list[str] | None, typer.Argument(metavar="[TEXT]...", help="Words to look for: an error, a diagnosis.")
    ] = None,
    target: Annotated[
        str, typer.Option(help="Where the kernel runs: vpe:pe64, cuda:sm_90, hip:gfx942, or any.")
    ] = "any",
    concern: Annotated[
        list[str] | None, typer.Option(help="Bound of a diagnosis, or correctness or debugging (repeatable).")
    ] = None,
    op: Annotated[str, typer.Option(help="Operator.")] = "",
    file: Annotated[Path | None, typer.Option(help="Candidate: what its kernels use counts.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Files at most.")] = 8,
    tokens: Annotated[int | None, typer.Option(min=1, help="Tokens of all files at most, estimated.")] = None,
    reviewed: Annotated[bool, typer.Option("--reviewed", help="No files from runs that nobody has read.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Print the files, as a prompt would have them.")] = False,
    knowledge: FoldersOption = None,
    json_output: JsonOption = False,
) -> None:
    """Choose files as the search's prompts do: by platform, concern, operator and what the kernel uses, then by text.

    Exit code 1 when nothing fits.
    """
    from bringup.cli.lint import read
    from bringup.errors import ConfigError
    from bringup.knowledge import Question, candidates, fetch, scores

    words = " ".join(text or ())
    if not (words or concern or op or file or target != "any"):
        raise ConfigError("knowledge search", "nothing to search by", "give words, --target, --concern, --op or --file")
    source = ""
    if file is not None:
        found = read(file)
        source = getattr(found, "source", None) or file.read_text(encoding="utf-8")
    base = _load(knowledge)
    _note_unknown(base, target)
    question = Question(target, "", _checked_concerns(tuple(concern or ())), op, source, words, not reviewed)
    chosen = candidates(base, question)
    if words and not (concern or op or file):  # plain text search: what has none of the words does not belong
        relevant = dict(zip((f.path for f in base.files), scores(base.files, words), strict=True))
        chosen = sorted((c for c in chosen if relevant[c.file.path] > 0), key=lambda c: -relevant[c.file.path])
    result = fetch(chosen, limit, tokens if tokens is not None else 1 << 30)
    if json_output:
        rows = [{**_data(c.file), "score": round(c.score, 3), "why": c.why} for c in result.chosen]
        print_json({"chosen": rows, "tokens": result.tokens, "left_out": result.left_out})
    elif full:
        typer.echo(result.text, nl=False)
    else:
        _print_chosen(result.chosen)
    if not result.chosen:
        typer.echo("nothing fits; try fewer conditions", err=True)
        raise typer.Exit(1)


def show(
    path: Annotated[str, typer.Argument(help="Path below the base, or its last part: pe64, guidance/triton/masks.")],
    knowledge: FoldersOption = None,
    json_output: JsonOption = False,
) -> None:
    """Show one file with its sources."""
    file = _load(knowledge).get(path)
    if json_output:
        print_json({**_data(file), "body": file.body})
        return
    front = file.front
    typer.echo(f"{front.title}\n{file.path}")
    facts = {
        "platform": ", ".join((*front.platforms, *front.devices)),
        "concerns": ", ".join(front.concerns),
        "for": ", ".join((*front.operators, *front.kinds)) or "any operator",
        "evidence": front.standing,
        "sources": "; ".join(front.sources),
    }
    for name, value in facts.items():
        typer.echo(f"{name:<9} {value}")
    for result in front.results:
        typer.echo(f"result    {result.operator} on {result.target}: {result.before} -> {result.after} ({result.run})")
    typer.echo(f"\n{file.body.strip()}")


def lint(folder: FolderArgument = None, json_output: JsonOption = False) -> None:
    """Check a folder: front matter, sources, length, code blocks, links, index. Exit code 1 when something is wrong."""
    from bringup.errors import ConfigError
    from bringup.knowledge import lint as lint_folder
    from bringup.knowledge import read_folder, shipped

    where = folder if folder is not None else shipped()
    base = read_folder(where)
    faults = lint_folder(where)
    if not base.files and not faults:
        raise ConfigError(str(where), "no Markdown files", "give a folder of knowledge files")
    if json_output:
        print_json({"folder": str(where), "files": len(base.files), "faults": [f.__dict__ for f in faults]})
    else:
        for fault in faults:
            typer.echo(fault.line)
        count = f"{len(faults)} fault{'s' if len(faults) > 1 else ''}" if faults else "in order"
        typer.echo(f"{len(base.files)} files, {count}")
    if faults:
        raise typer.Exit(1)


def index(folder: FolderArgument = None) -> None:
    """Write a folder's index.md from the front matter of its files."""
    from bringup.errors import FormatError
    from bringup.files import write_atomically
    from bringup.knowledge import INDEX, index_page, read_folder, shipped

    where = folder if folder is not None else shipped()
    base = read_folder(where)
    for fault in base.faults:
        typer.echo(fault.line, err=True)
    if not base.files:
        raise FormatError(f"{where}: no file with front matter; see docs/knowledge.md")
    try:
        write_atomically(where / INDEX, index_page(base.files).encode())
    except OSError as error:
        raise FormatError(f"{where / INDEX}: cannot be written: {error.strerror}") from error
    typer.echo(f"{where / INDEX}: {len(base.files)} files")


def _load(knowledge: list[Path] | None) -> Base:
    from bringup.knowledge import load

    base = load(knowledge or ())
    for fault in base.faults:
        typer.echo(f"left out: {fault.line}", err=True)
    return base


def _note_unknown(base: Base, target: str) -> None:
    """Say that no file is about a platform: a target of a plug-in, or a slip of the pen."""
    from bringup.errors import did_you_mean
    from bringup.knowledge import platform_of

    platform = platform_of(target)[0]
    known = {name for file in base.files for name in file.front.platforms}
    if platform not in known:
        hint = did_you_mean(platform, known)
        typer.echo(f"no file is about the platform '{platform}'{hint}; general files only", err=True)


def _checked_concerns(concerns: tuple[str, ...]) -> tuple[str, ...]:
    from bringup.errors import UnknownName
    from bringup.knowledge import CONCERNS

    for concern in concerns:
        if concern not in CONCERNS:
            raise UnknownName("concern", concern, CONCERNS)
    return concerns


def _data(file: KnowledgeFile) -> dict[str, Any]:
    front = file.front.model_dump(mode="json")
    return {"path": file.path, "root": file.root, "tokens": file.tokens, "standing": file.front.standing, **front}


def _table(found: list[KnowledgeFile]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table("file", "about", "platform", "concerns", "evidence", box=None, padding=(0, 2, 0, 0))
    for file in found:
        where = ", ".join(file.front.devices or file.front.platforms)
        row = (file.path, file.front.title, where, ", ".join(file.front.concerns), file.front.standing)
        table.add_row(*(Text(cell) for cell in row))
    make_console().print(table)


def _print_chosen(chosen: tuple[Chosen, ...]) -> None:
    from rich.text import Text

    console = make_console()
    for one in chosen:
        line = Text(one.file.path, style="bold")
        line.append(f"  {one.file.front.title}", style="default")
        console.print(line)
        console.print(Text(f"    {'; '.join(one.why) or 'for any kernel'} ({one.file.tokens} tokens)", style="dim"))
