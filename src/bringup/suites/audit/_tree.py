"""The tensors inside a call: listing them with readable places, and exchanging them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch.utils import _pytree as pytree

from bringup.suites._opinfo_calls import Call

T = TypeVar("T")
_LEAVES = frozenset({torch.Tensor, bool, int, float, complex, str, type(None), torch.dtype, torch.device})


@dataclass(frozen=True)
class Leaf:
    """One tensor of a call: its number among all leaves, and its place as the judge's reports name it."""

    index: int
    place: str  # "argument 0", "argument weight", "argument 0[1]"
    tensor: torch.Tensor


def tensors(call: Call) -> list[Leaf]:
    """List the tensors of a call, depth first."""
    if all(type(value) in _LEAVES for value in (*call.args, *call.kwargs.values())):  # as nearly all are: much faster
        places = [*range(len(call.args)), *call.kwargs]
        return [
            Leaf(index, f"argument {places[index]}", value)
            for index, value in enumerate((*call.args, *call.kwargs.values()))
            if type(value) is torch.Tensor
        ]
    flat, _ = pytree.tree_flatten_with_path((call.args, call.kwargs))
    return [
        Leaf(index, _place(path), value) for index, (path, value) in enumerate(flat) if isinstance(value, torch.Tensor)
    ]


def _place(path: Sequence[Any]) -> str:
    _, which, *rest = path
    inner = "".join(f"[{_key(part)}]" for part in rest)
    return f"argument {_key(which)}{inner}"


def _key(part: Any) -> Any:
    return getattr(part, "idx", getattr(part, "key", part))


def given_values(call: Call, *more: float) -> torch.Tensor:
    """Return all values of a call's tensors, their magnitudes, -1, 0, 1 and `more`: a flat tensor in float64.

    What of a result is among them was moved, compared or classified, and not computed.
    """
    given = [leaf.tensor.reshape(-1).double() for leaf in tensors(call)]
    fixed = torch.tensor([-1.0, 0.0, 1.0, *more], dtype=torch.float64)
    return torch.cat([*given, *(values.abs() for values in given), fixed])


def exchanged(call: Call, new: Mapping[int, Any]) -> Call:
    """Return the call with the leaves of the given numbers exchanged."""
    flat, spec = pytree.tree_flatten((call.args, call.kwargs))
    args, kwargs = pytree.tree_unflatten([new.get(i, value) for i, value in enumerate(flat)], spec)
    return Call(call.reference, args, kwargs)


def mapped(call: Call, change: Callable[[torch.Tensor], torch.Tensor]) -> Call:
    """Return the call with every tensor changed."""
    return exchanged(call, {leaf.index: change(leaf.tensor) for leaf in tensors(call)})


def elements(value: Any) -> int:
    """Return the number of elements of all tensors in a tree."""
    return sum(leaf.numel() for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor))


def shape_text(shape: Sequence[int]) -> str:
    """Return a shape as titles write it: "3x4", "0-d"."""
    return "x".join(map(str, shape)) or "0-d"


def spread(items: Sequence[T], count: int) -> list[T]:
    """Return at most `count` of the items, evenly spread, the first and the last among them, in order."""
    if len(items) <= count:
        return list(items)
    if count == 1:
        return [items[0]]
    return [items[round(i * (len(items) - 1) / (count - 1))] for i in range(count)]


def shuffled(items: Sequence[T]) -> list[T]:
    """Return the items in an order drawn from the seeded generator.

    Samples are products of options, innermost first: the first of each kind, or every k-th, would all share one option.
    """
    return random.sample(items, len(items))


def turns(*sources: Iterable[T]) -> Iterator[T]:
    """Take one item from each source in turn, as long as any has one; nothing is made before it is taken."""
    left = [iter(source) for source in sources]
    while left:
        for source in list(left):
            item = next(source, _END)
            if isinstance(item, _End):
                left.remove(source)
            else:
                yield item


class _End:
    """The type of the mark of an exhausted source."""


_END = _End()
