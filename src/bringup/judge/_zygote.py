"""The warm parents: single-threaded processes that have imported everything once and fork what is asked of them.

Started as `python -m bringup.judge._zygote FD ROLE TARGET`. On its control socket a parent receives "slot" with file
descriptors and forks a referee (role `referee`) or a spawner of workers (roles `run` and `compile`). Imports cost
seconds, a fork milliseconds. No OpenMP pool and no CUDA context may exist here, since neither survives a fork: OpInfo
makes one where a GPU is visible, so only the referee's parent imports it, and that one sees no GPU.
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

from bringup.judge._isolate import Limits, Sandbox, SandboxFault, die_with_parent, spawn, warm_up
from bringup.judge._world import survey


def main() -> None:
    """Import, say ready, fork on request, end with the control socket."""
    control = socket.socket(fileno=int(sys.argv[1]))
    role = sys.argv[2]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the main process decides
    sandbox = _warm_up(role, sys.argv[3])
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
                _slot(role, descriptors, sandbox)
            except BaseException:
                sys.excepthook(*sys.exc_info())
            finally:
                os._exit(0)
        for descriptor in descriptors:
            os.close(descriptor)


def _warm_up(role: str, target: str) -> Sandbox:
    """Import what the children need; return what workers may see (nobody asks the referee's parent for one)."""
    import torch

    extra: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()

    torch.set_num_threads(1)
    if role == "referee":
        from torch.testing._internal import common_methods_invocations  # noqa: F401

        from bringup.judge import _referee  # noqa: F401
    else:
        import triton  # noqa: F401
        from triton.backends.compiler import GPUTarget
        from triton.compiler.compiler import make_backend

        from bringup.judge import _codec, _compile, _launches, _overseer, _worker  # noqa: F401
        from bringup.targets import get_target

        make_backend(GPUTarget("cuda", 90, 32))
        with _overseer.Overseer(["dispatch-spy"], get_target("interpreter"), {}).loading():
            # The first dispatch mode of a process imports a second's worth of torch: here once, not in every worker.
            torch.empty(1).view(1)
        if role == "run":
            chosen = get_target(target)
            chosen.warm_up()
            # The profile may be a file of the user's own.
            extra = (*getattr(chosen, "worker_paths", ()), target.partition(":")[2])
            devices = getattr(chosen, "worker_devices", ())
    warm_up()
    without = frozenset(filter(None, os.environ.get("BRINGUP_SANDBOX_WITHOUT", "").split(",")))
    sandbox = Sandbox(survey(extra, devices), without)
    gc.collect()
    gc.freeze()
    return sandbox


def _slot(role: str, descriptors: list[int], sandbox: Sandbox) -> None:
    if role == "referee":
        from bringup.judge._referee import Referee

        main_end, run_end, compile_end = (socket.socket(fileno=d) for d in descriptors)
        Referee(main_end, run_end, compile_end).serve()
    else:
        serve_spawns(descriptors[0], sandbox, run_body if role == "run" else compile_body)


def run_body(descriptor: int) -> None:
    """Run the worker that calls wrappers."""
    from bringup.judge._worker import serve_calls

    serve_calls(descriptor)


def compile_body(descriptor: int) -> None:
    """Run the worker that compiles kernels."""
    from bringup.judge._worker import serve_compiles

    serve_compiles(descriptor)


def serve_spawns(descriptor: int, sandbox: Sandbox, body: Callable[[int], None]) -> None:
    """Fork one isolated worker per request until the socket closes."""
    requests = socket.socket(fileno=descriptor)
    while True:
        message, descriptors, _, _ = socket.recv_fds(requests, 65536, 3)
        if not message:
            return
        limits: dict[str, Any] = json.loads(message)
        sock, output, status = descriptors
        answer: dict[str, Any]
        try:
            pid, isolation = spawn(sandbox, Limits(**limits), (sock, output, status), body)
            answer = {"pid": pid, "isolation": isolation}
        except SandboxFault as error:
            answer = {"fault": str(error)}
        for d in descriptors:
            os.close(d)
        requests.sendall(json.dumps(answer).encode() + b"\n")


if __name__ == "__main__":
    main()
