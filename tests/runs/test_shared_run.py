"""Two processes, each with a folder of its own, share a run through PostgreSQL and S3; one dies, or falls asleep."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from kill_driver import report
from shared_driver import main as drive
from sqlalchemy import create_engine, text

from bringup.errors import StoreError
from bringup.store import CallFinished, RunFinished, SessionFinished, find_run, open_run, stored_runs
from bringup.store.schema import database_url

DRIVER = Path(__file__).with_name("shared_driver.py")
SEED = 3


class Machine:
    """A process of the run, with its own folder."""

    def __init__(self, here, url, blobs, run=None):
        here.mkdir()
        self.here, self.url = here, url
        arguments = [sys.executable, str(DRIVER), str(here), str(SEED), url, blobs, *([run] if run else [])]
        self.output = (here / "output").open("w")
        paths = [str(DRIVER.parents[1] / "session"), str(DRIVER.parent)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        self.process = subprocess.Popen(arguments, stdout=self.output, stderr=subprocess.STDOUT, env=environment)

    def said(self):
        return (self.here / "output").read_text()

    def wait(self, seconds=120):
        try:
            assert self.process.wait(seconds) == 0, self.said()
        finally:
            self.end()

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.output.close()

    def asked(self):
        log = self.here / "calls.log"
        return log.read_text().split() if log.exists() else []


class Watcher:
    """Reads the run as a third machine would."""

    def __init__(self, here, url):
        self.here, self.url = here, url
        self.opened = None

    def run(self):
        return open_run(find_run("latest", self.here, self.url))

    def events(self):
        try:
            if self.opened is None:
                self.opened = self.run()
            return list(self.opened.events())
        except StoreError:  # not begun yet
            return []

    def until(self, condition, machines, seconds=120):
        deadline = time.monotonic() + seconds
        while True:
            events = self.events()
            if condition(events):
                return events
            assert time.monotonic() < deadline, [m.said() for m in machines]
            for machine in machines:
                assert machine.process.poll() in (None, 0), machine.said()
            time.sleep(0.1)


def workers(events):
    """Return the processes in the order of their first events."""
    return list(dict.fromkeys(stored.worker for stored in events))


def hands(events):
    """Return for each session the processes that stored its events, one entry for each change of hands."""
    found = {}
    for stored in events:
        if stored.session is not None:
            found.setdefault(stored.session, []).append(stored.worker)
    return {session: [worker for worker, _ in itertools.groupby(those)] for session, those in found.items()}


@pytest.fixture
def machines(tmp_path):
    begun = []

    def begin(name, *arguments):
        begun.append(Machine(tmp_path / name, *arguments))
        return begun[-1]

    yield begin
    for machine in begun:
        if machine.process.poll() is None:
            machine.process.send_signal(signal.SIGCONT)
        machine.end()


def place_of(key):
    """Return a call's key without the run."""
    return key.partition(".")[2]


async def undisturbed(tmp_path):
    """What one process in a folder of its own makes of the same run."""
    here = tmp_path / "alone"
    here.mkdir()
    await drive(here, SEED, None, None, None, 0.0)
    return report(find_run("latest", here / "runs"))


def both_at_work(events):
    """Each of two processes has answers, and the first has sessions that are open."""
    answered = {stored.worker for stored in events if isinstance(stored.event, CallFinished)}
    first = workers(events)[:1]
    last = {stored.session: stored for stored in events if stored.session}
    still = [s for s in last.values() if s.worker in first and not isinstance(s.event, SessionFinished)]
    return len(answered) == 2 and len(still) >= 2


def fallen_asleep(machine, watcher):
    """Stop a process with open sessions and no transaction, for whose locks others would wait; return the events."""
    engine = create_engine(database_url(machine.url))
    waiting = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
        "AND state = 'idle in transaction' AND state_change < now() - interval '0.2 s'"
    )
    try:
        for _ in range(100):
            machine.process.send_signal(signal.SIGSTOP)
            time.sleep(0.4)
            events = watcher.events()
            with engine.connect() as connection:
                if both_at_work(events) and not connection.execute(waiting).scalar():
                    return events
            machine.process.send_signal(signal.SIGCONT)
            time.sleep(0.05)
    finally:
        engine.dispose()
    raise AssertionError("it was never asleep with sessions that are open")


@pytest.mark.slow
async def test_two_processes_on_postgresql_and_s3_finish_a_run_together_after_one_was_killed(
    tmp_path, postgres, s3, machines
):
    watcher = Watcher(tmp_path / "watcher", postgres)
    one = machines("one", postgres, s3)
    watcher.until(lambda events: len(events) > 8, [one])
    [run] = stored_runs(postgres)
    two = machines("two", postgres, s3, run)
    watcher.until(both_at_work, [one, two])
    one.process.kill()
    one.process.wait()
    killed = watcher.events()
    two.wait()

    events = watcher.events()
    first, second = workers(events)
    assert [stored.seq for stored in events] == list(range(1, len(events) + 1))
    assert events[: len(killed)] == killed
    assert {stored.worker for stored in events[len(killed) :]} == {second}  # the dead one wrote nothing more
    changes = hands(events)
    assert set(map(tuple, changes.values())) <= {(first,), (second,), (first, second)}  # never two at once
    assert (first, second) in set(map(tuple, changes.values()))  # what the dead one had begun was taken over
    assert any(those == [second] for those in changes.values())
    assert sum(isinstance(stored.event, RunFinished) for stored in events) == 1
    assert isinstance(events[-1].event, RunFinished)

    found = report(find_run(run, tmp_path / "watcher", postgres))  # reads every reply and verdict from S3
    alone = await undisturbed(tmp_path)
    assert found[0] == alone[0]  # the same outcomes, turns and tokens as one process alone
    assert sorted(map(place_of, found[1])) == sorted(map(place_of, set(alone[1])))
    assert found[3] == alone[3]
    stored_by_first = {s.event.key for s in killed if isinstance(s.event, CallFinished) and s.worker == first}
    twice = set(one.asked()) & set(two.asked())
    assert not twice & stored_by_first  # only answers that the dead one had no time to store are asked for again
    assert not any((tmp_path / name / "runs" / run / "blobs").exists() for name in ("one", "two"))


@pytest.mark.long
@pytest.mark.slow
def test_a_process_that_was_only_asleep_writes_nothing_to_sessions_that_were_taken_over(
    tmp_path, postgres, s3, machines
):
    watcher = Watcher(tmp_path / "watcher", postgres)
    one = machines("one", postgres, s3)
    watcher.until(lambda events: len(events) > 8, [one])
    [run] = stored_runs(postgres)
    two = machines("two", postgres, s3, run)
    watcher.until(both_at_work, [one, two])
    asleep = fallen_asleep(one, watcher)
    first, second = workers(asleep)
    taken = watcher.until(lambda events: any(those[:2] == [first, second] for those in hands(events).values()), [two])
    one.process.send_signal(signal.SIGCONT)
    one.wait()
    two.wait()
    events = watcher.events()
    for session, those in hands(taken).items():
        if those == [first, second]:
            assert hands(events)[session] == [first, second]
    assert set(map(tuple, hands(events).values())) <= {(first,), (second,), (first, second), (second, first)}
    with watcher.run() as found:
        assert all(summary.outcome is not None for summary in found.summaries().values())
        assert found.holder() is None
    assert sum(isinstance(stored.event, RunFinished) for stored in events) == 1
    assert "another process has it" in one.said()


def test_a_run_in_a_folder_keeps_to_one_process(tmp_path):
    from bringup.store import create_run, resume_run

    log = create_run(tmp_path, "r1")
    with pytest.raises(StoreError, match=rf"run r1: process {os.getpid()} on .* is working on it"):
        resume_run(tmp_path / "r1")
    log.close()
