"""The judge's own process: rebuilds cases, computes references, sends inputs to the worker, compares, decides.

No candidate code runs here. Workers are forked by spawners that have never seen a reference.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import tempfile
import time
import traceback
import warnings
from collections import OrderedDict
from dataclasses import replace
from typing import Any

import torch

from bringup.judge import _codec, _wire
from bringup.judge._case import CaseJudge, Outcome, cheated
from bringup.judge._guest import Guest, describe_end
from bringup.judge._reply import check_log, check_reply
from bringup.judge._tidy import tidy
from bringup.judge.guards import RERUNS, spread
from bringup.judge.guards._rerun import Rerunner
from bringup.operators import Operator
from bringup.suites import CaseInputs, get_suite
from bringup.verdict import CaseId, CaseResult, Verdict

KEPT_OPERATORS = 8  # operators whose inputs and references stay in memory
GRACE_SECONDS = 0.5  # between a call's time limit, when the worker prints where it is, and its end


class Referee:
    """Serves judge jobs, one at a time, until the main process closes the socket."""

    def __init__(self, main: socket.socket, runs: socket.socket, compiles: socket.socket) -> None:
        """Take the sockets to the main process and to the two spawners."""
        self.main, self.runs, self.compiles = main, runs, compiles
        self.cases: OrderedDict[tuple[str, str, str, int], list[CaseInputs]] = OrderedDict()
        self.expected: dict[tuple[str, CaseId], tuple[Any, Any, Any]] = {}
        self.compiled: dict[str, str | None] = {}
        self.scratch = tempfile.mkdtemp(prefix="judge-")

    def serve(self) -> None:
        """Answer each job with a verdict."""
        # Forking is the spawners' work, so threads are harmless here; but jobs share the machine.
        torch.set_num_threads(1)
        warnings.simplefilter("ignore")  # of references: deprecations, degrees of freedom
        _wire.send(self.main, {"ready": True, "pid": os.getpid()})
        try:
            while True:
                try:
                    job, _ = _wire.receive(self.main)
                except _wire.Closed:
                    return
                try:
                    verdict = JudgeJob(self, job).run()
                    _wire.send(self.main, {"verdict": verdict.model_dump(mode="json")})
                except _wire.Closed:
                    return
                except Exception:
                    # Not the candidate's fault: the main process reports it as an internal error.
                    _wire.send(self.main, {"internal": traceback.format_exc()})
        finally:
            shutil.rmtree(self.scratch, ignore_errors=True)

    def inputs(self, suite: str, operator: str, dtype: str, seed: int) -> list[CaseInputs]:
        """Return the cases of one operator and dtype, rebuilt or from memory."""
        key = (suite, operator, dtype, seed)
        if key not in self.cases:
            self.cases[key] = list(get_suite(suite).materialise(operator, dtype, seed))
            while len({k[1] for k in self.cases}) > KEPT_OPERATORS:
                old, inputs = self.cases.popitem(last=False)
                for item in inputs:
                    self.expected.pop((old[0], item.case), None)
        self.cases.move_to_end(key)
        return self.cases[key]


class JudgeJob:
    """One candidate against the cases of one operator."""

    def __init__(self, referee: Referee, job: dict[str, Any]) -> None:
        """Unpack the job: candidate source, operator, target, dtypes, seed, limits."""
        self.referee = referee
        self.job = job
        self.operator = Operator.model_validate(job["operator"])
        self.started = time.monotonic()
        self.deadline = self.started + job["candidate_seconds"]
        self.limits = {"memory_mb": job["memory_mb"], "processes": job["processes"]}
        self.runner: Guest | None = None
        self.compiler: Guest | None = None
        self.compiled: dict[str, int] = {}
        self.passed: dict[str, int] = {}
        self.launches = 0  # reruns included
        self.gate_launches = 0
        self.counters: list[dict[str, Any]] = []
        self.isolation = ""
        self.guards = frozenset(job["guards"])
        self.reruns: dict[str, dict[str, float]] = {}
        self.skipped: dict[str, int] = {}
        self.anew: dict[int, tuple[Any, ...]] = {}
        self.start_ms = 0.0  # fork, namespaces and loading of the candidate

    def run(self) -> Verdict:
        """Judge case by case, stop at the first failure unless told to go on; then let the guards ask again."""
        failures: list[Verdict] = []
        results: list[CaseResult] = []
        passed: list[CaseJudge] = []
        total = 0
        try:
            cases = self._cases()
            total = len(cases)
            for inputs in cases:
                began = time.monotonic()
                case = self.case(inputs)
                outcome = self.call(case, {})
                if outcome.kind == "passed":
                    self.passed[inputs.case.dtype] = self.passed.get(inputs.case.dtype, 0) + 1
                    case.launches = outcome.launches
                    passed.append(case)
                else:
                    failures.append(self._verdict(outcome, inputs.case))
                    results.append(self._result(outcome, inputs, time.monotonic() - began))
                if self.job["progress"]:
                    _wire.send(self.referee.main, {"case": str(inputs.case), "kind": outcome.kind})
                if failures and (not self.job["keep_going"] or outcome.fatal or time.monotonic() > self.deadline):
                    break
            self.gate_launches = self.launches
            if not failures and (found := self._guarded(passed)) is not None:
                outcome, inputs = found
                failures.append(self._verdict(outcome, inputs.case))
                results.append(self._result(outcome, inputs, 0.0))
        finally:
            self._close(self.runner)
            self._close(self.compiler)
        if not total:
            return self._finish(Verdict(kind="untested", summary="no case was asked for"), total, ())
        if failures:
            return self._finish(failures[0], total, tuple(results))
        return self._finish(Verdict(kind="passed", summary=f"all {total} cases passed"), total, ())

    def _guarded(self, passed: list[CaseJudge]) -> tuple[Outcome, CaseInputs] | None:
        """Return what the guards that call again find first, with its case."""
        if not passed:
            return None
        # Errors and empty results need no kernel; a selection of such cases says nothing.
        if (
            "launches" in self.guards
            and self.job["needs_launch"]
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
            if guard.id not in self.guards or not guard.applies(self.job):
                continue
            rerun, began = Rerunner(self), time.monotonic()
            try:
                for cases in by_dtype.values():
                    for case in spread(cases, guard.per_dtype):
                        outcome = guard.check(rerun, case)
                        if outcome is not None:
                            return outcome.with_call(case), case.inputs
            finally:
                self.reruns[guard.id] = {"runs": rerun.runs, "seconds": round(time.monotonic() - began, 4)}
        return None

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
        environment = dict(self.job["environment"], isolation=self.isolation, launches=self.gate_launches)
        environment["start_ms"] = round(self.start_ms, 1)
        environment["reruns"] = self.reruns
        if self.skipped:
            environment["skipped"] = dict(self.skipped)
        return verdict.model_copy(
            update={
                "cases_total": total,
                "cases_passed": sum(self.passed.values()),
                "passed_by_dtype": dict(self.passed),
                "failures": failures,
                "compiled": dict(self.compiled),
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
            call=outcome.call,
            inputs=outcome.inputs,
            violations=outcome.violations,
            mismatch=outcome.mismatch,
            exception=tidy(outcome.exception),
            log=tidy(outcome.log),
            kernel=outcome.kernel,
            compiled_for=outcome.compiled_for,
        )

    def _cases(self) -> list[CaseInputs]:
        chosen: list[CaseInputs] = []
        wanted = self.job["cases"]
        for dtype in self.operator.dtypes:
            if dtype not in self.job["dtypes"]:
                continue
            inputs = self.referee.inputs(self.operator.suite, self.operator.name, dtype, self.job["seed"])
            chosen.extend(i for i in inputs if not wanted or i.case.index in wanted)
        return [inputs for inputs in chosen if self._takes(inputs)]

    def _takes(self, inputs: CaseInputs) -> bool:
        """Whether the wrapper has the parameter that the case is about; cases without are counted."""
        if not inputs.requires or inputs.requires in self.job["parameters"] or "**" in self.job["parameters"]:
            return True
        reason = f"the wrapper has no parameter {inputs.requires}"
        self.skipped[reason] = self.skipped.get(reason, 0) + 1
        return False

    # One case ------------------------------------------------------------------------------------------------

    def case(self, inputs: CaseInputs) -> CaseJudge:
        """Prepare a case for the target's device."""
        return CaseJudge(inputs, self.operator, self.job["device"], self._expected, self.guards)

    def call(self, case: CaseJudge, mode: dict[str, Any]) -> Outcome:
        """Have the worker call the wrapper, and decide what its answer is worth; a lost worker is started anew."""
        try:
            # An `out=` or in-place case is there to be written.
            read_only = "mutation" in self.guards and not (self.operator.mutates or case.inputs.requires)
            request, payloads = case.request(self.job["case_seconds"], {**mode, "read_only": read_only})
        except _codec.Unencodable as error:
            return Outcome("untested", f"case {case.inputs.case} cannot be sent to the device: {error}")
        seconds = min(self.job["case_seconds"], max(1.0, self.deadline - time.monotonic()))
        deadline = time.monotonic() + seconds + GRACE_SECONDS
        try:
            if self.runner is None:
                failed = self._start_runner(deadline)
                if failed is not None:
                    return failed.with_call(case)
                deadline = time.monotonic() + seconds + GRACE_SECONDS
            assert self.runner is not None
            self.runner.send(request, payloads, deadline)
            reply, data = self.runner.receive(deadline)
            check_reply(reply, len(data))
        except (_wire.Closed, _wire.TooLarge, _wire.DeadlineExceeded) as error:
            return self._lost(error, seconds, deadline).with_call(case)
        self.launches += int(reply.get("launches", 0))
        self.counters += [{"case": str(case.inputs.case), **counted} for counted in reply.get("counters", [])]
        outcome = self._compile(reply.get("specialisations", []))
        return (outcome or case.decide(reply, data, self.runner.output)).with_call(case)

    def _start_runner(self, deadline: float) -> Outcome | None:
        job, began = self.job, time.monotonic()
        limits = {**self.limits, "address_space": job["limits_address_space"]}
        self.runner = Guest(self.referee.runs, limits, job["output_kb"], self.referee.scratch)
        self.isolation = self.runner.isolation
        request = {key: job[key] for key in ("source", "target", "compile_for", "guards", "profile")}
        self.runner.send({**request, "facts": {"reads_values": job["reads_values"]}}, (), deadline)
        reply, data = self.runner.receive(deadline)
        check_reply(reply, len(data))
        self.start_ms = (time.monotonic() - began) * 1e3
        if "error" not in reply:
            return replace(cheated(reply["found"]), fatal=True) if reply.get("found") else None
        self._close(self.runner)
        self.runner = None
        text = str(reply["error"])
        return Outcome("raised", f"the module cannot be loaded: {_last_line(text)}", exception=text, fatal=True)

    def _lost(self, error: Exception, seconds: float, deadline: float) -> Outcome:
        """The worker gave no answer: it hangs, is dead, or talks nonsense."""
        guest, self.runner = self.runner, None
        assert guest is not None
        try:
            # Python can crash over printing where a running program is: that end, too, is one of the time limit.
            if isinstance(error, _wire.DeadlineExceeded) or time.monotonic() >= deadline - GRACE_SECONDS:
                guest.kill()
                text = f"no result after {seconds:g} s"
                return Outcome("timed_out", text, log=guest.output)
            if isinstance(error, _wire.TooLarge):
                return Outcome("crashed", f"the process broke the protocol: {error}", log=guest.output)
            text = describe_end(guest.wait())
            return Outcome("crashed", text, log=guest.output)
        finally:
            self._close(guest)

    def _close(self, guest: Guest | None) -> None:
        if guest is not None:
            guest.__exit__()

    def expect_anew(self, inputs: CaseInputs) -> tuple[Any, Any, Any]:
        """Return reference output and the arguments after the call of inputs that belong to no suite."""
        key = id(inputs)
        if key not in self.anew:
            args, kwargs = _codec.clone_tree([tuple(inputs.args), dict(inputs.kwargs)])
            with torch.no_grad():
                self.anew[key] = (inputs, inputs.reference(*args, **kwargs), args, kwargs)
        return self.anew[key][1:]

    def _expected(self, inputs: CaseInputs) -> tuple[Any, Any, Any]:
        """Return reference output and the arguments after the call, computed once per case."""
        key = (self.operator.suite, inputs.case)
        if key not in self.referee.expected:
            args, kwargs = _codec.clone_tree([tuple(inputs.args), dict(inputs.kwargs)])
            with torch.no_grad():
                output = inputs.reference(*args, **kwargs)
            self.referee.expected[key] = (output, args, kwargs)
        return self.referee.expected[key]

    # The real compiler -----------------------------------------------------------------------------------------

    def _compile(self, entries: list[dict[str, Any]]) -> Outcome | None:
        for entry in entries:
            key = self.job["kernels_digest"] + json.dumps(entry, sort_keys=True)
            if key not in self.referee.compiled:
                self.referee.compiled[key] = self._compile_one(entry)
            log = self.referee.compiled[key]
            if log is not None:
                name, target = entry["kernel"], entry["target"]
                summary = f"kernel {name} does not compile for {target}: {_last_line(log)}"
                return Outcome("compile", summary, log=log, kernel=name, compiled_for=target)
            self.compiled[entry["target"]] = self.compiled.get(entry["target"], 0) + 1
        return None

    def _compile_one(self, entry: dict[str, Any]) -> str | None:
        seconds = self.job["compile_seconds"]
        deadline = time.monotonic() + seconds
        try:
            if self.compiler is None:
                self.compiler = Guest(self.referee.compiles, self.limits, self.job["output_kb"], self.referee.scratch)
                self.compiler.send({"source": self.job["source"]}, (), deadline)
            before = len(self.compiler.output)
            self.compiler.send(entry, (), deadline)
            reply, _ = self.compiler.receive(deadline)
            log = check_log(reply)
            printed = self.compiler.output[before:].strip()
            return None if log is None else f"{printed}\n{log}".strip()
        except _wire.DeadlineExceeded:
            log = f"the compiler did not finish within {seconds:g} s"
        except (_wire.Closed, _wire.TooLarge):
            assert self.compiler is not None
            log = f"the compiler crashed: {describe_end(self.compiler.wait())}\n{self.compiler.output}"
        self._close(self.compiler)
        self.compiler = None
        return log


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""
