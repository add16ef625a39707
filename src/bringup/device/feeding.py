"""On which of a call's data what kernels have written may hang: they were given them, or copies of all that is there.

What copies have brought is looked up where it is (`origins`); what kernels were given is kept of the storages that they
may have written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from bringup.device.memory import WRITER, Map, codes
from bringup.device.origins import Extent
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


def check_parts(feds: Iterable[Fed | None]) -> None:
    """Raise Malformed where it takes too much memory to keep what all storages of a call were given."""
    kept = {id(part): len(part) for fed in feds if fed is not None for part in fed.parts.values()}
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
