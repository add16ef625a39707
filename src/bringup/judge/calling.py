"""Calls of wrappers in sandboxed processes, one process a call, for others than the judge.

A `Caller` has the judge's own processes: a fork server that has imported torch, Triton and the target, guests without
data forked from it, and compilers that are thrown away. What a wrapper asks the device for goes to a `Device` of the
caller's, as the stream's commands.
"""

from __future__ import annotations

import contextlib
import math
import os
import socket
import struct
import subprocess
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, Protocol

from bringup.config import JudgeLimits
from bringup.device import frames
from bringup.device.wire import HEAD, LARGEST, LARGEST_TEXT, Command
from bringup.judge._compiling import Compiling
from bringup.judge._device import Device as DeviceProcess
from bringup.judge._device import DeviceFault
from bringup.judge._guest import Guest, describe_end
from bringup.judge._kernels import KernelStore, kernels_folder, key_of
from bringup.judge._processes import (
    START_SECONDS,
    JudgeFault,
    confine,
    last_said,
    process_environment,
    server_command,
    server_folders,
    service,
    start_failure,
)
from bringup.judge._reply import check_inputs, check_reply
from bringup.judge._scratch import Scratch
from bringup.judge.sandbox import SandboxFault, ask

CHUNK = 1 << 20
GRACE_SECONDS = 2.0
LOG = "run.log"  # of the fork server, in the scratch
SERVICES = ("guests", "compiles", "devices")
Answer = tuple[dict[str, Any], bytes]


class Device(Protocol):
    """What a guest's commands are done by."""

    def execute(self, command: Command, body: memoryview) -> Answer | None:
        """Do a command; returns what a guest that asks is told. Raises nothing for what the command says."""
        ...


class CallFailed(Exception):
    """A wrapper gave no answer: its process crashed, hung, or the stream of its commands was broken."""

    def __init__(self, text: str, *, late: bool = False) -> None:
        """`late`: it was still at work when its time was over."""
        super().__init__(text)
        self.late = late


def encode(value: Any) -> Any:
    """Return an argument that is no tensor as a guest is told it. Raises CallFailed."""
    from bringup.judge import _codec

    try:
        return _codec.encode(value, _codec.Storages())
    except _codec.Unencodable as error:
        raise CallFailed(f"an argument is {error}, which no guest can be told") from None


def decode(told: Any) -> Any:
    """Return a result that is no tensor. Raises CallFailed."""
    from bringup.judge import _codec

    try:
        return _codec.decode(told, lambda _: None)
    except Exception as error:  # a guest may say anything
        raise CallFailed(f"it returns what cannot be read: {error}") from None


class Caller:
    """Calls wrappers and compiles texts, each in a process of its own. Starts its fork server at the first use.

    Threads may share one: their calls go on beside one another.
    """

    def __init__(self, target: str, *, kernel_cache: str = "", limits: JudgeLimits | None = None) -> None:
        """`target` as `get_target` takes it; `kernel_cache` as `JudgeConfig` has it."""
        from bringup.targets import get_target

        self.target = target
        self.limits = limits or JudgeLimits()
        self._folder = kernels_folder(kernel_cache)
        self._store = KernelStore(self._folder)
        self.toolchain = get_target(target).toolchain()
        self._variables = get_target(target).environment()
        self._scratch: Scratch | None = None
        self._control: socket.socket | None = None
        self._spawners: dict[str, socket.socket] = {}
        self._compiling: Compiling | None = None
        self._lock = threading.RLock()
        self._finalizer: Any = None

    def call(
        self, source: str, request: dict[str, Any], device: Device, seconds: float | None = None
    ) -> dict[str, Any]:
        """Load a module in a fresh process and call its `wrapper` once; return what the guest says of it.

        `request` has `args` and `kwargs` as `encode` makes them, and `bases` and `sizes` of their storages;
        `seconds`: that the call may take, if fewer than the limit. Raises CallFailed, and JudgeFault where no
        processes can be had.
        """
        with self.session(source, device) as session:
            return session.call(request, seconds=seconds)

    def session(self, source: str, device: Device) -> Session:
        """Load a module in a fresh process, which may be asked for several calls. Raises as `call` does."""
        ours, theirs = socket.socketpair()
        stream = _Stream(ours, device)
        try:
            with self._lock:
                guest = self._guest(theirs)
        except BaseException:
            stream.close()
            raise
        finally:
            theirs.close()
        return Session(guest, stream, source, self.limits)

    def _guest(self, stream: socket.socket) -> Guest:
        """Fork a guest; once more, from new processes, where the old ones are gone."""
        bounds = {"memory_mb": self.limits.memory_mb, "processes": self.limits.processes}

        def fork() -> Guest:
            assert self._scratch is not None
            return Guest(self._spawners["guests"], bounds, self.limits.output_kb, self._scratch.name, stream)

        try:
            guest: Guest = self._from_new_processes(fork)
        except (SandboxFault, OSError) as fault:
            raise JudgeFault(f"no guest can be had: {fault}{self._said()}") from None
        return guest

    def compile(self, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        """Compile a text: facts and binary, or `log` and `short` of the refusal.

        Each in a process of its own: one that a text has taken over would answer for the next one.
        """
        with self._lock:
            answer: tuple[dict[str, Any], bytes] = self._from_new_processes(lambda: self._compiled(request))
            return answer

    def _compiled(self, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        assert self._compiling is not None
        return self._compiling.answer(request)

    def _from_new_processes(self, ask: Callable[[], Any]) -> Any:
        """Ask something of the processes; once more, of new ones in the place of those that are gone."""
        self.start()
        try:
            return ask()
        except (SandboxFault, DeviceFault, OSError):
            self._drop_ended()
            self.start()
            return ask()

    def _drop_ended(self) -> None:
        """Forget services that have ended; all of them with the server. Calls of other threads go on in the others."""
        if self._control is not None and frames.readable([self._control], 0):
            self.close()
        for name, spawner in list(self._spawners.items()):
            if frames.readable([spawner], 0):  # nothing is ever said there but its end
                self._spawners.pop(name).close()

    def device(self) -> DeviceProcess:
        """Start a device process, as the judge has them. Raises DeviceFault, JudgeFault."""
        with self._lock:
            made: DeviceProcess = self._from_new_processes(
                lambda: DeviceProcess(self._spawners["devices"], self.compile)
            )
            return made

    def key(self, request: dict[str, Any]) -> str:
        """The key under which what a text is compiled to is kept."""
        return key_of(self.toolchain, request)

    def kept(self, key: str) -> tuple[dict[str, Any], bytes] | None:
        """What a text was compiled to, by its key: facts and binary; None where it is not there. Starts nothing."""
        with self._lock:
            return self._store.get(key)

    def start(self) -> None:
        """Start the processes, if they do not run; raises JudgeFault."""
        with self._lock:
            if self._control is None:
                self._scratch = Scratch()
                self._control, self._finalizer = self._server()
                self._compiling = Compiling(
                    self.toolchain, (), self.limits.compile_seconds, self._store, {}, self._compiler
                )
            for name in SERVICES:
                if name not in self._spawners:
                    near, far = socket.socketpair()
                    with far:
                        ask(self._control, [far.fileno()], service(name))
                    self._spawners[name] = near

    def _said(self) -> str:
        """The last line that the fork server and its services have written, for a message."""
        assert self._scratch is not None
        said = last_said(os.path.join(self._scratch.name, LOG))
        return f" ({said})" if said else ""

    def _compiler(self) -> Guest:
        assert self._scratch is not None
        bounds = {"memory_mb": self.limits.memory_mb, "processes": self.limits.processes}
        return Guest(self._spawners["compiles"], bounds, self.limits.output_kb, self._scratch.name)

    def _server(self) -> tuple[socket.socket, Any]:
        assert self._scratch is not None
        environment = process_environment("run", self._scratch.name, self._folder, self._variables)
        home = self._scratch.name
        log = os.path.join(home, LOG)
        ours, theirs = socket.socketpair()
        started: list[Any] = []
        ready = threading.Event()

        def run() -> None:
            # It ends with the thread that has started it (`die_with_parent`), so that one does nothing else.
            try:
                with open(log, "ab") as output, server_folders(environment, home, self._folder) as folders:
                    process = subprocess.Popen(
                        server_command("run", self.target, folders), env=environment, stdout=output,
                        stderr=output, stdin=theirs.fileno(), pass_fds=folders,
                    )  # fmt: skip
                started.append(process)
            except OSError as error:
                started.append(error)
                return
            finally:
                ready.set()
            process.wait()

        threading.Thread(target=run, name="bringup-sealed", daemon=True).start()
        ready.wait()
        theirs.close()
        process = started[0]
        if isinstance(process, OSError):
            raise JudgeFault(f"the fork server of sealed calls does not start: {process}")
        ours.settimeout(START_SECONDS)
        try:
            said = ours.recv(64)
        except TimeoutError:
            process.kill()
            raise JudgeFault(f"the fork server of sealed calls did not start within {START_SECONDS:g} s") from None
        if said != b"ready\n":
            raise start_failure(process.wait(), log)
        confine(process.pid)
        ours.settimeout(None)
        return ours, weakref.finalize(self, _end, ours, os.getpid())

    def close(self) -> None:
        """End all processes; safe to call twice. A later call starts them again."""
        with self._lock:
            if self._control is None:
                return
            self._control = None
            self._compiling = None
            for one in self._spawners.values():
                one.close()
            self._spawners.clear()
            self._finalizer()
            assert self._scratch is not None
            with contextlib.suppress(OSError):
                self._scratch.close()

    def forget(self) -> None:
        """Drop, in a child of this process, what belongs to the parent; the next call starts processes of its own."""
        self._lock = threading.RLock()
        if self._finalizer is not None:
            self._finalizer.detach()
        if self._scratch is not None:
            self._scratch.leave()
        self._control, self._spawners, self._compiling, self._scratch = None, {}, None, None


class Session:
    """A process that has loaded a module, and calls its `wrapper` when it is asked; use as a context manager."""

    def __init__(self, guest: Guest, stream: _Stream, source: str, limits: JudgeLimits) -> None:
        """Nothing is sent before the first call, which loads the module."""
        self._guest, self._stream, self._source, self._limits = guest, stream, source, limits
        self._called = False
        self._failed: dict[str, Any] | None = None  # what the guest says of a module that cannot be loaded

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process; safe to call twice."""
        if not self._stream.closed:
            self._guest.__exit__()
            self._stream.close()

    def call(
        self, request: dict[str, Any], device: Device | None = None, seconds: float | None = None
    ) -> dict[str, Any]:
        """Call the wrapper; return what the guest says of it, or of the module where that cannot be loaded.

        `request` and `seconds` as for `Caller.call`; `device`: what does the commands from now on. Raises CallFailed,
        after which only `close` is left.
        """
        stream, limit = self._stream, self._limits.case_seconds
        seconds = limit if seconds is None else min(seconds, limit)
        if device is not None:
            stream.device = device
        stream.seconds = 0.0
        deadline = time.monotonic() + seconds + GRACE_SECONDS
        stream.until = deadline + self._limits.compile_seconds

        def extra() -> float:
            return min(stream.seconds, self._limits.compile_seconds)

        def asked(message: dict[str, Any]) -> dict[str, Any]:
            self._guest.send(message, (), deadline + extra())
            return check_reply(self._guest.receive(deadline, {stream.sock.fileno(): stream.serve}, extra)[0])

        try:
            if self._failed is not None:
                return self._failed
            loads = {} if self._called else {"source": self._source, "compile_for": []}
            self._called = True
            reply = asked({**request, **loads})
            if reply.get("phase") == "load":
                self._failed = reply
        except frames.DeadlineExceeded:
            raise CallFailed(f"the wrapper did not return within {seconds:g} s", late=True) from None
        except (frames.Closed, frames.TooLarge):
            raise CallFailed(f"{describe_end(self._guest.wait())}\n{self._guest.output}".strip()) from None
        try:
            check_inputs(reply, request)
        except ValueError as error:
            raise CallFailed(f"its answer makes no sense: {error}") from None
        stream.drain(time.monotonic() + GRACE_SECONDS)
        return reply


def _end(control: socket.socket, owner: int) -> None:
    if os.getpid() == owner:
        control.close()


class _Stream:
    """The device's end of a guest's stream of commands."""

    def __init__(self, sock: socket.socket, device: Device) -> None:
        self.sock, self.device = sock, device
        self.seconds = 0.0
        """Spent on commands: no time of the wrapper's."""
        self.until = math.inf
        """When no more of them is begun: many may come at once."""
        self._buffer = bytearray()
        self._open = True

        # A guest that does not read its answers must not hold this process up.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", int(GRACE_SECONDS), 0))
        self.closed = False

    def close(self) -> None:
        self.closed = True
        self.sock.close()

    def serve(self) -> bool:
        """Take what is there; False at the end of the stream."""
        self._take()
        return self._open

    def _take(self) -> bool:
        """Do what has come; False where nothing has."""
        try:
            data = self.sock.recv(CHUNK, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._open = False
            return False
        self._buffer += data
        began = time.monotonic()
        try:
            self._commands()
        finally:
            self.seconds += time.monotonic() - began
        return True

    def drain(self, deadline: float) -> None:
        """Take what the guest has sent before its answer; raises CallFailed where it goes on sending."""
        while self._open and self._take():
            if time.monotonic() > deadline:
                self._hang_up()
                raise CallFailed("it goes on asking the device after its answer")

    def _hang_up(self) -> None:
        self._open = False
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)

    def _commands(self) -> None:
        buffer, at = self._buffer, 0
        with memoryview(buffer) as view:
            while len(buffer) - at >= HEAD.size:
                code, length = HEAD.unpack_from(buffer, at)
                if not _admits(code, length) or time.monotonic() > self.until:
                    at = len(buffer)
                    self._hang_up()
                    break
                if len(buffer) - at - HEAD.size < length:
                    break
                body = view[at + HEAD.size : at + HEAD.size + length]
                at += HEAD.size + length
                answer = self.device.execute(Command(code), body)
                body.release()
                if answer is not None:
                    try:
                        frames.send(self.sock, answer[0], (answer[1],) if answer[1] else ())
                    except (frames.Closed, frames.DeadlineExceeded):  # it does not read what it has asked for
                        at = len(buffer)
                        self._hang_up()
                        break
        del buffer[:at]


def _admits(code: int, length: int) -> bool:
    if code not in set(Command):
        return False
    return length <= (LARGEST_TEXT if code in (Command.KERNEL, Command.ALSO) else LARGEST)
