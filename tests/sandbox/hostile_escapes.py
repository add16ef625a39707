"""Candidates that reach for what is not theirs: files, other processes, the network, the kernel, more power."""

from __future__ import annotations

from hostile import REFUSED, SYSCALL, Hostile, wrapper

ESCAPES = [
    Hostile("signals to its parents", wrapper(
        """
for pid in (os.getppid(), 1):
    for number in (9, 15, 19):
        try:
            os.kill(pid, number)
        except OSError:
            pass
"""), degraded=False),
    Hostile("signals to everybody", wrapper("refused('a signal', os.kill, -1, 9)", REFUSED), degraded=False),
    Hostile("signals to the judge", wrapper(
        """
def own(thread):
    try:
        call(234, 131, os.getpid(), thread, 0)
    except OSError:
        return False
    return True

for pid in range(2, 40000):
    if not own(pid) and pid != os.getppid():
        try:
            os.kill(pid, 9)
        except OSError:
            continue
        raise AssertionError(f"process {pid} was killed")
""", SYSCALL), degraded=False),
    Hostile("writing outside", wrapper(
        """
import bringup, sys
places = ["/", "/usr", "/usr/lib", "/etc", "/home", "/root", "/var", "/dev", "/dev/shm", "/run", "/sys", "/proc"]
places += [os.path.dirname(torch.__file__), os.path.dirname(bringup.__file__), sys.prefix, sys.base_prefix]
places += ["/root", "/scratch", ".", "{canary}", *filter(None, sys.path)]
for place in places:
    refused(place, os.open, os.path.join(place, "bringup-escape"), os.O_WRONLY | os.O_CREAT)
    refused(place, os.mkdir, os.path.join(place, "bringup-escape"))
for path in (torch.__file__, bringup.__file__, "/etc/passwd", sys.executable, "{canary}/secret"):
    refused(path, os.open, path, os.O_WRONLY)
    refused(path, os.unlink, path)
    refused(path, os.rename, path, path + "-escape")
    refused(path, os.truncate, path, 0)
""", REFUSED)),
    Hostile("changing modes and owners", wrapper(
        """
import bringup
for path in (torch.__file__, bringup.__file__, "/etc/passwd", "{canary}/secret"):
    refused(path, os.chmod, path, 0o777)
    refused(path, os.chown, path, 1000, 1000)
    refused(path, os.utime, path)
""", REFUSED), degraded=False),
    Hostile("reading what is the user's", wrapper(
        """
refused("a secret", open, "{canary}/secret")
refused("a listing", os.listdir, "{canary}")
for path in ("/run", "/home", "/root", "/srv", "/mnt", "/var/lib", "/var/run"):
    for directory, _, files in os.walk(path) if os.path.isdir(path) else ():
        if any(part in directory for part in ("/lib/", "/bin", "site-packages", "/include", "/share")):
            break
        assert not [f for f in files if f in (".netrc", ".bash_history", "id_rsa", "credentials")], (directory, files)
""", REFUSED)),
    Hostile("other judges' files", wrapper(
        """
import glob
found = [p for p in glob.glob("/tmp/bringup-judge-*/*") if not os.getcwd().startswith(os.path.dirname(p))]
assert not found, found
""")),
    Hostile("environments of others", wrapper(
        """
seen = 0
for name in map(str, range(1, 1 << 15)):
    if name.isdigit() and name != str(os.getpid()):
        for file in ("environ", "mem", "maps"):
            try:
                with open(f"/proc/{name}/{file}", "rb") as opened:
                    data = opened.read(1 << 16)
            except OSError:
                continue
            assert b"sk-canary" not in data, name
            seen += bool(data)
if os.path.isdir("/proc/self"):
    assert b"sk-canary" not in open("/proc/self/environ", "rb").read()
assert "sk-canary" not in repr(os.environ)
assert not seen, f"{seen} files of other processes"
""")),
    Hostile("files of its own", wrapper(
        """
refused("a link", os.symlink, "{canary}", "link")
refused("a folder", os.mkdir, "a")
refused("a pipe with a name", os.mkfifo, "fifo")
for name in (b"notes", b"\\n", b"\\xff\\xfe", b"-rf", b"/tmp/notes", b"/scratch/notes", b"/dev/shm/notes"):
    refused("a file", open, name, "w")
refused("another folder", os.chdir, "/")
refused("no folder", os.rmdir, "/scratch")
refused("a root", os.chroot, ".")
""", REFUSED)),
    Hostile("sockets", wrapper(
        """
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK, socket.AF_PACKET, socket.AF_VSOCK):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
        refused(f"a socket of family {family}", socket.socket, family, kind)
refused("a connection", socket.create_connection, ("127.0.0.1", 9), 1)
refused("a socket without another", socket.socket, socket.AF_UNIX)
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    refused("a pair", socket.socketpair, socket.AF_UNIX, kind)
ours = socket.socket(fileno=os.dup(3))
for address in ("\\0bringup-sandbox-canary", "{canary}/socket"):
    refused("the host's socket", ours.connect, address)
refused("a descriptor in a message", socket.send_fds, ours, [b"x"], [3])
""", REFUSED + "import socket")),
    Hostile("inherited files", wrapper(
        """
held, sockets = [], 0
for number in range(4, 4096):
    try:
        held.append((number, fcntl.fcntl(number, fcntl.F_GETFL)))
        socket.socket(fileno=number).detach()
        held.pop()
        sockets += 1
    except OSError:
        pass
assert sockets == 1 and not held, (sockets, held)  # the command stream
""", "import fcntl, socket")),
    Hostile("limits upwards", wrapper(
        """
for name in ("AS", "FSIZE", "NPROC", "NOFILE", "CORE", "CPU"):
    limit = getattr(resource, f"RLIMIT_{name}")
    try:
        hard = resource.getrlimit(limit)[1]
    except OSError:  # nor may it ask
        hard = 1 << 62
    assert hard != resource.RLIM_INFINITY, name
    refused(f"a higher limit {name}", resource.setrlimit, limit, (hard + 1, hard + 1))
refused("real-time priority", os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(1))
refused("a higher priority", os.setpriority, os.PRIO_PROCESS, 0, -5)
""", REFUSED + "import resource")),
    Hostile("more power", wrapper(
        """
refused("root", os.setuid, 0)
refused("root's group", os.setgid, 0)
refused("groups", os.setgroups, [0])
if os.path.isdir("/proc/self"):
    status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines())
    assert all(int(status[f"Cap{kind}"], 16) == 0 for kind in ("Prm", "Eff", "Inh", "Amb")), status
    assert status["NoNewPrivs"].strip() == "1"
libc = ctypes.CDLL(None)
assert libc.prctl(39, 0, 0, 0, 0) in (1, -1)  # no new privileges, or no right to ask
head = (ctypes.c_uint32 * 2)(0x20080522, 1)
refused("what init may do", call, 125, 90, ctypes.byref(head), 0)
refused("new privileges", call, 157, 167, 38, 0, 0, 0, 0)
""", SYSCALL), degraded=False),
    Hostile("other programs", wrapper(
        """
for command in (["id", "-u"], ["su", "-c", "id"], ["mount", "-t", "tmpfs", "none", "/mnt"], ["chroot", "/", "id"]):
    refused(command[0], subprocess.run, command)
refused("another program", call, 59, 221, b"/bin/sh", 0, 0)
""", SYSCALL + "import subprocess"), degraded=False),
    Hostile("tracing", wrapper(
        """
refused("tracing init", call, 101, 117, 16, os.getppid(), 0, 0)
refused("a child", os.fork)
buffer = ctypes.create_string_buffer(8)
refused("reading memory", call, 310, 270, os.getppid(), buffer, 1, buffer, 1, 0)
refused("another's files", call, 438, 438, 0, 0, 0)
refused("init's memory", open, f"/proc/{os.getppid()}/mem", "rb")
""", SYSCALL + "import time")),
    Hostile("the clock and the name", wrapper(
        """
refused("the clock", time.clock_settime, time.CLOCK_REALTIME, 0)
refused("the name", socket.sethostname, "mine")
refused("adjtimex", call, 159, 171, ctypes.create_string_buffer(208))
""", SYSCALL + "import socket, time")),
    Hostile("the system's settings", wrapper(
        """
for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/vm/overcommit_memory", "/proc/sysrq-trigger",
             "/sys/kernel/mm/ksm/run", "/proc/1/oom_score_adj", "/proc/sys/kernel/hostname"):
    refused(path, os.open, path, os.O_WRONLY)
try:
    score = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
except OSError:
    pass
else:
    refused("a lower score", os.write, score, b"-1000")
""", REFUSED), degraded=False),
    Hostile("devices", wrapper(
        """
for path in ("/dev/mem", "/dev/kmem", "/dev/port", "/dev/kmsg", "/dev/sda", "/dev/vda", "/dev/fuse", "/dev/kvm"):
    refused(path, os.open, path, os.O_RDONLY)
refused("a device", os.mknod, "device", 0o666 | 0o060000, os.makedev(254, 0))
assert len(os.urandom(8)) == 8
refused("no device", open, "/dev/null", "w")
""", REFUSED), degraded=False),
    Hostile("new namespaces", wrapper(
        """
for flag in (0x10000000, 0x00020000, 0x20000000, 0x40000000):
    refused("unshare", call, 272, 97, flag)
    refused("clone", call, 56, 220, flag | 17, 0, 0, 0, 0)
refused("mount", call, 165, 40, b"none", b"/scratch", b"tmpfs", 0, 0)
refused("umount", call, 166, 39, b"/proc", 2)
refused("remount", call, 442, 442, -100, b"/", 0x8000, ctypes.create_string_buffer(32), 32)
refused("setns", call, 308, 268, 3, 0)
refused("chroot", os.chroot, ".")
refused("pivot_root", call, 155, 41, b".", b".")
refused("a handle", call, 304, 265, 3, ctypes.create_string_buffer(64), 0)
""", SYSCALL)),
    Hostile("the kernel's machinery", wrapper(
        """
for name, x86_64, aarch64 in (
    ("bpf", 321, 280), ("perf", 298, 241), ("userfaultfd", 323, 282), ("keyctl", 250, 219), ("add_key", 248, 217),
    ("io_uring", 425, 425), ("kexec", 246, 104), ("module", 175, 105), ("finit_module", 313, 273),
    ("clone3", 435, 435), ("memfd", 319, 279), ("shmget", 29, 194), ("msgget", 68, 186), ("reboot", 169, 142),
    ("swapon", 167, 224), ("syslog", 103, 116),
):
    refused(name, call, x86_64, aarch64, 0, 0, 0, 0, 0)
    assert ctypes.get_errno() in (errno.EPERM, errno.ENOSYS), name
""", SYSCALL)),
]  # fmt: skip
