"""How long launches of a sealed wrapper take: a device process as the judge's is asked, by the same commands.

What a tuner is told may not hang on where it runs. So a trial is no second program that does the same: it is the
judge's own device, which is sent what the guest has sent, in a memory of zeros where everything lies as the guest was
told. A kernel that goes from one argument to the next by its distance finds there what it finds in the judge.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from bringup.device import frames
from bringup.device.wire import HEAD, Command
from bringup.judge._device import Device, DeviceFault, DeviceLost
from bringup.library.errors import GuestFailed

MEMORY_BYTES = 64 << 30  # the judge has less; there a call that needs more is refused
SECONDS = 120.0  # that a device may take for one answer: kernels have budgets, compilers limits of their own
KEPT = 2  # devices that are idle
_LOST = (DeviceLost, DeviceFault, frames.Closed, frames.TooLarge, OSError)


class Clock:
    """The device processes of one enabled library: one for each call that times something, and kept for later ones."""

    def __init__(self, start: Callable[[], Device]) -> None:
        self._start = start
        self._idle: list[Device] = []
        self._lock = threading.Lock()

    def follow(self, sizes: Sequence[int], bases: Sequence[int]) -> Followed:
        """Begin to follow a call with arguments of so many bytes at these addresses. Raises GuestFailed."""
        with self._lock:
            kept = self._idle.pop() if self._idle else None
        for device in (kept, None) if kept is not None else (None,):
            try:
                return self._followed(device, sizes, bases)
            except _LOST as error:
                last = error
        raise GuestFailed(f"no device can be had that times its launches: {last}")

    def _followed(self, device: Device | None, sizes: Sequence[int], bases: Sequence[int]) -> Followed:
        device = self._start() if device is None else device
        try:
            stream = device.next_guest("", MEMORY_BYTES)
            device.begin_zeros(sizes, bases, time.monotonic() + SECONDS)
        except BaseException:  # an interruption leaves it in the middle of an answer
            device.close()
            raise
        return Followed(device, stream, self._keep)

    def _keep(self, device: Device) -> None:
        with self._lock:
            if len(self._idle) < KEPT:
                self._idle.append(device)
                return
        device.close()

    def close(self) -> None:
        """End the processes that are idle; a later question starts another."""
        with self._lock:
            idle, self._idle = self._idle, []
        for device in idle:
            device.close()


class Followed:
    """A call whose commands a device is sent, too."""

    def __init__(self, device: Device, stream: Any, keep: Callable[[Device], None]) -> None:
        self._device, self._stream, self._keep = device, stream, keep
        self._sound = True  # between two answers

    def send(self, command: Command, body: bytes) -> float | None:
        """Send a command; the seconds that are the answer to TIME. Raises GuestFailed where it is none in the judge."""
        self._sound = False
        try:
            self._stream.sendall(HEAD.pack(command, len(body)) + body)
            answer = self._answer() if command in (Command.KERNEL, Command.TIME) else {}
        except _LOST as error:
            raise GuestFailed(f"the device that times its launches has stopped: {error}") from None
        self._sound = True
        if "stopped" in answer:
            raise GuestFailed(f"its launches cannot be timed: {answer['stopped']}")
        return float(answer["seconds"]) if command is Command.TIME else None

    def _answer(self) -> dict[str, Any]:
        deadline = time.monotonic() + SECONDS
        while (left := deadline - time.monotonic()) > 0:
            ready = frames.readable([self._stream, self._device.control], left)
            if self._stream in ready:
                return frames.receive(self._stream)[0]
            if ready:
                self._device.serve()  # it asks for a kernel
        raise DeviceLost("the device process does not answer", hangs=True)

    def close(self) -> None:
        """Leave the device to other calls."""
        self._stream.close()
        if self._sound:
            self._keep(self._device)
        else:
            self._device.close()
