"""Processes of a program that does several things at once: one call's misfortune is no other's."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bringup.config import JudgeLimits
from bringup.device import frames
from bringup.device.wire import Command
from bringup.judge import _guest
from bringup.judge._guest import Guest
from bringup.judge.calling import Caller, CallFailed, decode, encode

SLOW = "def wrapper():\n    import time\n    time.sleep(3)\n    return 7\n"
CALL: dict[str, Any] = {"args": encode([]), "kwargs": encode({}), "bases": [], "sizes": []}


class NoDevice:
    """For wrappers that ask for nothing."""

    def execute(self, command: Command, body: memoryview) -> None:
        """Do nothing."""


@pytest.fixture(scope="module")
def caller() -> Iterator[Caller]:
    made = Caller("vpe:pe64", limits=JudgeLimits(case_seconds=20))
    made.start()
    yield made
    made.close()


def open_files() -> set[str]:
    return set(os.listdir("/proc/self/fd"))


def fork(caller: Caller, stream: socket.socket | None = None) -> Guest:
    assert caller._scratch is not None
    bounds = {"memory_mb": 2048, "processes": 8}
    return Guest(caller._spawners["guests"], bounds, 16, caller._scratch.name, stream)


@pytest.mark.parametrize("at", ["asking", "answer"])
def test_an_interrupted_start_leaves_nothing_open(caller: Caller, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    assert caller._scratch is not None
    with fork(caller):
        pass
    files, folders = open_files(), os.listdir(caller._scratch.name)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_guest, {"asking": "ask", "answer": "answered"}[at], interrupted)
    with pytest.raises(KeyboardInterrupt):
        fork(caller)
    assert open_files() == files
    assert os.listdir(caller._scratch.name) == folders


def test_a_guest_without_descriptors_leaves_nothing_open(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    files, pipes = open_files(), []
    pipe = os.pipe

    def short() -> tuple[int, int]:
        if pipes:
            raise OSError(24, "Too many open files")
        pipes.append(0)
        return pipe()

    monkeypatch.setattr(os, "pipe", short)
    with pytest.raises(OSError, match="Too many open files"):
        fork(caller)
    assert open_files() == files


def test_its_end_is_seen_though_another_process_holds_its_socket(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one does that another thread forks while the guest starts."""
    held: list[int] = []
    ask = _guest.ask

    def asked(spawner: socket.socket, descriptors: list[int]) -> None:
        held.extend(os.dup(one) for one in descriptors[:3])
        ask(spawner, descriptors)

    monkeypatch.setattr(_guest, "ask", asked)
    stream, device = socket.socketpair()
    with stream, device, fork(caller, stream) as guest:
        guest.send({"source": "import os\nos._exit(3)\n", "compile_for": []}, (), time.monotonic() + 10)
        began = time.monotonic()
        with pytest.raises(frames.Closed):
            guest.receive(began + 30)
        assert guest.wait() == {"exit": 3}
        assert time.monotonic() - began < 15
    for one in held:
        os.close(one)


@pytest.mark.parametrize("lost", ["devices", "server"])
def test_who_has_lost_a_service_gets_a_new_one(caller: Caller, lost: str) -> None:
    """The calls of other threads end where the whole server is lost, and only there."""
    caller.start()
    said: list[Any] = []

    def slow() -> None:
        try:
            said.append(decode(caller.call(SLOW, dict(CALL), NoDevice())["result"]))
        except CallFailed as error:
            said.append(error)

    assert caller._control is not None
    before, control = dict(caller._spawners), caller._control
    thread = threading.Thread(target=slow)
    thread.start()
    time.sleep(1)
    (control if lost == "server" else before[lost]).shutdown(socket.SHUT_WR)
    assert frames.readable([before["devices"]], 20), "the service ends"
    caller.device().close()
    thread.join(30)
    assert not thread.is_alive()
    assert (said == [7]) == (lost == "devices")
    assert (caller._control is control) == (lost == "devices")
    assert (caller._spawners["guests"] is before["guests"]) == (lost == "devices")


def test_a_device_says_its_own_number(caller: Caller) -> None:
    first, second = caller.device(), caller.device()
    try:
        assert first.pid != second.pid
        os.kill(first.pid, signal.SIGKILL)
        assert frames.readable([first.control], 10), "the process of that number is the one that answers"
        assert not frames.readable([second.control], 0)
        assert Path(f"/proc/{second.pid}").exists()
    finally:
        first.close()
        second.close()
