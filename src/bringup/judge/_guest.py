"""The judge's handle on one isolated worker: send, receive against a deadline, watch its output and its end."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import tempfile
import time
from collections.abc import Callable
from typing import Any

from bringup.device import frames
from bringup.judge._memory import OUT_OF_MEMORY, memory_kills
from bringup.judge._remove import remove_tree
from bringup.judge._reply import as_text
from bringup.judge._waiting import children
from bringup.judge.sandbox import Limits, SandboxFault, answered, ask

EXCEEDED = {
    "processes": "the process limit was exceeded: the candidate started too many processes and was killed",
    "memory": "the memory limit was exceeded: the candidate's processes and files together held too much",
    "disk": "the limit on files was exceeded: the candidate wrote too much to its scratch directory",
}
LARGEST_HEADER = 8 << 20  # bytes of what a worker answers beside data: texts, trees of values
TRACE_SECONDS = 0.5  # for a worker to say where it is
GRACE_SECONDS = 2.0  # for the kernel to finish a process that was told to end


class Guest:
    """One worker, from its fork to its end; use as a context manager, whose exit leaves no process behind."""

    def __init__(
        self, spawner: socket.socket, limits: dict[str, Any], output_kb: int, root: str,
        stream: socket.socket | None = None,
    ) -> None:  # fmt: skip
        """Fork a process through `spawner`, with a scratch directory under `root`, which it gets without its name.

        `stream`, its end of the device's command stream, is handed over first.
        """
        self._keep = output_kb << 10
        self._output = bytearray()
        self.output_bytes = 0
        self._memory_kills = memory_kills()
        self.ended: dict[str, Any] | None = None
        with contextlib.ExitStack() as held:  # whatever interrupts this, nothing of it stays
            self.scratch = tempfile.mkdtemp(prefix="worker-", dir=root)
            held.callback(remove_tree, self.scratch)
            self.sock, self._out, self._status = self._asked(held, spawner, Limits(**limits))
            answer = answered(self._status)
            if answer is None or "fault" in answer:
                raise SandboxFault("the process that forks a worker has ended" if answer is None else answer["fault"])
            self.pid: int = answer["pid"]
            self._process = _pidfd(self.pid)
            if self._process is not None:
                held.callback(os.close, self._process)
            self.isolation: Any = answer["isolation"]  # which protections are on, which are missing and why
            self._held = held.pop_all()
        self.channel = frames.Channel(self.sock, limits["memory_mb"] << 20, LARGEST_HEADER)
        if stream is not None:
            with contextlib.suppress(OSError):  # of a process that is dead already; the next read says so
                socket.send_fds(self.sock, [b"s"], [stream.fileno()])

    def _asked(
        self, held: contextlib.ExitStack, spawner: socket.socket, limits: Limits
    ) -> tuple[socket.socket, int, int]:
        """Ask for a worker; return our ends of its socket, its output and the pipe that tells its end."""
        with contextlib.ExitStack() as lent:
            ours, theirs = socket.socketpair()
            held.callback(ours.close)
            lent.callback(theirs.close)
            ends = [theirs.fileno()]
            # How much a pipe holds hangs on how many the user has: a guest's output goes through a socket.
            shown, printing = socket.socketpair()
            shown.shutdown(socket.SHUT_WR)
            held.callback(shown.close)
            lent.callback(printing.close)
            reading, writing = os.pipe()
            held.callback(os.close, reading)
            lent.callback(os.close, writing)
            read = [shown.fileno(), reading]
            ends += [printing.fileno(), writing]
            ends.append(os.open(self.scratch, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
            lent.callback(os.close, ends[-1])
            given, giving = os.pipe()
            lent.callback(os.close, given)
            with open(giving, "wb") as pipe:
                pipe.write(json.dumps(limits.to_json()).encode())
            os.set_blocking(read[0], False)
            try:
                ask(spawner, [*ends, given])
            except OSError as error:
                raise SandboxFault(f"the process that forks workers has ended: {error}") from None
            return ours, read[0], read[1]

    @property
    def pids(self) -> list[int]:
        """The worker's process, as this machine numbers it; none where the kernel does not tell of children."""
        return children(self.pid)

    def __enter__(self) -> Guest:
        return self

    def __exit__(self, *exc: object) -> None:
        self.kill()
        self._held.close()

    def send(self, header: dict[str, Any], payloads: Any, deadline: float) -> None:
        """Send a request; raises Closed or DeadlineExceeded.

        Fields come in one order, whoever asks: nothing tells a guest what it is asked for.
        """
        self.sock.settimeout(max(0.01, deadline - time.monotonic()))
        frames.send(self.sock, dict(sorted(header.items())), payloads)
        self.sock.settimeout(None)

    def receive(
        self,
        deadline: float,
        meanwhile: dict[int, Callable[[], bool]] | None = None,
        extra: Callable[[], float] = lambda: 0.0,
    ) -> tuple[dict[str, Any], memoryview]:
        """Wait for the answer; raises Closed, TooLarge or DeadlineExceeded.

        `meanwhile` maps other descriptors to what is called when they are readable; `extra` gives the seconds by
        which that has moved the deadline.
        """
        drains = {self._out: self._drain, **(meanwhile or {})}
        if self._process is not None and not self.channel.over:
            drains[self._process] = self._has_ended
        return self.channel.receive(lambda: deadline + extra(), drains)

    def _has_ended(self) -> bool:
        """Not by the end of its socket alone: a process that another thread forked meanwhile may hold that open."""
        self.channel.over = True
        return False

    def _drain(self) -> bool:
        """Read what the worker printed, keep its beginning and end; False at the end of the stream."""
        try:
            chunk = os.read(self._out, 1 << 16)
        except BlockingIOError:
            return True
        if not chunk:
            return False
        self.output_bytes += len(chunk)
        self._output += chunk
        if len(self._output) > 2 * self._keep:
            half = self._keep // 2
            self._output[half:-half] = b"\n... output cut ...\n"
        return True

    @property
    def output(self) -> str:
        """What the worker printed on its standard output and error, cut to the limit."""
        return str(as_text(self._output.decode("utf-8", "replace")))

    def heard(self) -> str:
        """The `output` so far, whatever of it is still on its way."""
        self._drain_all()
        return self.output

    def _drain_all(self) -> None:
        while self._ready(self._out) and self._drain():
            pass

    def wait(self, seconds: float = GRACE_SECONDS) -> dict[str, Any]:
        """Return how the worker ended: {"exit": code}, {"signal": number} (and "limit": name), {} when init itself
        was killed, {"alive": true} when it has not ended within `seconds`. Raises SandboxFault where nobody of ours
        killed it, and the machine has killed processes for want of memory meanwhile: that is nobody's verdict.
        """
        if self.ended is None:
            self.ended = self._wait(time.monotonic() + seconds)
            killed = not self.ended or (self.ended.get("signal") == signal.SIGKILL and "limit" not in self.ended)
            if killed and memory_kills() > self._memory_kills:
                raise SandboxFault(OUT_OF_MEMORY)
            self._drain_all()
        return self.ended

    def _wait(self, deadline: float) -> dict[str, Any]:
        data = b""
        watched = [self._status, self._out]
        while (remaining := deadline - time.monotonic()) > 0:
            ready = frames.readable(watched, remaining)
            if self._out in ready and not self._drain():
                watched.remove(self._out)  # the worker closed its output
            if self._status in ready:
                chunk = os.read(self._status, 4096)
                data += chunk
                if not chunk:
                    return {}
                with contextlib.suppress(ValueError):  # the rest is to come
                    return dict(json.loads(data))
        return {"alive": True}

    @staticmethod
    def _ready(descriptor: int) -> bool:
        return bool(frames.readable([descriptor], 0))

    def trace(self) -> None:
        """Have a worker that gives no answer print where its Python code is; a guest has no clock to do it by."""
        self._signal(signal.SIGUSR1)
        deadline = time.monotonic() + TRACE_SECONDS
        printed = self.output_bytes
        while (remaining := deadline - time.monotonic()) > 0:
            if frames.readable([self._out], remaining) and not self._drain():
                return
            if self.output_bytes > printed:
                deadline = min(deadline, time.monotonic() + TRACE_SECONDS / 10)  # the rest of it comes at once

    def kill(self) -> None:
        """End the worker and everything that it started; safe to call twice."""
        alone = "processes" in self.isolation["on"]
        if not self._ready(self._status):  # init holds the pipe's other end, so the process id is still its own
            # Without a process-id namespace init itself must end what the candidate started.
            self._signal(signal.SIGKILL if alone else signal.SIGTERM)
        if not self._gone(GRACE_SECONDS) and not alone:
            self._signal(signal.SIGKILL)
            self._gone(GRACE_SECONDS)

    def _signal(self, number: int) -> None:
        with contextlib.suppress(OSError):
            os.kill(self.pid, number)

    def _gone(self, seconds: float) -> bool:
        """Wait for the end of init: in a process-id namespace the last to end, after everything that it held."""
        if self._process is not None:
            return bool(frames.readable([self._process], seconds))
        deadline = time.monotonic() + seconds
        while (remaining := deadline - time.monotonic()) > 0:
            if frames.readable([self._status], remaining) and not os.read(self._status, 4096):
                return True
        return False


def _pidfd(pid: int) -> int | None:
    """Return a descriptor that becomes readable when the process has ended; None before Linux 5.3."""
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def describe_end(ended: dict[str, Any]) -> str:
    """Say in words how a worker ended."""
    if "limit" in ended:
        return EXCEEDED.get(ended["limit"], f"the limit on {ended['limit']} was exceeded")
    if "signal" in ended:
        number = ended["signal"]
        return f"the process was killed by signal {number} ({_signal_name(number)})"
    if "exit" in ended:
        return f"the process ended by itself with exit code {ended['exit']} before it had answered"
    if ended.get("alive"):
        return "the process closed its connection to the judge without an answer"
    return "the process was killed together with its supervisor"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "a real-time signal"
