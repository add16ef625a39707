"""On which of a call's data what storages hold may hang: kernels were given them, or copies of all that is there.

A host that copies one element of an argument into a buffer, and gives a kernel that buffer, has given it one element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from bringup.device.memory import WRITER, Map, codes
from bringup.vpe.memory import ASKED, INPUT, LAUNCHED, SPREAD

MOST_PARTS = 64 << 20  # bytes of an argument of which copies of parts add up
Extent = tuple[int, int, tuple[int, ...], tuple[int, ...]]
"""A tensor in a storage: bytes from its beginning, bytes an element, sizes and strides in elements."""


@dataclass(frozen=True)
class Fed:
    """What was brought to a storage."""

    whole: frozenset[int] = frozenset()
    """Arguments, by the address or the number of their storage, all of whose data were."""
    parts: Mapping[int, Map] = field(default_factory=dict)
    """Of others, bool[bytes]: those that were."""

    def __bool__(self) -> bool:
        """Whether anything was."""
        return bool(self.whole or self.parts)


NOTHING = Fed()


def together(feds: Iterable[Fed], covers: Callable[[int, Map], bool]) -> Fed:
    """What some storages were brought, taken together.

    Args:
        feds: of each.
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


def brought_by(fed: Fed, own: int | None, by: Map, extent: Extent, beside: Map | None = None) -> Fed:
    """What a copy of a tensor brings along.

    Bytes that a kernel wrote may hang on all that this was given. Bytes of arguments say what they say alone.

    Args:
        fed: what its storage was brought.
        own: the argument that this storage is; None where it holds no data of the call from the beginning.
        by: codes of the storage's bytes.
        extent: of the tensor.
        beside: bool[bytes], which of the storage's bytes are no data of the call's; None for none.
    """
    if 0 in extent[2] or not (fed or own is not None):
        return NOTHING
    writers = codes(by, *extent) & WRITER
    given = (writers == INPUT).any()
    made = bool(((writers == LAUNCHED) | (writers == SPREAD)).any())
    if not given:
        return fed if made else NOTHING
    shown = np.zeros(len(by), bool)
    codes(shown, *extent)[...] = True
    every = holds_all(by, shown if beside is None else shown | beside)
    found = fed if made or (own is None and every) else NOTHING
    if own is None:
        return found
    if every:
        return Fed(found.whole | {own}, found.parts)
    if own in found.whole or len(by) > MOST_PARTS:
        return found
    known = found.parts.get(own)
    return Fed(found.whole, {**found.parts, own: shown if known is None else known | shown})


def holds(fed: Fed, base: int, by: Map, extent: Extent) -> bool:
    """Whether all that a tensor of an argument holds was brought; `by`: codes of its storage's bytes."""
    if base in fed.whole or base not in fed.parts:
        return base in fed.whole
    shown = np.zeros(len(by), bool)
    codes(shown, *extent)[...] = True
    return holds_all(by, fed.parts[base] | ~shown)


def holds_all(by: Map, shown: Map) -> bool:
    """Whether bool[bytes] has all bytes that are an argument's, or copies of such, by their codes."""
    return not (((by & WRITER) == INPUT) & ~shown).any()


def ask(by: Map) -> None:
    """Note of all bytes that are an argument's that a kernel which may write them was given what decides on them."""
    by[(by & WRITER) == INPUT] |= np.uint8(ASKED)


def asked(by: Map) -> bool:
    """Whether, of some codes, all bytes that are an argument's have been asked about."""
    return not ((by & np.uint8(WRITER | ASKED)) == INPUT).any()
