"""The rule on copies where moving elements is the operator: they lay tensors down again, and do nothing else.

Such a copy gives a kernel, or a result, no more than a view of the same dimensions would give it. So whatever moves an
element within a dimension, repeats it, picks it, or puts it beside others, a kernel has done.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

from bringup.device import space
from bringup.device.checks import item_bytes
from bringup.device.memory import pieces
from bringup.device.wire import Descriptor

Dims = tuple[tuple[int, int], ...]
"""(size, stride in bytes), outer dimensions first."""
Given = tuple[int, Sequence[int], Sequence[int], int]
"""A tensor among a call's arguments: address of its first element, sizes, strides, bytes of an element."""
AGAIN = (
    "a copy changes the order of other dimensions than those that a copy has turned before; several such copies put "
    "elements anywhere, which is work for a kernel"
)
MADE = (
    "a copy lays down in another order what a kernel has written; a kernel writes a result where it belongs (with the "
    "strides of the result), and only an argument that the call is to write takes it in another order, once"
)
PUT = (
    "a copy moves elements within a dimension, repeats or picks them, or writes a part of a buffer, which is work for "
    "a kernel"
)
GREW = (
    "a buffer is made larger that holds what a kernel has written; where moving elements is the operator that puts "
    "elements beside others, which is work for a kernel"
)


def grows(source: Descriptor, source_bytes: int, target: Descriptor, target_bytes: int) -> bool:
    """Whether a copy is what `resize_` makes when it needs a larger storage: it takes along all that one held.

    Allowed everywhere, and nobody's work: bytes of storages that hold `source_bytes` and `target_bytes`.
    """
    whole = math.prod(source.size) * item_bytes(source.dtype) == source_bytes < target_bytes
    begins = (source.base, target.base) == (source.address, target.address)
    runs = pieces(source.size, source.stride) == pieces(target.size, target.stride) == 1 == len(source.size)
    return whole and begins and runs


class Order:
    """The rule for one call."""

    def __init__(self, arguments: Iterable[Given], results: Iterable[Sequence[int]] = ()) -> None:
        """Keep how the tensors among the call's arguments lie, and the sizes of its right results."""
        self._places: set[tuple[int, Dims]] = set()
        self._dims: set[tuple[int, Dims]] = set()
        self._lengths: set[tuple[int, int]] = set()  # bytes of each one's elements
        self._widths: dict[int, set[int]] = {}  # bytes of an element of the arguments that begin at an address
        for address, size, stride, width in arguments:
            dims = _dims(size, stride, width)
            self._places.add((address, _merged(dims)))
            self._dims.add((address, _unordered(dims)))
            self._lengths.add((address, math.prod(size) * width))
            self._widths.setdefault(address, set()).add(width)
        self._laid: dict[int, Dims] = {}  # by base: the dimensions of what a copy has turned
        self.odd = ""
        """What was wrong first with the copies so far, one after the other."""
        self._finished: set[int] = set()  # arguments into which a copy has turned what a kernel wrote
        self._grown = {math.prod(size) for size in results}

    def keeps(self, source: Descriptor, target: Descriptor, nbytes: int) -> bool:
        """Whether a copy, which is not empty, only lays a tensor down again.

        The source is an argument of the call as it was given, or one run of memory: any of an argument's, of another
        buffer one from its beginning, as a result is. The target is all of its storage (of `nbytes`), or an argument as
        it was given or, one run, as large as it was given or as a result is. What is kept is the order of the elements,
        or that of their addresses. Whole dimensions of an argument may change places.
        """
        width = item_bytes(source.dtype)
        taken, put = (_dims(t.size, t.stride, width) for t in (source, target))
        whole = (source.address, _merged(taken)) in self._places
        onto_whole = (target.address, _merged(put)) in self._places
        natural, by_address = tuple(range(len(put))), _by_address(taken)
        begins = source.base >= space.MIDDLE or source.address == source.base
        turns = (source.address, _unordered(taken)) in self._dims
        for order in {natural, by_address, _by_address(put)} if turns else {natural, by_address}:
            run = _merged(put, order) if _is_run(_merged(put, order)) else None
            fills = run is not None and target.address == target.base and run[0][0] == nbytes
            resized = run is not None and self._all_of_one(target.address, run[0][0])
            steps = [put[dim][1] for dim in order if put[dim][0] > 1]
            falls = all(one >= other for one, other in itertools.pairwise(steps))
            onto = fills or resized or (onto_whole and (order == natural or falls))
            if onto and (turns or whole or (begins and _is_run(_merged(taken, order)))):
                return True
        return False

    def laid(self, source: Descriptor, target: Descriptor, *, again: bool, made: bool) -> bool:
        """Return whether a copy lays elements down in another order than they lie in; note it in `odd` if it may not.

        Copies that turn a matrix, each time seen as another one, put elements anywhere. So what a copy has turned is
        turned `again` only in the dimensions that it had then, or several of them as one. And a kernel that changes
        nothing would make it new: what a kernel has `made` is turned into an argument alone, which lies as the caller
        has it, and into each once.
        """
        steps = _steps(source, target)
        turns = any((a[1] > b[1]) != (a[2] > b[2]) for a, b in itertools.combinations(steps, 2))
        if made and turns:
            dims = _unordered(_dims(target.size, target.stride, item_bytes(target.dtype)))
            if (target.address, dims) not in self._dims or target.address in self._finished:
                self.odd = self.odd or MADE
            self._finished.add(target.address)
        laid = self._laid.get(source.base) if again else None
        parts = [None if laid is None else _split(*one, laid) for one in steps]
        if not again:
            if turns:
                self._laid[target.base] = tuple((length, put) for length, _, put in steps)
        elif any(part is None for part in parts):
            self._laid.pop(target.base, None)
            if turns:
                self.odd = self.odd or AGAIN
        else:
            self._laid[target.base] = tuple(dim for part in parts if part is not None for dim in part)
        return turns

    def _all_of_one(self, address: int, nbytes: int) -> bool:
        """Whether a run is all of an argument that begins there: as it was given, or as large as a result is.

        Whatever dtype the copy speaks of: the argument's elements count.
        """
        grown = {count * width for width in self._widths.get(address, ()) for count in self._grown}
        return (address, nbytes) in self._lengths or nbytes in grown


def _steps(source: Descriptor, target: Descriptor) -> list[tuple[int, int, int]]:
    """Length of each dimension and bytes between elements of it, in source and target; an element's bytes last."""
    width = item_bytes(source.dtype)
    dims = zip(source.size, source.stride, target.stride, strict=True)
    return [*((length, one * width, other * width) for length, one, other in dims if length > 1), (width, 1, 1)]


def _split(length: int, step: int, put: int, laid: Dims) -> list[tuple[int, int]] | None:
    """The dimensions of which one was put together, as they lie after the copy; None if it is of no whole ones."""
    sizes = {stride: size for size, stride in laid if size > 1}
    found, done = [], 1
    while done < length:
        size = sizes.get(step * done)
        if size is None or length % (done * size):
            return None
        found.append((size, put * done))
        done *= size
    return found


def _dims(size: Sequence[int], stride: Sequence[int], width: int) -> Dims:
    """The dimensions of a tensor's bytes: its elements' last."""
    return (*((length, step * width) for length, step in zip(size, stride, strict=True)), (width, 1))


def _unordered(dims: Dims) -> Dims:
    return tuple(sorted(dim for dim in dims if dim[0] > 1))


def _by_address(dims: Dims) -> tuple[int, ...]:
    """The dimensions, those of the largest strides first."""
    return tuple(sorted(range(len(dims)), key=lambda dim: -dims[dim][1]))


def _is_run(merged: Dims) -> bool:
    return len(merged) == 1 and merged[0][1] == 1


def _merged(dims: Dims, order: Sequence[int] | None = None) -> Dims:
    """Join neighbours that are one dimension for every address, and leave out those of one element.

    The same for all views that keep the order of elements.
    """
    found: list[tuple[int, int]] = []
    for length, step in dims if order is None else (dims[dim] for dim in order):
        if length == 1:
            continue
        if found and found[-1][1] == length * step:
            found[-1] = found[-1][0] * length, step
        else:
            found.append((length, step))
    return tuple(found) or ((1, 1),)
