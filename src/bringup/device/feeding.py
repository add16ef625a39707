"""On which of a call's data what kernels have written may hang: they were given them, or copies of all that is there.

What copies have brought is looked up where it is (`origins`); what kernels were given is kept of the storages that they
may have written. The same in the judge, where a storage goes by its address, and in use, where it goes by a number.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from bringup.device.memory import WRITER, Map, codes
from bringup.device.origins import Extent, Origins
from bringup.device.wire import Malformed
from bringup.vpe.memory import ASKED, COPIED, INPUT, LAUNCHED, SPREAD


@dataclass(frozen=True)
class Fed:
    """What was given."""

    whole: frozenset[int] = frozenset()
    """Arguments, by the address or the number of their storage, all of whose data were."""
    parts: Mapping[int, Map] = field(default_factory=dict)
    """Of others, bool[bytes]: those that were."""

    def __bool__(self) -> bool:
        """Whether anything was."""
        return bool(self.whole or self.parts)


NOTHING = Fed()
MOST_PARTS = 512 << 20  # bytes of all parts that are kept for a call


def check_parts(feds: Iterable[Fed]) -> None:
    """Raise Malformed where it takes too much memory to keep what all storages of a call were given."""
    kept = {id(part): len(part) for fed in feds for part in fed.parts.values()}
    if sum(kept.values()) > MOST_PARTS:
        raise Malformed("kernels are given parts of arguments in more places than can be followed")


def together(feds: Iterable[Fed], covers: Callable[[int, Map], bool]) -> Fed:
    """What was given with some storages, taken together.

    Args:
        feds: with each.
        covers: whether some bytes of an argument are all that it holds of the call's data.
    """
    feds = list(feds)
    whole = frozenset[int]().union(*(fed.whole for fed in feds))
    parts: dict[int, Map] = {}
    for fed in feds:
        for base, part in fed.parts.items():
            if base not in whole:
                parts[base] = parts[base] | part if base in parts else part
    done = frozenset(base for base, part in parts.items() if covers(base, part))
    return Fed(whole | done, {base: part for base, part in parts.items() if base not in done})


def made(by: Map) -> bool:
    """Whether a kernel wrote some of the bytes that have these codes."""
    writers = by & WRITER
    return bool(((writers == LAUNCHED) | (writers == SPREAD)).any())


def made_beside(by: Map, extent: Extent) -> bool:
    """Whether a kernel wrote some of the bytes of a storage that are not a tensor's."""
    shown = np.zeros(len(by), bool)
    if 0 not in extent[2]:
        codes(shown, *extent)[...] = True
    return made(by[~shown])


def with_own(parts: dict[int, Map], own: int | None, by: Map) -> dict[int, Map]:
    """What of arguments is in a storage, together with what it holds by itself.

    Args:
        parts: what copies have brought there.
        own: the argument that it is; None where it is none that holds data.
        by: codes of its bytes.
    """
    return parts if own is None else {**parts, own: parts.get(own, False) | (by & COPIED == 0)}


def holds(fed: Fed, base: int, by: Map, extent: Extent) -> bool:
    """Whether all that a tensor of an argument holds was given; `by`: codes of its storage's bytes."""
    if base in fed.whole or base not in fed.parts:
        return base in fed.whole
    shown = np.zeros(len(by), bool)
    codes(shown, *extent)[...] = True
    return holds_all(by, fed.parts[base] | ~shown)


def holds_all(by: Map, shown: Map) -> bool:
    """Whether bool[bytes] has all bytes that are an argument's by their codes."""
    return not (((by & WRITER) == INPUT) & ~shown).any()


def ask(by: Map) -> None:
    """Note of all bytes that are an argument's that a kernel which may write them was given what decides on them."""
    by[(by & WRITER) == INPUT] |= np.uint8(ASKED)


def asked(by: Map) -> bool:
    """Whether, of some codes, all bytes that are an argument's have been asked about."""
    return not ((by & np.uint8(WRITER | ASKED)) == INPUT).any()


Decides = Literal["data", "launch", "nobody"]
"""What a kernel must have been given that finds out what stays: what decides on it, the memory alone, or nothing."""


class Feeding:
    """What the kernels of one call were given, and whether that is enough for who reads, and for what stays."""

    def __init__(
        self, map_of: Callable[[int], Map], data: Collection[int], origins: Origins, *, decides: Decides | None = None,
        choosing: Iterable[tuple[int, Extent]] = (), sought: Iterable[tuple[int, Extent]] = (),
        operands: Iterable[tuple[int, Extent]] = (), followed: bool = True,
    ) -> None:  # fmt: skip
        """Nothing is done yet.

        Args:
            map_of: the codes of a storage's bytes, as they are when it is asked.
            data: arguments, by their storages, that hold data of the call.
            origins: where their bytes are.
            decides: what a kernel must have been given that finds out what stays; None where nothing may.
            choosing: tensors that say which elements stay, each with where it is in its storage.
            sought: tensors on which the number hangs that is read first.
            operands: all tensors of the call that hold data, of which one must be known where another number is read.
            followed: whether it is kept who wrote which byte; else what was brought to a storage once stays there.
        """
        self._map_of, self.data, self.origins, self._decides = map_of, frozenset(data), origins, decides
        self._choosing, self._sought, self._operands = (
            [one for one in some if one[0] in self.data and 0 not in one[1][2]] for some in (choosing, sought, operands)
        )
        self._followed = followed and not origins.unknown
        self._told: dict[int, Fed] = {}  # by storage: what those were given that wrote there
        self._read = False

    def _covers(self, argument: int, part: Map) -> bool:
        return holds_all(self._map_of(argument), part)

    def _together(self, feds: Iterable[Fed]) -> Fed:
        return together(feds, self._covers)

    def _holds(self, fed: Fed, tensors: Iterable[tuple[int, Extent]]) -> bool:
        return all(holds(fed, storage, self._map_of(storage), extent) for storage, extent in tensors)

    def given(self, storage: int) -> Fed:
        """What a kernel is given with a storage: what lies there, and what those were given that wrote there."""
        own, told = storage if storage in self.data else None, self._told.get(storage, NOTHING)
        if not self._followed or not (told or self.origins.touched(storage)):
            return told if own is None else Fed(told.whole | {own}, told.parts)
        by = self._map_of(storage)
        there = Fed(frozenset(), with_own(self.origins.parts(storage, by), own, by))
        return self._together([there, told if made(by) else NOTHING])

    def copied(self, source: int, taken: Extent, target: int, put: Extent) -> None:
        """A copy is about to be made, of a tensor in a storage to one in another. Raises Malformed."""
        if 0 in taken[2]:
            return
        if not self._followed:
            found = [self.given(source), self._told.get(target, NOTHING)]
        else:
            by, mine = self._map_of(source), self._map_of(target)
            self.origins.copied(source, by, taken, target, len(mine), put)
            found = [self._told.get(source, NOTHING)] if made(codes(by, *taken)) else []
            found += [self._told.get(target, NOTHING)] if made_beside(mine, put) else []
        self._told[target] = self._together(found)

    def launched(self, told: Sequence[tuple[int, Collection[int]]]) -> None:
        """A kernel runs; `told`: storages that it may write, each with those on which that may hang. Raises Malformed.

        What no kernel may write hangs on nothing that one was given.
        """
        before = {storage: self.given(storage) for one, others in told for storage in (one, *others)}
        for storage, others in told:
            fed = self._together([before[storage], *(before[other] for other in others)])
            self._told[storage] = self._together([self._told.get(storage, NOTHING), fed])
            if fed.parts:
                check_parts(self._told.values())
            if self._decides == "launch" or (self._decides == "data" and self._chooses(fed)):
                ask(self._map_of(storage))

    def _chooses(self, fed: Fed) -> bool:
        """Whether a kernel was given what says which elements stay, and some of all other data."""
        return fed.whole.union(fed.parts) >= self.data and self._holds(fed, self._choosing)

    def freed(self, storage: int) -> None:
        """Forget a storage."""
        self._told.pop(storage, None)
        self.origins.freed(storage)

    def enough(self, storage: int) -> bool:
        """Whether what the host reads of a storage, some elements of it, was computed from what decides on it."""
        sought = [] if self._read else self._sought
        self._read = True
        fed = self.given(storage)
        if sought:
            return self._holds(fed, sought)
        return not self._operands or any(self._holds(fed, [one]) for one in self._operands)

    def stays(self, storage: int, extent: Extent) -> bool:
        """Whether each byte of a tensor that is an argument's may stay: a kernel was asked, and it is where it was."""
        by = self._map_of(storage)
        return (self._decides == "nobody" or asked(codes(by, *extent))) and self.origins.stay(storage, by, extent)
