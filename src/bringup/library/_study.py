"""What sealed calls will want to know, found out beside them: a thread that asks guests while the program goes on."""

from __future__ import annotations

import collections
import contextlib
import itertools
import threading
import time
from collections.abc import Callable

NOW, SOON, LATER, LAST = range(4)
"""What a call has just had to wait for; what the next ones may; what was done and is looked at again; once more."""
MOST_WAITING = 4096
EVERY = 8  # jobs: so many, and then the one that has waited longest, however late it may be done
Job = Callable[[], None]


class Study:
    """Queues of jobs, and the thread that does them. A job that fails has found nothing out."""

    def __init__(self) -> None:
        self._queues: list[collections.deque[tuple[int, int, Job]]] = [collections.deque() for _ in range(LAST + 1)]
        self._numbers, self._done = itertools.count(), 0
        self._left = [0] * (LAST + 1)
        self._of: collections.Counter[int] = collections.Counter()
        self._thread: threading.Thread | None = None
        self._changed = threading.Condition()
        self._closed = False

    def want(self, when: int, job: Job, owner: object = None) -> bool:
        """Do a job beside the program; False where none is: after `close`, or where thousands wait."""
        with self._changed:
            if self._closed or sum(map(len, self._queues)) > MOST_WAITING:
                return False
            self._left[when] += 1
            self._of[id(owner)] += 1
            self._queues[when].append((next(self._numbers), id(owner), job))
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="bringup-study", daemon=True)
                self._thread.start()
            self._changed.notify_all()
            return True

    def keeps_up(self, owner: object, most: int, seconds: float) -> bool:
        """Whether fewer jobs than `most` are left of an owner, at the latest after so many seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self._of[id(owner)] < most, seconds)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or any(self._queues))
                if self._closed:
                    return
                waiting = [when for when, queue in enumerate(self._queues) if queue]
                self._done += 1
                if self._done % EVERY == 0:
                    when = min(waiting, key=lambda when: self._queues[when][0][0])
                else:
                    when = waiting[0]
                _, owner, job = self._queues[when].popleft()
            with contextlib.suppress(Exception):
                job()
            with self._changed:
                self._left[when] -= 1
                self._of[owner] -= 1
                if not self._of[owner]:
                    del self._of[owner]
                self._changed.notify_all()

    def left(self, until: int = LAST, since: int = NOW) -> int:
        """How many jobs are left of what is wanted so soon or sooner, the one that is being done included."""
        return sum(self._left[since : until + 1])

    def forget(self, before: int) -> None:
        """Do no more of what is wanted sooner: nobody will come to need it."""
        with self._changed:
            for when in range(before):
                for _, owner, _ in self._queues[when]:
                    self._of[owner] -= 1
                self._left[when] -= len(self._queues[when])
                self._queues[when].clear()

    def settle(self, seconds: float = 60.0, until: int = LAST) -> None:
        """Wait until nothing is left to do of what is wanted so soon or sooner; raises TimeoutError."""
        deadline = time.monotonic() + seconds
        while left := self.left(until):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{left} jobs after {seconds:g} s")
            time.sleep(0.01)

    def done(self, when: int, seconds: float) -> bool:
        """Wait until nothing is left of what is wanted at one time; False after so many seconds."""
        if threading.current_thread() is self._thread:
            return True  # a job cannot wait for jobs
        with self._changed:
            return self._changed.wait_for(lambda: self._closed or not self._left[when], seconds)

    def close(self) -> None:
        """Do nothing more; a job in progress ends by itself."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
