"""A sealed wrapper finds the same world as a judged one, whatever the user's process has around it."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
from library_testkit import make_library

TELLS = """
import ctypes
import fcntl
import gc
import hashlib
import os
import random
import re
import resource
import signal
import socket
import sys
import threading


class MallInfo(ctypes.Structure):
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keep"
    _fields_ = [(name, ctypes.c_size_t) for name in names.split()]


def heap():
    # How much of malloc's heap is in use, and where it ends: what has been there leaves its size.
    libc = ctypes.CDLL(None)
    libc.sbrk.restype = ctypes.c_void_p
    told = getattr(libc, "mallinfo2", None)
    if told is None:
        return libc.sbrk(0)
    told.restype = MallInfo
    info = told()
    return libc.sbrk(0), info.arena, info.uordblks, info.hblkhd


HEAP = heap()


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        return type(error).__name__


def frames():
    found, frame = [], sys._getframe(1)
    while frame is not None:
        for name, value in frame.f_locals.items():
            if isinstance(value, (str, bytes)) and "bringup-judge" in repr(value):
                found.append(f"{frame.f_code.co_qualname}.{name}")
        frame = frame.f_back
    return found


def told(function, *arguments):
    try:
        return function(*arguments)
    except OSError as error:
        return type(error).__name__


def descriptors():
    found = []
    for number in range(256):
        try:
            found.append((number, fcntl.fcntl(number, fcntl.F_GETFL)))
        except OSError:
            continue
    return found


def drawn():
    # What has been seeded when its module was imported.
    found = [torch.initial_seed(), random.getstate(), hash("any")]
    for name, state in (("numpy.random", "get_state"), ("multiprocessing.process", "current_process")):
        if name in sys.modules:
            one = getattr(sys.modules[name], state)()
            found.append(getattr(one, "authkey", one))
    return found


def wrapper(self, other, *, alpha=1, out):
    limits = [told(resource.getrlimit, number) for number in range(16) if number != 6]
    mask = told(os.umask, 0)
    found = {
        "variables": sorted(os.environ.items()), "paths": sys.path, "arguments": sys.argv, "all": sys.orig_argv,
        "command": read("/proc/self/cmdline"), "from": read("/proc/self/environ"), "limits": limits,
        "folder": os.getcwd(), "files": told(os.listdir, "."), "root": told(os.listdir, "/"),
        "modules": sorted(sys.modules),
        "lie": sorted(str(getattr(module, "__file__", None)) for module in list(sys.modules.values())),
        "threads": threading.active_count(),
        "host": [os.uname(), told(socket.gethostname)],
        "flags": str(sys.flags), "open": descriptors(),
        "caches": sorted(sys.path_importer_cache), "python": [sys.executable, sys._base_executable], "mask": mask,
        "signals": [str(signal.getsignal(number)) for number in sorted(signal.valid_signals())],
        "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())), "hash": hash("any"),
        "nice": told(os.getpriority, os.PRIO_PROCESS, 0), "cores": told(os.sched_getaffinity, 0),
        "blocks": getattr(sys, "getallocatedblocks", int)(), "frozen": getattr(gc, "get_freeze_count", int)(),
        "objects": len(getattr(gc, "get_objects", list)()), "counts": getattr(sys, "getrefcount", type)(None),
        "processes": read("/proc/uptime"), "frames": frames(), "address": self.data_ptr(), "user": os.getuid(),
        "groups": told(os.getgroups), "init": told(os.kill, 1, 0), "heap": HEAP, "drawn": drawn(),
    }
    plain = {name: re.sub(r"bringup-judge-\\w+", "SCRATCH", repr(value)) for name, value in found.items()}
    short = {name: hashlib.sha256(value.encode()).hexdigest()[:8] for name, value in plain.items()}
    raise NotImplementedError(" ".join(f"{name}={digest}" for name, digest in short.items()))
"""
USE = """
import sys

import torch

import bringup

with bringup.enable(sys.argv[1], device="vpe:permissive", sealed=True):
    x = torch.ones(2, 3).to("vpe")
    try:
        x + x
    except Exception as error:
        print(error)
"""


def set_all() -> None:
    """What a shell, a scheduler or a service may have set for its programs."""
    os.umask(0o077)
    os.nice(3)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (1 << 16, 1 << 16))
    resource.setrlimit(resource.RLIMIT_SIGPENDING, (500, 500))
    resource.setrlimit(resource.RLIMIT_STACK, (4 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]))


def use(
    library: Path, folder: Path, variables: dict[str, str], python: str = sys.executable, **options: Any
) -> dict[str, str]:
    script = folder / "use.py"
    folder.mkdir(exist_ok=True)
    script.write_text(USE)
    done = subprocess.run(
        [python, str(script), str(library)], cwd=folder, env={**os.environ, **variables},
        capture_output=True, text=True, check=True, timeout=120, **options,
    )  # fmt: skip
    return dict(re.findall(r"\b(\w+)=([0-9a-f]{8})\b", done.stdout))


@pytest.mark.slow
@pytest.mark.long
def test_where_a_wrapper_is_used_is_not_to_be_seen(tmp_path: Path) -> None:
    library = make_library(tmp_path / "kernels", {"add.out": TELLS}).path
    # The user's own folder of modules ends as all such folders do.
    plug = tmp_path / "plug" / os.path.relpath(sysconfig.get_path("purelib"), sys.prefix)
    plug.mkdir(parents=True)
    usual = use(library, tmp_path / "one", {})
    other = use(
        library, tmp_path / "other place",
        {"PYTHONPATH": str(plug), "LANG": "de_DE.UTF-8", "TZ": "Asia/Tokyo", "PATH": f"/opt:{os.environ['PATH']}",
         "HOME": str(tmp_path), "EXTRA": "1", "LD_LIBRARY_PATH": str(plug), "BRINGUP_VPE_DUMPS": str(tmp_path)},
        os.path.join(sys.prefix, "bin", "python3"), preexec_fn=set_all,
    )  # fmt: skip
    assert len(usual) >= 15
    differing = {name: (usual[name], other.get(name)) for name in usual if usual[name] != other.get(name)}
    assert differing == {}
