"""What a killed process leaves: nothing that runs, and folders that the next start removes."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from bringup.judge import _processes, _scratch
from bringup.judge._scratch import Scratch, sweep

OWNER = """
import time
from bringup.judge._scratch import Scratch
scratch = Scratch()
print(scratch.name, flush=True)
time.sleep(60)
"""
STARTING = """
import asyncio
from bringup.judge import open_judge
async def main():
    await open_judge("vpe:pe64")._start()
asyncio.run(main())
"""


def process(program: str, place: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(place)},
    )


def test_a_killed_owners_folder_is_swept_and_a_living_ones_is_not(tmp_path: Path, monkeypatch) -> None:
    with process(OWNER, tmp_path) as killed, process(OWNER, tmp_path) as alive:
        assert killed.stdout is not None
        assert alive.stdout is not None
        gone, kept = Path(killed.stdout.readline().strip()), Path(alive.stdout.readline().strip())
        (gone / "deep").mkdir()
        (gone / "deep" / "file").write_text("x")
        (tmp_path / "bringup-judge-unlocked").mkdir()  # being made just now, or of an older version
        killed.kill()
        killed.wait()
        assert sweep(tmp_path) == [], "a folder this young may be on its way to its lock"
        monkeypatch.setattr(_scratch, "YOUNG_SECONDS", 0)
        assert sweep(tmp_path) == [gone.name]
        assert kept.is_dir()
        assert (tmp_path / "bringup-judge-unlocked").is_dir()
        monkeypatch.setattr(_scratch, "UNLOCKED_SECONDS", 0)
        assert sweep(tmp_path) == ["bringup-judge-unlocked"]
        alive.kill()


def test_a_folder_goes_with_its_owner(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    scratch = Scratch()
    (Path(scratch.name) / "file").write_text("x")
    scratch.close()
    scratch.close()
    assert not Path(scratch.name).exists()
    name = Path(Scratch().name)
    assert not name.exists(), "nobody holds it any more"


def children(pid: int) -> list[int]:
    try:
        return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs /proc")
def test_fork_servers_die_with_a_killed_process_while_they_import(tmp_path: Path) -> None:
    with process(STARTING, tmp_path) as main:
        deadline = time.monotonic() + 60
        while len(found := children(main.pid)) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert len(found) == 2
        # Python itself must be up in them: the signal is asked for in the first lines of the program
        while not all("torch" in Path(f"/proc/{p}/maps").read_text() for p in found):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        main.send_signal(signal.SIGKILL)
        main.wait()
        until = time.monotonic() + 2
        while any(runs(pid) for pid in found) and time.monotonic() < until:
            time.sleep(0.01)
        assert not any(runs(pid) for pid in found)


async def test_a_fork_server_that_ended_while_the_loop_was_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = _processes.ForkServer("run", {}, str(tmp_path))
    server.process = await asyncio.create_subprocess_exec("true")
    await server.process.wait()
    server.control, other = socket.socketpair()

    async def late(waiting: Any, seconds: float) -> None:
        waiting.close()
        raise TimeoutError

    monkeypatch.setattr(_processes.asyncio, "wait_for", late)
    await server.close()
    other.close()
