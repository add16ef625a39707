"""An NVIDIA GPU behind the wall: memory through PyTorch's allocator, launches through NVIDIA's driver API."""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from bringup.device import Call, Fault, Kernel, Stopwatch, space
from bringup.device.engine import FENCE, FaultKind
from bringup.device.memory import Block
from bringup.targets import _fence
from bringup.targets._cuda_driver import OUT_OF_MEMORY, WARP, CudaError, Driver, Function, captured

WIPED = 0xFF  # bytes of memory that nobody has
POISON = 1 << 20  # bytes drawn once, of which fresh memory gets a stretch: no kernel can know them by value
CONGRUENT = 512  # device addresses equal those of the guest modulo this: what Triton derives from them stays true
MOST_X, MOST_YZ = (1 << 31) - 1, 65535  # programs of a grid
NAMED = 4  # kernels that a fault names at most
MOST_RECORDS = 1 << 14  # launches of a case that are timed
BLOCKING = "BRINGUP_CUDA_BLOCKING"


@dataclass(frozen=True)
class Gpu:
    """What an engine works with, once it has started."""

    driver: Driver
    device: Any
    """PyTorch's device."""
    stream: int


def connect(number: int) -> Gpu:
    """Make the context of device `number` in this process. Raises RuntimeError where it does not answer."""
    import torch

    try:
        torch.cuda.set_device(number)
        torch.empty(1, device=f"cuda:{number}").fill_(0)  # the first allocation makes the context
        torch.cuda.synchronize()
        driver = Driver(number)
    except (OSError, AssertionError, AttributeError, CudaError) as error:  # a PyTorch without CUDA asserts
        raise RuntimeError(f"CUDA device {number} does not answer: {error}") from error
    return Gpu(driver, torch.device("cuda", number), int(torch.cuda.current_stream().cuda_stream))


@dataclass
class _Real:
    """The memory of a block, `pad` bytes into a larger tensor."""

    tensor: Any
    pad: int
    address: int


@dataclass
class _Loaded:
    """A kernel that can be launched, or why it cannot."""

    name: str
    shared: int
    threads: int
    ctas: int
    cooperative: bool
    prints: bool
    scratch: tuple[tuple[int, int], ...]
    """Bytes a block of threads, alignment: of the global and the profiler's scratch memory."""
    fence: tuple[tuple[int, str, int], ...] | None = None
    """Of a fenced kernel: the pointer, kind and line of each access."""
    function: Function | None = None
    refusal: str = ""
    slots: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    """By number of arguments: eight bytes a parameter, and the pointers to them."""

    def parameters(self, count: int) -> tuple[Any, Any]:
        found = self.slots.get(count)
        if found is None:
            slots = (ctypes.c_uint64 * count)()
            base = ctypes.addressof(slots)
            found = self.slots[count] = slots, (ctypes.c_void_p * count)(*(base + 8 * n for n in range(count)))
        return found


@dataclass
class _Record:
    """A launch that is counted."""

    facts: dict[str, Any]
    before: int
    after: int


class CudaEngine:
    """One NVIDIA GPU.

    Launches are queued; what a kernel broke shows at the next synchronisation, and the context does not survive it.
    The hardware checks no bounds: an access beyond a block faults only where nothing of the process is mapped, and
    otherwise finds poison or another block of the same guest. Nor can it stop writes to inputs that must stay as they
    are (`Block.writable`): what compares the inputs afterwards finds those.
    """

    exact = False
    alignment = space.ALIGNMENT

    def __init__(self, number: int = 0, connect: Callable[[int], Gpu] = connect) -> None:
        """Use device `number`; nothing is touched before `start`."""
        self.number, self._connect = number, connect
        self._lost: Fault | None = None
        self._poisons: Any = None
        self._since: dict[str, None] = {}  # kernels launched since the device was last known to be well
        self._always = os.environ.get(BLOCKING, "") not in ("", "0")
        self._blocking, self._profile = self._always, False
        self._records: list[_Record] = []

    def start(self, describe: Callable[[int], str]) -> None:
        """Make the context. The hardware says no address of a fault, so `describe` is not asked."""
        self.gpu = self._connect(self.number)
        self.driver = self.gpu.driver

    # Memory --------------------------------------------------------------------------------------------------

    def allocate(self, block: Block) -> None:
        """Take memory from PyTorch's allocator, at an address congruent to the block's, full of poison."""
        import torch

        self._check()
        with self._torch(f"{block.nbytes} bytes"):
            tensor = torch.empty(block.nbytes + CONGRUENT - 1, dtype=torch.uint8, device=self.gpu.device)
            self._poison(tensor)
        pad = (block.base - tensor.data_ptr()) % CONGRUENT
        block.real = _Real(tensor, pad, tensor.data_ptr() + pad)

    def _poison(self, memory: Any) -> None:
        """Fill fresh memory. It has no check of its own here, so what a kernel finds there must look like anything."""
        import torch

        if self._poisons is None:
            drawn = bytearray(os.urandom(POISON))
            self._poisons = torch.frombuffer(drawn, dtype=torch.uint8).to(self.gpu.device)
        first = random.SystemRandom().randrange(POISON)
        for start in range(-first, memory.numel(), POISON):
            part = memory[max(start, 0) : start + POISON]
            part.copy_(self._poisons[max(-start, 0) :][: part.numel()])

    def release(self, block: Block) -> None:
        """Wipe the memory and give it back; never raises: a fault shows at the next synchronisation."""
        real, block.real = block.real, None
        if real is None or self._lost is not None:
            return
        try:
            real.tensor.fill_(WIPED)
        except RuntimeError:
            with contextlib.suppress(Fault):
                self.synchronize()

    def tensor(self, block: Block, offset: int, dtype: Any, size: Sequence[int], stride: Sequence[int]) -> Any:
        """A view on the block. Waits for kernels, so that their faults are not taken for the copy's."""
        import torch

        self._check()
        if self._since:
            self.synchronize()
        real = block.real
        first = real.pad // dtype.itemsize + offset
        return torch.empty(0, dtype=dtype, device=self.gpu.device).set_(
            real.tensor.untyped_storage(), first, tuple(size), tuple(stride)
        )

    def write(self, block: Block, data: memoryview) -> None:
        """Copy in."""
        import torch

        self._check()
        if len(data):
            host = torch.frombuffer(bytearray(data) if data.readonly else data, dtype=torch.uint8)
            with self._torch(f"{len(data)} bytes"):
                self._bytes(block, len(data)).copy_(host)

    def read(self, block: Block, nbytes: int) -> bytes:
        """Copy out; waits."""
        self._check()
        with self._torch(f"{nbytes} bytes"):
            return bytes(self._bytes(block, nbytes).cpu().numpy())

    def _bytes(self, block: Block, nbytes: int) -> Any:
        real = block.real
        return real.tensor[real.pad : real.pad + nbytes]

    @contextlib.contextmanager
    def _torch(self, what: str) -> Iterator[None]:
        """Tell PyTorch's errors apart: no memory, a kernel's fault that shows late, a defect of ours."""
        import torch

        try:
            yield
        except torch.OutOfMemoryError:
            raise Fault("memory", f"out of device memory: the GPU has no room for {what} more") from None
        except RuntimeError:
            self.synchronize()
            raise

    # Kernels -------------------------------------------------------------------------------------------------

    def load(self, kernel: Kernel) -> Any:
        """Load the cubin. What the device has no room for is refused when it is launched, and told to the guest before.

        Adds `most_shared` to the kernel's facts: with it Triton in the guest raises its own OutOfResources.
        """
        facts = kernel.facts
        sizes = [(facts.get(f"{k}_scratch_size") or 0, facts.get(f"{k}_scratch_align") or 1) for k in _SCRATCH]
        loaded = _Loaded(
            kernel.name, kernel.shared, WARP * int(facts.get("num_warps") or 4), int(facts.get("num_ctas") or 1),
            bool(facts.get("launch_cooperative_grid")), bool(facts.get("prints")),
            tuple((int(size), int(align)) for size, align in sizes),
            None if (fence := facts.get(FENCE)) is None else tuple((int(a), str(w), int(n)) for a, w, n in fence),
        )  # fmt: skip
        if self._lost is not None:
            return loaded  # nobody will launch it: this process is replaced
        try:
            function = loaded.function = self.driver.load(kernel.binary, kernel.name, kernel.shared)
        except CudaError as error:
            if error.sticky:
                self._lose(error)
            loaded.refusal = f"the GPU does not take kernel '{kernel.name}': {error}"
            return loaded
        facts["most_shared"] = most = self.driver.most_shared - function.static_shared
        if kernel.shared > most:
            loaded.refusal = (
                f"kernel '{kernel.name}' is out of resources: shared memory, required {kernel.shared}, limit {most}; "
                "smaller blocks or num_stages may help"
            )
        elif loaded.threads > function.most_threads:
            loaded.refusal = (
                f"kernel '{kernel.name}' is out of resources: threads, required {loaded.threads}, limit "
                f"{function.most_threads} with its {function.registers} registers; a smaller num_warps may help"
            )
        return loaded

    def launch(self, call: Call) -> str:
        """Queue a launch; waits for kernels that print or assert, and for all in blocking mode."""
        self._check()
        loaded: _Loaded = call.kernel
        if loaded.refusal:
            raise Fault("launch", loaded.refusal)
        grid = call.grid
        if min(grid) < 0 or grid[0] * loaded.ctas > MOST_X or max(grid[1:]) > MOST_YZ:
            raise Fault(
                "launch",
                f"kernel '{loaded.name}': the GPU has no grid {grid}; the most is ({MOST_X // loaded.ctas}, {MOST_YZ}, "
                f"{MOST_YZ})",
            )
        slots, parameters = self._pack(loaded, call)
        if 0 in grid:
            return ""
        seen = None
        own = len(call.values)
        if loaded.fence is not None:
            seen = self._scratch(_fence.BUFFER, 1).zero_()
            own = self._enclose(slots, call, seen)
        programs = grid[0] * grid[1] * grid[2] * loaded.ctas
        scratch = []
        for position, (size, align) in enumerate(loaded.scratch, own):
            slots[position] = 0
            if size:
                memory = self._scratch(size * programs, align)
                scratch.append(memory)
                slots[position] = memory.data_ptr() + -memory.data_ptr() % align
        if not loaded.prints:
            self._queue(loaded, grid, parameters)
            printed = ""
        else:
            printed = self._listen(loaded, grid, parameters)
        for memory in scratch:  # the allocator gives it to nobody before the stream has come to here
            with self._torch("wiping"):
                memory.fill_(WIPED)
        if seen is not None:
            self._look(loaded, call, seen)
        return printed

    def _enclose(self, slots: Any, call: Call, seen: Any) -> int:
        """Tell a fenced kernel where each of its pointers may go; returns the number of parameters so far."""
        position = len(call.values)
        for kind, block in zip(call.kinds, call.blocks, strict=True):
            if kind.startswith("*"):
                low = 0 if block is None else block.real.address
                slots[position], slots[position + 1] = low, low + (0 if block is None else block.nbytes)
                position += 2
        slots[position] = seen.data_ptr()
        return position + 1

    def _look(self, loaded: _Loaded, call: Call, seen: Any) -> None:
        """Wait for a fenced kernel, and raise the fault of an access that left its argument."""
        import torch

        assert loaded.fence is not None
        self.synchronize()
        with self._torch("what a kernel did"):
            number = int(seen[:4].view(torch.int32).item())
        if not number:
            return
        argument, what, line = loaded.fence[number - 1]
        place = [place for place, kind in enumerate(call.kinds) if kind.startswith("*")][argument]
        block = call.blocks[place]
        where = "nothing, it is null" if block is None else block.describe()
        at = f", line {line}" if line else ""
        short = f"kernel '{loaded.name}'{at}: a {_WORDS[what]} through '{call.names[place]}' leaves its memory"
        raise Fault("fault", f"{short}: {where}", short)

    def prepare(self, call: Call) -> Callable[[], object]:
        """A function that queues a launch again, with parameters and scratch memory of its own."""
        loaded: _Loaded = call.kernel
        shared, _ = self._pack(loaded, call)
        grid, driver, stream, function = call.grid, self.driver, self.gpu.stream, loaded.function
        if 0 in grid or function is None:
            return lambda: None
        slots = (ctypes.c_uint64 * len(shared))(*shared)
        base = ctypes.addressof(slots)
        parameters = (ctypes.c_void_p * len(slots))(*(base + 8 * n for n in range(len(slots))))
        programs = grid[0] * grid[1] * grid[2] * loaded.ctas
        kept: list[Any] = [slots]
        for position, (size, align) in enumerate(loaded.scratch, len(call.values)):
            slots[position] = 0
            if size:
                memory = self._scratch(size * programs, align)
                kept.append(memory)
                slots[position] = memory.data_ptr() + -memory.data_ptr() % align

        def queue(_: Any = kept) -> None:
            try:
                driver.launch(
                    function, grid, loaded.threads, loaded.shared, parameters, stream, loaded.ctas, loaded.cooperative
                )
            except CudaError as error:
                if error.sticky:
                    raise self._lose(error) from None
                raise Fault("launch", f"kernel '{loaded.name}' could not be launched: {error}") from None
            self._since[loaded.name] = None

        return queue

    def stopwatch(self) -> Stopwatch:
        """Events of the driver's."""
        from bringup.targets._cuda_clock import CudaStopwatch

        return CudaStopwatch(self.gpu, self.number, self.synchronize)

    def _pack(self, loaded: _Loaded, call: Call) -> tuple[Any, Any]:
        """Put the arguments into their slots; behind them is what a fence takes, then pointers to scratch memory."""
        more = 0 if loaded.fence is None else 2 * sum(kind.startswith("*") for kind in call.kinds) + 1
        slots, parameters = loaded.parameters(len(call.values) + more + len(loaded.scratch))
        for position, (value, block) in enumerate(zip(call.values, call.blocks, strict=True)):
            if isinstance(value, bytes):
                slots[position] = int.from_bytes(value, "little")
                continue
            if block is not None and not block.freed and 0 <= value - block.base <= block.nbytes:
                slots[position] = block.real.address + (value - block.base)
                continue
            if value == 0:  # of a tensor without elements, whatever its storage is
                slots[position] = 0
                continue
            where = "memory that the device never allocated" if block is None else f"outside of {block.describe()}"
            if block is not None and block.freed:
                where = block.describe()
            name = call.names[position]
            raise Fault("launch", f"kernel '{loaded.name}': argument '{name}' points to {where}")
        return slots, parameters

    def _scratch(self, nbytes: int, align: int) -> Any:
        import torch

        with self._torch(f"{nbytes} bytes of a kernel's scratch memory"):
            return torch.empty(nbytes + align - 1, dtype=torch.uint8, device=self.gpu.device)

    def _queue(self, loaded: _Loaded, grid: tuple[int, int, int], parameters: Any) -> None:
        driver, stream, function = self.driver, self.gpu.stream, loaded.function
        assert function is not None
        counts = self._profile and len(self._records) < MOST_RECORDS
        try:
            before = driver.mark(stream) if counts else 0
            driver.launch(
                function, grid, loaded.threads, loaded.shared, parameters, stream, loaded.ctas, loaded.cooperative
            )
            if counts:
                self._records.append(_Record(_facts(loaded, function, grid), before, driver.mark(stream)))
        except CudaError as error:
            if error.sticky:
                raise self._lose(error) from None
            kind: FaultKind = "memory" if error.code == OUT_OF_MEMORY else "launch"
            raise Fault(kind, f"kernel '{loaded.name}' could not be launched: {error}") from None
        self._since[loaded.name] = None
        if self._blocking:
            self.synchronize()

    def _listen(self, loaded: _Loaded, grid: tuple[int, int, int], parameters: Any) -> str:
        """Launch and wait, with standard output and error of this process in our hands: the driver writes to them."""
        self.synchronize()
        fault: Fault | None = None
        with captured() as heard:
            try:
                self._queue(loaded, grid, parameters)
                self.synchronize()
            except Fault as error:
                fault = error
        text = heard[0]
        if fault is not None:
            fault.dump = f"{fault.text}\n{text}".rstrip()
            raise fault
        return text

    def synchronize(self) -> None:
        """Wait; raises the fault of what failed, also when it was raised before."""
        self._check()
        try:
            self.driver.synchronize()
        except CudaError as error:
            raise self._lose(error) from None
        self._since.clear()

    def _check(self) -> None:
        if self._lost is not None:
            raise self._lost

    def _lose(self, error: CudaError) -> Fault:
        """The context is gone: remember why. No data is in the text."""
        if error.lost:
            self._lost = Fault("lost", f"CUDA device {self.number} has failed: {error}")
            return self._lost
        names = [f"'{name}'" for name in self._since]
        advice = ""
        if not names:
            who = "the GPU"
        elif len(names) == 1:
            who = f"kernel {names[0]}"
        else:
            who = f"one of the kernels {', '.join(names[-NAMED:])}"
            advice = f"; with {BLOCKING}=1 it is known which"
        short = f"{who} was stopped: {error.words} ({error.name})"
        self._lost = Fault("fault", short + advice, short)
        return self._lost

    # A case --------------------------------------------------------------------------------------------------

    def begin(self, mode: dict[str, Any]) -> None:
        """`profile`: time every launch; `blocking`: wait after every launch. The order is the hardware's own."""
        for record in self._records:
            self._forget(record)
        self._records = []
        self._profile = bool(mode.get("profile"))
        self._blocking = self._always or bool(mode.get("blocking"))

    def counters(self) -> list[dict[str, Any]]:
        """The launches with their time on the GPU; without times after a fault."""
        if self._lost is None and self._records:
            with contextlib.suppress(Fault):
                self.synchronize()
        found = []
        for record in self._records:
            facts = dict(record.facts)
            if self._lost is None:
                with contextlib.suppress(CudaError):
                    facts["microseconds"] = round(self.driver.microseconds(record.before, record.after), 3)
            found.append(facts)
        return found

    def _forget(self, record: _Record) -> None:
        if self._lost is None:
            self.driver.forget(record.before)
            self.driver.forget(record.after)

    def broken(self) -> bool:
        """Whether the context is lost."""
        return self._lost is not None


_WORDS = {"load": "load", "store": "store", "atomic_rmw": "read and write", "atomic_cas": "compare and swap"}
_SCRATCH = ("global", "profile")  # in the order of the compiled kernel's last parameters


def _facts(loaded: _Loaded, function: Function, grid: tuple[int, int, int]) -> dict[str, Any]:
    return {
        "kernel": loaded.name,
        "grid": list(grid),
        "num_warps": loaded.threads // WARP,
        "shared_bytes": loaded.shared + function.static_shared,
        "registers": function.registers,
        "local_bytes": function.local_bytes,
    }
