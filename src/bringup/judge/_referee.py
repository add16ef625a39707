"""The judge's own process: rebuilds cases, computes references, puts inputs into the device, compares, decides.

No candidate code runs here. Guests are forked by a spawner that has never seen a reference, and see no data at all.
"""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import traceback
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import torch

from bringup.accuracy import Limits
from bringup.config import JudgeLimits
from bringup.device import frames
from bringup.device.sharing import lock_of
from bringup.errors import EnvironmentFault
from bringup.judge import _codec
from bringup.judge._case_limits import arithmetic_of
from bringup.judge._compiling import Compiling
from bringup.judge._device import Compile, Device, DeviceFault
from bringup.judge._guest import Guest
from bringup.judge._judging import Judging
from bringup.judge._kernels import KernelStore
from bringup.judge._processes import KEPT_OPERATORS
from bringup.judge._replaying import replay
from bringup.judge._wire import Answer, Assignment
from bringup.judge.faults import ledger_beside
from bringup.judge.job import JudgeJob, ReplayJob
from bringup.judge.measuring import MeasureJob
from bringup.judge.sandbox import SandboxFault
from bringup.suites import CaseInputs, Suite, device_locks, get_suite
from bringup.targets import Target
from bringup.verdict import CaseId

KEPT_SUITES = 8  # of one judge process
KEPT_BYTES = 2 << 30  # of their inputs, references and bounds, as far as they are not those of the operator at hand
BOUND_BYTES = 32  # about, of an element's exact value and how far it may be off


def _nbytes(value: Any) -> int:
    """Bytes of the tensors in a tree."""
    return sum(tensor.numel() * tensor.element_size() for _, tensor in _codec.tensors_of(value, ""))


def _threads() -> int:
    """How many threads references may use: one, unless the user's environment asks for more."""
    asked = os.environ.get("OMP_NUM_THREADS", "1")
    return int(asked) if asked.isdecimal() and int(asked) else 1


class Referee:
    """Serves judge jobs, one at a time, until the main process closes the socket."""

    def __init__(
        self,
        main: socket.socket,
        guests: socket.socket,
        compiles: socket.socket,
        devices: socket.socket,
        target: Target,
    ) -> None:
        """Take the sockets to the main process and to the spawners."""
        self.main, self.guests, self.compiles, self.devices = main, guests, compiles, devices
        self.target = target
        self.moves = target.dialect().copies == "move"  # whether copies alone may make a result there
        self.arithmetic = arithmetic_of(target)
        self.device: Device | None = None
        self.kernels: dict[str | None, KernelStore] = {}
        self.refused: dict[str, dict[str, Any]] = {}
        self.suites: OrderedDict[str, Suite] = OrderedDict()
        self.cases: OrderedDict[tuple[str, str, str, int], list[CaseInputs]] = OrderedDict()
        self.expected: dict[tuple[str, CaseId], tuple[Any, Any, Any]] = {}
        self.limits: dict[tuple[str, CaseId], Limits] = {}
        self.modelled: OrderedDict[str, Any] = OrderedDict()  # baselines on a modelled clock, by digest: see _measuring
        self.scratch = tempfile.mkdtemp(prefix="judge-")
        # Times that are a model's are disturbed by nobody.
        self.lock = lock_of(target.name, device_locks()) if target.clock == "device" else ""

    def serve(self) -> None:
        """Answer each job with a verdict."""
        # Forking is the spawners' work, so threads are harmless here; but jobs share the machine.
        torch.set_num_threads(_threads())
        warnings.simplefilter("ignore")  # of references: deprecations, degrees of freedom
        frames.send(self.main, {"ready": True, "pid": os.getpid()})
        try:
            while True:
                try:
                    job, _ = frames.receive(self.main)
                except frames.Closed:
                    return
                try:
                    self.answer(self._do(Assignment.model_validate(job)))
                except frames.Closed:
                    return
                except (DeviceFault, SandboxFault, EnvironmentFault) as fault:
                    self.lose_device()
                    self.answer(Answer(fault=str(fault)))
                except Exception:
                    # Not the candidate's fault: the main process reports it as an internal error.
                    self.answer(Answer(internal=traceback.format_exc()))
        finally:
            self.lose_device()
            shutil.rmtree(self.scratch, ignore_errors=True)

    def _do(self, assignment: Assignment) -> Answer:
        work = assignment.work
        if isinstance(work, ReplayJob):
            return Answer(replayed=replay(self, work, assignment))
        if isinstance(work, MeasureJob):
            from bringup.judge._measuring import measure

            return Answer(measured=measure(self, work, assignment))
        return Answer(verdict=Judging(self, work, assignment).run())

    def answer(self, answer: Answer) -> None:
        """Tell the main process something."""
        frames.send(self.main, answer.model_dump(mode="json", exclude_none=True))

    def compiling(self, assignment: Assignment, start: Callable[[], Guest]) -> Compiling:
        """Return what compiles the kernels of a job; `start` starts a compiling process."""
        folder, work = assignment.kernel_cache, assignment.work
        store = self.kernels.setdefault(folder, KernelStore(folder))
        judged = work.judge if isinstance(work, MeasureJob) else work
        compile_for = judged.compile_for if isinstance(judged, JudgeJob) else ()
        toolchain, seconds = assignment.toolchain, work.limits.compile_seconds
        name = judged.target.name if isinstance(judged, JudgeJob) else self.target.name
        return Compiling(
            toolchain, compile_for, seconds, store, self.refused, start, target=name, ledger=ledger_beside(folder)
        )

    def worker(self, limits: JudgeLimits, stream: socket.socket | None = None) -> Guest:
        """Start a sandboxed process: a guest with its end of the command stream, or a compiler."""
        spawner = self.compiles if stream is None else self.guests
        bounds = {"memory_mb": limits.memory_mb, "processes": limits.processes}
        return Guest(spawner, bounds, limits.output_kb, self.scratch, stream)

    def lose_device(self) -> None:
        """End the device process; the next job starts another one."""
        if self.device is not None:
            self.device.close()
            self.device = None

    def start_device(self, compile: Compile) -> Device:
        """Return the device process, started where there is none; `compile` answers its requests for kernels.

        Raises DeviceFault.
        """
        if self.device is None:
            self.device = Device(self.devices, compile)
        self.device.compile = compile
        return self.device

    def renew_device(self, compile: Compile) -> None:
        """Start another device process in the place of one that is broken.

        Where none starts, the device has failed, and not what ran on it: a device that is gone often says no more than
        that a kernel was stopped. Raises DeviceFault.
        """
        self.lose_device()
        self.start_device(compile)

    def suite(self, spec: str) -> Suite:
        """Return a suite by name, made once: a job names files that it has brought along by their contents."""
        if spec not in self.suites:
            self.suites[spec] = get_suite(spec)
            while len(self.suites) > KEPT_SUITES:
                self.suites.popitem(last=False)
        self.suites.move_to_end(spec)
        return self.suites[spec]

    def inputs(self, suite: str, operator: str, dtype: str, seed: int) -> list[CaseInputs]:
        """Return the cases of one operator and dtype, rebuilt or from memory."""
        key = (suite, operator, dtype, seed)
        if key not in self.cases:
            self.cases[key] = list(self.suite(suite).materialise(operator, dtype, seed))
            while len({k[1] for k in self.cases}) > KEPT_OPERATORS or (
                len(self.cases) > 1 and sum(map(self._kept_bytes, self.cases)) > KEPT_BYTES
            ):
                old, inputs = self.cases.popitem(last=False)
                for item in inputs:
                    self.expected.pop((old[0], item.case), None)
                    self.limits.pop((old[0], item.case), None)
        self.cases.move_to_end(key)
        return self.cases[key]

    def _kept_bytes(self, key: tuple[str, str, str, int]) -> int:
        """About how much is kept of one operator and dtype."""
        found = 0
        for inputs in self.cases[key]:
            found += _nbytes([tuple(inputs.args), dict(inputs.kwargs)])
            if (known := self.expected.get((key[0], inputs.case))) is not None:
                results = [tensor for _, tensor in _codec.tensors_of(known[0], "")]
                found += _nbytes(results) + BOUND_BYTES * sum(tensor.numel() for tensor in results)
        return found

    def other_cases(self, known: CaseId, suite: str, job: JudgeJob) -> list[CaseInputs]:
        """Return those of a job's cases of a dtype, under its other seed, that give a result."""
        source = self.suite(suite)
        # Suites with cases of two kinds say how to rebuild the cheap ones, which come first, by themselves.
        for rebuild in (source.own_cases, source.materialise):
            found = [
                inputs
                for inputs in rebuild(known.operator, known.dtype, job.fresh_seed)
                if not inputs.raises and not inputs.requires and job.takes(known.dtype, inputs.case.index)
            ]
            if found:
                return found
        return []

    def drawn_cases(self, known: CaseId, suite: str, job: JudgeJob, count: int) -> list[CaseInputs]:
        """Return up to `count` more of a job's cases of a dtype under its other seed, dear to rebuild."""
        drawn = self.suite(suite).drawn_cases(known.operator, known.dtype, job.fresh_seed, count)
        return [inputs for inputs in drawn if job.takes(known.dtype, inputs.case.index)]
