"""The judge's handle on one isolated worker: send, receive against a deadline, watch its output and its end."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import socket
import tempfile
import time
from typing import Any

from bringup.judge import _wire
from bringup.judge._isolate import Limits

GRACE_SECONDS = 2.0  # for the kernel to finish a process that was told to end


class Guest:
    """One worker, from its fork to its end; use as a context manager, whose exit leaves no process behind."""

    def __init__(self, spawner: socket.socket, limits: dict[str, Any], output_kb: int, root: str) -> None:
        """Fork a worker through `spawner`; `limits` lacks only the scratch directory, made under `root`."""
        self.scratch = tempfile.mkdtemp(prefix="worker-", dir=root)
        self._keep = output_kb << 10
        self._output = bytearray()
        self.output_bytes = 0
        ours, theirs = socket.socketpair()
        out_read, out_write = os.pipe()
        status_read, status_write = os.pipe()
        request = json.dumps(Limits(**limits, scratch=self.scratch).to_json()).encode()
        socket.send_fds(spawner, [request], [theirs.fileno(), out_write, status_write])
        theirs.close()
        os.close(out_write)
        os.close(status_write)
        answer = json.loads(spawner.recv(4096))
        self.pid: int = answer["pid"]
        self.isolation: str = answer["isolation"]
        self._out, self._status = out_read, status_read
        os.set_blocking(out_read, False)
        self.sock = ours
        self.channel = _wire.Channel(ours, limits["memory_mb"] << 20)
        self.ended: dict[str, Any] | None = None

    def __enter__(self) -> Guest:
        return self

    def __exit__(self, *exc: object) -> None:
        self.sock.close()
        self.kill()
        os.close(self._out)
        os.close(self._status)
        shutil.rmtree(self.scratch, ignore_errors=True)

    def send(self, header: dict[str, Any], payloads: Any, deadline: float) -> None:
        """Send a request; raises Closed or DeadlineExceeded."""
        self.sock.settimeout(max(0.01, deadline - time.monotonic()))
        _wire.send(self.sock, header, payloads)
        self.sock.settimeout(None)

    def receive(self, deadline: float) -> tuple[dict[str, Any], memoryview]:
        """Wait for the answer; raises Closed, TooLarge or DeadlineExceeded."""
        return self.channel.receive(deadline, {self._out: self._drain})

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
        return self._output.decode("utf-8", "replace")

    def wait(self, seconds: float = GRACE_SECONDS) -> dict[str, Any]:
        """Return how the worker ended: {"exit": code}, {"signal": number}, or {} when init itself was killed."""
        if self.ended is None:
            deadline = time.monotonic() + seconds
            data = b""
            while (remaining := deadline - time.monotonic()) > 0:
                ready, _, _ = select.select([self._status, self._out], [], [], remaining)
                if self._out in ready and not self._drain():
                    os.set_blocking(self._out, False)
                    ready_status, _, _ = select.select([self._status], [], [], remaining)
                    ready = ready_status
                if self._status in ready:
                    chunk = os.read(self._status, 4096)
                    data += chunk
                    if not chunk:
                        break
            self.ended = json.loads(data) if data else {}
            while self._drain_available():
                pass
        return self.ended

    def _drain_available(self) -> bool:
        ready, _, _ = select.select([self._out], [], [], 0)
        return bool(ready) and self._drain()

    def kill(self) -> None:
        """End the worker and everything that it started; safe to call twice."""
        ready, _, _ = select.select([self._status], [], [], 0)
        if not ready:  # init holds the pipe's other end, so it is alive and the process id is still its own
            with contextlib.suppress(OSError):
                os.killpg(self.pid, signal.SIGKILL)
            with contextlib.suppress(OSError):
                os.kill(self.pid, signal.SIGKILL)
        # The status pipe closes only when init is gone, and with it (in a pid namespace) every other process.
        deadline = time.monotonic() + GRACE_SECONDS
        while (remaining := deadline - time.monotonic()) > 0:
            ready, _, _ = select.select([self._status], [], [], remaining)
            if not ready or not os.read(self._status, 4096):
                break


def describe_end(ended: dict[str, Any]) -> str:
    """Say in words how a worker ended."""
    if ended.get("processes"):
        return "the process limit was exceeded: the candidate started too many processes and was killed"
    if "signal" in ended:
        number = ended["signal"]
        return f"the process was killed by signal {number} ({signal.Signals(number).name})"
    if "exit" in ended:
        return f"the process ended by itself with exit code {ended['exit']} before it had answered"
    return "the process was killed together with its supervisor"
