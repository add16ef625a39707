"""What sealed calls will want to know, found out beside them: a thread that asks guests while the program goes on."""

from __future__ import annotations

import contextlib
import itertools
import queue
import threading
import time
from collections.abc import Callable

NOW, SOON, LATER = range(3)
"""What a call has just had to wait for; what the next ones may; what was done and is looked at again."""
MOST_WAITING = 4096
Job = Callable[[], None]


class Study:
    """A queue of jobs, and the thread that does them. A job that fails has found nothing out."""

    def __init__(self) -> None:
        self._jobs: queue.PriorityQueue[tuple[int, int, Job | None]] = queue.PriorityQueue()
        self._numbers = itertools.count()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._closed = False

    def want(self, when: int, job: Job) -> None:
        """Do a job beside the program; none is done after `close`, or where thousands wait."""
        with self._lock:
            if self._closed or self._jobs.qsize() > MOST_WAITING:
                return
            self._jobs.put((when, next(self._numbers), job))
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="bringup-study", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        while True:
            _, _, job = self._jobs.get()
            try:
                if job is None or self._closed:
                    return
                with contextlib.suppress(Exception):
                    job()
            finally:
                self._jobs.task_done()

    def settle(self, seconds: float = 60.0) -> None:
        """Wait until nothing is left to do; raises TimeoutError."""
        deadline = time.monotonic() + seconds
        while self._jobs.unfinished_tasks:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self._jobs.unfinished_tasks} jobs after {seconds:g} s")
            time.sleep(0.01)

    def close(self) -> None:
        """Do nothing more; a job in progress ends by itself."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._jobs.put((-1, next(self._numbers), None))
