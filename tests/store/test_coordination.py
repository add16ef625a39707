"""Several processes on one run: leases, fencing, one order of events. On SQLite and on a real PostgreSQL server."""

from __future__ import annotations

import asyncio
import itertools
import time

import pytest
from sqlalchemy import create_engine, select, text
from sqlalchemy.exc import DBAPIError

from bringup.candidate import digest
from bringup.errors import LeaseLost, StoreError, UnknownName
from bringup.store import (
    AttemptStarted,
    OperatorInfo,
    RunNoted,
    RunStarted,
    SessionStarted,
    Subject,
    create_run,
    find_run,
    open_run,
    resume_run,
    schema,
    session_id,
    stored_runs,
)
from bringup.store.schema import database_url

LEASE = 2.0  # seconds; a busy machine stops a process for the better part of one
_numbers = itertools.count()


def started(run, *names):
    infos = tuple(OperatorInfo(name=n, category="Other", case_counts={"float32": 2}) for n in names or ("exp",))
    return RunStarted(run=run, version="0", config={"seed": 1}, operators=infos)


@pytest.fixture
def pair(tmp_path, shared_url):
    """The logs of two machines on one run: each has a folder of its own, only database and texts are shared."""
    run = f"20260101-00000{next(_numbers)}-pair"
    texts = tmp_path / "texts"
    texts.mkdir()
    first = create_run(tmp_path / "one", run, url=shared_url, blobs=str(texts), lease_seconds=LEASE)
    second = resume_run(find_run(run, tmp_path / "two", shared_url), lease_seconds=LEASE)
    yield first, second
    first.close()
    second.close()


def stop_heartbeat(log):
    """As if the process had been stopped, or its machine had lost the network."""
    log.coordination._ending.set()
    if log.coordination._heartbeat is not None:
        log.coordination._heartbeat.join()


def until_claimed(log, session):
    deadline = time.monotonic() + 20
    while log.coordination.claim([session]) is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)


async def test_a_session_has_one_process_and_the_next_is_free(pair):
    one, two = pair
    assert one.coordination.claim(["exp", "log"]) == "exp"
    assert two.coordination.claim(["exp"]) is None
    assert two.coordination.claim(["exp", "log"]) == "log"
    assert one.coordination.claim(["exp", "log"]) is None  # not its own a second time either
    await one.append("exp", [SessionStarted()])
    one.coordination.release("exp")
    assert two.coordination.claim(["exp"]) == "exp"
    await two.append("exp", [AttemptStarted(attempt=1)])
    with pytest.raises(LeaseLost, match="session exp: another process has it"):
        await one.append("exp", [AttemptStarted(attempt=1)])
    with open_run(one.folder) as run:
        assert [s.worker for s in run.events("exp")] == [one.coordination.worker, two.coordination.worker]


async def test_a_heartbeat_keeps_sessions_longer_than_their_lease(pair, shared_url):
    one, two = pair
    one.coordination.claim(["exp"])
    engine = schema.connect(shared_url, write=False)
    workers = schema.workers.c
    ends = select(workers.expires).where(workers.id == one.coordination.worker)

    def lapses() -> float:
        with engine.connect() as connection:
            return connection.execute(ends).scalar_one()

    first, deadline = lapses(), time.monotonic() + 30
    while lapses() < first + 1.5 * LEASE:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)
    assert two.coordination.claim(["exp"]) is None
    await one.append("exp", [SessionStarted()])


async def test_a_dead_process_loses_its_sessions_and_cannot_write_when_it_was_only_asleep(pair):
    one, two = pair
    for session in ("exp", "log"):
        assert one.coordination.claim([session]) == session
    await one.append("exp", [SessionStarted()])
    stop_heartbeat(one)
    assert two.coordination.claim(["exp"]) is None  # not before the lease has lapsed
    until_claimed(two, "exp")
    results = await asyncio.gather(
        one.append("exp", [AttemptStarted(attempt=1)], ["a text"]),
        one.append("log", [SessionStarted()]),  # lapsed as well, but nobody has taken it
        one.append(None, [RunNoted(note="of the run itself")]),
        return_exceptions=True,
    )
    assert isinstance(results[0], LeaseLost)
    assert [s.event.kind for result in results[1:] for s in result] == ["session_started", "run_noted"]
    await two.append("exp", [AttemptStarted(attempt=1)])
    with pytest.raises(LeaseLost):
        await one.append("exp", [AttemptStarted(attempt=2)])
    with open_run(two.folder) as run:
        assert [s.event.kind for s in run.events("exp")] == ["session_started", "attempt_started"]
        assert [s.seq for s in run.events()] == [1, 2, 3, 4]


async def test_a_process_that_wakes_up_is_told_what_it_has_lost(pair):
    one, two = pair
    one.coordination.claim(["exp"])
    one.coordination.claim(["log"])
    told = []
    one.coordination.on_loss = told.append
    stop_heartbeat(one)
    until_claimed(two, "exp")
    one.coordination._beat()
    assert told == ["exp"]
    assert two.coordination.claim(["log"]) is None  # it lives again, and keeps what was not taken
    one.coordination.release("exp")  # no longer its own to give back
    two.coordination.release("exp")
    assert one.coordination.claim(["exp"]) == "exp"  # by a new lease
    await one.append("exp", [SessionStarted()])


async def test_events_of_two_processes_are_one_sequence_without_gaps(pair):
    one, two = pair

    async def write(log, name):
        assert log.coordination.claim([name]) == name
        for attempt in range(1, 16):
            await log.append(name, [AttemptStarted(attempt=attempt)] * 2)

    await asyncio.gather(*(write(one, f"a{i}") for i in range(4)), *(write(two, f"b{i}") for i in range(4)))
    with open_run(one.folder) as run:
        found = list(run.events())
    assert [s.seq for s in found] == list(range(1, 241))
    for name in ("a0", "b3"):
        attempts = [s.event.attempt for s in found if s.operator == name]
        assert attempts == sorted(attempts)
        assert len(attempts) == 30


def test_who_works_on_a_run_is_known_everywhere_until_it_ends(tmp_path, shared_url):
    log = create_run(tmp_path / "one", "r1", url=shared_url, lease_seconds=LEASE)
    with open_run(find_run("r1", tmp_path / "one")) as run:
        assert run.holder() is None
        log.coordination.claim(["exp"])
        assert run.holder().startswith("process ")
        log.close()
        assert run.holder() is None
    again = resume_run(tmp_path / "one" / "r1", lease_seconds=LEASE)
    assert again.coordination.claim(["exp"]) == "exp"  # given back at the end
    again.close()


async def test_a_machine_without_a_folder_finds_the_run_in_the_database(tmp_path, shared_url, monkeypatch):
    texts = tmp_path / "texts"
    for name in ("20260101-000000-able-fox", "20260102-000000-calm-owl"):
        log = create_run(tmp_path / "one", name, url=shared_url, blobs=str(texts))
        await log.append(None, [started(name)], ["shared"])
        log.close()
    assert list(stored_runs(shared_url)) == ["20260101-000000-able-fox", "20260102-000000-calm-owl"]
    with pytest.raises(StoreError, match="no runs in"):
        find_run("latest", tmp_path / "two")
    monkeypatch.setenv("BRINGUP_STORE_URL", shared_url)
    assert find_run("latest", tmp_path / "two").name == "20260102-000000-calm-owl"
    with open_run(find_run("able-fox", tmp_path / "two")) as run:
        assert run.started.run == "20260101-000000-able-fox"
        assert run.blob(digest("shared")) == "shared"
    with pytest.raises(UnknownName, match="did you mean 20260101-000000-able-fox"):
        find_run("20260101-000000-able-fix", tmp_path / "three")
    texts.rename(tmp_path / "away")  # what another machine does not see
    with pytest.raises(StoreError, match=r"its texts are in .*start runs that several machines share with --blobs-url"):
        find_run("able-fox", tmp_path / "three")


def test_a_database_without_runs_says_so(tmp_path, postgres):
    with pytest.raises(StoreError, match='relation "events" does not exist; no run was stored there yet'):
        find_run("latest", tmp_path, postgres)


def test_two_machines_cannot_begin_the_same_run(tmp_path, shared_url):
    create_run(tmp_path / "one", "r1", url=shared_url).close()
    with pytest.raises(StoreError, match="the database has a run of this name already"):
        create_run(tmp_path / "two", "r1", url=shared_url)
    assert not (tmp_path / "two" / "r1").exists()


async def test_events_can_neither_change_nor_vanish_in_a_shared_database(pair, shared_url):
    await pair[0].append(None, [started(pair[0].run)])
    engine = create_engine(database_url(shared_url))
    for statement in ("UPDATE events SET kind='x'", "DELETE FROM events"):
        with pytest.raises(DBAPIError, match="append-only"), engine.begin() as connection:
            connection.execute(text(statement))
    engine.dispose()


async def test_several_sessions_of_one_operator_live_in_one_run(pair):
    one, two = pair
    wide = Subject("exp", session_id("exp", "wide"))
    node = Subject("exp", session_id("exp", "wide"), node="n2", parents=("n0", "n1"))
    assert one.coordination.claim(["exp"]) == "exp"
    assert two.coordination.claim(["exp~wide"]) == "exp~wide"
    await one.append(None, [started(one.run, "exp", "log")])
    await one.append("exp", [SessionStarted()])
    await two.append(wide, [SessionStarted()])
    await two.append(node, [AttemptStarted(attempt=1)])
    with pytest.raises(LeaseLost):
        await one.append(wide, [AttemptStarted(attempt=1)])
    with open_run(one.folder) as run:
        assert [s.event.kind for s in run.events("exp")] == ["session_started", "session_started", "attempt_started"]
        [_, last] = run.events(session="exp~wide")
        assert (last.operator, last.session, last.node, last.parents) == ("exp", "exp~wide", "n2", ("n0", "n1"))
        assert [s.session for s in run.events(session="exp")] == ["exp"]
        assert list(run.sessions()) == ["exp", "exp~wide", "log"]
        assert list(run.summaries()) == ["exp", "log"]


def test_a_subject_that_cannot_be_is_refused():
    with pytest.raises(StoreError, match="session 'log~x' is none of operator exp"):
        Subject("exp", "log~x")
    with pytest.raises(StoreError, match="session label 'a/b' cannot be used"):
        session_id("exp", "a/b")
    with pytest.raises(StoreError, match=r"node '\.\./x' cannot be used"):
        Subject("exp", node="../x")
    with pytest.raises(StoreError, match="parents n1 without a node"):
        Subject("exp", parents=("n1",))


def test_a_kind_of_database_that_nobody_tried_is_refused(tmp_path):
    with pytest.raises(StoreError, match="databases of the kind 'mysql' cannot be used; use PostgreSQL"):
        create_run(tmp_path, "r1", url="mysql://me@host/runs")


def test_a_database_server_that_is_not_there_is_told_in_one_line(tmp_path):
    pytest.importorskip("psycopg")
    with pytest.raises(StoreError) as caught:
        create_run(tmp_path, "r1", url="postgresql://me:very-secret@127.0.0.1:9/runs?connect_timeout=2")
    assert "check the database's URL, and that it runs" in str(caught.value)
    assert "very-secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_database_of_another_url_lacks_the_run(tmp_path, shared_url):
    folder = create_run(tmp_path, "r1", url=shared_url).folder
    where = folder / "store.json"
    where.write_text(where.read_text().replace('"r1"', '"r2"'))
    with pytest.raises(StoreError, match="run r2: the database does not have it"):
        resume_run(folder)


def test_the_clock_is_the_databases(shared_url):
    engine = schema.connect(shared_url, write=True)
    with engine.connect() as connection:
        first = schema.clock(connection)
        assert abs(first - time.time()) < 5
        assert connection.execute(select(schema.runs.c.id)).all() == []
        time.sleep(0.05)
        assert 0.04 < schema.clock(connection) - first < 5
    engine.dispose()
