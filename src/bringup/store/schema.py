"""Tables and engines: SQLite in the run directory by default, any database that SQLAlchemy speaks otherwise."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    Column,
    Engine,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    create_engine,
    event,
    text,
)
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

from bringup.errors import StoreError

SCHEMA_VERSION = 1
metadata = MetaData()

runs = Table(
    "runs",
    metadata,
    Column("id", String(120), primary_key=True),
    Column("schema_version", Integer, nullable=False),
    Column("created", Float, nullable=False),  # seconds since the epoch
    Column("version", String(40), nullable=False),  # of bringup
)
events = Table(
    "events",
    metadata,
    Column("run", String(120), ForeignKey("runs.id"), primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("operator", String(200), nullable=True),
    Column("kind", String(40), nullable=False),
    Column("time", Float, nullable=False),
    Column("payload", Text, nullable=False),
)
Index("events_by_operator", events.c.run, events.c.operator, events.c.seq)

_APPEND_ONLY = (
    "CREATE TRIGGER IF NOT EXISTS events_never_change BEFORE UPDATE ON events "
    "BEGIN SELECT RAISE(ABORT, 'events are append-only'); END",
    "CREATE TRIGGER IF NOT EXISTS events_never_vanish BEFORE DELETE ON events "
    "BEGIN SELECT RAISE(ABORT, 'events are append-only'); END",
)


def connect(url: str, *, write: bool) -> Engine:
    """Return an engine for `url`; with `write` the tables are made. Raises StoreError."""
    try:
        engine = create_engine(url)
    except ImportError as error:
        raise StoreError(f"store: the database's driver {error.name} is not installed; install it with pip") from error
    except SQLAlchemyError as error:
        raise StoreError("store: the database URL cannot be used; give one that SQLAlchemy understands") from error
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _configure_writer if write else _configure_reader)
    try:
        if write:
            metadata.create_all(engine)
            if engine.dialect.name == "sqlite":
                with engine.begin() as connection:
                    for statement in _APPEND_ONLY:
                        connection.execute(text(statement))
        else:
            with engine.connect() as connection:
                connection.execute(text("SELECT 1 FROM events LIMIT 1"))
    except SQLAlchemyError as error:
        engine.dispose()
        raise store_error(url, error) from error
    return engine


def _configure_writer(connection: Any, _: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    # FULL syncs the log at every commit, so that a power failure loses nothing either; commits come in groups
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA busy_timeout=10000")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()


def _configure_reader(connection: Any, _: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA busy_timeout=10000")
    cursor.execute("PRAGMA query_only=ON")
    cursor.close()


def store_error(url: str, error: SQLAlchemyError) -> StoreError:
    """Say in one line what a failing database means and what to do."""
    cause = " ".join(str(getattr(error, "orig", None) or error).split())
    where = make_url(url)
    place = where.database if where.get_backend_name() == "sqlite" else where.render_as_string(hide_password=True)
    low = cause.lower()
    if "full" in low:
        todo = "free some space, then go on with `bringup run --resume RUN`"
    elif "readonly" in low or "read-only" in low or "unable to open" in low:
        todo = "check that the folder exists and is writable"
    elif "locked" in low:
        todo = "another program holds the database; close it"
    elif "malformed" in low or "not a database" in low or "no such table" in low:
        todo = "this file is not a run of bringup, or it is damaged"
    else:
        todo = "nothing that was stored before is lost"
    return StoreError(f"store {place}: {cause}; {todo}")
