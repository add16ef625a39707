"""The main process's side: a pool of judge processes behind one coroutine. Never raises for what a candidate does."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import sys
from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bringup import __version__
from bringup.candidate import digest
from bringup.config import DEVICES
from bringup.judge._contents import JobRefused, TargetRef, local_operator, local_target, suite_ref
from bringup.judge._device_modes import VARIABLES, device_modes
from bringup.judge._kernels import kernels_folder, user_cache
from bringup.judge._processes import (
    ForkServer,
    JudgeFault,
    Slot,
    SlotLost,
    crash_said,
    last_said,
    log_size,
    process_environment,
)
from bringup.judge._scratch import Scratch
from bringup.judge._wire import Answer, Assignment
from bringup.judge.job import JudgeJob, Progress, Replayed, ReplayJob
from bringup.judge.measuring import Measured, MeasureJob
from bringup.operators import Operator
from bringup.targets import get_target
from bringup.verdict import Environment, Verdict

# Which instructions and threads the host's PyTorch uses: what is right must not hang on them, and so can be tried.
HOST_ENVIRONMENT = ("ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA", "MKL_ENABLE_INSTRUCTIONS", "OMP_NUM_THREADS")
SERVICES = ("guests", "compiles", "devices")  # what the fork server of a target forks for each referee
KNOWN_VERSIONS = ("torch", "triton", "numpy")


class JudgePool:
    """Referees, spawners of workers and spawners of compilers, each forked from a fork server of its own."""

    def __init__(self, target: TargetRef, *, jobs: int = 1, kernel_cache: str = "") -> None:
        """Describe the pool; nothing starts before the first job. Raises UnknownName or ConfigError for the target."""
        self.ref = target
        self.jobs = jobs
        self.kernel_cache = kernels_folder(kernel_cache)
        self._directory = Scratch()
        self._contents = Path(self._directory.name)
        self.target_spec = local_target(target, self._contents)
        self.target = get_target(self.target_spec)
        self._free: asyncio.Semaphore | None = None
        self._idle: list[Slot] = []  # the one that has waited longest first
        self._slots: list[Slot] = []
        self._parents: dict[str, ForkServer] = {}
        self._starting = asyncio.Lock()
        self._closed = False
        self._fault: JudgeFault | None = None  # why the processes do not start

    async def __aenter__(self) -> JudgePool:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def judge(self, job: JudgeJob, progress: Progress | None = None, *, tapes: str | None = None) -> Verdict:
        """Judge the job's candidate; see `Judge.judge`."""
        prepared = self._prepared(job)
        if isinstance(prepared, Verdict):
            return prepared
        answer = await self._answer(job, prepared, progress, tapes)
        if isinstance(answer, Verdict):
            return answer
        assert answer.verdict is not None
        return answer.verdict

    async def measure(self, job: MeasureJob, progress: Progress | None = None) -> Measured:
        """Judge and time the job's candidate; see `Judge.measure`."""
        prepared = self._prepared(job.judge)
        if isinstance(prepared, Verdict):
            return Measured(verdict=prepared, clock=self.target.clock)
        answer = await self._answer(job.judge, job.model_copy(update={"judge": prepared}), progress)
        if isinstance(answer, Verdict):
            return Measured(verdict=answer, clock=self.target.clock)
        assert answer.measured is not None
        return answer.measured

    def _prepared(self, job: JudgeJob) -> JudgeJob | Verdict:
        """The job with a suite of this machine; a verdict where there is nothing to judge. Raises JobRefused."""
        if not job.target.same_as(self.ref):
            raise JobRefused(f"a job for target {job.target.name} was given to a judge of {self.ref.name}")
        reason = job.operator.not_applicable(self.target.features)
        if reason is not None:
            return Verdict(kind="untested", summary=f"not applicable on {job.target.name}: {reason}")
        return job.model_copy(update={"operator": local_operator(job.operator, job.suite, self._contents)})

    async def _answer(
        self, job: JudgeJob, work: JudgeJob | MeasureJob, progress: Progress | None, tapes: str | None = None
    ) -> Answer | Verdict:
        """What a referee says to `work`, which judges by `job`; a verdict where no referee outlives it."""
        operator = work.operator if isinstance(work, JudgeJob) else work.judge.operator
        tries = [job, job.drawn_anew()]  # a drawn call that ends a kernel of PyTorch's own says nothing of a candidate
        assignments = []
        for one in tries:
            more = {"progress": progress is not None, "tapes": tapes, "environment": self._environment(one, operator)}
            assignments.append(self._assignment(_under(work, one.fresh_seed)).model_copy(update=more))
        try:
            return await self._run(assignments, progress, f"{operator.suite}:{operator.name}")
        except SlotLost as lost:
            # no candidate reaches that process: what ends it twice (no memory, say) is no verdict on any
            summary = f"the judge's process was lost: {lost}"
            return Verdict(kind="untested", summary=summary, environment=self._environment(tries[-1], operator))

    async def replay(self, job: ReplayJob) -> Replayed:
        """Run a tape; see `Judge.replay`."""
        answer = await self._run([self._assignment(job)] * 2, None)
        assert answer.replayed is not None
        return answer.replayed

    def _take(self, operator: str) -> Slot:
        """The idle referee that did this operator last, if one did: it keeps inputs, references and their bounds."""
        found = max(self._idle, key=lambda slot: operator in slot.known)
        self._idle.remove(found)
        found.knows(operator)
        return found

    async def _run(self, tries: Sequence[Assignment], progress: Progress | None, operator: str = "") -> Answer:
        """Have the next free referee do a job; the next one of `tries` where it is lost. Raises SlotLost."""
        await self._start()
        assert self._free is not None
        await self._free.acquire()
        slot = self._take(operator)
        log = self._parents["referee"].log  # where the stacks of those that crash are
        try:
            before = ""
            for number, assignment in enumerate(tries, start=1):
                begin = log_size(log)
                try:
                    answer = await slot.run(assignment, progress)
                    return _told(answer, before)
                except SlotLost as lost:
                    before = crash_said(log, begin) or str(lost)
                    slot = await self._replace(slot)
                    slot.knows(operator)
                    if number == len(tries):
                        raise SlotLost(before) from lost
            raise AssertionError("unreachable")
        except JudgeFault as fault:
            slot.broken = True
            said = last_said(self._parents["run"].log)  # its services write there why they ended
            raise JudgeFault(f"{fault} ({said})" if said else str(fault)) from fault
        except BaseException:
            slot.broken = True  # cancelled or failed in the middle of an exchange
            raise
        finally:
            if slot.broken and not self._closed:
                slot = await asyncio.shield(self._replace(slot))
            self._idle.append(slot)
            self._free.release()

    def _assignment(self, work: JudgeJob | ReplayJob | MeasureJob) -> Assignment:
        return Assignment(work=work, toolchain=self.toolchain, kernel_cache=self.kernel_cache)

    def _environment(self, job: JudgeJob, operator: Operator) -> Environment:
        """What a verdict says of the job and of this machine."""
        indices = set(job.cases.values())
        return Environment(
            target=job.target.name,
            chip=self._chip,
            suite_digest=suite_ref(operator.suite).digest,
            versions=self._versions,
            dtypes=tuple(job.cases),
            cases=indices.pop() if len(indices) == 1 else job.cases,
            seed=job.seed,
            fresh_seed=job.fresh_seed,
            guards=job.guards,
            compile_for=job.compile_for,
            bounds=job.limits.unusual_bounds,
            keep_going=job.report.keep_going,
            device_modes=device_modes(),
        )

    # Once for the pool: its processes keep the target and the packages that they have loaded.

    @cached_property
    def _chip(self) -> str:
        """The digest of what is known of the target's chip, empty when nothing is."""
        facts = self.target.facts()
        return digest(json.dumps(facts, sort_keys=True, default=str)) if facts else ""

    @cached_property
    def toolchain(self) -> str:
        """What identifies the target's compiler, for the keys of compiled kernels."""
        return self.target.toolchain()

    @cached_property
    def _versions(self) -> dict[str, str]:
        found = {"bringup": __version__, "python": ".".join(map(str, sys.version_info[:3]))}
        for name in KNOWN_VERSIONS:
            with contextlib.suppress(PackageNotFoundError):
                found[name] = version(name)
        return found

    async def _start(self) -> None:
        async with self._starting:
            if self._free is not None:
                return
            if self._fault is not None:
                raise JudgeFault(str(self._fault))  # who asks next need not wait for the same end
            try:
                await self._start_parents()
            except JudgeFault as fault:
                self._fault = fault
                raise

    async def _start_parents(self) -> None:
        reason = self.target.unavailable()
        if reason is not None:
            raise JudgeFault(f"target {self.ref.name} cannot run here: {reason}")
        # References are computed on the CPU: the referee's parent must not even see a GPU (see _fork_server).
        environment = self.target.environment()
        variables = {
            "referee": self._variables(
                "referee",
                # What has been found out of the installed torch is kept in the user's cache, once for all referees.
                {
                    **environment,
                    **{
                        name: os.environ[name]
                        for name in (*HOST_ENVIRONMENT, *VARIABLES.values())
                        if name in os.environ
                    },
                    "CUDA_VISIBLE_DEVICES": "",
                    DEVICES: os.environ.get("CUDA_VISIBLE_DEVICES", "all"),  # for profilers, which it starts
                    "ROCR_VISIBLE_DEVICES": "",
                    "XDG_CACHE_HOME": user_cache(),
                },
            ),
            "run": self._variables("run", environment),
        }
        self._parents = {
            role: ForkServer(role, environment, self._directory.name, self.target_spec, self.kernel_cache)
            for role, environment in variables.items()
        }
        await asyncio.gather(*(parent.start() for parent in self._parents.values()))
        self._slots = [await self._open() for _ in range(self.jobs)]
        self._idle = list(self._slots)
        self._free = asyncio.Semaphore(len(self._slots))

    def _variables(self, role: str, extra: Any) -> dict[str, str]:
        return process_environment(role, self._directory.name, self.kernel_cache, extra)

    async def _open(self) -> Slot:
        for parent in self._parents.values():
            if parent.process is None or parent.process.returncode is not None:
                await parent.start()
        ours, theirs = socket.socketpair()
        pairs = {service: socket.socketpair() for service in SERVICES}
        try:
            near = [pair[0].fileno() for pair in pairs.values()]
            self._parents["referee"].fork("referee", [theirs.fileno(), *near])
            for service, (_, far) in pairs.items():
                self._parents["run"].fork(service, [far.fileno()])
        finally:
            for end in (theirs, *(end for pair in pairs.values() for end in pair)):
                end.close()
        slot = Slot(ours)
        await slot.open()
        return slot

    async def _replace(self, slot: Slot) -> Slot:
        await slot.close()
        fresh = await self._open()
        self._slots = [fresh if s is slot else s for s in self._slots]
        return fresh

    async def close(self) -> None:
        """End all processes and remove the scratch directory; safe to call twice."""
        self._closed = True
        for slot in self._slots:
            await slot.close()
        for parent in self._parents.values():
            await parent.close()
        with contextlib.suppress(OSError):
            self._directory.close()


def _under(work: JudgeJob | MeasureJob, fresh_seed: int) -> JudgeJob | MeasureJob:
    """The same work, whose guards draw with this seed."""
    if isinstance(work, MeasureJob):
        return work.model_copy(update={"judge": _under(work.judge, fresh_seed)})
    return work.model_copy(update={"fresh_seed": fresh_seed})


def _told(answer: Answer, lost: str) -> Answer:
    """An answer whose verdict says how the process before this one was lost; "" where none was."""
    verdict = answer.verdict
    if not lost or verdict is None or verdict.environment is None:
        return answer
    skipped = {**verdict.environment.skipped, f"calls in which the judge's process was lost ({lost})": 1}
    environment = verdict.environment.model_copy(update={"skipped": skipped})
    return answer.model_copy(update={"verdict": verdict.model_copy(update={"environment": environment})})
