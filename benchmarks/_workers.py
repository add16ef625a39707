"""A pool of processes that outlives them: what kills a process, or never ends, is one task's result."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any


@dataclass(frozen=True)
class Lost:
    """A task that has no result, and why."""

    reason: str  # "killed by SIGSEGV", "not finished after 600 s", "ValueError: ..."


@dataclass
class _Worker:
    process: BaseProcess
    connection: Connection
    ready: bool = False  # it has imported what it needs
    busy: bool = False
    task: Any = None
    since: float = 0.0


def each(
    function: Callable[[Any], Any], tasks: Iterable[Any], jobs: int, *, seconds: float, end: float = float("inf")
) -> Iterator[tuple[Any, Any]]:
    """Yield (task, result) as they come, from at most `jobs` fresh processes that each take one task after another.

    The result is a `Lost` where `function` raised, where its process died, or where it took over `seconds`; another
    process takes the place of a dead one. No task begins after the time `end` of `time.monotonic()`.

    Raises RuntimeError when a process ends before it has a task.
    """
    waiting = deque(tasks)
    context = multiprocessing.get_context("spawn")
    workers: list[_Worker] = []

    def start() -> _Worker:
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(function, theirs), daemon=True)
        process.start()
        theirs.close()
        return _Worker(process, ours)

    try:
        workers += [start() for _ in range(min(jobs, len(waiting)))]
        while True:
            if time.monotonic() >= end:
                waiting.clear()
            for worker in workers:
                if worker.ready and not worker.busy and waiting:
                    worker.task, worker.busy, worker.since = waiting.popleft(), True, time.monotonic()
                    _send(worker.connection, worker.task)
            if not waiting and not any(worker.busy for worker in workers):
                return
            asked = [worker for worker in workers if worker.busy or not worker.ready]
            answered = set(wait([worker.connection for worker in asked], timeout=1.0))
            for worker in asked:
                if worker.connection in answered:
                    result = _answer(worker)
                elif worker.busy and time.monotonic() - worker.since > seconds:
                    worker.process.kill()
                    worker.process.join()  # it may take its time to give its memory back, and must get no other task
                    result = Lost(f"not finished after {seconds:.0f} s")
                else:
                    continue
                if not worker.ready:
                    if isinstance(result, Lost):
                        raise RuntimeError(f"a process of the pool does not start: {result.reason}")
                    worker.ready = True
                    continue
                worker.busy = False
                if isinstance(result, Lost) and not _alive(worker):
                    workers.remove(worker)
                    workers += [start()] if waiting else []
                yield worker.task, result
    finally:
        for worker in workers:
            worker.process.kill()
            worker.process.join()


def _serve(function: Callable[[Any], Any], connection: Connection) -> None:
    connection.send("ready")
    while True:
        try:
            task = connection.recv()
        except EOFError:  # the pool is done
            return
        try:
            answer: Any = function(task)
        except Exception as error:  # of one task; the others go on
            frame = traceback.extract_tb(error.__traceback__)[-1]
            answer = Lost(f"{type(error).__name__}: {error} ({frame.filename}:{frame.lineno})")
        connection.send(answer)


def _send(connection: Connection, task: Any) -> None:
    with contextlib.suppress(OSError):
        connection.send(task)


def _answer(worker: _Worker) -> Any:
    try:
        return worker.connection.recv()
    except (EOFError, OSError):
        worker.process.join()
        code = worker.process.exitcode or 0
        name = signal.Signals(-code).name if code < 0 else ""
        return Lost(f"killed by {name}" if name else f"its process ended with exit code {code}")


def _alive(worker: _Worker) -> bool:
    worker.process.join(timeout=0.1)
    return worker.process.is_alive()
