"""`bringup mutate`: the mutation benchmark on one kernel, a library, or recorded kernels."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bringup.cli._output import JsonOption, print_json

if TYPE_CHECKING:
    from bringup.candidate import Candidate
    from bringup.mutation import Original, Result, ResultLog, Task


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("mutate")(mutate)


def mutate(
    op: Annotated[str | None, typer.Argument(help="Operator, as `bringup ops list` names it.")] = None,
    file: Annotated[Path | None, typer.Argument(help="A candidate of the operator that passes.")] = None,
    library: Annotated[str | None, typer.Option(help="Instead: the kernels of a folder (OP.py) or of a run.")] = None,
    recordings: Annotated[str | None, typer.Option(help="Instead: the last kernels of a set of recordings.")] = None,
    ops: Annotated[list[str] | None, typer.Option(help="Only operators that match (repeatable, commas).")] = None,
    mutator: Annotated[list[str] | None, typer.Option(help="Only these classes of mutations (repeatable).")] = None,
    target: Annotated[str, typer.Option(help="Target, NAME or NAME:PROFILE.")] = "vpe:pe64",
    suite: Annotated[str, typer.Option(help="Suite that the operators belong to.")] = "opinfo",
    limit: Annotated[int, typer.Option(min=0, help="Mutants of one operator at most; 0: all.")] = 20,
    audit: Annotated[bool, typer.Option("--audit", help="Judge the gate's survivors by the audit too.")] = False,
    reach: Annotated[
        bool, typer.Option("--reach/--no-reach", help="Find out which survivors are in code that no case gets to.")
    ] = True,
    lint: Annotated[bool, typer.Option("--lint/--no-lint", help="Mutants that the linter refuses are invalid.")] = True,
    dtype: Annotated[list[str] | None, typer.Option(help="Only cases of these dtypes (repeatable).")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the choice of mutants, and of the cases.")] = 0,
    draw: Annotated[
        int | None, typer.Option(help="Another seed for the choice, of mutants and of the order of operators.")
    ] = None,
    equivalent: Annotated[
        list[Path] | None, typer.Option(help="YAML with more mutants that are known to be equivalent (repeatable).")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Judge workers.")] = 2,
    case_seconds: Annotated[float, typer.Option(help="Highest time limit of one case.")] = 30.0,
    out: Annotated[Path, typer.Option(help="Folder of the results; a run that was stopped goes on there.")] = Path(
        "bringup-mutation"
    ),
    list_only: Annotated[bool, typer.Option("--list", help="Show the chosen mutants; judge nothing.")] = False,
    so_far: Annotated[bool, typer.Option("--so-far", help="Report the results in --out; judge nothing.")] = False,
    survivors: Annotated[bool, typer.Option("--survivors", help="Print the survivors' diffs, too.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Change passing kernels a little, and count how many of the changes the tests notice.

    The classes of mutations take turns until every operator has its number of mutants, always the same ones for one
    seed; operators come in a drawn order. Writes results.jsonl, report.json and survivors.md to --out; the same command
    goes on after an interruption, before which --so-far reports on what has been drawn.
    Exit code 0 when every mutant has its result, however many survive; 3 when the judge itself failed on an operator.
    """
    from bringup.cli._judging import check_dtypes
    from bringup.cli._output import make_console
    from bringup.errors import ConfigError
    from bringup.mutation import MUTATORS, ResultLog, Settings, load_equivalents, make_task, stale_marks
    from bringup.mutation.view import show_mutants
    from bringup.suites import get_suite

    check_dtypes(dtype, get_suite(suite))
    known = {m.id: m for m in MUTATORS}
    for name in mutator or ():
        if name not in known:
            raise ConfigError(f"--mutator {name}", "no such class of mutations", f"use one of {', '.join(known)}")
    marks = load_equivalents(*(equivalent or ()))
    kernels = _kernels(op, file, library, recordings, ops, suite)
    classes = [known[name] for name in mutator] if mutator else list(MUTATORS)
    chosen = get_suite(suite)
    choice = seed if draw is None else draw
    tasks = [
        make_task(chosen, name, candidate, limit=limit or None, seed=choice, mutators=classes)
        for name, candidate in sorted(kernels.items())
    ]
    console = make_console()
    if list_only:
        if json_output:
            mutants = [mutant for task in tasks for mutant in task.mutants]
            listed = [{"digest": m.digest, "diff": m.diff, **m.model_dump(exclude={"original"})} for m in mutants]
            print_json(listed)
        else:
            show_mutants((mutant for task in tasks for mutant in task.mutants), console)
        return
    settings = Settings(suite=suite, target=target, seed=seed, dtypes=tuple(dtype or ()), lint=lint)
    log = ResultLog(out, settings)
    faults: dict[str, str] = {}
    if so_far:
        results, originals = log.known((m.operator, m.digest) for t in tasks for m in t.mutants)
    else:
        results, originals, faults = _judge(tasks, log, jobs, case_seconds, audit, reach, choice, quiet=json_output)

    from bringup.mutation import report as make_report
    from bringup.mutation.view import show_survivors, survivors_page, tables

    report = make_report(settings, results, marks, originals, stale_marks(kernels, marks, suite))
    _write(out / "report.json", _dump(report.data()))
    _write(out / "survivors.md", survivors_page(report))
    if json_output:
        print_json(report.data())
    else:
        if survivors:
            show_survivors(report.survivors, console)
        console.print(tables(report))
        if report.survivors:
            console.print(f"{len(report.survivors)} survivors with their diffs: {out / 'survivors.md'}")
    for name, fault in faults.items():
        make_console(stderr=True).print(f"{name}: the judge failed: {fault}; run the same command again", markup=False)
    if faults:
        raise typer.Exit(3)


def _kernels(
    op: str | None,
    file: Path | None,
    library: str | None,
    recordings: str | None,
    ops: list[str] | None,
    suite: str,
) -> dict[str, Candidate]:
    """Read the kernels that the command names, by operator."""
    from bringup.candidate import Candidate
    from bringup.cli._judging import read_candidate
    from bringup.cli._runs import runs_root
    from bringup.clients.recording import find_set
    from bringup.errors import ConfigError
    from bringup.mutation import recorded_candidates
    from bringup.runs.starts import kernels_of
    from bringup.suites import get_suite, select

    sources = (op is not None) + (library is not None) + (recordings is not None)
    if sources != 1 or (op is not None) != (file is not None):
        raise ConfigError("mutate", "give one source of kernels", "OP FILE, --library FOLDER or --recordings NAME")
    chosen = get_suite(suite)
    if op is not None and file is not None:
        return {chosen.operator(op).name: read_candidate(file)}
    if recordings is not None:
        found = recorded_candidates(find_set(recordings))
        known = {operator.name for operator in chosen.operators()}  # another PyTorch may lack some
        found = {name: candidate for name, candidate in found.items() if name in known}
    else:
        assert library is not None
        names = [operator.name for operator in chosen.operators()]
        found = {name: Candidate(source=text) for name, text in kernels_of(library, names, runs_root(None)).items()}
    if ops:
        wanted = {operator.name for operator in select(chosen, ops)}
        found = {name: candidate for name, candidate in found.items() if name in wanted}
        if not found:
            raise ConfigError(f"--ops {','.join(ops)}", "matches no operator with a kernel here")
    return found


def _judge(
    tasks: list[Task],
    log: ResultLog,
    jobs: int,
    case_seconds: float,
    audit: bool,
    reach: bool,
    choice: int,
    quiet: bool,
) -> tuple[list[Result], list[Original], dict[str, str]]:
    """Judge all mutants with a progress bar."""
    from collections import Counter

    from rich.progress import TextColumn, TimeRemainingColumn

    from bringup.cli._progress import make_progress
    from bringup.config import JudgeConfig
    from bringup.errors import ConfigError
    from bringup.judge import JobTemplate, open_judge
    from bringup.mutation import Benchmark
    from bringup.suites import get_suite
    from bringup.targets import get_target

    counts: Counter[str] = Counter()
    faults: dict[str, str] = {}
    results: list[Result] = []
    originals: list[Original] = []
    unseen = get_suite(log.settings.suite).audit if audit else None
    if audit and unseen is None:
        raise ConfigError(f"suite {log.settings.suite}", "has no audit", "leave --audit out")
    tests = get_suite(unseen) if unseen is not None else None
    dialect = get_target(log.settings.target).dialect()

    async def run() -> None:
        config = JudgeConfig(case_seconds=case_seconds)
        template = JobTemplate(log.settings.target, config)
        async with open_judge(template.target, config, jobs=jobs) as judge:
            benchmark = Benchmark(judge, template, dialect, log, tests, reach=reach)
            found, failed = await benchmark.run_all(sorted(tasks, key=drawn), jobs, done, ended)
            faults.update(failed)
            for original, judged in found:
                originals.append(original)
                results.extend(judged)

    def drawn(task: Task) -> str:
        """What is judged before a command is stopped is a sample of all operators."""
        return hashlib.sha256(f"{choice} {task.operator.name}".encode()).hexdigest()

    def ended(task: Task, judged: int) -> None:
        """Note those of an original that does not pass, too."""
        bar.update(line, description=task.operator.name, advance=len(task.mutants) - judged)

    def done(result: Result) -> None:
        counts.update([result.status])
        noticed = counts["killed"] + counts["timed_out"]
        bar.update(line, advance=1, noticed=f"{noticed} of {noticed + counts['survived']} noticed")

    more = (TimeRemainingColumn(), TextColumn("{task.fields[noticed]}"))
    with make_progress(*more, shows=not quiet) as bar:
        line = bar.add_task("starting the judge", total=sum(len(task.mutants) for task in tasks), noticed="")
        asyncio.run(run())
    return results, originals, faults


def _dump(data: object) -> str:
    import json

    return json.dumps(data, indent=1)


def _write(path: Path, text: str) -> None:
    from bringup.errors import StoreError

    try:
        path.write_text(text + ("" if text.endswith("\n") else "\n"), encoding="utf-8")
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}") from error
