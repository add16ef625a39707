"""A run: making, opening and reading it."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from sqlalchemy import ColumnElement, Engine, func, insert, null, select
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from bringup import __version__
from bringup.errors import StoreError
from bringup.store import schema
from bringup.store.address import Address, is_run, locate, new_address, open_to_several, write_address
from bringup.store.blobs import Blobs
from bringup.store.coordination import (
    LEASE_SECONDS,
    Coordination,
    FolderCoordination,
    SharedCoordination,
    holders,
)
from bringup.store.events import Judged, RunNoted, RunResumed, RunStarted, StoredEvent, load_event
from bringup.store.lock import RunLock, holder
from bringup.store.summary import SessionSummary, summarise_events, summarise_sessions
from bringup.store.writer import RunLog
from bringup.verdict import Verdict


def default_root() -> Path:
    """Return the folder that holds the runs: `$BRINGUP_RUNS`, else `bringup-runs` in the working directory."""
    return Path(os.environ.get("BRINGUP_RUNS") or "bringup-runs")


class Run:
    """The reading end of a run; safe while another process writes. Use `open_run`; close it or use `with`."""

    def __init__(self, folder: Path, address: Address, engine: Engine, revision: str | None) -> None:
        """Read a run through `engine`; use `open_run` instead of calling this."""
        self.folder = folder
        self.address = address
        self.id = address.run
        self._engine = engine
        self._revision = revision
        self._blobs = Blobs(address.blobs)

    def __enter__(self) -> Run:
        """Return the run itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the run."""
        self.close()

    def close(self) -> None:
        """Release the database."""
        self._engine.dispose()

    def events(self, operator: str | None = None, after: int = 0, session: str | None = None) -> Iterator[StoredEvent]:
        """Yield events in order: all of them, one operator's, or one session's; only those with `seq` above `after`."""
        columns = schema.events.c
        of: ColumnElement[Any] = columns.operator
        later: list[ColumnElement[Any]] = [null().label(name) for name in ("node", "parents", "worker")]
        if self._revision != schema.FIRST:  # else: a run of version 0.1 that nobody has gone on with since
            of = func.coalesce(columns.session, columns.operator)
            later = [columns.node, columns.parents, columns.worker]
        always = (columns.seq, columns.time, columns.operator, columns.kind, columns.payload, of.label("session"))
        query = select(*always, *later).where(columns.run == self.id, columns.seq > after)
        if operator is not None:
            query = query.where(columns.operator == operator)
        if session is not None:
            query = query.where(of == session)
        try:
            with self._engine.connect() as connection:
                for row in connection.execute(query.order_by(columns.seq)):
                    yield self._event(row)
        except SQLAlchemyError as error:
            raise schema.store_error(self.address.url, error) from error

    def _event(self, row: Any) -> StoredEvent:
        try:
            event = load_event(row.kind, row.payload)
        except KeyError as error:
            raise StoreError(
                f"run {self.folder}: event {row.seq} is of the unknown kind '{row.kind}'; "
                "it was written by a newer bringup"
            ) from error
        except ValidationError as error:
            raise StoreError(
                f"run {self.folder}: event {row.seq} ({row.kind}) cannot be read: {error.errors()[0]['msg']}"
            ) from error
        return StoredEvent.model_construct(
            run=self.id,
            seq=row.seq,
            time=row.time,
            operator=row.operator,
            event=event,
            session=row.session,
            node=row.node or "",
            parents=tuple((row.parents or "").split()),
            worker=row.worker or "",
        )

    @cached_property
    def started(self) -> RunStarted:
        """The run's first event: configuration, operators, version."""
        for stored in self.events():
            if isinstance(stored.event, RunStarted):
                return stored.event
            break
        raise StoreError(f"run {self.folder}: it has no events: it was killed before it began; delete the folder")

    def config(self) -> dict[str, object]:
        """Return the run's configuration as data, with what resuming commands changed."""
        config = self.started.config
        for stored in self.events():
            if isinstance(stored.event, RunResumed) and stored.event.config is not None:
                config = stored.event.config
        return config

    def note(self) -> str:
        """Return what the run's user says of it, the latest."""
        note = self.started.note
        for stored in self.events():
            if isinstance(stored.event, RunNoted):
                note = stored.event.note
        return note

    def blob(self, name: str) -> str:
        """Return the text of a blob; raises StoreError when it is missing or damaged."""
        return self._blobs.get(name)

    def verdict(self, judged: Judged) -> Verdict:
        """Return the whole verdict that a `judged` event names."""
        return Verdict.model_validate_json(self.blob(judged.verdict))

    def summaries(self) -> dict[str, SessionSummary]:
        """Fold the events into one summary per operator asked for, in the run's order."""
        return summarise_events(self.events())

    def sessions(self) -> dict[str, SessionSummary]:
        """Fold the events into one summary per session, by the session's id."""
        return summarise_sessions(self.events())

    def holder(self) -> str | None:
        """Return who works on the run right now, or None."""
        if not self.address.shared:
            return holder(self.folder)
        try:
            return ", ".join(holders(self._engine, self.id)) or None
        except SQLAlchemyError as error:
            raise schema.store_error(self.address.url, error) from error


def create_run(
    root: Path,
    run: str,
    url: str | None = None,
    blobs: str | None = None,
    lease_seconds: float = LEASE_SECONDS,
    several: bool = False,
) -> RunLog:
    """Make the run directory `root/run` and return the run's log; raises StoreError.

    `url` puts the events into a database that other machines may share, `blobs` the texts onto another fsspec file
    system. `several` lets several processes of this machine work on a run in its own folder. `lease_seconds`: how
    long others wait for a sign of life of this process, see `resume_run`.
    """
    folder = root / run
    address = new_address(folder, url, blobs)
    try:
        folder.mkdir(parents=True)
        if url or blobs:
            write_address(folder, address)
        elif several:
            open_to_several(folder)
            address = locate(folder)
    except FileExistsError as error:
        raise StoreError(f"run {folder}: exists already") from error
    except OSError as error:
        raise StoreError(
            f"run {folder}: cannot be made: {error.strerror}; give a writable folder with --runs-dir"
        ) from error
    try:
        return _open_log(folder, address, lease_seconds, new=True)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)  # made a moment ago, and nothing is in it
        raise


def resume_run(folder: Path, lease_seconds: float = LEASE_SECONDS) -> RunLog:
    """Return the log of an existing run; raises StoreError.

    A run in its own folder is locked, and refused with the name of the process that holds the lock. One in a shared
    database may have many processes: each claims the sessions that it works on, and one that shows no sign of life
    for its `lease_seconds` loses them.
    """
    if not is_run(folder):
        raise StoreError(f"run {folder}: no such run")
    return _open_log(folder, locate(folder), lease_seconds, new=False)


def _open_log(folder: Path, address: Address, lease_seconds: float, *, new: bool) -> RunLog:
    blobs = Blobs(address.blobs)
    lock = None if address.shared else RunLock(folder)
    try:
        if new:
            blobs.check(address.run)
        engine = schema.connect(address.url, write=True)
        try:
            _enter(address, engine, new)
            coordination: Coordination
            if lock is None:
                coordination = SharedCoordination(address.url, engine, address.run, lease_seconds)
            else:
                coordination = FolderCoordination(address.run, lock)
            return RunLog(folder, address.run, address.url, engine, blobs, coordination)
        except BaseException:
            engine.dispose()
            raise
    except BaseException:
        if lock is not None:
            lock.release()
        raise


def _enter(address: Address, engine: Engine, new: bool) -> None:
    """Write a new run's row; raises StoreError when there is such a run already, or none where one should be."""
    columns = schema.runs.c
    try:
        with engine.begin() as connection:
            if new:
                values = {"schema_version": schema.SCHEMA_VERSION, "created": time.time(), "version": __version__}
                connection.execute(insert(schema.runs).values(id=address.run, blobs=address.blobs, **values))
            elif connection.execute(select(columns.id).where(columns.id == address.run)).first() is None:
                raise StoreError(f"run {address.run}: the database does not have it; is its URL the right one?")
    except IntegrityError as error:
        raise StoreError(f"run {address.run}: the database has a run of this name already") from error
    except SQLAlchemyError as error:
        raise schema.store_error(address.url, error) from error


def open_run(path: Path | str) -> Run:
    """Open a run directory for reading; raises StoreError."""
    folder = Path(path)
    if not is_run(folder):
        raise StoreError(f"run {folder}: no such run")
    return open_address(folder, locate(folder))


def open_address(folder: Path, address: Address) -> Run:
    """Open the run at `address`, whose directory here is or would be `folder`, for reading; raises StoreError."""
    url = address.url
    try:
        engine = schema.connect(url, write=False)
    except StoreError:
        # a database in WAL mode wants to write beside itself even for reading; on a read-only disk nobody writes
        if not url.startswith("sqlite:///") or os.access(folder, os.W_OK):
            raise
        engine = schema.connect(f"sqlite:///file:{url.removeprefix('sqlite:///')}?immutable=1&uri=true", write=False)
    try:
        with engine.connect() as connection:
            version = connection.execute(
                select(schema.runs.c.schema_version).where(schema.runs.c.id == address.run)
            ).scalar()
            revision = schema.found_revision(connection)
    except SQLAlchemyError as error:
        engine.dispose()
        raise schema.store_error(url, error) from error
    if version is not None and version > schema.SCHEMA_VERSION:
        engine.dispose()
        raise StoreError(f"run {folder}: it was written by a newer bringup; update bringup to read it")
    return Run(folder, address, engine, revision)
