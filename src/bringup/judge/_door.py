"""The door of the judge: what takes jobs, and the executors that make one."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Protocol, Self

from bringup.config import JudgeConfig
from bringup.judge._contents import TargetRef, target_ref
from bringup.judge.job import JudgeJob, Progress, Replayed, ReplayJob
from bringup.judge.measuring import Measured, MeasureJob
from bringup.registry import Registry
from bringup.targets import get_target
from bringup.verdict import Verdict

WORKER_BYTES = 3 << 30  # what one judge worker may need: inputs and references of several operators, a device, guests


class Judge(Protocol):
    """Decides what candidates are worth, for one target. Nothing starts before the first job."""

    async def judge(self, job: JudgeJob, progress: Progress | None = None, *, tapes: str | None = None) -> Verdict:
        """Return the verdict; whatever the candidate does becomes one.

        `tapes` is a folder of this machine in which the command stream of each case is kept.

        Raises JobRefused for a job that cannot be judged here as it was meant, JudgeFault when the judge itself fails.
        """
        ...

    async def replay(self, job: ReplayJob) -> Replayed:
        """Run a tape that `judge` has kept. Raises JudgeFault."""
        ...

    async def measure(self, job: MeasureJob, progress: Progress | None = None) -> Measured:
        """Judge a candidate, and time the cases of the job if all passed, beside what it is compared with.

        Raises as `judge` does.
        """
        ...

    async def close(self) -> None:
        """End all processes; safe to call twice."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Executor(Protocol):
    """Runs judge jobs somewhere: a plug-in registers one under `bringup.executors`.

    One that judges on other machines has an attribute `elsewhere` that is true: then this one need not have the device.
    """

    def __call__(self, target: TargetRef, *, jobs: int, kernel_cache: str) -> Judge:
        """Return a judge of `jobs` candidates at once; raises UnknownName or ConfigError for the target.

        `kernel_cache` is the folder of compiled kernels as `JudgeConfig.kernel_cache` has it. What a user wrote behind
        the executor's name and a colon comes as `option`, where there is any.
        """
        ...


executors: Registry[Judge] = Registry(
    "executor",
    "bringup.executors",
    {"file": "bringup.judge._by_file:FileJudge", "local": "bringup.judge._pool:JudgePool"},
)


def unavailable(target: str, config: JudgeConfig | None = None) -> str | None:
    """Say why the configured executor cannot judge for a target from this machine; None where nothing is known.

    Raises UnknownName, or ConfigError for the target's profile.
    """
    factory = executors.factory((config or JudgeConfig()).executor.partition(":")[0])
    if getattr(factory, "elsewhere", False):
        return None
    reason = get_target(target).unavailable()
    return None if reason is None else f"target {target} cannot run here: {reason}"


def usual_jobs(target: str) -> int:
    """Return how many judge workers suit this machine, where nobody says: it changes speed and no verdict.

    The processes of a worker wait for each other, so there is one more than there are processors, but only as many as
    the memory holds. Workers on a device of its own wait for that: two.
    """
    if get_target(target).clock == "device":
        return 2
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, min(len(os.sched_getaffinity(0)) + 1, memory // WORKER_BYTES))


def open_judge(target: str | TargetRef, config: JudgeConfig | None = None, *, jobs: int = 1) -> Judge:
    """Return a judge for a target, by the executor that the configuration names: NAME, or NAME:OPTION.

    Raises UnknownName, or ConfigError for the target's profile or the option.
    """
    config = config or JudgeConfig()
    found = target_ref(target) if isinstance(target, str) else target
    name, colon, option = config.executor.partition(":")
    more = {"option": option} if colon else {}
    return executors.create(name, target=found, jobs=jobs, kernel_cache=config.kernel_cache, **more)
