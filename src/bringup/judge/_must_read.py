"""Which calls have a result whose size or truth value hangs on data: the host must read what kernels have found.

It follows from the operator and from what everybody sees of a call: no reference is asked, and no values count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

UNDECIDED = (
    "the wrapper reads nothing, and what it returns hangs on what tensors hold: have a kernel find it out, and read "
    "what it has found"
)
_OPERATORS = {
    "_unique", "_unique2", "allclose", "argwhere", "bincount", "equal", "is_nonzero", "masked_select", "nonzero",
    "nonzero_numpy", "unique", "unique_consecutive", "unique_dim", "unique_dim_consecutive",
}  # fmt: skip


def must_read(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether a call's result says something of what tensors hold by its size, or as a number of Python's.

    Not where a tensor among the arguments has no elements, nor for `equal` of tensors of different sizes or `unique` of
    one element.

    Args:
        name: of an operator (`nonzero`, `nn.functional.one_hot`) or an overload (`repeat_interleave.Tensor`).
        args, kwargs: of the call; only sizes and numbers are looked at.
    """
    base = name if name.startswith(("nn.", "linalg.")) else name.partition(".")[0]
    tensors = [one for one in pytree.tree_leaves([list(args), dict(kwargs)]) if isinstance(one, torch.Tensor)]
    if any(not tensor.numel() for tensor in tensors):
        return False
    if "unique" in base and tensors[0].numel() == 1:
        return False
    if base == "equal":
        return len({tensor.shape for tensor in tensors}) == 1
    if base == "repeat_interleave":  # of a tensor of counts
        counts = kwargs.get("repeats", args[1] if len(args) > 1 else args[0] if args else None)
        return isinstance(counts, torch.Tensor) and kwargs.get("output_size") is None
    if base in ("linalg_lstsq", "linalg.lstsq"):  # residuals of matrices of full rank, where a driver finds that out
        rows, columns = tensors[0].shape[-2:]
        return rows > columns and kwargs.get("driver", args[3] if len(args) > 3 else None) in ("gelsd", "gelss")
    if base == "__getitem__":
        return any(tensor.dtype is torch.bool for tensor in tensors[1:])
    if base == "nn.functional.one_hot":
        return bool(kwargs.get("num_classes", args[1] if len(args) > 1 else -1) == -1)
    return base in _OPERATORS
