"""What `bringup jobs` does: jobs from candidates, and verdicts from jobs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from bringup.candidate import digest
from bringup.errors import BringupError, EnvironmentFault, FormatError

if TYPE_CHECKING:
    from bringup.judge import Judge, JudgeJob, Measured, MeasureJob
    from bringup.judge.job_file import FileJob, JobVerdict, VerdictFile
    from bringup.verdict import Verdict

DEFAULT_TARGET = "vpe:pe64"


def jobs_of(
    what: Sequence[str],
    ops: Sequence[str],
    runs_dir: Path | None,
    *,
    target: str | None,
    suite: str,
    dtypes: Sequence[str] | None,
    seed: int,
    keep_going: bool,
    profile: bool,
) -> list[JudgeJob]:
    """Make the jobs of judging what is named: files and folders of candidates, runs, evidence.

    Raises FormatError, UnknownName or ConfigError for what cannot be read or is not known.
    """
    from bringup.cli._bundles import bundles_of
    from bringup.cli._judging import check_dtypes, read_candidate
    from bringup.judge import JobTemplate
    from bringup.suites import get_suite

    files: list[Path] = []
    others: list[str] = []
    for name in what:
        path = Path(name)
        found = sorted(path.glob("*.py")) if path.is_dir() else [path] if path.suffix == ".py" else []
        files += found
        others += [] if found else [name]
    jobs = []
    chosen = [file for file in files if not ops or file.stem in ops]
    if chosen:
        template = JobTemplate(target or DEFAULT_TARGET)
        source = get_suite(suite)
        check_dtypes(dtypes, source)
        for file in chosen:
            operator = source.operator(file.stem)
            jobs.append(
                template.job(
                    read_candidate(file), operator, dtypes=dtypes, seed=seed, keep_going=keep_going, profile=profile
                )
            )
    if others:
        # Of several runs each has the operators asked for that it has; one run must have them all.
        bundles = bundles_of(others, list(ops), runs_dir)
        jobs += [bundle.job(target) for bundle in bundles if not ops or bundle.evidence.operator in ops]
    if not jobs:
        raise FormatError(f"{', '.join(what)}: no candidate{' of these operators' if ops else ''}")
    return jobs


def measure_jobs(
    jobs: Sequence[JudgeJob], cases: Sequence[int] | None, against: Sequence[str] | None
) -> list[MeasureJob]:
    """Make measure jobs of judge jobs: the same cases, or only those with these indices, are judged and timed."""
    from bringup.cli.measure import baselines_of
    from bringup.judge import MeasureJob

    made = []
    for job in jobs:
        chosen = dict.fromkeys(job.cases, tuple(cases)) if cases else job.cases
        judged = job.model_copy(update={"cases": chosen})
        made.append(MeasureJob(judge=judged, against=baselines_of(against, job.target.name)))
    return made


def exchange_of(where: str, runs_dir: Path | None) -> Path:
    """The folder of job files that is named, or that the configuration of a run names. Raises FormatError."""
    if Path(where).is_dir() and not (Path(where) / "run.db").exists():
        return Path(where)
    from bringup.cli._runs import open_named

    with open_named(where, runs_dir) as run:
        judge = run.started.config.get("judge")
        executor = str(judge.get("executor", "")) if isinstance(judge, dict) else ""
        name, _, folder = executor.partition(":")
        if name != "file" or not folder:
            raise FormatError(f"run {run.id} judges by {executor or 'local'}, not by files: there is nothing to import")
        return Path(folder).expanduser()


def import_verdicts(files: Sequence[Path], folder: Path) -> tuple[int, list[Path]]:
    """Put verdicts where who waits for them looks; return how many are new, and job files that are not answered.

    Raises FormatError for a bad file, and for verdicts on jobs that no file of the folder holds; then none is taken.
    """
    from bringup.files import write_atomically
    from bringup.judge._by_file import VERDICTS, Exchange
    from bringup.judge.job_file import read_answers

    exchange = Exchange(folder)
    before = len(exchange.answers)
    for file in files:
        exchange.take(read_answers(file), file)
    for file in files:
        data = file.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        inside = folder / f"{digest(whole.decode('utf-8', 'replace'))[:16]}{VERDICTS}"
        try:
            if file.resolve().parent != folder.resolve():
                write_atomically(inside, whole)
        except OSError as error:
            raise EnvironmentFault(f"{inside}: cannot be written: {error.strerror}") from error
    return len(exchange.answers) - before, exchange.waiting()


def job_files(named: Sequence[Path]) -> list[Path]:
    """The job files that are named, a folder's in their order. Raises FormatError for a folder without any."""
    from bringup.judge._by_file import files_of

    found: list[Path] = []
    for path in named:
        inside = files_of(path) if path.is_dir() else [path]
        if not inside:
            raise FormatError(f"{path}: no job files (jobs-0001.jsonl, ...) in it")
        found += [file for file in inside if file not in found]
    return found


async def judge_all(
    work: Sequence[tuple[Sequence[FileJob], VerdictFile]],
    workers: int,
    executor: str,
    *,
    any_suite: bool,
    shows: bool,
) -> dict[str, str]:
    """Judge the jobs of files that have no verdict yet, each for its own file of verdicts; return by digest why one
    cannot be judged here.

    Raises JudgeFault when the judge fails, UnknownName for an executor.
    """
    from bringup.cli._progress import make_progress
    from bringup.config import JudgeConfig
    from bringup.judge import TargetRef, executors, open_judge
    from bringup.judge.job_file import judge_job

    executors.factory(executor.partition(":")[0])
    into = {job.digest: verdicts for jobs, verdicts in work for job in jobs if job.digest not in verdicts.by_job}
    todo = {job.digest: job for jobs, _ in work for job in jobs if job.digest in into}
    refused: dict[str, str] = {}
    by_target: dict[TargetRef, list[str]] = {}
    for name, job in todo.items():
        by_target.setdefault(judge_job(job).target, []).append(name)
    with make_progress(shows=shows) as bar:
        line = bar.add_task("starting the judge", total=len(todo))

        def add(name: str, answer: Verdict | Measured | str) -> None:
            into[name].add(_entry(name, todo[name], answer))

        async def one(judge: Judge, name: str) -> None:
            job = todo[name]
            try:
                add(name, await _judged(judge, _with_any_suite(job) if any_suite else job))
            except EnvironmentFault:
                raise
            except BringupError as error:
                refused[name] = str(error)
                add(name, str(error))
            bar.update(line, advance=1, description=judge_job(job).operator.name)

        for target, names in by_target.items():
            async with AsyncExitStack() as stack:
                try:
                    judge = open_judge(target, JudgeConfig(executor=executor), jobs=workers)
                except BringupError as error:
                    refused |= dict.fromkeys(names, str(error))
                    for name in names:
                        add(name, str(error))
                    continue
                await stack.enter_async_context(judge)
                try:
                    async with asyncio.TaskGroup() as group:
                        for name in names:
                            group.create_task(one(judge, name))
                except BaseExceptionGroup as errors:
                    raise errors.exceptions[0] from None
    return refused


async def _judged(judge: Judge, job: FileJob) -> Verdict | Measured:
    from bringup.judge import MeasureJob

    return await judge.measure(job) if isinstance(job, MeasureJob) else await judge.judge(job)


def _with_any_suite(job: FileJob) -> FileJob:
    """The job, to be judged by whatever the suite is here."""
    from bringup.judge import MeasureJob

    if isinstance(job, MeasureJob):
        return job.model_copy(update={"judge": _with_any_suite(job.judge)})
    return job.model_copy(update={"suite": job.suite.model_copy(update={"digest": ""})})


def _entry(name: str, job: FileJob, answer: Verdict | Measured | str) -> JobVerdict:
    from bringup.judge import Measured
    from bringup.judge.job_file import JobVerdict, judge_job
    from bringup.verdict import Verdict

    judged = judge_job(job)
    refused = answer if isinstance(answer, str) else ""
    measured = answer if isinstance(answer, Measured) else None
    if isinstance(answer, Verdict):
        verdict = answer
    else:
        verdict = measured.verdict if measured else Verdict(kind="untested", summary=refused)
    return JobVerdict(
        job=name, operator=judged.operator.name, candidate=judged.candidate.digest, verdict=verdict, measured=measured,
        refused=refused,
    )  # fmt: skip
