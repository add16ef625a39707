"""Build a worker's file system in a mount namespace of its own: the visible paths read-only, a private scratch.

The new root is a small tmpfs with a bind mount for every visible tree; the old root is let go, so that what is not
mounted cannot be reached by any path.
"""

from __future__ import annotations

import contextlib
import os
import struct

from bringup.judge.sandbox import _kernel, _namespaces
from bringup.judge.sandbox._kernel import mount
from bringup.judge.sandbox._world import World

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_MOVE, MS_REC, MS_PRIVATE = 4096, 8192, 16384, 1 << 18
ATTR_RDONLY, ATTR_NOSUID, ATTR_NODEV = 1, 2, 4
AT_RECURSIVE, AT_FDCWD, MNT_DETACH = 0x8000, -100, 2
SCRATCH = "/scratch"
PLACES = ("/mnt", "/media", "/srv", "/run", "/var/tmp", "/tmp")
SYSTEM_WIDE = ("bus", "fs", "irq", "sys", "sysrq-trigger")  # in /proc
FILES_PER_MB = 256  # inodes of the scratch: they are kernel memory


def enter(world: World, base: str, scratch_mb: int, owner: int, own_proc: bool) -> tuple[str, bool]:
    """Build the file system at the empty directory `base` and make it the root.

    Returns "" or why /proc is the host's, and whether other processes of the namespace must `follow` to the new root.

    The scratch is `/scratch`, of `scratch_mb` MiB, and belongs to `owner` (user and group as this namespace numbers
    them). Raises OSError where the system refuses: then `leave`.
    """
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    mount("world", base, "tmpfs", MS_NOSUID | MS_NODEV, "size=4m,mode=755")
    for tree in world.trees:
        _bind(tree, base)
    for path, said in world.links:
        os.makedirs(os.path.dirname(base + path), exist_ok=True)
        os.symlink(said, base + path)
    for directory in (SCRATCH, "/proc", "/dev/shm"):
        os.makedirs(base + directory)
    for path in ("/tmp", "/var/tmp"):
        if not os.path.lexists(base + path):
            os.makedirs(os.path.dirname(base + path), exist_ok=True)
            os.symlink(f"{SCRATCH}/tmp", base + path)
    for path in world.devices:
        _mount_point(base + path, directory=False)
    for name, target in (("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        os.symlink(target, f"{base}/dev/{name}")
    seal(base)
    for path in world.devices:
        mount(path, base + path, None, MS_BIND)
    _scratch(base + SCRATCH, scratch_mb, owner)
    said = _proc(base + "/proc", own_proc)
    return said, _change_root(base)


def place_for(world: World) -> str:
    """A directory of the system's, of which the world shows nothing, to build it over: the same for every worker.

    What lies there is hidden from that worker alone. Raises OSError where there is none.
    """
    named = [*world.trees, *(path for path, _ in world.links), *world.devices]
    for place in PLACES:
        if (
            os.path.isdir(place)
            and not os.path.islink(place)
            and not any(f"{n}/".startswith(f"{place}/") for n in named)
        ):
            return place
    raise OSError(2, f"every one of {', '.join(PLACES)} is in use or missing")


def without_proc() -> None:
    """Take /proc away from this process and those that it starts, and from nobody else. Raises OSError."""
    _kernel.checked(_kernel.libc().unshare(_namespaces.NEWNS), "unshare")
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    _kernel.checked(_kernel.libc().umount2(b"/proc", MNT_DETACH), "umount /proc")


def leave(base: str) -> None:
    """Undo what `enter` had done before it failed."""
    with contextlib.suppress(OSError):
        os.chdir("/")
        _kernel.checked(_kernel.libc().umount2(os.fsencode(base), MNT_DETACH), f"umount {base}")


def _bind(source: str, base: str) -> None:
    _mount_point(base + source, directory=os.path.isdir(source))
    # Recursive: what another user namespace mounted inside a tree may not be uncovered by leaving it out.
    mount(source, base + source, None, MS_BIND | MS_REC)


def _mount_point(path: str, *, directory: bool) -> None:
    if directory:
        os.makedirs(path, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o644))


def seal(base: str) -> None:
    """Make `base` and all mounts below it read-only, without set-user-id programs and devices. Raises OSError."""
    attributes = struct.pack("=QQQQ", ATTR_RDONLY | ATTR_NOSUID | ATTR_NODEV, 0, 0, 0)
    try:
        _kernel.syscall("mount_setattr", AT_FDCWD, os.fsencode(base), AT_RECURSIVE, attributes, len(attributes))
    except OSError:
        remount(base)  # kernels before 5.12


def remount(base: str) -> None:
    """Do what `seal` does mount by mount. Raises OSError."""
    kept = {"nosuid": MS_NOSUID, "nodev": MS_NODEV, "noexec": MS_NOEXEC, "noatime": 1024, "nodiratime": 2048}
    kept["relatime"] = 1 << 21
    with open("/proc/self/mountinfo") as file:
        mounts = [line.split() for line in file]
    for fields in mounts:
        path = fields[4].encode().decode("unicode_escape")
        if path == base or path.startswith(base + "/"):
            flags = MS_RDONLY | MS_NOSUID | MS_NODEV
            for option in fields[5].split(","):
                flags |= kept.get(option, 0)
            mount("none", path, None, MS_REMOUNT | MS_BIND | flags)


def _scratch(path: str, megabytes: int, owner: int) -> None:
    options = f"size={megabytes}m,nr_inodes={megabytes * FILES_PER_MB},mode=700,uid={owner},gid={owner}"
    mount("scratch", path, "tmpfs", MS_NOSUID | MS_NODEV, options)


def _proc(path: str, own: bool) -> str:
    """Mount a /proc of this process-id namespace; where it must not be, show the host's, and say why."""
    reason = "no process-id namespace"
    if own:
        try:
            # Writable, since NVIDIA's driver names its threads there; but not what belongs to the whole system.
            mount("proc", path, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
        except OSError as error:
            reason = _kernel.why(error)
        else:
            for name in SYSTEM_WIDE:
                if os.path.exists(place := f"{path}/{name}"):
                    mount(place, place, None, MS_BIND)
                    seal(place)
            return ""
    mount("/proc", path, None, MS_BIND | MS_REC)
    seal(path)
    return reason


def _change_root(base: str) -> bool:
    moved = False
    os.chdir(base)
    try:
        _kernel.syscall("pivot_root", b".", b".")
        _kernel.checked(_kernel.libc().umount2(b".", MNT_DETACH), "umount the old root")
    except OSError:
        # The root of an initial RAM disk cannot be exchanged; nobody inside may use chroot(2) to leave again.
        mount(".", "/", None, MS_MOVE)
        os.chroot(".")
        moved = True
    os.chdir("/")
    return moved


def follow() -> None:
    """Go to the root of this process's mount namespace, over which another process has moved a new one. OSError."""
    namespace = os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _kernel.checked(_kernel.libc().setns(namespace, _namespaces.NEWNS), "setns")
    finally:
        os.close(namespace)
