"""Inside the isolated worker: load a candidate and call its wrapper, or compile its kernels. Decides nothing."""

from __future__ import annotations

import faulthandler
import gc
import signal
import socket
import traceback
from typing import Any

from bringup.judge import _wire
from bringup.judge._loader import FILENAME, load

TRACEBACK_FRAMES = 30


def serve_calls(descriptor: int) -> None:
    """Answer `load` and `call` requests on the socket until it closes."""
    # Freed parent objects must not run their finalisers here.
    gc.freeze()
    sock = socket.socket(fileno=descriptor)
    _plain_signals()
    request, _ = _wire.receive(sock)
    try:
        runner = _Runner(request)
    except BaseException as error:
        _wire.send(sock, {"error": _traceback(error), "phase": "load"})
        return
    _wire.send(sock, {"ok": True, "found": runner.overseer.take()})
    while True:
        try:
            request, payload = _wire.receive(sock)
        except _wire.Closed:
            return
        faulthandler.dump_traceback_later(request["seconds"], exit=False)
        header, payloads = runner.call(request, payload)
        faulthandler.cancel_dump_traceback_later()
        _wire.send(sock, header, payloads)


def serve_compiles(descriptor: int) -> None:
    """Answer `load` and `compile` requests on the socket until it closes."""
    from bringup.judge._compile import compile_specialisation
    from bringup.targets import error_chain

    gc.freeze()
    sock = socket.socket(fileno=descriptor)
    _plain_signals()
    request, _ = _wire.receive(sock)
    module: dict[str, Any] = {}
    failure: str | None = None
    try:
        module = load(request["source"], kernels_only=True).__dict__
    except BaseException as error:
        failure = error_chain(error)
    while True:
        try:
            entry, _ = _wire.receive(sock)
        except _wire.Closed:
            return
        _wire.send(sock, {"log": failure or compile_specialisation(module, entry)})


def _plain_signals() -> None:
    faulthandler.enable()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


class _Runner:
    """One loaded candidate on one target."""

    def __init__(self, request: dict[str, Any]) -> None:
        from bringup.judge._launches import LaunchRecorder
        from bringup.judge._overseer import Overseer
        from bringup.targets import get_target

        self.target = get_target(request["target"])
        self.target.worker_setup()
        self.recorder = LaunchRecorder(tuple(request["compile_for"]))
        self.profiles = bool(request["profile"])
        self.overseer = Overseer(request["guards"], self.target, request["facts"])
        self.overseer.start()
        with self.overseer.loading():
            self.module = load(request["source"], builtins=self.overseer.builtins())
        self.overseer.loaded(self.module)

    def call(self, request: dict[str, Any], payload: memoryview) -> tuple[dict[str, Any], list[Any]]:
        """Call the wrapper once; return the reply and the storages' bytes."""
        from bringup.judge import _codec
        from bringup.judge._launches import recorded

        sizes = request["sizes"]
        host = []
        for size in sizes:
            host.append(_codec.storage_from(payload[:size]))
            payload = payload[size:]
        device = [self._to_device(storage) for storage in host]
        args = _codec.decode(request["args"], lambda d: _codec.tensor_on(device, d), self.target.device)
        kwargs = _codec.decode(request["kwargs"], lambda d: _codec.tensor_on(device, d), self.target.device)
        launches = self.recorder.launches
        try:
            with recorded(self.recorder, self.overseer), self.overseer.calling(request["mode"], device):
                result = self.module.wrapper(*args, **kwargs)
                self.target.worker_synchronize()
            found = self.overseer.take()
            if self.overseer.fault is not None:
                raise self.overseer.fault  # a crash of the device is one, whatever the wrapper made of it
        except BaseException as error:
            reply: dict[str, Any] = {
                "error": _traceback(error),
                "fault": self.target.worker_fault(error),
                "compile_log": self.target.worker_compile_log(error),
                "kernel": self.recorder.latest,
            }
            return reply | self._facts(launches, self.overseer.take()), []
        if found:
            return self._facts(launches, found), []  # what a candidate has tampered with need not even be encoded
        reply, payloads = self._results(result, [args, kwargs], device)
        return reply | self._facts(launches, found), payloads

    def _facts(self, launches: int, found: list[list[Any]]) -> dict[str, Any]:
        return {
            "launches": self.recorder.launches - launches,
            "specialisations": self.recorder.take(),
            "found": found[:20],
            "counters": self.target.worker_counters() if self.profiles else [],
        }

    def _to_device(self, storage: Any) -> Any:
        import torch

        flat = torch.empty(0, dtype=torch.uint8).set_(storage)
        return self.target.worker_to_device(flat).untyped_storage()

    def _to_host(self, storage: Any) -> Any:
        import torch

        if storage.device.type == "cpu":
            return storage
        flat = torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)
        return self.target.worker_to_host(flat).untyped_storage()

    def _results(self, result: Any, arguments: Any, inputs: list[Any]) -> tuple[dict[str, Any], list[Any]]:
        from bringup.judge import _codec
        from bringup.judge.guards.plain import odd_result

        odd = odd_result(result)
        if odd:
            return {"unencodable": odd, "odd": True}, []
        storages = _codec.Storages()
        for storage in inputs:
            storages.index(storage)
        try:
            tree = _codec.encode(result, storages)
            after = _codec.encode(arguments, storages)
        except _codec.Unencodable as error:
            return {"unencodable": str(error)}, []
        host = _codec.Storages(items=[self._to_host(s) for s in storages.items])
        reply = {
            "result": tree,
            "after": after,
            "sizes": host.sizes(),
            "devices": sorted({t.device.type for _, t in _codec.tensors_of(result, "output")}),
        }
        return reply, host.payloads()


def _traceback(error: BaseException) -> str:
    """Return the traceback as a kernel author needs it: frames of the candidate, and what was raised."""
    parts: list[str] = []
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        frames = [f for f in traceback.extract_tb(current.__traceback__) if f.filename == FILENAME]
        lines = traceback.format_list(frames[-TRACEBACK_FRAMES:])
        message = "".join(traceback.format_exception_only(current)).rstrip()
        parts.append("".join(lines) + message)
        if current.__cause__ is None and current.__suppress_context__:
            break
        current = current.__cause__ or current.__context__
    return "\ncaused by:\n".join(parts)
