"""What sealed calls will want to know, found out beside them: a thread that asks guests while the program goes on."""

from __future__ import annotations

import contextlib
import itertools
import queue
import threading
import time
from collections.abc import Callable

NOW, SOON, LATER, LAST = range(4)
"""What a call has just had to wait for; what the next ones may; what was done and is looked at again; once more."""
MOST_WAITING = 4096
Job = Callable[[], None]


class Study:
    """A queue of jobs, and the thread that does them. A job that fails has found nothing out."""

    def __init__(self) -> None:
        self._jobs: queue.PriorityQueue[tuple[int, int, Job | None]] = queue.PriorityQueue()
        self._numbers = itertools.count()
        self._left = [0] * (LAST + 1)
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._closed = False

    def want(self, when: int, job: Job) -> None:
        """Do a job beside the program; none is done after `close`, or where thousands wait."""
        with self._lock:
            if self._closed or self._jobs.qsize() > MOST_WAITING:
                return
            self._left[when] += 1
            self._jobs.put((when, next(self._numbers), job))
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="bringup-study", daemon=True)
                self._thread.start()

    @property
    def waiting(self) -> int:
        """How many jobs wait."""
        return self._jobs.qsize()

    def _work(self) -> None:
        while True:
            when, _, job = self._jobs.get()
            try:
                if job is None or self._closed:
                    return
                with contextlib.suppress(Exception):
                    job()
            finally:
                if job is not None:
                    with self._lock:
                        self._left[when] -= 1

    def settle(self, seconds: float = 60.0, until: int = LAST) -> None:
        """Wait until nothing is left to do of what is wanted so soon or sooner; raises TimeoutError."""
        deadline = time.monotonic() + seconds
        while left := sum(self._left[when] for when in range(until + 1)):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{left} jobs after {seconds:g} s")
            time.sleep(0.01)

    def close(self) -> None:
        """Do nothing more; a job in progress ends by itself."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._jobs.put((-1, next(self._numbers), None))
