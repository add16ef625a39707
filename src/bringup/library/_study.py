"""What sealed calls will want to know, found out beside them: a thread that asks guests while the program goes on."""

from __future__ import annotations

import collections
import contextlib
import threading
from collections.abc import Callable

NOW, SOON = range(2)
"""What a call has just had to wait for; what the next ones may."""
MOST_WAITING = 4096
Job = Callable[[], None]


class Study:
    """Queues of jobs, and the thread that does them. A job that fails has found nothing out."""

    def __init__(self) -> None:
        self._queues: list[collections.deque[Job]] = [collections.deque(), collections.deque()]
        self._left = 0
        self._thread: threading.Thread | None = None
        self._changed = threading.Condition()
        self._closed = False

    def want(self, when: int, job: Job) -> None:
        """Do a job beside the program; not after `close`, nor where thousands wait."""
        with self._changed:
            if self._closed or sum(map(len, self._queues)) > MOST_WAITING:
                return
            self._left += 1
            self._queues[when].append(job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="bringup-study", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or any(self._queues))
                if self._closed:
                    return
                job = next(queue for queue in self._queues if queue).popleft()
            with contextlib.suppress(Exception):
                job()
            with self._changed:
                self._left -= 1
                self._changed.notify_all()

    def settle(self, seconds: float = 60.0) -> None:
        """Wait until nothing is left to do; raises TimeoutError."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._closed or not self._left, seconds):
                raise TimeoutError(f"{self._left} jobs after {seconds:g} s")

    def close(self) -> None:
        """Do nothing more; a job in progress ends by itself."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
