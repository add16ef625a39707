"""The lock of a device: calls share it, the clock has it alone."""

from __future__ import annotations

import fcntl
import threading
import time
from pathlib import Path

import pytest

from bringup.config import DEVICES
from bringup.device.sharing import alone, beside_others, lock_of


def test_nobody_calls_while_times_are_taken_and_calls_go_together(tmp_path: Path) -> None:
    path, inside, seen = str(tmp_path / "device.lock"), {"calls": 0, "clocks": 0}, []
    both, guard, together = threading.Barrier(2), threading.Lock(), threading.Event()

    def enter(kind: str) -> None:
        with guard:
            inside[kind] += 1
            seen.append((kind, dict(inside)))

    def leave(kind: str) -> None:
        with guard:
            inside[kind] -= 1

    def call() -> None:
        with beside_others(path):
            enter("calls")
            both.wait(60)  # two of them are in at once, or this breaks
            together.set()
            leave("calls")

    def clock() -> None:
        together.wait(60)  # before that it would keep the second call from coming in
        for _ in range(20):
            with alone(path):
                enter("clocks")
                leave("clocks")

    threads = [threading.Thread(target=one) for one in (call, clock, call, clock)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not both.broken
    assert max(now["calls"] for _, now in seen) == 2
    assert all(now == {"calls": 0, "clocks": 1} for kind, now in seen if kind == "clocks")


def test_a_clock_that_waits_keeps_others_from_coming_in(tmp_path: Path) -> None:
    path, order = str(tmp_path / "device.lock"), []

    def enter(kind: str) -> None:
        with (alone if kind == "clock" else beside_others)(path):
            order.append(kind)

    def waits() -> bool:
        with Path(f"{path}.turn").open("ab") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            return False

    clock, call = (threading.Thread(target=enter, args=(kind,)) for kind in ("clock", "call"))
    with beside_others(path):
        clock.start()
        until = time.monotonic() + 60
        while not waits() and time.monotonic() < until:
            time.sleep(0.01)
        call.start()
        time.sleep(0.1)
        assert not order  # neither the clock, which is not alone, nor the call, which came behind it
    clock.join(60)
    call.join(60)
    assert order == ["clock", "call"]


def test_every_device_has_a_lock_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DEVICES, "0")
    one, other = lock_of("cuda", tmp_path / "locks"), lock_of("hip", tmp_path / "locks")
    monkeypatch.setenv(DEVICES, "1")
    assert len({one, other, lock_of("cuda", tmp_path / "locks")}) == 3
    with alone(one), alone(other), alone(""), beside_others(""):
        pass
