"""The virtual accelerator behind the wall: its compiler for text from anywhere, its simulator in the device process."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from bringup.device import Call, Fault, Kernel, space
from bringup.device.execution import MOST_PRINTED
from bringup.device.memory import Block
from bringup.targets._compile import facts_of, refuse_addresses, verified
from bringup.vpe import launch, memory, state
from bringup.vpe.errors import VpeCompileError, VpeFault, VpeLaunchError
from bringup.vpe.prints import Beginning
from bringup.vpe.profile import Profile
from bringup.vpe.work import Budget

POISON = 0xFF
KEPT_BYTES = 1 << 20  # of addresses that ended calls have used: touched pages cost less than fresh ones


def compile_for_vpe(chip: Profile, request: Mapping[str, Any]) -> Kernel:
    """Compile a text for a profile; raises VpeCompileError."""
    from bringup.vpe.compile import check_source, compile_ttir
    from bringup.vpe.kernel import with_code

    scatter = bool(request["options"].get("enable_scatter_stores"))
    options = SimpleNamespace(arch=chip.name, profile=chip.digest, enable_scatter_stores=scatter, one_owner=True)
    try:
        source = verified(str(request["source"])) if request.get("source") else None
        module = verified(str(request["text"])) if request.get("text") or source is None else None
    except RuntimeError as error:
        raise VpeCompileError(f"this is no TTIR of this Triton: {error}") from None
    if source is None:
        check_source(module, options)
    else:
        made = _after_passes(source, options)
        if module is not None and made.str_nodebug() != module.str_nodebug():
            raise VpeCompileError("the kernel's text is not what Triton's passes make of its source")
        module = made
    assert module is not None
    try:
        refuse_addresses(module.str_nodebug())
    except RuntimeError as error:
        raise VpeCompileError(str(error)) from None
    facts = facts_of(module)
    options.signature = facts["signature"]
    binary, name, local = compile_ttir(str(module), options)
    return Kernel(with_code(binary, bool(request.get("plain"))), name, local, facts)


def _after_passes(source: Any, options: Any) -> Any:
    from bringup.vpe.backend.compiler import make_ttir

    try:
        return make_ttir(source, options)
    except RuntimeError as error:
        raise VpeCompileError(f"Triton's passes fail: {error}") from None


@dataclass
class _Loaded:
    kernel: Any
    name: str


class VpeEngine:
    """The simulator: device memory is the reserved range itself, every access is checked."""

    exact = True

    def __init__(self, chip: Profile) -> None:
        """Simulate a chip."""
        self.chip = chip
        self.alignment = max(space.ALIGNMENT, chip.memory.allocation_alignment_bytes)
        self._storages: dict[int, Any] = {}
        self._counts = False
        self._room = MOST_PRINTED  # characters that this call may still print
        self._budget: Budget | None = None  # of the call; the same on every host
        self._freed = 0, 0  # the stretch of freed blocks without one in use between them that was freed last
        self._used = [(space.END, 0), (space.END, 0)]  # first address and end of what was handed out in each half

    def start(self, describe: Callable[[int], str]) -> None:
        """Map the range and make the profile current."""
        space.reserve(accessible=True)
        state.set_profile(self.chip)
        memory.register_describer(describe)

    def allocate(self, block: Block) -> None:
        """The memory is there; fill it with poison."""
        if block.base < self._freed[1] and block.base + block.nbytes > self._freed[0]:
            self._freed = 0, 0  # a new guest's addresses begin anew: that stretch is in use again
        if self._budget is not None and block.owner == "input":
            self._budget.grow(self.chip.limits, block.nbytes)
        ctypes.memset(block.base, POISON, block.nbytes)
        half = block.base >= space.MIDDLE
        self._used[half] = (min(self._used[half][0], block.base), block.base + block.nbytes)

    def release(self, block: Block) -> None:
        """Wipe: whole pages go back to the system."""
        self._storages.pop(block.base, None)
        first, end = block.base, block.base + block.nbytes
        # With what was freed just before it, so that pages between two freed blocks go, too.
        neighbour = first <= space.after(self._freed[1], 0, self.alignment) and first >= self._freed[1]
        begin, done = self._freed if neighbour else (first, first)
        self._freed = begin, end
        whole = max(-(-begin // space.PAGE), done // space.PAGE) * space.PAGE
        last = end // space.PAGE * space.PAGE
        if whole >= last:
            ctypes.memset(first, POISON, block.nbytes)
            return
        space.drop(whole, last - whole)
        ctypes.memset(first, POISON, max(whole - first, 0))
        ctypes.memset(last, POISON, end - last)

    def tensor(self, block: Block, offset: int, dtype: Any, size: Sequence[int], stride: Sequence[int]) -> Any:
        """A CPU tensor on the range."""
        import torch

        storage = self._storages.get(block.base)
        if storage is None:
            at = torch._C._construct_storage_from_data_pointer
            storage = self._storages[block.base] = at(block.base, torch.device("cpu"), block.nbytes)
        return torch.empty(0, dtype=dtype).set_(storage, offset, size, stride)

    def write(self, block: Block, data: memoryview) -> None:
        """Copy in."""
        ctypes.memmove(block.base, (ctypes.c_char * len(data)).from_buffer_copy(data), len(data))

    def read(self, block: Block, nbytes: int) -> bytes:
        """Copy out."""
        return ctypes.string_at(block.base, nbytes)

    def load(self, kernel: Kernel) -> Any:
        """Make object code of the packed kernel; the native cache may have it."""
        from bringup.vpe.kernel import load

        return _Loaded(load(kernel.name, kernel.binary), kernel.name)

    def launch(self, call: Call) -> str:
        """Run all programs over the PE grid."""
        loaded, chip = call.kernel, self.chip
        packed = np.zeros(max(len(call.values), 1), np.int64)
        view = packed.view(np.uint8).data
        buffers: list[memory.Buffer | None] = []
        printed = Beginning(self._room)
        try:
            launch.check_kinds(chip, loaded.name, tuple(call.names), tuple(call.kinds))
            for position, (name, value, block) in enumerate(zip(call.names, call.values, call.blocks, strict=True)):
                if isinstance(value, bytes):
                    view[position * 8 : position * 8 + 8] = value
                    continue
                packed[position] = launch.signed(value)
                buffers.append(None if block is None else _buffer(name, block))
                launch.check_pointer(chip, loaded.name, name, value)
            named = SimpleNamespace(name=loaded.name, constants=call.constants)
            with contextlib.redirect_stdout(printed) if loaded.kernel.prints else contextlib.nullcontext():
                launch.run(loaded.kernel, chip, call.grid, named, packed, buffers, self._budget)
        except VpeLaunchError as error:
            raise Fault("launch", f"VpeLaunchError: {error}") from None
        except VpeFault as error:
            from bringup.vpe import render_dump

            if error.dump["kind"] == "cycles":
                raise Fault("time", str(error), str(error).splitlines()[0], render_dump(error.dump)) from None
            where = f"{error.dump['file']}:{error.dump['line']}" if error.dump.get("line") else ""
            short = f"kernel '{loaded.name}' was stopped: {error.dump['message']}{f' at {where}' if where else ''}"
            raise Fault("fault", f"VpeFault: {error}", short, render_dump(error.dump)) from None
        self._room = max(0, printed.left)
        return printed.getvalue()

    def synchronize(self) -> None:
        """Launches are finished when they return."""

    def begin(self, mode: dict[str, Any]) -> None:
        """Take the order of the programs, whether races are looked for, and counting by line; forget older counters."""
        order = mode.get("order")
        threads = self.chip.judged_threads if order is None else launch.AT_ONCE
        state.set_mode(seed=order, threads=threads, race=bool(mode.get("race")), by_line=bool(mode.get("lines")))
        for half, (first, end) in enumerate(self._used):
            if end - first > KEPT_BYTES:  # of calls that are over
                space.drop(first, end - first)
                self._used[half] = (space.END, 0)
        state.clear_launches()
        self._room = MOST_PRINTED
        self._counts = bool(mode.get("profile"))
        self._budget = Budget.for_call(self.chip.limits)

    def copied(self, nbytes: int, stretches: int = 0) -> None:
        """Count a copy of so many stretches towards the call's cycles. Raises Fault("time") where these are used up."""
        said = self._budget.spent_by_copies(self.chip, nbytes, stretches) if self._budget is not None else ""
        if said:
            raise Fault("time", said)

    def counters(self) -> list[dict[str, Any]]:
        """What the simulator counted, and the time that the profile's figures make of it."""
        if not self._counts:
            return []
        return [{**one.as_dict(), "microseconds": one.modelled_seconds * 1e6} for one in state.last_launches()]

    def broken(self) -> bool:
        """A fault stops programs, not the chip."""
        return False


def _buffer(name: str, block: Block) -> memory.Buffer:
    return memory.Buffer(
        base=block.base, nbytes=block.nbytes, name=name, writable=block.writable, freed=block.freed,
        initialised=None if block.freed else block.written_by, label=block.describe(),
    )  # fmt: skip
