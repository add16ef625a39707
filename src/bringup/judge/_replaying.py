"""Replaying a tape in the device process: no candidate, no guest."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from bringup.device.tape import BadTape, unpack
from bringup.judge._compiling import Compiling
from bringup.judge._device import Device, DeviceLost
from bringup.judge._guest import Guest
from bringup.judge._kernels import KernelStore

if TYPE_CHECKING:
    from bringup.judge._referee import Referee


def replay(referee: Referee, job: dict[str, Any]) -> dict[str, Any]:
    """Run the tape of a job; the answer has `about`, and `error` as text where something went wrong."""
    try:
        with open(job["tape"], "rb") as file:
            data = file.read()
        about = unpack(data).about
    except (OSError, BadTape) as error:
        return {"error": f"{job['tape']}: {error}"}
    limits = {"memory_mb": job["memory_mb"], "processes": job["processes"]}
    store = referee.kernels.setdefault(job["kernel_cache"], KernelStore(job["kernel_cache"]))

    def compiler() -> Guest:
        return Guest(referee.compiles, limits, job["output_kb"], referee.scratch)

    compiling = Compiling(job, store, referee.refused, compiler)
    try:
        if referee.device is None:
            referee.device = Device(referee.devices, compiling.answer)
        referee.device.compile = compiling.answer
        deadline = time.monotonic() + job["candidate_seconds"]
        mode = {"profile": True, "order": job["order"]}
        answer = referee.device.replay(data, job["times"], job["memory_mb"] << 20, mode, deadline)
    except DeviceLost as lost:
        referee.lose_device()
        return {"about": about, "error": str(lost)}
    finally:
        compiling.close()
    if answer["replace"]:
        referee.lose_device()
    stopped = answer["error"]
    return {**answer, "about": about, "error": stopped and stopped["text"]}
