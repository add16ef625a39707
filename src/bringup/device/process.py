"""The device process: commands from the guest's stream, messages from the referee, nothing of a candidate's."""

from __future__ import annotations

import linecache
import os
import select
import socket
import struct
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bringup.device import frames
from bringup.device.account import STREAM, Broken
from bringup.device.engine import Engine
from bringup.device.machine import Machine
from bringup.device.replay import replay
from bringup.device.wire import HEAD, LARGEST, LARGEST_TEXT, SOURCE, Command

Service = Callable[[Machine, dict[str, Any], memoryview], tuple[dict[str, Any], Sequence[bytes]]]
"""(machine, request, payload) -> header and payload of the answer."""
CHUNK = 1 << 20
ANSWER_SECONDS = 5


_LARGEST = {int(c): LARGEST_TEXT if c in (Command.KERNEL, Command.ALSO) else LARGEST for c in Command}


def _broken(code: int, length: int) -> str:
    if code not in _LARGEST:
        return f"the stream of commands is broken: there is no command {code}"
    name, most = Command(code).name, _LARGEST[code]
    return f"the stream of commands is broken: a command {name} of {length} bytes, {most} are allowed"


class DeviceProcess:
    """One device, one guest at a time."""

    def __init__(self, engine: Engine, control: socket.socket, services: Mapping[str, Service] | None = None) -> None:
        """Take the engine and the socket to the referee; `services`: what else the referee may ask for, by name."""
        self.engine, self.control = engine, control
        self.services = services or {}
        self.guest: socket.socket | None = None
        self.buffer = bytearray()
        self.waiting: deque[tuple[dict[str, Any], memoryview]] = deque()
        self.machine = Machine(engine, self._compile)

    # The loop ------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the device; raises what the engine raises."""
        self.engine.start(self._describe)

    def _describe(self, address: int) -> str:
        return self.machine.memory.describe(address)  # each guest has its own

    def serve(self) -> None:
        """Say that the device is ready, and by what number, and answer until the referee closes its socket."""
        frames.send(self.control, {"ready": True, "pid": os.getpid()})
        while True:
            while self.waiting:
                self._message(*self.waiting.popleft())
            # Between calls a guest is not listened to, as in sealed use: how far it gets there would tell who asks.
            watched = [self.control] if self.guest is None or not self.machine.in_call else [self.control, self.guest]
            ready, _, _ = select.select(watched, [], [])
            try:
                # The guest's commands first: the referee asks for results once the guest has sent them all.
                if self.guest is not None and self.guest in ready:
                    self._guest_ready()
                elif self.control in ready:
                    self._control_ready()
            except frames.Closed:
                return

    def _guest_ready(self) -> bool:
        """Take what the guest has sent; False when there is nothing more."""
        assert self.guest is not None
        try:
            data = self.guest.recv(CHUNK, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self.guest.close()
            self.guest = None
            return False
        self.buffer += data
        self._commands()
        return True

    def _commands(self) -> None:
        at, buffer = 0, self.buffer
        with memoryview(buffer) as view:
            while len(buffer) - at >= HEAD.size:
                code, length = HEAD.unpack_from(buffer, at)
                if code not in _LARGEST or length > _LARGEST[code]:
                    self.machine.note(Broken(STREAM, _broken(code, length)))
                    at = len(buffer)  # no way to find the next command
                    self._hang_up()
                    break
                if len(buffer) - at - HEAD.size < length:
                    break
                body = view[at + HEAD.size : at + HEAD.size + length]
                at += HEAD.size + length
                self._answer(self.machine.execute(Command(code), body))
                body.release()
        del buffer[:at]

    def _hang_up(self) -> None:
        if self.guest is not None:
            self.guest.close()
            self.guest = None

    def _answer(self, answer: tuple[dict[str, Any], bytes] | None) -> None:
        if self.guest is None or answer is None:
            return
        try:
            frames.send(self.guest, answer[0], (answer[1],) if answer[1] else ())
        except (frames.Closed, frames.DeadlineExceeded):
            self._hang_up()

    def _compile(self, digest: str, text: dict[str, Any]) -> tuple[dict[str, Any], memoryview]:
        """Have the referee compile a text, or find it in the store."""
        frames.send(self.control, {"compile": digest, **text})
        while True:
            header, payload = frames.receive(self.control)
            if header.get("kernel") == digest:
                return header, payload
            self.waiting.append((header, payload))  # of a call whose guest did not wait for its kernel

    # The referee's messages ----------------------------------------------------------------------------------

    def _control_ready(self) -> None:
        self._message(*frames.receive(self.control))

    def _message(self, request: dict[str, Any], payload: memoryview) -> None:
        what = request["do"]
        if what == "guest":
            self._new_guest(request)
        elif what == "begin":
            self._begin(request, payload)
        elif what == "end":
            self._end(request)
        elif what == "rehearse":
            self._drain()
            self.machine.rehearse(request["calls"])
            frames.send(self.control, {})
        elif what == "told":
            self._drain()
            frames.send(self.control, self.machine.told(request["storages"]))
        elif what == "replay":
            self._replay(request, payload)
        elif what in self.services:
            self._hang_up()
            frames.send(self.control, *self.services[what](self.machine, request, payload))
        else:
            raise AssertionError(f"the referee asked for {what}")

    def _new_guest(self, request: dict[str, Any]) -> None:
        """Wipe everything but compiled kernels, and take another guest's end of the stream."""
        _, descriptors, _, _ = socket.recv_fds(self.control, 1, 1)
        self._hang_up()
        self.buffer.clear()
        self.machine.renew(int(request["memory"]))
        self.guest = socket.socket(fileno=descriptors[0])
        # A guest that does not read its answers must not hold the device up.
        self.guest.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", ANSWER_SECONDS, 0))
        text = str(request["source"])
        linecache.cache[SOURCE] = (len(text), None, text.splitlines(True), SOURCE)
        frames.send(self.control, {})

    def _begin(self, request: dict[str, Any], payload: memoryview) -> None:
        self._drain()
        bases = self.machine.begin(request["mode"], request["sizes"], payload, request.get("bases"))
        frames.send(self.control, {"bases": bases})

    def _end(self, request: dict[str, Any]) -> None:
        self._drain()
        frames.send(self.control, *self.machine.end(request.get("storages", []), request.get("outputs", [])))

    def _replay(self, request: dict[str, Any], payload: memoryview) -> None:
        self._hang_up()
        frames.send(self.control, replay(self.machine, request, payload))

    def _drain(self) -> None:
        """What the guest sent before it answered is in the socket already, and belongs to what came before."""
        while self.guest is not None and self._guest_ready():
            pass
