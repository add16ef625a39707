"""What the tests of the wall share: a fork server that forks device and compiling processes as the judge's does, the
referee's end and the guest's end of their sockets, and TTIR texts made by Triton's real front end.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import json
import os
import select
import signal
import socket
import struct
import sys
import time
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
import triton
import triton.language as tl

from bringup.device import frames, space
from bringup.device.wire import ADDRESS, ALLOCATION, CODES, HEAD, LAUNCH, POINTER, Command, Descriptor
from bringup.judge._device import Device

TARGET = "vpe:pe64"
COMPILE_SECONDS = 10.0
ANSWER_SECONDS = 20.0
MEMORY = 64 << 20


# Processes ---------------------------------------------------------------------------------------------------


class Rig:
    """Forks devices and compilers from one parent that has imported everything."""

    def __init__(self, target: str = TARGET) -> None:
        self.sock, theirs = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                self.sock.close()
                _parent(theirs, target)
                status = 0
            finally:
                os._exit(status)
        theirs.close()
        self.compiler = Compiler(self)
        self.spawner, theirs = socket.socketpair()  # devices end with it
        with theirs:
            self.fork("spawner", theirs.fileno())

    def fork(self, what: str, descriptor: int) -> int:
        socket.send_fds(self.sock, [what.encode()], [descriptor])
        return int(json.loads(_line(self.sock))["pid"])

    def device(self) -> Device:
        """A device process: the referee's own handle on it, which compiles in a process of its own."""
        return Device(self.spawner, self.compiler.answer)

    def close(self) -> None:
        self.compiler.close()
        self.spawner.close()
        self.sock.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def _parent(requests: socket.socket, target: str) -> None:
    """What `judge._fork_server` does for the role `run`, without a sandbox."""
    from bringup.judge import _fork_server, _worker
    from bringup.judge.sandbox import Sandbox, World, die_with_parent
    from bringup.targets import Target, get_target

    def told(control: socket.socket, target: Target, run: Any = _fork_server._device) -> None:
        try:
            run(control, target)
        except BaseException:
            traceback.print_exc(file=sys.__stderr__)
            raise

    _fork_server._device = told
    _fork_server._be_told = lambda: None  # there is no home
    _watch_memory()
    torch.set_num_threads(1)
    chosen = get_target(target)
    chosen.warm_up()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        message, found, _, _ = socket.recv_fds(requests, 64, 1)
        if not message:
            return
        pid = os.fork()
        if pid == 0:
            requests.close()
            die_with_parent()
            try:
                if message == b"spawner":
                    _fork_server._devices(found, Sandbox(World(())), chosen, "/")
                else:
                    _worker.serve_compiles(found[0], chosen)
            finally:
                os._exit(0)
        os.close(found[0])
        requests.sendall(json.dumps({"pid": pid}).encode() + b"\n")


def _watch_memory() -> None:
    """Have device processes end with a cry where memory that nothing may write has changed at the end of a call.

    That is what lies around every block, and every input that is read-only: also after a fault, when a device process
    hands out no data.
    """
    from bringup.device.memory import Memory
    from bringup.targets._vpe_engine import VpeEngine

    written: dict[int, bytes] = {}
    write, clear = VpeEngine.write, Memory.clear

    def noted(self: Any, block: Any, data: memoryview) -> None:
        write(self, block, data)
        written[block.base] = bytes(data)

    def checked(self: Any) -> None:
        for block in self:
            wanted = None if block.writable else written.get(block.base)
            after = ctypes.string_at(block.base + block.nbytes, space.GAP)
            before = ctypes.string_at(block.base - space.GAP, space.GAP) if block.base > space.BASE + space.GAP else b""
            if set(after + before) - {0, 0xFF} or wanted not in (None, ctypes.string_at(block.base, block.nbytes)):
                print(f"MEMORY CHANGED: {block}", file=sys.__stderr__, flush=True)
                os._exit(77)
        clear(self)
        written.clear()

    VpeEngine.write, Memory.clear = noted, checked  # type: ignore[method-assign]


class Compiler:
    """Answers a device's requests for kernels as `judge._compiling` does, and counts how its processes ended."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.sock: socket.socket | None = None
        self.pid = 0
        self.crashes: list[dict[str, Any]] = []
        self.slow: list[dict[str, Any]] = []
        self.requests = 0

    def answer(self, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        self.requests += 1
        text = {key: request.get(key) for key in ("text", "source", "options")}
        if self.sock is None:
            self.sock, theirs = socket.socketpair()
            with theirs:
                self.pid = self.rig.fork("compile", theirs.fileno())
        try:
            frames.send(self.sock, {"target": "", **text})
            if not select.select([self.sock], [], [], COMPILE_SECONDS)[0]:
                self.slow.append(text)
                log = "the compiler did not finish"
            else:
                header, binary = frames.receive(self.sock)
                return header, bytes(binary)
        except frames.Closed:
            self.crashes.append(text)
            log = "the compiler crashed"
        self.close()
        return {"log": log, "short": log}, b""

    def close(self) -> None:
        if self.sock is not None:
            self.sock.close()
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self.sock = None


def _line(sock: socket.socket) -> bytes:
    data = b""
    while not data.endswith(b"\n"):
        chunk = sock.recv(4096)
        if not chunk:
            raise EOFError("the fork server has ended")
        data += chunk
    return data


def gone(device: Device, seconds: float = 5.0) -> bool:
    """Whether a device process ends within a time."""
    deadline = time.monotonic() + seconds
    while alive(device) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not alive(device)


def alive(device: Device) -> bool:
    try:
        with open(f"/proc/{device.pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


# The two ends ------------------------------------------------------------------------------------------------


class Bench:
    """A device process with a guest's raw stream: begin a call, send commands, end it."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.device = rig.device()
        self.stream: socket.socket | None = None
        self.guest()

    def guest(self, source: str = "", memory: int = MEMORY) -> socket.socket:
        if self.stream is not None:
            self.stream.close()
        self.stream = self.device.next_guest(source, memory)
        self.stream.settimeout(ANSWER_SECONDS)
        self.next = space.BASE
        return self.stream

    def renew(self) -> None:
        """Another device process in place of a dead one."""
        self.close()
        self.device = self.rig.device()
        self.guest()

    def close(self) -> None:
        self.device.close()
        if self.stream is not None:
            self.stream.close()
            self.stream = None

    def begin(self, *inputs: torch.Tensor | bytes, **mode: Any) -> list[int]:
        data = [i if isinstance(i, bytes) else bytes_of(i) for i in inputs]
        return self.device.begin(mode, [len(d) for d in data], [memoryview(d) for d in data], self._deadline())

    def end(
        self, *storages: tuple[int, int], outputs: Iterable[dict[str, Any]] = (), seconds: float = ANSWER_SECONDS
    ) -> Ended:
        header, data = self.device.end([list(s) for s in storages], list(outputs), time.monotonic() + seconds)
        parts = []
        for size in header["sizes"]:
            parts.append(bytes(data[:size]))
            data = data[size:]
        return Ended(header, parts, bytes(data))

    def _deadline(self) -> float:
        return time.monotonic() + ANSWER_SECONDS

    # The guest's commands

    def send(self, data: bytes) -> None:
        assert self.stream is not None
        self.stream.sendall(data)

    def command(self, command: Command, body: bytes = b"") -> None:
        self.send(HEAD.pack(command, len(body)) + body)

    def ask(self, command: Command, body: bytes = b"") -> tuple[dict[str, Any], bytes]:
        """Send a command and serve the device until it has answered."""
        self.command(command, body)
        return self.answer()

    def answer(self, seconds: float = ANSWER_SECONDS) -> tuple[dict[str, Any], bytes]:
        assert self.stream is not None
        deadline = time.monotonic() + seconds
        while (remaining := deadline - time.monotonic()) > 0:
            ready, _, _ = select.select([self.stream, self.device.control], [], [], remaining)
            if self.stream in ready:
                header, payload = frames.receive(self.stream)
                return header, bytes(payload)
            if ready:
                self.device.serve()
        raise TimeoutError("the device does not answer")

    def alloc(self, nbytes: int) -> int:
        base = space.after(self.next, 0)
        self.next = base + nbytes
        self.command(Command.ALLOC, ALLOCATION.pack(base, nbytes))
        return base

    def free(self, base: int) -> None:
        self.command(Command.FREE, ADDRESS.pack(base))

    def copy(self, source: Descriptor, target: Descriptor) -> None:
        self.command(Command.COPY, source.pack() + target.pack())

    def upload(self, target: Descriptor, data: bytes) -> None:
        self.command(Command.UPLOAD, target.pack() + data)

    def read(self, source: Descriptor) -> tuple[dict[str, Any], bytes]:
        return self.ask(Command.READ, source.pack())

    def kernel(self, request: dict[str, Any]) -> dict[str, Any]:
        return self.ask(Command.KERNEL, json.dumps(request).encode())[0]

    def launch(self, number: int, grid: tuple[int, int, int], *arguments: Any, line: int = 0) -> None:
        """Pointers as (value, base) pairs, scalars as eight bytes or an int."""
        self.command(Command.LAUNCH, launch_body(number, grid, *arguments, line=line))


def launch_body(number: int, grid: tuple[int, int, int], *arguments: Any, line: int = 0) -> bytes:
    body = LAUNCH.pack(number, *grid, line, len(arguments))
    for argument in arguments:
        if isinstance(argument, tuple):
            body += POINTER.pack(*argument)
        else:
            body += argument if isinstance(argument, bytes) else struct.pack("<q", argument)
    return body


@dataclass(frozen=True)
class Ended:
    """What the referee learns at the end of a call."""

    header: dict[str, Any]
    data: list[bytes]
    tape: bytes = b""

    @property
    def error(self) -> dict[str, Any]:
        return self.header["error"] or {}

    @property
    def account(self) -> dict[str, int]:
        return self.header["account"]  # type: ignore[no-any-return]


def bytes_of(tensor: torch.Tensor) -> bytes:
    return bytes(tensor.contiguous().reshape(-1).view(torch.uint8).numpy())


def flat(base: int, dtype: str, count: int, offset: int = 0) -> Descriptor:
    """A tensor of one axis."""
    return Descriptor(base, base + offset * getattr(torch, dtype).itemsize, dtype, (count,), (1,))


def output(storage: int, dtype: str, size: tuple[int, ...], stride: tuple[int, ...], offset: int = 0) -> dict[str, Any]:
    width = getattr(torch, dtype).itemsize
    return {"storage": storage, "offset": offset, "size": size, "stride": stride, "width": width}


def of(base: int, tensor: torch.Tensor) -> Descriptor:
    """The descriptor of a host tensor, as if its storage lay at `base`."""
    dtype = str(tensor.dtype).removeprefix("torch.")
    assert dtype in CODES
    address = base + tensor.storage_offset() * tensor.element_size()
    return Descriptor(base, address, dtype, tuple(tensor.shape), tuple(tensor.stride()))


# Texts -------------------------------------------------------------------------------------------------------


@triton.jit
def kernel_double(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, v + v, mask=i < n)


@triton.jit
def kernel_reads_far(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i + n)
    tl.store(y + i, v)


@triton.jit
def kernel_writes_far(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(y + i + n, v)


@triton.jit
def kernel_endless(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    go = n
    while go > 0:
        tl.store(y + i, tl.load(x + i) + go)
        go = tl.where(go > 1, go - 1, n)


@triton.jit
def kernel_rows(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        v = tl.load(x + row * n + start + i, mask=start + i < n, other=0)
        total += tl.exp(v) * tl.where(v > 0, 1.5, 2.5)
    tl.store(y + row, tl.sum(total, axis=0))


@triton.jit
def kernel_counts(x, y, n, BLOCK: tl.constexpr):
    """Adds one as often as the first element of x says: its time depends on data."""
    i = tl.arange(0, BLOCK)
    many = tl.load(x)
    done = many * 0
    while done < many:
        tl.store(y + i, tl.load(y + i) + 1)
        done += 1


@triton.jit
def kernel_needs_values(x, y, n, BLOCK: tl.constexpr):
    """Reads far away where the first element of x is zero."""
    i = tl.arange(0, BLOCK)
    far = tl.where(tl.load(x) == 0, 1 << 20, 0)
    tl.store(y + i, tl.load(x + i + far))


@triton.jit
def kernel_prints(x, y, n, BLOCK: tl.constexpr):
    tl.device_print("n is", n)
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i))


KERNELS = {
    fn.fn.__name__: fn
    for fn in (
        kernel_double,
        kernel_reads_far,
        kernel_writes_far,
        kernel_endless,
        kernel_rows,
        kernel_counts,
        kernel_needs_values,
        kernel_prints,
    )
}


@functools.cache
def request_text(name: str, block: int = 16, element: str = "fp32") -> str:
    """The body of a KERNEL command for one of the kernels here, made by Triton's front end."""
    from triton.backends import backends
    from triton.backends.compiler import GPUTarget
    from triton.compiler.compiler import ASTSource

    from bringup.device.frontend import _ttir
    from bringup.targets import get_target

    target = GPUTarget(*get_target(TARGET).triton_target())
    signature = {"x": f"*{element}", "y": f"*{element}", "n": "i32", "BLOCK": "constexpr"}
    source = ASTSource(KERNELS[name], signature, {(3,): block}, {})
    metadata = SimpleNamespace(num_warps=4, num_stages=1, num_ctas=1, maxnreg=None, name=name)
    text = _ttir(backends["vpe"].compiler(target), target, source, metadata)
    arguments = [["x", f"*{element}"], ["y", f"*{element}"], ["n", "i32"]]
    return json.dumps({**text, "args": arguments, "constants": {"BLOCK": block}})


def request(name: str, block: int = 16, element: str = "fp32") -> dict[str, Any]:
    return json.loads(request_text(name, block, element))  # type: ignore[no-any-return]
