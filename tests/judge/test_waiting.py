"""Calls that are late because the machine is busy: who waited for a processor is judged once more, nobody else."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bringup.judge import _waiting
from bringup.judge._exchange import Exchange
from bringup.judge._outcome import Outcome
from bringup.judge._waiting import Waiting, children, run_delay


def delays(folder: Path, pid: int, seconds: float) -> None:
    (folder / str(pid)).mkdir(exist_ok=True)
    (folder / str(pid) / "schedstat").write_text(f"5000000000 {int(seconds * 1e9)} 12\n")


def test_who_waited_for_a_third_of_the_time_is_starved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_waiting, "PROC", tmp_path)
    delays(tmp_path, 7, 100.0)
    delays(tmp_path, 8, 0.0)
    waiting = Waiting([7, 8, 9])  # 9 is not there
    delays(tmp_path, 7, 109.9)
    assert not waiting.starved(30)
    delays(tmp_path, 8, 10.1)
    assert waiting.starved(30)
    assert not Waiting([7, 8]).starved(30)  # what was before does not count
    (tmp_path / "8" / "schedstat").write_text("no numbers")
    assert not waiting.starved(30)


def test_the_kernel_says_what_a_process_waits_and_which_are_its_children() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        if Path("/proc/self/task", str(os.getpid()), "children").exists():
            assert process.pid in children(os.getpid())
        assert run_delay(process.pid) >= 0.0
        process.kill()
    assert run_delay(process.pid) == 0.0
    assert children(process.pid) == []


@pytest.mark.parametrize(
    ("first", "starved", "left", "calls"),
    [("timed_out", True, 60, 2), ("timed_out", False, 60, 1), ("timed_out", True, -1, 1), ("wrong", True, 60, 1)],
    ids=["starved", "slow by itself", "no time left", "wrong all the same"],
)
def test_a_late_call_is_made_once_more_where_its_processes_waited(
    first: str, starved: bool, left: int, calls: int
) -> None:
    exchange: Any = Exchange.__new__(Exchange)
    exchange.deadline, exchange.starved, made = time.monotonic() + left, False, []

    def call(case: Any, mode: Any) -> Outcome:
        made.append((case, mode))
        exchange.starved = starved
        return Outcome(first, "") if len(made) == 1 else Outcome("timed_out", "again")

    exchange._call = call
    outcome = exchange.call("case", {"order": 1})
    assert made == [("case", {"order": 1})] * calls
    assert outcome.summary == ("again" if calls == 2 else "")


@pytest.mark.parametrize(
    ("mode", "wrong", "choices"),
    [
        ({}, None, [0, 1, 2]),
        ({}, 1, [0, 1]),
        ({"choice": 2}, None, [2]),
        ({"timed": True, "tape": "x"}, None, ["fastest", 0, 1, 2]),  # which is one of these, or none of them
    ],
    ids=["each", "until one is wrong", "a certain one", "beside what was timed"],
)
def test_a_call_is_made_with_all_that_may_run_in_its_place(mode: Any, wrong: int | None, choices: list[Any]) -> None:
    exchange: Any = Exchange.__new__(Exchange)
    made: list[Any] = []

    def call(case: Any, mode: Any) -> Outcome:
        made.append("fastest" if "timed" in mode else mode.get("choice", 0))
        exchange.latest, exchange.reply = SimpleNamespace(alternatives=3), {"call": len(made)}
        return Outcome("wrong" if made[-1] == wrong else "passed", f"call {len(made)}")

    exchange._call = call
    outcome = exchange.call("case", mode)
    assert made == choices
    assert outcome.kind == ("passed" if wrong is None else "wrong")
    assert wrong is not None or exchange.reply == {"call": 1}
