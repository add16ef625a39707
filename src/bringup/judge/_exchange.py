"""Talk with a candidate's processes: its guest, and the device that does what the guest asks for."""

from __future__ import annotations

import operator
import os
import re
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from bringup.device import frames, space
from bringup.device.sharing import beside_others
from bringup.judge import _codec
from bringup.judge._case import Asked, CaseJudge, tape_name
from bringup.judge._device import DeviceFault, DeviceLost
from bringup.judge._guest import Guest, describe_end
from bringup.judge._memory import OUT_OF_MEMORY, memory_kills
from bringup.judge._outcome import Outcome, cheated, raised_line
from bringup.judge._phases import Phases
from bringup.judge._rehearsal import RehearsedCall
from bringup.judge._reply import check_inputs, check_reply, ending
from bringup.judge._waiting import Waiting
from bringup.judge._wire import Assignment
from bringup.judge.job import JudgeJob
from bringup.linter import read_allowance

if TYPE_CHECKING:
    from bringup.judge._referee import Referee

TOUCHED = re.compile(r"^device memory touched by the host: (0x[0-9a-f]+)$", re.MULTILINE)
GRACE_SECONDS = 0.5  # between a call's time limit, when the worker prints where it is, and its end


class Exchange:
    """The guest of one candidate, started where there is none, and the device of its referee."""

    def __init__(
        self, referee: Referee, job: JudgeJob, assignment: Assignment, mode: Callable[[CaseJudge], dict[str, Any]]
    ) -> None:
        """Nothing starts before the first call; `mode` says under which rules the device does a case's call."""
        self.referee, self.job, self.mode = referee, job, mode
        self.started = time.monotonic()
        self.deadline = self.started + job.limits.candidate_seconds
        self.tapes = assignment.tapes  # folder for what each call asks of the device
        self.compiling = referee.compiling(assignment, lambda: referee.worker(job.limits))
        self.phases = Phases()
        self.runner: Guest | None = None
        self._reads = bool(read_allowance(job.operator).nbytes)
        self.latest = Asked()
        self.reply: dict[str, Any] = {}  # the guest's latest
        self.reached = space.MIDDLE  # up to where the inputs of this guest's calls lay
        self.launches = 0  # reruns included
        self.counters: list[dict[str, Any]] = []
        self.kernels_made = 0  # in calls that were rehearsed
        self.isolation = ""
        self._unloaded: dict[str, Any] = {}  # what the guest is still to be told to load
        self.start_ms = 0.0  # fork and namespaces
        self.device_ms = 0.0  # start of a device process, where one was needed
        self.waiting: Waiting | None = None  # of the call that is under way
        self.starved = False  # whether the latest call that was too late had too little of a processor

    def call(self, case: CaseJudge, mode: dict[str, Any]) -> Outcome:
        """Have a guest call the wrapper, and decide what came of it; what was lost is started anew the next time.

        Where the call has no result in time, and its processes waited for a processor, it is made once more. Where
        others may run in the place of what it launches, it is made with each of them: all must be right, unless the
        mode says which runs (`choice`).
        """
        outcome = self._made(case, mode)  # the first, where nothing is said
        if outcome.kind != "passed" or "choice" in mode or self.latest.alternatives == 1:
            return outcome
        latest, reply = self.latest, self.reply
        others = {name: value for name, value in mode.items() if name not in ("tape", "timed")}
        done = 0 if "timed" in mode else 1  # who is timed ran what was fastest
        for number in range(done, latest.alternatives):
            other = self._made(case, {**others, "choice": number})
            if other.kind != "passed":
                return other
        self.latest, self.reply = latest, reply
        return outcome

    def _made(self, case: CaseJudge, mode: dict[str, Any]) -> Outcome:
        self.waiting = None
        outcome = self._call(case, mode)
        if outcome.kind == "timed_out" and self.starved and time.monotonic() < self.deadline:
            outcome = self._call(case, mode)
        return outcome

    def _call(self, case: CaseJudge, mode: dict[str, Any]) -> Outcome:
        self.starved = False
        try:
            with self.phases("calls"):
                request, payloads = case.request()
        except _codec.Unencodable as error:
            return Outcome("untested", f"case {case.inputs.case} cannot be sent to the device: {error}")
        seconds = min(self.job.limits.case_seconds, max(1.0, self.deadline - time.monotonic()))
        try:
            if self.runner is None:
                with self.phases("start"):
                    self._start()
            mode = {**self.mode(case), **mode}
            with self.phases("calls"):
                outcome = self._exchange(case, mode, request, payloads, seconds)
        except DeviceLost as lost:
            outcome = self._device_lost(lost, seconds)
        return outcome.with_call(case)

    def _exchange(
        self, case: CaseJudge, mode: dict[str, Any], request: dict[str, Any], payloads: Any, seconds: float
    ) -> Outcome:
        device, runner = self.referee.device, self.runner
        assert device is not None
        assert runner is not None
        _ = case.result_sizes  # computes the reference, which takes nothing of the candidate's time
        self.waiting = Waiting([*runner.pids, device.pid])
        deadline, before = time.monotonic() + seconds + GRACE_SECONDS, self.compiling.seconds
        compiled = self._compiled_since(before, deadline)
        request["bases"] = device.begin(mode, request["sizes"], payloads, deadline)
        self.reached = max([self.reached, *map(operator.add, request["bases"], request["sizes"])])
        reply: dict[str, Any] = {}
        outputs: list[dict[str, Any]] = []
        lost: Outcome | None = None
        try:
            # Nothing runs on the device before the wrapper has returned, but for those that read values.
            with beside_others(self.referee.lock if self._reads else ""):
                deadline = time.monotonic() + seconds + GRACE_SECONDS
                runner.send(self._message(request), (), deadline)
                compiled = self._compiled_since(before, deadline)
                reply, _ = runner.receive(deadline, {device.fd: device.serve}, compiled)
            check_reply(reply)
            lost = self._not_loaded(reply)
            outputs = case.outputs(reply)
            check_inputs(reply, request)
        except (frames.Closed, frames.TooLarge, frames.DeadlineExceeded) as error:
            lost = self._lost(error, seconds, deadline + compiled())
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            lost = Outcome("crashed", f"the guest's answer makes no sense: {error}")
        storages = reply.get("storages", []) if lost is None else []
        deadline += compiled()
        asked = time.monotonic()
        with beside_others(self.referee.lock):
            deadline += time.monotonic() - asked  # that a clock had the device alone
            done, data = device.end(storages, outputs, deadline + (0.0 if lost is None else GRACE_SECONDS))
        self.phases.move(self.compiling.seconds - before, "compiler")
        if done["replace"]:
            self._renew_device()
        if done["tape"] and lost is None:
            data = self._keep_tape(case, data, done["tape"])
        self.launches += int(done["account"]["launches"])
        told = (*done["transcript"], ending(reply, done["names"]))
        answers = None if done["answers"] is None else tuple(done["answers"])
        self.latest = Asked(
            done["account"], tuple(done["counters"]), tuple(request["bases"]), told, int(done["alternatives"]), answers
        )
        self.reply = reply
        self.counters += [{"case": str(case.inputs.case), **counted} for counted in done["counters"]]
        broken = (done["error"] or {}).get("kind") in ("rule", "fault", "time")
        if lost is not None and not broken:
            return lost
        if "result" in reply and lost is None and not done["returned"] and not broken:
            return cheated("stream", "the guest answers before its call is over")
        failed = self.compiling.check(done["also"], done["kernels"])
        printed = runner.output + done["printed"]
        with self.phases("comparison"):
            return failed or case.decide(reply, done, data, printed)

    def rehearse(self, calls: Sequence[RehearsedCall]) -> tuple[list[tuple[str, ...]], Outcome | None]:
        """Call the wrapper for what it asks the device for; return the lines of that, and what went wrong then.

        For the guest these are calls like any other, each a message of its own; but there are no inputs, and nothing
        runs.
        """
        seconds = self.job.limits.case_seconds
        try:
            if self.runner is None:
                with self.phases("start"):
                    self._start()
            device, runner = self.referee.device, self.runner
            assert device is not None
            assert runner is not None
            deadline, before = time.monotonic() + seconds + GRACE_SECONDS, self.compiling.seconds
            asked = [one.to_json() for one in calls]
            device.rehearse(asked, deadline)
            replies: list[dict[str, Any]] = []
            lost: Outcome | None = None
            for one in calls:
                request = one.to_guest()
                deadline, before = time.monotonic() + seconds + GRACE_SECONDS, self.compiling.seconds
                try:
                    runner.send(self._message(request), (), deadline)
                    compiled = self._compiled_since(before, deadline)
                    reply, _ = runner.receive(deadline, {device.fd: device.serve}, compiled)
                    check_inputs(check_reply(reply), request)
                    lost = self._not_loaded(reply)
                    replies.append(reply)
                except (frames.Closed, frames.TooLarge, frames.DeadlineExceeded) as error:
                    lost = self._lost(error, seconds, deadline + compiled())
                except (ValueError, KeyError, TypeError, AttributeError) as error:
                    lost = Outcome("crashed", f"the guest's answer makes no sense: {error}")
                if lost is not None:
                    break
            deadline += self._compiled_since(before, deadline)() + (0.0 if lost is None else GRACE_SECONDS)
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

    def _compiled_since(self, before: float, deadline: float) -> Callable[[], float]:
        """Say what the compiler has taken since, which is no time of a call's: as long as the candidate has some."""
        most = max(0.0, self.deadline - deadline) + self.job.limits.compile_seconds
        return lambda: min(self.compiling.seconds - before, most)

    def renew_guest(self) -> None:
        """Have the next call made in a guest that has only loaded the candidate."""
        runner, self.runner = self.runner, None
        self._close(runner)

    def host_seconds(self, case: CaseJudge) -> float:
        """Seconds of one call of the wrapper in its guest, without what the device did meanwhile, and nothing decided.

        Raises RuntimeError where the call fails.
        """
        request, payloads = case.request()
        seconds = self.job.limits.case_seconds
        try:
            if self.runner is None:
                self._start()
            device, runner = self.referee.device, self.runner
            assert device is not None
            assert runner is not None
            if self._unloaded:  # the call that loads it is none that is timed
                self.host_seconds(case)
            deadline, before = time.monotonic() + seconds + GRACE_SECONDS, self.compiling.seconds
            request["bases"] = device.begin(self.mode(case), request["sizes"], payloads, deadline)
            began = time.perf_counter()
            runner.send(self._message(request), (), deadline)
            compiled = self._compiled_since(before, deadline)
            reply, _ = runner.receive(deadline, {device.fd: device.serve}, compiled)
            taken = time.perf_counter() - began - (self.compiling.seconds - before)
            if (failed := self._not_loaded(reply)) is not None:
                raise RuntimeError(failed.summary)
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
        with open(os.path.join(self.tapes or "", tape_name(case.inputs.case)), "wb") as file:
            file.write(data[len(data) - size :])
        return data[: len(data) - size]

    def _message(self, request: dict[str, Any]) -> dict[str, Any]:
        """What a guest is sent for a call: its first says what to load, too, as in sealed use."""
        loads, self._unloaded = self._unloaded, {}
        return {**request, **loads}

    def _not_loaded(self, reply: dict[str, Any]) -> Outcome | None:
        """What an answer means that says that the module cannot be loaded; None for any other one."""
        if reply.get("phase") != "load":
            return None
        self.renew_guest()
        text = str(reply.get("error"))
        return Outcome("raised", f"the module cannot be loaded: {raised_line(text)}", exception=text, fatal=True)

    def _start(self) -> None:
        """Start a guest, and a device process where there is none."""
        job, referee, began = self.job, self.referee, time.monotonic()
        old, device = referee.device, referee.start_device(self.compiling.answer)
        if old is None:
            self.device_ms = (time.monotonic() - began) * 1e3
            began = time.monotonic()
        stream = device.next_guest(self.job.candidate.source, job.limits.memory_mb << 20)
        try:
            self.runner = referee.worker(job.limits, stream)
        finally:
            stream.close()
        self._unloaded = {"source": job.candidate.source, "compile_for": job.compile_for}
        self.isolation, self.reached = self.runner.isolation, space.MIDDLE
        self.start_ms = (time.monotonic() - began) * 1e3

    def _lost(self, error: Exception, seconds: float, deadline: float) -> Outcome:
        """The guest gave no answer: it hangs, is dead, or talks nonsense."""
        guest, self.runner = self.runner, None
        assert guest is not None
        try:
            # Python can crash over printing where a running program is: that end, too, is one of the time limit.
            if isinstance(error, frames.DeadlineExceeded) or time.monotonic() >= deadline - GRACE_SECONDS:
                self.starved = self.waiting is not None and self.waiting.starved(seconds)
                guest.trace()
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
        self._renew_device()
        if lost.hangs:
            self.starved = starved
            return Outcome("timed_out", f"no result after {seconds:g} s: the device is still at work", log=output)
        return Outcome("crashed", f"{lost} while it worked for this candidate", log=output)

    def _drop(self) -> None:
        """Give up guest and device process; neither is of use without the other."""
        runner, self.runner = self.runner, None
        self._close(runner)
        self.referee.lose_device()

    def _renew_device(self) -> None:
        """Give up guest and device process, and start another one of the latter; see `Referee.renew_device`."""
        self._drop()
        self.referee.renew_device(self.compiling.answer)

    def close(self) -> None:
        """End the guest; it starts again where it is needed."""
        self.renew_guest()

    def _close(self, guest: Guest | None) -> None:
        if guest is not None:
            guest.__exit__()


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
