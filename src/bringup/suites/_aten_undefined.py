"""Calls of overloads that no case is made of: PyTorch computes them otherwise than documented, or no kernel can."""

from __future__ import annotations

from typing import Any


def undefined_call(overload: str, args: tuple[Any, ...]) -> str:
    """Return why nothing right can be said of a call that arrived; "" for every other call."""
    if overload == "_pdist_forward" and args[0].dim() != 2:
        return "distances are of the rows of a matrix; of other tensors PyTorch's result hangs on its number of threads"
    if overload != "_embedding_bag_backward":
        return ""
    if len(args) > 9 and args[9]:
        return "the result is a sparse tensor; the library makes it of the gradient's rows"
    if len(args) > 7 and args[7]:
        return (
            "scale_grad_by_freq divides by how often an index occurs; PyTorch's CPU kernel takes the count of another "
            "index, the one that equals the rank of this one among those that occur"
        )
    return ""
