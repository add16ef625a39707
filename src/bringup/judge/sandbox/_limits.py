"""What one worker may use: limits that the kernel enforces on each process, and a watch over all of them together."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
from dataclasses import asdict, dataclass
from typing import Any

THREADS_BESIDE = 256  # that a worker may have beyond its limit on processes: drivers and compilers start some
SHARED_COPIES = 8  # processes whose copy of the fork server's memory is taken as shared; see Watch
CPU_SECONDS = 3600  # of one process: a backstop for a judge that is gone; the judge's own deadlines come first
OPEN_FILES = 1024
DISK_TURNS = 10  # a scratch on disk is looked through every tenth time
MOST_FILES = 65_536  # in a scratch


ROUND = 1 << 26  # bytes


@dataclass(frozen=True)
class Limits:
    """What one worker may use."""

    memory_mb: int  # of each process above the fork server's (address space), and of all together (resident)
    processes: int
    scratch_mb: int = 256

    def to_json(self) -> dict[str, Any]:
        """Return the limits as a JSON object."""
        return asdict(self)


def apply(limits: Limits, others: int, worker: int) -> None:
    """Set the limits of a process that this one has just forked, and of its children; raises OSError or ValueError.

    `others` counts processes and threads that the kernel adds to the worker's own: those of the same user where the
    worker has no user namespace.
    """
    page = resource.getpagesize()
    cap = _statm()[0] * page + (limits.memory_mb << 20)
    cap = -(-cap // ROUND) * ROUND  # a few pages more or less tell nobody which process has started this one
    size = limits.scratch_mb << 20
    wanted = {
        resource.RLIMIT_CORE: 1,  # byte: 0 forbids files, but not programs that take dumps from a pipe
        resource.RLIMIT_CPU: CPU_SECONDS,
        resource.RLIMIT_FSIZE: size,
        resource.RLIMIT_MSGQUEUE: 0,
        # The same for all, whatever the user's own are: what they end, tells which these were.
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_NICE: 0,
        resource.RLIMIT_RTPRIO: 0,
        resource.RLIMIT_RTTIME: 0,
        resource.RLIMIT_SIGPENDING: 0,
        resource.RLIMIT_DATA: cap,
        resource.RLIMIT_NOFILE: OPEN_FILES,
        resource.RLIMIT_NPROC: others + limits.processes + THREADS_BESIDE,
        resource.RLIMIT_AS: cap,
    }
    for limit, value in wanted.items():
        hard = resource.getrlimit(limit)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.prlimit(worker, limit, (value, value))


def same_user(user: int) -> int:
    """Count a user's processes and threads, where RLIMIT_NPROC counts them all."""
    count = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                if os.stat(f"/proc/{name}").st_uid == user:
                    count += len(os.listdir(f"/proc/{name}/task"))
    return count


class Watch:
    """Init's view of the processes of its worker: how many there are, and what they and the scratch hold in memory.

    Memory is counted without asking the worker for anything it could refuse: the private and shared anonymous pages
    of each process. A forked process shares pages with its parent that are counted for both; so as much as the
    worker had when it began is taken off for each of the first few processes.
    """

    def __init__(self, limits: Limits, scratch: str, *, mounted: bool, alone: bool) -> None:
        """Begin; `mounted`: the scratch is a tmpfs, `alone`: /proc shows this namespace's processes only."""
        self.limits, self.scratch, self.mounted, self.alone = limits, scratch, mounted, alone
        self.inherited = 0
        self.turns = 0

    def begin(self, worker: int) -> None:
        """Note what the worker has before the candidate is loaded."""
        self.inherited = _anonymous(worker)

    def exceeded(self) -> str:
        """Return `processes`, `memory` or `disk` when the limit on it has been passed, else ""."""
        found = [int(n) for n in os.listdir("/proc") if n.isdigit() and n != "1"] if self.alone else descendants()
        if len(found) > self.limits.processes + 1:
            return "processes"
        used = sum(_anonymous(pid) for pid in found) - self.inherited * min(len(found), SHARED_COPIES)
        self.turns += 1
        if self.mounted:
            with contextlib.suppress(OSError):
                held = os.statvfs(self.scratch)
                used += (held.f_blocks - held.f_bfree) * held.f_frsize
        elif self.turns % DISK_TURNS == 0 and _too_much_on_disk(self.scratch, self.limits.scratch_mb << 20):
            return "disk"
        return "memory" if used > self.limits.memory_mb << 20 else ""


def _too_much_on_disk(top: str, limit: int) -> bool:
    """Whether the files below a directory take more than `limit` bytes, or are more or deeper than anybody needs."""
    total = files = 0
    waiting = [top]
    while waiting:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                return True
            continue
        for entry in entries:
            with contextlib.suppress(OSError):
                total += entry.stat(follow_symlinks=False).st_blocks * 512
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
        files += len(entries)
        if total > limit or files > MOST_FILES:
            return True
    return False


def descendants() -> list[int]:
    """Return the processes that descend from this one, which adopts orphans, as /proc numbers them."""
    found: list[int] = []
    waiting = [int(os.readlink("/proc/self"))]
    while waiting:
        pid = waiting.pop()
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{thread}/children") as file:
                    children = [int(child) for child in file.read().split()]
                found += children
                waiting += children
    return found


def _statm() -> list[int]:
    with open("/proc/self/statm") as file:
        return [int(field) for field in file.read().split()]


def _anonymous(pid: int) -> int:
    """Bytes of resident pages that belong to no file on disk; 0 for a process that is gone."""
    total = 0
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status", "rb") as file:
        for line in file:
            if line.startswith((b"RssAnon:", b"RssShmem:")):
                total += int(line.split()[1]) << 10
    return total
