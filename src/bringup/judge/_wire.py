"""What the main process and a referee say to each other."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from bringup.judge.job import JudgeJob, Replayed, ReplayJob
from bringup.judge.measuring import Measured, MeasureJob
from bringup.verdict import Environment, Record, Verdict, VerdictKind


class Assignment(Record):
    """A job, and what the machine that judges it adds."""

    work: Annotated[JudgeJob | ReplayJob | MeasureJob, Field(discriminator="kind")]
    toolchain: str  # what identifies the target's compiler, for the keys of compiled kernels
    kernel_cache: str | None = None  # folder of compiled kernels
    environment: Environment = Environment()  # what the verdict is to say of the job and of this machine
    progress: bool = False  # whether cases are told as they come
    tapes: str | None = None  # folder that takes the command stream of each case


class CaseDone(Record):
    """A case is over."""

    case: str
    kind: VerdictKind


class Answer(Record):
    """What a referee says: one of these."""

    case: CaseDone | None = None  # more will follow
    verdict: Verdict | None = None
    replayed: Replayed | None = None
    measured: Measured | None = None
    fault: str | None = None  # of the environment
    internal: str | None = None  # a traceback: an error of the judge's own
