"""A tape made ready to be run again and again: memory, arguments and tensors are there, only the work is repeated."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from bringup.device.checks import is_itself
from bringup.device.engine import Call, Engine, Fault
from bringup.device.execution import Execution
from bringup.device.launchers import Launcher
from bringup.device.machine import Machine
from bringup.device.memory import Block, Memory
from bringup.device.tape import Tape
from bringup.device.wire import Command, unpack_descriptor


class Prepared:
    """One tape in memory of its own. `run` queues its launches, copies and uploads, and waits for nothing."""

    def __init__(
        self,
        machine: Machine,
        tape: Tape,
        limit: int,
        profile: bool = False,
        written: Collection[int] | None = None,
    ) -> None:
        """Play the tape once, and keep what it did. Kernels are loaded. `limit`: bytes of device memory.

        `profile`: have the engine count the launches of this first time. `written`: addresses of the inputs that the
        call writes, where another `Prepared` of the same tape has found them out.

        Raises Fault for what went wrong.
        """
        self.engine, self.tape = machine.engine, tape
        self.memory = Memory(machine.engine, limit)
        self.steps: list[Callable[[], Any]] = []
        self._restores: list[Callable[[], Any]] = []
        try:
            launchers = launchers_of(machine, tape)
            keeper = _Keeper(machine.engine, self.steps)
            mode = {"host_bytes": None, "uploaded_bytes": None, "written": None, "profile": profile}
            execution = Execution(keeper, self.memory, launchers, mode)
            execution.start([(base, memoryview(data)) for base, data in tape.inputs])
            for code, body in tape.commands:
                execution.execute(Command(code), memoryview(body))
                if execution.error is None:
                    self._keep(Command(code), memoryview(body))
            execution.finish()
            if execution.error is not None:
                text, lost = execution.error["text"], execution.error["kind"] == "lost"
                raise Fault("lost", text) if lost else Fault("launch", f"the tape cannot be run again: {text}")
            self.written = self._writes() if written is None else frozenset(written)
            for base, data in tape.inputs:
                if base in self.written:
                    self._restores.append(self._restoring(self.memory.at(base), data))
        except BaseException:
            self.close()
            raise

    def _keep(self, command: Command, body: memoryview) -> None:
        if command is Command.COPY:
            source, at = unpack_descriptor(body, 0)
            target, _ = unpack_descriptor(body, at)
            if is_itself(source, target):
                return
            given, _, block = self.memory.torch_tensor(target)
            taken = self.memory.torch_tensor(source, most=block.nbytes)[0]
            self.steps.append(lambda: given.copy_(taken, non_blocking=True))
        elif command is Command.UPLOAD:
            self._keep_upload(body)

    def _keep_upload(self, body: memoryview) -> None:
        import torch

        target, at = unpack_descriptor(body, 0)
        given = self.memory.torch_tensor(target)[0]
        if not given.numel():
            return
        host = torch.frombuffer(bytearray(body[at:]), dtype=given.dtype, count=given.numel()).view(given.shape)
        if given.device.type == "cuda":
            host = host.pin_memory()
        self.steps.append(lambda: given.copy_(host, non_blocking=True))

    def _writes(self) -> frozenset[int]:
        """The addresses of the inputs that the call writes: these get their contents back before each run."""
        found = set()
        for base, data in self.tape.inputs:
            block = self.memory.at(base)
            if self.engine.read(block, block.nbytes) != data:
                found.add(base)
        return frozenset(found)

    def _restoring(self, block: Block, data: bytes) -> Callable[[], Any]:
        import torch

        live = self.engine.tensor(block, 0, torch.uint8, (block.nbytes,), (1,))
        kept = torch.frombuffer(bytearray(data), dtype=torch.uint8).to(live.device)
        return lambda: live.copy_(kept)

    def restore(self) -> None:
        """Give inputs that are written their contents back; no part of what is timed."""
        for restore in self._restores:
            restore()

    def run(self) -> None:
        """Queue everything once more."""
        for step in self.steps:
            step()

    def results(self) -> list[bytes]:
        """The bytes of the storages that the call gave back, as they are now."""
        return [
            self.engine.read(self.memory.at(base), nbytes) if nbytes else b"" for base, nbytes in self.tape.storages
        ]

    def close(self) -> None:
        """Give the memory back."""
        self.steps.clear()
        self._restores.clear()
        self.memory.clear()


class _Keeper:
    """An engine that also keeps its launches, ready to be repeated."""

    def __init__(self, engine: Engine, steps: list[Callable[[], Any]]) -> None:
        self._engine, self._steps = engine, steps

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def launch(self, call: Call) -> str:
        printed = self._engine.launch(call)
        prepare: Callable[[Call], Callable[[], Any]] = self._engine.prepare  # type: ignore[attr-defined]
        self._steps.append(prepare(call))
        return printed


def launchers_of(machine: Machine, tape: Tape) -> dict[int, Launcher]:
    """Load the kernels of a tape. Raises Fault for one that does not compile here."""
    found = {}
    for number, kernel in tape.kernels.items():
        refusal = machine.compile(kernel)
        if refusal is not None:
            raise Fault("launch", f"a kernel of the tape does not compile here: {refusal['short']}")
        found[number] = machine.launcher(kernel)
    return found
