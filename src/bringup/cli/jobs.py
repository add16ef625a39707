"""`bringup jobs`: judge jobs in files, for a device that is elsewhere, and for later."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bringup.cli._output import JsonOption, listed, print_json
from bringup.cli._runs import RunsDirOption

if TYPE_CHECKING:
    from bringup.judge.job_file import FileJob, VerdictFile

JobFile = Annotated[Path, typer.Argument(metavar="FILE", help="Jobs, as `bringup jobs export` writes them.")]


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(no_args_is_help=True, help="Judge candidates elsewhere, or later: jobs and verdicts in files.")
    group.command("export")(export)
    group.command("show")(show)
    group.command("run")(run)
    group.command("import")(import_)
    app.add_typer(group, name="jobs")


def export(
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="OP.py|FOLDER|RUN|EVIDENCE.json...",
            help="Candidates named after their operators, folders of such, runs, evidence files.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The file of jobs to write.")],
    ops: Annotated[
        list[str] | None,
        typer.Option("--ops", callback=listed, help="Only these operators, by name (repeatable, commas)."),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="Target, NAME or NAME:PROFILE; default: the evidence's, for files vpe:pe64.")
    ] = None,
    suite: Annotated[str, typer.Option(help="Of files: suite that the operators belong to.")] = "opinfo",
    dtype: Annotated[list[str] | None, typer.Option(help="Of files: only these dtypes (repeatable).")] = None,
    seed: Annotated[int, typer.Option(help="Of files: seed of the cases.")] = 0,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Of files: do not stop at the first failing case.")
    ] = False,
    profile: Annotated[bool, typer.Option("--profile", help="Of files: report the target's counters.")] = False,
    measure: Annotated[
        bool, typer.Option("--measure", help="Ask for the times of the cases, too (`bringup measure`).")
    ] = False,
    case: Annotated[
        list[int] | None, typer.Option(help="With --measure: only cases with these indices (repeatable).")
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(metavar="eager|compile|FILE.py", help="With --measure: what to compare with (repeatable)."),
    ] = None,
    runs_dir: RunsDirOption = None,
    json_output: JsonOption = False,
) -> None:
    """Write judge jobs into a file that another process, machine or month can judge (`bringup jobs run`).

    A job holds all that its verdict hangs on: source, operator, cases, seeds, limits, guards, the target's profile and
    the suite's additions. Candidates of runs and evidence files are to be judged as they were.
    """
    from bringup.cli._jobs import jobs_of, measure_jobs
    from bringup.errors import ConfigError
    from bringup.judge.job_file import write_jobs

    judged = jobs_of(
        what, ops or [], runs_dir, target=target, suite=suite, dtypes=dtype, seed=seed, keep_going=keep_going,
        profile=profile,
    )  # fmt: skip
    if (case or against) and not measure:
        raise ConfigError("--case, --against", "they say what is timed", "add --measure")
    jobs: Sequence[FileJob] = measure_jobs(judged, case, against) if measure else judged
    write_jobs(out, jobs)
    if json_output:
        print_json({"file": str(out), "jobs": [_row(job) for job in jobs]})
    else:
        typer.echo(f"{len(jobs)} job{'' if len(jobs) == 1 else 's'} in {out}; `bringup jobs run {out}` judges them")


def show(file: JobFile, json_output: JsonOption = False) -> None:
    """List the jobs of a file."""
    from bringup.cli._output import make_console
    from bringup.judge.job_file import read_jobs

    rows = [_row(job) for job in read_jobs(file)]
    if json_output:
        print_json(rows)
        return
    from rich.table import Table

    table = Table("job", "operator", "suite", "target", "dtypes", "seed", "candidate")
    for row in rows:
        short = (row["job"][:12], row["candidate"][:12])
        table.add_row(
            short[0], row["operator"], row["suite"], row["target"], ", ".join(row["dtypes"]), str(row["seed"]), short[1]
        )
    make_console().print(table)


def run(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE|FOLDER...", help="Jobs, as `bringup jobs export` and `file:FOLDER` write them."),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="The file of verdicts of one file; default: FILE.verdicts."),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Judge workers.")] = 2,
    executor: Annotated[str, typer.Option(help="Who judges: `local`, or a plug-in's NAME[:OPTION].")] = "local",
    any_suite: Annotated[
        bool, typer.Option("--any-suite", help="Judge also where the suite is another here than where jobs were made.")
    ] = False,
    json_output: JsonOption = False,
) -> None:
    """Judge the jobs of files, or of all job files in a folder, and write each verdict as it comes.

    The same command goes on after an interruption: jobs whose verdict is in the file are not judged again. Exit code 0
    when all candidates passed, 1 when not, 2 when a job cannot be judged here as it was meant.
    """
    from bringup.cli._jobs import job_files, judge_all
    from bringup.cli._output import make_console
    from bringup.errors import ConfigError
    from bringup.judge.job_file import VerdictFile, read_jobs

    named = job_files(files)
    if out is not None and len(named) > 1:
        raise ConfigError("--out", f"there are {len(named)} job files", "leave it out: each gets FILE.verdicts")
    read = [read_jobs(file) for file in named]
    work = [
        (own, VerdictFile.open(out or file.with_name(f"{file.name}.verdicts")))
        for file, own in zip(named, read, strict=True)
    ]
    refused = asyncio.run(judge_all(work, jobs, executor, any_suite=any_suite, shows=not json_output))
    rows = [_row(job) | _result(job, verdicts, refused) for own, verdicts in work for job in own]
    if json_output:
        paths = [str(verdicts.path) for _, verdicts in work]
        print_json({"verdicts": paths[0] if len(paths) == 1 else paths, "jobs": rows})
    else:
        from rich.table import Table
        from rich.text import Text

        table = Table("operator", "target", "verdict", "cases", "")
        for row in rows:
            style = {"passed": "green", "refused": "yellow"}.get(row["verdict"], "red")
            verdict = Text(row["verdict"].replace("_", " "), style=style)
            table.add_row(row["operator"], row["target"], verdict, row["cases"], Text(row["summary"]))
        console = make_console()
        console.print(table)
        passed = sum(row["verdict"] == "passed" for row in rows)
        where = ", ".join(str(verdicts.path) for _, verdicts in work[:3]) + (", ..." if len(work) > 3 else "")
        console.print(f"{passed} of {len(rows)} passed; verdicts in {where}", soft_wrap=True)
    if refused:
        raise typer.Exit(2)
    if any(row["verdict"] != "passed" for row in rows):
        raise typer.Exit(1)


def import_(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Verdicts, as `bringup jobs run` writes them.")
    ],
    where: Annotated[
        str, typer.Argument(metavar="FOLDER|RUN", help="The folder of `judge.executor: file:FOLDER`, or a run with it.")
    ],
    runs_dir: RunsDirOption = None,
    json_output: JsonOption = False,
) -> None:
    """Bring verdicts and times back to the run or search that waits for them in a folder.

    It goes on at once if it is at work, or when it is resumed, and stores what it would store of a device of its own.
    Refused whole: a file of another version, one that was changed, and verdicts on jobs that were never exported.
    """
    from bringup.cli._jobs import exchange_of, import_verdicts

    taken, waiting = import_verdicts(files, exchange_of(where, runs_dir))
    if json_output:
        print_json({"taken": taken, "waiting": [str(path) for path in waiting]})
        return
    typer.echo(f"{taken} verdict{'' if taken == 1 else 's'} taken")
    for path in waiting:
        typer.echo(f"still without all verdicts: {path}")


def _row(job: FileJob) -> dict[str, Any]:
    from bringup.judge.job_file import judge_job

    judged = judge_job(job)
    return {
        "job": job.digest,
        "kind": job.kind,
        "operator": judged.operator.name,
        "suite": judged.suite.name,
        "target": judged.target.name,
        "dtypes": list(judged.cases),
        "seed": judged.seed,
        "candidate": judged.candidate.digest,
    }


def _result(job: FileJob, verdicts: VerdictFile, refused: dict[str, str]) -> dict[str, Any]:
    entry = verdicts.by_job.get(job.digest)
    if entry is None:
        return {"verdict": "refused", "summary": refused[job.digest], "cases": ""}
    verdict, measured = entry.verdict, entry.measured
    cases = f"{verdict.cases_passed}/{verdict.cases_total}"
    summary = verdict.summary
    if measured is not None and verdict.passed:
        speedup = measured.speedup()
        times = f"{len(measured.cases)} cases timed" + (f", {speedup:.2f}x" if speedup else "")
        summary = measured.error or f"{summary}; {times}"
    return {"verdict": verdict.kind, "summary": summary, "cases": cases}
