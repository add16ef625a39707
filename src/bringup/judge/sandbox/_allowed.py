"""System calls that a guest may make: memory of its own, waits, and messages through what it was given.

A list of what is allowed, since what tells a guest the time, or of other processes, has no end: numbers of mounts, of
sockets and of namespaces, how full a disk is, locks on a device that others have open too. A guest opens no file,
makes no socket or pipe, sends no descriptor, starts no program and asks nothing of the machine. It starts no thread
and no process either: one that counts while another waits is a clock. What the kernel counts for all processes of a
user, two guests that live at the same time would tell each other by. All else fails with EPERM.
"""

from __future__ import annotations

# x86_64, aarch64; None where the architecture has no such call.
Numbers = tuple[int | None, int | None]
ALLOWED: dict[str, Numbers] = {
    # memory; what is locked is counted by user
    "mprotect": (10, 226), "munmap": (11, 215), "brk": (12, 214), "mremap": (25, 216),
    "madvise": (28, 233),
    # what is open; what a message carries beside its bytes, pages of pipes and watches are counted by user
    "read": (0, 63), "write": (1, 64), "readv": (19, 65), "writev": (20, 66), "pread64": (17, 67),
    "pwrite64": (18, 68), "lseek": (8, 62), "close": (3, 57), "close_range": (436, 436), "dup": (32, 23),
    "dup2": (33, None), "dup3": (292, 24),
    "shutdown": (48, 210), "getsockname": (51, 204), "getpeername": (52, 205),
    # waits, for a time but not until one
    "nanosleep": (35, 101),
    "restart_syscall": (219, 128), "sched_yield": (24, 124), "pause": (34, None),
    # itself, and its end
    "exit": (60, 93), "exit_group": (231, 94), "getpid": (39, 172),
    "getppid": (110, 173), "gettid": (186, 178),
    "set_tid_address": (218, 96), "set_robust_list": (273, 99), "setsid": (112, 157),
    # signals
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139), "rt_sigpending": (127, 136),
    "rt_sigtimedwait": (128, 137), "rt_sigsuspend": (130, 133), "sigaltstack": (131, 132),
    # what is the same for all guests
    "getuid": (102, 174), "geteuid": (107, 175), "getgid": (104, 176), "getegid": (108, 177), "getresuid": (118, 148),
    "getresgid": (120, 150), "getpgrp": (111, None), "getpgid": (121, 155), "getsid": (124, 156), "getcwd": (79, 17),
    # chance, which a judge finds out
    "getrandom": (318, 278),
}  # fmt: skip
# Signals by which a process ends itself, and to no other: whether it may send init one tells who has started all. Those
# that wait for their turn are counted by user.
TGKILL: Numbers = (234, 131)
ENDING_SIGNALS = (4, 5, 6, 7, 8, 11)  # SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV
# Huge pages are the whole machine's.
MMAP: Numbers = (9, 222)
MAP_HUGETLB = 0x40000
# What a child has used is a clock.
WAIT4: Numbers = (61, 260)
WAITID: Numbers = (247, 95)
# Commands of fcntl(2): copies of descriptors and their flags. Locks and leases are seen by who has the same file open.
FCNTL: Numbers = (72, 25)
FCNTL_COMMANDS = (0, 1, 2, 3, 1030)  # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC
# Options of SOL_SOCKET that getsockopt(2) may tell: type, error, protocol, family. Others count all sockets there are.
GETSOCKOPT: Numbers = (55, 209)
SOL_SOCKET, SOCKET_OPTIONS = 1, (3, 4, 38, 39)
# A lock with an end tells whether that has passed, and so does a sleep until a time.
FUTEX: Numbers = (202, 98)
FUTEX_WAITS = (0, 6, 9, 11, 13)  # FUTEX_WAIT, LOCK_PI, WAIT_BITSET, WAIT_REQUEUE_PI, LOCK_PI2: those with an end
FUTEX_COMMAND = 0x7F
# Who looks again and again whether an answer has come counts how long it takes: messages are waited for.
MESSAGES: tuple[tuple[Numbers, int], ...] = (((44, 206), 4), ((45, 207), 4), ((47, 212), 3))  # and where flags are
MSG_DONTWAIT = 0x40  # of sendto, recvfrom, recvmsg
SELECTS: tuple[Numbers, ...] = ((23, None), (270, 72))  # select, pselect6: a sleep where they look at nothing
CLOCK_NANOSLEEP: Numbers = (230, 115)
TIMER_ABSTIME = 1
