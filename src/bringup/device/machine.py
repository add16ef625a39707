"""What the device process does with commands: memory, copies, launches, reads, and the account of each call.

Commands come from a guest (`process`) or from a tape (`replay`). Whatever one says, malformed or not, ends in an
answer, a broken rule or a fault that is kept: the first one of a call counts, also when the wrapper swallows what it
is told.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bringup.device import frames
from bringup.device.account import STATE, STREAM, Account, Allowance, Broken
from bringup.device.engine import Call, Engine, Fault, Kernel
from bringup.device.memory import WRITER, Block, Map, Memory, check_extent, codes, count_codes
from bringup.device.tape import Tape, digest_of
from bringup.device.wire import ADDRESS, ALLOCATION, LAUNCH, POINTER, Command, Malformed, unpack_descriptor
from bringup.vpe.memory import COPIED, INPUT, LAUNCHED, UPLOADED

PLACE_BYTES = 16  # that a copy says by where it takes from and puts to
OPERATIONS_A_BYTE = 4  # operations of a kernel's text: which one comes next says something, too
CONSTANT_BYTES = 8  # a number in a kernel's text counts as much
MOST_PRINTED = 1 << 16
MOST_KERNELS = 1 << 16  # of one guest
TEXT = ("text", "source", "options")  # what a compiler sees of a kernel
Answer = tuple[dict[str, Any], bytes]
Compile = Callable[[str, dict[str, Any]], tuple[dict[str, Any], memoryview]]
"""(digest, text) -> facts and binary, or `log` and `short`."""


@dataclass(frozen=True)
class _Launcher:
    """A kernel as one guest launches it."""

    text: dict[str, Any]

    kernel: Kernel
    loaded: Any
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    constants: dict[str, Any]


class Machine:
    """One device at work for one guest, or one tape, after the other."""

    def __init__(self, engine: Engine, compile: Compile) -> None:
        """`compile` has the referee compile a text, or find it in the store."""
        self.engine, self._compile_text = engine, compile
        self.loaded: dict[str, tuple[Kernel, Any]] = {}  # by digest; outlives guests
        self.refused: dict[str, dict[str, Any]] = {}
        self.line = 0
        self.memory = Memory(engine, 0)
        self.renew(0)

    def renew(self, limit: int) -> None:
        """Forget everything but compiled kernels; `limit`: bytes of device memory that may be live."""
        self.memory.clear()
        self.memory = Memory(self.engine, limit)
        self.launchers: dict[int, _Launcher] = {}
        self.registered = 0  # kernels since a call has ended last
        self.in_call = False
        self.open_account({})
        self.before: dict[str, Any] | None = None  # what went wrong outside of a call

    def open_account(self, mode: dict[str, Any]) -> None:
        """Begin to count."""
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
        self.tape = Tape(about=dict(mode["tape"])) if mode.get("tape") else None

    # One call ------------------------------------------------------------------------------------------------

    def begin(self, mode: dict[str, Any], sizes: Sequence[int], payload: memoryview) -> list[int]:
        """Open a call: wipe what is left, put its inputs into memory; returns the addresses of their storages."""
        self.memory.clear()
        self.open_account(mode)
        self.in_call, self.error, self.before = True, self.before, None
        bases: list[int] = []
        try:
            self.engine.begin(mode)
            at = 0
            for size in sizes:
                data = payload[at : at + size]
                at += size
                bases.append(self.memory.put(data, not mode.get("read_only")).base if size else 0)
                if self.tape is not None and size:
                    self.tape.inputs.append((bases[-1], bytes(data)))
        except Fault as fault:
            self.note(fault)
            bases += [0] * (len(sizes) - len(bases))
        return bases

    def end(
        self, storages: Sequence[Sequence[int]], outputs: Sequence[dict[str, Any]]
    ) -> tuple[dict[str, Any], list[bytes]]:
        """Close the call: everything that it asked for is done, its results are taken, its memory is wiped.

        Returns the header for the referee, and the bytes of the storages, of masks and of the tape.
        """
        self.finish()
        data: list[bytes] = []
        writers: list[dict[str, int]] = []
        masks: list[bytes] = []
        wrong = ""
        try:
            if self.error is None:
                data, writers, masks = self.results(storages, outputs)
        except Malformed as error:
            wrong = str(error)
        except Fault as fault:
            self.note(fault)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            wrong = f"no tensor: {error}"
        tape = self._finished_tape(storages, data) if self.tape is not None else b""
        header = {
            "account": self.account.to_json(),
            "error": self.error,
            "printed": "".join(self.printed)[:MOST_PRINTED],
            "counters": self.engine.counters(),
            "also": self.also,
            "kernels": self.registered,
            "sizes": [len(part) for part in data],
            "writers": writers,
            "masks": [len(mask) for mask in masks],
            "tape": len(tape),
            "wrong": wrong,
            "replace": self.engine.broken(),
        }
        self.in_call, self.registered = False, 0
        self.memory.clear()
        return header, [*data, *masks, tape]

    def finish(self) -> None:
        """Wait for everything; a fault is noted."""
        try:
            self.engine.synchronize()
        except Fault as fault:
            self.note(fault)

    def _finished_tape(self, storages: Sequence[Sequence[int]], data: Sequence[bytes]) -> bytes:
        tape = self.tape
        assert tape is not None
        for number in self.used:
            one = self.launchers[number]
            args = list(zip(one.names, one.kinds, strict=True))
            tape.kernels[number] = {**one.text, "args": args, "constants": one.constants}
        tape.storages = [(base, nbytes) for base, nbytes in storages]
        tape.result = digest_of(data)
        return tape.pack()

    # One command ---------------------------------------------------------------------------------------------

    def obey(self, command: Command, body: memoryview) -> Answer | None:
        """Do what a command says; returns what a guest that asks is told. What goes wrong is noted, never raised."""
        self.line = 0  # of the wrapper, where the command says it
        try:
            if command in (Command.KERNEL, Command.SYNC):
                self.account.waits += 1
                self.account.check_waits()
            if command is Command.KERNEL:
                return self._kernel(body)
            if command is Command.FREE:
                self.memory.free(ADDRESS.unpack(body)[0])
                return None
            if self.error is not None or (not self.in_call and self.before is not None):
                return self._stopped(command)
            if not self.in_call and command not in (Command.ALLOC, Command.SYNC):
                raise Broken(STREAM, f"a command to the device ({command.name}) outside of a call of the wrapper")
            if self.tape is not None and command in _TAPED:
                self.tape.commands.append((int(command), bytes(body)))
            return _HANDLERS[command](self, body)
        except Malformed as error:
            rule = STATE if "earlier call" in str(error) else STREAM
            self.note(Broken(rule, f"the guest's command {command.name} names {error}"))
        except (Broken, Fault) as error:
            self.note(error)
        except MemoryError:
            self.note(Fault("memory", "the host has no memory left for the device"))
        except frames.Closed:
            raise  # the referee is gone
        except Exception as error:  # whatever our own libraries throw at what a command says
            self._nonsense(command, error)
        return self._stopped(command)

    def _nonsense(self, command: Command, error: Exception) -> None:
        """An error of our own libraries: the device's, where that has stopped, else for what the command says."""
        try:
            self.engine.synchronize()
        except Fault as fault:
            self.note(fault)
        else:
            self.note(Broken(STREAM, f"the guest's command {command.name} makes no sense: {error}"))

    def note(self, error: Broken | Fault, line: int = 0) -> None:
        """Keep the first thing that went wrong."""
        if isinstance(error, Fault):
            found = {"kind": error.kind, "text": error.text, "short": error.short, "dump": error.dump, "line": line}
        else:
            line = line or self.line
            found = {"kind": "rule", "rule": error.rule, "text": str(error), "short": str(error), "line": line}
        if self.in_call:
            self.error = self.error or found
        else:
            self.before = self.before or found

    def _stopped(self, command: Command) -> Answer | None:
        if command not in (Command.READ, Command.SYNC, Command.KERNEL):
            return None
        error = self.error or self.before or {"short": "the device stopped"}
        return {"stopped": str(error["short"]), "line": error.get("line", 0)}, b""

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
        self._writable(block, mine)
        self.account.copies += 1
        self.account.copied_bytes += writers.size
        self.account.described_bytes += PLACE_BYTES
        self.account.check_host_bytes(self.allowance)
        given.copy_(taken)
        mine[...] = np.where(writers != 0, writers | COPIED, 0)

    def _upload(self, body: memoryview) -> None:
        import torch

        target, at = unpack_descriptor(body, 0)
        given, mine, block = self.memory.torch_tensor(target)
        if len(body) - at != given.numel() * given.element_size():
            raise Malformed("an upload whose bytes do not fill its tensor")
        self._writable(block, mine)
        self.account.uploads += 1
        self.account.uploaded_bytes += len(body) - at
        self.account.check_host_bytes(self.allowance)
        if given.numel():
            host = torch.frombuffer(bytearray(body[at:]), dtype=given.dtype, count=given.numel())
            given.copy_(host.view(given.shape))
            mine[...] = UPLOADED

    def _writable(self, block: Block, codes: Map) -> None:
        """Whether a copy may write a tensor with these codes."""
        if not block.writable:
            raise Fault("launch", f"a copy writes {block.describe()}, which this operator must leave as it is")
        if codes.size > block.nbytes:
            raise Malformed("a target whose elements lie on one another")

    def _read(self, body: memoryview) -> Answer:
        source, end = unpack_descriptor(body, 0)
        if end != len(body):
            raise Malformed("more than one tensor")
        tensor, writers, _ = self.memory.torch_tensor(source)
        self.engine.synchronize()
        launched = bool(((writers & WRITER) == LAUNCHED).all())
        self.account.check_read(writers.size, launched, self.allowance)
        self.account.reads += 1
        self.account.read_bytes += writers.size
        return {}, _bytes_of(tensor)

    def _sync(self, body: memoryview) -> Answer:
        self.engine.synchronize()
        return {}, b""

    def _also(self, body: memoryview) -> None:
        if len(self.also) < MOST_KERNELS:
            self.also.append(_request(body))

    def _launch(self, body: memoryview) -> None:
        number, *grid, line, count = LAUNCH.unpack_from(body)
        self.line = line
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
            facts = launcher.kernel.facts
            account.constant_bytes += CONSTANT_BYTES * int(facts.get("constants", 0))
            account.constant_bytes += int(facts.get("operations", 0)) // OPERATIONS_A_BYTE
        account.check_host_bytes(self.allowance)
        call = Call(
            launcher.loaded, (grid[0], grid[1], grid[2]), launcher.names, launcher.kinds, values, blocks,
            launcher.constants,
        )  # fmt: skip
        try:
            printed = self.engine.launch(call)
        except Fault as fault:
            self.note(fault, line)
            return
        if printed and sum(map(len, self.printed)) < MOST_PRINTED:
            self.printed.append(printed)
        if not self.engine.exact and min(grid) > 0:
            for block in blocks:
                if block is not None and block.writable:
                    block.written_by.fill(LAUNCHED)

    # Kernels -------------------------------------------------------------------------------------------------

    def _kernel(self, body: memoryview) -> Answer:
        request = _request(body)
        refusal = self.compile(request)
        if refusal is not None:
            return refusal, b""
        if len(self.launchers) >= MOST_KERNELS:
            raise Malformed("more kernels than any program needs")
        number = len(self.launchers) + 1
        self.launchers[number] = self.launcher(request)
        self.registered += 1
        kernel = self.launchers[number].kernel
        return {"number": number, "name": kernel.name, "shared": kernel.shared, "facts": kernel.facts}, b""

    def compile(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """See to it that a kernel is loaded; returns the compiler's refusal (`refused`, `short`), or None."""
        text = {key: request[key] for key in TEXT}
        digest = frames.digest(text)
        if digest not in self.loaded and digest not in self.refused:
            header, binary = self._compile_text(digest, text)
            if "log" in header:
                self.refused[digest] = {"refused": header["log"], "short": header.get("short", "")}
            else:
                kernel = Kernel(bytes(binary), header["name"], int(header["shared"]), header["facts"])
                self.loaded[digest] = kernel, self.engine.load(kernel)
        return self.refused.get(digest)

    def launcher(self, request: dict[str, Any]) -> _Launcher:
        """How a kernel that is loaded is launched. Raises Malformed where the text has other arguments."""
        text = {key: request[key] for key in TEXT}
        kernel, loaded = self.loaded[frames.digest(text)]
        names, kinds = (tuple(str(pair[place]) for pair in request["args"]) for place in (0, 1))
        check_signature(kernel, kinds)
        return _Launcher(text, kernel, loaded, names, kinds, dict(request["constants"]))

    # Results -------------------------------------------------------------------------------------------------

    def results(
        self, storages: Sequence[Sequence[int]], outputs: Sequence[dict[str, Any]]
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
            counts = count_codes(by)
            writers[-1] = {str(code): count for code, count in counts.items()}
            if INPUT | COPIED in counts:
                masks[-1] = (by == INPUT | COPIED).any(axis=-1).astype(np.uint8).tobytes()
        return data, writers, masks


_TAPED = frozenset({Command.ALLOC, Command.COPY, Command.UPLOAD, Command.LAUNCH})
_HANDLERS = {
    Command.ALLOC: Machine._alloc,
    Command.COPY: Machine._copy,
    Command.UPLOAD: Machine._upload,
    Command.READ: Machine._read,
    Command.ALSO: Machine._also,
    Command.LAUNCH: Machine._launch,
    Command.SYNC: Machine._sync,
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
