"""How the arguments of a call are told to a guest: each tensor by its place in a region of its storage.

A region is the stretch of a storage that the call's tensors reach, those together that lie on one another. Of the rest
of a storage, and of where in it a tensor begins, a guest learns nothing: a row is told alike, whatever matrix it is a
row of. Judge and use tell calls by the same rule, or a wrapper would tell one from the other by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch

ALIGNED = 64  # bytes: what a wrapper may know of an address is its remainder by this


class Region(NamedTuple):
    """A stretch of the storage of one of the tensors."""

    tensor: int  # the number of the first tensor that lies in it
    start: int  # bytes from the beginning of the storage: a multiple of ALIGNED
    size: int  # bytes


class Place(NamedTuple):
    """Where a tensor begins."""

    region: int
    offset: int  # bytes


def regions_of(tensors: Sequence[torch.Tensor]) -> tuple[list[Region], list[Place]]:
    """Return the regions that tensors reach, and the place of each tensor.

    Regions are numbered in the order in which tensors name them. A tensor without elements reaches nothing: it has an
    empty region of its own, the same one wherever the same tensor is given.
    """
    reached: dict[int, list[tuple[int, int, int]]] = {}
    empty: dict[int, int] = {}  # by id of the tensor: its first number
    for number, tensor in enumerate(tensors):
        if not tensor.numel():
            empty.setdefault(id(tensor), number)
            continue
        width = tensor.element_size()
        last = sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True))
        first = tensor.storage_offset() * width
        found = reached.setdefault(tensor.untyped_storage()._cdata, [])
        found.append((first, first + (last + 1) * width, number))
    groups = [[(0, 0, number)] for number in empty.values()]
    for found in reached.values():
        end = -1
        for one in sorted(found):
            # A region begins at a multiple of ALIGNED: it may not begin in the one before.
            if end >= 0 and one[0] // ALIGNED * ALIGNED < end:
                groups[-1].append(one)
            else:
                groups.append([one])
            end = max(end, one[1])
    groups.sort(key=lambda group: min(number for _, _, number in group))
    regions, places = [], dict[int, Place]()
    for at, group in enumerate(groups):
        start = group[0][0] // ALIGNED * ALIGNED
        regions.append(Region(min(n for _, _, n in group), start, max(end for _, end, _ in group) - start))
        places.update({number: Place(at, first - start) for first, _, number in group})
    places.update({number: places[empty[id(t)]] for number, t in enumerate(tensors) if not t.numel()})
    return regions, [places[number] for number in range(len(tensors))]
