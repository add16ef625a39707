"""What one call leaves as an argument has it: some operators say by an argument whether they write another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch.utils import _pytree as pytree

from bringup.device.feeding import Decides
from bringup.operators import Keeps

# By which argument a call says that it writes running statistics, and the default of that; "" for those that always do.
_TRAINING = dict.fromkeys(
    (
        "_batch_norm_impl_index", "_native_batch_norm_legit", "batch_norm", "cudnn_batch_norm", "miopen_batch_norm",
        "native_batch_norm", "nn.functional.batch_norm",
    ),
    ("training", False),
)  # fmt: skip
_STATISTICS = dict.fromkeys(("instance_norm", "nn.functional.instance_norm"), ("use_input_stats", True))
_ALWAYS = dict.fromkeys(
    (
        "_batch_norm_with_update", "batch_norm_gather_stats", "batch_norm_gather_stats_with_counts",
        "batch_norm_update_stats",
    ),
    ("", True),
)  # fmt: skip
_SAID = {**_TRAINING, **_STATISTICS, **_ALWAYS}
_PLACE = 5  # of that argument, in all of them


def who_decides(keeps: Keeps, *, empty: bool) -> Decides | None:
    """What a kernel must have been given that finds out what stays; None where nothing may.

    Args:
        keeps: what the call leaves.
        empty: whether a tensor of it that may be read has no elements: then there is nothing to find out.
    """
    if keeps == "nothing":
        return None
    return "nobody" if empty or keeps == "copies" else "data" if keeps == "elements" else "launch"


def deciding(tensors: Sequence[Any]) -> list[Any]:
    """Of the tensors of a call that leaves elements, in order and without an `out`, those that say which.

    All indices and masks; not the first, whose elements stay, nor the last of several, whose elements come in their
    place: of that as many are taken as there are indices.
    """
    others = tensors[1:] if len(tensors) < 3 else tensors[1:-1]
    return [one for one in others if not one.is_floating_point() and not one.is_complex()]


def stays_in_place(keeps: Keeps) -> bool:
    """Whether what no kernel wrote is the first operand's, each element where it was."""
    return keeps in ("elements", "copies")


def keeps_in_call(keeps: Keeps, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Keeps:
    """What a call leaves; arguments are not left by one that says that it writes them.

    Args:
        keeps: what the operator leaves in some of its calls.
        name: of the operator (`nn.functional.batch_norm`) or overload (`native_batch_norm.out`).
        args, kwargs: of the call; only numbers and sizes are looked at. Of no elements there are no statistics.
    """
    said = _SAID.get(name if name.startswith("nn.") else name.partition(".")[0])
    if keeps != "arguments" or said is None:
        return keeps
    key, default = said
    written = kwargs.get(key, args[_PLACE] if key and len(args) > _PLACE else default)
    empty = any(one.numel() == 0 for one in pytree.tree_leaves([list(args), dict(kwargs)]) if hasattr(one, "numel"))
    return "nothing" if written and not empty else keeps
