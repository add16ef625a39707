"""Fork servers of the judge that outlive a pool: the next pool of the same kind takes them over.

Their imports are most of a short test's time, and they are made to be as fresh after a job as before it: all that a
pool runs are forks of them. Each pool has them to itself while it is open; so has each `Caller`, of sealed calls. A
module that is about these processes themselves says `pytestmark = pytest.mark.own_servers`.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import socket
import subprocess
import threading
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bringup.judge import _pool
from bringup.judge._processes import (
    PATHS,
    START_SECONDS,
    VARIABLES,
    ForkServer,
    confine,
    process_environment,
    server_command,
    server_folders,
)
from bringup.judge._scratch import Scratch
from bringup.judge.calling import Caller

MOST = 6  # that are kept for a next pool, each some 200 MB
_idle: dict[tuple[object, ...], _Running] = {}  # the oldest first
_homes: dict[tuple[object, ...], Scratch] = {}  # of the servers of one kind
HOME = "SCRATCH"  # in the place of a folder that only one pool has
_callers: dict[tuple[object, ...], socket.socket] = {}  # control sockets of idle servers of sealed calls
_own_server = Caller._server


class _Process:
    """What a pool asks of an `asyncio.subprocess.Process`, of one that no event loop owns."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process, self.pid = process, process.pid

    @property
    def returncode(self) -> int | None:
        return self.process.poll()


@dataclass
class _Running:
    process: _Process
    control: socket.socket

    def end(self) -> None:
        self.control.close()
        try:
            self.process.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.process.kill()
            self.process.process.wait()


class KeptForkServer(ForkServer):
    """A fork server that is taken over from an earlier pool where one of the same kind is idle."""

    def __init__(
        self, role: str, environment: dict[str, str], directory: str, target: str = "", kernel_cache: str | None = None
    ) -> None:
        super().__init__(role, environment, directory, target, kernel_cache)
        self.own_profile = directory in target  # a copy of a user's, which goes with the pool
        self.kind = _kind(role, target, environment, directory, kernel_cache)
        self.running: _Running | None = None

    async def start(self) -> None:
        # A server ends with the thread that started it.
        if self.own_profile or threading.current_thread() is not threading.main_thread():
            await super().start()
            return
        running = _idle.pop(self.kind, None)
        if running is None or running.process.returncode is not None:
            running = await self._started()
        self.running, self.control = running, running.control
        self.process = running.process  # type: ignore[assignment]

    async def _started(self) -> _Running:
        ours, theirs = socket.socketpair()
        process = self._spawned(theirs)
        theirs.close()
        ours.setblocking(False)
        try:
            answer = await asyncio.wait_for(asyncio.get_running_loop().sock_recv(ours, 64), START_SECONDS)
        except BaseException:
            ours.close()
            process.kill()
            process.wait()
            raise
        if answer != b"ready\n":
            raise self._start_failure(process.wait())
        confine(process.pid)
        return _Running(_Process(process), ours)

    def _spawned(self, control: socket.socket) -> subprocess.Popen[bytes]:
        home = _home(self.kind, self.home)  # the pool's own is removed with it
        environment = {name: value.replace(self.home, home) for name, value in self.environment.items()}
        with (
            open(self.log, "ab") as log,
            server_folders(environment, home, self.kernel_cache) as folders,
        ):
            return subprocess.Popen(
                server_command(self.role, self.target, folders), env=environment, stdin=control.fileno(), stdout=log,
                stderr=log, pass_fds=folders,
            )  # fmt: skip

    async def close(self) -> None:
        if self.running is None:
            await super().close()
            return
        running, self.running = self.running, None
        if running.process.returncode is not None or self.kind in _idle:
            running.end()
            return
        _idle[self.kind] = running
        while len(_idle) > MOST:
            _idle.pop(next(iter(_idle))).end()


def _kind(
    role: str, target: str, environment: dict[str, str], directory: str, kernel_cache: str | None
) -> tuple[object, ...]:
    """What servers must have in common: all that they are told, whose names of a pool's own folder are the same."""
    told = [Path(directory, name) for name in (PATHS, VARIABLES)]
    files = [file.read_text(encoding="utf-8").replace(directory, HOME) for file in told if file.exists()]
    variables = {name: value.replace(directory, HOME) for name, value in environment.items()}
    return (role, target, *sorted(variables.items()), *files, kernel_cache)


def _home(kind: tuple[object, ...], directory: str) -> str:
    """The folder of all servers of a kind, with what is left for them in a pool's own."""
    if kind not in _homes:
        _homes[kind] = Scratch()
        for file in (Path(directory, name) for name in (PATHS, VARIABLES)):
            if file.exists():
                text = file.read_text(encoding="utf-8").replace(directory, _homes[kind].name)
                Path(_homes[kind].name, file.name).write_text(text, encoding="utf-8")
    return _homes[kind].name


def _kept_server(caller: Caller) -> tuple[Any, Any]:
    """As `Caller._server`: take one over that an earlier caller of the same kind has left, if it lives."""
    assert caller._scratch is not None
    directory = caller._scratch.name
    environment = process_environment("run", directory, caller._folder, caller._variables)
    kind = _kind("sealed", caller.target, environment, directory, caller._folder)
    control = _callers.pop(kind, None)
    if control is None or not _lives(control):
        _home(kind, directory)
        own, caller._scratch = caller._scratch, _homes[kind]
        try:
            control, finalizer = _own_server(caller)
        finally:
            caller._scratch = own
        finalizer.detach()
    return control, weakref.finalize(caller, _give_back, kind, control, os.getpid())


def _lives(control: socket.socket) -> bool:
    """A server that has ended has closed its end."""
    with contextlib.suppress(BlockingIOError):
        return bool(control.recv(1, socket.MSG_DONTWAIT | socket.MSG_PEEK))
    return True


def _give_back(kind: tuple[object, ...], control: socket.socket, owner: int) -> None:
    if os.getpid() != owner:
        return
    if kind in _callers or len(_callers) >= MOST:
        control.close()
    else:
        _callers[kind] = control


@atexit.register
def end_all() -> None:
    """End what is idle."""
    while _callers:
        _callers.popitem()[1].close()
    while _idle:
        _idle.popitem()[1].end()


@pytest.fixture(scope="module", autouse=True)
def kept_servers(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let pools of the module's tests take servers over, but where it wants its own."""
    if request.node.get_closest_marker("own_servers"):
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_pool, "ForkServer", KeptForkServer)
        patch.setattr(Caller, "_server", _kept_server)
        yield
