"""A problem's own process: files are code of other people, and run neither in the judge nor beside its expected values.

The process has a limit of memory, or a GPU where the suite's option `device` asks for one; each answer has a limit of
time. Between the two go frames of tensors.
"""

from __future__ import annotations

import contextlib
import io
import os
import select
import struct
import subprocess
import sys
import time
import weakref
from typing import Any

import torch
from torch.utils import _pytree as pytree

from bringup.accuracy import RUNS, stepwise
from bringup.config import DEVICES
from bringup.device.sharing import beside_others, lock_of
from bringup.errors import BringupError, EnvironmentFault
from bringup.suites._cache import device_locks
from bringup.suites.problems._bundle import Contract
from bringup.suites.problems._facts import Facts
from bringup.suites.problems._limits import limit_memory
from bringup.suites.problems._program import Call, Problem, ProblemError

SECONDS = 600.0  # for one run of the reference
_LENGTH = struct.Struct("<Q")


class ProblemFault(BringupError):
    """A problem's process that does not answer as it should: one line for the user."""


class ProblemLost(ProblemFault, EnvironmentFault):
    """The process has died, or takes too long: nothing is known of any candidate."""


class ProblemProcess:
    """The parent's side: one process for one problem file."""

    def __init__(self, contract: Contract, name: str, text: str, facts: Facts, device: str = "cpu") -> None:
        """Start it; nothing is asked yet. `device`: where references are computed, `cpu` or `cuda`."""
        self.name = name
        environment = {**os.environ, "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1"}
        if device == "cpu":
            environment["CUDA_VISIBLE_DEVICES"] = ""
        elif DEVICES in environment:  # the judge's own processes see none
            environment["CUDA_VISIBLE_DEVICES"] = environment[DEVICES]
            if environment[DEVICES] == "all":
                del environment["CUDA_VISIBLE_DEVICES"]
        self._environment = environment
        self._lost = False
        self._hello = {
            "contract": contract,
            "name": name,
            "text": text,
            "divisor": facts.divisor,
            "kept": facts.kept,
            "training": facts.gradients > 0,
            "device": device,
            "lock": lock_of(device, device_locks()) if device != "cpu" else "",
        }
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bringup.suites.problems._process"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=self._environment,
        )  # fmt: skip
        self._end = weakref.finalize(self, _ended, self._process)
        self._greeted = False

    def ask(self, **request: Any) -> Any:
        """Return the answer to a request. Raises ProblemFault, ProblemLost; a process that was lost is started anew."""
        if self._lost:
            self._lost = False
            self.close()
            self._start()
        try:
            return self._asked(request)
        except ProblemLost:
            self._lost = True
            raise

    def _asked(self, request: dict[str, Any]) -> Any:
        if not self._greeted:
            self._send(self._hello)
            self._receive(SECONDS)
            self._greeted = True
        self._send(request)
        return self._receive(SECONDS * (RUNS if request["do"] == "bounds" else 1))

    def close(self) -> None:
        """End the process."""
        self._end()

    def _send(self, message: Any) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(_framed(message))
            self._process.stdin.flush()
        except OSError:
            raise ProblemLost(f"problem {self.name}: its process has ended; it may need more memory") from None

    def _receive(self, seconds: float) -> Any:
        assert self._process.stdout is not None
        deadline = time.monotonic() + seconds
        length = _LENGTH.unpack(self._read(_LENGTH.size, deadline, seconds))[0]
        # Data alone: what the file has made of the process must not run here.
        answer = torch.load(io.BytesIO(self._read(length, deadline, seconds)), weights_only=True)
        if "error" in answer:
            raise ProblemFault(f"problem {self.name}: {answer['error']}")
        return answer["value"]

    def _read(self, count: int, deadline: float, seconds: float) -> bytes:
        assert self._process.stdout is not None
        handle, parts, missing = self._process.stdout.fileno(), [], count
        while missing:
            if not select.select([handle], [], [], max(0.0, deadline - time.monotonic()))[0]:
                self.close()
                raise ProblemLost(f"problem {self.name}: took longer than {seconds:.0f} seconds; cut its sizes")
            part = os.read(handle, min(missing, 1 << 24))
            if not part:
                raise ProblemLost(f"problem {self.name}: its process has ended; it may need more memory than there is")
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)


def _ended(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
    process.wait()


def _framed(message: Any) -> bytes:
    data = io.BytesIO()
    torch.save(message, data)
    return _LENGTH.pack(data.getbuffer().nbytes) + data.getvalue()


class _Server:
    """The child's side: builds inputs and calls the reference."""

    def __init__(self, hello: dict[str, Any]) -> None:
        self.problem = Problem(hello["contract"], hello["name"], hello["text"], hello["divisor"], hello["kept"])
        self.training = hello["training"]
        self.device, self.lock = hello["device"], hello["lock"]
        if self.device == "cuda" and not torch.cuda.is_available():
            raise ProblemError("option device=cuda: PyTorch finds no GPU here; leave it out")
        self.calls: dict[tuple[str, int], Call] = {}

    def answer(self, request: dict[str, Any]) -> Any:
        sizes = self.problem.sizes(request["which"])[request["number"]]
        key = (request["which"], request["number"])
        if request["do"] == "build":
            model, inputs = self.problem.build(sizes, request["seed"])
            call = self.calls[key] = Call(self.problem, model, inputs, self.training)
            arguments = call.data(inputs)
            arguments += call.gradients(arguments, request["seed"])
            return {"arguments": arguments, "init": list(self.problem.init(sizes).values())}
        if key not in self.calls:
            self.answer({**request, "do": "build", "seed": 0})
        with beside_others(self.lock):
            arguments = [self._placed(one) for one in request["arguments"]]
            try:
                if request["do"] == "bounds":
                    return [_on_host(made) for made in stepwise(self.calls[key], arguments, **request["how"])]
                return _on_host(self._called(self.calls[key], arguments, request["double"]))
            finally:
                if self.device == "cuda":  # what a timed candidate may need
                    torch.cuda.empty_cache()

    def _placed(self, value: Any) -> Any:
        return value.to(self.device) if isinstance(value, torch.Tensor) else value

    def _called(self, call: Call, arguments: list[Any], double: bool) -> Any:
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64 if double else torch.float32)
        try:
            return call(*arguments)
        finally:
            torch.set_default_dtype(before)


def _on_host(value: Any) -> Any:
    return pytree.tree_map(lambda one: one.cpu() if isinstance(one, torch.Tensor) else one, value)


def main() -> None:
    """Serve until the parent closes its end."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") == "":  # CUDA reserves more addresses than the machine has memory
        limit_memory()
    torch.set_num_threads(1)
    reading, writing = os.dup(0), os.dup(1)
    with open(os.devnull, "r+") as nothing:  # the file may print
        os.dup2(nothing.fileno(), 0)
        os.dup2(nothing.fileno(), 1)
    server: _Server | None = None
    with os.fdopen(reading, "rb") as incoming, os.fdopen(writing, "wb") as outgoing:
        while head := incoming.read(_LENGTH.size):
            request = torch.load(io.BytesIO(incoming.read(_LENGTH.unpack(head)[0])), weights_only=False)
            try:
                if server is None:
                    server = _Server(request)
                    answer: dict[str, Any] = {"value": None}
                else:
                    answer = {"value": server.answer(request)}
                framed = _framed(answer)
            except ProblemError as error:
                framed = _framed({"error": str(error)})
            except (MemoryError, Exception) as error:  # whatever PyTorch or the file raises
                framed = _framed({"error": f"{type(error).__name__}: {error}"[:500]})
            outgoing.write(framed)
            outgoing.flush()


if __name__ == "__main__":
    main()
