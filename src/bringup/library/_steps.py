"""The commands of a sealed call: each was checked against the sizes of the regions, and runs in any room."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

from bringup.device.memory import stretches
from bringup.device.seeds import SEED
from bringup.library._room import Room, View
from bringup.library.errors import GuestFailed
from bringup.vpe import launch, memory
from bringup.vpe.device import tensors

WORD = np.dtype(np.int64)
KERNEL_KIB = 16  # that a launch adds to what is kept


@dataclass(frozen=True)
class Allocate:
    """Memory of the call's own, the next region."""

    nbytes: int

    def run(self, regions: Room) -> None:
        """Do it."""
        regions.moves(self.nbytes)
        regions.regions.append(
            tensors.make_tensor(tensors.new_storage(self.nbytes), 0, (self.nbytes,), (1,), torch.uint8)
        )
        regions.allocated()


@dataclass(frozen=True)
class Free:
    """A region is not needed any more."""

    region: int

    def run(self, regions: Room) -> None:
        """Do it."""
        regions.freed(self.region)


@dataclass(frozen=True)
class Copy:
    """A copy within the device."""

    source: View
    target: View

    def run(self, regions: Room) -> None:
        """Do it."""
        regions.written(self.target.region)
        source = self.source.on(regions)
        runs = stretches(self.source.size, self.source.stride, self.target.stride)
        regions.moves(source.numel() * source.element_size(), runs)
        self.target.on(regions).copy_(source)
        regions.copied(self.source, self.target)


@dataclass(frozen=True)
class Upload:
    """Values of the host."""

    target: View
    values: bytearray

    def run(self, regions: Room) -> None:
        """Do it."""
        regions.written(self.target.region)
        target = self.target.on(regions)
        target.copy_(torch.frombuffer(self.values, dtype=target.dtype, count=target.numel()).view(target.shape))
        regions.uploaded(self.target)


@dataclass(frozen=True)
class Alternative:
    """Another kernel that may run with the same arguments."""

    kernel: Any = field(compare=False)
    grid: tuple[int, int, int]
    named: Any
    seconds: float = field(default=0.0, compare=False)
    """Of its trial."""


@dataclass(frozen=True)
class Launch:
    """A launch, with the addresses left open."""

    kernel: Any = field(compare=False)  # `named` says which; one that was tried is loaded for each guest
    grid: tuple[int, int, int]
    named: Any
    packed: Any
    """int64[arguments]: scalars as eight bytes."""
    pointers: tuple[tuple[int, str, int, int], ...]
    """Position among the arguments, name, region, bytes from its beginning; -1 and a pointer into nobody's memory."""
    alternatives: tuple[Alternative, ...] = ()
    """What a tuner has tried with its arguments, itself among it; nothing where there is no choice."""
    choice: int = field(default=0, compare=False)
    """Which of them runs: a matter of time alone."""
    pointed: tuple[int, ...] = field(default=(), compare=False)
    """Bytes of what each pointer points to; of a launch that was just asked for."""
    recast: bool = field(default=False, compare=False)
    """Whether the kernel makes pointers to elements of another size of them."""

    @property
    def chosen(self) -> Launch | Alternative:
        """What runs."""
        return self.alternatives[self.choice % len(self.alternatives)] if self.alternatives else self

    def told(self, one: Launch | Alternative) -> list[tuple[int, list[int]]]:
        """The regions that a kernel may write with these arguments, each with those on which that may hang."""
        at = {position: region for position, _, region, _ in self.pointers if region >= 0}
        flows = getattr(one.named, "flows", None)
        if flows is None:
            return [(region, [*at.values()]) for region in at.values()]
        return [(at[place], [at[other] for other in others if other in at]) for place, others in flows if place in at]

    @property
    def regions(self) -> set[int]:
        """Those that it is given."""
        return {region for _, _, region, _ in self.pointers if region >= 0}  # else a pointer into nobody's memory

    def run(self, regions: Room) -> None:
        """Do it."""
        packed = self.packed.copy()
        if regions.seed is not None:
            packed[packed == SEED] = regions.seed
        buffers: list[memory.Buffer | None] = []
        for position, name, region, offset in self.pointers:
            if region < 0:
                packed[position] = launch.signed(offset)
                buffers.append(None)
                continue
            if regions[region] is None:
                raise GuestFailed("it launches a kernel on memory that it has freed")
            pointer = regions[region].data_ptr() + offset
            packed[position] = launch.signed(pointer)
            buffers.append(regions.buffer(region, name))
        one = self.chosen
        profile = one.named.profile
        with regions.feed(self.told(one) if min(one.grid) > 0 else []):
            launch.run(
                one.kernel, profile, one.grid, one.named, packed, buffers, regions.budget, profile.judged_threads,
                silent=True,  # the data of whoever calls are nobody's to show
            )  # fmt: skip
        for region in self.regions:
            regions.launched(region)


Step = Allocate | Free | Copy | Upload | Launch


def weight(step: Step) -> int:
    """What it takes to keep a step, in KiB, roughly: a kernel is that of many steps."""
    if isinstance(step, Upload):
        return 1 + (len(step.values) >> 10)
    if isinstance(step, Launch):
        ones: list[Launch | Alternative] = [step, *step.alternatives]
        texts = [one.named.constants for one in ones]
        characters = sum(len(value) for constants in texts for value in constants.values() if isinstance(value, str))
        return KERNEL_KIB * len(texts) + (characters >> 8) + (len(step.pointers) >> 2)  # of four bytes; tuples of four
    return 1


def untuned(step: Step) -> Step:
    """A step without what a tuner has tried in its place."""
    return replace(step, alternatives=(), choice=0) if isinstance(step, Launch) and step.alternatives else step
