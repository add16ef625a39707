"""The door for targets: what a device does behind the wall. One engine lives in each device process.

An engine sees addresses of the reserved range (`space`) and blocks of memory (`memory.Block`), and runs compiled
kernels; it never sees a candidate's Python. Everything that it may raise for a kernel's doing is a `Fault`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from bringup.device.memory import Block

FENCE = "fence"
"""Mode of a call, and option of a kernel's text: each access is checked against its argument, by the kernel itself."""

FaultKind = Literal["fault", "launch", "memory", "time", "lost"]


class Fault(Exception):
    """What stopped the device. `short` is what the guest may know: it holds no data.

    Kinds: `fault`, a kernel was stopped; `launch`, a launch broke a rule before it ran; `memory`, there is no more;
    `time`, the call's kernels took longer than they may by the device's own measure; `lost`, the device itself has
    failed, which no kernel does: there is no verdict, but an error of the environment.
    """

    def __init__(self, kind: FaultKind, text: str, short: str = "", dump: str = "") -> None:
        super().__init__(text)
        self.kind, self.text, self.short, self.dump = kind, text, short or text, dump


@dataclass(frozen=True)
class Kernel:
    """A compiled kernel as the compiling process hands it over, and what a launcher must know of it."""

    binary: bytes
    name: str
    shared: int = 0
    """Bytes of local or shared memory of a program."""
    facts: dict[str, Any] = field(default_factory=dict)
    """What else the engine wants to know: number of warps, scratch sizes."""


@dataclass(frozen=True)
class Call:
    """One launch."""

    kernel: Any
    """What `Engine.load` returned."""
    grid: tuple[int, int, int]
    names: Sequence[str]
    kinds: Sequence[str]
    """Triton's types of the arguments: `*fp32`, `i32`."""
    values: Sequence[int | bytes]
    """Addresses of the reserved range for pointers, eight packed bytes for scalars."""
    blocks: Sequence[Block | None]
    """The block behind each pointer, None for scalars and null pointers."""
    constants: dict[str, Any]
    """Compile-time constants by name, for messages."""


@runtime_checkable
class Engine(Protocol):
    """A device behind the wall. All methods run in the device process.

    One that limits what a call takes may have `copied(nbytes)` as well: asked before each copy within the device, and
    after each allocation, it raises Fault("time") where copies, allocations and launches together take too much.
    """

    exact: bool
    """Whether launches mark each byte that they write in `Block.written_by`; otherwise they count for all of it."""
    alignment: int
    """Bytes: of every allocation."""

    def start(self, describe: Callable[[int], str]) -> None:
        """Make the context, after the fork; `describe` says in a line what lies at or near an address.

        Raises RuntimeError where the device does not answer.
        """
        ...

    def allocate(self, block: Block) -> None:
        """Put memory filled with poison behind a block. Raises Fault("memory")."""
        ...

    def release(self, block: Block) -> None:
        """Take the memory away, wiped; the block's addresses are never used again."""
        ...

    def tensor(self, block: Block, offset: int, dtype: Any, size: Sequence[int], stride: Sequence[int]) -> Any:
        """A torch tensor on the block's memory (offset in elements), for copies."""
        ...

    def write(self, block: Block, data: memoryview) -> None:
        """Fill a block from host memory."""
        ...

    def read(self, block: Block, nbytes: int) -> bytes:
        """The first bytes of a block."""
        ...

    def load(self, kernel: Kernel) -> Any:
        """Make a kernel ready to launch."""
        ...

    def launch(self, call: Call) -> str:
        """Run a kernel, or queue it; returns what it printed. Raises Fault."""
        ...

    def synchronize(self) -> None:
        """Wait for everything; raises the Fault of what failed."""
        ...

    def begin(self, mode: dict[str, Any]) -> None:
        """A case begins: `order` (seed of the programs' order or None), `profile` (whether to count).

        Where the user asks for them, `race` (two programs that touch the same byte are a fault) and `blocking` (wait
        after each launch) are true; a device that has no such mode takes no notice.
        `lines`: whether a simulator also counts by line of the kernels' source, however long that takes.
        """
        ...

    def counters(self) -> list[dict[str, Any]]:
        """Counters of the launches since the case began, as plain data; empty where nothing is counted.

        `microseconds`, where an engine has a clock of its own, is a launch's time on the device: tuners choose by it.
        """
        ...

    def broken(self) -> bool:
        """Whether the device process must be replaced: a fault that the context does not survive."""
        ...


@runtime_checkable
class Stopwatch(Protocol):
    """A device's own clock, and what is known of the device's health while it measures."""

    device: Any
    """PyTorch's name for the device, on which a reference is called; None where PyTorch has no kernels for it."""

    def elapsed(self, body: Callable[[], object], queueing: float, flush: bool) -> tuple[float, float]:
        """Seconds on the device between the start and the end of what `body` queues, and seconds of queueing it.

        `queueing` is what the latter took before: the device is held up so long beforehand that it never waits for the
        host. `flush`: write over the last-level cache first. Raises Fault.
        """
        ...

    def health(self) -> dict[str, Any]:
        """Clocks in MHz, temperature in degrees Celsius, `throttled`: reasons in words; `missing`: why not known."""
        ...


@runtime_checkable
class TimedEngine(Engine, Protocol):
    """An engine whose device has a clock that repeated launches can be timed by."""

    def prepare(self, call: Call) -> Callable[[], object]:
        """A function that queues a launch again that has passed all checks before, as fast as it can."""
        ...

    def stopwatch(self) -> Stopwatch:
        """The device's clock."""
        ...
