"""Guests are copies of one process that never changes: what lies in their memory says nothing of who was before."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import resource
import signal
import socket
import struct
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from bringup.judge._guest import Guest
from bringup.judge.calling import Caller
from bringup.judge.sandbox import _kernel, _privileges, _seccomp, ask, copies
from bringup.judge.sandbox import _start as start_module

pytestmark = [pytest.mark.slow, pytest.mark.own_servers]

DRAWN = 512  # bytes that may differ: what is left on the stack of chance and of the numbers of processes


@pytest.fixture(scope="module")
def caller() -> Iterator[Caller]:
    made = Caller("vpe:pe64")
    made.start()
    yield made
    made.close()


@contextlib.contextmanager
def guest(caller: Caller) -> Iterator[Guest]:
    ours, theirs = socket.socketpair()
    with ours, theirs, caller._guest(theirs) as made:
        yield made


def memory(pid: int) -> dict[tuple[int, str], bytes]:
    """What a process can read of its own, but for what the kernel and files put there."""
    found = {}
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        place, rights, _, _, _, *name = line.split(maxsplit=5)
        start, end = (int(number, 16) for number in place.split("-"))
        if not rights.startswith("rw") or (name and name[0].startswith("[v")):
            continue
        with contextlib.suppress(OSError), open(f"/proc/{pid}/mem", "rb") as file:
            file.seek(start)
            found[start, name[0] if name else ""] = file.read(end - start)
    return found


def memory_of_a_guest(caller: Caller) -> dict[tuple[int, str], bytes]:
    with guest(caller) as made:
        time.sleep(0.3)  # until it waits for its first request
        try:
            return memory(made.pids[0])
        except (OSError, IndexError) as error:
            pytest.skip(f"a guest's memory cannot be read from outside: {error}")


@pytest.mark.long
def test_a_later_guest_is_like_an_earlier_one(caller: Caller) -> None:
    first = memory_of_a_guest(caller)
    for _ in range(20):
        with guest(caller):
            pass
    later = memory_of_a_guest(caller)
    assert first.keys() == later.keys()
    assert sum(map(len, first.values())) > 50 << 20
    differing = 0
    for place, data in first.items():
        if data != later[place]:
            differing += int((np.frombuffer(data, np.uint8) != np.frombuffer(later[place], np.uint8)).sum())
    assert differing < DRAWN


def test_no_time_no_host_no_folder_and_no_name_is_in_a_guests_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "where-nobody-works"
    folder.mkdir()
    monkeypatch.chdir(folder)
    # What the user's variables say: where caches and temporary files are, libraries and modules of others.
    for name in ("XDG_CACHE_HOME", "TMPDIR", "LD_LIBRARY_PATH", "PYTHONPATH", "SOME_OTHER"):
        (folder / name).mkdir()
        monkeypatch.setenv(name, str(folder / name))
    os.utime(folder / "PYTHONPATH", (10**9, 10**9))  # when a folder of modules was changed, imports note
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.syspath_prepend(folder / "PYTHONPATH")
    monkeypatch.setenv("PATH", f"{folder / 'PATH'}:{os.environ['PATH']}")
    began = time.time()
    made = Caller("vpe:pe64")
    try:
        made.start()
        assert made._scratch is not None
        found = memory_of_a_guest(made)
        scratch = os.path.basename(made._scratch.name).encode()
    finally:
        made.close()
    whole = b"".join(found.values())
    assert b"bringup.judge" in whole  # it is searched at all
    assert scratch not in whole
    marked = [whole[at.start() - 60 : at.end() + 60] for at in re.finditer(b"where-nobody-works", whole)]
    assert not marked
    if len(os.uname().nodename) > 8:
        assert os.uname().nodename.encode() not in whole
    files = times_of_files()
    for data in found.values():
        doubles = np.frombuffer(data[: len(data) & ~7], np.float64)
        with np.errstate(invalid="ignore"):
            near = doubles[(doubles > began - 1) & (doubles < time.time())]
        assert not {round(float(number), 3) for number in near} - files
        whole_numbers = np.frombuffer(data[: len(data) & ~7], np.int64)
        for unit in (1, 10**3, 10**6, 10**9):
            lower, upper = int((began - 1) * unit), int(time.time() * unit)
            assert not ((whole_numbers > lower) & (whole_numbers < upper)).any()


def times_of_files() -> set[float]:
    """Times of folders that modules lie in: bytecode may have been written a moment ago."""
    import bringup

    places = [Path(bringup.__file__).parent, *Path(bringup.__file__).parent.rglob("*")]
    return {round(place.stat().st_mtime, 3) for place in places if place.exists()}


def test_a_copy_gets_the_descriptors_of_its_message_and_the_original_keeps_none() -> None:
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        try:
            ours.close()
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            given = copies(theirs)
            if given is None:  # the original, at the end
                os._exit(40 + len(os.listdir("/proc/self/fd")) % 20)
            for descriptor in given:
                with contextlib.suppress(OSError):  # a text's pipe is there to be read
                    os.write(descriptor, struct.pack("=ii", len(given), os.getpid()))
            os._exit(0)
        finally:
            os._exit(1)
    theirs.close()
    pids = set()
    for count in (1, 3, 5, 1):
        pipes = [os.pipe() for _ in range(count)]
        ask(ours, [writing for _, writing in pipes])
        for reading, writing in pipes:
            os.close(writing)
            told, copy = struct.unpack("=ii", os.read(reading, 8))
            assert told == count
            pids.add(copy)
            assert os.read(reading, 1) == b""  # nobody else has it: not the original, not a later copy
            os.close(reading)
    assert len(pids) == 4
    assert pid not in pids
    text_reading, text_writing = os.pipe()
    ask(ours, [text_writing], b"some text")
    os.close(text_writing)
    assert struct.unpack("=ii", os.read(text_reading, 8))[0] == 2  # the text's pipe is one
    os.close(text_reading)
    ours.close()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) >= 40


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_code_is_what_it_says(machine: str) -> None:
    """The numbers of system calls, and that it ends by a return."""
    from bringup.judge.sandbox._copies import CODE

    code = CODE[machine]
    if machine == "x86_64":
        assert re.findall(rb"\xb8(....)\x0f\x05", code, re.DOTALL)[-1:] == [struct.pack("<I", 3)]  # close
        assert struct.pack("<BI", 0xB8, 47) in code  # recvmsg
        assert struct.pack("<BI", 0xB8, 56) in code  # clone
        assert code.endswith(b"\xc3")
    else:
        words = struct.unpack(f"<{len(code) // 4}I", code)
        assert [(word >> 5) & 0xFFFF for word in words if word & 0xFFE0001F == 0xD2800008] == [212, 220, 57]
        assert words[-1] == 0xD65F03C0


def test_a_copy_that_cannot_be_had_ends_nothing() -> None:
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        try:
            ours.close()
            _no_new_processes()
            os._exit(7 if copies(theirs) is None else 8)
        finally:
            os._exit(1)
    theirs.close()
    for _ in range(3):
        reading, writing = os.pipe()
        ask(ours, [writing])
        os.close(writing)
        assert os.read(reading, 1) == b""  # nobody has it
        os.close(reading)
    ours.close()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7


def _no_new_processes() -> None:
    """Have clone(2) fail as it does where there are too many processes."""
    number = 56 if os.uname().machine == "x86_64" else 220
    steps = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050000 | 11), (0x06, 0, 0, 0x7FFF0000)]
    code = b"".join(struct.pack("=HBBI", *step) for step in steps)
    _privileges.no_new_privileges()
    structure = _seccomp._Program(len(steps), code)
    arguments = (ctypes.c_long(1), ctypes.c_long(0), ctypes.byref(structure))
    assert _kernel.libc().syscall(ctypes.c_long(_kernel.number("seccomp")), *arguments) == 0


def test_a_name_is_forgotten_wherever_it_lies() -> None:
    pid = os.fork()
    if pid == 0:
        try:
            name = "drawn-" + os.urandom(8).hex()
            kept = [f"/a/{name}/{number}" for number in range(100)]
            start_module.forget(name.encode())
            os._exit(0 if all("\0" * 22 in one for one in kept) else 3)
        finally:
            os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0


@pytest.mark.long
def test_a_guest_may_do_nothing_and_its_limits_are_those_of_all(caller: Caller) -> None:
    with guest(caller) as made:
        pid = made.pids[0]
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
        assert [int(status[f"Cap{kind}"], 16) for kind in ("Inh", "Prm", "Eff", "Amb")] == [0, 0, 0, 0]
        assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
        for limit in (resource.RLIMIT_MEMLOCK, resource.RLIMIT_SIGPENDING, resource.RLIMIT_RTPRIO):
            assert resource.prlimit(pid, limit) == (0, 0)
