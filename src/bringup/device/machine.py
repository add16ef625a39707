"""What the device process does with a guest's commands: kernels at once, everything else when the guest has finished.

Commands of a call are kept until its wrapper has returned; only then do the inputs come into memory and the commands
run (`execution`). So nothing that a guest can see or time depends on data: there are none while it works. Two things
cannot wait. A read, where the operator's rules allow one, runs what came before it. A tuner's question how long some
launches take is answered at once, and always alike (`timing`); where the device is to choose by times, they are tried
on inputs that are zeros, and forgotten. No result is made of them.

A whole call may be rehearsed, too: then there are no inputs and nothing runs. What the wrapper asks for is noted, and a
read is answered with what another call's was.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from bringup.device import frames
from bringup.device.account import READS, STREAM, Broken
from bringup.device.asked import FRESH, MOST_COMMANDS, MOST_QUEUED, MOST_TEXT, arguments_of, check_options, request_of
from bringup.device.engine import FENCE, Engine, Fault, Kernel
from bringup.device.execution import MOST_PRINTED, Execution, noted
from bringup.device.launchers import Launcher
from bringup.device.memory import Memory
from bringup.device.reach import marks_by_base
from bringup.device.timing import (
    MOST_MARKS,
    MOST_TRIALS,
    TOLD,
    TRIAL_MODE,
    TURNS,
    Choice,
    Trials,
    fastest,
    told_seconds,
)
from bringup.device.transcript import Transcript, digest
from bringup.device.wire import ADDRESS, LAUNCH, Command, Malformed, unpack_descriptor

MOST_LOADED = 1 << 12  # that the device keeps for other guests
TOO_MANY = "asks the device for more than"  # so a verdict says it
MOST_CHECKED = 16 << 20  # bytes of one call's kernels for other toolchains: the answer to the referee holds them
MOST_ANSWERED = 1 << 12  # bytes of a call's reads that are kept
TEXT = ("text", "source", "options")  # what a compiler sees of a kernel
Answer = tuple[dict[str, Any], bytes]
Compile = Callable[[str, dict[str, Any]], tuple[dict[str, Any], memoryview]]
"""(digest, text) -> facts and binary, or `log` and `short`; text[FRESH]: anew, and not kept."""


class Machine:
    """One device at work for one guest, or one tape, after the other."""

    def __init__(self, engine: Engine, compile: Compile) -> None:
        """`compile` has the referee compile a text, or find it in the store."""
        self.engine, self._compile_text = engine, compile
        self.loaded: dict[str, tuple[Kernel, Any]] = {}  # by digest; outlives guests
        self.memory = Memory(engine, 0)
        self.renew(0)

    def renew(self, limit: int) -> None:
        """Forget everything but compiled kernels; `limit`: bytes of device memory that may be live."""
        self.memory.clear()
        self.memory = Memory(self.engine, limit)
        if len(self.loaded) > MOST_LOADED:
            self.loaded.clear()  # the store has them
        # What no call has launched for a result outlives no guest: how long an answer takes would tell the next one.
        self.refused: dict[str, dict[str, Any]] = {}
        self.tried: dict[str, tuple[Kernel, Any]] = {}  # kernels that were asked for while something was timed
        self.own: set[str] = set()  # digests of those that this guest has asked for besides
        self.launchers: dict[int, Launcher] = {}
        self.registered = 0  # kernels since a call has ended last
        self.asked_bytes = 0  # of requests for kernels
        self.in_call = False
        self.before: dict[str, Any] | None = None  # what went wrong outside of a call
        self._open({})

    def _open(self, mode: dict[str, Any], inputs: Sequence[tuple[int, memoryview]] = ()) -> None:
        self.mode, self.inputs = mode, inputs
        self.queue: list[tuple[Command, bytes, Sequence[Choice]]] = []
        self.choice = 0  # among alternatives, once something runs
        self.alternatives = 1  # of the launch that has most
        self.queued = 0  # bytes
        self.marks: list[int] = []  # commands that were queued where something that is only timed began
        self.trials = Trials()
        self.waited = 0.0  # seconds that the guest has waited for the device
        self.also: list[dict[str, Any]] = []
        self.checked = 0  # bytes of these
        self.execution = Execution(self.engine, self.memory, self.launchers, mode, self.before, self._fenced)
        self.started = self.returned = False
        self.transcript = Transcript((), self.launchers)
        self.answers: list[bytes] = []  # to reads
        self.read_as: list[str] = []  # dtypes of these
        self.rehearsed: deque[dict[str, Any]] = deque()  # calls that are still to come
        self.wanted: list[str] = []
        self.failed: int | None = None  # the call in which something went wrong
        self.transcripts: list[Transcript] = []  # of those that are over, and of the one that is open
        self.asked: dict[int, str] = {}  # kernels that this call has asked for and not launched yet

    # One call ------------------------------------------------------------------------------------------------

    def begin(
        self, mode: dict[str, Any], sizes: Sequence[int], payload: memoryview, bases: list[int] | None = None
    ) -> list[int]:
        """Open a call; returns the addresses at which the storages of its inputs will be.

        `bases`: where they shall be; then they hold zeros.
        """
        self.memory.clear()
        if bases is None:
            bases = self.memory.places(sizes)
        else:
            payload = memoryview(bytes(sum(sizes)))
        inputs, at = [], 0
        for base, size in zip(bases, sizes, strict=True):
            if size:
                inputs.append((base, payload[at : at + size]))
            at += size
        if (given := mode.get("arguments")) is not None:
            at_bases = [(bases[t] + offset * width, size, stride, width) for t, offset, size, stride, width in given]
            mode = {**mode, "arguments": at_bases}
        if (elements := mode.get("elements")) is not None:
            mode = {**mode, "elements": [(bases[storage], width) for storage, width in elements]}
        for name in ("sought", "choosing", "operands", "kept"):
            entries = [
                (bases[storage], (at * width, width, tuple(size), tuple(stride)))
                for storage, at, size, stride, width in mode.get(name) or () if sizes[storage]
            ]  # fmt: skip
            mode = {**mode, name: entries}
        if (readable := mode.get("readable")) is not None:
            mode = {**mode, "marks": marks_by_base(bases, sizes, readable)}
        if (writable := mode.get("writable")) is not None:
            written = {bases[number] for number, *_ in writable}
            gaps = {base: made for base, made in marks_by_base(bases, sizes, writable).items() if base in written}
            mode = {**mode, "written": written, "gaps": gaps}
        self._open(mode, inputs)
        self.transcript = Transcript(zip(bases, sizes, strict=True), self.launchers)
        self.in_call, self.before = True, None
        return bases

    def rehearse(self, calls: Sequence[dict[str, Any]]) -> None:
        """Open calls that are only rehearsed, one after the other.

        Each says where its inputs are meant to lie (`bases`, `sizes`), what its reads are answered with (`answers`) and
        the digest of the lines that it must ask for (`wanted`).
        """
        self.memory.clear()
        self._open({})
        self.rehearsed, self.transcripts = deque(calls), []
        self.wanted = [str(call["wanted"]) for call in calls]
        self.in_call, self.before = True, None
        self._next_rehearsal()

    def _next_rehearsal(self) -> None:
        self.marks, self.asked, self.trials = [], {}, Trials()
        if self.rehearsed:
            call = self.rehearsed.popleft()
            self.transcript = Transcript(zip(call["bases"], call["sizes"], strict=True), self.launchers)
            self.transcripts.append(self.transcript)
            self.answers = [bytes.fromhex(answer) for answer in call["answers"]]

    def told(self, storages: Sequence[Sequence[Sequence[int]]]) -> dict[str, Any]:
        """Close calls that were rehearsed: what each asked for, and the names of the storages that it returned.

        Also how many kernels the guest has made anew. None in the place of a text that is as it must be. Calls end with
        the first that went wrong, which is not told.
        """
        calls = []
        for one, wanted, returned in zip(self.transcripts[: self.failed], self.wanted, storages, strict=False):
            lines = one.lines()
            told = None if digest(lines) == wanted else lines
            calls.append({"transcript": told, "names": [one.name(base) for base, _ in returned]})
        found = {"calls": calls, "error": self.execution.error, "kernels": self.registered}
        self.in_call, self.registered = False, 0
        self._open({})
        return found

    def end(
        self, storages: Sequence[Sequence[int]], outputs: Sequence[dict[str, Any]]
    ) -> tuple[dict[str, Any], list[bytes]]:
        """Close the call: everything that it asked for is done, its results are taken, its memory is wiped.

        Returns the header for the referee, and the bytes of the storages and of the tape.
        """
        self._catch_up()
        self._look_for_launches()
        execution = self.execution
        execution.finish()
        execution.look_at_gaps()
        data: list[bytes] = []
        writers: list[dict[str, int]] = []
        given: list[bool] = []
        wrong = ""
        try:
            if execution.error is None:
                data, writers, given = execution.results(storages, outputs)
        except Malformed as error:
            wrong = str(error)
        except (Broken, Fault) as error:
            execution.note(error)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            wrong = f"no tensor: {error}"
        tape = execution.finished_tape(storages, data)
        few = sum(map(len, self.answers)) <= MOST_ANSWERED
        header = {
            "transcript": self.transcript.lines(),
            "alternatives": self.alternatives,
            "names": [self.transcript.name(base) for base, _ in storages],
            "answers": [answer.hex() for answer in self.answers] if few else None,
            "read_as": self.read_as if few else None,
            "account": execution.account.to_json(),
            "waited": self.waited,
            "error": execution.error,
            "printed": "".join(execution.printed)[:MOST_PRINTED],
            "counters": self.engine.counters(),
            "also": self.also,
            "kernels": self.registered,
            "sizes": [len(part) for part in data],
            "writers": writers,
            "given": given,
            "tape": len(tape),
            "wrong": wrong,
            "returned": self.returned,
            "replace": self.engine.broken(),
        }
        self.in_call, self.registered = False, 0
        self.memory.clear()
        self._open({})
        return header, [*data, tape]

    def _look_for_launches(self) -> None:
        """Note a kernel that the call asked for and did not launch: it would only have asked whether it is there."""
        for name in list(self.asked.values())[:1]:
            self.note(Broken(STREAM, f"the wrapper asks for kernel '{name}' and does not launch it in that call"))

    def _catch_up(self) -> None:
        """Do everything that was asked for up to now."""
        if not self.started:
            self.started = True
            self.choice = self._choose()
            self.execution.start(self.inputs)
        queue, self.queue = self.queue, []
        for command, body, choices in queue:
            chosen = choices[self.choice % len(choices)].of(body) if choices else body
            self.execution.execute(command, memoryview(chosen))

    # One command ---------------------------------------------------------------------------------------------

    def execute(self, command: Command, body: memoryview) -> Answer | None:
        """Take a command; returns what a guest that asks is told. What goes wrong is noted, never raised."""
        try:
            if not self.in_call:
                return self._outside(command, body)
            if self.returned and command not in (Command.FREE, Command.RETURNED):  # destructors may come late
                raise Broken(STREAM, f"a command to the device ({command.name}) after the wrapper has returned")
            if command is Command.KERNEL:
                return self._kernel(body)
            if command is Command.ALSO:
                self.checked += len(body)
                if self.checked > MOST_CHECKED:
                    raise Broken(
                        STREAM, f"more than {MOST_CHECKED >> 20} MiB of kernels for other toolchains in a call"
                    )
                self.also.append(request_of(body))
                return None
            choices = self._choices(body) if command is Command.LAUNCH else []
            if command in (Command.COPY, Command.UPLOAD):
                self.trials.wrote()
            self.alternatives = max(self.alternatives, len(choices))
            if self.execution.error is None:
                self.transcript.add(command, body, choices)
            if command is Command.LAUNCH and not self.marks:
                self.asked.pop(LAUNCH.unpack_from(body)[0], None)
            if command is Command.RETURNED and self.marks:
                raise Broken(STREAM, "the wrapper returns while launches are timed: what is begun is to be ended")
            if command is Command.RETURNED and self.transcripts:
                self._look_for_launches()
            if self.transcripts:
                return self._rehearsed(command)
            if command is Command.RETURNED:
                self.returned = True
                return None
            if command is Command.READ:
                return self._read(body)
            if command is Command.TIME:
                seconds = self._time()
                return self._stopped() if self.execution.error is not None else ({"seconds": seconds}, b"")
            if command is Command.MARK:
                self._mark()
                return None
            self._enqueue(command, body, choices)
        except Malformed as error:
            self.note(Broken(STREAM, f"the guest's command {command.name} names {error}"))
        except (Broken, Fault) as error:
            self.note(error)
        except MemoryError:
            self.note(Fault("memory", "the host has no memory left for the device"))
        except frames.Closed:
            raise  # the referee is gone
        except Exception as error:  # whatever our own libraries throw at what a command says
            self.note(Broken(STREAM, f"the guest's command {command.name} makes no sense: {error}"))
        return self._stopped() if command in (Command.READ, Command.TIME, Command.KERNEL) else None

    def note(self, error: Broken | Fault) -> None:
        """Keep the first thing that went wrong."""
        if self.in_call:
            if self.execution.error is None:
                self.failed = len(self.transcripts) - 1
            self.execution.note(error)
        else:
            self.before = self.before or noted(error, 0)

    def _stopped(self) -> Answer:
        error = (self.execution.error if self.in_call else self.before) or {"short": "the device stopped"}
        return {"stopped": str(error["short"]), "line": error.get("line", 0)}, b""

    def _outside(self, command: Command, body: memoryview) -> Answer | None:
        """A command that was sent while no call was open: destructors may come late, nothing else."""
        if command is Command.RETURNED:
            return None  # of a call that the device was told to end before
        if command is Command.FREE:
            self.memory.free(ADDRESS.unpack(body)[0])
        else:
            raise Broken(STREAM, f"a command to the device ({command.name}) outside of a call of the wrapper")
        return None

    def _choices(self, body: memoryview) -> list[Choice]:
        """What may run in the place of a launch. Kernels that are among it were asked for, as any that is launched."""
        if self.trials:
            self.trials.launch(body)
        found = self.trials.alternatives(body, self.launchers)
        for one in found:
            known = self.launchers.get(one.kernel)
            if known is not None and known.digest in self.tried:
                self.own.add(known.digest)
                self.loaded.setdefault(known.digest, self.tried.pop(known.digest))
        return found

    def _choose(self) -> int:
        """Which alternative of each launch runs in this call."""
        if not self._timed:
            return int(self.mode.get("choice", 0))
        return fastest([one.seconds for one in choices] for _, _, choices in self.queue)

    @property
    def _timed(self) -> bool:
        """Whether trials are timed; `clock`: and whoever sends the commands, no guest, is told."""
        return bool(self.mode.get("timed") or self.mode.get("clock"))

    def _enqueue(self, command: Command, body: bytes | memoryview, choices: Sequence[Choice] = ()) -> None:
        if self.execution.error is not None:
            return
        self.queued += len(body)
        if len(self.queue) >= MOST_COMMANDS or self.queued > MOST_QUEUED:
            raise Broken(
                STREAM, f"the wrapper {TOO_MANY} {MOST_COMMANDS} things or {MOST_QUEUED >> 20} MiB "
                "in a call"
            )  # fmt: skip
        self.queue.append((command, bytes(body), choices))

    def _read(self, body: memoryview) -> Answer:
        execution = self.execution
        if self.marks:
            raise Broken(READS, "the wrapper reads device memory while launches are timed; time launches alone")
        if 0 in unpack_descriptor(body, 0)[0].size:
            raise Malformed("a tensor without elements, of which nothing can be read")
        execution.account.check_read(0, True, execution.allowance)  # who may read nothing makes nothing run
        began = time.perf_counter()
        self._catch_up()
        data = execution.execute(Command.READ, body)
        self.waited += time.perf_counter() - began
        if data is not None:
            self.answers.append(data)
            self.read_as.append(unpack_descriptor(body, 0)[0].dtype)
        return self._stopped() if data is None else ({}, data)

    def _rehearsed(self, command: Command) -> Answer | None:
        """Answer a command of a call that is only rehearsed."""
        if command is Command.RETURNED:
            self.queued = 0
            self._next_rehearsal()
            return None
        self.queued += 1
        if self.queued > MOST_COMMANDS:
            raise Broken(STREAM, f"the wrapper {TOO_MANY} {MOST_COMMANDS} things in a call")
        if command is Command.MARK:
            self._mark()
        if command is Command.TIME:
            self._unmark()
            self._end_trial(0.0)
            return {"seconds": TOLD}, b""
        if command is Command.READ:
            return ({}, self.answers.pop(0)) if self.answers else self._stopped()
        return None

    def _mark(self) -> None:
        if not self.trials.mark():
            raise Broken(STREAM, f"more than {MOST_MARKS} times are asked for within each other")
        self.marks.append(len(self.queue))

    def _unmark(self) -> int:
        if not self.marks:
            raise Broken(STREAM, "the guest asks how long something took that it has not begun")
        return self.marks.pop()

    def _end_trial(self, seconds: float) -> None:
        if not self.trials.end(seconds):
            raise Broken(STREAM, f"the wrapper asks for times more than {MOST_TRIALS} times in a call")

    def _time(self) -> float:
        """End a trial, nothing of which will ever run for a result; the seconds that are told."""
        mark = self._unmark()
        try:
            seconds = self._measured(mark) if self._timed else 0.0
            self._end_trial(seconds)
            return seconds if self.mode.get("clock") else TOLD
        finally:
            # What was allocated there may be named later, and what was freed is gone.
            kept = [one for one in self.queue[mark:] if one[0] in (Command.ALLOC, Command.FREE)]
            self.queue[mark:] = kept

    def _measured(self, mark: int) -> float:
        """Seconds that the device needs for the launches since a mark, on inputs that are zeros.

        All of memory may be read and written as one likes. 0 once data have been read: then memory holds some.
        Infinite where the launches fail.
        """
        if self.started or self.execution.error is not None:
            return 0.0
        trial = Execution(self.engine, self.memory.twin(), self.launchers, {**self.mode, **TRIAL_MODE})
        try:
            trial.start([(base, memoryview(bytes(len(data)))) for base, data in self.inputs])
            for command, body, _ in self.queue:
                if command is not Command.FREE:
                    trial.execute(command, memoryview(body))
                if trial.error is not None:
                    return math.inf  # whatever it is: nothing of a trial is a result, and who sends nonsense is slow
            return min(self._seconds(trial, mark) for _ in range(TURNS))
        finally:
            trial.memory.clear()

    def _seconds(self, trial: Execution, mark: int) -> float:
        trial.finish()
        times: list[float | None] = []
        began = time.perf_counter()
        for command, body, _ in self.queue[mark:]:
            if command is Command.LAUNCH and trial.error is None:
                trial.execute(Command.LAUNCH, memoryview(body))
                times.append(next((one.get("microseconds") for one in self.engine.counters()[-1:]), None))
        trial.finish()
        if trial.error is not None:
            return math.inf
        if None in times:
            return time.perf_counter() - began  # an engine without a clock of its own
        return told_seconds(one for one in times if one is not None)

    # Kernels -------------------------------------------------------------------------------------------------

    def _kernel(self, body: memoryview) -> Answer:
        request = request_of(body)
        check_options(request, len(self.launchers))
        self.asked_bytes += len(body)
        if self.asked_bytes > MOST_TEXT:
            raise Broken(STREAM, f"the wrapper asks for kernels of more than {MOST_TEXT >> 20} MiB of text")
        tries = bool(self.marks)
        refusal = self.compile(request, tries=tries)
        if refusal is not None:
            return refusal, b""
        number = len(self.launchers) + 1
        self.launchers[number] = self.launcher(request)
        self.registered += 1
        kernel = self.launchers[number].kernel
        if not tries and not _too_large(kernel):
            self.asked[number] = kernel.name
        return {"number": number, "name": kernel.name, "shared": kernel.shared, "facts": kernel.facts}, b""

    def compile(self, request: dict[str, Any], tries: bool = False) -> dict[str, Any] | None:
        """See to it that a kernel is loaded; returns the compiler's refusal (`refused`, `short`), or None.

        One that is only tried is compiled for this guest alone, unless it has it already.
        """
        text = {key: request[key] for key in TEXT}
        digest = frames.digest(text)
        if not tries:
            self.own.add(digest)
        fresh = digest not in self.own
        known = self.tried if fresh else self.loaded
        if digest not in known and digest not in self.refused:
            header, binary = self._compile_text(digest, {**text, FRESH: fresh})
            if "log" in header:
                self.refused[digest] = {"refused": header["log"], "short": header.get("short", "")}
            else:
                kernel = Kernel(bytes(binary), header["name"], int(header["shared"]), header["facts"])
                known[digest] = kernel, self.engine.load(kernel)
        return self.refused.get(digest)

    def _fenced(self, launcher: Launcher) -> Launcher:
        """The same kernel, compiled so that each access is checked. Raises Fault where it cannot be."""
        text = {**launcher.text, "options": {**launcher.text["options"], FENCE: True}}
        refusal = self.compile(text)
        if refusal is not None:
            name = launcher.kernel.name
            raise Fault("launch", f"kernel '{name}' cannot be checked for where it goes: {refusal['short']}")
        kernel, loaded = self.loaded[frames.digest(text)]
        return replace(launcher, kernel=kernel, loaded=loaded)

    def launcher(self, request: dict[str, Any]) -> Launcher:
        """How a kernel that is loaded is launched. Raises Malformed where the text has other arguments."""
        text = {key: request[key] for key in TEXT}
        digest = frames.digest(text)
        kernel, loaded = self.loaded[digest] if digest in self.own else self.tried[digest]
        return Launcher(text, kernel, loaded, *arguments_of(request, kernel), dict(request["constants"]))


def _too_large(kernel: Kernel) -> bool:
    """Whether it needs more memory of a multiprocessor than there is: the guest refuses that itself."""
    most = kernel.facts.get("most_shared")
    return most is not None and kernel.shared > most
