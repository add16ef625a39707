"""The referee's handle on the device process: puts inputs in, takes outputs out, has kernels compiled for it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
from collections.abc import Callable, Sequence
from typing import Any

from bringup.device import frames
from bringup.judge._memory import memory_kills
from bringup.judge._reply import as_text

SEND_SECONDS = 60.0
START_SECONDS = 60.0  # a GPU's context takes a while on a busy machine
Compile = Callable[[dict[str, Any]], tuple[dict[str, Any], bytes]]


class DeviceLost(Exception):
    """The device process has died, or does not answer in time. `hangs`: the latter."""

    def __init__(self, text: str, hangs: bool = False) -> None:
        super().__init__(text)
        self.hangs = hangs


class DeviceFault(Exception):
    """A device process cannot be started, or its device has failed: the environment's failure."""


class Device:
    """One device process, for one guest after the other."""

    def __init__(self, spawner: socket.socket, compile: Compile) -> None:
        """Start it through `spawner`; `compile` answers its requests for kernels. Raises DeviceFault."""
        self.compile = compile
        self.memory_kills = memory_kills()
        self.control, theirs = socket.socketpair()
        with contextlib.ExitStack() as held:
            held.callback(self.control.close)  # then a process that has been forked ends
            try:
                with theirs:
                    socket.send_fds(spawner, [b"device"], [theirs.fileno()])
                header, _ = self._receive(time.monotonic() + START_SECONDS)
            except (OSError, DeviceLost) as error:
                raise DeviceFault(f"the device process did not start: {error}") from error
            if "fault" in header:
                raise DeviceFault(str(header["fault"]))
            self.pid = int(header["pid"])
            held.pop_all()

    @property
    def fd(self) -> int:
        """Readable when the device wants something, or has died."""
        return self.control.fileno()

    def next_guest(self, source: str, memory_bytes: int) -> socket.socket:
        """Wipe everything, and return the guest's end of a new stream."""
        ours, theirs = socket.socketpair()
        try:
            self._send({"do": "guest", "source": source, "memory": memory_bytes})
            socket.send_fds(self.control, [b"g"], [theirs.fileno()])
        except OSError as error:
            ours.close()
            raise DeviceLost(str(error)) from error
        finally:
            theirs.close()
        self._receive(time.monotonic() + START_SECONDS)
        return ours

    def begin(
        self, mode: dict[str, Any], sizes: Sequence[int], payloads: Sequence[memoryview], deadline: float
    ) -> list[int]:
        """Put a call's inputs into device memory; return the addresses of their storages."""
        self._send({"do": "begin", "mode": mode, "sizes": list(sizes)}, payloads, deadline)
        header, _ = self._receive(deadline)
        return [int(base) for base in header["bases"]]

    def begin_zeros(self, sizes: Sequence[int], bases: Sequence[int], deadline: float) -> None:
        """Open a call whose inputs hold zeros and lie at these addresses: it is asked for times alone."""
        self._send({"do": "begin", "mode": {"clock": True}, "sizes": list(sizes), "bases": list(bases)}, (), deadline)
        self._receive(deadline)

    def end(
        self, storages: Sequence[Sequence[int]], outputs: Sequence[dict[str, Any]], deadline: float
    ) -> tuple[dict[str, Any], memoryview]:
        """Close the call; return its account and the bytes of `storages` ([base, bytes] each).

        `outputs` are tensors on these storages, for which the header says who wrote them.
        """
        self._send({"do": "end", "storages": list(storages), "outputs": list(outputs)}, (), deadline)
        header, data = self._receive(deadline)
        # Its messages quote names that the guest has given.
        return {**header, **{key: as_text(header[key]) for key in ("error", "printed", "transcript")}}, data

    def rehearse(self, calls: Sequence[dict[str, Any]], deadline: float) -> None:
        """Open calls that nothing runs for; see `bringup.device.machine.Machine.rehearse`."""
        self._send({"do": "rehearse", "calls": list(calls)}, (), deadline)
        self._receive(deadline)

    def told(self, storages: Sequence[Any], deadline: float) -> dict[str, Any]:
        """Close these calls: what each asked for, and the names of its storages; `error` of the first that failed."""
        self._send({"do": "told", "storages": list(storages)}, (), deadline)
        header, _ = self._receive(deadline)
        found: dict[str, Any] = as_text(header)  # its lines quote names that the guest has given
        return found

    def replay(
        self, tape: bytes, times: int, memory_bytes: int, mode: dict[str, Any], deadline: float
    ) -> dict[str, Any]:
        """Run a tape; return seconds of each run, whether the result is the recorded one, counters, error."""
        self._send({"do": "replay", "times": times, "memory": memory_bytes, "mode": mode}, (tape,))
        return self._receive(deadline)[0]

    def measure(
        self, request: dict[str, Any], tapes: Sequence[bytes], deadline: float
    ) -> tuple[dict[str, Any], memoryview]:
        """Time tapes, and references, in turns; see `bringup.judge._bench`."""
        self._send({"do": "measure", **request}, tapes)
        return self._receive(deadline)

    def serve(self) -> bool:
        """Answer one request for a kernel; raises DeviceLost. For a loop that waits for somebody else, too."""
        header, _ = self._frame()
        if "compile" not in header:
            raise DeviceLost("the device process said something out of turn")
        self._answer(header)
        return True

    def _answer(self, request: dict[str, Any]) -> None:
        answer, binary = self.compile(request)
        self._send({"kernel": request["compile"], **answer}, (binary,) if binary else ())

    def _frame(self) -> tuple[dict[str, Any], memoryview]:
        try:
            return frames.receive(self.control)
        except (frames.Closed, frames.TooLarge, ValueError) as error:
            raise DeviceLost(f"the device process has ended: {error}") from None

    def _send(
        self, header: dict[str, Any], payloads: Sequence[bytes | memoryview] = (), deadline: float | None = None
    ) -> None:
        # A process that does not read must not hold the referee: it may itself be waiting to be read.
        self.control.settimeout(SEND_SECONDS if deadline is None else max(0.1, deadline - time.monotonic()))
        try:
            frames.send(self.control, header, payloads)
        except frames.DeadlineExceeded:
            raise DeviceLost("the device process does not listen", hangs=True) from None
        except frames.Closed as error:
            raise DeviceLost(f"the device process has ended: {error}") from None
        finally:
            self.control.settimeout(None)

    def _receive(self, deadline: float) -> tuple[dict[str, Any], memoryview]:
        while True:
            remaining = deadline - time.monotonic()
            if remaining <= 0 or not frames.readable([self.control], remaining):
                raise DeviceLost("the device process does not answer", hangs=True)
            header, payload = self._frame()
            if "compile" not in header:
                error = header.get("error")
                if isinstance(error, dict) and error.get("kind") == "lost":
                    raise DeviceFault(str(error["text"]))
                return header, payload
            self._answer(header)

    def close(self) -> None:
        """End it; safe to call twice."""
        with contextlib.suppress(OSError):
            os.kill(self.pid, signal.SIGKILL)
        self.control.close()
