"""The device process: obeys the guest's stream and the referee's control messages; runs nothing of a candidate's.

Whatever comes over the stream, malformed or not, ends in an answer, a broken rule or a fault that is kept for the
referee: the first one of a call counts, also when the wrapper swallows what it is told.
"""

from __future__ import annotations

import json
import linecache
import select
import socket
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from bringup.device import frames
from bringup.device.account import STATE, STREAM, Account, Allowance, Broken
from bringup.device.engine import Call, Engine, Fault, Kernel
from bringup.device.memory import WRITER, Block, Memory, check_extent, codes
from bringup.device.wire import (
    ADDRESS,
    ALLOCATION,
    HEAD,
    LARGEST,
    LAUNCH,
    POINTER,
    Command,
    Malformed,
    unpack_descriptor,
)
from bringup.vpe.memory import COPIED, INPUT, LAUNCHED, UPLOADED

SOURCE = "candidate.py"  # under this name messages quote the candidate's lines
CHUNK = 1 << 20
CONSTANT_BYTES = 8  # a number in a kernel's text counts as much
MOST_PRINTED = 1 << 16
ANSWER_SECONDS = 5
MOST_KERNELS = 1 << 16  # of one guest


@dataclass(frozen=True)
class _Launcher:
    """A kernel as one guest launches it."""

    kernel: Kernel
    loaded: Any
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    constants: dict[str, Any]


class DeviceProcess:
    """One device, one guest at a time."""

    def __init__(self, engine: Engine, control: socket.socket) -> None:
        """Take the engine and the socket to the referee."""
        self.engine, self.control = engine, control
        self.guest: socket.socket | None = None
        self.loaded: dict[str, tuple[Kernel, Any]] = {}  # by digest; outlives guests
        self.refused: dict[str, dict[str, Any]] = {}
        self._forget_guest(1 << 30)

    def _forget_guest(self, limit: int) -> None:
        self.memory = Memory(self.engine, limit)
        self.launchers: dict[int, _Launcher] = {}
        self.buffer = bytearray()
        self.in_call = False
        self._open_account({})
        self.before: dict[str, Any] | None = None  # what went wrong outside of a call

    def _open_account(self, mode: dict[str, Any]) -> None:
        self.account = Account()
        self.allowance = Allowance(
            read_bytes=int(mode.get("read_bytes", 0)),
            read_inputs=bool(mode.get("read_inputs")),
            host_bytes=mode.get("host_bytes"),
        )
        self.error: dict[str, Any] | None = None
        self.printed: list[str] = []
        self.also: list[dict[str, Any]] = []
        self.used: set[int] = set()
        self.tape: list[tuple[int, bytes]] | None = [] if mode.get("tape") else None

    # The loop ------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the device; raises what the engine raises."""
        self.engine.start(self._describe)

    def _describe(self, address: int) -> str:
        return self.memory.describe(address)  # each guest has its own

    def serve(self) -> None:
        """Say that the device is ready, and answer until the referee closes its socket."""
        frames.send(self.control, {"ready": True})
        while True:
            watched = [self.control] if self.guest is None else [self.control, self.guest]
            ready, _, _ = select.select(watched, [], [])
            try:
                # The guest's commands first: the referee asks for results once the guest has sent them all.
                if self.guest is not None and self.guest in ready:
                    self._guest_ready()
                elif self.control in ready:
                    self._control_ready()
            except frames.Closed:
                return

    def _guest_ready(self) -> bool:
        """Take what the guest has sent; False when there is nothing more."""
        assert self.guest is not None
        try:
            data = self.guest.recv(CHUNK, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self.guest.close()
            self.guest = None
            return False
        self.buffer += data
        self._commands()
        return True

    def _commands(self) -> None:
        at, buffer = 0, self.buffer
        with memoryview(buffer) as view:
            while len(buffer) - at >= HEAD.size:
                code, length = HEAD.unpack_from(buffer, at)
                if length > LARGEST or code not in Command.__members__.values():
                    self._note(Broken(STREAM, "the stream of commands is broken"))
                    at = len(buffer)  # no way to find the next command
                    self._hang_up()
                    break
                if len(buffer) - at - HEAD.size < length:
                    break
                body = view[at + HEAD.size : at + HEAD.size + length]
                at += HEAD.size + length
                self._one(Command(code), body)
                body.release()
        del buffer[:at]

    def _hang_up(self) -> None:
        if self.guest is not None:
            self.guest.close()
            self.guest = None

    def _one(self, command: Command, body: memoryview) -> None:
        """Obey one command; what goes wrong is noted, never raised."""
        try:
            if command is Command.KERNEL:
                self._kernel(body)
            elif command is Command.FREE:
                self.memory.free(ADDRESS.unpack(body)[0])
            elif self.error is not None or (not self.in_call and self.before is not None):
                self._answer_error(command)
            elif not self.in_call and command not in (Command.ALLOC, Command.SYNC):
                raise Broken(STREAM, f"a command to the device ({command.name}) outside of a call of the wrapper")
            else:
                if self.tape is not None and command in _TAPED:
                    self.tape.append((int(command), bytes(body)))
                _HANDLERS[command](self, body)
            return
        except Malformed as error:
            rule = STATE if "earlier call" in str(error) else STREAM
            self._note(Broken(rule, f"the guest's command {command.name} names {error}"))
        except (Broken, Fault) as error:
            self._note(error)
        except (struct.error, ValueError, TypeError, KeyError, OverflowError, RecursionError, RuntimeError) as error:
            self._nonsense(command, error)
        except MemoryError:
            self._note(Fault("memory", "the host has no memory left for the device"))
        self._answer_error(command)

    def _nonsense(self, command: Command, error: Exception) -> None:
        """An error of our own libraries: the device's, where that has stopped, else for what the command says."""
        try:
            self.engine.synchronize()
        except Fault as fault:
            self._note(fault)
        else:
            self._note(Broken(STREAM, f"the guest's command {command.name} makes no sense: {error}"))

    def _note(self, error: Broken | Fault, line: int = 0) -> None:
        """Keep the first thing that went wrong."""
        if isinstance(error, Fault):
            found = {"kind": error.kind, "text": error.text, "short": error.short, "dump": error.dump, "line": line}
        else:
            found = {"kind": "rule", "rule": error.rule, "text": str(error), "short": str(error), "line": line}
        if self.in_call:
            self.error = self.error or found
        else:
            self.before = self.before or found

    def _answer_error(self, command: Command) -> None:
        if command in (Command.READ, Command.SYNC, Command.KERNEL):
            error = self.error or self.before or {"short": "the device stopped"}
            self._answer({"stopped": str(error["short"]), "line": error.get("line", 0)})

    def _answer(self, header: dict[str, Any], payload: bytes = b"") -> None:
        if self.guest is None:
            return
        try:
            frames.send(self.guest, header, (payload,) if payload else ())
        except (frames.Closed, frames.DeadlineExceeded):
            self._hang_up()

    # The guest's commands ------------------------------------------------------------------------------------

    def _alloc(self, body: memoryview) -> None:
        base, nbytes = ALLOCATION.unpack(body)
        self.account.allocations += 1
        self.memory.allocate(base, nbytes)

    def _copy(self, body: memoryview) -> None:
        source, at = unpack_descriptor(body, 0)
        target, end = unpack_descriptor(body, at)
        if end != len(body) or source.dtype != target.dtype or source.size != target.size:
            raise Malformed("two tensors of different dtypes or sizes, which no copy makes equal")
        taken, writers, _ = self.memory.torch_tensor(source)
        given, mine, block = self.memory.torch_tensor(target)
        self._writable(block)
        self.account.copies += 1
        self.account.copied_bytes += writers.size
        given.copy_(taken)
        mine[...] = np.where(writers != 0, writers | COPIED, 0)

    def _upload(self, body: memoryview) -> None:
        import torch

        target, at = unpack_descriptor(body, 0)
        given, mine, block = self.memory.torch_tensor(target)
        if len(body) - at != given.numel() * given.element_size():
            raise Malformed("an upload whose bytes do not fill its tensor")
        self._writable(block)
        self.account.uploads += 1
        self.account.uploaded_bytes += len(body) - at
        self.account.check_host_bytes(self.allowance)
        if given.numel():
            host = torch.frombuffer(bytearray(body[at:]), dtype=given.dtype, count=given.numel())
            given.copy_(host.view(given.shape))
            mine[...] = UPLOADED

    def _writable(self, block: Block) -> None:
        if not block.writable:
            raise Fault("launch", f"a copy writes {block.describe()}, which this operator must leave as it is")

    def _read(self, body: memoryview) -> None:
        source, end = unpack_descriptor(body, 0)
        if end != len(body):
            raise Malformed("more than one tensor")
        tensor, writers, _ = self.memory.torch_tensor(source)
        self.engine.synchronize()
        launched = bool(((writers & WRITER) == LAUNCHED).all())
        self.account.check_read(writers.size, launched, self.allowance)
        self.account.reads += 1
        self.account.read_bytes += writers.size
        self._answer({}, _bytes_of(tensor))

    def _sync(self, body: memoryview) -> None:
        self.engine.synchronize()
        self._answer({})

    def _also(self, body: memoryview) -> None:
        if len(self.also) < MOST_KERNELS:
            self.also.append(_request(body))

    def _launch(self, body: memoryview) -> None:
        number, *grid, line, count = LAUNCH.unpack_from(body)
        launcher = self.launchers.get(number)
        if launcher is None or count != len(launcher.kinds):
            raise Malformed("a kernel that this guest has not compiled, or too few arguments")
        at = LAUNCH.size
        values: list[int | bytes] = []
        blocks: list[Block | None] = []
        for kind in launcher.kinds:
            if not kind.startswith("*"):
                values.append(bytes(body[at : at + 8]))
                blocks.append(None)
                at += 8
                continue
            value, base = POINTER.unpack_from(body, at)
            block = self.memory.behind(value, base)
            if base and block is None:
                raise Malformed("memory that was never allocated")
            if block is not None and block.freed and not self.engine.exact:
                raise Malformed("memory that is freed, or of an earlier call")
            values.append(value)
            blocks.append(block)
            at += POINTER.size
        if at != len(body):
            raise Malformed("arguments that end too early or too late")
        account = self.account
        account.launches += 1
        account.argument_bytes += 8 * (count + 1)
        if number not in self.used:
            self.used.add(number)
            account.constant_bytes += CONSTANT_BYTES * int(launcher.kernel.facts.get("constants", 0))
        account.check_host_bytes(self.allowance)
        call = Call(
            launcher.loaded, (grid[0], grid[1], grid[2]), launcher.names, launcher.kinds, values, blocks,
            launcher.constants,
        )  # fmt: skip
        try:
            printed = self.engine.launch(call)
        except Fault as fault:
            self._note(fault, line)
            return
        if printed and sum(map(len, self.printed)) < MOST_PRINTED:
            self.printed.append(printed)
        if not self.engine.exact and min(grid) > 0:
            for block in blocks:
                if block is not None and block.writable:
                    block.written_by.fill(LAUNCHED)

    # Kernels -------------------------------------------------------------------------------------------------

    def _kernel(self, body: memoryview) -> None:
        request = _request(body)
        names = tuple(str(name) for name, _ in request["args"])
        kinds = tuple(str(kind) for _, kind in request["args"])
        constants = dict(request["constants"])
        text = {key: request[key] for key in ("text", "source", "options")}
        digest = frames.digest(text)
        if digest not in self.loaded and digest not in self.refused:
            self._compile(digest, text)
        if digest in self.refused:
            self._answer(self.refused[digest])
            return
        kernel, loaded = self.loaded[digest]
        check_signature(kernel, kinds)
        if len(self.launchers) >= MOST_KERNELS:
            raise Malformed("more kernels than any program needs")
        number = len(self.launchers) + 1
        self.launchers[number] = _Launcher(kernel, loaded, names, kinds, constants)
        self._answer({"number": number, "name": kernel.name, "shared": kernel.shared, "facts": kernel.facts})

    def _compile(self, digest: str, text: dict[str, Any]) -> None:
        """Have the referee compile a text, or find it in the store; load what comes back."""
        frames.send(self.control, {"compile": digest, **text})
        header, payload = frames.receive(self.control)
        if header.get("kernel") != digest:
            raise RuntimeError("the referee answered something else")
        if "log" in header:
            self.refused[digest] = {"refused": header["log"], "short": header.get("short", "")}
            return
        kernel = Kernel(bytes(payload), header["name"], int(header["shared"]), header["facts"])
        self.loaded[digest] = kernel, self.engine.load(kernel)

    # The referee's messages ----------------------------------------------------------------------------------

    def _control_ready(self) -> None:
        request, payload = frames.receive(self.control)
        what = request["do"]
        if what == "guest":
            self._new_guest(request)
        elif what == "begin":
            self._begin(request, payload)
        elif what == "end":
            self._end(request)
        else:
            raise AssertionError(f"the referee asked for {what}")

    def _new_guest(self, request: dict[str, Any]) -> None:
        """Wipe everything but compiled kernels, and take another guest's end of the stream."""
        _, descriptors, _, _ = socket.recv_fds(self.control, 1, 1)
        self._hang_up()
        self.memory.clear()
        self._forget_guest(int(request["memory"]))
        self.guest = socket.socket(fileno=descriptors[0])
        # A guest that does not read its answers must not hold the device up.
        self.guest.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", ANSWER_SECONDS, 0))
        text = str(request["source"])
        linecache.cache[SOURCE] = (len(text), None, text.splitlines(True), SOURCE)
        frames.send(self.control, {})

    def _begin(self, request: dict[str, Any], payload: memoryview) -> None:
        self._drain()
        self.memory.clear()
        mode = request["mode"]
        self._open_account(mode)
        self.in_call, self.error, self.before = True, self.before, None
        bases = []
        try:
            self.engine.begin(mode)
            at = 0
            for size in request["sizes"]:
                bases.append(self.memory.put(payload[at : at + size], not mode.get("read_only")).base if size else 0)
                at += size
        except Fault as fault:
            self._note(fault)
            bases += [0] * (len(request["sizes"]) - len(bases))
        frames.send(self.control, {"bases": bases})

    def _drain(self) -> None:
        """What the guest sent before it answered is in the socket already, and belongs to what came before."""
        while self.guest is not None and self._guest_ready():
            pass

    def _end(self, request: dict[str, Any]) -> None:
        """Close the call: everything that it asked for is done, its results are handed over, its memory is wiped."""
        self._drain()
        try:
            self.engine.synchronize()
        except Fault as fault:
            self._note(fault)
        data: list[bytes] = []
        writers: list[dict[str, int]] = []
        masks: list[bytes] = []
        wrong = ""
        try:
            if self.error is None:
                data, writers, masks = self._results(request.get("storages", []), request.get("outputs", []))
        except Malformed as error:
            wrong = str(error)
        header: dict[str, Any] = {
            "account": self.account.to_json(),
            "error": self.error,
            "printed": "".join(self.printed)[:MOST_PRINTED],
            "counters": self.engine.counters(),
            "also": self.also,
            "sizes": [len(part) for part in data],
            "writers": writers,
            "masks": [len(mask) for mask in masks],
            "wrong": wrong,
            "replace": self.engine.broken(),
        }
        if self.tape is not None:
            header["tape"] = len(self.tape)
        self.in_call = False
        self.memory.clear()
        frames.send(self.control, header, data + masks)

    def _results(
        self, storages: list[list[int]], outputs: list[dict[str, Any]]
    ) -> tuple[list[bytes], list[dict[str, int]], list[bytes]]:
        """The bytes of storages, and for each output how many bytes have which writer.

        The third part says of outputs that hold copies of inputs which elements these are, one byte an element.
        """
        blocks: list[Block | None] = []
        for base, nbytes in storages:
            block = self.memory.at(base) if nbytes else None
            if block is not None and (block.nbytes < nbytes or block in blocks):
                raise Malformed("a storage that is larger than its memory, or named twice")
            blocks.append(block)
        data = [b"" if b is None else self.engine.read(b, n) for b, (_, n) in zip(blocks, storages, strict=True)]
        writers: list[dict[str, int]] = []
        masks: list[bytes] = []
        for output in outputs:
            block, width, size = blocks[output["storage"]], output["width"], tuple(output["size"])
            writers.append({})
            masks.append(b"")
            if block is None or 0 in size:
                continue
            offset, stride = output["offset"] * width, tuple(output["stride"])
            check_extent(offset, width, size, stride, block.nbytes)
            by = codes(block.written_by, offset, width, size, stride)
            found, counts = np.unique(by, return_counts=True)
            writers[-1] = {str(int(code)): int(count) for code, count in zip(found, counts, strict=True)}
            if INPUT | COPIED in found:
                masks[-1] = (by == INPUT | COPIED).any(axis=-1).astype(np.uint8).tobytes()
        return data, writers, masks


_TAPED = frozenset({Command.ALLOC, Command.COPY, Command.UPLOAD, Command.LAUNCH})
_HANDLERS = {
    Command.ALLOC: DeviceProcess._alloc,
    Command.COPY: DeviceProcess._copy,
    Command.UPLOAD: DeviceProcess._upload,
    Command.READ: DeviceProcess._read,
    Command.ALSO: DeviceProcess._also,
    Command.LAUNCH: DeviceProcess._launch,
    Command.SYNC: DeviceProcess._sync,
}


def check_signature(kernel: Kernel, kinds: tuple[str, ...]) -> None:
    """Raise Malformed where the arguments that a guest announces are not those of the compiled text."""
    own = kernel.facts.get("signature", [])
    if len(own) != len(kinds) or any(a.startswith("*") != b.startswith("*") for a, b in zip(own, kinds, strict=True)):
        raise Malformed("a kernel with other arguments than its text has")


def _request(body: memoryview) -> dict[str, Any]:
    found = json.loads(bytes(body))
    if not isinstance(found, dict):
        raise Malformed("no kernel")
    return found


def _bytes_of(tensor: Any) -> bytes:
    import torch

    if not tensor.numel():
        return b""
    flat = tensor.detach().cpu().clone(memory_format=torch.contiguous_format).reshape(-1)
    return bytes(flat.view(torch.uint8).numpy())
