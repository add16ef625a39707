"""The executor `file:FOLDER`: jobs go into files of a folder, and whoever brings their verdicts there has judged them.

For a device that no network reaches. Jobs that wait together travel in one file, `jobs-0001.jsonl` and so on, which is
never changed; `bringup jobs run` judges it where the device is, and `bringup jobs import` puts what came of it here, as
`jobs-0001.jsonl.verdicts`. A process that ends may come back: what it asks again (the same question, whatever seed was
drawn) is in a file already, or answered.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Self

from bringup.errors import ConfigError, EnvironmentFault, FormatError
from bringup.judge._contents import JobRefused, TargetRef
from bringup.judge._processes import JudgeFault
from bringup.judge.job import JudgeJob, Progress, Replayed, ReplayJob
from bringup.judge.job_file import FileJob, JobVerdict, judge_job, question, read_answers, read_jobs, write_jobs
from bringup.judge.measuring import Measured, MeasureJob
from bringup.verdict import Verdict

COLLECT_SECONDS = 1.0  # that nobody has asked anything more: then a batch is written
LOOK_SECONDS = 1.0  # between two looks at the folder
_NAME = re.compile(r"jobs-(\d+)\.jsonl")
VERDICTS = ".verdicts"


def files_of(folder: Path) -> list[Path]:
    """The job files of a folder, oldest first."""
    return sorted(path for path in folder.iterdir() if _NAME.fullmatch(path.name))


class Exchange:
    """The folder: which questions are in its files, and which of them are answered."""

    def __init__(self, folder: Path) -> None:
        """Read what is there; raises FormatError for a damaged file, EnvironmentFault for a folder that cannot be."""
        self.folder = folder
        self.asked: dict[str, str] = {}  # digest of a job -> its question
        self.answers: dict[str, JobVerdict] = {}  # by question
        self._read: dict[Path, tuple[int, int]] = {}
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise EnvironmentFault(f"{folder}: cannot be made: {error.strerror}") from error
        self._known: set[Path] = set()
        self.look()

    def files(self) -> list[Path]:
        """The job files, oldest first."""
        return files_of(self.folder)

    def waiting(self) -> list[Path]:
        """The job files in which a question has no answer."""
        return [path for path in self.files() if any(question(job) not in self.answers for job in read_jobs(path))]

    def add(self, jobs: list[FileJob]) -> Path | None:
        """Write a file with the jobs whose questions are in none; None where all are."""
        self._read_jobs()
        known = set(self.asked.values())
        fresh = list({question(job): job for job in jobs if question(job) not in known}.values())
        if not fresh:
            return None
        aside = self.folder / f".{secrets.token_hex(8)}.tmp"
        write_jobs(aside, fresh)
        try:
            return self._placed(aside)
        except OSError as error:
            raise EnvironmentFault(f"{self.folder}: the jobs cannot be written: {error.strerror}") from error
        finally:
            aside.unlink(missing_ok=True)

    def _placed(self, aside: Path) -> Path:
        """Give a file the next name that nobody has: other processes may write, too."""
        numbers = [int(found.group(1)) for path in self.files() if (found := _NAME.fullmatch(path.name))]
        for number in itertools.count(max(numbers, default=0) + 1):
            path = self.folder / f"jobs-{number:04d}.jsonl"
            try:
                os.link(aside, path)
            except FileExistsError:
                continue
            return path
        raise AssertionError("unreachable")

    def _read_jobs(self) -> None:
        """Learn of the job files that are there now."""
        for file in self.files():
            if file not in self._known:
                self.asked |= {job.digest: question(job) for job in read_jobs(file)}
                self._known.add(file)

    def look(self) -> None:
        """Take answers that have come since the last look. Raises FormatError for a file that is not what it says."""
        self._read_jobs()
        for path in sorted(self.folder.glob(f"*{VERDICTS}")):
            stat = path.stat()
            stamp = (stat.st_mtime_ns, stat.st_size)
            if stat.st_size and self._read.get(path) != stamp:
                self.take(read_answers(path), path)
                self._read[path] = stamp

    def take(self, answers: list[JobVerdict], path: Path) -> None:
        """Take answers; raises FormatError for one to a job that no file of this folder holds."""
        for answer in answers:
            asked = self.asked.get(answer.job)
            if asked is None:
                raise FormatError(
                    f"{path}: a verdict on {answer.operator} for the job {answer.job[:12]}, which was never exported "
                    f"to {self.folder}; import verdicts into the folder that their jobs came from"
                )
            known = self.answers.get(asked)
            if known is None or not known.answered:
                self.answers[asked] = answer


class FileJudge:
    """Asks through a folder, and waits."""

    elsewhere = True  # the device is where the verdicts come from

    def __init__(
        self, target: TargetRef, *, jobs: int, kernel_cache: str, option: str = "",
        collect: float = COLLECT_SECONDS, look: float = LOOK_SECONDS, say: Callable[[str], None] | None = None,
    ) -> None:  # fmt: skip
        """Use the folder `option`; `collect` and `look` are seconds, `say` tells a person what to carry where.

        `jobs` and `kernel_cache` are the other side's business. Raises ConfigError, and what `Exchange` raises.
        """
        if not option:
            raise ConfigError("judge.executor file", "no folder is named", "write file:FOLDER")
        self.ref = target
        self.exchange = Exchange(Path(option).expanduser().resolve())
        self._collect, self._look = collect, look
        self._say = say or (lambda text: print(text, file=sys.stderr, flush=True))
        self._batch: list[FileJob] = []
        self._writing: asyncio.Task[None] | None = None
        self._told: set[Path] = set()

    async def judge(self, job: JudgeJob, progress: Progress | None = None, *, tapes: str | None = None) -> Verdict:
        """Have the job judged by whoever reads the folder; see `Judge.judge`. Raises FormatError for a bad answer."""
        if tapes is not None:
            raise JobRefused("tapes do not travel in job files; judge where the device is to keep them")
        return (await self._ask(job)).verdict

    async def measure(self, job: MeasureJob, progress: Progress | None = None) -> Measured:
        """Have the job judged and timed; see `Judge.measure`."""
        answer = await self._ask(job)
        if answer.measured is None:
            raise JobRefused(f"the answer to the measure job {answer.job[:12]} has no times")
        return answer.measured

    async def replay(self, job: ReplayJob) -> Replayed:
        """Tapes stay where the device is. Raises JudgeFault."""
        raise JudgeFault("tapes do not travel in job files; replay them where the device is")

    async def _ask(self, job: FileJob) -> JobVerdict:
        if not judge_job(job).target.same_as(self.ref):
            name = judge_job(job).target.name
            raise JobRefused(f"a job for target {name} was given to a judge of {self.ref.name}")
        asked = question(job)
        self._watch()
        if asked not in self.exchange.answers:
            self._batch.append(job)
            if self._writing is not None:
                self._writing.cancel()
            self._writing = asyncio.create_task(self._write())
            while asked not in self.exchange.answers:
                await asyncio.sleep(self._look)
                if self._writing.done() and not self._writing.cancelled():
                    self._writing.result()  # raises what writing the file has raised
                self._watch()
        answer = self.exchange.answers[asked]
        if answer.refused:
            raise JobRefused(f"{answer.operator}: refused where the device is: {answer.refused}")
        return answer

    def _watch(self) -> None:
        self.exchange.look()

    async def _write(self) -> None:
        """Write what has been asked once nobody has asked more for a while."""
        await asyncio.sleep(self._collect)
        batch, self._batch = self._batch, []
        path = self.exchange.add(batch)
        for one in [path] if path is not None else self.exchange.waiting():
            if one not in self._told:
                self._told.add(one)
                self._say(
                    f"jobs wait in {one}: run `bringup jobs run {one.name}` where the device is, then `bringup jobs "
                    f"import {one.name}{VERDICTS} {self.exchange.folder}` here"
                )

    async def close(self) -> None:
        """Stop waiting; the files stay."""
        if self._writing is not None:
            self._writing.cancel()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()
