"""Judge jobs in a file, and the verdicts on them: from a process that has candidates to one that has the device.

A job file is JSON, one object a line: a header, the jobs, and an end with their number and the SHA-256 of all lines
before it, so that a file that was cut or changed is known. A verdict file grows: a header, then an answer a line, each
with the SHA-256 of its own text. An answer is a verdict, with the times where they were asked for, or a refusal.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Self, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from bringup import __version__
from bringup.errors import EnvironmentFault, FormatError
from bringup.files import write_atomically
from bringup.judge.job import VERSION, JudgeJob
from bringup.judge.measuring import Measured, MeasureJob
from bringup.verdict import Record, Verdict

JOBS, VERDICTS = "bringup jobs", "bringup verdicts"
T = TypeVar("T")
VERDICTS_VERSION: Final = 2
_VERSIONS = {JOBS: VERSION, VERDICTS: VERDICTS_VERSION}
FileJob = JudgeJob | MeasureJob
_JOB: TypeAdapter[FileJob] = TypeAdapter(Annotated[FileJob, Field(discriminator="kind")])
_MAKES = {JOBS: "`bringup jobs export`", VERDICTS: "`bringup jobs run`"}


class JobVerdict(Record):
    """The verdict on one job of a file."""

    job: str  # digest of the job
    operator: str
    candidate: str  # digest of its source
    verdict: Verdict
    measured: Measured | None = None  # of a measure job: the same verdict, and times
    refused: str = ""  # why the job could not be judged there; then there is no verdict

    @property
    def answered(self) -> bool:
        """Whether the job was judged."""
        return not self.refused


def judge_job(job: FileJob) -> JudgeJob:
    """The job of judging that a job is or holds."""
    return job if isinstance(job, JudgeJob) else job.judge


def question(job: FileJob) -> str:
    """The digest of a job but for the seed that is drawn anew with each: who asks again asks the same."""
    judged = judge_job(job).model_copy(update={"fresh_seed": 0, "drawn": False})
    return judged.digest if isinstance(job, JudgeJob) else job.model_copy(update={"judge": judged}).digest


def write_jobs(path: Path, jobs: Iterable[FileJob]) -> None:
    """Write a job file in one step; raises EnvironmentFault."""
    lines = [_header(JOBS), *(job.model_dump_json() for job in jobs)]
    body = "".join(f"{line}\n" for line in lines).encode()
    end = json.dumps({"jobs": len(lines) - 1, "digest": hashlib.sha256(body).hexdigest()})
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, body + end.encode() + b"\n")
    except OSError as error:
        raise EnvironmentFault(f"{path}: the jobs cannot be written: {error.strerror}") from error


def read_jobs(path: Path) -> list[FileJob]:
    """Read a job file; raises FormatError for one of another version, or that is not whole as it was written."""
    data = _read(path)
    lines = data.splitlines(keepends=True)
    _check_header(path, JOBS, lines)
    end = _object(lines[-1])
    if set(end) != {"jobs", "digest"}:
        raise FormatError(f"{path}: it breaks off after {max(0, len(lines) - 2)} jobs; copy or export it again")
    if hashlib.sha256(b"".join(lines[:-1])).hexdigest() != end["digest"] or end["jobs"] != len(lines) - 2:
        raise FormatError(f"{path}: it was changed after it was written (its digest does not fit); export it again")
    return [_checked(_JOB.validate_json, path, number, line) for number, line in enumerate(lines[1:-1], 2)]


class VerdictFile:
    """Verdicts by job, each on disk as soon as it is there: after an interruption the rest is judged."""

    def __init__(self, path: Path, known: Sequence[JobVerdict] = ()) -> None:
        """Go on with a file whose content is `known`: see `open`."""
        self.path = path
        self.by_job = {entry.job: entry for entry in known if entry.answered}
        self._refused = {entry.job: entry.refused for entry in known}

    @classmethod
    def open(cls, path: Path) -> Self:
        """Begin a file, or go on with the one that is there; what a killed process wrote of a line is dropped.

        Raises FormatError for another kind of file, EnvironmentFault when it cannot be written.
        """
        known: list[JobVerdict] = []
        try:
            if not path.exists() or not path.stat().st_size:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(_header(VERDICTS) + "\n", encoding="utf-8")
            else:
                known = read_answers(path)
                whole = path.read_bytes().rfind(b"\n") + 1
                os.truncate(path, whole)
        except OSError as error:
            raise EnvironmentFault(f"{path}: verdicts cannot be written: {error.strerror}") from error
        return cls(path, known)

    def add(self, entry: JobVerdict) -> None:
        """Append an answer; a refusal that is there already is not said twice. Raises EnvironmentFault."""
        if entry.refused and self._refused.get(entry.job) == entry.refused:
            return
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(_signed(entry.model_dump_json(exclude_defaults=True)) + "\n")
        except OSError as error:
            raise EnvironmentFault(f"{self.path}: verdicts cannot be written: {error.strerror}") from error
        self._refused[entry.job] = entry.refused
        if entry.answered:
            self.by_job[entry.job] = entry


def read_verdicts(path: Path) -> list[JobVerdict]:
    """Read the verdicts of a file, without a last line that is not whole; raises FormatError."""
    return [entry for entry in read_answers(path) if entry.answered]


def read_answers(path: Path) -> list[JobVerdict]:
    """Read verdicts and refusals of a file, without a last line that is not whole.

    Raises FormatError for another kind or version, and for a line that was changed.
    """
    lines = _read(path).splitlines(keepends=True)
    _check_header(path, VERDICTS, lines)
    whole = [line for line in lines[1:] if line.endswith(b"\n")]
    return [
        _checked(JobVerdict.model_validate_json, path, number, _unsigned(path, number, line))
        for number, line in enumerate(whole, 2)
    ]


_SIGN = '{"check":"%s",'


def _signed(text: str) -> str:
    """The text of an object with the SHA-256 of that text as its first field."""
    return _SIGN % hashlib.sha256(text.encode()).hexdigest() + text[1:]


def _unsigned(path: Path, number: int, line: bytes) -> bytes:
    """Undo `_signed`; raises FormatError where the two do not fit."""
    length = len(_SIGN % ("0" * 64))
    text = b"{" + line.rstrip(b"\r\n")[length:]
    if line[:length] != (_SIGN % hashlib.sha256(text).hexdigest()).encode():
        raise FormatError(
            f"{path}: line {number}: it was changed after it was written (its digest does not fit); "
            f"{_MAKES[VERDICTS]} writes it again"
        )
    return text


def _header(kind: str) -> str:
    return json.dumps({"format": kind, "version": _VERSIONS[kind], "bringup": __version__})


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise FormatError(f"{path}: cannot be read: {error.strerror}") from error


def _check_header(path: Path, kind: str, lines: list[bytes]) -> None:
    header = _object(lines[0]) if lines else {}
    if header.get("format") != kind:
        raise FormatError(f"{path}: not a file of {kind.removeprefix('bringup ')}; {_MAKES[kind]} writes one")
    if header.get("version") != _VERSIONS[kind]:
        raise FormatError(
            f"{path}: version {header.get('version')} (of bringup {header.get('bringup')}), this bringup reads version "
            f"{_VERSIONS[kind]}; write it again with the bringup that reads it"
        )


def _object(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _checked(read: Callable[[bytes], T], path: Path, number: int, line: bytes) -> T:
    try:
        return read(line)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the line"
        raise FormatError(f"{path}: line {number}: {where}: {first['msg']}") from error
