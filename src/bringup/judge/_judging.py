"""One candidate against the cases of one operator, and the guards behind them: what is asked, and what is decided."""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from bringup.accuracy import Limits
from bringup.judge import _codec
from bringup.judge._case import CaseJudge, tape_name
from bringup.judge._case_limits import limits_of
from bringup.judge._comparison import Expected
from bringup.judge._compile_log import explained
from bringup.judge._device_modes import device_modes
from bringup.judge._exchange import Exchange
from bringup.judge._keeping import stays_in_place, who_decides
from bringup.judge._others import CRASHES, different, look_on, sorts
from bringup.judge._outcome import Outcome
from bringup.judge._plain_outs import with_plain_outs
from bringup.judge._player import pack
from bringup.judge._sanitizing import examine
from bringup.judge._tidy import tidy
from bringup.judge._wire import Answer, Assignment, CaseDone
from bringup.judge.faults import advised
from bringup.judge.guards import RERUNS
from bringup.judge.guards._rerun import Rerunner
from bringup.judge.job import JudgeJob
from bringup.judge.readings import Readings
from bringup.linter import computes, moves, read_allowance
from bringup.suites import CaseInputs, argument_dtypes
from bringup.verdict import NO_CASE, CaseId, CaseResult, Verdict

if TYPE_CHECKING:
    from bringup.judge._referee import Referee

_HELD = ("ONEDNN_MAX_CPU_ISA", "MKL_ENABLE_INSTRUCTIONS")  # libraries that PyTorch's own variable does not hold


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
        self.readings = Readings()
        self.exchange = Exchange(referee, job, assignment, self._mode)
        self.phases, self.deadline = self.exchange.phases, self.exchange.deadline
        self.passed: dict[str, int] = {}
        self.dtypes: dict[str, set[str]] = {}  # of each argument, in the cases that passed
        self.gate_launches = 0
        self.gate_counters: tuple[dict[str, Any], ...] = ()  # of each launch; guards' reruns are no part of it
        self.timed: list[CaseJudge] = []  # the gate's cases that passed
        self.guards = frozenset(job.guards)
        self.reruns: dict[str, dict[str, float]] = {}
        self.skipped: dict[str, int] = {}
        self.anew: dict[int, tuple[Any, ...]] = {}
        self.excused = 0  # calls of guards, of sizes that nobody asks for, that wanted too much time or memory

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
                outcome = self.exchange.call(
                    case, {"tape": self._about(inputs), "timed": True} if self.assignment.tapes else {}
                )
                if outcome.kind == "passed":
                    self.passed[inputs.case.dtype] = self.passed.get(inputs.case.dtype, 0) + 1
                    case.launches = outcome.launches
                    case.asked, case.reply = self.exchange.latest, self.exchange.reply
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
            self.gate_launches, self.gate_counters = self.exchange.launches, tuple(self.exchange.counters)
            if not failures and (found := self._guarded(passed)) is not None:
                outcome, inputs = found
                failures.append(self._verdict(outcome, inputs.case))
                results.append(self._result(outcome, inputs, 0.0))
            elif self.job.report.keep_going:
                others = different(failures, self.job.report.failures)
            self.timed = passed
        finally:
            self.exchange.close()
        if not total:
            return self._finish(Verdict(kind="untested", summary=NO_CASE), total, ())
        if failures:
            first = failures[0].model_copy(update={"others": tuple(others)})
            return self._finish(first, total, tuple(results))
        return self._finish(Verdict(kind="passed", summary=f"all {total} cases passed"), total, ())

    def _others(self, failures: list[Verdict], rest: list[CaseInputs]) -> list[Verdict]:
        """Go on behind the first failure, for a bounded number of cases, and return failures of other kinds.

        What is found is for the report alone: it changes neither the verdict nor its counts.
        """
        wanted = self.job.report.failures
        found, counted = list(failures), (self.exchange.launches, list(self.exchange.counters))
        chosen = look_on(rest) if wanted > 1 and failures[0].kind not in ("timed_out", "untested") else []
        for inputs in chosen:
            if sorts(found) >= wanted or time.monotonic() > self.deadline:
                break
            outcome = self.exchange.call(self.case(inputs), {})
            if outcome.kind == "timed_out" or outcome.fatal:
                break
            if outcome.kind not in ("passed", "untested"):
                found.append(self._verdict(outcome, inputs.case))
            if sum(failure.kind == "crashed" for failure in found) > CRASHES:
                break
        self.exchange.launches, self.exchange.counters = counted
        return different(found, wanted)

    def _guarded(self, passed: list[CaseJudge]) -> tuple[Outcome, CaseInputs] | None:
        """Return what the guards that call again find first, with its case."""
        if not passed:
            return None
        # Errors and empty results need no kernel; a selection of such cases says nothing.
        if (
            "launches" in self.guards
            and self.needs_launch
            and not self.referee.moves  # there, what copies have made counts
            and not self.exchange.launches
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
            refused, began = [case for case in passed if case.inputs.raises], time.monotonic()
            rerun = Rerunner(self, guard.id, refused)
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
            before, self.exchange.tapes = self.exchange.tapes, folder
            try:
                self.exchange.call(case, {"tape": self._about(case.inputs)})
                tape = Path(folder, tape_name(case.inputs.case))
                if not tape.exists():
                    return outcome
                pack(Path(folder), tape.read_bytes(), self.exchange.compiling.answer)
                found = examine(Path(folder), int(device or 0))
            finally:
                self.exchange.tapes = before
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
        references = {
            "instructions": torch.backends.cpu.get_cpu_capability(),
            "threads": torch.get_num_threads(),
            **{name: os.environ[name] for name in _HELD if name in os.environ},
        }
        environment = self.assignment.environment.model_copy(
            update={
                "isolation": self.exchange.isolation,
                "references": references,
                "launches": self.gate_launches,
                "argument_dtypes": {name: tuple(sorted(found)) for name, found in self.dtypes.items()},
                "skipped": self.skipped,
                "reruns": self.reruns,
                "phases": self.phases.seconds(),
                "start_ms": round(self.exchange.start_ms, 1),
                "device_ms": round(self.exchange.device_ms, 1),
            }
        )
        return verdict.model_copy(
            update={
                "cases_total": total,
                "cases_passed": sum(self.passed.values()),
                "passed_by_dtype": dict(self.passed),
                "failures": failures,
                "compiled": dict(self.exchange.compiling.counts),
                "resources": tuple(self.exchange.compiling.resources.values()),
                "profile": self.gate_counters,
                "seconds": time.monotonic() - self.exchange.started,
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

    def case(self, inputs: CaseInputs, expected: Expected | None = None) -> CaseJudge:
        """Prepare a case for the target's device."""
        count = not self.needs_launch or self.referee.moves
        made = CaseJudge(
            with_plain_outs(inputs, {*self.operator.writes, *([inputs.requires] if inputs.requires else [])}),
            self.operator,
            self.referee.target.device,
            self._expected if expected is None else expected,
            self.guards,
            count,
            self._fresh_limits if expected is not None else self._limits,
        )
        made.readings = self.readings
        return made

    def _mode(self, case: CaseJudge) -> dict[str, Any]:
        """How the device process takes a call of this case."""
        by_sizes = self.moves and not (self.operator.indexed and len(case.tensors) > 1)
        in_order = "provenance" in self.guards and not case.copies_count
        if in_order and not by_sizes:
            with self.phases("references"):
                in_order = case.rearranges
        case.in_order = in_order
        with self.phases("references"):
            whole = "provenance" in self.guards and not case.copies_count
            writable = case.writable if "mutation" in self.guards else None
            allowance = case.allowance()
        return {
            **dict.fromkeys(device_modes(), True),
            "writable": writable,
            "arguments": case.placed() if in_order else None,
            "elements": case.elements() if whole else None,
            "decides": who_decides(case.keeps, empty=case.empty),
            "sought": case.sought(),
            "choosing": case.choosing(),
            "operands": case.operands(),
            "kept": case.operands()[:1] if stays_in_place(case.keeps) else [],
            "readable": case.readable,
            "results": case.result_sizes if in_order else [],
            "profile": self.job.report.profile,
            "seed": case.seed,
            "read_bytes": self.reads.nbytes if "reads" in self.guards else 1 << 40,
            "read_inputs": self.reads.inputs or "reads" not in self.guards,
            "host_bytes": allowance.host_bytes if "host-bytes" in self.guards else None,
            "uploaded_bytes": allowance.uploaded_bytes if "host-bytes" in self.guards else None,
        }

    def _about(self, inputs: CaseInputs) -> dict[str, str]:
        """What a tape says of itself."""
        about = {"operator": self.operator.name, "case": str(inputs.case), "target": self.job.target.name}
        return {**about, "candidate": self.job.candidate.digest}

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
