"""A call of the same operator with tensors of other sizes: which shapes they may have."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

LEAST = 1 << 13  # elements of the largest tensor: several blocks
MORE = 1.3  # and up to so many times as many
MOST = 1 << 16  # elements of all tensors together
LINE = 64  # what a last dimension is a multiple of
WIDEST = 1 << 11  # a last dimension, where there are others
FEW = 5  # the longest of the dimensions between the first and the last
LAST = 0.75  # how often the last dimension is tried first
THOUSAND = (900, 1100)  # elements of a line where there are millions
SQUARE = 0.3  # how often two dimensions are nearly as long


def shapes(
    sizes: Sequence[tuple[int, ...]], chance: random.Random, least: int = LEAST, rank: int = 0, line: bool | None = None
) -> Iterator[tuple[list[tuple[int, ...]], Mapping[int, int]]]:
    """Yield shapes for tensors of these sizes, and what lists of lengths among the arguments become.

    The largest has `least` elements or some more. Where all tensors that have dimensions are alike, a drawn shape comes
    first, of `rank` dimensions if that is given; `line`: the last one is a multiple of 64, or odd. Else a length
    becomes longer wherever it occurs.
    """
    long = [one for one in sizes if math.prod(one) > 1]
    if not long:
        return
    if len(set(long)) == 1:
        for _ in range(1 if not rank else 2):
            drawn = _drawn(rank or len(long[0]), chance, least, line)
            yield [drawn if math.prod(one) > 1 else one for one in sizes], {}
        if rank:
            return
    largest = max(long, key=math.prod)
    if rank and len(largest) != rank:
        return
    for place in dict.fromkeys((len(largest) - 1, 0)):
        old = largest[place]
        if old < 2:
            continue
        new = _longer(largest, old, chance, least, line)
        grown = [tuple(new if n == old else n for n in one) for one in sizes]
        if sum(map(math.prod, grown)) <= MOST:
            yield grown, {old: new}
        if len(set(long)) == 1 and new % old:  # a multiple keeps what divides it
            new = -(-new // old) * old
            yield [tuple(new if at == place else n for at, n in enumerate(one)) for one in sizes], {}


def of_length(
    sizes: Sequence[tuple[int, ...]], length: int, chance: random.Random, most: int = MOST
) -> Iterator[tuple[list[tuple[int, ...]], Mapping[int, int]]]:
    """Yield shapes for tensors of these sizes of which one dimension has a length, and what lengths become.

    Any dimension, each in its turn, mostly the last one first: of tensors that are alike that of one place, else
    wherever the old length occurs. Where there would be more than `most` elements, tensors that are alike are one
    element long elsewhere.
    """
    long = [one for one in sizes if math.prod(one) > 1]
    if not long:
        return
    alike, largest = len(set(long)) == 1, max(long, key=math.prod)
    places = chance.sample(range(len(largest)), len(largest))
    if chance.random() < LAST:
        places.sort(key=lambda place: place < len(largest) - 1)
    for place in places:
        old = largest[place]
        if alike:
            for others in (largest, (1,) * len(largest)):
                new = tuple(length if at == place else n for at, n in enumerate(others))
                if math.prod(new) * len(long) <= most:
                    yield [new if math.prod(one) > 1 else one for one in sizes], {}
                    break
        if old > 1:
            changed = [tuple(length if n == old else n for n in one) for one in sizes]
            if sum(map(math.prod, changed)) <= most:
                yield changed, {old: length}


def of_elements(
    sizes: Sequence[tuple[int, ...]], elements: int, chance: random.Random, most: int = MOST
) -> Iterator[tuple[list[tuple[int, ...]], Mapping[int, int]]]:
    """Yield shapes with so many elements for tensors of these sizes, of their rank, if all are alike."""
    long = [one for one in sizes if math.prod(one) > 1]
    if len(set(long)) != 1 or elements * len(long) > most:
        return
    rank, rest, shape = len(long[0]), elements, list[int]()
    for _ in range(rank - 1):
        shape.append(chance.choice([n for n in range(1, FEW + 1) if rest % n == 0]) if most <= MOST else 1)
        rest //= shape[-1]
    # Very many are in one line: what a kernel lays down for each of millions of lines may not fit into memory.
    shape.insert(chance.randint(0, rank - 1) if most <= MOST else rank - 1, rest)
    yield [tuple(shape) if math.prod(one) > 1 else one for one in sizes], {}


def of_lines(
    sizes: Sequence[tuple[int, ...]], elements: int, chance: random.Random, most: int
) -> Iterator[tuple[list[tuple[int, ...]], Mapping[int, int]]]:
    """Yield a shape with about so many elements, in lines of about a thousand, for tensors that are alike."""
    long = [one for one in sizes if math.prod(one) > 1]
    if len(set(long)) != 1 or elements * len(long) > most:
        return
    rank, line = len(long[0]), chance.randint(*THOUSAND)
    shape = (elements,) if rank == 1 else (*(1,) * (rank - 2), elements // line, line)
    yield [shape if math.prod(one) > 1 else one for one in sizes], {}


def renumbered(value: Any, lengths: Mapping[int, int]) -> Any:
    """Return a tree of arguments whose lists of lengths have the new ones."""
    if isinstance(value, dict):
        return {key: renumbered(item, lengths) for key, item in value.items()}
    if isinstance(value, list | tuple) and value and all(type(item) is int for item in value):
        return type(value)([lengths.get(item, item) for item in value])
    return value


def _drawn(rank: int, chance: random.Random, least: int, line: bool | None) -> tuple[int, ...]:
    total = least * chance.uniform(1, MORE)
    if rank == 1:
        last = int(total)
        return (last // LINE * LINE + LINE if line else last | 1 if line is False else last,)
    middle: list[int] = []
    for _ in range(rank - 2):
        most = min(FEW, int(total / (4 * LINE * math.prod(middle))))
        middle.append(chance.randint(min(2, most), most))
    chance.shuffle(middle)
    widest = min(WIDEST, total / (2 * math.prod(middle)))
    last = int(2 ** chance.uniform(math.log2(2 * LINE), math.log2(widest)))
    if rank == 2 and chance.random() < SQUARE:
        last = int(total**0.5)
    last = last // LINE * LINE if line else last | 1 if line is False else last
    return (-(-int(total) // (math.prod(middle) * last)), *middle, last)


def _longer(shape: tuple[int, ...], old: int, chance: random.Random, least: int, line: bool | None) -> int:
    """The length in place of `old`, wherever it occurs in a shape, with which there are several blocks."""
    times = shape.count(old)
    rest = math.prod(n for n in shape if n != old)
    new: int = max(old + 1, math.ceil((least * chance.uniform(1, MORE) / rest) ** (1 / times)))
    return -(-new // LINE) * LINE if line else new | 1 if line is False else new
