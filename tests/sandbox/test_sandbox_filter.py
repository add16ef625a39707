"""The filter of system calls, run by a small interpreter of the classic packet filter, for both architectures."""

from __future__ import annotations

import struct

import pytest

from bringup.judge.sandbox import _allowed, _seccomp
from bringup.judge.sandbox._seccomp import (
    ALLOW,
    ARCHITECTURE,
    AUDIT_ARCH,
    ENOSYS,
    EPERM,
    ERRNO,
    FORBIDDEN,
    KILL_PROCESS,
)

MACHINES = ("x86_64", "aarch64")


def run(machine: str, number: int, *arguments: int, arch: int | None = None, blind: bool = False) -> int:
    """Return the filter's answer to a system call."""
    arch = AUDIT_ARCH[MACHINES.index(machine)] if arch is None else arch
    data = struct.pack("<IIQ6Q", number, arch, 0, *(*arguments, 0, 0, 0, 0, 0, 0)[:6])
    code, accumulator, at = _seccomp.program(machine, blind=blind), 0, 0
    while True:
        operation, if_true, if_false, operand = code[at]
        at += 1
        if operation == _seccomp.RETURN:
            return operand
        if operation == _seccomp.LOAD:
            accumulator = struct.unpack_from("<I", data, operand)[0]
            continue
        if operation == _seccomp.AND:
            accumulator &= operand
            continue
        holds = {
            _seccomp.EQUAL: accumulator == operand,
            _seccomp.AT_LEAST: accumulator >= operand,
            _seccomp.ANY_BIT: bool(accumulator & operand),
        }[operation]
        at += if_true if holds else if_false


@pytest.mark.parametrize("machine", MACHINES)
def test_exactly_the_listed_calls_are_forbidden(machine: str) -> None:
    which = MACHINES.index(machine)
    forbidden = {numbers[which] for numbers in FORBIDDEN.values()} - {None}
    special = {_seccomp.SOCKET[which], _seccomp.CLONE[which], _seccomp.CLONE3[which]}
    for number in range(600):
        if number not in special:
            assert run(machine, number) == (ERRNO | EPERM if number in forbidden else ALLOW), number


@pytest.mark.parametrize("machine", MACHINES)
def test_arguments_decide_on_sockets_and_clones(machine: str) -> None:
    which = MACHINES.index(machine)
    assert run(machine, _seccomp.SOCKET[which], 1) == ALLOW
    for family in (0, 2, 10, 16, 17, 40):
        assert run(machine, _seccomp.SOCKET[which], family) == ERRNO | EPERM
    threads, forks = 0x3D0F00, 17
    assert run(machine, _seccomp.CLONE[which], threads) == ALLOW
    assert run(machine, _seccomp.CLONE[which], forks) == ALLOW
    for flag in (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000):
        assert run(machine, _seccomp.CLONE[which], flag | forks) == ERRNO | EPERM
    assert run(machine, _seccomp.CLONE3[which]) == ERRNO | ENOSYS


@pytest.mark.parametrize("machine", MACHINES)
def test_a_guest_may_make_exactly_the_listed_calls(machine: str) -> None:
    which = MACHINES.index(machine)
    allowed = {numbers[which] for numbers in _allowed.ALLOWED.values()} - {None}
    looked_at = (
        _allowed.FCNTL, _allowed.GETSOCKOPT, _allowed.TGKILL, _allowed.MMAP, _allowed.WAIT4, _allowed.WAITID,
        _allowed.FUTEX, _allowed.CLOCK_NANOSLEEP, *_allowed.SELECTS, *(numbers for numbers, _ in _allowed.MESSAGES),
    )  # fmt: skip
    special = {numbers[which] for numbers in looked_at} - {None}
    assert not special & allowed
    for number in {*range(600), *range(1 << 10, 1 << 12)} - special - {_seccomp.CLONE3[which]}:
        assert run(machine, number, blind=True) == (ALLOW if number in allowed else ERRNO | EPERM), number
    for flags in (17, 17 | 0x10000000, 0x3D0F00):  # a process, one in a namespace, a thread
        assert run(machine, _seccomp.CLONE[which], flags, blind=True) == ERRNO | EPERM


@pytest.mark.parametrize("machine", MACHINES)
def test_a_guest_waits_for_messages_and_looks_at_nothing(machine: str) -> None:
    which = MACHINES.index(machine)
    for numbers, place in _allowed.MESSAGES:
        for flags, answer in ((0, ALLOW), (0x4000, ALLOW), (0x40, ERRNO | EPERM), (0x42, ERRNO | EPERM)):
            assert run(machine, numbers[which], *([3] * (place - 1)), flags, blind=True) == answer
    for numbers in _allowed.SELECTS:
        if numbers[which] is not None:
            assert run(machine, numbers[which], 0, blind=True) == ALLOW
            assert run(machine, numbers[which], 4, blind=True) == ERRNO | EPERM


@pytest.mark.parametrize("machine", MACHINES)
def test_what_a_guest_may_ask_of_what_is_open(machine: str) -> None:
    which = MACHINES.index(machine)
    for command in range(1100):  # locks, leases, owners, sizes and flags are others' business
        allowed = command in (0, 1, 2, 3, 1030)
        assert run(machine, _allowed.FCNTL[which], 3, command, blind=True) == (ALLOW if allowed else ERRNO | EPERM)
    for option in range(100):
        allowed = option in (3, 4, 38, 39)
        answer = run(machine, _allowed.GETSOCKOPT[which], 3, 1, option, blind=True)
        assert answer == (ALLOW if allowed else ERRNO | EPERM)
        assert run(machine, _allowed.GETSOCKOPT[which], 3, 6, option, blind=True) == ERRNO | EPERM  # of TCP


@pytest.mark.parametrize("machine", MACHINES)
def test_a_guest_sends_signals_by_which_it_ends_and_none_to_init(machine: str) -> None:
    which = MACHINES.index(machine)
    for signal in range(65):
        answer = run(machine, _allowed.TGKILL[which], 2, 7, signal, blind=True)
        assert answer == (ALLOW if signal in (4, 5, 6, 7, 8, 11) else ERRNO | EPERM)
        for other in (0, 1, 3, 4096):
            assert run(machine, _allowed.TGKILL[which], other, other, signal, blind=True) == ERRNO | EPERM
        for number in {62: 129, 200: 130}.items():  # kill and tkill
            assert run(machine, number[which], 2, signal, blind=True) == ERRNO | EPERM


@pytest.mark.parametrize("machine", MACHINES)
def test_a_guest_has_pages_of_its_own_and_is_not_told_what_a_child_has_used(machine: str) -> None:
    which = MACHINES.index(machine)
    for flags, allowed in ((0x22, True), (0x4022, True), (0x40022, False), (0x54040022, False)):
        answer = run(machine, _allowed.MMAP[which], 0, 4096, 3, flags, blind=True)
        assert answer == (ALLOW if allowed else ERRNO | EPERM)
    for used in (16, 1 << 40):
        assert run(machine, _allowed.WAIT4[which], 3, 0, 0, used, blind=True) == ERRNO | EPERM
        assert run(machine, _allowed.WAITID[which], 1, 3, 16, 4, used, blind=True) == ERRNO | EPERM
    assert run(machine, _allowed.WAIT4[which], 3, 1 << 40, 0, 0, blind=True) == ALLOW
    assert run(machine, _allowed.WAITID[which], 1, 3, 16, 4, 0, blind=True) == ALLOW


@pytest.mark.parametrize("machine", MACHINES)
def test_a_guest_makes_nothing_that_is_counted_by_user(machine: str) -> None:
    calls = {
        "sendmsg": (46, 211), "sendmmsg": (307, 269), "socketpair": (53, 199), "pipe2": (293, 59), "mlock": (149, 228),
        "mlock2": (325, 284), "mlockall": (151, 230), "epoll_create1": (291, 20), "eventfd2": (290, 19),
        "inotify_init1": (294, 26), "timer_create": (222, 107), "rt_sigqueueinfo": (129, 138), "signalfd4": (289, 74),
        "rseq": (334, 293), "membarrier": (324, 283), "umask": (95, 166), "getgroups": (115, 158), "capget": (125, 90),
        "clock_getres": (229, 114),
    }  # fmt: skip
    for name, numbers in calls.items():
        assert run(machine, numbers[MACHINES.index(machine)], blind=True) == ERRNO | EPERM, name


@pytest.mark.parametrize("machine", MACHINES)
def test_a_guest_waits_for_a_time_and_not_until_one(machine: str) -> None:
    which = MACHINES.index(machine)
    for command in (0, 9, 128 | 9, 256 | 128 | 9, 6, 13):
        assert run(machine, _allowed.FUTEX[which], 1, command, 0, 0, blind=True) == ALLOW
        for time in (16, 1 << 40):
            assert run(machine, _allowed.FUTEX[which], 1, command, 0, time, blind=True) == ERRNO | 110
    assert run(machine, _allowed.FUTEX[which], 1, 1, 0, 16, blind=True) == ALLOW  # to wake: no time
    assert run(machine, _allowed.CLOCK_NANOSLEEP[which], 1, 0, blind=True) == ALLOW
    assert run(machine, _allowed.CLOCK_NANOSLEEP[which], 1, 1, blind=True) == ERRNO | EPERM


def test_other_calling_conventions_are_no_way_around() -> None:
    assert ARCHITECTURE == 4
    assert run("x86_64", 11, arch=0x40000003) == KILL_PROCESS  # 32-bit calls
    assert run("aarch64", 11, arch=0x40000028) == KILL_PROCESS
    assert run("x86_64", 0x40000000 | 101) == ERRNO | ENOSYS  # x32's ptrace


def test_no_number_is_listed_twice_and_the_program_fits() -> None:
    for which, machine in enumerate(MACHINES):
        for listed in (FORBIDDEN, _allowed.ALLOWED):
            numbers = [n[which] for n in listed.values() if n[which] is not None]
            assert len(numbers) == len(set(numbers))
        for blind in (False, True):
            code = _seccomp.program(machine, blind=blind)
            assert all(0 <= jump < 256 for _, yes, no, _ in code for jump in (yes, no))
