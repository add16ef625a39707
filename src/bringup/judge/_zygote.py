"""The warm parent: one single-threaded process that has imported everything once and forks what is asked of it.

Started as `python -m bringup.judge._zygote FD ROLE TARGET`. On its control socket it receives {"slot": n} with file
descriptors and forks a judge (role `run`) or a spawner of compiling workers (role `compile`). Imports cost seconds,
a fork milliseconds. No OpenMP pool and no CUDA context may exist here, since neither survives a fork.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

from bringup.judge._isolate import Limits, die_with_parent, spawn


def main() -> None:
    """Import, say ready, fork on request, end with the control socket."""
    control = socket.socket(fileno=int(sys.argv[1]))
    role = sys.argv[2]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the main process decides
    _warm_up(role, sys.argv[3])
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
                _slot(role, descriptors)
            except BaseException:
                sys.excepthook(*sys.exc_info())
            finally:
                os._exit(0)
        for descriptor in descriptors:
            os.close(descriptor)


def _warm_up(role: str, target: str) -> None:
    import torch

    torch.set_num_threads(1)
    import triton  # noqa: F401
    from triton.backends.compiler import GPUTarget
    from triton.compiler.compiler import make_backend

    from bringup.judge import _worker  # noqa: F401

    make_backend(GPUTarget("cuda", 90, 32))
    if role == "run":
        from torch.testing._internal import common_methods_invocations  # noqa: F401

        from bringup.targets import get_target

        get_target(target).warm_up()
        from bringup.judge import _codec, _compare, _launches, _referee, _spy  # noqa: F401
    else:
        from bringup.judge import _compile  # noqa: F401
    gc.collect()
    gc.freeze()


def _slot(role: str, descriptors: list[int]) -> None:
    if role == "compile":
        serve_spawns(descriptors[0], compile_body)
        return
    from bringup.judge._referee import Referee

    main_end, compile_end = descriptors
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        # The spawner stays as clean as the warm parent: what the judge computes later, no worker ever inherits.
        ours.close()
        os.close(main_end)
        os.close(compile_end)
        die_with_parent()
        try:
            serve_spawns(theirs.detach(), run_body)
        finally:
            os._exit(0)
    theirs.close()
    Referee(socket.socket(fileno=main_end), ours, socket.socket(fileno=compile_end)).serve()


def run_body(descriptor: int) -> None:
    """Run the worker that calls wrappers."""
    from bringup.judge._worker import serve_calls

    serve_calls(descriptor)


def compile_body(descriptor: int) -> None:
    """Run the worker that compiles kernels."""
    from bringup.judge._worker import serve_compiles

    serve_compiles(descriptor)


def serve_spawns(descriptor: int, body: Callable[[int], None]) -> None:
    """Fork one isolated worker per request until the socket closes."""
    requests = socket.socket(fileno=descriptor)
    while True:
        message, descriptors, _, _ = socket.recv_fds(requests, 65536, 3)
        if not message:
            return
        limits: dict[str, Any] = json.loads(message)
        sock, output, status = descriptors
        pid, isolation = spawn(Limits(**limits), (sock, output, status), body)
        for d in descriptors:
            os.close(d)
        requests.sendall(json.dumps({"pid": pid, "isolation": isolation}).encode() + b"\n")


if __name__ == "__main__":
    main()
