"""Inside an isolated process: a guest that calls a candidate's wrapper, or a compiler of texts. Decides nothing."""

from __future__ import annotations

import faulthandler
import gc
import select
import signal
import socket
import time
import traceback
from collections.abc import Callable
from typing import Any

from bringup.device import frames
from bringup.device.wire import Command
from bringup.judge import _touch
from bringup.judge._loader import FILENAME, load
from bringup.judge._reply import LONGEST, LONGEST_LOG, cut
from bringup.targets import Target

TRACEBACK_FRAMES = 30
LONGEST_MESSAGE = 4000  # characters


class Guests:
    """What all guests of one parent have in common: the device of handles, Triton's front end."""

    def __init__(self, chosen: Target) -> None:
        """Register the device and reserve its range; guests inherit both."""
        from triton.backends.compiler import GPUTarget

        from bringup.device import space
        from bringup.device.frontend import FrontEnd
        from bringup.device.handles import Handles
        from bringup.judge._calls import Calls
        from bringup.vpe import device

        space.reserve(accessible=False)
        self.device = chosen.device
        self.compile_log = chosen.compile_log
        self.handles = Handles(chosen.alignment)
        device.enable(remote=self.handles, name=self.device)
        chosen.guest_setup()
        self.frontend = FrontEnd(self.handles, GPUTarget(*chosen.triton_target()), self.device)
        self.frontend.install()
        self.calls = Calls(self.handles, self.device, self.answer)
        _touch.prepare()

    def serve(self, descriptor: int) -> None:
        """Be a guest: take the stream, load the candidate, answer calls until the socket closes.

        The message that says what to load is the first call's, too: nothing of a module's runs before somebody waits
        for an answer, so that nothing tells it who that is.
        """
        from triton.backends.compiler import GPUTarget

        from bringup.device.stream import Stream
        from bringup.targets import gpu_target

        gc.freeze()  # freed parent objects must not run their finalisers here
        vars(time)["sleep"] = _sleep
        sock = socket.socket(fileno=descriptor)
        _plain_signals()
        _touch.install()
        _, descriptors, _, _ = socket.recv_fds(sock, 1, 1)
        request, _ = frames.receive(sock)
        self.frontend.also = {spec: GPUTarget(*gpu_target(spec)) for spec in request.pop("compile_for")}
        try:
            wrapper = load(request.pop("source")).wrapper
        except BaseException as error:
            frames.send(sock, {"error": _traceback(error), "phase": "load"})
            return
        self.handles.start(Stream(socket.socket(fileno=descriptors[0])))
        while True:
            frames.send(sock, self.calls.answer(wrapper, request))
            try:
                request, _ = frames.receive(sock)
            except frames.Closed:
                return

    def answer(self, function: Callable[[], Any], arguments: list[Any], storages: list[Any]) -> dict[str, Any]:
        """Call a function; describe what it returned or raised, and what it has left of the arguments.

        What it asked for is sent before anything that it has returned dies.
        """
        try:
            result = function()
        except BaseException as error:
            answer = {
                "error": _traceback(error),
                "raised": type(error).__name__,
                "family": _family(error),
                "own": type(error).__module__.partition(".")[0] in ("builtins", "torch"),
                "message": _message(error),
                "compile_log": self.compile_log(error),
                "kernel": self.frontend.latest,
            }
        else:
            answer = self._results(result, arguments, storages)
        try:
            assert self.handles.stream is not None
            self.handles.stream.put(Command.RETURNED, b"")
            self.handles.stream.flush()
        except RuntimeError as error:
            answer = {"error": _traceback(error), "raised": type(error).__name__}
        return answer

    def _results(self, result: Any, arguments: Any, inputs: list[Any]) -> dict[str, Any]:
        from bringup.judge import _codec
        from bringup.judge._plain import odd_result

        odd = odd_result(result)
        if odd:
            return {"unencodable": odd, "odd": True}
        storages = _codec.Storages()
        for storage in inputs:
            storages.index(storage)
        try:
            tree = _codec.encode(result, storages)
            after = _codec.encode(arguments, storages)
        except (_codec.Unencodable, RuntimeError, NotImplementedError) as error:
            return {"unencodable": str(error)}
        return {
            "result": tree,
            "after": after,
            "storages": [[s.data_ptr(), s.nbytes()] if s.nbytes() else [0, 0] for s in storages.items],
            "devices": sorted({t.device.type for _, t in _codec.tensors_of(result, "output")}),
        }


def serve_compiles(descriptor: int, chosen: Target) -> None:
    """Compile texts until the socket closes: for the target itself, or for another toolchain as a check."""
    from bringup.device import Kernel
    from bringup.targets import compile_with_triton, error_chain, gpu_target

    gc.freeze()
    sock = socket.socket(fileno=descriptor)
    _plain_signals()
    while True:
        try:
            request, _ = frames.receive(sock)
        except frames.Closed:
            return
        kernel: Kernel | None = None
        try:
            if request["target"]:
                made = compile_with_triton(gpu_target(request["target"]), request, resources=True)
                answer: dict[str, Any] = {"ok": True, "resources": made.facts["resources"]}
            else:
                kernel = chosen.compile_text(request)
                answer = {"name": kernel.name, "shared": kernel.shared, "facts": kernel.facts}
        except Exception as error:
            log, short = chosen.compile_log(error) or error_chain(error), str(error) or repr(error)
            answer = {"log": cut(log, LONGEST_LOG), "short": cut(short, LONGEST)}
        frames.send(sock, answer, () if kernel is None else (kernel.binary,))


def _family(error: BaseException) -> str:
    """Return the name of the nearest of Python's own exceptions that `error` is."""
    return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins")


def _message(error: BaseException) -> str:
    """Return what an error says of itself, cut."""
    try:
        return str(error)[:LONGEST_MESSAGE]
    except Exception:  # a class of the candidate's
        return ""


def _sleep(seconds: float) -> None:
    """What `time.sleep` does, which asks the clock for its end."""
    select.select((), (), (), seconds)


def _plain_signals() -> None:
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1)  # the judge asks where a call is that has used up its time
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def _traceback(error: BaseException) -> str:
    """Return the traceback as a kernel author needs it: frames of the candidate, and what was raised."""
    parts: list[str] = []
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        frames_of = [f for f in traceback.extract_tb(current.__traceback__) if f.filename == FILENAME]
        lines = traceback.format_list(frames_of[-TRACEBACK_FRAMES:])
        message = "".join(traceback.format_exception_only(current)).rstrip()
        parts.append("".join(lines) + message)
        if current.__cause__ is None and current.__suppress_context__:
            break
        current = current.__cause__ or current.__context__
    return "\ncaused by:\n".join(parts)
