"""Which calls have a result whose size or truth value hangs on data: the host must read what kernels have found.

It follows from the operator and from what everybody sees of a call: no reference is asked, and no values count.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import torch
from torch.utils import _pytree as pytree

UNDECIDED = (
    "the wrapper reads nothing, and what it returns hangs on what tensors hold: have a kernel find it out, and read "
    "what it has found"
)
_TRUTHS = {"allclose", "equal", "is_nonzero"}
_SIZES = {
    "_unique", "_unique2", "argwhere", "bincount", "masked_select", "nonzero", "nonzero_numpy", "unique",
    "unique_consecutive", "unique_dim", "unique_dim_consecutive",
}  # fmt: skip
_LSTSQ = {"linalg_lstsq", "linalg.lstsq"}


class Sought(NamedTuple):
    """What the first number that is read says of a result."""

    what: Literal["size", "truth", "residuals"]
    """A size of the first result; the truth value that the result is; whether the second result has elements."""
    dim: int | None = 0
    """Of a size: which dimension; None for any of them."""
    by: tuple[Any, ...] = ()
    """The tensors that decide."""


def must_read(name: str, args: Sequence[Any], kwargs: Mapping[str, Any], outs: Collection[str] = ()) -> Sought | None:
    """What a call's result says of what tensors hold by its size, or as a number of Python's; None for nothing.

    Nothing where a tensor that decides has no elements, nor for `equal` of tensors of different sizes or `unique` of
    one element.

    Args:
        name: of an operator (`nonzero`, `nn.functional.one_hot`) or an overload (`repeat_interleave.Tensor`).
        args, kwargs: of the call; only sizes and numbers are looked at.
        outs: keyword arguments that are there for the results.
    """
    base = name if name.startswith(("nn.", "linalg.")) else name.partition(".")[0]
    asked = {key: value for key, value in kwargs.items() if key not in outs}
    tensors = [one for one in pytree.tree_leaves([list(args), asked]) if isinstance(one, torch.Tensor)]
    if not tensors:
        return None
    empty = any(not tensor.numel() for tensor in tensors)

    def given(key: str, place: int, default: Any = None) -> Any:
        return asked.get(key, args[place] if 0 <= place < len(args) else default)

    if base in _TRUTHS:
        differ = base == "equal" and len({tensor.shape for tensor in tensors}) > 1
        return None if differ or empty else Sought("truth", by=(*tensors,))
    if "unique" in base and base in _SIZES:
        dim = given("dim", 1 if "dim" in base else 3 if "consecutive" in base else 4)
        return None if empty or tensors[0].numel() == 1 else Sought("size", 0 if dim is None else dim, (tensors[0],))
    if base in _SIZES:
        return None if empty else Sought("size", by=(tensors[1 if base == "masked_select" else 0],))
    if base == "repeat_interleave":  # of a tensor of counts
        counts = given("repeats", min(len(args), 2) - 1)
        unknown = isinstance(counts, torch.Tensor) and counts.numel() > 0 and asked.get("output_size") is None
        return Sought("size", given("dim", 2) or 0, (counts,)) if unknown else None
    if base in _LSTSQ:  # residuals of matrices of full rank, where a driver finds that out
        rows, columns = tensors[0].shape[-2:]
        unknown = not empty and rows > columns and given("driver", 3) in ("gelsd", "gelss")
        return Sought("residuals", by=(tensors[0],)) if unknown else None
    if base == "__getitem__":
        masks = [tensor for tensor in tensors[1:] if tensor.dtype in (torch.bool, torch.uint8)]
        return Sought("size", None, (*masks,)) if any(mask.numel() for mask in masks) else None
    if base == "nn.functional.one_hot":
        return Sought("size", -1, (tensors[0],)) if not empty and given("num_classes", 1, -1) == -1 else None
    return None
