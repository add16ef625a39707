"""`bringup measure`: how long a correct candidate takes, beside what it is compared with, and what bounds it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bringup.cli._output import JsonOption, print_json

if TYPE_CHECKING:
    from bringup.config import JudgeConfig
    from bringup.judge import Baseline, CaseTiming, Measured, MeasureJob, Times, Timing


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("measure")(measure)


def measure(
    op: Annotated[str, typer.Argument(help="Operator, as `bringup ops list` names it.")],
    file: Annotated[Path, typer.Argument(help="Candidate: one module with `wrapper` and `kernel*`.")],
    target: Annotated[str, typer.Option(help="Target, NAME or NAME:PROFILE.")] = "vpe:pe64",
    suite: Annotated[str, typer.Option(help="Suite that the operator belongs to.")] = "opinfo",
    dtype: Annotated[list[str] | None, typer.Option(help="Only these dtypes (repeatable).")] = None,
    case: Annotated[list[int] | None, typer.Option(help="Only cases with these indices (repeatable).")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the cases.")] = 0,
    against: Annotated[
        list[str] | None,
        typer.Option(
            metavar="eager|compile|FILE.py",
            help="Compare with PyTorch called eagerly, with torch.compile, or with another candidate (repeatable). "
            "Default: eager and compile on a device, nothing on a modelled chip.",
        ),
    ] = None,
    repeats: Annotated[int, typer.Option(min=3, help="Measurements of each side at least.")] = 20,
    seconds: Annotated[float, typer.Option(min=0.001, help="Seconds of a case's measurements at most.")] = 1.0,
    diagnose: Annotated[bool, typer.Option("--diagnose/--no-diagnose", help="Say what bounds the time.")] = True,
    case_seconds: Annotated[float, typer.Option(help="Time limit of one case of the gate.")] = 30.0,
    json_output: JsonOption = False,
) -> None:
    """Judge a candidate on some cases and, if all pass, time each of them beside what it is compared with.

    On a modelled chip the time is the model's, the same in every run. A speed-up is the time of the fastest comparison
    over the candidate's. Exit code 1 when the candidate does not pass or cannot be timed.
    """
    from bringup.config import JudgeConfig
    from bringup.judge import Timing

    config = JudgeConfig(case_seconds=case_seconds)
    timing = Timing(repeats=repeats, seconds=seconds)
    job = _job(op, file, target, suite, dtype, case, seed, against, timing, diagnose, config)
    measured = asyncio.run(_run(job, config, shows=not json_output))
    if json_output:
        print_json({"job": job.digest, "speedup": measured.speedup(), "measured": measured.model_dump(mode="json")})
    else:
        _print(measured)
    if not measured.verdict.passed or measured.error:
        raise typer.Exit(1)


def _job(
    op: str, file: Path, target: str, suite: str, dtypes: list[str] | None, cases: list[int] | None, seed: int,
    against: list[str] | None, timing: Timing, diagnose: bool, config: JudgeConfig,
) -> MeasureJob:  # fmt: skip
    from bringup.cli._judging import check_dtypes, number_of_cases, read_candidate
    from bringup.errors import ConfigError
    from bringup.judge import JobTemplate, MeasureJob
    from bringup.suites import get_suite

    source = get_suite(suite)
    check_dtypes(dtypes, source)
    operator, candidate = source.operator(op), read_candidate(file)
    if not number_of_cases(operator, dtypes, cases):
        raise ConfigError(f"{op}", "no case is left of these dtypes and indices", f"`bringup ops show {op}` lists them")
    template = JobTemplate(target, config, compiles=False)
    judge = template.job(candidate, operator, dtypes=dtypes, cases=cases, seed=seed)
    return MeasureJob(
        judge=judge,
        against=baselines_of(against, target),
        timing=timing,
        diagnose=diagnose,
    )


def baselines_of(against: Sequence[str] | None, target: str) -> tuple[Baseline, ...]:
    """What to compare with, by names or files; None: what is usual for the target.

    Raises ConfigError for PyTorch on a modelled chip, FormatError for a file.
    """
    from bringup.cli._judging import read_candidate
    from bringup.errors import ConfigError
    from bringup.judge import COMPILE, EAGER, Baseline
    from bringup.targets import get_target

    modelled = get_target(target).clock == "model"
    if against is None:
        return () if modelled else (Baseline(name=EAGER), Baseline(name=COMPILE))
    found: dict[str, Baseline] = {}
    for name in against:
        if name in (EAGER, COMPILE):
            found[name] = Baseline(name=name)
        else:
            source = read_candidate(Path(name)).source
            stem = Path(name).stem
            known = stem if stem not in found and stem not in (EAGER, COMPILE) else name
            found[known] = Baseline(name=known, source=source)
    if modelled and (pytorch := {EAGER, COMPILE} & found.keys()):
        raise ConfigError(
            f"--against {min(pytorch)}", f"PyTorch has no time on {target}, whose clock is a model's",
            "compare with another candidate's file",
        )  # fmt: skip
    return tuple(found.values())


async def _run(job: MeasureJob, config: JudgeConfig, *, shows: bool) -> Measured:
    from bringup.cli._progress import make_progress
    from bringup.judge import open_judge

    with make_progress(shows=shows) as bar:
        task = bar.add_task("starting the judge", total=None)

        def advance(case: str, kind: str) -> None:
            bar.update(task, advance=1, description=case)

        async with open_judge(job.judge.target, config) as judge:
            return await judge.measure(job, advance)


def _print(measured: Measured) -> None:
    from rich.table import Table
    from rich.text import Text

    from bringup.cli._judging import print_verdict
    from bringup.cli._output import make_console

    console = make_console()
    if not measured.verdict.passed:
        print_verdict(measured.verdict, console)
        return
    names = list(dict.fromkeys(name for case in measured.cases for name in case.baselines))
    modelled = measured.clock == "model"
    title = f"{measured.device}: {'modelled' if modelled else 'device'} time in µs" + (
        "" if modelled else " (median, 10th to 90th percentile)"
    )
    table = Table(box=None, title=title, title_justify="left", padding=(0, 2, 0, 0))
    hosts = any(case.host for case in measured.cases)
    table.add_column("case", overflow="fold")
    for column in ("candidate", *(("wrapper",) if hosts else ()), *names, *(("speed-up",) if names else ())):
        table.add_column(column, justify="right")
    table.add_column("bound by")
    for case in measured.cases:
        speedup = case.speedup()
        row: list[str | Text] = [Text(str(case.case)), _times(case.device, modelled)]
        row += [_times(case.host, modelled)] if hosts else []
        row += [_times(case.baselines.get(name), modelled) for name in names]
        row += [Text(f"{speedup:.2f}x" if speedup else "–")] if names else []
        table.add_row(*row, Text(_bound(case)))
    console.print(table)
    for case in measured.cases:
        for note in (*case.notes, *(case.diagnosis.missing if case.diagnosis else ())):
            console.print(Text(f"{case.case}: {note}", style="yellow"))
        if case.diagnosis is not None and len(measured.cases) <= SHOWN:
            console.print(Text(f"{case.case}: {case.diagnosis.summary}", style="dim"))
            for line in case.diagnosis.lines:
                console.print(Text(f"{case.case}: {line.words}", style="dim"))
    for note in measured.notes:
        console.print(Text(note, style="yellow"))
    if measured.error:
        console.print(Text(measured.error, style="red"))
    elif names:
        console.print(f"speed-up over the fastest comparison: {measured.speedup():.2f}x (geometric mean)")


SHOWN = 8  # cases whose diagnosis is printed


def _bound(case: CaseTiming) -> str:
    found = case.diagnosis
    if found is None:
        return ""
    return found.bound if found.share is None else f"{found.bound}, {found.share:.0%} of the roofline"


def _times(times: Times | None, modelled: bool) -> str:
    if times is None:
        return "–"
    text = f"{times.median * 1e6:.2f}"
    return text if modelled else f"{text} ({times.low * 1e6:.2f}–{times.high * 1e6:.2f})"
