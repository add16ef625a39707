"""Start untrusted code in a process of its own: namespaces, limits, a private working directory, one way out.

The process tree is `spawner -> init -> worker`. Init is the first process of new user, pid, network, IPC and mount
namespaces: when it ends, the kernel ends everything in them, so no fork, daemon or signal outlives or escapes a
candidate. Where the system does not allow namespaces the tree is the same without them, and `isolation` says so.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import platform
import resource
import signal
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER = 0x00020000, 0x08000000, 0x10000000
CLONE_NEWPID, CLONE_NEWNET = 0x20000000, 0x40000000
SYS_CLONE = {"x86_64": 56, "aarch64": 220}
MS_PRIVATE, MS_REC, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1 << 18, 1 << 14, 2, 4, 8
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 36, 38
POLL_SECONDS = 0.02


@dataclass(frozen=True)
class Limits:
    """What one worker may use."""

    memory_mb: int  # address space above the warm parent's
    processes: int
    scratch: str  # an empty directory: the worker's working directory
    scratch_mb: int = 64
    address_space: bool = True  # False: no limit on it, for devices whose drivers reserve it by the terabyte

    def to_json(self) -> dict[str, Any]:
        """Return the limits as a JSON object."""
        return asdict(self)


def prctl(option: int, value: int) -> None:
    """Call prctl(2), ignoring failure."""
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent ends."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def spawn(limits: Limits, descriptors: tuple[int, int, int], body: Callable[[int], None]) -> tuple[int, str]:
    """Fork a worker that runs `body(socket descriptor)`; return init's process id and the kind of isolation.

    `descriptors` are the worker's socket, its output pipe and the pipe on which init reports the worker's end as
    one JSON object: {"exit": code} or {"signal": number}, with "processes": true when the process limit fell.
    """
    namespaces = CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWIPC
    for flags in (CLONE_NEWUSER | namespaces, namespaces):
        pid = _clone(flags)
        if pid >= 0:
            break
    else:
        flags, pid = 0, os.fork()
    if pid == 0:
        try:
            _init(limits, descriptors, body, bool(flags))
        finally:
            os._exit(111)
    if flags & CLONE_NEWUSER:
        _map_user(pid)
    return pid, "namespaces" if flags else "process"


def _clone(flags: int) -> int:
    """fork(2) with namespaces; -1 when the system refuses. os.unshare would leave this process changed."""
    number = SYS_CLONE.get(platform.machine())
    if number is None:
        return -1
    api = ctypes.PyDLL(None, use_errno=True)
    api.PyOS_BeforeFork()
    pid = int(api.syscall(number, flags | signal.SIGCHLD, 0, 0, 0, 0))
    if pid == 0:
        api.PyOS_AfterFork_Child()
    else:
        api.PyOS_AfterFork_Parent()
    return pid


def _map_user(pid: int) -> None:
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"0 {os.getuid()} 1"),
        ("gid_map", f"0 {os.getgid()} 1"),
    ):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/{name}", "w") as file:
            file.write(text)


def _init(limits: Limits, descriptors: tuple[int, int, int], body: Callable[[int], None], namespaced: bool) -> None:
    sock, output, status = descriptors
    die_with_parent()
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    sock, output, status = _keep_only(sock, output, status)
    mounted = namespaced and _mounts(limits)
    with contextlib.suppress(OSError):
        os.chdir(limits.scratch)
    worker = os.fork()
    if worker == 0:
        try:
            os.close(status)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
            _restrict(limits, output)
            body(sock)
            os._exit(0)
        finally:
            os._exit(110)
    os.close(sock)
    report = _reap(worker, limits, mounted)
    os.write(status, json.dumps(report).encode())
    if not namespaced:
        _kill_descendants()
    os._exit(0)


def _keep_only(*descriptors: int) -> tuple[int, int, int]:
    """Close every descriptor but the given ones, which are moved to 3, 4, 5; standard input becomes /dev/null."""
    high = [os.dup2(d, 900 + i) for i, d in enumerate(descriptors)]
    os.closerange(3, 900)
    os.closerange(900 + len(high), 65536)
    moved = [os.dup2(d, 3 + i, inheritable=False) for i, d in enumerate(high)]
    for d in high:
        os.close(d)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    return moved[0], moved[1], moved[2]


def _mounts(limits: Limits) -> bool:
    """Give the namespace a /proc of its own and a scratch in memory; False where the system refuses."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None)
    options = f"size={limits.scratch_mb}m,mode=700".encode()
    libc.mount(b"tmpfs", os.fsencode(limits.scratch), b"tmpfs", MS_NOSUID | MS_NODEV, options)
    return bool(libc.mount(b"proc", b"/proc", b"proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, None) == 0)


def _restrict(limits: Limits, output: int) -> None:
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    with open("/proc/self/statm") as file:
        current = int(file.read().split()[0]) * resource.getpagesize()
    cap = current + (limits.memory_mb << 20)
    for limit, value in (
        (resource.RLIMIT_AS, cap if limits.address_space else resource.RLIM_INFINITY),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, limits.scratch_mb << 20),
        (resource.RLIMIT_NPROC, _current_processes() + limits.processes),
    ):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(limit, (value, value))


def _current_processes() -> int:
    """Count this user's processes and threads: RLIMIT_NPROC limits their sum, not the candidate's own."""
    uid, count = os.getuid(), 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                if os.stat(f"/proc/{name}").st_uid == uid:
                    count += len(os.listdir(f"/proc/{name}/task"))
    return count


def _reap(worker: int, limits: Limits, mounted: bool) -> dict[str, Any]:
    """Wait for the worker as the first process of its world must: reap orphans, end it when it forks too much."""
    while True:
        signal.sigtimedwait([signal.SIGCHLD], POLL_SECONDS)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return {"exit": 109}
            if pid == 0:
                break
            if pid == worker:
                code = os.waitstatus_to_exitcode(status)
                return {"exit": code} if code >= 0 else {"signal": -code}
        if mounted and sum(name.isdigit() for name in os.listdir("/proc")) > limits.processes + 2:
            os.kill(-1, signal.SIGKILL)
            return {"signal": int(signal.SIGKILL), "processes": True}


def _kill_descendants() -> None:
    """Without a pid namespace: end every process that the candidate left (they are ours: we are their subreaper)."""
    for _ in range(50):
        try:
            with open(f"/proc/self/task/{os.getpid()}/children") as file:
                children = [int(pid) for pid in file.read().split()]
        except OSError:
            return
        if not children:
            return
        for pid in children:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
