"""Start untrusted code in a process of its own: namespaces, a world of its own, limits, one way out.

The process tree is `spawner -> init -> worker`. Init is the first process of new user, process-id, mount, network,
IPC and host-name namespaces: when it ends, the kernel ends everything in them, so no fork, daemon or signal outlives
or escapes a candidate. It forks the worker before it knows or does anything of this one: what is said and done before
a fork lies in a worker's memory. What the system refuses is made up for as far as it can be, and named in the facts
that come back with every worker: no protection is missing silently.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import posix
import random
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from bringup.judge.sandbox import _kernel, _landlock, _limits, _mounts, _namespaces, _privileges, _seccomp
from bringup.judge.sandbox._limits import Limits
from bringup.judge.sandbox._privileges import die_with_parent
from bringup.judge.sandbox._world import World

POLL_SECONDS = 0.02
# By init; the judge says SIGTERM where SIGKILL would leave processes, and asks by SIGUSR1 where the worker is.
AWAITED = (signal.SIGCHLD, signal.SIGTERM, signal.SIGUSR1)
PROTECTIONS = (
    "processes", "signals", "proc", "files", "scratch", "network", "privileges", "system calls", "limits", "memory",
    "clock", "addresses",
)  # fmt: skip
OF_GUESTS = ("clock", "addresses")  # what the others need not have
NAMESPACED = {
    "processes": "process-id namespace",
    "signals": "process-id namespace",
    "network": "network namespace",
}
Body = Callable[[int], None]
HOST = b"guest"
ADDR_NO_RANDOMIZE = 0x0040000


def warm_up() -> None:
    """Do once, in the fork server, what every worker would do again: load the C library, assemble the filter."""
    for releases in (True, False):
        _kernel.libc(releases)
    with contextlib.suppress(OSError):  # an unknown architecture: every worker will say so
        for blind in (False, True):
            _seccomp.assembled(blind=blind)


@dataclass(frozen=True)
class Sandbox:
    """What the workers of one fork server have in common."""

    world: World
    without: frozenset[str] = frozenset()
    """For tests: `namespaces`, `mounts`, `proc`, `landlock`, `seccomp`, `user`; `clock`, before this is made."""
    blind: bool = False
    """Workers are guests: they open no files and see nothing of the machine, or of what they inherit."""
    clock: str = "goes on"
    """Why the clock of these processes is not stopped; "" where it is."""


class SandboxFault(Exception):
    """A worker could not be prepared: the judge's own failure, never the candidate's."""


@dataclass
class Facts:
    """Which protections are on and by what means, and why means were refused."""

    on: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def refuse(self, name: str, reason: str) -> None:
        """Note why something is not on; several reasons for one name are joined."""
        known = self.refused.get(name)
        self.refused[name] = f"{known}; {reason}" if known and reason not in known else reason

    def to_json(self) -> dict[str, Any]:
        """Return {"on": {protection: means}, "missing": {protection: reason}}."""
        return {
            "on": {name: self.on[name] for name in PROTECTIONS if name in self.on},
            "missing": {
                name: self.refused[name] for name in PROTECTIONS if name in self.refused and name not in self.on
            },
        }


def spawn(sandbox: Sandbox, descriptors: Sequence[int], body: Body) -> tuple[int, dict[str, Any]]:
    """Fork a worker that runs `body(socket descriptor)`; return init's process id and the facts of its isolation.

    `descriptors` are the worker's socket, its output pipe, the pipe on which init reports the worker's end as one JSON
    object ({"exit": code} or {"signal": number}, with "limit": name when init ended it for what it used), an empty
    directory for its files, and a pipe that holds its `Limits` as a JSON object. Nothing of them has a name or is read
    here: a worker finds in its memory what was said before its fork. Raises SandboxFault when the worker could not be
    prepared.
    """
    told, tell = os.pipe()
    go, let_go = os.pipe()
    facts = Facts()
    flags, pid = _fork(sandbox, facts)
    if pid == 0:
        try:
            os.close(told)
            os.close(let_go)
            _Init(sandbox, flags, facts).run((*descriptors, tell, go), body)
        finally:
            os._exit(111)
    os.close(tell)
    os.close(go)
    users: dict[str, Any] = {"apart": False, "refused": ""}
    if flags & _namespaces.NEWUSER:
        try:
            users["apart"] = _namespaces.map_users(pid, _may_be_another_user(sandbox, traverse=False))
        except OSError as error:
            users["refused"] = _kernel.why(error)
    with contextlib.suppress(OSError):
        os.write(let_go, json.dumps(users).encode())
    os.close(let_go)
    answer = _read_all(told)
    os.close(told)
    found = json.loads(answer) if answer else {"fault": "it ended before it was ready"}
    if "fault" in found:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
        raise SandboxFault(f"a worker cannot be prepared: {found['fault']}")
    return pid, found


def _fork(sandbox: Sandbox, facts: Facts) -> tuple[int, int]:
    """Fork with as many namespaces as the system grants; return the namespaces' flags and the process id."""
    if "namespaces" in sandbox.without:
        facts.refuse("namespaces", "no new namespaces: switched off")
        return 0, os.fork()
    for flags in (_namespaces.NEWUSER | _namespaces.NEWCGROUP | _namespaces.WORLD, _namespaces.WORLD):
        try:
            return flags, _namespaces.fork(flags)
        except OSError as error:
            facts.refuse("namespaces", f"no new namespaces: {_kernel.why(error)}")
    return 0, os.fork()


def _may_be_another_user(sandbox: Sandbox, traverse: bool) -> bool:
    """Whether root's worker can do its work as nobody: Python's files may be readable by root alone."""
    return os.getuid() == 0 and "user" not in sandbox.without and sandbox.world.for_others(traverse)


def _read_all(descriptor: int) -> bytes:
    data = b""
    while chunk := os.read(descriptor, 1 << 16):
        data += chunk
    return data


class _Init:
    """The worker's parent: makes its world, confines and watches it, reports its end."""

    def __init__(self, sandbox: Sandbox, flags: int, facts: Facts) -> None:
        self.sandbox, self.flags, self.facts = sandbox, flags, facts
        self.user: int | None = None  # what the worker becomes, as numbered inside
        self.scratch = ""
        self.has_world = self.moved = False
        self.others = 0

    def run(self, descriptors: tuple[int, ...], body: Body) -> None:
        """Fork the worker, prepare its world, wait for its end; does not return."""
        die_with_parent()
        _privileges.become_subreaper()
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_BLOCK, AWAITED)
        sock, output, status, directory, given, tell, go = _keep_only(*descriptors)
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")  # when the machine runs out of memory, the worker goes first
        ready, let_go = os.pipe()
        worker = os.fork()
        if worker == 0:
            try:
                for descriptor in (status, given, go, let_go):
                    os.close(descriptor)
                signal.pthread_sigmask(signal.SIG_UNBLOCK, AWAITED)
                self._become_worker(output, tell, ready, directory)
                body(sock)
                os._exit(0)
            except BaseException:
                sys.excepthook(*sys.exc_info())
            finally:
                os._exit(110)
        for descriptor in (sock, output, tell, ready):
            os.close(descriptor)
        limits = Limits(**json.loads(_read_all(given)))
        self._prepare(json.loads(_read_all(go)), directory, limits.scratch_mb)
        _limits.apply(limits, self.others, worker)
        for descriptor in (directory, given, go):
            os.close(descriptor)
        watch = _limits.Watch(limits, self.scratch, mounted=self.has_world, alone="proc" in self.facts.on)
        watch.begin(worker)
        os.write(let_go, json.dumps(self._told()).encode())
        os.close(let_go)
        _privileges.hide()
        report = _reap(worker, watch, bool(self.flags))
        os.write(status, json.dumps(report).encode())
        os._exit(0)

    # In init ---------------------------------------------------------------------------------------------------

    def _told(self) -> dict[str, Any]:
        """What the worker must know of its world: the same for all of one kind on one machine."""
        return {
            "user": self.user, "scratch": self.scratch, "has_world": self.has_world, "moved": self.moved,
            "on": self.facts.on, "refused": self.facts.refused,
        }  # fmt: skip

    def _prepare(self, users: dict[str, Any], directory: int, scratch_mb: int) -> None:
        facts, own_users = self.facts, bool(self.flags & _namespaces.NEWUSER)
        if own_users:
            self.user = _namespaces.INSIDE if users["apart"] else None
            owner = _namespaces.INSIDE
        else:
            nobody = _may_be_another_user(self.sandbox, traverse=not self.flags)
            self.user = _namespaces.NOBODY if nobody else None
            owner = os.getuid() if self.user is None else self.user
        if not (own_users and _counts_by_namespace()):
            self.others = _limits.same_user(owner if not own_users else os.getuid())
        if self.flags:
            for name, means in NAMESPACED.items():
                facts.on[name] = means
            with contextlib.suppress(OSError):
                socket.sethostname(HOST.decode())
            self._enter_world(owner, users["refused"], scratch_mb)
        if not self.has_world:
            os.fchdir(directory)
            self.scratch = os.getcwd()
            if self.user is not None:
                _open_way(self.scratch, self.user)

    def _enter_world(self, owner: int, refused: str, scratch_mb: int) -> None:
        base = ""
        try:
            if refused or "mounts" in self.sandbox.without:
                raise OSError(1, refused or "switched off")
            own_proc = "proc" not in self.sandbox.without
            world = self.sandbox.world
            base = _mounts.place_for(world)
            said, self.moved = _mounts.enter(world, base, scratch_mb, owner, own_proc)
        except OSError as error:
            for name in ("files", "scratch"):
                self.facts.refuse(name, f"mount namespace: {_kernel.why(error)}")
            _mounts.leave(base)
            return
        self.has_world, self.scratch = True, _mounts.SCRATCH
        self.facts.on["files"] = self.facts.on["scratch"] = "mount namespace"
        if said:
            self.facts.refuse("proc", said)
        else:
            self.facts.on["proc"] = "process-id namespace"

    # In the worker -------------------------------------------------------------------------------------------

    def _become_worker(self, output: int, tell: int, ready: int, directory: int) -> None:
        try:
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.close(output)
            self._enter(ready, directory)
            self._confine()
            answer = self.facts.to_json()
        except BaseException as error:
            answer = {"fault": f"{type(error).__name__}: {error}"}
            raise
        finally:
            os.write(tell, json.dumps(answer).encode())
            os.close(tell)

    def _enter(self, ready: int, directory: int) -> None:
        """Wait until there is a world, and go there: its root is this process's, too, where a root is exchanged."""
        told = json.loads(_read_all(ready))
        os.close(ready)
        self.user, self.scratch, self.has_world = told["user"], told["scratch"], told["has_world"]
        self.facts.on.update(told["on"])
        self.facts.refused.update(told["refused"])
        if told["moved"]:
            _mounts.follow()
        if not self.has_world:
            os.fchdir(directory)
        os.chdir("/" if self.sandbox.blind else self.scratch)
        os.close(directory)

    def _confine(self) -> None:
        facts, without, blind = self.facts, self.sandbox.without, self.sandbox.blind
        facts.on["limits"] = "setrlimit"
        facts.on["memory"] = "watched by init"
        if blind and self.has_world:
            facts.on["files"] = "not there"
            with contextlib.suppress(OSError):
                _mounts.without_proc()
                facts.on["proc"] = "not there"
        if blind and addresses_are_drawn():
            facts.refuse("addresses", "drawn: personality is refused")
        elif blind:
            facts.on["addresses"] = "not drawn"
        self._drop_privileges()
        die_with_parent()  # where numbers of processes are shared, nothing else ends it with its init
        if blind:
            random.seed(0)  # a fork seeds it anew
        else:
            home_in(self.scratch)
        _privileges.no_new_privileges()
        if not self.has_world:
            self._landlock()
        try:
            if "seccomp" in without:
                raise OSError(1, "switched off")
            _seccomp.install(blind=blind)
            facts.on["system calls"] = "seccomp"
            for name in ("network", "files", "proc", "scratch") if blind else ("network",):
                facts.on.setdefault(name, "seccomp")
        except OSError as error:
            facts.refuse("system calls", _kernel.why(error))
        if blind:
            self._clock()
        for name in PROTECTIONS:
            if name not in facts.on and name not in facts.refused and name not in OF_GUESTS:
                facts.refuse(name, facts.refused.get("namespaces", "not available"))

    def _clock(self) -> None:
        """Say whether the worker has one: what is mapped, and system calls, would each be one."""
        if self.sandbox.clock:
            self.facts.refuse("clock", self.sandbox.clock)
        elif "system calls" not in self.facts.on:
            self.facts.refuse("clock", f"system calls: {self.facts.refused['system calls']}")
        else:
            self.facts.on["clock"] = "stopped"

    def _drop_privileges(self) -> None:
        facts = self.facts
        with contextlib.suppress(OSError):  # whoever may not has no capabilities to lose
            _privileges.drop_bounds()
        if self.user is not None:
            _privileges.become(self.user)
        _privileges.drop_capabilities()
        _privileges.show()
        if self.user is not None or self.flags & _namespaces.NEWUSER or os.getuid():
            means = "another user" if self.user is not None else "user namespace" if self.flags else "not root"
            facts.on["privileges"] = f"{means}, no capabilities"
        else:
            facts.refuse("privileges", "the worker is root: Python's files cannot be read by others")
        if self.user is not None:
            facts.on.setdefault("signals", "another user")
            facts.on.setdefault("proc", "another user")

    def _landlock(self) -> None:
        try:
            if "landlock" in self.sandbox.without:
                raise OSError(1, "switched off")
            trees = (*self.sandbox.world.trees, *(path for path, _ in self.sandbox.world.links), "/proc")
            version = _landlock.restrict(trees, (self.scratch, "/proc/self", *self.sandbox.world.devices))
        except OSError as error:
            self.facts.refuse("files", f"Landlock: {_kernel.why(error)}")
            return
        self.facts.on["files"] = "Landlock"
        self.facts.on.setdefault("proc", "Landlock")
        if version >= _landlock.SCOPES:
            self.facts.on.setdefault("signals", "Landlock")


def addresses_are_drawn() -> bool:
    """Whether the kernel has drawn where this process's memory lies: personality(2)."""
    persona = int(_kernel.libc().personality(ctypes.c_ulong(0xFFFFFFFF)))  # asks, and sets nothing
    return persona == -1 or not persona & ADDR_NO_RANDOMIZE


def home_in(scratch: str) -> None:
    """Point the places that programs write to at the scratch; they are private and vanish with it."""
    temporary = os.path.join(scratch, "tmp")
    os.makedirs(temporary, exist_ok=True)
    os.environ |= {
        "HOME": scratch,
        "TMPDIR": temporary,
        "XDG_CACHE_HOME": os.path.join(scratch, ".cache"),
        "TRITON_CACHE_DIR": os.path.join(scratch, "triton"),
        "TORCHINDUCTOR_CACHE_DIR": os.path.join(scratch, "inductor"),  # torch keeps the fork server's otherwise
    }
    tempfile.tempdir = None


def _open_way(scratch: str, user: int) -> None:
    """Let another user reach and own the scratch directory on disk."""
    os.chown(scratch, user, user)
    for parent in (os.path.dirname(scratch), os.path.dirname(os.path.dirname(scratch))):
        found = os.stat(parent)
        if found.st_uid == os.getuid():
            os.chmod(parent, found.st_mode & 0o7777 | 0o011)


def _counts_by_namespace() -> bool:
    """Whether RLIMIT_NPROC counts a user's processes in each user namespace by itself (Linux 5.14)."""
    major, minor = posix.uname().release.split(".")[:2]  # that of `os` is the same everywhere: see `_start`
    return (int(major), int("".join(takewhile(str.isdigit, minor)))) >= (5, 14)


def _keep_only(*descriptors: int) -> list[int]:
    """Close every descriptor but the given ones, which are moved to 3, 4, ...; standard input becomes /dev/null."""
    high = [fcntl.fcntl(d, fcntl.F_DUPFD, 3 + len(descriptors)) for d in descriptors]
    at = 3
    for d in sorted(high):
        os.closerange(at, d)
        at = d + 1
    os.closerange(at, 65536)
    moved = [os.dup2(d, 3 + i, inheritable=False) for i, d in enumerate(high)]
    for d in high:
        os.close(d)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    return moved


def _reap(worker: int, watch: _limits.Watch, namespaced: bool) -> dict[str, Any]:
    """Wait for the worker as the first process of its world must: reap orphans, end it when it uses too much."""
    try:
        while True:
            told = signal.sigtimedwait(AWAITED, POLL_SECONDS)
            if told is not None and told.si_signo == signal.SIGTERM:
                return {"signal": int(signal.SIGKILL)}
            if told is not None and told.si_signo == signal.SIGUSR1:
                os.kill(worker, signal.SIGUSR1)  # not reaped yet, so the number is still its own
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
            limit = watch.exceeded()
            if limit:
                return {"signal": int(signal.SIGKILL), "limit": limit}
    finally:
        if namespaced:
            with contextlib.suppress(OSError):
                os.kill(-1, signal.SIGKILL)  # so that nothing runs any more when the report is read
        else:
            _kill_descendants()


def _kill_descendants() -> None:
    """Without a process-id namespace: end every process that the candidate left; we have adopted them."""
    for _ in range(200):
        children = _limits.descendants()
        if not children:
            return
        for signal_number in (signal.SIGSTOP, signal.SIGKILL):  # those that stand still cannot fork any more
            for pid in children:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal_number)
        with contextlib.suppress(OSError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
