"""New tensors in the image of the samples: of any shape, with values that the samples' own arguments have."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from bringup.suites._opinfo_calls import Call
from bringup.suites._opinfo_samples import Sample
from bringup.suites.audit._structure import among
from bringup.suites.audit._subject import Subject
from bringup.suites.audit._tree import Leaf, exchanged, shuffled, tensors

_POOL = 1 << 13  # values kept for one place
_SMALL_FROM = 700  # sums of so many terms and more are made exact


class Pool:
    """Values by place: what the samples of one operator and dtype hold there."""

    def __init__(self, subject: Subject) -> None:
        """Collect the values of all samples."""
        self.subject = subject

    @functools.cached_property
    def _values(self) -> dict[tuple[str, torch.dtype], torch.Tensor]:
        found: dict[tuple[str, torch.dtype], list[torch.Tensor]] = {}
        for sample in self.subject.samples:
            for leaf in tensors(sample.call):
                flat = leaf.tensor.detach().reshape(-1)[:_POOL]
                found.setdefault((leaf.place, leaf.tensor.dtype), []).append(flat)
        return {key: torch.cat(parts)[:_POOL] for key, parts in found.items()}

    def values(self, leaf: Leaf) -> torch.Tensor:
        """Return the values (1-d) that the samples hold at a tensor's place, in its dtype."""
        return self._values.get((leaf.place, leaf.tensor.dtype), leaf.tensor.reshape(-1))

    def like(self, leaf: Leaf, shape: Sequence[int]) -> torch.Tensor:
        """Return a tensor of `shape` with values drawn from those at the leaf's place."""
        count = torch.Size(shape).numel()
        data = leaf.tensor.is_floating_point()
        if data and count >= _SMALL_FROM and among("products", self.subject.operator):
            return (torch.randint(0, 2, tuple(shape)) * 2 - 1).to(leaf.tensor.dtype)
        if data and count >= _SMALL_FROM and among("sums", self.subject.operator):
            return self._whole(shape, leaf.tensor.dtype)
        values = self.values(leaf)
        if not values.numel():
            return torch.zeros(tuple(shape), dtype=leaf.tensor.dtype)
        drawn = values[torch.randint(0, values.numel(), (count,))]
        if count >= _SMALL_FROM and data:  # a search that ends one tile early misses both extremes
            least, most = values.min(), values.max()
            drawn = torch.where((drawn == least) | (drawn == most), values.median(), drawn)
            drawn[-2], drawn[-1] = least, most
        return drawn.reshape(tuple(shape))

    def _whole(self, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        """-1, 0 and 1, but for the last elements, which are large enough to be missed by any tolerance."""
        tensor = torch.randint(-1, 2, tuple(shape)).to(dtype)
        tensor.view(-1)[-7:] = 64
        return tensor

    def with_shapes(self, call: Call, shapes: Mapping[int, Sequence[int]]) -> Call:
        """Return the call with the tensors of the given leaf numbers drawn anew in the given shapes."""
        new = {leaf.index: self.like(leaf, shapes[leaf.index]) for leaf in tensors(call) if leaf.index in shapes}
        return exchanged(call, new)

    def resized(self, call: Call, sizes: Mapping[int, int], *, numbers: bool = False) -> Call:
        """Return the call with every dimension of a length in `sizes` made as long as that says, in all tensors.

        `numbers`: in lists and tuples of integers as well (shapes among the arguments).
        """
        shapes = {leaf.index: [sizes.get(n, n) for n in leaf.tensor.shape] for leaf in tensors(call)}
        changed = {
            leaf.index: shapes[leaf.index] for leaf in tensors(call) if shapes[leaf.index] != list(leaf.tensor.shape)
        }
        new = self.with_shapes(call, changed)
        return _renumbered(new, sizes) if numbers else new


def _renumbered(call: Call, sizes: Mapping[int, int]) -> Call:
    def change(value: Any) -> Any:
        if isinstance(value, list | tuple) and value and all(type(item) is int for item in value):
            return type(value)([sizes.get(item, item) for item in value])
        return value

    return Call(
        call.reference, tuple(map(change, call.args)), {name: change(value) for name, value in call.kwargs.items()}
    )


def lengths(sample: Sample, *, least: int = 2) -> list[int]:
    """Return the different lengths of the dimensions of a sample's tensors, longest first."""
    return sorted({n for leaf in tensors(sample.call) for n in leaf.tensor.shape if n >= least}, reverse=True)


def distinct(subject: Subject, *, largest: int = 1 << 14) -> list[Sample]:
    """Return samples with non-empty tensors, one for each combination of variant and numbers of dimensions."""
    seen: dict[tuple[object, ...], Sample] = {}
    for sample in shuffled(subject.samples):
        found = tensors(sample.call)
        if found and all(0 < leaf.tensor.numel() <= largest for leaf in found):
            seen.setdefault((sample.variant, *(leaf.tensor.dim() for leaf in found), *sample.call.kwargs), sample)
    return list(seen.values())
