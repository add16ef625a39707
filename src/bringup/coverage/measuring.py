"""Measuring operators in processes of their own: a crash or a hang of one case is its result, not the end."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import select
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bringup.coverage.records import FORMS, Failure, Form, Kind, OperatorResult, Tally, chosen_failures
from bringup.errors import BringupError, EnvironmentFault

START_SECONDS = 300.0  # for importing torch and OpInfo, on a busy machine
DEATHS = 5  # cases of one operator that kill or stall the process, before the others are given up


class CoverageError(BringupError):
    """Kernels that cannot be put behind the device."""


class CoverageFault(EnvironmentFault):
    """The process that measures does not start, or the device is not there."""


@dataclass(frozen=True)
class Setting:
    """What is measured."""

    target: str
    library: Path | None
    enable: str = ""
    unjudged: bool = False
    gradients: bool = False
    seconds: float = 120.0
    """How long one case may take."""


class Died(Exception):
    """The worker ended, or was ended because it took too long."""

    def __init__(self, kind: Kind, message: str) -> None:
        super().__init__(message)
        self.kind: Kind = kind
        self.message = message


class Stopped(Exception):
    """Nobody waits for an answer any more."""


class Process:
    """A worker, started when it is first asked."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self._child: subprocess.Popen[bytes] | None = None
        self._reading = -1
        self._buffer = b""
        self._log: Any = None
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._stopped = False

    def ask(self, request: dict[str, Any]) -> None:
        """Send a request. Raises CoverageError and CoverageFault where no worker can be had, Died, Stopped."""
        if self._stopped:
            raise Stopped
        if self._child is None:
            self._start()
        self._send(request)

    def _send(self, words: dict[str, Any]) -> None:
        assert self._child is not None
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(json.dumps(words).encode() + b"\n")
            self._child.stdin.flush()
        except BrokenPipeError:
            raise self._death() from None

    def _start(self) -> None:
        reading, writing = os.pipe()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        # ours, since a worker that is killed removes nothing
        self._scratch = tempfile.TemporaryDirectory(prefix="bringup-coverage-", ignore_cleanup_errors=True)
        environment = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "PYTHONFAULTHANDLER": "1"}
        environment.setdefault("OMP_NUM_THREADS", "1")
        # What `--enable` names may lie where the command was called, as with `python -m`.
        paths = [os.getcwd(), environment.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
        try:
            self._child = subprocess.Popen(
                [sys.executable, "-m", "bringup.coverage._worker", str(writing), self._scratch.name],
                stdin=subprocess.PIPE, stdout=self._log, stderr=self._log, pass_fds=[writing], env=environment,
                start_new_session=True,
            )  # fmt: skip
        finally:
            os.close(writing)
        self._reading, self._buffer = reading, b""
        setting = self.setting
        try:
            self._send({
                "target": setting.target, "library": str(setting.library) if setting.library else "",
                "enable": setting.enable, "unjudged": setting.unjudged, "gradients": setting.gradients,
            })  # fmt: skip
            answer = self.answer(START_SECONDS)
        except Died as death:
            raise CoverageFault(f"the process that measures does not start: {death.message}") from None
        if "refused" in answer:
            self.end()
            kind = CoverageFault if answer["code"] == CoverageFault.exit_code else CoverageError
            raise kind(str(answer["refused"]).strip())

    def answer(self, seconds: float) -> dict[str, Any]:
        """Return the next thing that the worker says; raises Died when it ends or is silent for too long."""
        deadline = time.monotonic() + seconds
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._reading], [], [], left)[0]:
                self.end()
                raise Died("timed_out", f"no end within {seconds:g} s")
            piece = os.read(self._reading, 1 << 16)
            if not piece:
                raise self._death()
            self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        return found

    def _death(self) -> Died:
        assert self._child is not None
        code = self._child.wait()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        said = self._said()
        self.end()
        return Died("crashed", f"the process ended with {how}{f': {said}' if said else ''}")

    def _said(self) -> str:
        """The line of the worker's output that names the error: the last one, or the fault handler's first."""
        self._log.seek(0)
        lines = [line.strip() for line in self._log.read().decode(errors="replace").splitlines() if line.strip()]
        fatal = [line for line in lines if line.startswith("Fatal Python error")]
        last: str = (fatal or lines or [""])[-1]
        return last[:200]

    def stop(self) -> None:
        """Kill the worker, from another thread than the one that asks it; no further one is started."""
        self._stopped = True
        child = self._child
        if child is not None and child.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, 9)

    def end(self) -> None:
        """End the worker and what it has started; the next request starts another one."""
        child, self._child = self._child, None
        if child is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, 9)
        child.wait()
        if child.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                child.stdin.close()
        os.close(self._reading)
        self._log.close()
        if self._scratch is not None:
            self._scratch.cleanup()


@dataclass
class Tallying:
    """What is known of one operator so far."""

    operator: str
    kinds: dict[str, tuple[Any, str]] = field(default_factory=dict)
    """By case, as JSON: (kind, message); `none` for what was no case."""
    lacks: dict[str, str] = field(default_factory=dict)
    needs: dict[str, set[str]] = field(default_factory=dict)
    forward: set[str] = field(default_factory=set)
    """Of the missing overloads, those that another form than a gradient calls."""
    kernels: Counter[str] = field(default_factory=Counter)
    composed: Counter[str] = field(default_factory=Counter)
    several: bool = False
    observes: bool = True

    def note(self, answer: dict[str, Any]) -> None:
        """Note how a case ended."""
        case = json.dumps(answer["end"])
        self.kinds[case] = answer["kind"], answer["message"]
        if answer["kind"] == "missing":
            self.lacks[case] = answer["lacks"]
        if builtins := answer.get("builtins"):
            self.lacking(answer["end"], {name: [name] for name in builtins})
        kernels, composed = Counter(answer.get("kernels", {})), Counter(answer.get("composed", {}))
        self.kernels += kernels
        self.composed += composed
        if answer["end"][2] != "gradient":
            self.several = self.several or kernels.total() > 1 or bool(composed)

    def lacking(self, case: Sequence[Any], found: Mapping[str, Sequence[str]]) -> None:
        """Note all that a case lacks: the overloads that it calls, each with what its decomposition lacks."""
        for name, parts in found.items():
            self.needs.setdefault(name, set()).update(parts)
        if case[2] != "gradient":
            self.forward.update(found)

    def result(self, seconds: float) -> OperatorResult:
        """Return what came of the operator."""
        forms: dict[Form, Tally] = {}
        failures: list[Failure] = []
        failed: Counter[Kind] = Counter()
        for form in FORMS:
            cases = [(json.loads(case), *told) for case, told in self.kinds.items() if told[0] != "none"]
            cases = [one for one in cases if one[0][2] == form]
            if cases:
                kinds = Counter(kind for _, kind, _ in cases)
                forms[form] = Tally(passed=kinds.pop("passed", 0), total=len(cases), failed=dict(kinds))
            for (dtype, index, _), kind, message in cases:
                if kind != "passed":
                    failed[kind] += 1
                    failures.append(Failure(dtype=dtype, index=index, form=form, kind=kind, message=message))
        for case, overload in self.lacks.items():
            # What no survey has looked at lacks at least what it lacked first.
            self.needs.setdefault(overload, {overload})
            if json.loads(case)[2] != "gradient":
                self.forward.add(overload)
        needs = {name: tuple(sorted(parts)) for name, parts in sorted(self.needs.items())}
        reason = ""
        if not forms:
            status, reason = "not_applicable", "PyTorch on the host refuses all of its cases"
        elif not failed:
            status = "covered"
        else:
            status = "missing" if set(failed) == {"missing"} else "failed"
        how = ""
        if status == "covered":
            how = "composed" if self.several else "own" if self.kernels else "none"
            how = how if self.observes else "unknown"
        return OperatorResult(
            operator=self.operator, status=status, how=how, forms=forms, kernels=dict(self.kernels),
            composed=dict(self.composed), needs=needs,
            gradient_only=tuple(name for name in needs if name not in self.forward), failures=chosen_failures(failures),
            failed=dict(failed), reason=reason, seconds=round(seconds, 2),
        )  # fmt: skip


def measure_operator(process: Process, operator: str) -> OperatorResult:
    """Measure one operator. Raises CoverageError and CoverageFault where no worker can be had."""
    began = time.monotonic()
    found = Tallying(operator)
    deaths, done = 0, False
    while not done and deaths < DEATHS:
        current: list[Any] | None = None
        try:
            process.ask({"do": "measure", "operator": operator, "skip": list(found.kinds)})
            over = False
            while not done and not over:
                # Before the first case the worker may have to import OpInfo and to draw all samples.
                answer = process.answer(process.setting.seconds if current else START_SECONDS)
                if "begin" in answer:
                    current = answer["begin"]
                elif "end" in answer:
                    found.note(answer)
                    over = bool(answer.get("over"))
                elif "done" in answer:
                    found.observes = bool(answer["observes"])
                    done = True
            if over:  # the device is lost for that process
                process.end()
                deaths += 1
        except Died as death:
            if current is None or json.dumps(current) in found.kinds:
                current = [_first_dtype(found), -1, "call"]  # between two cases: while inputs were made
                deaths = DEATHS
            found.kinds[json.dumps(current)] = death.kind, death.message
            deaths += 1
    if found.lacks:
        _survey(process, operator, found)
    return found.result(time.monotonic() - began)


def _first_dtype(found: Tallying) -> str:
    return str(json.loads(next(reversed(found.kinds)))[0]) if found.kinds else "float32"


def _survey(process: Process, operator: str, found: Tallying) -> None:
    """Find all that the cases lack, not only what each lacked first; of a case that kills the process, the first."""
    cases = dict.fromkeys(found.lacks)
    for _ in range(DEATHS):
        current: list[Any] | None = None
        try:
            process.ask({"do": "survey", "operator": operator, "cases": list(cases)})
            while True:
                answer = process.answer(process.setting.seconds if current else START_SECONDS)
                if "begin" in answer:
                    current = answer["begin"]
                if current is not None:
                    found.lacking(current, answer.get("lacks", {}))
                if "done" in answer:
                    return
        except Died:
            if current is None:
                return
            cases.pop(json.dumps(current), None)


def measure(
    setting: Setting, operators: Sequence[str], take: Callable[[OperatorResult], None], *, jobs: int = 1
) -> None:
    """Measure operators, each result given to `take` as it comes, on the calling thread.

    An exception in `take`, Ctrl-C included, ends all workers. Raises CoverageError and CoverageFault.
    """
    waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
    for name in operators:
        waiting.put(name)
    done: queue.SimpleQueue[OperatorResult | BaseException | None] = queue.SimpleQueue()
    processes = [Process(setting) for _ in range(max(1, min(jobs, len(operators))))]
    stopping = threading.Event()

    def work(process: Process) -> None:
        try:
            while not stopping.is_set():
                try:
                    name = waiting.get_nowait()
                except queue.Empty:
                    break
                done.put(measure_operator(process, name))
            done.put(None)
        except BaseException as error:
            done.put(error)
        finally:
            process.end()

    threads = [threading.Thread(target=work, args=(process,), daemon=True) for process in processes]
    for thread in threads:
        thread.start()
    working = len(threads)
    try:
        while working:
            found = done.get()
            if found is None:
                working -= 1
            elif isinstance(found, BaseException):
                raise found
            else:
                take(found)
    finally:
        stopping.set()
        for process in processes:
            process.stop()
        for thread in threads:
            thread.join(timeout=10)
