"""Appends events: one thread writes, in groups, so that a thousand sessions share a handful of commits."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue

from sqlalchemy import Engine, func, insert, select
from sqlalchemy.exc import SQLAlchemyError

from bringup.errors import StoreError
from bringup.store import schema
from bringup.store.blobs import Blobs
from bringup.store.events import Event, StoredEvent
from bringup.store.lock import RunLock

GROUP = 256  # most requests in one commit


@dataclass
class _Request:
    operator: str | None
    events: Sequence[Event]
    texts: Sequence[str]
    loop: asyncio.AbstractEventLoop
    done: asyncio.Future[list[StoredEvent]]


class RunLog:
    """The writing end of a run: holds its lock until `close`.

    After a failed write nothing more is written: events must never lack one before them. Every later `append`
    raises the same StoreError.
    """

    def __init__(self, folder: Path, run: str, url: str, blobs: Blobs, lock: RunLock) -> None:
        """Start the writing thread; use `create_run` or `resume_run` instead of calling this."""
        self.folder = folder
        self.run = run
        self.url = url
        self.blobs = blobs
        self._lock = lock
        self._engine: Engine = schema.connect(url, write=True)
        try:
            with self._engine.connect() as connection:
                last = connection.execute(
                    select(func.max(schema.events.c.seq)).where(schema.events.c.run == run)
                ).scalar()
        except SQLAlchemyError as error:
            self._engine.dispose()
            raise schema.store_error(url, error) from error
        self._seq = int(last or 0)
        self._failure: StoreError | None = None
        self._queue: SimpleQueue[_Request | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._write_for_ever, name="store-writer", daemon=True)
        self._thread.start()
        self.observers: list[Callable[[StoredEvent], None]] = []
        self.commits = 0

    async def append(
        self, operator: str | None, events: Sequence[Event], texts: Sequence[str] = ()
    ) -> list[StoredEvent]:
        """Store `texts` as blobs, then `events` in one transaction; when it returns both are durable.

        Raises StoreError when they could not be stored. Cancelling the caller does not undo the write.
        """
        if self._failure:
            raise self._failure
        loop = asyncio.get_running_loop()
        done: asyncio.Future[list[StoredEvent]] = loop.create_future()
        self._queue.put(_Request(operator, events, texts, loop, done))
        stored = await asyncio.shield(done)
        return stored

    @property
    def is_local(self) -> bool:
        """Whether everything of the run lies in its folder."""
        return self.url.startswith("sqlite:///") and str(self.folder.resolve()) in self.url

    async def flush(self) -> None:
        """Wait until everything that was queued before is written (by callers that were cancelled, say)."""
        await self.append(None, ())

    def close(self) -> None:
        """Write what is queued, stop the thread, fold SQLite's log into the database and give the lock back."""
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join()
        self._engine.dispose()
        self._lock.release()

    def _write_for_ever(self) -> None:
        while True:
            first = self._queue.get()
            if first is None:
                return
            group = [first]
            closing = False
            while len(group) < GROUP:
                try:
                    request = self._queue.get_nowait()
                except Empty:
                    break
                if request is None:
                    closing = True
                    break
                group.append(request)
            self._write(group)
            if closing:
                return

    def _write(self, group: list[_Request]) -> None:
        if self._failure is None:
            try:
                stored = self._commit(group)
            except StoreError as error:
                self._failure = error
            except Exception as error:  # a bug here must end the run with a message, not leave sessions waiting
                self._failure = StoreError(f"store {self.folder}: {type(error).__name__}: {error}")
        by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[list[StoredEvent]], list[StoredEvent]]]] = {}
        for index, request in enumerate(group):
            result = stored[index] if self._failure is None else []
            by_loop.setdefault(request.loop, []).append((request.done, result))
        for loop, results in by_loop.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._deliver, results, self._failure)

    def _deliver(
        self,
        results: list[tuple[asyncio.Future[list[StoredEvent]], list[StoredEvent]]],
        failure: StoreError | None,
    ) -> None:
        for done, stored in results:
            for item in stored:
                for observer in self.observers:
                    observer(item)
            if done.done():
                continue
            if failure is None:
                done.set_result(stored)
            else:
                done.set_exception(failure)
                done.exception()  # a caller that was cancelled does not fetch it

    def _commit(self, group: list[_Request]) -> list[list[StoredEvent]]:
        texts = [text for request in group for text in request.texts]
        if texts:
            self.blobs.put(texts)
        now = time.time()
        seq = self._seq
        rows = []
        stored = []
        for request in group:
            items = []
            for event in request.events:
                seq += 1
                item = StoredEvent.model_construct(
                    run=self.run, seq=seq, time=now, operator=request.operator, event=event
                )
                items.append(item)
                rows.append(
                    {
                        "run": self.run,
                        "seq": seq,
                        "operator": request.operator,
                        "kind": event.kind,
                        "time": now,
                        "payload": event.model_dump_json(),
                    }
                )
            stored.append(items)
        if rows:
            try:
                with self._engine.begin() as connection:
                    connection.execute(insert(schema.events), rows)
            except SQLAlchemyError as error:
                raise schema.store_error(self.url, error) from error
        self._seq = seq
        self.commits += 1
        return stored
