"""What kills a process of the benchmarks' pool, or never ends, is that task's result; the others are done."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from _workers import Lost, each


def work(task: str) -> str:
    if task == "killed":
        os.kill(os.getpid(), signal.SIGSEGV)
    if task == "left":
        os._exit(3)
    if task == "raised":
        raise ValueError("a bad operator")
    if task == "endless":
        time.sleep(3600)
    return f"{task} done"


def test_every_other_task_is_done_and_each_loss_has_its_reason() -> None:
    tasks = ["killed", "one", "left", "two", "raised", "three", "endless", "four"]
    found = dict(each(work, tasks, 2, seconds=3))
    assert sorted(found) == sorted(tasks)
    assert {task: found[task] for task in ("one", "two", "three", "four")} == {
        task: f"{task} done" for task in ("one", "two", "three", "four")
    }
    assert found["killed"] == Lost("killed by SIGSEGV")
    assert found["left"] == Lost("its process ended with exit code 3")
    assert found["endless"] == Lost("not finished after 3 s")
    assert isinstance(found["raised"], Lost)
    assert found["raised"].reason.startswith("ValueError: a bad operator")


def test_a_pool_of_one_goes_on_after_its_process_has_died() -> None:
    assert [task for task, _ in each(work, ["killed", "one", "left"], 1, seconds=60)] == ["killed", "one", "left"]


def test_nothing_begins_after_the_end() -> None:
    assert list(each(work, ["one"], 1, seconds=60, end=time.monotonic() - 1)) == []
