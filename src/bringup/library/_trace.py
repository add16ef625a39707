"""Who wrote each byte of what a sealed call works on, while it is recorded: the judge's rule on results, in use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from bringup.device.account import Broken
from bringup.device.checks import check_extent
from bringup.device.lineage import PLAIN, Lineage, carried
from bringup.device.memory import Block, Map, codes, count_codes
from bringup.device.order import Order
from bringup.device.wire import Descriptor, Malformed
from bringup.library.errors import GuestFailed
from bringup.vpe.memory import COPIED, INPUT, LAUNCHED, SPREAD, UPLOADED

if TYPE_CHECKING:
    from bringup.library._tapes import View

APART = 1 << 40  # bytes between regions where they are said to lie: more than any has
UNWRITTEN = "some of the result was never written"
MULTIPLIED = "copies have multiplied what a kernel wrote; it must write the whole result"
UPLOADED_RESULT = "bytes of the result were made on the host and copied to the device"
MOVED = "bytes of the result were moved there from an argument by copies; no kernel wrote them"


class Trace:
    """Of one call."""

    def __init__(self, moves: bool) -> None:
        """`moves`: whether moving elements is the operator."""
        self._lineage = Lineage()
        self._order = Order(()) if moves else None

    def copied(self, source: View, origin: Map, target: View, block: Map) -> Map:
        """Return the codes of a copy's bytes; those of its source say that they are taken.

        `origin`, `block`: the maps of the two regions. Raises GuestFailed for what no copy may do.
        """
        try:
            return carried(
                self._lineage,
                self._order,
                _descriptor(source),
                _block(source.region, origin),
                _descriptor(target),
                _block(target.region, block),
                codes(origin, *source.bytes()),
            )
        except (Broken, Malformed) as error:
            raise GuestFailed(f"its copies: {error}" if isinstance(error, Malformed) else str(error)) from None

    def freed(self, region: int) -> None:
        """Forget a region."""
        self._lineage.freed(_base(region))

    def odd(
        self, results: Sequence[View], maps: Sequence[Map | None], given: int,
        left_alone: Sequence[Callable[[torch.Tensor], bool]],
    ) -> str:  # fmt: skip
        """Say what is wrong with where results come from; "" for nothing.

        Args:
            results: tensors with elements.
            maps: of their regions; None where nobody keeps one.
            given: how many regions are the arguments'.
            left_alone: for each, called with which of its elements are copies of an argument: whether these hold what
                an argument holds in the same place.
        """
        regions = list(dict.fromkeys(view.region for view in results))
        known = {view.region: by for view, by in zip(results, maps, strict=True)}
        blocks = [None if (by := known[region]) is None else _block(region, by) for region in regions]
        outputs = [
            {"storage": regions.index(view.region),
             "offset": view.offset // view.dtype.itemsize, "width": view.dtype.itemsize,
             "size": view.size, "stride": view.stride}
            for view in results
        ]  # fmt: skip
        multiplied = bool(self._lineage) and self._lineage.multiplied(blocks, outputs)
        for number, (view, by) in enumerate(zip(results, maps, strict=True)):
            if by is None:
                continue
            check_extent(view.offset, view.dtype.itemsize, view.size, view.stride, len(by))
            mine = codes(by, *view.bytes()) & np.uint8(PLAIN)
            found = set(count_codes(mine))
            found -= {LAUNCHED, *([0, INPUT] if view.region < given else [])}
            if 0 in found:
                return UNWRITTEN
            if found & {UPLOADED, UPLOADED | COPIED}:
                return UPLOADED_RESULT
            if found & {SPREAD, SPREAD | COPIED} or (multiplied and LAUNCHED | COPIED in found):
                return MULTIPLIED
            copies = (mine == INPUT | COPIED).any(axis=-1)
            if copies.any() and not left_alone[number](torch.from_numpy(copies.reshape(-1))):
                return MOVED
        return ""


def first_codes(nbytes: int, readable: Map | None) -> Map:
    """The map of a region before a call; None: all of it may be read."""
    found = np.full(nbytes, INPUT, np.uint8)
    if readable is not None:
        found[readable == 0] = 0
    return found


def views_of(described: Iterator[dict[str, Any]], storages: Sequence[int]) -> Iterator[tuple[int, View]]:
    """Those tensors of a guest's answer that have elements, each with its number, on the call's regions."""
    from bringup.library._tapes import View

    for place, one in enumerate(described):
        if 0 not in one["shape"]:
            dtype = getattr(torch, one["dtype"])
            size, stride = tuple(one["shape"]), tuple(one["stride"])
            yield place, View(storages[one["t"]], int(one["offset"]) * dtype.itemsize, dtype, size, stride)


def _base(region: int) -> int:
    return (region + 1) * APART


def _block(region: int, by: Map) -> Block:
    return Block(_base(region), len(by), region, "guest", by)


def _descriptor(view: View) -> Descriptor:
    base = _base(view.region)
    return Descriptor(base, base + view.offset, str(view.dtype).removeprefix("torch."), view.size, view.stride)
