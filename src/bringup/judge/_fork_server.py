"""The fork servers: single-threaded processes that have imported everything once and fork what is asked of them.

Started by `_processes.server_command` with a role and a target. For what comes on its control socket, standard input, a
parent forks a copy of itself, which receives the name of a service with file descriptors: a referee (role `referee`),
or a spawner of guests, of compiling processes or of device processes (role `run`). Imports cost seconds, a fork
milliseconds. No OpenMP pool and no CUDA context may exist here, since neither survives a fork: OpInfo makes one where a
GPU is visible, so only the referee's parent imports it, and that one sees no GPU. Parents and spawners of guests run no
Python between two forks (`sandbox._copies`): no guest can tell how many were before it.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import importlib.util
import json
import os
import random
import signal
import site
import socket
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from bringup.errors import UnknownName
from bringup.judge._processes import PATHS, VARIABLES
from bringup.judge.sandbox import (
    Sandbox,
    SandboxFault,
    World,
    copies,
    die_with_parent,
    forget,
    framed,
    hide,
    imported,
    spawn,
    stop_counting_cycles,
    survey,
    take_up_the_clock,
    use_huge_pages,
    warm_up,
)  # fmt: skip
from bringup.targets import Target, get_target
from bringup.vpe import sources

_THEIRS: list[str] = []  # of the user's paths, what is needed for a target of his own
GUESTS_KEEP = (
    "OMP_NUM_THREADS", "PYTHONDONTWRITEBYTECODE", "TORCH_DEVICE_BACKEND_AUTOLOAD", "LANG", "TZ", "PYTHONPATH",
)  # fmt: skip
NOWHERE = dict.fromkeys(("HOME", "TMPDIR", "XDG_CACHE_HOME", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR"), "/nowhere")
# What counts the interpreter's own objects differs between environments; no kernel's wrapper needs it.
CENSUS: dict[Any, tuple[str, ...]] = {
    sys: ("getallocatedblocks", "getrefcount", "_debugmallocstats"),
    gc: ("get_count", "get_freeze_count", "get_objects", "get_referents", "get_referrers", "get_stats"),
}
SEED = 0  # of what guests draw
OVERWRITTEN, LEAST_REST = (16, 32), 16  # bytes of a path in freed memory; shorter rests may be anything
HIDDEN = {"CUDA_VISIBLE_DEVICES": "", "ROCR_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": ""}


def main(clock: str) -> None:
    """Import, say ready, fork on request, end with the control socket, or with the process that started this one.

    `clock`: why it goes on, "" where it is stopped.
    """
    die_with_parent()  # while it imports it does not look at the socket
    control = socket.socket(fileno=os.dup(0))
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    role, spec = sys.argv[1:3]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the main process decides
    target = _target(role, spec)  # once for all children: a profile on disk may change or vanish under a run
    _warm_up(role, target)
    sources.only_given()
    without = frozenset(filter(None, os.environ.get("BRINGUP_SANDBOX_WITHOUT", "").split(",")))
    sandbox = Sandbox(World(()), without, clock=clock)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children are reaped by the kernel
    control.sendall(b"ready\n")
    descriptors = copies(control)
    if descriptors is None:
        return
    die_with_parent()
    try:
        control.close()
        with open(descriptors[0], "rb") as text:
            asked = json.load(text)
        SERVICES[asked["service"]](descriptors[1:], sandbox, target, asked["folder"])
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(0)


def _target(role: str, spec: str) -> Target:
    """Look the target up; the user's own paths are taken where they are needed, for plug-ins."""
    here = all(importlib.util.find_spec(name) is not None for name in ("torch", "triton", "numpy"))
    if role == "run" and here:
        with contextlib.suppress(UnknownName):
            return get_target(spec)
    plain = list(sys.path)
    _THEIRS.extend(path for path in _paths() if path not in plain)
    sys.path += _THEIRS
    return get_target(spec)


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
    theirs = set(_THEIRS)
    kept = {name: os.environ[name] for name in (*GUESTS_KEEP, *target.environment()) if name in os.environ}
    said = {*os.environ.values(), *theirs} - set(kept.values())
    os.environ.clear()
    os.environ.update(kept, PATH=os.defpath, **HIDDEN, **NOWHERE)
    tempfile.tempdir = site.USER_BASE = site.USER_SITE = None
    _forget_first_variables()
    ours = {os.path.abspath(path) for path in (sys.prefix, sys.base_prefix, os.environ.get("PYTHONPATH", sys.prefix))}
    sys.path[:] = dict.fromkeys(
        path for path in sys.path if path not in theirs or any(path.startswith(root) for root in ours)
    )
    sys.path_importer_cache.clear()
    sys.argv[:] = sys.orig_argv[:] = ["guest"]
    _draw_alike()
    for module, names in CENSUS.items():
        for name in names:
            vars(module).pop(name, None)
    private = _private(said)
    theirs.clear()
    said.clear()
    while private:
        forget(private.pop())


def _draw_alike() -> None:
    """Begin all generators anew: they were seeded when their modules were imported, in each program with other numbers.

    A candidate that goes by one of these would be judged under some and used under others.
    """
    import torch

    torch.manual_seed(SEED)
    random.seed(SEED)
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed(SEED)
    if "multiprocessing.process" in sys.modules:
        sys.modules["multiprocessing.process"].current_process().authkey = bytes(32)


def _private(names: set[str]) -> list[bytes]:
    """Return those of some names that are paths on which guests need nothing: scratches, caches, what is the user's.

    The longest is the last one. What is part of a path of a module, a library or the search path stays.
    """
    paths = {name for name in names if name.count("/") > 1 and name != os.defpath}
    loaded = [str(getattr(module, "__file__", None)) for module in list(sys.modules.values())]
    loaded += [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.executable, *site.getsitepackages(), *sys.path]
    with open("/proc/self/maps", "rb") as file:
        loaded.append(os.fsdecode(file.read()))
    every = os.fsencode("\n".join(loaded))
    # The allocator writes over the beginning of what is freed, and leaves the rest.
    whole = [os.fsencode(path.rstrip("/")) for path in paths]
    rests = [path[lost:] for path in whole for lost in OVERWRITTEN if len(path) - lost >= LEAST_REST]
    return sorted((part for part in {*whole, *rests} if part not in every), key=len)


def _forget_first_variables() -> None:
    """Overwrite the arguments and variables that this process was started with, which the kernel shows in /proc/self.

    Nothing reads them there: all variables that are set have been set anew, elsewhere.
    """
    try:
        with open("/proc/self/stat", encoding="utf-8") as file:
            fields = file.read().rpartition(")")[2].split()
        places = [int(field) for field in fields[45:49]]  # arg_start to env_end, the fields 48 to 51 of all
    except (OSError, LookupError, ValueError):
        return
    for start, end in (places[:2], places[2:]):
        if 0 < start < end:
            ctypes.memset(start, 0, end - start)


def _warm_up(role: str, target: Target) -> None:
    """Import what the children need."""
    import torch

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
        imported()
    warm_up()


def _be_told() -> None:
    """Set the user's own variables, and call folders by their names, in a service that no guest is a copy of.

    Its processes may lose their descriptors, or the right to find them in /proc.
    """
    with open(os.path.join(os.environ["HOME"], VARIABLES), encoding="utf-8") as file:
        told = json.load(file)
    os.environ.update(told["variables"])
    for name, value in os.environ.items():
        for known, folder in told["folders"].items():
            if value == known or value.startswith(f"{known}/"):
                os.environ[name] = folder + value.removeprefix(known)


def _referee(descriptors: list[int], sandbox: Sandbox, target: Target, folder: str) -> None:
    from bringup.judge._referee import Referee

    faulthandler.enable()  # PyTorch's own kernels run here: where one of them crashes is to be known
    main_end, guests, compiles, devices = (socket.socket(fileno=d) for d in descriptors)
    Referee(main_end, guests, compiles, devices, target).serve()


def _guests(descriptors: list[int], sandbox: Sandbox, target: Target, folder: str) -> None:
    """Fork guests: no GPU is visible to them, and the range of their handles has no access right."""
    from bringup.judge._imported import import_all
    from bringup.judge._worker import Guests

    os.environ.update(HIDDEN)
    import_all()
    if not sandbox.clock:  # a clock that goes on reads the counter
        try:
            stop_counting_cycles()
        except OSError as error:
            sandbox = replace(sandbox, clock=f"the counter of cycles: {error.strerror or error}")
    guests = Guests(target)
    _plain_world(target)
    gc.freeze()
    use_huge_pages()
    serve_spawns(descriptors[0], replace(sandbox, blind=True), guests.serve)


def _compiles(descriptors: list[int], sandbox: Sandbox, target: Target, folder: str) -> None:
    from bringup.judge._worker import serve_compiles

    os.environ.update(HIDDEN)
    _be_told()
    if not sandbox.clock:
        take_up_the_clock()
    use_huge_pages()
    world = survey(target.worker_paths, folder)
    serve_spawns(descriptors[0], replace(sandbox, world=world), lambda descriptor: serve_compiles(descriptor, target))


def _devices(descriptors: list[int], sandbox: Sandbox, target: Target, folder: str) -> None:
    """Fork device processes, each for the life of a referee or until a fault breaks it."""
    requests = socket.socket(fileno=descriptors[0])
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    _be_told()
    if not sandbox.clock:
        take_up_the_clock()
    while True:
        message, found, _, _ = socket.recv_fds(requests, 64, 1)
        if not message:
            return
        if os.fork() == 0:
            requests.close()
            die_with_parent()
            try:
                _device(socket.socket(fileno=found[0]), target)
            except BaseException:
                sys.excepthook(*sys.exc_info())
            finally:
                os._exit(0)
        os.close(found[0])


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
    """Fork one isolated process per request until the socket closes; a copy of this one is its parent while it lives.

    The copy reads nothing of the request but descriptors: what is in its memory is in the worker's. It answers on the
    pipe on which the worker's end is reported, so that a copy that dies has said so.
    """
    requests = socket.socket(fileno=descriptor)
    descriptors = copies(requests)
    if descriptors is None:
        return
    try:
        die_with_parent()
        requests.close()
        answer: dict[str, Any]
        try:
            answer = dict(zip(("pid", "isolation"), spawn(sandbox, descriptors, body), strict=True))
        except SandboxFault as error:
            answer = {"fault": str(error)}
        os.write(descriptors[2], framed(answer))
        for d in descriptors:
            os.close(d)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(answer["pid"], 0)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(0)


SERVICES: dict[str, Callable[[list[int], Sandbox, Target, str], None]] = {
    "referee": _referee,
    "guests": _guests,
    "compiles": _compiles,
    "devices": _devices,
}
