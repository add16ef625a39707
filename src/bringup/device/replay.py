"""Replaying a tape: device time without the candidate, and whether the same commands give the same result."""

from __future__ import annotations

import time
from typing import Any

from bringup.device.account import Broken
from bringup.device.engine import Fault
from bringup.device.execution import Execution, noted
from bringup.device.machine import Machine
from bringup.device.memory import Memory
from bringup.device.prepared import launchers_of
from bringup.device.tape import BadTape, Tape, digest_of, unpack
from bringup.device.wire import Command, Malformed


def replay(machine: Machine, request: dict[str, Any], payload: memoryview) -> dict[str, Any]:
    """Run a tape `times` times; return the seconds of each run, and whether its result is the recorded one."""
    machine.renew(int(request["memory"]))
    seconds: list[float] = []
    results: list[str] = []
    same, wrong = False, None
    try:
        tape = unpack(payload)
        machine.launchers.update(launchers_of(machine, tape))
        for _ in range(int(request["times"])):
            seconds.append(_play(machine, tape, request["mode"]))
            if machine.execution.error is not None:
                break
            results.append(digest_of([machine.engine.read(machine.memory.at(b), n) for b, n in tape.storages if n]))
        same = bool(results) and all(result == tape.result for result in results)
    except Fault as fault:
        wrong = noted(fault, 0)
    except (BadTape, Malformed, Broken) as error:
        wrong = {"kind": "launch", "text": str(error), "short": str(error), "dump": ""}
    answer = {
        "seconds": seconds,
        "same": same,
        "repeats": len(set(results)) <= 1,
        "account": machine.execution.account.to_json(),
        "error": machine.execution.error or wrong,
        "counters": machine.engine.counters(),
        "replace": machine.engine.broken(),
    }
    machine.renew(int(request["memory"]))
    return answer


def _play(machine: Machine, tape: Tape, mode: dict[str, Any]) -> float:
    """Run a tape once; return the seconds from its first command to the end of all work."""
    machine.memory.clear()
    machine.memory = Memory(machine.engine, machine.memory.limit)
    mode = {**mode, "host_bytes": None, "uploaded_bytes": None, "written": None, "gaps": {}}
    execution = machine.execution = Execution(machine.engine, machine.memory, machine.launchers, mode)
    execution.start([(base, memoryview(data)) for base, data in tape.inputs])
    execution.finish()
    began = time.perf_counter()
    for code, body in tape.commands:
        execution.execute(Command(code), memoryview(body))
    execution.finish()
    return time.perf_counter() - began
