"""`bringup audit`: tests that no model sees, and whether the gate's own cases prove anything."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from bringup.cli._output import JsonOption, listed
from bringup.cli._runs import RunsDirOption

if TYPE_CHECKING:
    from bringup.audit import Subjects

DEFAULT = "judge"


class _Group(TyperGroup):
    """`bringup audit RUN` is short for `bringup audit judge RUN`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] != "--help":
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    audit = typer.Typer(
        cls=_Group,
        help="Tests that no model sees: they decide 'trusted'. `bringup audit RUN` is `bringup audit judge RUN`.",
        no_args_is_help=True,
    )
    audit.command(DEFAULT)(judge)
    audit.command("publish")(publish)
    audit.command("vacuity")(vacuity)
    app.add_typer(audit, name="audit")


def judge(
    subject: Annotated[
        str | None, typer.Argument(metavar="[OP|RUN]", help="An operator (with FILE), or a run: id, folder, `latest`.")
    ] = None,
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="Candidate of the operator OP.")] = None,
    library: Annotated[
        Path | None,
        typer.Option(
            "--library", metavar="DIR", help="Every candidate of a folder of OP.py files, or of a kernel library."
        ),
    ] = None,
    recordings: Annotated[
        str | None,
        typer.Option("--recordings", metavar="SET", help="The last candidate of each recorded dialog: name or path."),
    ] = None,
    ops: Annotated[
        list[str] | None,
        typer.Option("--ops", callback=listed, help="Only these operators: names, globs, @FILE; repeatable."),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="Target (default: that of the run or the recordings, else vpe:pe64).")
    ] = None,
    dtype: Annotated[list[str] | None, typer.Option(help="Only these dtypes (repeatable).")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the cases.")] = 0,
    additions: Annotated[
        Path | None, typer.Option("--additions", metavar="FILE", help="Gate additions on top of the shipped ones.")
    ] = None,
    gate: Annotated[bool, typer.Option("--gate/--no-gate", help="Judge the gate's cases as well.")] = True,
    lint: Annotated[bool, typer.Option("--lint/--no-lint", help="Lint the candidates first.")] = True,
    compiles: Annotated[bool, typer.Option("--compile/--no-compile", help="The real compile.")] = True,
    case_seconds: Annotated[float, typer.Option(help="Time limit of one case.")] = 60.0,
    candidate_seconds: Annotated[float, typer.Option(help="Time limit of one candidate's gate or audit.")] = 1800.0,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", "-j", min=1, help="Judge workers (default: as many as suit the machine and the target)."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Where the audit is kept (default: RUN/audit, or bringup-audits/)."),
    ] = None,
    suite: Annotated[
        str | None, typer.Option(help="Suite that the candidates were written for, unless a run says it.")
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Judge anew what is already audited.")] = False,
    runs_dir: RunsDirOption = None,
    json_output: JsonOption = False,
) -> None:
    """Judge candidates on the audit's cases, which no model ever sees; say which may be trusted.

    'Trusted' is a candidate that passes its gate (judged here too, unless --no-gate) and every case of the audit.
    Each audit is stored when it is done: an interrupted command goes on where it stopped. Exit code 1 when a
    candidate is not trusted, 3 when the judge itself failed on one: that one is judged again by the next call.
    """
    from bringup.cli._audit import run_audit
    from bringup.cli._judging import check_dtypes
    from bringup.config import JudgeConfig, suite_with
    from bringup.judge import usual_jobs
    from bringup.suites import get_suite

    subjects, folder = _subjects(subject, file, library, recordings, runs_dir, suite)
    check_dtypes(dtype, get_suite(subjects.suite))
    config = JudgeConfig(case_seconds=case_seconds, candidate_seconds=candidate_seconds)
    where = target or subjects.target or "vpe:pe64"
    settings = {
        "target": where,
        "dtypes": tuple(dtype or subjects.dtypes or ()),
        "suite": subjects.suite if additions is None else suite_with(subjects.suite, str(additions)),
        "seed": seed,
        "jobs": jobs or usual_jobs(where),
        "gate": gate,
        "lints": lint,
        "compiles": compiles,
        "judge": config,
    }
    code = run_audit(subjects, settings, out or folder, ops=ops, again=again, as_json=json_output)
    if code:
        raise typer.Exit(code)


def _subjects(
    subject: str | None,
    file: Path | None,
    library: Path | None,
    recordings: str | None,
    runs_dir: Path | None,
    suite: str | None,
) -> tuple[Subjects, Path | None]:
    """Return what is to be audited and where the audit is kept by default; a run knows its suite itself."""
    from dataclasses import replace

    from bringup.audit import AUDIT_FOLDER, of_file, of_kernels, of_library, of_recordings, of_run
    from bringup.cli._runs import open_named
    from bringup.errors import ConfigError
    from bringup.suites import get_suite

    given = [subject is not None, library is not None, recordings is not None]
    if sum(given) != 1:
        raise ConfigError("command line", "name one thing to audit", "OP FILE, RUN, --library DIR or --recordings SET")
    kept, gate = Path("bringup-audits"), suite or "opinfo"
    if library is not None:
        if (library / "library.json").is_file():
            return replace(of_kernels(library), suite=suite or "aten"), kept / library.resolve().name
        names = [operator.name for operator in get_suite(gate).operators()]
        return replace(of_library(library, names), suite=gate), kept / library.resolve().name
    if recordings is not None:
        names = [operator.name for operator in get_suite(gate).operators()]
        return replace(of_recordings(recordings, names), suite=gate), kept / f"recordings-{Path(recordings).name}"
    assert subject is not None
    if file is not None:
        get_suite(gate).operator(subject)  # raises UnknownOperator with close names
        return replace(of_file(subject, file), suite=gate), None
    if suite is not None:
        raise ConfigError("--suite", "a run has a suite of its own", "leave it out")
    with open_named(subject, runs_dir) as run:
        return of_run(run), run.folder / AUDIT_FOLDER


def publish(
    audit_dir: Annotated[Path, typer.Argument(metavar="AUDIT_DIR", help="Where `bringup audit` kept the audit.")],
    ops: Annotated[list[str] | None, typer.Argument(metavar="[OP]...", help="Only these operators.")] = None,
    additions: Annotated[
        Path | None,
        typer.Option(
            "--additions", metavar="FILE", help="File to append to (default: the audit's, or gate-additions.yaml here)."
        ),
    ] = None,
    most: Annotated[int, typer.Option(min=1, help="Most cases of one operator, each of another family.")] = 6,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Helper processes.")] = 1,
    json_output: JsonOption = False,
) -> None:
    """Publish failed cases of an audit: they join the gate, so that sessions may see them, and the audit draws others.

    One case of each family that failed is taken; the rest stays unseen. AUDIT_DIR also holds the candidates, so that
    sessions can start from them: bringup run --refine-from AUDIT_DIR --additions FILE --ops OP.
    """
    from bringup.cli._audit import run_publish

    run_publish(audit_dir, ops or (), additions, most=most, jobs=jobs, as_json=json_output)


def vacuity(
    op: Annotated[
        list[str] | None, typer.Option("--op", metavar="GLOB", help="Only these operators (repeatable).")
    ] = None,
    suite: Annotated[
        str, typer.Option(help="Suite whose gates are judged; opinfo:FILE adds a file of gate additions.")
    ] = "opinfo",
    every: Annotated[bool, typer.Option("--all", help="Show the operators too that refuse every candidate.")] = False,
    add: Annotated[
        bool, typer.Option("--add", help="Choose audit cases that close the gates, and write them down.")
    ] = False,
    anew: Annotated[
        bool, typer.Option("--anew", help="With --add: first take out what earlier calls added for vacuity.")
    ] = False,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="FILE", help="Additions file for --add (default: the suite's FILE, or ours)."),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Helper processes.")] = 1,
    json_output: JsonOption = False,
) -> None:
    """Run trivial candidates (zeros, the input, the first answer, ...) against the gates; say which let them pass.

    An operator that such a candidate implements by definition is marked so, with the reason. Exit code 1 when a gate
    is left that proves nothing.
    """
    from bringup.cli._vacuity import run_vacuity

    adding = ("anew" if anew else "add") if add or anew else None
    if not run_vacuity(op or ["all"], suite, every=every, adding=adding, out=out, jobs=jobs, as_json=json_output):
        raise typer.Exit(1)
