"""The judge's own process: rebuilds cases, computes references, puts inputs into the device, compares, decides.

No candidate code runs here. Guests are forked by a spawner that has never seen a reference, and see no data at all.
"""

from __future__ import annotations

import operator
import os
import re
import shutil
import socket
import tempfile
import time
import traceback
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from bringup.accuracy import Limits
from bringup.config import JudgeLimits
from bringup.device import frames, space
from bringup.device.sharing import beside_others, lock_of
from bringup.errors import EnvironmentFault
from bringup.judge import _codec
from bringup.judge._case import Asked, CaseJudge, Expected, arithmetic_of, limits_of, tape_name
from bringup.judge._compile_log import explained
from bringup.judge._compiling import Compiling
from bringup.judge._device import Device, DeviceFault, DeviceLost
from bringup.judge._guest import Guest, describe_end
from bringup.judge._kernels import KernelStore
from bringup.judge._memory import OUT_OF_MEMORY, memory_kills
from bringup.judge._others import CRASHES, different, look_on, sorts
from bringup.judge._outcome import Outcome, cheated, raised_line
from bringup.judge._phases import Phases
from bringup.judge._plain_outs import with_plain_outs
from bringup.judge._player import pack
from bringup.judge._processes import KEPT_OPERATORS
from bringup.judge._rehearsal import RehearsedCall
from bringup.judge._replaying import replay
from bringup.judge._reply import check_inputs, check_replies, check_reply, ending
from bringup.judge._sanitizing import examine
from bringup.judge._tidy import tidy
from bringup.judge._waiting import Waiting
from bringup.judge._wire import Answer, Assignment, CaseDone
from bringup.judge.faults import advised, ledger_beside
from bringup.judge.guards import RERUNS
from bringup.judge.guards._rerun import Rerunner
from bringup.judge.job import JudgeJob, ReplayJob
from bringup.judge.measuring import MeasureJob
from bringup.judge.sandbox import SandboxFault
from bringup.linter import computes, moves, read_allowance
from bringup.suites import CaseInputs, Suite, argument_dtypes, device_locks, get_suite
from bringup.targets import Target
from bringup.verdict import CaseId, CaseResult, Verdict

KEPT_SUITES = 8  # of one judge process
KEPT_BYTES = 2 << 30  # of their inputs, references and bounds, as far as they are not those of the operator at hand
BOUND_BYTES = 32  # about, of an element's exact value and how far it may be off
TOUCHED = re.compile(r"^device memory touched by the host: (0x[0-9a-f]+)$", re.MULTILINE)
GRACE_SECONDS = 0.5  # between a call's time limit, when the worker prints where it is, and its end


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


class Judging:
    """One candidate against the cases of one operator."""

    def __init__(self, referee: Referee, job: JudgeJob, assignment: Assignment) -> None:
        """Prepare to do a job."""
        self.referee = referee
        self.job = job
        self.assignment = assignment
        self.operator = job.operator
        self.source = job.candidate.source
        self.parameters = job.candidate.parameters()
        self.needs_launch = computes(job.operator)
        self.moves = moves(job.operator)
        self.reads = read_allowance(job.operator)
        self.started = time.monotonic()
        self.deadline = self.started + job.limits.candidate_seconds
        self.runner: Guest | None = None
        self.compiling = referee.compiling(assignment, lambda: referee.worker(job.limits))
        self.passed: dict[str, int] = {}
        self.dtypes: dict[str, set[str]] = {}  # of each argument, in the cases that passed
        self.launches = 0  # reruns included
        self.gate_launches = 0
        self.counters: list[dict[str, Any]] = []
        self.latest = Asked()
        self.reached = space.MIDDLE  # up to where the inputs of this guest's calls lay
        self.reply: dict[str, Any] = {}  # the guest's latest
        self.kernels_made = 0  # in calls that were rehearsed
        self.timed: list[CaseJudge] = []  # the gate's cases that passed
        self.isolation = ""
        self.guards = frozenset(job.guards)
        self.reruns: dict[str, dict[str, float]] = {}
        self.skipped: dict[str, int] = {}
        self.anew: dict[int, tuple[Any, ...]] = {}
        self.start_ms = 0.0  # fork, namespaces and loading of the candidate
        self.device_ms = 0.0  # start of a device process, where one was needed
        self.phases = Phases()
        self.waiting: Waiting | None = None  # of the call that is under way
        self.starved = False  # whether the latest call that was too late had too little of a processor

    def run(self) -> Verdict:
        """Judge case by case, stop at the first failure unless told to go on; then let the guards ask again."""
        failures: list[Verdict] = []
        others: list[Verdict] = []
        results: list[CaseResult] = []
        passed: list[CaseJudge] = []
        total = 0
        try:
            cases = self._cases()
            total = len(cases)
            for done, inputs in enumerate(cases, 1):
                began = time.monotonic()
                case = self.case(inputs)
                outcome = self.call(case, {"tape": self._about(inputs)} if self.assignment.tapes else {})
                if outcome.kind == "passed":
                    self.passed[inputs.case.dtype] = self.passed.get(inputs.case.dtype, 0) + 1
                    case.launches = outcome.launches
                    case.asked, case.reply = self.latest, self.reply
                    passed.append(case)
                    for argument, dtypes in argument_dtypes(inputs.args, inputs.kwargs).items():
                        self.dtypes.setdefault(argument, set()).update(dtypes)
                else:
                    outcome = self._examined(outcome, case)
                    failures.append(self._verdict(outcome, inputs.case))
                    results.append(self._result(outcome, inputs, time.monotonic() - began))
                if self.assignment.progress:
                    self.referee.answer(Answer(case=CaseDone(case=str(inputs.case), kind=outcome.kind)))
                if failures and (not self.job.report.keep_going or outcome.fatal or time.monotonic() > self.deadline):
                    if not outcome.fatal:
                        others = self._others(failures, cases[done:])
                    break
            self.gate_launches = self.launches
            if not failures and (found := self._guarded(passed)) is not None:
                outcome, inputs = found
                failures.append(self._verdict(outcome, inputs.case))
                results.append(self._result(outcome, inputs, 0.0))
            elif self.job.report.keep_going:
                others = different(failures, self.job.report.failures)
            self.timed = passed
        finally:
            self.close()
        if not total:
            return self._finish(Verdict(kind="untested", summary="no case was asked for"), total, ())
        if failures:
            first = failures[0].model_copy(update={"others": tuple(others)})
            return self._finish(first, total, tuple(results))
        return self._finish(Verdict(kind="passed", summary=f"all {total} cases passed"), total, ())

    def _others(self, failures: list[Verdict], rest: list[CaseInputs]) -> list[Verdict]:
        """Go on behind the first failure, for a bounded number of cases, and return failures of other kinds.

        What is found is for the report alone: it changes neither the verdict nor its counts.
        """
        wanted = self.job.report.failures
        found, counted = list(failures), (self.launches, list(self.counters))
        chosen = look_on(rest) if wanted > 1 and failures[0].kind not in ("timed_out", "untested") else []
        for inputs in chosen:
            if sorts(found) >= wanted or time.monotonic() > self.deadline:
                break
            outcome = self.call(self.case(inputs), {})
            if outcome.kind == "timed_out" or outcome.fatal:
                break
            if outcome.kind not in ("passed", "untested"):
                found.append(self._verdict(outcome, inputs.case))
            if sum(failure.kind == "crashed" for failure in found) > CRASHES:
                break
        self.launches, self.counters = counted
        return different(found, wanted)

    def _guarded(self, passed: list[CaseJudge]) -> tuple[Outcome, CaseInputs] | None:
        """Return what the guards that call again find first, with its case."""
        if not passed:
            return None
        # Errors and empty results need no kernel; a selection of such cases says nothing.
        if (
            "launches" in self.guards
            and self.needs_launch
            and not self.launches
            and any(not case.inputs.raises and not case.trivial() for case in passed)
        ):
            text = (
                "every case passed, but no kernel was launched: the result was not computed by the candidate's kernels"
            )
            return Outcome("cheated", text, guard="launches"), passed[0].inputs
        by_dtype: dict[str, list[CaseJudge]] = {}
        for case in passed:
            if not case.inputs.raises:
                by_dtype.setdefault(case.inputs.case.dtype, []).append(case)
        for kind in RERUNS:
            guard = kind()
            if guard.id not in self.guards or not guard.applies(self):
                continue
            rerun, began = Rerunner(self, [case for case in passed if case.inputs.raises]), time.monotonic()
            try:
                if (found := guard.find(rerun, by_dtype)) is not None:
                    outcome, case = found
                    return outcome.with_call(case), case.inputs
            finally:
                self.reruns[guard.id] = {"runs": rerun.runs, "seconds": round(time.monotonic() - began, 4)}
        return None

    def _examined(self, outcome: Outcome, case: CaseJudge) -> Outcome:
        """A crash with what a tool finds that runs the call's tape again, on targets whose hardware says too little."""
        name, _, device = self.job.target.name.partition(":")
        if outcome.kind != "crashed" or name != "cuda" or outcome.guard:
            return outcome
        with tempfile.TemporaryDirectory(dir=self.referee.scratch, prefix="crash-") as folder:
            before, self.assignment = self.assignment, self.assignment.model_copy(update={"tapes": folder})
            try:
                self.call(case, {"tape": self._about(case.inputs)})
                tape = Path(folder, tape_name(case.inputs.case))
                if not tape.exists():
                    return outcome
                pack(Path(folder), tape.read_bytes(), self.compiling.answer)
                found = examine(Path(folder), int(device or 0))
            finally:
                self.assignment = before
        return replace(outcome, log=f"{found}\n\n{outcome.log}".strip())

    def _result(self, outcome: Outcome, inputs: CaseInputs, seconds: float) -> CaseResult:
        return CaseResult(
            case=inputs.case,
            kind=outcome.kind,
            seconds=seconds,
            launches=outcome.launches,
            summary=tidy(outcome.summary[:500]),
            guard=outcome.guard,
            title=inputs.title,
        )

    def _finish(self, verdict: Verdict, total: int, failures: tuple[CaseResult, ...]) -> Verdict:
        instructions, threads = torch.backends.cpu.get_cpu_capability(), torch.get_num_threads()
        environment = self.assignment.environment.model_copy(
            update={
                "isolation": self.isolation,
                "references": {"instructions": instructions, "threads": threads},
                "launches": self.gate_launches,
                "argument_dtypes": {name: tuple(sorted(found)) for name, found in self.dtypes.items()},
                "skipped": self.skipped,
                "reruns": self.reruns,
                "phases": self.phases.seconds(),
                "start_ms": round(self.start_ms, 1),
                "device_ms": round(self.device_ms, 1),
            }
        )
        return verdict.model_copy(
            update={
                "cases_total": total,
                "cases_passed": sum(self.passed.values()),
                "passed_by_dtype": dict(self.passed),
                "failures": failures,
                "compiled": dict(self.compiling.counts),
                "resources": tuple(self.compiling.resources.values()),
                "profile": tuple(self.counters),
                "seconds": time.monotonic() - self.started,
                "environment": environment,
            }
        )

    def _verdict(self, outcome: Outcome, case: CaseId) -> Verdict:
        return Verdict(
            kind=outcome.kind,
            summary=tidy(outcome.summary),
            guard=outcome.guard,
            case=case,
            title=outcome.title,
            call=outcome.call,
            reference=tidy(outcome.reference),
            inputs=outcome.inputs,
            violations=outcome.violations,
            mismatch=outcome.mismatch,
            exception=tidy(outcome.exception),
            log=tidy(advised(explained(outcome.log, self.source)) if outcome.kind == "compile" else outcome.log),
            kernel=outcome.kernel,
            compiled_for=outcome.compiled_for,
        )

    def _cases(self) -> list[CaseInputs]:
        chosen: list[CaseInputs] = []
        for dtype in self.operator.dtypes:
            if dtype in self.job.cases:
                with self.phases("inputs"):
                    inputs = self.referee.inputs(self.operator.suite, self.operator.name, dtype, self.job.seed)
                chosen.extend(i for i in inputs if self.job.takes(dtype, i.case.index))
        return [inputs for inputs in chosen if self._takes(inputs)]

    def _takes(self, inputs: CaseInputs) -> bool:
        """Whether the wrapper has the parameter that the case is about; cases without are counted."""
        if not inputs.requires or inputs.requires in self.parameters or "**" in self.parameters:
            return True
        reason = f"the wrapper has no parameter {inputs.requires}"
        self.skipped[reason] = self.skipped.get(reason, 0) + 1
        return False

    # One case ------------------------------------------------------------------------------------------------

    def case(self, inputs: CaseInputs, expected: Expected | None = None) -> CaseJudge:
        """Prepare a case for the target's device."""
        count = not self.needs_launch or self.referee.moves
        return CaseJudge(
            with_plain_outs(inputs, {*self.operator.writes, *([inputs.requires] if inputs.requires else [])}),
            self.operator,
            self.referee.target.device,
            self._expected if expected is None else expected,
            self.guards,
            count,
            self._fresh_limits if expected is not None else self._limits,
        )

    def call(self, case: CaseJudge, mode: dict[str, Any]) -> Outcome:
        """Have a guest call the wrapper, and decide what came of it; what was lost is started anew the next time.

        Where the call has no result in time, and its processes waited for a processor, it is made once more.
        """
        self.waiting = None
        outcome = self._call(case, mode)
        if outcome.kind == "timed_out" and self.starved and time.monotonic() < self.deadline:
            outcome = self._call(case, mode)
        return outcome

    def _call(self, case: CaseJudge, mode: dict[str, Any]) -> Outcome:
        self.starved = False
        try:
            with self.phases("calls"):
                request, payloads = case.request(self.job.limits.case_seconds)
        except _codec.Unencodable as error:
            return Outcome("untested", f"case {case.inputs.case} cannot be sent to the device: {error}")
        seconds = min(self.job.limits.case_seconds, max(1.0, self.deadline - time.monotonic()))
        try:
            if self.runner is None:
                with self.phases("start"):
                    failed = self._start(seconds)
                if failed is not None:
                    return failed.with_call(case)
            mode = {**self._mode(case), **mode}
            with self.phases("calls"):
                outcome = self._exchange(case, mode, request, payloads, seconds)
        except DeviceLost as lost:
            outcome = self._device_lost(lost, seconds)
        return outcome.with_call(case)

    def _mode(self, case: CaseJudge) -> dict[str, Any]:
        """How the device process takes a call of this case."""
        by_sizes = self.moves and not (self.operator.indexed and len(case.tensors) > 1)
        in_order = "provenance" in self.guards and not case.copies_count
        if in_order and not by_sizes:
            with self.phases("references"):
                in_order = not self.operator.mutates and case.rearranges
        return {
            # An `out=` or in-place case is there to be written.
            "read_only": "mutation" in self.guards and not (self.operator.mutates or case.inputs.requires),
            "arguments": case.placed() if in_order else None,
            "results": case.result_sizes if in_order else [],
            "profile": self.job.report.profile,
            "read_bytes": self.reads.nbytes if "reads" in self.guards else 1 << 40,
            "read_inputs": self.reads.inputs or "reads" not in self.guards,
            "host_bytes": case.host_allowance() if "host-bytes" in self.guards else None,
            "uploaded_bytes": case.upload_allowance() if "host-bytes" in self.guards else None,
        }

    def _about(self, inputs: CaseInputs) -> dict[str, str]:
        """What a tape says of itself."""
        about = {"operator": self.operator.name, "case": str(inputs.case), "target": self.job.target.name}
        return {**about, "candidate": self.job.candidate.digest}

    def _exchange(
        self, case: CaseJudge, mode: dict[str, Any], request: dict[str, Any], payloads: Any, seconds: float
    ) -> Outcome:
        device, runner = self.referee.device, self.runner
        assert device is not None
        assert runner is not None
        _ = case.result_sizes  # computes the reference, which takes nothing of the candidate's time
        self.waiting = Waiting([*runner.pids, device.pid])
        deadline, before = time.monotonic() + seconds + GRACE_SECONDS, self.compiling.seconds
        request["bases"] = device.begin(mode, request["sizes"], payloads, deadline)
        self.reached = max([self.reached, *map(operator.add, request["bases"], request["sizes"])])
        reply: dict[str, Any] = {}
        outputs: list[dict[str, Any]] = []
        lost: Outcome | None = None
        try:
            # Nothing runs on the device before the wrapper has returned, but for those that read values.
            with beside_others(self.referee.lock if self.reads.nbytes else ""):
                deadline = time.monotonic() + seconds + GRACE_SECONDS
                runner.send(request, (), deadline)
                reply, _ = runner.receive(deadline, {device.fd: device.serve}, lambda: self.compiling.seconds - before)
            check_reply(reply)
            outputs = case.outputs(reply)
            check_inputs(reply, request)
        except (frames.Closed, frames.TooLarge, frames.DeadlineExceeded) as error:
            lost = self._lost(error, seconds, deadline + self.compiling.seconds - before)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            lost = Outcome("crashed", f"the guest's answer makes no sense: {error}")
        storages = reply.get("storages", []) if lost is None else []
        deadline += self.compiling.seconds - before  # the compiler has limits of its own
        asked = time.monotonic()
        with beside_others(self.referee.lock):
            deadline += time.monotonic() - asked  # that a clock had the device alone
            done, data = device.end(storages, outputs, deadline + (0.0 if lost is None else GRACE_SECONDS))
        self.phases.move(self.compiling.seconds - before, "compiler")
        if done["replace"]:
            self._drop()
        if done["tape"] and lost is None:
            data = self._keep_tape(case, data, done["tape"])
        self.launches += int(done["account"]["launches"])
        told = (*done["transcript"], ending(reply, done["names"]))
        answers = None if done["answers"] is None else tuple(done["answers"])
        self.latest = Asked(
            done["account"], tuple(done["counters"]), tuple(request["bases"]), told, answers, bool(done["timed"])
        )
        self.reply = reply
        self.counters += [{"case": str(case.inputs.case), **counted} for counted in done["counters"]]
        broken = (done["error"] or {}).get("kind") in ("rule", "fault", "time")
        if lost is not None and not broken:
            return lost
        failed = self.compiling.check(done["also"], done["kernels"])
        printed = runner.output + done["printed"]
        with self.phases("comparison"):
            return failed or case.decide(reply, done, data, printed)

    def rehearse(self, calls: Sequence[RehearsedCall]) -> tuple[list[tuple[str, ...]], Outcome | None]:
        """Call the wrapper for what it asks the device for; return the lines of that, and what went wrong then.

        For the wrapper these are calls like any other, but there are no inputs, and nothing runs.
        """
        seconds = self.job.limits.case_seconds
        try:
            if self.runner is None:
                with self.phases("start"):
                    failed = self._start(seconds)
                if failed is not None:
                    return [], failed
            device, runner = self.referee.device, self.runner
            assert device is not None
            assert runner is not None
            deadline, before = time.monotonic() + seconds + GRACE_SECONDS, self.compiling.seconds
            asked = [one.to_json() for one in calls]
            device.rehearse(asked, deadline)
            new = {one.number: one.request for one in calls if one.number not in runner.cases}
            runner.cases |= set(new)
            request = {"cases": new, "calls": [one.to_guest() for one in calls], "seconds": seconds}
            replies: list[dict[str, Any]] = []
            lost: Outcome | None = None
            try:
                runner.send(request, (), deadline)
                reply, _ = runner.receive(deadline, {device.fd: device.serve}, lambda: self.compiling.seconds - before)
                replies = check_replies(reply, asked)
            except (frames.Closed, frames.TooLarge, frames.DeadlineExceeded) as error:
                lost = self._lost(error, seconds, deadline + self.compiling.seconds - before)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                lost = Outcome("crashed", f"the guest's answer makes no sense: {error}")
            deadline += self.compiling.seconds - before + (0.0 if lost is None else GRACE_SECONDS)
            done = device.told([reply.get("storages", []) for reply in replies], deadline)
        except DeviceLost as lost_device:
            return [], self._device_lost(lost_device, seconds)
        self.kernels_made += int(done["kernels"])
        told = [
            call.wanted.told(one["transcript"], one["names"], call.plain(reply))
            for call, one, reply in zip(calls, done["calls"], replies, strict=False)
        ]
        if lost is None and done["error"] is not None:
            lost = cheated("stream", str(done["error"]["text"]))
        return told, lost

    def renew_guest(self) -> None:
        """Have the next call made in a guest that has only loaded the candidate."""
        runner, self.runner = self.runner, None
        self._close(runner)

    def host_seconds(self, case: CaseJudge) -> float:
        """Seconds of one call of the wrapper in its guest, without what the device did meanwhile, and nothing decided.

        Raises RuntimeError where the call fails.
        """
        request, payloads = case.request(self.job.limits.case_seconds)
        seconds = self.job.limits.case_seconds
        try:
            if self.runner is None and (failed := self._start(seconds)) is not None:
                raise RuntimeError(failed.summary)
            device, runner = self.referee.device, self.runner
            assert device is not None
            assert runner is not None
            deadline, before = time.monotonic() + seconds + GRACE_SECONDS, self.compiling.seconds
            request["bases"] = device.begin(self._mode(case), request["sizes"], payloads, deadline)
            began = time.perf_counter()
            runner.send(request, (), deadline)
            runner.receive(deadline, {device.fd: device.serve}, lambda: self.compiling.seconds - before)
            taken = time.perf_counter() - began - (self.compiling.seconds - before)
            with beside_others(self.referee.lock):
                done, _ = device.end([], [], time.monotonic() + seconds)
        except (DeviceLost, frames.Closed, frames.TooLarge, frames.DeadlineExceeded) as error:
            self._drop()
            raise RuntimeError(f"the wrapper does not return: {error}") from None
        if done["error"]:
            raise RuntimeError(str(done["error"]["short"]))
        return max(taken - float(done["waited"]), 1e-9)

    def _keep_tape(self, case: CaseJudge, data: memoryview, size: int) -> memoryview:
        """Write the tape that comes after the results; return the results."""
        with open(os.path.join(self.assignment.tapes or "", tape_name(case.inputs.case)), "wb") as file:
            file.write(data[len(data) - size :])
        return data[: len(data) - size]

    def _start(self, seconds: float) -> Outcome | None:
        """Start a guest, and a device process where there is none."""
        job, referee, began = self.job, self.referee, time.monotonic()
        if referee.device is None:
            referee.device = Device(referee.devices, self.compiling.answer)
            self.device_ms = (time.monotonic() - began) * 1e3
            began = time.monotonic()
        referee.device.compile = self.compiling.answer
        stream = referee.device.next_guest(self.source, job.limits.memory_mb << 20)
        deadline = time.monotonic() + seconds + GRACE_SECONDS
        try:
            self.runner = referee.worker(job.limits, stream)
        finally:
            stream.close()
        self.isolation, self.reached = self.runner.isolation, space.MIDDLE
        try:
            self.runner.send({"source": self.source, "compile_for": job.compile_for}, (), deadline)
            reply, _ = self.runner.receive(deadline, {referee.device.fd: referee.device.serve})
            check_reply(reply)
        except (frames.Closed, frames.TooLarge, frames.DeadlineExceeded) as error:
            return self._lost(error, seconds, deadline)
        self.start_ms = (time.monotonic() - began) * 1e3
        if "error" not in reply:
            return None
        self._close(self.runner)
        self.runner = None
        text = str(reply["error"])
        return Outcome("raised", f"the module cannot be loaded: {raised_line(text)}", exception=text, fatal=True)

    def _lost(self, error: Exception, seconds: float, deadline: float) -> Outcome:
        """The guest gave no answer: it hangs, is dead, or talks nonsense."""
        guest, self.runner = self.runner, None
        assert guest is not None
        try:
            # Python can crash over printing where a running program is: that end, too, is one of the time limit.
            if isinstance(error, frames.DeadlineExceeded) or time.monotonic() >= deadline - GRACE_SECONDS:
                self.starved = self.waiting is not None and self.waiting.starved(seconds)
                guest.kill()
                text = f"no result after {seconds:g} s"
                return Outcome("timed_out", text, log=guest.output)
            if isinstance(error, frames.TooLarge):
                return Outcome("crashed", f"the process broke the protocol: {error}", log=guest.output)
            return ended(guest)
        finally:
            self._close(guest)

    def _device_lost(self, lost: DeviceLost, seconds: float) -> Outcome:
        """The device process gave no answer: a kernel does not end, or has broken it."""
        device = self.referee.device
        if not lost.hangs and device is not None and memory_kills() > device.memory_kills:
            self._drop()
            raise DeviceFault(OUT_OF_MEMORY)
        output = self.runner.output if self.runner is not None else ""
        starved = self.waiting is not None and self.waiting.starved(seconds)
        self._drop()
        if lost.hangs:
            self.starved = starved
            return Outcome("timed_out", f"no result after {seconds:g} s: the device is still at work", log=output)
        return Outcome("crashed", f"{lost} while it worked for this candidate", log=output)

    def _drop(self) -> None:
        """Give up guest and device process; neither is of use without the other."""
        runner, self.runner = self.runner, None
        self._close(runner)
        self.referee.lose_device()

    def close(self) -> None:
        """End guest and compiler; both start again where they are needed."""
        self.renew_guest()
        self.compiling.close()

    def _close(self, guest: Guest | None) -> None:
        if guest is not None:
            guest.__exit__()

    def expect_anew(self, inputs: CaseInputs) -> tuple[Any, Any, Any]:
        """Return reference output and the arguments after the call of inputs that belong to no suite."""
        key = id(inputs)
        if key not in self.anew:
            args, kwargs = _codec.clone_tree([tuple(inputs.args), dict(inputs.kwargs)])
            with self.phases("references"), torch.no_grad():
                self.anew[key] = (inputs, inputs.reference(*args, **kwargs), args, kwargs)
        return self.anew[key][1:]

    def _expected(self, inputs: CaseInputs) -> tuple[Any, Any, Any]:
        """Return reference output and the arguments after the call, computed once per case."""
        key = (self.operator.suite, inputs.case)
        if key not in self.referee.expected:
            args, kwargs = _codec.clone_tree([tuple(inputs.args), dict(inputs.kwargs)])
            with self.phases("references"), torch.no_grad():
                output = inputs.reference(*args, **kwargs)
            self.referee.expected[key] = (output, args, kwargs)
        return self.referee.expected[key]

    def _limits(self, inputs: CaseInputs) -> Limits:
        """Return what the results of a case may be, computed once per case."""
        key = (self.operator.suite, inputs.case)
        if key not in self.referee.limits:
            expected = self._expected(inputs)
            with self.phases("limits"):
                self.referee.limits[key] = limits_of(inputs, expected, self.referee.arithmetic)
        return self.referee.limits[key]

    def _fresh_limits(self, inputs: CaseInputs) -> Limits:
        """Return what the results of inputs that belong to no suite may be."""
        expected = self.expect_anew(inputs)
        with self.phases("limits"):
            return limits_of(inputs, expected, self.referee.arithmetic)


def ended(guest: Guest) -> Outcome:
    """Return the outcome of a guest that has ended by itself; touching device memory has a verdict of its own."""
    text, output = describe_end(guest.wait()), guest.output
    touched = TOUCHED.search(output)
    if touched is None:
        return Outcome("crashed", text, log=output)
    words = (
        f"the host touched device memory at {touched.group(1)}: a wrapper has handles only, and data is reached by "
        "kernels alone"
    )
    return Outcome("crashed", words, log=output, guard="wall")
