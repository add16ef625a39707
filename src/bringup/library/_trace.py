"""Who wrote each byte of what a sealed call works on, while it is recorded: the judge's rule on results, in use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bringup.device import space
from bringup.device.checks import check_extent
from bringup.device.lineage import PLAIN, Lineage, carried
from bringup.device.memory import Block, Map, codes, count_codes
from bringup.device.order import PUT, Order, grows
from bringup.device.wire import Descriptor, Malformed
from bringup.judge._provenance import MULTIPLIED, UPLOADED_RESULT
from bringup.library.errors import GuestFailed
from bringup.vpe.memory import COPIED, INPUT, LAUNCHED, SPREAD, UPLOADED

if TYPE_CHECKING:
    from bringup.library._room import View
    from bringup.library._sealed_call import Call

APART = 1 << 40  # bytes between regions where they are said to lie: more than any has
UNWRITTEN = "some of the result was never written"


class Result(NamedTuple):
    """A tensor with elements that a call returns or leaves."""

    view: View
    held: str
    """What is wrong with elements that are what an argument held where they lie; "" for nothing."""
    copied: str
    """What is wrong with elements that are copies of an argument's; "" for nothing."""


class Trace:
    """Of one call."""

    def __init__(self, call: Call, *, once: bool = False) -> None:
        """Nothing is done yet; `once`: the call's copies are known, and multiply nothing."""
        self._given = given = len(call.regions)
        self._arguments = call.placed(lambda region: base_of(region, given))
        self._lineage = None if once else Lineage()
        self._order = Order(self._arguments)

    def disorder(self, copies: Iterable[tuple[View, int, View, int]], sizes: Sequence[Sequence[int]]) -> str:
        """What is wrong with the copies of the call if it only moves elements; "" for nothing.

        `copies`: from where and to where, each with the bytes of its region; `sizes`: of the results.
        """
        order = Order(self._arguments, sizes)
        for view, has, onto, nbytes in copies:
            source, target = descriptor(view, self._given), descriptor(onto, self._given)
            if not grows(source, has, target, nbytes) and not order.keeps(source, target, nbytes):
                return PUT
        return ""

    @property
    def laid(self) -> str:
        """What is wrong, likewise, with the copies that were done, by what they found there."""
        return self._order.odd

    def copied(self, source: View, origin: Map, target: View, block: Map) -> Map:
        """Return the codes of a copy's bytes; those of its source say that they are taken.

        `origin`, `block`: the maps of the two regions. Raises GuestFailed for what no copy may do.
        """
        try:
            return carried(
                self._lineage,
                self._order,
                descriptor(source, self._given),
                self._block(source.region, origin),
                descriptor(target, self._given),
                self._block(target.region, block),
                codes(origin, *source.bytes()),
            )
        except Malformed as error:
            raise GuestFailed(f"its copies: {error}") from None

    def freed(self, region: int) -> None:
        """Forget a region."""
        if self._lineage is not None:
            self._lineage.freed(base_of(region, self._given))

    def odd(self, results: Sequence[Result], map_of: Callable[[int], Map]) -> str:
        """Say what is wrong with where results come from; "" for nothing. `map_of`: the map of a region."""
        regions = list(dict.fromkeys(one.view.region for one in results))
        maps = {region: map_of(region) for region in regions}
        outputs = [
            {"storage": regions.index(view.region),
             "offset": view.offset // view.dtype.itemsize, "width": view.dtype.itemsize,
             "size": view.size, "stride": view.stride}
            for view, _, _ in results
        ]  # fmt: skip
        blocks = [self._block(region, maps[region]) for region in regions]
        lineage = self._lineage
        multiplied = lineage is not None and bool(lineage) and lineage.multiplied(blocks, outputs)
        for view, held, copied in results:
            by = maps[view.region]
            check_extent(view.offset, view.dtype.itemsize, view.size, view.stride, len(by))
            mine = codes(by, *view.bytes()) & np.uint8(PLAIN)
            found = set(count_codes(mine))
            if 0 in found:  # of what it may not read, as `out`, nothing counts as there
                return UNWRITTEN
            if found & {UPLOADED, UPLOADED | COPIED}:
                return UPLOADED_RESULT
            if found & {SPREAD, SPREAD | COPIED} or (multiplied and LAUNCHED | COPIED in found):
                return MULTIPLIED
            if INPUT in found and held:
                return held
            if INPUT | COPIED in found and copied:
                return copied
        return ""

    def _block(self, region: int, by: Map) -> Block:
        return Block(base_of(region, self._given), len(by), region, "guest", by)


def first_codes(nbytes: int, readable: Map | None) -> Map:
    """The map of a region before a call; None: all of it may be read."""
    found = np.full(nbytes, INPUT, np.uint8)
    if readable is not None:
        found[readable == 0] = 0
    return found


def base_of(region: int, given: int) -> int:
    """Where a region is said to begin: those of `given` arguments where inputs are, each far from the others."""
    return space.MIDDLE + region * APART if region < given else region - given + 1


def descriptor(view: View, given: int) -> Descriptor:
    """A view as the judge's device is told of one."""
    base = base_of(view.region, given)
    return Descriptor(base, base + view.offset, str(view.dtype).removeprefix("torch."), view.size, view.stride)
