"""Events and blobs: order, durability, faults, finding and reading runs."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DatabaseError

from bringup.candidate import digest
from bringup.clients import Usage
from bringup.errors import StoreError, UnknownName
from bringup.store import (
    EVENT_KINDS,
    AttemptStarted,
    CallFinished,
    OperatorInfo,
    RunFinished,
    RunStarted,
    SessionFinished,
    SessionStarted,
    add_usage,
    create_run,
    find_run,
    list_runs,
    load_event,
    open_run,
    resume_run,
)
from bringup.store import address as address_module
from bringup.store import blobs as blobs_module
from bringup.store import run as run_module


def started(run="r1", names=("exp",)):
    return RunStarted(
        run=run,
        version="0",
        config={"seed": 1},
        operators=tuple(OperatorInfo(name=n, category="Other", case_counts={"float32": 2}) for n in names),
    )


async def test_events_come_back_in_order_with_their_texts(tmp_path):
    log = create_run(tmp_path, "r1")
    await log.append(None, [started()])
    stored = await log.append("exp", [SessionStarted(refine=digest("kernel")), AttemptStarted(attempt=1)], ["kernel"])
    assert [s.seq for s in stored] == [2, 3]
    log.close()
    with open_run(tmp_path / "r1") as run:
        assert [s.event.kind for s in run.events()] == ["run_started", "session_started", "attempt_started"]
        assert [s.event.kind for s in run.events("exp", after=2)] == ["attempt_started"]
        assert run.blob(digest("kernel")) == "kernel"
        assert run.started.config == {"seed": 1}
        assert run.summaries()["exp"].state == "open"


async def test_a_later_process_goes_on_counting(tmp_path):
    log = create_run(tmp_path, "r1")
    await log.append(None, [started()])
    log.close()
    log = resume_run(tmp_path / "r1")
    assert (await log.append(None, [RunFinished(outcomes={})]))[0].seq == 2
    log.close()


async def test_a_thousand_appends_at_once_share_commits_and_keep_each_ones_order(tmp_path):
    log = create_run(tmp_path, "r1")

    async def one(name):
        await log.append(name, [SessionStarted()])
        await log.append(name, [AttemptStarted(attempt=1)])

    await asyncio.gather(*(one(f"op{i}") for i in range(1000)))
    assert log.commits < 200
    log.close()
    with open_run(tmp_path / "r1") as run:
        seen = list(run.events())
        assert [s.seq for s in seen] == list(range(1, 2001))
        for name in ("op0", "op999"):
            assert [s.event.kind for s in seen if s.operator == name] == ["session_started", "attempt_started"]


async def test_events_can_neither_change_nor_vanish(tmp_path):
    log = create_run(tmp_path, "r1")
    await log.append(None, [started()])
    log.close()
    engine = create_engine(f"sqlite:///{tmp_path}/r1/run.db")
    for statement in ("UPDATE events SET kind='x'", "DELETE FROM events"):
        with pytest.raises(DatabaseError, match="append-only"), engine.begin() as connection:
            connection.execute(text(statement))
    engine.dispose()


def test_every_kind_of_event_survives_json():
    event = CallFinished(key="k", attempt=1, turn=1, reply="0" * 64, usage=Usage(input_tokens=3), cost=0.5)
    assert load_event(event.kind, event.model_dump_json()) == event
    assert len(EVENT_KINDS) == len(set(EVENT_KINDS)) == 23


@settings(max_examples=50, deadline=None)
@given(st.text())
def test_any_text_survives_as_a_blob(tmp_path_factory, content):
    if any("\ud800" <= c <= "\udfff" for c in content):
        return
    store = blobs_module.Blobs(str(tmp_path_factory.mktemp("blobs")))
    [name] = store.put([content])
    assert store.get(name) == content
    assert Path(store.path(name)).parent.name == name[:2]


def test_blobs_live_on_any_file_system_of_fsspec():
    store = blobs_module.Blobs("memory://bringup-test/blobs")
    [name] = store.put(["hello"])
    assert blobs_module.Blobs("memory://bringup-test/blobs").get(name) == "hello"


def test_a_missing_or_damaged_blob_is_told(tmp_path):
    store = blobs_module.Blobs(str(tmp_path))
    with pytest.raises(StoreError, match="is missing"):
        store.get("0" * 64)
    [name] = store.put(["hello"])
    Path(store.path(name)).write_text("hullo")
    with pytest.raises(StoreError, match="is damaged"):
        store.get(name)


def test_blob_writes_leave_no_partial_file(tmp_path, monkeypatch):
    store = blobs_module.Blobs(str(tmp_path))

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(blobs_module.os, "fsync", full)
    with pytest.raises(StoreError, match="No space left on device; free some space"):
        store.put(["hello"])
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []
    monkeypatch.undo()
    store.put(["hello"])


async def test_after_a_failed_write_nothing_more_is_written_and_nothing_before_is_lost(tmp_path, monkeypatch):
    log = create_run(tmp_path, "r1")
    await log.append(None, [started()])

    def full(texts):
        raise StoreError("disk full")

    monkeypatch.setattr(log.blobs, "put", full)
    with pytest.raises(StoreError, match="disk full"):
        await log.append("exp", [SessionStarted()], ["x"])
    with pytest.raises(StoreError, match="disk full"):
        await log.append("exp", [AttemptStarted(attempt=1)])
    log.close()
    with open_run(tmp_path / "r1") as run:
        assert [s.event.kind for s in run.events()] == ["run_started"]


LIMITED = """
import asyncio, resource, sys
from pathlib import Path
from bringup.errors import StoreError
from bringup.store import create_run, SessionStarted
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
async def main():
    log = create_run(Path(sys.argv[1]), "full")
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
    try:
        for i in range(10_000):
            await log.append(f"op{i}" * 20, [SessionStarted(refine="0" * 64)])
            done = i + 1
    except StoreError as error:
        print(done, error)
    log.close()
asyncio.run(main())
"""


def test_a_database_that_cannot_grow_gives_one_line_and_keeps_what_was_stored(tmp_path):
    output = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path)], check=False, capture_output=True, text=True, timeout=60
    )
    assert output.returncode == 0, output.stderr
    assert len(output.stdout.splitlines()) == 1
    done, message = output.stdout.split(" ", 1)
    assert message.startswith(f"store {tmp_path}/full/run.db: ")
    with open_run(tmp_path / "full") as run:
        assert len(list(run.events())) == int(done)


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be made: Not a directory; give a writable folder"):
        create_run(tmp_path / "file", "r1")


READ_ONLY = """
import os, sys
from pathlib import Path
from bringup.errors import StoreError
from bringup.store import create_run, open_run, resume_run
root = Path(sys.argv[1])
with open_run(root / "r1") as run:
    list(run.events())  # imports all there is to import while the interpreter's own files can be read
os.setgid(65534); os.setuid(65534)
print(len(list(open_run(root / "r1").events())))
for attempt in (lambda: resume_run(root / "r1"), lambda: create_run(root, "r2")):
    try:
        attempt()
    except StoreError as error:
        print(error)
"""


@pytest.mark.skipif(os.getuid() != 0, reason="needs to give up root's rights to meet a read-only folder")
async def test_a_read_only_store_can_be_read_and_says_what_it_is():
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folder is closed to other users
        await check_read_only(Path(folder))


async def check_read_only(tmp_path):
    log = create_run(tmp_path, "r1")
    await log.append(None, [started()])
    log.close()
    for path in (tmp_path, *tmp_path.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    output = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", READ_ONLY, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    lines = output.stdout.splitlines()
    assert lines[0] == "1", output.stderr
    assert "cannot be written: Permission denied" in lines[1]
    assert "cannot be made: Permission denied; give a writable folder" in lines[2]


async def test_a_reader_follows_a_writer(tmp_path):
    log = create_run(tmp_path, "r1")
    await log.append(None, [started()])
    with open_run(tmp_path / "r1") as run:
        assert len(list(run.events())) == 1
        await log.append("exp", [SessionStarted()])
        assert len(list(run.events(after=1))) == 1
        assert f"process {os.getpid()} on " in (run.holder() or "")
    log.close()
    with open_run(tmp_path / "r1") as run:
        assert run.holder() is None


HOLD = """
import sys, time
from pathlib import Path
from bringup.store import resume_run
log = resume_run(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(60)
"""


def test_a_second_process_is_refused_by_name_and_a_killed_one_leaves_no_lock(tmp_path):
    create_run(tmp_path, "r1").close()
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path / "r1")], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(StoreError, match=rf"run r1: process {holder.pid} on .* is working on it"):
            resume_run(tmp_path / "r1")
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
    resume_run(tmp_path / "r1").close()


def test_finding_runs(tmp_path):
    for name in ("20260101-000000-able-fox", "20260101-000001-calm-owl"):
        create_run(tmp_path, name).close()
    assert [p.name for p in list_runs(tmp_path)] == ["20260101-000000-able-fox", "20260101-000001-calm-owl"]
    assert find_run("latest", tmp_path).name == "20260101-000001-calm-owl"
    assert find_run("20260101-000000", tmp_path).name == "20260101-000000-able-fox"
    assert find_run(str(tmp_path / "20260101-000000-able-fox"), Path("nowhere")).name == "20260101-000000-able-fox"
    with pytest.raises(StoreError, match="beginning of 2 runs"):
        find_run("2026", tmp_path)
    with pytest.raises(UnknownName, match=r"unknown run '20260101-000001-calm-awl'.*did you mean"):
        find_run("20260101-000001-calm-awl", tmp_path)
    with pytest.raises(StoreError, match="no runs in"):
        find_run("latest", tmp_path / "empty")
    with pytest.raises(StoreError, match="no such run"):
        open_run(tmp_path / "nothing")


def test_a_file_that_is_no_database(tmp_path):
    (tmp_path / "r1").mkdir()
    (tmp_path / "r1" / "run.db").write_text("this is not a database, and long enough to be looked at" * 40)
    with pytest.raises(StoreError, match="not a run of bringup, or it is damaged"):
        open_run(tmp_path / "r1")


async def test_events_and_blobs_may_live_elsewhere(tmp_path):
    url = f"sqlite:///{tmp_path}/all.db"
    for name in ("r1", "r2"):
        log = create_run(tmp_path / "runs", name, url=url, blobs=str(tmp_path / "texts"))
        await log.append(None, [started(name)], ["shared"])
        log.close()
    with open_run(tmp_path / "runs" / "r2") as run:
        assert run.started.run == "r2"
        assert run.blob(digest("shared")) == "shared"
    assert not (tmp_path / "runs" / "r1" / "run.db").exists()
    assert json.loads((tmp_path / "runs" / "r1" / "store.json").read_text())["url"] == url


def test_a_password_of_the_database_never_reaches_the_disk(tmp_path, monkeypatch):
    monkeypatch.delenv("BRINGUP_STORE_URL", raising=False)
    kept = []
    monkeypatch.setattr(run_module.shutil, "rmtree", lambda path, **_: kept.append(path))
    with pytest.raises(StoreError) as caught:
        create_run(tmp_path, "r1", url="postgresql+nodriver://me:very-secret@127.0.0.1:9/runs")
    assert "very-secret" not in str(caught.value)
    assert kept == [tmp_path / "r1"]
    assert "very-secret" not in (tmp_path / "r1" / "store.json").read_text()
    address_module._given_urls.clear()  # another process
    with pytest.raises(StoreError, match=r"its events are in postgresql.*me:\*\*\*@127.*set BRINGUP_STORE_URL"):
        open_run(tmp_path / "r1")


@pytest.mark.parametrize("url", ["nonsense", "sqlite://me@host/x.db", "postgresql+nodriver://host/x"])
def test_a_url_that_cannot_be_used_is_told_and_leaves_nothing(tmp_path, url):
    with pytest.raises(StoreError, match="database URL cannot be used"):
        create_run(tmp_path, "r1", url=url)
    assert list(tmp_path.iterdir()) == []


async def test_events_of_a_newer_version_are_refused_clearly(tmp_path):
    log = create_run(tmp_path, "r1")
    log.close()
    engine = create_engine(f"sqlite:///{tmp_path}/r1/run.db")
    with engine.begin() as connection:
        connection.execute(
            text("INSERT INTO events (run, seq, kind, time, payload) VALUES ('r1', 1, 'teleported', :now, '{}')"),
            {"now": time.time()},
        )
    engine.dispose()
    with open_run(tmp_path / "r1") as run, pytest.raises(StoreError, match=r"unknown kind 'teleported'.*newer"):
        list(run.events())
    with engine.begin() as connection:
        connection.execute(text("UPDATE runs SET schema_version = 99"))
    engine.dispose()
    with pytest.raises(StoreError, match="newer bringup"):
        open_run(tmp_path / "r1")


async def test_a_summary_counts_what_the_events_say(tmp_path):
    log = create_run(tmp_path, "r1")
    await log.append(None, [started(names=("exp", "log"))])
    await log.append(
        "exp",
        [
            SessionStarted(),
            AttemptStarted(attempt=1),
            CallFinished(
                key="a", attempt=1, turn=1, reply="0" * 64, usage=Usage(input_tokens=5, output_tokens=2), cost=0.25
            ),
            CallFinished(key="b", role="summarise", attempt=1, turn=1, reply="0" * 64, usage=Usage(output_tokens=1)),
            SessionFinished(outcome="exhausted", reason="done"),
        ],
    )
    log.close()
    with open_run(tmp_path / "r1") as run:
        found = run.summaries()
    exp = found["exp"]
    assert (exp.calls, exp.summariser_calls, exp.tokens, exp.cost, exp.outcome) == (1, 1, 8, 0.25, "exhausted")
    assert exp.verdict == "untested"
    assert found["log"].state == "waiting"
    assert add_usage(Usage(input_tokens=1, estimated=True), Usage(output_tokens=2)) == Usage(
        input_tokens=1, output_tokens=2, estimated=True
    )
