"""The guest's device memory: addresses without contents. PyTorch's device layer of vpe asks here instead of allocating.

`Handles` is what `bringup.vpe.device` calls a remote memory: tensors are real tensors of the device, with strides,
offsets and views; their bytes are in the device process.
"""

from __future__ import annotations

from typing import Any

import torch

from bringup.device import space
from bringup.device.checks import SHARED, shares
from bringup.device.stream import Stream
from bringup.device.wire import ADDRESS, ALLOCATION, Command, Descriptor
from bringup.vpe.device import tensors
from bringup.vpe.device.allocator import Owner, Statistics

_NAMES = {getattr(torch, name): name for name in dir(torch) if isinstance(getattr(torch, name), torch.dtype)}
MOST_FREE = 256  # addresses of one size that are remembered
_DTYPE_NAMES = {dtype: str(dtype).removeprefix("torch.") for dtype in _NAMES}


class Handle:
    """One address range of the guest's."""

    __slots__ = ("base", "freed", "label", "marks", "nbytes", "sequence")

    def __init__(self, base: int, nbytes: int, sequence: int) -> None:
        self.base, self.nbytes, self.sequence = base, nbytes, sequence
        self.marks, self.freed, self.label = None, False, ""


class Handles:
    """Hands out addresses and tells the device process; every touch of contents is a command.

    Each address is given once, but in calls that ask for it: where nothing runs, nothing is kept at any address.
    """

    def __init__(self, alignment: int, limit: int | None = None) -> None:
        """`alignment` of allocations and `limit` of live ones, both in bytes."""
        self.alignment, self.limit = max(alignment, space.ALIGNMENT), limit
        self.statistics = Statistics()
        self.stream: Stream | None = None
        self._next = space.BASE
        self._free: dict[int, list[int]] = {}  # addresses that earlier calls have freed, by bytes
        self._freed: list[Any] = []  # in the latest call
        self._given_again = self._spare = False
        self._failing = 0

    def start(self, stream: Stream) -> None:
        """Begin to use a stream, in the freshly forked guest."""
        self.stream = stream

    def begin(self, *, again: bool = False, spare: bool = False, failing: int = 0) -> None:
        """Begin a call.

        `again`: addresses that earlier ones have freed are given again, as most allocators do; `spare`: where there are
        no others left. `failing`: which allocation finds no memory, counted from 1; 0 for none.
        """
        self._given_again, self._spare, self._failing = again, spare, failing
        freed, self._freed = self._freed, []
        for handle in freed:
            known = self._free.setdefault(handle.nbytes, [])
            known.append(handle.base)
            del known[:-MOST_FREE]

    def _place(self, nbytes: int) -> int:
        base = space.after(self._next, 0, self.alignment)
        again = self._given_again or (self._spare and base + nbytes > space.MIDDLE)
        return self._free[nbytes].pop() if again and self._free.get(nbytes) else base

    @property
    def _open(self) -> Stream:
        if self.stream is None:
            raise RuntimeError(
                "the device is there for calls of the wrapper: a module does not use it while it is loaded"
            )
        return self.stream

    # What tensors are made of ----------------------------------------------------------------------------------

    def allocate(self, nbytes: int) -> Owner:
        """An address for `nbytes` bytes. Raises torch.OutOfMemoryError."""
        base, statistics = self._place(nbytes), self.statistics
        self._failing -= 1
        if (
            not self._failing
            or base + nbytes > space.MIDDLE
            or (self.limit is not None and statistics.allocated + nbytes > self.limit)
        ):
            raise torch.OutOfMemoryError(
                f"out of device memory: {nbytes} bytes asked for, {statistics.allocated} in use"
            )
        self._next = max(self._next, base + nbytes)
        self._open.put(Command.ALLOC, ALLOCATION.pack(base, nbytes))
        statistics.allocations += 1
        statistics.allocated += nbytes
        statistics.total_allocated += nbytes
        statistics.peak_allocated = max(statistics.peak_allocated, statistics.allocated)
        return Owner(Handle(base, nbytes, statistics.allocations), self._release)  # type: ignore[arg-type]

    def _release(self, handle: Any) -> None:
        self.statistics.allocated -= handle.nbytes
        self.statistics.frees += 1
        self._freed.append(handle)
        if self.stream is not None:
            self.stream.later(Command.FREE, ADDRESS.pack(handle.base))

    def input(self, base: int, nbytes: int) -> Any:
        """A storage on memory that the referee has filled."""
        return tensors.storage_at(base, nbytes) if nbytes else tensors.new_storage(0)

    def copy(self, source: Any, target: Any) -> None:
        """Copy within the device: the same dtype, broadcast as PyTorch does."""
        if source.dtype != target.dtype:
            raise NotImplementedError(
                f"a copy that changes the dtype ({_short(source)} to {_short(target)}) computes: do it in a kernel"
            )
        for tensor in (source, target):
            if tensor.is_conj() or tensor.is_neg():
                raise NotImplementedError("a copy of a lazily conjugated or negated tensor computes: do it in a kernel")
        if target.numel():
            taken, put = described(source.expand_as(target)), described(target)
            if shares(taken, put):
                raise RuntimeError(f"unsupported operation: a copy between {SHARED}")
            self._open.put(Command.COPY, taken.pack() + put.pack())

    def upload(self, source: Any, target: Any) -> None:
        """Send host values to the device."""
        host = source.detach().resolve_conj().resolve_neg().to(target.dtype).expand(target.shape)
        if host.numel():
            flat = host.clone(memory_format=torch.contiguous_format).reshape(-1)
            self._open.put(Command.UPLOAD, describe(target) + bytes(flat.view(torch.uint8).numpy()))

    def read(self, source: Any) -> Any:
        """A host copy of a tensor: counted, and refused where the operator does not need it."""
        if source.numel() == 0:
            return torch.empty(source.shape, dtype=source.dtype, device="cpu")
        if source.is_conj() or source.is_neg():
            raise NotImplementedError("reading a lazily conjugated or negated tensor computes: do it in a kernel")
        _, data = self._open.ask(Command.READ, describe(source))
        return torch.frombuffer(bytearray(data), dtype=torch.uint8).view(source.dtype).view(source.shape)

    # What `torch.vpe` and others ask of an allocator ---------------------------------------------------------------

    def raise_damage(self) -> None:
        """Nothing to wait for: the device works when the wrapper has returned."""

    check = raise_damage

    def live(self) -> list[Any]:
        """Nothing to look at here."""
        return []

    def find(self, address: int) -> None:
        """Nobody knows here what an address holds."""

    nearest = find

    def reset_peak(self) -> None:
        """Let the largest use start again."""
        self.statistics.peak_allocated = self.statistics.allocated

    def empty_cache(self) -> None:
        """Nothing is kept."""


def describe(tensor: Any) -> bytes:
    """The descriptor of a tensor of the device, as bytes."""
    return described(tensor).pack()


def described(tensor: Any) -> Descriptor:
    """The descriptor of a tensor of the device."""
    base = tensor.untyped_storage().data_ptr()
    address = base + tensor.storage_offset() * tensor.element_size()
    size = tuple(tensor.shape)
    return Descriptor(base, address, _short(tensor), size, tuple(tensor.stride()))


def _short(tensor: Any) -> str:
    return _DTYPE_NAMES[tensor.dtype]
