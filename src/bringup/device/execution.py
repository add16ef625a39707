"""Executing the commands of one call: memory, copies, launches, reads, and the account by which the rules are checked.

Whatever a command says, malformed or not, ends in a broken rule or a fault that is kept: the first one counts. From
then on nothing is done any more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from bringup.device import frames
from bringup.device.account import COPIES, READS, STATE, STREAM, Account, Allowance, Broken
from bringup.device.checks import (
    check_copy,
    check_extent,
    check_target,
    extent_of,
    is_itself,
    unpack_copy,
    unpack_upload,
)
from bringup.device.elements import Elements, pointed_bytes
from bringup.device.engine import FENCE, Call, Engine, Fault
from bringup.device.feeding import Feeding, asked
from bringup.device.launchers import Launcher, Texts
from bringup.device.lineage import PLAIN, Lineage, carried
from bringup.device.memory import (
    WRITER,
    Block,
    Memory,
    codes,
    count_codes,
    layout_numbers,
    pieces,
    stretches,
)
from bringup.device.order import PUT, Order, grows
from bringup.device.origins import Origins
from bringup.device.seeds import put
from bringup.device.tape import Tape, digest_of
from bringup.device.wire import (
    ADDRESS,
    ALLOCATION,
    LAUNCH,
    POINTER,
    Command,
    Descriptor,
    Malformed,
    unpack_descriptor,
)  # fmt: skip
from bringup.vpe.memory import COPIED, LAUNCHED, SPREAD, UPLOADED

PLACE_BYTES = 16  # that a copy says by where it takes from and puts to
LAYOUT_BYTES = 8  # that it says by a size or a stride
NEW_BYTES, SAID_BYTES = 8, 1  # of an argument of a launch: new to the call, or one of those that it had
WORD_BYTES = 8  # of a number among the arguments of a launch
CONSTANT_BYTES = 8  # a number in a kernel's text counts as much
MOST_PRINTED = 1 << 16
MOST_RESULTS = 1 << 30  # bytes of all outputs, repeated elements counted
_BROUGHT = (
    "the wrapper reads memory into which the host, or a copy of an argument, has put something; what is read lies in a "
    "buffer of its own, which kernels alone write"
)
UNFED = (
    "the wrapper reads what its kernels have not computed from all that decides on it: a kernel must be given the "
    "tensors of the call on which a size or a truth value hangs, or copies of the whole of them"
)
_NO_ELEMENT = "which is no element of what it may write; what lies between the elements of a view is the caller's"


class Execution:
    """One run of a call's commands."""

    def __init__(
        self, engine: Engine, memory: Memory, launchers: Mapping[int, Launcher], mode: dict[str, Any],
        error: dict[str, Any] | None = None, fence: Callable[[Launcher], Launcher] | None = None,
    ) -> None:  # fmt: skip
        """Run in `memory`, which is empty; `error`: what went wrong before the call has begun.

        `fence` gives kernels in which each access is checked, for engines that check none (mode `fence`).
        """
        self._fence = fence if mode.get(FENCE) and not engine.exact else None
        self.engine, self.memory, self.launchers, self.mode = engine, memory, launchers, mode
        self.lineage = Lineage()
        self._limits_copies = hasattr(engine, "copied")
        self.account = Account()
        self.texts = Texts()
        self.allowance = Allowance(
            read_bytes=int(mode.get("read_bytes", 0)),
            read_inputs=bool(mode.get("read_inputs")),
            host_bytes=mode.get("host_bytes"),
            uploaded_bytes=mode.get("uploaded_bytes"),
        )
        self.error = error
        self.line = 0
        self.printed: list[str] = []
        # What kernels were given, where some of an argument may stay, or the host may read.
        self.feeding: Feeding | None = None
        # Where moving elements is the operator, the tensors that its call was given; None elsewhere.
        given = mode.get("arguments")
        self.order = None if given is None else Order(given, mode.get("results", ()))
        # Where copies do no work, how large the elements of arguments are; None elsewhere.
        elements = mode.get("elements")
        self.elements = None if elements is None else Elements(elements)
        self.used: set[int] = set()
        self.said: set[int | bytes | tuple[int, ...]] = set()  # arguments of launches so far
        self.tape = Tape(about=dict(mode["tape"])) if mode.get("tape") else None
        self.gaps: dict[int, Any] = {}  # int64[n]: places in an input that may be written, but not there
        self.held: dict[int, Any] = {}  # uint8[n]: what lay there

    def start(self, inputs: Sequence[tuple[int, memoryview]]) -> None:
        """Put the inputs, (address, contents) each, into memory.

        The mode says which of them may be written (`written`; None: all), and where these have `gaps`.
        """
        written, gaps = self.mode.get("written"), self.mode.get("gaps", {})
        try:
            self.engine.begin(self.mode)
            for base, data in inputs:
                self.memory.put(data, written is None or base in written, base, self.mode.get("marks", {}).get(base))
                if base in gaps:
                    self.gaps[base] = places = np.flatnonzero(gaps[base] == 0)
                    self.held[base] = np.frombuffer(data, np.uint8)[places]
                if self.tape is not None:
                    self.tape.inputs.append((base, bytes(data)))
            if self.mode.get("decides") or self.allowance.read_bytes > 0:
                self.feeding = self._feeding([(base, len(data)) for base, data in inputs])
        except Fault as fault:
            self.note(fault)

    def finish(self) -> None:
        """Wait for everything; a fault is noted."""
        try:
            self.engine.synchronize()
        except Fault as fault:
            self.note(fault)

    def look_at_gaps(self) -> None:
        """Note a fault where a byte was changed that is no element of what the call may write."""
        if self.error is not None:
            return
        try:
            for base, places in self.gaps.items():
                block = self.memory.at(base)
                now = np.frombuffer(self.engine.read(block, block.nbytes), np.uint8)[places]
                changed = np.flatnonzero(now != self.held[base])
                if len(changed):
                    place = self.memory.describe(base + int(places[changed[0]]))
                    raise Fault("fault", f"the call has written {place}, {_NO_ELEMENT}")
        except Fault as fault:
            self.note(fault)

    def execute(self, command: Command, body: memoryview) -> bytes | None:
        """Do what a command says; returns what was read. What goes wrong is noted, never raised."""
        self.line = 0  # of the wrapper, where the command says it
        try:
            if command is Command.FREE:
                base = ADDRESS.unpack(body)[0]
                self.memory.free(base)
                self.lineage.freed(base)
                if self.feeding is not None:
                    self.feeding.freed(base)
                if self.elements is not None:
                    self.elements.freed(base)
                return None
            if self.error is not None:
                return None
            if command is Command.LAUNCH and self.mode.get("seed") is not None:
                body = memoryview(self._seeded(body))
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
        return None

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
        self.error = self.error or noted(error, line or self.line)

    # One command ---------------------------------------------------------------------------------------------

    def _alloc(self, body: memoryview) -> None:
        base, nbytes = ALLOCATION.unpack(body)
        self.account.allocations += 1
        self.memory.allocate(base, nbytes)
        if self._limits_copies:  # to make memory, and to forget what is in it, takes as long as to fill it
            self.engine.copied(nbytes)  # type: ignore[attr-defined]

    def _copy(self, body: memoryview) -> None:
        source, target = unpack_copy(body)
        check_copy(source, self.memory.at(source.base).nbytes, target, self.memory.at(target.base).nbytes)
        given, mine, block = self.memory.torch_tensor(target)
        taken, writers, origin = self.memory.torch_tensor(source, most=block.nbytes)
        self._writable(block, target)
        self.account.copies += 1
        self.account.copied_bytes += writers.size
        self.account.copied_pieces += pieces(source.size, source.stride) + pieces(target.size, target.stride)
        layout = layout_numbers(source.size, source.stride, target.stride)
        self.account.described_bytes += PLACE_BYTES + LAYOUT_BYTES * layout
        self.account.check_host_bytes(self.allowance)
        if self.elements is not None and (odd := self.elements.copied(source, origin.nbytes, target)):
            raise Broken(COPIES, odd)
        moved = self.order is not None and writers.size and not self.order.keeps(source, target, block.nbytes)
        if moved and not grows(source, origin.nbytes, target, block.nbytes):
            raise Broken(
                COPIES,
                f"{PUT}; a copy may lay an argument down as it is, or take one run of memory into a buffer that it "
                "fills",
            )
        if not is_itself(source, target):
            if self._limits_copies:
                runs = stretches(source.size, source.stride, target.stride)
                self.engine.copied(writers.size, runs)  # type: ignore[attr-defined]
            given.copy_(taken)
        if writers.size:
            block.brought = block.brought or origin.brought or origin.owner == "input"
            if self.feeding is not None:
                self.feeding.copied(origin.base, extent_of(source), block.base, extent_of(target))
        found = carried(self.lineage, self.order, source, origin, target, block, writers)
        if self.order is not None and self.order.odd:
            raise Broken(COPIES, self.order.odd)
        mine[...] = 0 if moved else found

    def _feeding(self, inputs: Sequence[tuple[int, int]]) -> Feeding:
        """What is known before the call; `inputs`: the addresses of storages, and bytes of each."""
        mode = self.mode
        return Feeding(
            lambda base: self.memory.at(base).written_by,
            {block.base for block in self.memory if block.data},
            Origins(inputs, next(iter(mode.get("kept", ())), None)),
            decides=mode.get("decides"),
            choosing=mode.get("choosing", ()), sought=mode.get("sought", ()), operands=mode.get("operands", ()),
            exact=self.engine.exact,
        )  # fmt: skip

    def _told_by(
        self, flows: Sequence[tuple[int, Sequence[int]]] | None, blocks: Sequence[Block | None]
    ) -> list[tuple[int, list[int]]]:
        """The storages that a kernel may write, each with those on which that may hang; `flows`: None for all."""
        at = {place: block for place, block in enumerate(blocks) if block is not None}
        if flows is None:
            flows = [(place, [*at]) for place in at]
        return [
            (at[place].base, [at[other].base for other in others if other in at])
            for place, others in flows if place in at and at[place].writable
        ]  # fmt: skip

    def _upload(self, body: memoryview) -> None:
        import torch

        target, at = unpack_upload(body)
        check_target(target, self.memory.at(target.base).nbytes)
        given, mine, block = self.memory.torch_tensor(target)
        self._writable(block, target)
        self.account.uploads += 1
        self.account.uploaded_bytes += len(body) - at
        self.account.check_host_bytes(self.allowance)
        if given.numel():
            host = torch.frombuffer(bytearray(body[at:]), dtype=given.dtype, count=given.numel())
            given.copy_(host.view(given.shape))
            block.brought = True
            mine[...] = UPLOADED

    def _told(self, value: int | bytes | tuple[int, ...]) -> int:
        """How many bytes an argument of a launch (a number, an address, a grid) tells: few if it is no news."""
        if value in self.said:
            return SAID_BYTES
        self.said.add(value)
        return NEW_BYTES

    def _writable(self, block: Block, target: Descriptor) -> None:
        if not block.writable and 0 not in target.size:
            raise Fault("launch", f"a copy writes {block.describe()}, which this operator must leave as it is")

    def _read(self, body: memoryview) -> bytes:
        source, end = unpack_descriptor(body, 0)
        if end != len(body):
            raise Malformed("more than one tensor")
        tensor, writers, block = self.memory.torch_tensor(source)
        self.engine.synchronize()
        launched = bool(((writers & WRITER) == LAUNCHED).all())
        self.account.check_read(writers.size, launched, self.allowance)
        if not self.allowance.read_inputs and (block.brought or block.owner == "input"):
            raise Broken(READS, _BROUGHT)
        if writers.size and self.feeding is not None and not self.feeding.enough(block.base, extent_of(source)):
            raise Broken(READS, UNFED)
        self.account.reads += 1
        self.account.read_bytes += max(writers.size, 1)  # that a read has ended says something, too
        found = _bytes_of(tensor)
        if source.dtype == "bool" and max(found, default=0) > 1:
            raise Broken(READS, f"the wrapper reads a truth value that is {max(found)}, neither 0 nor 1")
        return found

    def _seeded(self, body: memoryview) -> bytes:
        """A launch with the call's seed where the guest has named it."""
        launcher = self.launchers.get(LAUNCH.unpack_from(body)[0])
        places, at = [], LAUNCH.size
        for kind in launcher.kinds if launcher is not None else ():
            if not kind.startswith("*"):
                places.append(at)
            at += POINTER.size if kind.startswith("*") else WORD_BYTES
        return put(body, places, int(self.mode["seed"]))

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
            if block is not None and block.freed:
                if self.engine.exact:  # also where the kernel would never touch it, as in sealed use
                    raise Fault("fault", f"kernel '{launcher.name}' is launched on {block.describe()}")
                raise Malformed("memory that is freed, or of an earlier call")
            values.append(value)
            blocks.append(block)
            at += POINTER.size
        if at != len(body):
            raise Malformed("arguments that end too early or too late")
        if self.elements is not None:
            pointed = zip(launcher.kinds, blocks, strict=True)
            known = [(block.base, pointed_bytes(kind)) for kind, block in pointed if block is not None]
            odd = self.elements.launched(known, recast=bool(launcher.kernel.facts.get("recast")))
            if odd:
                raise Broken(COPIES, odd)
        feeding = self.feeding if min(grid) > 0 else None
        if feeding is not None:
            feeding.launching(self._told_by(launcher.kernel.facts.get("flows"), blocks))
        account = self.account
        account.launches += 1
        account.argument_bytes += sum(map(self._told, (tuple(grid), *values)))
        if number not in self.used:
            self.used.add(number)
            facts = launcher.kernel.facts
            account.constant_bytes += CONSTANT_BYTES * int(facts.get("constants", 0))
            account.constant_bytes += self.texts.add(
                launcher.digest, str(facts.get("canonical") or launcher.text["text"])
            )
        account.check_host_bytes(self.allowance)
        loaded = launcher.loaded if self._fence is None else self._fence(launcher).loaded
        call = Call(
            loaded, (grid[0], grid[1], grid[2]), launcher.names, launcher.kinds, values, blocks,
            launcher.constants,
        )  # fmt: skip
        printed = self.engine.launch(call)
        if feeding is not None:
            feeding.launched()
        if printed and sum(map(len, self.printed)) < MOST_PRINTED:
            self.printed.append(printed)
        if not self.engine.exact and min(grid) > 0:
            for block in blocks:
                if block is not None and block.writable:
                    block.written_by.fill(LAUNCHED)

    # Results -------------------------------------------------------------------------------------------------

    def results(
        self, storages: Sequence[Sequence[int]], outputs: Sequence[dict[str, Any]]
    ) -> tuple[list[bytes], list[dict[str, int]], list[bool]]:
        """The bytes of storages; for each output how many bytes have which writer, and whether it was asked about.

        That is, whether a kernel that could write it was given what decides on each byte that is an input's, as the
        call's mode says (`decides`), and each is where it was.
        """
        blocks: list[Block | None] = []
        named: set[int] = set()
        for base, nbytes in storages:
            block = self.memory.at(base) if nbytes else None
            if block is not None and (block.nbytes < nbytes or base in named):
                raise Malformed("a storage that is larger than its memory, or named twice")
            blocks.append(block)
            named.add(base)
        data = [b"" if b is None else self.engine.read(b, n) for b, (_, n) in zip(blocks, storages, strict=True)]
        writers: list[dict[str, int]] = []
        given: list[bool] = []
        multiplied = bool(self.lineage) and self.lineage.multiplied(blocks, outputs)
        total = 0
        for output in outputs:
            block, width, size = blocks[output["storage"]], output["width"], tuple(output["size"])
            writers.append({})
            given.append(True)
            if block is None or 0 in size:
                continue
            offset, stride = output["offset"] * width, tuple(output["stride"])
            check_extent(offset, width, size, stride, block.nbytes)
            part = int(output.get("element", width))
            if self.elements is not None and (
                odd := self.elements.returned(block.base, offset, part, width, size, stride)
            ):
                raise Broken(COPIES, odd)
            total += math.prod(size) * width
            if total > MOST_RESULTS:
                raise Malformed("results of more elements than any call needs")
            by = codes(block.written_by, offset, width, size, stride)
            extent = offset, width, size, stride
            given[-1] = asked(by) if self.feeding is None else self.feeding.stays(block.base, extent)
            counts: dict[int, int] = {}
            for code, count in count_codes(by).items():
                counts[code & PLAIN] = counts.get(code & PLAIN, 0) + count
            if multiplied and LAUNCHED | COPIED in counts:
                counts[SPREAD | COPIED] = counts.get(SPREAD | COPIED, 0) + 1
            writers[-1] = {str(code): count for code, count in counts.items()}
        return data, writers, given

    def finished_tape(self, storages: Sequence[Sequence[int]], data: Sequence[bytes]) -> bytes:
        """The tape, packed; empty where none was asked for."""
        tape = self.tape
        if tape is None:
            return b""
        for number in self.used:
            one = self.launchers[number]
            args = list(zip(one.names, one.kinds, strict=True))
            tape.kernels[number] = {**one.text, "args": args, "constants": one.constants}
        tape.storages = [(base, nbytes) for base, nbytes in storages]
        tape.result = digest_of(data)
        return tape.pack()


_TAPED = frozenset({Command.ALLOC, Command.COPY, Command.UPLOAD, Command.LAUNCH})
_HANDLERS = {
    Command.ALLOC: Execution._alloc,
    Command.COPY: Execution._copy,
    Command.UPLOAD: Execution._upload,
    Command.READ: Execution._read,
    Command.LAUNCH: Execution._launch,
}


def noted(error: Broken | Fault, line: int) -> dict[str, Any]:
    """What went wrong, as the referee is told; `line` of the wrapper, 0 if unknown."""
    if isinstance(error, Fault):
        return {"kind": error.kind, "text": error.text, "short": error.short, "dump": error.dump, "line": line}
    return {"kind": "rule", "rule": error.rule, "text": str(error), "short": str(error), "line": line}


def _bytes_of(tensor: Any) -> bytes:
    import torch

    if not tensor.numel():
        return b""
    flat = tensor.detach().cpu().clone(memory_format=torch.contiguous_format).reshape(-1)
    return bytes(flat.view(torch.uint8).numpy())
