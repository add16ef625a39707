"""Filters of system calls for untrusted code. What is refused fails with EPERM, as it would without privileges.

For compiling processes a list of what is forbidden, which no kernel author needs and attacks on the kernel start with:
compilers use most of the rest, and other versions of them other parts of it. For guests a list of what is allowed.
"""

from __future__ import annotations

import ctypes
import functools
import os
import struct

from bringup.judge.sandbox import _allowed, _kernel

# x86_64, aarch64; None where the architecture has no such call. Calls since 2019 have one number everywhere.
FORBIDDEN: dict[str, tuple[int | None, int | None]] = {
    # other processes
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "pidfd_getfd": (438, 438), "process_madvise": (440, 440), "migrate_pages": (256, 238),
    # file systems and namespaces
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "setns": (308, 268),
    "unshare": (272, 97), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264), "quotactl": (179, 60),
    "quotactl_fd": (443, 443), "swapon": (167, 224), "swapoff": (168, 225), "fanotify_init": (300, 262),
    # the kernel itself
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104),
    "kexec_file_load": (320, 294), "reboot": (169, 142), "syslog": (103, 116), "acct": (163, 89),
    "iopl": (172, None), "ioperm": (173, None), "modify_ldt": (154, None), "vhangup": (153, 58),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    # the clock and the machine's name
    "settimeofday": (164, 170), "clock_settime": (227, 112), "clock_adjtime": (305, 266), "adjtimex": (159, 171),
    "sethostname": (170, 161), "setdomainname": (171, 162),
    # memory and messages that outlive a process or that no limit counts
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "shmget": (29, 194), "shmat": (30, 196),
    "semget": (64, 190), "msgget": (68, 186), "mq_open": (240, 180),
    # connections; what was opened before stays, and so do pairs of sockets
    "connect": (42, 203),
}  # fmt: skip
SOCKET, CLONE, CLONE3 = (41, 198), (56, 220), (435, 435)
NEW_NAMESPACES = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
AUDIT_ARCH = (0xC000003E, 0xC00000B7)
X32 = 0x40000000
EPERM, ENOSYS, ETIMEDOUT, AF_UNIX = 1, 38, 110, 1

# Instructions of the classic packet filter, and the fields of struct seccomp_data.
LOAD, EQUAL, AT_LEAST, ANY_BIT, AND, RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16  # the low halves of arguments: both machines are little-endian
SECOND_ARGUMENT, THIRD_ARGUMENT, FOURTH_ARGUMENT, FIFTH_ARGUMENT = 24, 32, 40, 48
WORKER = 2  # the number of a process that its init has forked first
ALLOW, ERRNO, KILL_PROCESS = 0x7FFF0000, 0x00050000, 0x80000000
SET_MODE_FILTER, FLAG_SPEC_ALLOW = 1, 4
Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, operand


def program(machine: str, *, blind: bool = False, own: int = WORKER) -> list[Instruction]:
    """Return the filter for `x86_64` or `aarch64`; `blind`: for a guest, whose process has the number `own`."""
    which = _kernel.ARCHITECTURES.index(machine)
    calls = _allowed.ALLOWED if blind else FORBIDDEN
    named = sorted(numbers[which] or 0 for numbers in calls.values() if numbers[which] is not None)
    code: list[Instruction] = [
        (LOAD, 0, 0, ARCHITECTURE),
        (EQUAL, 1, 0, AUDIT_ARCH[which]),
        (RETURN, 0, 0, KILL_PROCESS),  # 32-bit calls have other numbers
        (LOAD, 0, 0, NUMBER),
    ]
    if machine == "x86_64":
        code += [(AT_LEAST, 0, 1, X32), (RETURN, 0, 0, ERRNO | ENOSYS)]
    # The C library takes clone when there is no clone3, whose flags lie in memory where no filter sees them.
    code += [(EQUAL, 0, 1, CLONE3[which]), (RETURN, 0, 0, ERRNO | ENOSYS)]
    if blind:
        code += _asked_of_what_is_open(which) + _of_itself(which, own) + _waits(which) + _messages(which)
    else:
        code += [(EQUAL, 0, 4, CLONE[which]), (LOAD, 0, 0, FIRST_ARGUMENT)]
        code += [(ANY_BIT, 0, 1, NEW_NAMESPACES), (RETURN, 0, 0, ERRNO | EPERM), (RETURN, 0, 0, ALLOW)]
        code += [(EQUAL, 0, 4, SOCKET[which]), (LOAD, 0, 0, FIRST_ARGUMENT)]
        code += [(EQUAL, 1, 0, AF_UNIX), (RETURN, 0, 0, ERRNO | EPERM), (RETURN, 0, 0, ALLOW)]
    code += [(EQUAL, len(named) - index, 0, nr) for index, nr in enumerate(named)]
    ends: list[Instruction] = [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, ERRNO | EPERM)]
    return code + (ends[::-1] if blind else ends)


def _one_of(number: int, before: list[Instruction], allowed: tuple[int, ...]) -> list[Instruction]:
    """A call that is allowed where what `before` loads is one of these."""
    body = [*before, *((EQUAL, len(allowed) - index, 0, value) for index, value in enumerate(allowed))]
    body += [(RETURN, 0, 0, ERRNO | EPERM), (RETURN, 0, 0, ALLOW)]
    return [(EQUAL, 0, len(body), number), *body]


def _asked_of_what_is_open(which: int) -> list[Instruction]:
    second: list[Instruction] = [(LOAD, 0, 0, SECOND_ARGUMENT)]
    level: list[Instruction] = [(EQUAL, 1, 0, _allowed.SOL_SOCKET), (RETURN, 0, 0, ERRNO | EPERM)]
    option: list[Instruction] = [*second, *level, (LOAD, 0, 0, THIRD_ARGUMENT)]
    return [
        *_one_of(_number(_allowed.FCNTL, which), second, _allowed.FCNTL_COMMANDS),
        *_one_of(_number(_allowed.GETSOCKOPT, which), option, _allowed.SOCKET_OPTIONS),
    ]


def _of_itself(which: int, own: int) -> list[Instruction]:
    """Signals, memory and ends of children: to itself, of its own, and without what they have used."""
    refuse: Instruction = (RETURN, 0, 0, ERRNO | EPERM)
    allow: Instruction = (RETURN, 0, 0, ALLOW)
    signal: list[Instruction] = [(LOAD, 0, 0, FIRST_ARGUMENT), (EQUAL, 1, 0, own), refuse, (LOAD, 0, 0, THIRD_ARGUMENT)]
    memory: list[Instruction] = [(LOAD, 0, 0, FOURTH_ARGUMENT), (ANY_BIT, 0, 1, _allowed.MAP_HUGETLB), refuse, allow]

    def null(argument: int) -> list[Instruction]:
        halves = (argument, argument + 4)
        return [step for half in halves for step in ((LOAD, 0, 0, half), (EQUAL, 1, 0, 0), refuse)] + [allow]

    code = _one_of(_number(_allowed.TGKILL, which), signal, _allowed.ENDING_SIGNALS)
    for numbers, body in (
        (_allowed.MMAP, memory), (_allowed.WAIT4, null(FOURTH_ARGUMENT)), (_allowed.WAITID, null(FIFTH_ARGUMENT)),
    ):  # fmt: skip
        code += [(EQUAL, 0, len(body), _number(numbers, which)), *body]
    return code


def _waits(which: int) -> list[Instruction]:
    """Waits until a time, which tell whether it has passed: for a lock they are over at once, for nothing refused."""
    over: Instruction = (RETURN, 0, 0, ERRNO | ETIMEDOUT)
    allow: Instruction = (RETURN, 0, 0, ALLOW)
    lock: list[Instruction] = [(LOAD, 0, 0, SECOND_ARGUMENT), (AND, 0, 0, _allowed.FUTEX_COMMAND)]
    waits = _allowed.FUTEX_WAITS
    lock += [(EQUAL, len(waits) - index, 0, command) for index, command in enumerate(waits)]
    lock += [allow]
    for half in (FOURTH_ARGUMENT, FOURTH_ARGUMENT + 4):  # of a pointer to the time
        lock += [(LOAD, 0, 0, half), (EQUAL, 1, 0, 0), over]
    lock += [allow]
    sleep: list[Instruction] = [(LOAD, 0, 0, SECOND_ARGUMENT), (ANY_BIT, 0, 1, _allowed.TIMER_ABSTIME)]
    sleep += [(RETURN, 0, 0, ERRNO | EPERM), allow]
    return [
        (EQUAL, 0, len(lock), _number(_allowed.FUTEX, which)), *lock,
        (EQUAL, 0, len(sleep), _number(_allowed.CLOCK_NANOSLEEP, which)), *sleep,
    ]  # fmt: skip


def _messages(which: int) -> list[Instruction]:
    """Messages, which are waited for, and looks at what is open, which are no looks at all."""
    refuse: Instruction = (RETURN, 0, 0, ERRNO | EPERM)
    allow: Instruction = (RETURN, 0, 0, ALLOW)
    code: list[Instruction] = []
    for numbers, place in _allowed.MESSAGES:
        flags = {3: THIRD_ARGUMENT, 4: FOURTH_ARGUMENT}[place]
        body = [(LOAD, 0, 0, flags), (ANY_BIT, 0, 1, _allowed.MSG_DONTWAIT), refuse, allow]
        code += [(EQUAL, 0, len(body), _number(numbers, which)), *body]
    for numbers in _allowed.SELECTS:
        if (number := numbers[which]) is not None:
            code += _one_of(number, [(LOAD, 0, 0, FIRST_ARGUMENT)], (0,))
    return code


def _number(numbers: _allowed.Numbers, which: int) -> int:
    found = numbers[which]
    assert found is not None  # both machines have those whose arguments are looked at
    return found


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]


@functools.cache
def assembled(*, blind: bool = False, own: int = WORKER) -> tuple[int, bytes]:
    """Return the number of seccomp(2) and this machine's filter as the kernel reads it. Raises OSError."""
    number = _kernel.number("seccomp")  # refuses an unknown architecture before anything else
    return number, b"".join(
        struct.pack("=HBBI", *instruction) for instruction in program(_kernel.machine(), blind=blind, own=own)
    )


def install(*, blind: bool = False) -> None:
    """Put the filter on this thread and all that it starts; needs no_new_privs. Raises OSError."""
    number, code = assembled(blind=blind, own=os.getpid() if blind else WORKER)
    structure = _Program(len(code) // 8, code)
    # Without FLAG_SPEC_ALLOW older kernels also switch off the processor's speculation: slower, and no use here.
    arguments = (ctypes.c_long(SET_MODE_FILTER), ctypes.c_long(FLAG_SPEC_ALLOW), ctypes.byref(structure))
    _kernel.checked(_kernel.libc().syscall(ctypes.c_long(number), *arguments), "seccomp")
