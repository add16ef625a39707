"""`bringup library`: the kernels that passed, on disk: add, list, show, verify, compare, and take them elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bringup.cli._library import ChangedLibraryOption, LibraryOption
from bringup.cli._output import JsonOption, listed, make_console, print_json
from bringup.cli._runs import RunsDirOption

if TYPE_CHECKING:
    from bringup.cli._library import Source
    from bringup.judge.evidence import Bundle
    from bringup.library import Entry, Library, When

TargetOption = Annotated[str | None, typer.Option(help="Target, NAME or NAME:PROFILE.")]
SuiteOption = Annotated[str, typer.Option(help="Suite whose gates judge.")]
JobsOption = Annotated[int, typer.Option(help="Judge workers.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(no_args_is_help=True, help="Keep the kernels that passed in a library that PyTorch loads.")
    group.command("add")(add)
    group.command("list")(list_kernels)
    group.command("show")(show)
    group.command("verify")(verify)
    group.command("diff")(diff)
    group.command("export")(export)
    group.command("import")(import_kernels)
    group.command("remove")(remove)
    app.add_typer(group, name="library")


def add(
    what: Annotated[list[str], typer.Argument(metavar="RUN|RECORDINGS|FILE...", help="Where the kernels come from.")],
    library: ChangedLibraryOption = None,
    op: Annotated[str | None, typer.Option(help="Of a Python file: the overload that it serves.")] = None,
    ops: Annotated[
        list[str] | None, typer.Option("--ops", callback=listed, help="Only these operators (repeatable).")
    ] = None,
    target: TargetOption = None,
    suite: SuiteOption = "aten",
    profile: Annotated[bool, typer.Option("--override", help="For the target's profile only, over the base.")] = False,
    variant: Annotated[str, typer.Option(help="Name of a variant, for the calls that --when says.")] = "",
    when: Annotated[str | None, typer.Option(help="dtype=A|B,rank=N,elements>=N,elements<=N,contiguous.")] = None,
    calls: Annotated[list[str] | None, typer.Option(help="Overload that the kernel calls (repeatable).")] = None,
    unjudged: Annotated[bool, typer.Option("--unjudged", help="Add without a verdict; serves only if asked.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Put it in the place of one that is there.")] = False,
    jobs: JobsOption = 2,
    runs_dir: RunsDirOption = None,
    json_output: JsonOption = False,
) -> None:
    """Add kernels: of a run or a search, of a set of recordings, of an evidence file, or a Python file.

    A search's kernels become variants, each for the kinds of calls (dtype, rank, size) where it is the fastest and
    faster than what it was compared with; for all others what there was stays. With --variant the best one alone is
    added, for the calls that --when says.

    A run's and an evidence file's kernels carry their passed verdicts; others are judged first, and those that were
    judged otherwise than calls are made in use (other limits, for other chips too). What does not pass is not added,
    and the exit code is 1.
    """
    import asyncio

    from bringup.cli._library import chosen, collect, judge
    from bringup.errors import ConfigError
    from bringup.library import Library, parse_when
    from bringup.library.adding import add_judged, add_unjudged, circumstances, parse_source, refusal

    if bool(variant) != bool(when):
        raise ConfigError("--variant and --when", "belong together", "name the variant and say which calls it is for")
    condition = parse_when(when) if when else None
    if calls and not unjudged:
        raise ConfigError("--calls", "the judge gives no operators to kernels yet", "add it with --unjudged")
    added: list[dict[str, Any]] = []
    refused: list[dict[str, Any]] = []
    opened: Library | None = None
    for name in what:
        sources, found = collect(name, op, ops or [], runs_dir, best_alone=bool(variant))
        where = target or found or "vpe:pe64"
        todo = [
            s for s in sources
            if s.bundle is None or (target and s.bundle.evidence.target != target) or circumstances(s.bundle.evidence)
        ]  # fmt: skip
        ready = [s for s in sources if s not in todo]
        won = {s.origin: s.variants for s in sources if s.variants is not None and not variant}
        bundles = [(s.origin, s.bundle) for s in ready if s.bundle is not None]
        for source in todo:
            _say_what_the_linter_says(source, where)
        if todo and not unjudged:
            pairs = [(s.operator, parse_source(s.source, s.origin).source) for s in todo]
            judged = asyncio.run(judge(pairs, suite, where, jobs, shows=not json_output))
            bundles += [(s.origin, bundle) for s, bundle in zip(todo, judged, strict=True)]
        good = [(origin, bundle) for origin, bundle in bundles if refusal(bundle.evidence) is None]
        refused += [{"operator": b.evidence.operator, "why": refusal(b.evidence)} for _, b in bundles
                    if refusal(b.evidence) is not None]  # fmt: skip
        if opened is None and (good or (unjudged and todo)):
            opened = Library.create(chosen(library), where)
        options: dict[str, Any] = {"variant": variant, "when": condition, "replaces": replace}
        options["profile"] = where if profile else ""
        for origin, bundle in good:
            assert opened is not None
            for part in _parts(won.get(origin)):
                added.append(_row(add_judged(opened, bundle, origin=origin, **{**options, **part})))
            if won.get(origin) == ():
                why = "it was faster than what it was compared with in no timed call"
                refused.append({"operator": bundle.evidence.operator, "why": why})
        for source in todo if unjudged else ():
            assert opened is not None
            entry = add_unjudged(
                opened, source.operator, source.source, origin=source.origin, calls=calls or (), **options
            )  # fmt: skip
            added.append(_row(entry))
    if json_output:
        print_json({"library": str(chosen(library)), "added": added, "refused": refused})
    else:
        for row in refused:
            typer.echo(f"not added: {row['operator']}: {row['why']}", err=True)
        typer.echo(f"{len(added)} kernel{'' if len(added) == 1 else 's'} added to {chosen(library)}")
    if refused or not added:
        raise typer.Exit(1)


def _say_what_the_linter_says(source: Source, target: str) -> None:
    """Tell of a file's objections: they keep nobody out, but models would not get this far with them."""
    from bringup.candidate import Candidate
    from bringup.linter import lint
    from bringup.targets import get_target

    found = lint(Candidate(source=source.source), get_target(target).dialect())
    if found:
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        typer.echo(
            f"note: {source.origin}: the linter objects to line {found[0].line} ({found[0].rule}){more}; that keeps no "
            "kernel out (bringup lint says everything)",
            err=True,
        )


def _parts(variants: tuple[tuple[str, When], ...] | None) -> list[dict[str, Any]]:
    """Return what distinguishes the entries of one kernel: a variant for each kind of calls, or one for all calls."""
    return [{}] if variants is None else [{"variant": name, "when": when} for name, when in variants]


def _row(entry: Entry) -> dict[str, Any]:
    return {
        "overload": entry.overload,
        "folder": entry.folder,
        "profile": entry.profile,
        "variant": entry.variant,
        "when": str(entry.when) if entry.when else "",
        "calls": list(entry.calls),
        "candidate": entry.candidate,
        "judged": [
            {"target": j.target, "torch": j.torch, "triton": j.triton, "suite": j.suite, "cases": j.cases,
             "dtypes": list(j.dtypes)}
            for j in entry.judged
        ],
        "origin": entry.origin,
    }  # fmt: skip


def list_kernels(
    library: LibraryOption = None,
    pattern: Annotated[str, typer.Argument(help="Overloads, as a glob.")] = "*",
    json_output: JsonOption = False,
) -> None:
    """List the kernels of a library, with what each was judged for."""
    from fnmatch import fnmatchcase

    from bringup.cli._library import open_library

    opened = open_library(library)
    entries = [e for e in opened.entries if fnmatchcase(e.overload, pattern)]
    if json_output:
        print_json({"library": str(opened.path), "target": opened.target, "kernels": [_row(e) for e in entries]})
        return
    from rich.table import Table

    table = Table("overload", "for", "cases", "judged on", "dtypes", "from")
    for entry in entries:
        where = ", ".join(filter(None, (entry.profile, f"{entry.variant}: {entry.when}" if entry.variant else "")))
        table.add_row(
            entry.overload,
            where or "all calls",
            str(entry.judged[0].cases) if entry.judged else "",
            "; ".join(f"{j.target} (torch {j.torch}, triton {j.triton})" for j in entry.judged) or "not judged",
            " ".join(entry.judged[0].dtypes) if entry.judged else "",
            entry.origin,
        )
    console = make_console()
    console.print(table)
    console.print(f"{len(entries)} kernels for {opened.target} in {opened.path}")


def show(
    overload: Annotated[str, typer.Argument(help="Overload, or folder of a kernel.")],
    library: LibraryOption = None,
    json_output: JsonOption = False,
) -> None:
    """Print a kernel's source and what its verdict rests on."""
    import json

    from bringup.cli._library import open_library

    opened = open_library(library)
    entries = _chosen(opened, overload)
    if json_output:
        print_json([
            _row(e) | {
                "source": opened.source(e),
                "evidence": [json.loads(opened.evidence(e, j)) for j in e.judged],
            }
            for e in entries
        ])  # fmt: skip
        return
    for entry in entries:
        name = f"{entry.folder}, for {entry.when}" if entry.when else entry.folder
        for judged in entry.judged:
            typer.echo(
                f"# {name}: passed {judged.cases} cases of {judged.suite}:{judged.operator} on "
                f"{judged.target}, torch {judged.torch}, triton {judged.triton}"
            )
        if not entry.judged:
            typer.echo(f"# {name}: not judged")
        typer.echo(opened.source(entry), nl=False)


def _chosen(library: Library, name: str) -> list[Entry]:
    from bringup.errors import UnknownName

    found = [entry for entry in library.entries if name in (entry.overload, entry.folder)]
    if not found:
        raise UnknownName("kernel", name, library.overloads(), str(library.path))
    return found


def verify(
    library: LibraryOption = None,
    judge: Annotated[bool, typer.Option("--judge", help="Judge every kernel again, too.")] = False,
    ops: Annotated[
        list[str] | None, typer.Option("--ops", callback=listed, help="Only these overloads (repeatable).")
    ] = None,
    target: TargetOption = None,
    record: Annotated[
        bool,
        typer.Option("--record", help="Note passed judgements of --judge in the library, and what older ones lack."),
    ] = False,
    jobs: JobsOption = 2,
    json_output: JsonOption = False,
) -> None:
    """Check every file against the index, and with --judge every kernel against its gate.

    Exit code 0 when all is as the index says and what was judged passed, 1 when not. `--judge --target T --record`
    brings a library to another chip or other versions: what passes there serves there. A launch option that the
    other chip's compiler does not know is left out; such a kernel becomes an override for that target.
    """
    import asyncio

    from bringup.cli._library import judge as judge_all
    from bringup.cli._library import open_changed, open_library
    from bringup.library.adding import add_judged, dtypes_noted, evidence_bytes, judged_of, refusal
    from bringup.targets import ported

    opened = open_changed(library) if record else open_library(library)
    if record and not judge and not opened.problems():
        completed = dtypes_noted(opened)
        typer.echo(f"judgements of {completed} kernels were completed with the dtypes of their cases", err=True)
    problems = opened.problems()
    for op in ops or ():
        _chosen(opened, op)
    entries = [e for e in opened.entries if e.folder not in problems and (not ops or e.overload in ops)]
    rows: list[dict[str, Any]] = []
    if judge:
        groups: dict[tuple[str, str], list[Entry]] = {}
        ports = {(e.overload, e.variant) for e in entries if target and e.profile == target}
        for entry in entries:
            if target and (entry.profile != target if entry.profile else (entry.overload, entry.variant) in ports):
                continue
            suite = entry.judged[0].suite if entry.judged else "aten"
            groups.setdefault((suite, target or entry.profile or opened.target), []).append(entry)
        for (suite, where), group in groups.items():
            pairs = [(e.judged[0].operator if e.judged else e.overload, ported(opened.source(e), where)) for e in group]

            def take(place: int, bundle: Bundle, group: list[Entry] = group, where: str = where) -> None:
                entry, evidence = group[place], bundle.evidence
                rows.append({"folder": entry.folder, "target": where, "kind": evidence.kind,
                             "cases": evidence.cases_total, "case": str(evidence.failing or ""),
                             "guard": evidence.guard, "fresh_seed": evidence.fresh_seed})  # fmt: skip
                if evidence.kind != "passed" and not json_output:  # at once: who interrupts has seen it
                    typer.echo(_failure(rows[-1]), err=True)
                if not record or refusal(evidence) is not None:
                    return
                # At once: an interruption keeps what was judged.
                if bundle.source == opened.source(entry):
                    opened.add_evidence(entry, judged_of(evidence), evidence_bytes(evidence))
                else:
                    origin, variant, when = f"{entry.folder}, as {where} takes it", entry.variant, entry.when
                    add_judged(
                        opened, bundle, origin=origin, profile=where, variant=variant, when=when, replaces=True
                    )  # fmt: skip

            asyncio.run(judge_all(pairs, suite, where, jobs, shows=not json_output, take=take))
    rows.sort(key=lambda row: str(row["folder"]))
    failed = [row for row in rows if row["kind"] != "passed"]
    if json_output:
        print_json({"library": str(opened.path), "kernels": len(opened.entries), "problems": problems, "judged": rows})
    else:
        for text in problems.values():
            typer.echo(text, err=True)
        good = len(opened.entries) - len(problems.keys() & {e.folder for e in opened.entries})
        typer.echo(f"{good} of {len(opened.entries)} kernels are what the index says")
        if judge:
            typer.echo(f"{len(rows) - len(failed)} of {len(rows)} judged again passed")
    if problems or failed:
        raise typer.Exit(1)


def _failure(row: dict[str, Any]) -> str:
    """One line on a kernel that did not pass when it was judged again."""
    place = f" in {row['case']}" if row["case"] else ""
    guard = f", guard {row['guard']}" if row["guard"] else ""
    again = f" (the same again with judge.fresh_seed={row['fresh_seed']})" if place else ""
    return f"{row['folder']}: {row['kind']} on {row['target']}{place}{guard}{again}"


def diff(
    before: Annotated[Path, typer.Argument(help="A library.")],
    after: Annotated[Path, typer.Argument(help="Another.")],
    texts: Annotated[bool, typer.Option("--texts", help="Show how sources differ, line by line.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Say in which kernels two libraries differ. Exit code 0 when in none, 1 when in some."""
    from dataclasses import asdict

    from bringup.library import Library
    from bringup.library.comparing import differences

    found = differences(Library.open(before), Library.open(after), texts=texts)
    if json_output:
        print_json([asdict(one) for one in found])
    else:
        for one in found:
            typer.echo(f"{one.kind:<10} {one.folder}\n{one.detail}" if texts and one.kind == "source"
                       else f"{one.kind:<10} {one.folder}  {one.detail}")  # fmt: skip
        typer.echo(f"{len(found)} kernels differ" if found else "the same kernels, judged for the same")
    if found:
        raise typer.Exit(1)


def export(
    folder: Annotated[Path, typer.Argument(help="Folder to write to.")],
    library: LibraryOption = None,
    ops: Annotated[
        list[str] | None, typer.Option("--ops", callback=listed, help="Only these overloads (repeatable).")
    ] = None,
    json_output: JsonOption = False,
) -> None:
    """Write kernels in BackendBench's folder contract: `add__Tensor/add__Tensor_implementation_v1.py`.

    Variants and overrides for a profile are left out: the contract has one kernel an overload.
    """
    from bringup.cli._library import open_library
    from bringup.library.backendbench import export as write

    opened = open_library(library)
    for op in ops or ():
        _chosen(opened, op)
    entries = [e for e in opened.entries if not e.profile and not e.variant and (not ops or e.overload in ops)]
    done = write(opened, folder, entries)
    if json_output:
        print_json({"folder": str(folder), "exported": done})
        return
    typer.echo(f"{len(done)} kernels written to {folder}")


def import_kernels(
    folder: Annotated[Path, typer.Argument(help="Folder in BackendBench's form.")],
    library: ChangedLibraryOption = None,
    ops: Annotated[
        list[str] | None, typer.Option("--ops", callback=listed, help="Only these overloads (repeatable).")
    ] = None,
    target: TargetOption = None,
    suite: SuiteOption = "aten",
    judge: Annotated[
        bool, typer.Option("--judge", help="Judge them, and add what passes; else all, unjudged.")
    ] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Put them in the place of those that are there.")] = False,
    jobs: JobsOption = 2,
    json_output: JsonOption = False,
) -> None:
    """Take kernels of BackendBench's folder contract into a library; with --judge only those that pass."""
    import asyncio

    from bringup.cli._library import chosen
    from bringup.cli._library import judge as judge_all
    from bringup.errors import UnknownName
    from bringup.library import Library
    from bringup.library.adding import add_judged, add_unjudged, check_overload, refusal
    from bringup.library.backendbench import collect

    found = collect(folder)
    for op in ops or ():
        if op not in found:
            raise UnknownName("overload", op, found, str(folder))
    found = {name: item for name, item in found.items() if not ops or name in ops}
    for name in found:
        check_overload(name)
    where = target or "vpe:pe64"
    rows: list[dict[str, Any]] = []
    if judge:
        pairs = [(name, source) for name, (_, source) in found.items()]
        for bundle in asyncio.run(judge_all(pairs, suite, where, jobs, shows=not json_output)):
            why = refusal(bundle.evidence)
            name = bundle.evidence.operator
            rows.append({"overload": name, "added": why is None, "why": why or ""})
            if why is None:
                opened = Library.create(chosen(library), where)
                add_judged(opened, bundle, origin=f"BackendBench {found[name][0]}", replaces=replace)
    else:
        opened = Library.create(chosen(library), where)
        for name, (path, source) in found.items():
            add_unjudged(opened, name, source, origin=f"BackendBench {path}", replaces=replace)
            rows.append({"overload": name, "added": True, "why": ""})
    if json_output:
        print_json(rows)
    else:
        for row in rows:
            if not row["added"]:
                typer.echo(f"not added: {row['overload']}: {row['why']}", err=True)
        later = f"bringup library verify -l {chosen(library)} --judge --record"
        state = "judged" if judge else f"unjudged: `{later}` judges them"
        typer.echo(f"{sum(row['added'] for row in rows)} of {len(rows)} kernels added to {chosen(library)} ({state})")
    if not all(row["added"] for row in rows):
        raise typer.Exit(1)


def remove(
    overloads: Annotated[list[str], typer.Argument(help="Overloads (all their kernels), or folders.")],
    library: ChangedLibraryOption = None,
    json_output: JsonOption = False,
) -> None:
    """Take kernels out of a library."""
    from bringup.cli._library import open_changed

    opened = open_changed(library)
    removed = []
    for name in overloads:
        for entry in _chosen(opened, name):
            opened.remove(entry)
            removed.append(entry.overload)
    if json_output:
        print_json({"library": str(opened.path), "removed": removed, "left": len(opened.entries)})
        return
    typer.echo(f"{len(opened.entries)} kernels are left in {opened.path}")
