"""On which of a call's data what kernels have written may hang: they were given them, or copies of all that is there.

What copies have brought is looked up where it is (`origins`); what kernels were given is kept of the storages that they
may have written. The same in the judge, where a storage goes by its address, and in use, where it goes by a number.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from bringup.device.memory import WRITER, Map, codes
from bringup.device.origins import Extent, Origins
from bringup.device.wire import Malformed
from bringup.vpe.memory import ASKED, COPIED, EARLIER, INPUT, LAUNCHED, SPREAD


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


@dataclass(frozen=True)
class Told:
    """What those were given that wrote some bytes of a storage."""

    fed: Fed
    where: Map | None = None
    """bool[bytes]: which; None where that is not followed, and then any of them."""


MOST_PARTS = 512 << 20  # bytes of all parts that are kept for a call


def check_parts(feds: Iterable[Fed], more: int = 0) -> None:
    """Raise Malformed where it takes too much memory to keep what all storages of a call were given.

    `more`: bytes beside that of parts.
    """
    kept = {id(part): len(part) for fed in feds for part in fed.parts.values()}
    if sum(kept.values()) + more > MOST_PARTS:
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


def _same(one: Fed, other: Fed) -> bool:
    alike = one.whole == other.whole and one.parts.keys() == other.parts.keys()
    return alike and all(np.array_equal(part, other.parts[base]) for base, part in one.parts.items())


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


@dataclass
class _Running:
    """A storage that the kernel which runs may write."""

    storage: int
    fed: Fed
    """What it is given there with what it reads."""
    with_own: Fed
    """The same, together with what was given before with the storage."""
    marked: Map | None = None
    """bool[bytes]: those that launches before it have written; None where none is to be told from it."""


class Feeding:
    """What the kernels of one call were given, and whether that is enough for who reads, and for what stays."""

    def __init__(
        self, map_of: Callable[[int], Map], data: Collection[int], origins: Origins, *, decides: Decides | None = None,
        choosing: Iterable[tuple[int, Extent]] = (), sought: Iterable[tuple[int, Extent]] = (),
        operands: Iterable[tuple[int, Extent]] = (), followed: bool = True, exact: bool = False,
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
            exact: whether the codes say which bytes a launch has written, as soon as it has ended.
        """
        self._map_of, self.data, self.origins, self._decides = map_of, frozenset(data), origins, decides
        self._choosing, self._sought, self._operands = (
            [one for one in some if one[0] in self.data and 0 not in one[1][2]] for some in (choosing, sought, operands)
        )
        self._followed = followed and not origins.unknown
        self._told: dict[int, list[Told]] = {}  # by storage
        # A number that is read was written by who was given what decides, not by who wrote there before.
        self._precise = self._followed and exact and bool(self._sought)
        self._running: list[_Running] = []
        self._marks = 0  # bytes of what says where it was told
        self._read = False

    def _covers(self, argument: int, part: Map) -> bool:
        return holds_all(self._map_of(argument), part)

    def _together(self, feds: Iterable[Fed]) -> Fed:
        return together(feds, self._covers)

    def _holds(self, fed: Fed, tensors: Iterable[tuple[int, Extent]]) -> bool:
        return all(holds(fed, storage, self._map_of(storage), extent) for storage, extent in tensors)

    def given(self, storage: int) -> Fed:
        """What a kernel is given with a storage: what lies there, and what those were given that wrote there."""
        own, told = storage if storage in self.data else None, self._told.get(storage, [])
        if not self._followed or not (told or self.origins.touched(storage)):
            fed = self._together(one.fed for one in told)
            return fed if own is None else Fed(fed.whole | {own}, fed.parts)
        by = self._map_of(storage)
        there = Fed(frozenset(), with_own(self.origins.parts(storage, by), own, by))
        return self._together([there, *(one.fed for one in told if made(by if one.where is None else by[one.where]))])

    def copied(self, source: int, taken: Extent, target: int, put: Extent) -> None:
        """A copy is about to be made, of a tensor in a storage to one in another. Raises Malformed."""
        if 0 in taken[2]:
            return
        there, here = self._told.get(source, []), self._told.get(target, [])
        if not self._followed:
            self._told[target] = [Told(self._together([self.given(source), *(one.fed for one in here)]))]
            return
        by, mine = self._map_of(source), self._map_of(target)
        self.origins.copied(source, by, taken, target, len(mine), put)
        if self._precise:
            left = []
            came = [(one.fed, codes(one.where, *taken).copy()) for one in there if one.where is not None]
            for one in here:
                if one.where is not None:
                    where = one.where.copy()
                    codes(where, *put)[...] = False
                    left.append(Told(one.fed, where))
            for fed, which in came:
                where = np.zeros(len(mine), bool)
                codes(where, *put)[...] = which
                left.append(Told(fed, where))
            self._keep(target, left)
            return
        found = [one.fed for one in there] if made(codes(by, *taken)) else []
        found += [one.fed for one in here] if made_beside(mine, put) else []
        self._told[target] = [Told(self._together(found))]

    def _keep(self, storage: int, told: Iterable[Told]) -> None:
        """Note what is known of a storage, of bytes that there are. Raises Malformed."""
        found: list[Told] = []
        for one in told:
            alike = next((n for n, other in enumerate(found) if _same(one.fed, other.fed)), None)
            if one.where is None:
                found.append(one)
            elif alike is not None and (where := found[alike].where) is not None:
                found[alike] = replace(one, where=where | one.where)
            elif one.where.any():
                found.append(one)
        for sign, ones in ((-1, self._told.get(storage, [])), (1, found)):
            self._marks += sign * sum(len(one.where) for one in ones if one.where is not None)
        self._told[storage] = found
        if any(one.fed.parts for one in found):
            check_parts((one.fed for told in self._told.values() for one in told), self._marks)
        elif self._marks > MOST_PARTS:
            check_parts((), self._marks)

    def launching(self, told: Sequence[tuple[int, Collection[int]]]) -> None:
        """A kernel is about to run; `told`: storages that it may write, each with those on which that may hang.

        What no kernel may write hangs on nothing that one was given.
        """
        hangs: dict[int, set[int]] = {}
        for storage, others in told:
            hangs.setdefault(storage, set()).update(others)
        before = {storage: self.given(storage) for one, others in hangs.items() for storage in (one, *others)}
        self._running = []
        for storage, others in hangs.items():
            fed = self._together(before[other] for other in others)
            running = _Running(storage, fed, self._together([before[storage], fed]))
            if self._precise and not all(_same(one.fed, fed) for one in self._told.get(storage, ())):
                by = self._map_of(storage)
                running.marked = (by & WRITER) == LAUNCHED
                by[running.marked] += np.uint8(EARLIER - LAUNCHED)
            self._running.append(running)

    def launched(self) -> None:
        """It has run. Raises Malformed."""
        for one in self._running:
            by, told = self._map_of(one.storage), self._told.get(one.storage, [])
            if not self._precise:
                self._keep(one.storage, [Told(self._together([*(each.fed for each in told), one.with_own]))])
            else:
                new = (by & WRITER) == LAUNCHED
                if one.marked is not None:
                    by[(by & WRITER) == EARLIER] -= np.uint8(EARLIER - LAUNCHED)
                    left = [replace(each, where=each.where & ~new) for each in told if each.where is not None]
                    self._keep(one.storage, [*left, Told(one.fed, new)])
                else:  # all were given the same
                    self._keep(one.storage, [Told(one.fed, new)])
            if self._decides == "launch" or (self._decides == "data" and self._chooses(one.with_own)):
                ask(by)
        self._running = []

    def _chooses(self, fed: Fed) -> bool:
        """Whether a kernel was given what says which elements stay, and some of all other data."""
        return fed.whole.union(fed.parts) >= self.data and self._holds(fed, self._choosing)

    def freed(self, storage: int) -> None:
        """Forget a storage."""
        self._keep(storage, [])
        del self._told[storage]
        self.origins.freed(storage)

    def enough(self, storage: int, extent: Extent) -> bool:
        """Whether what the host reads, some elements of a tensor, was computed from what decides on it."""
        sought = [] if self._read else self._sought
        self._read = True
        if sought and self._precise:  # what decides is the first number
            offset, width, *_ = extent
            told = [
                one.fed for one in self._told.get(storage, ())
                if one.where is not None and one.where[offset : offset + width].any()
            ]  # fmt: skip
            return bool(told) and all(self._holds(fed, sought) for fed in told)
        fed = self.given(storage)
        if sought:
            return self._holds(fed, sought)
        return not self._operands or any(self._holds(fed, [one]) for one in self._operands)

    def stays(self, storage: int, extent: Extent) -> bool:
        """Whether each byte of a tensor that is an argument's may stay: a kernel was asked, and it is where it was."""
        by = self._map_of(storage)
        return (self._decides == "nobody" or asked(codes(by, *extent))) and self.origins.stay(storage, by, extent)
