"""What a launch may touch: the storages behind its pointer arguments, as exact byte ranges.

The vpe device registers a resolver that knows its allocations (freed, read-only, poison map); CPU tensors,
NumPy-like objects and anything
else with `data_ptr()` are resolved here by their storage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

# Who wrote a byte, in a map of written bytes: 0 is nobody, every other value counts as written. A launch knows only
# LAUNCHED, and so does the device in this process, for copies too; the other codes are for owners of maps that tell
# where bytes came from: SPREAD are bytes of a launch's that a copy has multiplied, EARLIER those of launches before the
# one that runs, as long as it does. COPIED is a flag on the code of the
# byte that was copied. TAKEN is a flag on a launch's byte from which a copy was made, TURNED one on a byte that came by
# a copy which changed the order of dimensions, ASKED one on an input's byte that a kernel could have written and has
# left, given all that decides on it.
LAUNCHED, INPUT, UPLOADED, SPREAD, EARLIER = 1, 2, 3, 4, 5
COPIED, TAKEN, TURNED, ASKED = 0x10, 0x20, 0x40, 0x80


@dataclass(slots=True)
class Buffer:
    """One storage that a pointer argument leads into."""

    base: int
    nbytes: int
    name: str = ""
    """Argument name, for messages."""
    writable: bool = True
    freed: bool = False
    initialised: Any = None
    """NumPy uint8 array that says for each byte who wrote it, 0 = nobody; None if everything is initialised."""
    label: str = ""
    """What the owner calls it, for messages."""


Lister = Callable[[], Iterable[Buffer]]
"""Gives every live buffer of a device, for kernels that take pointers out of memory."""
Resolver = Callable[[Any, int], Buffer | None]
"""(argument, pointer value) -> its buffer, or None if the resolver does not know it. The argument may be a
plain int.
"""

_resolvers: list[Resolver] = []
_neighbours: list[Callable[[int], str]] = []
_listers: list[Lister] = []


def register_resolver(resolver: Resolver) -> None:
    """Ask `resolver` first for every pointer argument of later launches (once per resolver)."""
    if resolver not in _resolvers:
        _resolvers.insert(0, resolver)


def register_describer(describer: Callable[[int], str]) -> None:
    """Ask `describer(address)` for one line on the nearest allocation when a fault is outside of all arguments."""
    if describer not in _neighbours:
        _neighbours.append(describer)


def register_lister(lister: Lister) -> None:
    """Ask `lister` for the device's buffers when a kernel follows pointers that it has loaded (once per lister)."""
    if lister not in _listers:
        _listers.append(lister)


def others(known: Iterable[Buffer | None]) -> list[Buffer]:
    """Live buffers of all devices that are not among those known."""
    bases = {buffer.base for buffer in known if buffer is not None}
    return [buffer for lister in _listers for buffer in lister() if buffer.base not in bases]


def describe(address: int) -> str:
    """What device allocators know of an address; empty if nothing."""
    return "; ".join(text for describer in _neighbours if (text := describer(address)))


def resolve(argument: Any, pointer: int) -> Buffer | None:
    """The buffer behind an argument, None if nobody knows one (then every access through it is a fault)."""
    for resolver in _resolvers:
        found = resolver(argument, pointer)
        if found is not None:
            return found
    owner = argument
    while not hasattr(owner, "untyped_storage") and hasattr(owner, "base") and hasattr(owner.base, "data_ptr"):
        owner = owner.base  # triton.reinterpret wraps a tensor
    if hasattr(owner, "untyped_storage"):
        storage = owner.untyped_storage()
        return Buffer(storage.data_ptr(), storage.nbytes())
    if hasattr(owner, "nbytes") and hasattr(owner, "data_ptr"):
        return Buffer(pointer, int(owner.nbytes))
    return None
