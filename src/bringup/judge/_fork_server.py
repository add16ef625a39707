"""The fork servers: single-threaded processes that have imported everything once and fork what is asked of them.

Started as `python -P -m bringup.judge._fork_server ROLE TARGET`. On its control socket, standard input, a parent
receives the name of a service with file descriptors and forks it: a referee (role `referee`), or a spawner of guests,
of compiling processes or of device processes (role `run`). Imports cost seconds, a fork milliseconds. No OpenMP pool
and no CUDA context may exist here, since neither survives a fork: OpInfo makes one where a GPU is visible, so only the
referee's parent imports it, and that one sees no GPU.
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from bringup.judge._processes import PATHS
from bringup.judge.sandbox import (
    Limits,
    Sandbox,
    SandboxFault,
    die_with_parent,
    hide,
    spawn,
    stop_counting_cycles,
    stop_the_clock,
    survey,
    take_up_the_clock,
    warm_up,
)  # fmt: skip
from bringup.targets import Target, get_target

GUESTS_KEEP = (
    "HOME", "TMPDIR", "TRITON_CACHE_DIR", "OMP_NUM_THREADS", "PYTHONDONTWRITEBYTECODE", "TORCH_DEVICE_BACKEND_AUTOLOAD",
    "LANG", "TZ", "PYTHONPATH",
)  # fmt: skip
# What counts the interpreter's own objects differs between environments; no kernel's wrapper needs it.
CENSUS: dict[Any, tuple[str, ...]] = {
    sys: ("getallocatedblocks", "getrefcount", "_debugmallocstats"),
    gc: ("get_count", "get_freeze_count", "get_objects", "get_referents", "get_referrers", "get_stats"),
}
HIDDEN = {"CUDA_VISIBLE_DEVICES": "", "ROCR_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": ""}


def main() -> None:
    """Import, say ready, fork on request, end with the control socket, or with the process that started this one."""
    die_with_parent()  # while it imports it does not look at the socket
    control = socket.socket(fileno=os.dup(0))
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    role, spec = sys.argv[1:3]
    clock = _stop_the_clock() if role == "run" else ""
    plain = list(sys.path)
    sys.path += [path for path in _paths() if path not in plain]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the main process decides
    target = get_target(spec)  # once for all children: a profile on disk may change or vanish under a run
    sandbox = replace(_warm_up(role, target), clock=clock)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children are reaped by the kernel
    control.sendall(b"ready\n")
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 4096, 4)
        if not message:
            return
        pid = os.fork()
        if pid == 0:
            control.close()
            die_with_parent()
            try:
                SERVICES[message.decode()](descriptors, sandbox, target)
            except BaseException:
                sys.excepthook(*sys.exc_info())
            finally:
                os._exit(0)
        for descriptor in descriptors:
            os.close(descriptor)
        del message, descriptors, descriptor, pid  # what a later child is forked from says nothing of earlier ones


def _paths() -> list[str]:
    """Where the process that has started this one finds modules: plug-ins may lie there."""
    try:
        with open(os.path.join(os.environ["HOME"], PATHS), encoding="utf-8") as file:
            return [str(path) for path in json.load(file)]
    except (OSError, LookupError, ValueError):
        return []


def _plain_world(target: Target) -> None:
    """Let guests find the same variables, paths and arguments, whoever has started this server, and from where.

    A candidate that goes by them would tell a judge from a user. Modules of the user's, plug-ins, are imported before.
    """
    kept = {name: os.environ[name] for name in (*GUESTS_KEEP, *target.environment()) if name in os.environ}
    os.environ.clear()
    os.environ.update(kept, PATH=os.defpath, **HIDDEN)
    _forget_first_variables()
    theirs = set(_paths())
    ours = {os.path.abspath(path) for path in (sys.prefix, sys.base_prefix, os.environ.get("PYTHONPATH", sys.prefix))}
    sys.path[:] = dict.fromkeys(
        path for path in sys.path if path not in theirs or any(path.startswith(root) for root in ours)
    )
    sys.path_importer_cache.clear()
    sys.argv[:] = sys.orig_argv[:] = ["guest"]
    for module, names in CENSUS.items():
        for name in names:
            vars(module).pop(name, None)


def _forget_first_variables() -> None:
    """Overwrite the variables that this process was started with, which the kernel shows as /proc/self/environ.

    Nothing reads them there: all that are set have been set anew, elsewhere.
    """
    try:
        with open("/proc/self/stat", encoding="utf-8") as file:
            fields = file.read().rpartition(")")[2].split()
        start, end = int(fields[47]), int(fields[48])  # env_start and env_end, the fields 50 and 51 of all
    except (OSError, LookupError, ValueError):
        return
    if 0 < start < end:
        ctypes.memset(start, 0, end - start)


def _warm_up(role: str, target: Target) -> Sandbox:
    """Import what the children need; return what guests may see (nobody asks the referee's parent for one)."""
    import torch

    extra: tuple[str, ...] = ()
    torch.set_num_threads(1)
    torch.broadcast_shapes((1,), (1,))  # OpInfo's samples and wrappers ask: the first time imports SymPy
    torch.cpu._is_avx2_supported()  # PyTorch looks the processor up at the first need, in /proc, which guests lack
    if role == "referee":
        from bringup.judge import _referee  # noqa: F401
        from bringup.suites._opinfo_import import import_opinfo

        import_opinfo()
    else:
        import triton  # noqa: F401

        from bringup.device import frontend, process  # noqa: F401
        from bringup.judge import _codec, _worker  # noqa: F401

        target.warm_up()
        extra = target.worker_paths
    warm_up()
    without = frozenset(filter(None, os.environ.get("BRINGUP_SANDBOX_WITHOUT", "").split(",")))
    sandbox = Sandbox(survey(extra), without)
    gc.collect()
    gc.freeze()
    return sandbox


def _referee(descriptors: list[int], sandbox: Sandbox, target: Target) -> None:
    from bringup.judge._referee import Referee

    faulthandler.enable()  # PyTorch's own kernels run here: where one of them crashes is to be known
    main_end, guests, compiles, devices = (socket.socket(fileno=d) for d in descriptors)
    Referee(main_end, guests, compiles, devices, target).serve()


def _guests(descriptors: list[int], sandbox: Sandbox, target: Target) -> None:
    """Fork guests: no GPU is visible to them, and the range of their handles has no access right."""
    from bringup.judge._imported import import_all
    from bringup.judge._worker import Guests

    os.environ.update(HIDDEN)
    import_all()
    stop_counting_cycles()
    guests = Guests(target)
    _plain_world(target)
    gc.freeze()
    serve_spawns(descriptors[0], replace(sandbox, blind=True), guests.serve)


def _stop_the_clock() -> str:
    """Return why it goes on, or ""."""
    try:
        stop_the_clock()
    except OSError as error:
        return str(error.strerror or error)
    return ""


def _compiles(descriptors: list[int], sandbox: Sandbox, target: Target) -> None:
    from bringup.judge._worker import serve_compiles

    os.environ.update(HIDDEN)
    take_up_the_clock()
    serve_spawns(descriptors[0], sandbox, lambda descriptor: serve_compiles(descriptor, target))


def _devices(descriptors: list[int], sandbox: Sandbox, target: Target) -> None:
    """Fork device processes, each for the life of a referee or until a fault breaks it."""
    requests = socket.socket(fileno=descriptors[0])
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    take_up_the_clock()
    while True:
        message, found, _, _ = socket.recv_fds(requests, 64, 1)
        if not message:
            return
        pid = os.fork()
        if pid == 0:
            requests.close()
            die_with_parent()
            try:
                _device(socket.socket(fileno=found[0]), target)
            except BaseException:
                sys.excepthook(*sys.exc_info())
            finally:
                os._exit(0)
        os.close(found[0])
        requests.sendall(json.dumps({"pid": pid}).encode() + b"\n")


def _device(control: socket.socket, target: Target) -> None:
    from bringup.device import frames
    from bringup.device.process import DeviceProcess
    from bringup.judge._bench import measure

    try:
        process = DeviceProcess(target.engine(), control, {"measure": measure})
        process.start()
    except Exception as error:
        frames.send(control, {"fault": f"{type(error).__name__}: {error}"})
        return
    hide()  # not before: drivers open files of /proc to begin
    process.serve()


def serve_spawns(descriptor: int, sandbox: Sandbox, body: Callable[[int], None]) -> None:
    """Fork one isolated process per request until the socket closes."""
    requests = socket.socket(fileno=descriptor)
    while True:
        message, descriptors, _, _ = socket.recv_fds(requests, 65536, 4)
        if not message:
            return
        limits: dict[str, Any] = json.loads(message)
        sock, output, status, scratch = descriptors
        answer: dict[str, Any]
        try:
            made = spawn(sandbox, Limits(**limits), (sock, output, status, scratch), body)
            answer = dict(zip(("pid", "isolation"), made, strict=True))
            del made
        except SandboxFault as error:
            answer = {"fault": str(error)}
        for d in descriptors:
            os.close(d)
        requests.sendall(json.dumps(answer).encode() + b"\n")
        del message, descriptors, limits, sock, output, status, scratch, answer, d  # as above


SERVICES: dict[str, Callable[[list[int], Sandbox, Target], None]] = {
    "referee": _referee,
    "guests": _guests,
    "compiles": _compiles,
    "devices": _devices,
}

if __name__ == "__main__":
    main()
