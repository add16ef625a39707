"""In the referee: times by a device's own clock. The device process measures, this asks it and says what came of it."""

from __future__ import annotations

import base64
import os
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bringup.device.sharing import WAIT_SECONDS
from bringup.judge._bench import deadline
from bringup.judge._case import CaseJudge, tape_name
from bringup.judge._device import DeviceLost
from bringup.judge._measuring import NOTHING_TIMED, baseline_job, idle_note
from bringup.judge._operations import reference_operations
from bringup.judge._player import pack
from bringup.judge._turns import Side, doubts, times_of
from bringup.judge._wire import Assignment
from bringup.judge.measuring import COMPILE, CaseTiming, Diagnosis, Measured, MeasureJob, Times, call_kind
from bringup.judge.profilers import Seen, diagnose
from bringup.suites import cache_directory
from bringup.verdict import CaseId, Verdict

if TYPE_CHECKING:
    from bringup.judge._judging import Judging
    from bringup.judge._referee import Referee

HOST_CALLS = 7  # of the wrapper alone, at most; the first, which compiles, does not count
LEAST_HOST_CALLS, HOST_SECONDS = 2, 1.0  # from so many on, no further one behind so many seconds
CANDIDATE = "candidate"
COMPILE_SECONDS = 300.0  # that torch.compile may take
SLOW_CLOCK = 0.8  # of the clock's greatest rate: below it is said


class Clocked:
    """Times of one candidate's cases."""

    def __init__(self, referee: Referee, job: MeasureJob, assignment: Assignment) -> None:
        """Prepare; `assignment.tapes` is the folder in which the gate has left the tapes of its calls."""
        self.referee, self.job, self.assignment = referee, job, assignment
        self.folder = assignment.tapes or ""

    def time(self, measured: Measured, judging: Judging) -> Measured:
        """Add the times of cases that have passed."""
        notes: list[str] = []
        others = self._others(notes)
        timed: list[CaseTiming] = []
        idle: list[CaseJudge] = []
        try:
            for case in judging.timed:
                if not (case.launches or case.asked.account.get("copies") or case.asked.account.get("uploads")):
                    idle.append(case)
                    continue
                found = self._case(case, judging, others)
                if isinstance(found, Verdict):
                    wrong = found.model_copy(
                        update={
                            "environment": measured.verdict.environment, "cases_total": measured.verdict.cases_total,
                            "cases_passed": measured.verdict.cases_passed - 1,
                        }
                    )  # fmt: skip
                    return measured.model_copy(update={"verdict": wrong})
                if isinstance(found, str):
                    text = f"case {case.inputs.case} cannot be timed: {found}"
                    return measured.model_copy(update={"error": text, "notes": tuple(notes)})
                timed.append(found)
        finally:
            judging.exchange.close()
        if idle:
            notes.append(idle_note(idle))
        return measured.model_copy(
            update={"cases": tuple(timed), "notes": tuple(notes), "error": None if timed else NOTHING_TIMED}
        )

    # Baselines that are candidates ---------------------------------------------------------------------------

    def _others(self, notes: list[str]) -> dict[str, str]:
        """The folders with the tapes of baselines that are candidates."""
        from bringup.judge._judging import Judging

        found = {}
        for number, baseline in enumerate(self.job.against):
            if not baseline.source:
                continue
            folder = os.path.join(self.folder, f"baseline-{number}")
            os.mkdir(folder)
            quiet = self.assignment.model_copy(update={"progress": False, "tapes": folder})
            verdict = Judging(self.referee, baseline_job(self.job, baseline), quiet).run()
            if not verdict.passed:
                notes.append(f"baseline {baseline.name}: {verdict.kind}: {verdict.summary}")
                for case in verdict.failures:
                    _remove(os.path.join(folder, tape_name(case.case)))
            found[baseline.name] = folder
        return found

    # One case ------------------------------------------------------------------------------------------------

    def _case(self, case: CaseJudge, judging: Judging, others: Mapping[str, str]) -> CaseTiming | Verdict | str:
        """The times of a case; a verdict where its results are wrong after them; why there are none."""
        host, notes = self._host(case, judging)
        known = case.inputs.case
        own = _read(os.path.join(self.folder, tape_name(known)))
        if own is None:
            return "its tape was not kept"
        tapes = {CANDIDATE: own}
        for name, folder in others.items():
            tape = _read(os.path.join(folder, tape_name(known)))
            if tape is not None:
                tapes[name] = tape
            else:
                notes.append(f"baseline {name} has no time here")
        try:
            answer, data = self._measure(tapes, known)
        except DeviceLost as lost:
            return str(lost)
        if answer["error"]:
            return str(answer["error"])
        if not answer["same"] and (wrong := self._recheck(case, answer, data)) is not None:
            return wrong
        return self._timing(case, answer, host, notes)

    def _host(self, case: CaseJudge, judging: Judging) -> tuple[Times | None, list[str]]:
        """What the wrapper takes on the host, its calls to the device excluded."""
        samples: list[float] = []
        began = time.monotonic()
        try:
            # Each puts the call's inputs into the device's memory anew: seconds for hundreds of megabytes.
            while len(samples) < LEAST_HOST_CALLS or (
                len(samples) < HOST_CALLS and time.monotonic() - began < HOST_SECONDS
            ):
                samples.append(judging.exchange.host_seconds(case))
        except RuntimeError as error:
            return None, [f"the wrapper's own time is not known: {error}"]
        return times_of(samples[1:]), []

    def _measure(self, tapes: Mapping[str, bytes], known: CaseId) -> tuple[dict[str, Any], memoryview]:
        job, referee = self.job, self.referee
        references = [baseline.name for baseline in job.against if not baseline.source]
        compiling = referee.compiling(self.assignment, lambda: referee.worker(job.limits))
        device = referee.start_device(compiling.answer)
        request = {
            "tapes": [[name, len(tape)] for name, tape in tapes.items()],
            "references": references,
            "cache": str(cache_directory().parent),
            "case": {"suite": job.judge.operator.suite, **known.model_dump()},
            "timing": job.timing.model_dump(),
            "memory": job.limits.memory_mb << 20,
            "lock": referee.lock,
            "diagnose": job.diagnose,
        }
        patience = COMPILE_SECONDS if COMPILE in references else job.limits.compile_seconds
        until = deadline(job.timing, len(tapes) + len(references), patience) + WAIT_SECONDS
        try:
            answer, data = device.measure(request, list(tapes.values()), until)
        except DeviceLost:
            referee.renew_device(compiling.answer)
            raise
        if answer["replace"]:
            referee.renew_device(compiling.answer)
        return answer, data

    def _recheck(self, case: CaseJudge, answer: dict[str, Any], data: memoryview) -> Verdict | None:
        """Compare the results of each copy after the timed runs: they may differ in bits, as other sums do."""
        for sizes in answer["sizes"]:
            storages = []
            for size in sizes:
                storages.append(data[:size])
                data = data[size:]
            if (mismatch := case.recheck(storages)) is not None:
                break
        else:
            return None
        text = f"after the timed runs the result is wrong: {mismatch.output}: {mismatch.message}"
        return Verdict(kind="wrong", summary=text, case=case.inputs.case, call=case.call, mismatch=mismatch)

    def _timing(
        self, case: CaseJudge, answer: dict[str, Any], host: Times | None, notes: list[str]
    ) -> CaseTiming | str:
        samples: dict[str, list[float]] = answer["samples"]
        for name, error in answer["errors"].items():
            if name not in samples:
                notes.append(f"{name} failed: {error}")
        times = {name: times_of(found) for name, found in samples.items()}
        device = times.pop(CANDIDATE)
        if device is None:
            return "the clock gives no time above zero"
        for name, found in samples.items():
            side = Side(name, lambda number: 0.0, samples=found, error=answer["errors"].get(name, ""))
            notes += doubts(side, self.job.timing)
        notes += health_notes(answer.get("health", []))
        whole = bool(case.asked.account.get("reads"))
        if whole:
            notes.append("what it launches hangs on values that the wrapper reads: its own time on the host is added")
            if host is not None:
                both = {end: getattr(device, end) + getattr(host, end) for end in ("median", "low", "high")}
                device = device.model_copy(update={**both, "width": max(device.width, host.width)})
        return CaseTiming(
            case=case.inputs.case,
            call=case.call,
            called=call_kind(case.inputs.args, case.inputs.kwargs),
            device=device,
            host=host,
            baselines={name: found for name, found in times.items() if found is not None},
            whole_call=whole,
            notes=tuple(notes),
            diagnosis=self._diagnosis(case, answer) if self.job.diagnose else None,
        )

    def _diagnosis(self, case: CaseJudge, answer: dict[str, Any]) -> Diagnosis:
        kernels = [{**one, "binary": base64.b64decode(one["binary"])} for one in answer.get("kernels", [])]
        with tempfile.TemporaryDirectory(dir=self.referee.scratch, prefix="player-") as folder:
            own = _read(os.path.join(self.folder, tape_name(case.inputs.case)))
            compiling = self.referee.compiling(self.assignment, lambda: self.referee.worker(self.job.limits))
            pack(Path(folder), own or b"", compiling.answer)
            return diagnose(
                Seen(
                    target=self.job.judge.target.name,
                    seconds=statistics.median(answer["samples"][CANDIDATE]),
                    launches=answer.get("counters", []),
                    account=case.asked.account,
                    facts=self.referee.target.facts(),
                    source=self.job.judge.candidate.source,
                    least_bytes=case.least_bytes(),
                    least_operations=reference_operations(case.inputs),
                    kernels=kernels,
                    folder=folder,
                )
            )


def health_notes(states: Sequence[Mapping[str, Any]]) -> list[str]:
    """What of a device's clocks and heat, before and after the timed runs, makes the times doubtful."""
    if not states:
        return []
    found = [str(states[-1]["missing"])] if "missing" in states[-1] else []
    held = sorted({reason for state in states for reason in state.get("throttled", ())})
    if held:
        found.append(f"the device was slowed down while it was timed, also after a pause: {', '.join(held)}")
    last = states[-1]
    if "sm_mhz" in last and last["sm_mhz"] < SLOW_CLOCK * last.get("most_sm_mhz", 0):
        found.append(f"the device's clock was at {last['sm_mhz']} of {last['most_sm_mhz']} MHz")
    return found


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def _remove(path: str) -> None:
    if os.path.exists(path):
        os.unlink(path)
