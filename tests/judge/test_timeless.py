"""A guest has no clock: whatever tells the time elsewhere tells it nothing, or is refused."""

from __future__ import annotations

import ctypes
import os
import platform
import time
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from bringup_testkit import DOUBLE
from judge_bench import Bench

from bringup.candidate import Candidate
from bringup.config import JudgeConfig
from bringup.judge import _processes
from bringup.judge.sandbox import _allowed, _isolate, _kernel, stop_the_clock, take_up_the_clock
from bringup.suites import get_suite
from bringup.verdict import Verdict

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]
X86 = platform.machine() == "x86_64"

# Each way prints 0 or is refused; what it finds is raised, and so in the verdict.
ASK = """
import ctypes, os, socket, time

libc = ctypes.CDLL(None, use_errno=True)


def system_call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
    return None if result < 0 and ctypes.get_errno() in (1, 110) else (result, ctypes.get_errno())


def wrapper(x):
    said = (ctypes.c_long * 32)()
    ended = (ctypes.c_long * 2)(1, 0)  # a second after the beginning of all clocks: long ago
    ahead = (ctypes.c_long * 2)(1 << 33, 0)
    word = ctypes.c_int(0)
    WAYS
    raise ValueError(f"found {found!r}")
"""
WAYS = {
    "Python's clocks": "found = time.time() + time.monotonic() + time.perf_counter() + time.localtime().tm_year - 1970",
    "the C library's": (
        "libc.time.restype = ctypes.c_long\n    libc.gettimeofday(said, None), libc.clock_gettime(6, said)\n"
        "    found = libc.time(None) + sum(said)"
    ),
    "a pipe": "found = os.fstat(1).st_mtime",
    "a socket": "found = os.fstat(3).st_ctime",
    "what is open and no file": "found = os.fstat(0).st_atime",
    "a file": "os.close(os.open('f', os.O_CREAT | os.O_RDWR))\n    found = os.stat('f').st_mtime",
    "a device": "found = os.stat('/dev/null').st_atime",
    "a sleep until long ago": "found = system_call(SLEEP, 0, 1, ended, 0)",
    "a lock until long ago or far ahead": (
        "found = [ctypes.get_errno() for end in (ended, ahead)\n"
        "             if system_call(LOCK, word, 9 | 256, 0, end, 0, -1) is None] != [110, 110] or 0"
    ),
}  # fmt: skip
# Numbers on x86-64 and aarch64.
SYSTEM_CALLS: dict[str, tuple[int | None, int | None]] = {
    "clock_gettime": (228, 113), "gettimeofday": (96, 169), "time": (201, None), "times": (100, 153),
    "getrusage": (98, 165), "sysinfo": (99, 179), "timerfd_create": (283, 85), "prctl": (157, 167),
    "arch_prctl": (158, None), "ustat": (136, None), "statmount": (457, 457), "listmount": (458, 458),
    "uname": (63, 160), "inotify_init1": (294, 26), "openat": (257, 56), "socket": (41, 198),
}  # fmt: skip


def asks(way: str) -> str:
    which = 0 if X86 else 1
    numbers = {"SLEEP": _allowed.CLOCK_NANOSLEEP[which], "LOCK": _allowed.FUTEX[which]}
    for name, number in numbers.items():
        way = way.replace(name, str(number)).replace("word, 9", "ctypes.addressof(word), 9")
    return ASK.replace("WAYS", way)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def judge() -> AsyncIterator[Bench]:
    async with Bench("vpe:pe64", JudgeConfig()) as bench:
        yield bench


async def judged(judge: Bench, source: str) -> Verdict:
    return await judge.candidate(Candidate(source=source), get_suite("tiny").operator("double"))


@pytest.mark.long
async def test_the_clock_is_said_to_be_stopped(judge: Bench) -> None:
    facts = (await judged(judge, DOUBLE)).environment.isolation
    assert facts is not None
    if "files" not in facts["on"] or facts["on"]["files"] != "not there":
        pytest.skip("this system grants no mount namespace")
    assert facts["on"]["clock"] == "stopped"
    drawn = _isolate.addresses_are_drawn()  # of this process: where personality may ask, a guest's are not
    assert facts["on"].get("addresses") == "not drawn" or (drawn and "personality" in facts["missing"]["addresses"])


@pytest.mark.parametrize("way", WAYS)
async def test_no_way_tells_the_time(judge: Bench, way: str) -> None:
    verdict = await judged(judge, asks(WAYS[way]))
    assert verdict.kind == "raised", verdict.summary
    refused = "PermissionError" in verdict.summary
    assert refused or any(f"found {nothing}" in verdict.summary for nothing in ("0", "0.0", "None")), verdict.summary


@pytest.mark.parametrize("name", SYSTEM_CALLS)
async def test_no_system_call_tells_it(judge: Bench, name: str) -> None:
    number = SYSTEM_CALLS[name][0 if X86 else 1]
    if number is None:
        pytest.skip("no such call on this machine")
    # Neither the counter of cycles nor another vDSO can be had again.
    arguments = {"prctl": "26, 1", "arch_prctl": "0x2003, 1 << 40"}.get(name, "0, said")
    verdict = await judged(judge, asks(f"found = system_call({number}, {arguments})"))
    assert "found None" in verdict.summary, verdict.summary


@pytest.mark.skipif(not X86, reason="the counter of cycles stays readable here")
async def test_the_counter_of_cycles_is_a_fault(judge: Bench) -> None:
    code = (
        "import mmap\n    page = mmap.mmap(-1, 4096, prot=7)\n    page.write(bytes.fromhex('0f31c3'))  # rdtsc; ret\n"
        "    found = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()"
    )
    verdict = await judged(judge, asks(code))
    assert verdict.kind == "crashed", verdict.summary
    assert "SIGSEGV" in verdict.summary


async def test_sleep_and_locks_with_an_end_still_end(judge: Bench) -> None:
    began = time.monotonic()
    source = (
        "import threading, time\n\ndef wrapper(x):\n    time.sleep(0.5)\n    lock = threading.Lock()\n"
        "    lock.acquire()\n    raise ValueError(f'found {lock.acquire(timeout=900)}')\n"
    )
    assert "found False" in (await judged(judge, source)).summary
    assert 0.5 < time.monotonic() - began < 60


@pytest.mark.long
async def test_who_hangs_is_asked_where(judge: Bench) -> None:
    async with Bench("vpe:pe64", JudgeConfig(case_seconds=2)) as impatient:
        verdict = await judged(impatient, "def wrapper(x):\n    while True:\n        pass\n")
    assert verdict.kind == "timed_out"
    assert 'File "candidate.py", line' in (verdict.log or "")


@pytest.mark.long
async def test_where_the_clock_goes_on_guests_work_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_processes, "PASSED_ENVIRONMENT", (*_processes.PASSED_ENVIRONMENT, "BRINGUP_SANDBOX_WITHOUT"))
    monkeypatch.setenv("BRINGUP_SANDBOX_WITHOUT", "clock")
    async with Bench("vpe:pe64", JudgeConfig()) as timed:
        verdict = await judged(timed, DOUBLE)
        told = await judged(
            timed, "import time\n\ndef wrapper(x):\n    raise ValueError(f'found {time.time() > 1e9}')\n"
        )
    assert verdict.kind == "passed"
    assert verdict.environment.isolation is not None
    assert verdict.environment.isolation["missing"]["clock"] == "switched off"
    assert "found True" in told.summary


def test_a_process_and_its_children_find_a_clock_that_stands_still() -> None:
    pid = os.fork()
    if pid == 0:
        try:
            stop_the_clock()
            said = (ctypes.c_long * 2)(7, 7)
            told = _kernel.libc().gettimeofday(said, None) or sum(said)
            zero = time.time() == time.monotonic() == told == 0
            child = os.fork()
            if child == 0:
                os._exit(0 if time.time() == 0.0 else 1)
            still = zero and os.waitpid(child, 0)[1] == 0
            take_up_the_clock()
            os._exit(0 if still and time.time() > 1e9 and time.monotonic() > 0 else 1)
        finally:
            os._exit(2)
    assert os.waitpid(pid, 0)[1] == 0
    assert time.time() > 1e9  # this one's goes on
