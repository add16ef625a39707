"""Replaying a tape in the device process: no candidate, no guest."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from bringup.device.tape import BadTape, unpack
from bringup.judge._device import DeviceLost
from bringup.judge._device_modes import device_modes
from bringup.judge.job import Replayed, ReplayJob

if TYPE_CHECKING:
    from bringup.judge._referee import Referee
    from bringup.judge._wire import Assignment


def replay(referee: Referee, job: ReplayJob, assignment: Assignment) -> Replayed:
    """Run the tape of a job; the answer has `about`, and `error` as text where something went wrong."""
    try:
        with open(job.tape, "rb") as file:
            data = file.read()
        about = unpack(data).about
    except (OSError, BadTape) as error:
        return Replayed(error=f"{job.tape}: {error}")
    compiling = referee.compiling(assignment, lambda: referee.worker(job.limits))
    try:
        device = referee.start_device(compiling.answer)
        deadline = time.monotonic() + job.limits.candidate_seconds
        mode = {"profile": True, "order": job.order, **dict.fromkeys(device_modes(), True)}
        answer = device.replay(data, job.times, job.limits.memory_mb << 20, mode, deadline)
    except DeviceLost as lost:
        referee.lose_device()
        return Replayed(about=about, error=str(lost))
    if answer.pop("replace"):
        referee.lose_device()
    stopped = answer.pop("error")
    return Replayed(about=about, error=stopped and stopped["text"], **answer)
