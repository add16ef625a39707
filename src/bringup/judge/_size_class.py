"""Whether another number among the arguments of a call asks for results of other sizes, or for more work.

The reference is asked on tensors without data (`meta`), so that a call which would need gigabytes is never made. What
an operator makes within itself is not seen there: of whole numbers it is asked with a moderate one first, on data.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch
from torch.autograd.profiler import profile
from torch.utils._python_dispatch import TorchDispatchMode

from bringup.judge import _codec

SPARE_BYTES = 1 << 11  # that a call may take beyond GROWTH
MOST_STEPS = 1 << 12  # operators of one call: a loop over a number may take hours
GROWTH = 2  # times as many elements as before: beyond, the number is a size

# Of what a call makes: its results' sizes and dtypes, and how many elements its steps have made in all.
Made = tuple[list[tuple[torch.Size, torch.dtype]], int]


class _Count(TorchDispatchMode):  # type: ignore[misc]
    """Counts the elements that operators return; raises OverflowError at too many operators."""

    def __init__(self) -> None:
        super().__init__()
        self.elements = self.steps = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else torch imports its compiler, which takes seconds

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise OverflowError(f"more than {MOST_STEPS} operators")
        result = func(*args, **(kwargs or {}))
        self.elements += sum(tensor.numel() for _, tensor in _codec.tensors_of(result, ""))
        return result


def made(reference: Callable[..., Any], args: Any, kwargs: Any) -> Made | None:
    """Return what a call makes; None where it cannot be said without data, takes too many steps or is refused."""
    with contextlib.suppress(Exception), torch.no_grad(), torch.device("meta"), _Count() as count:
        result = reference(*without_data(args), **without_data(kwargs))
        return [(tensor.shape, tensor.dtype) for _, tensor in _codec.tensors_of(result, "")], count.elements
    return None


def same_class(one: Made | None, other: Made | None) -> bool:
    """Whether the second call has results like the first, and takes not much more work."""
    return one is not None and other is not None and one[0] == other[0] and other[1] <= GROWTH * one[1]


def takes_more(reference: Callable[..., Any], before: tuple[Any, Any], after: tuple[Any, Any]) -> bool:
    """Whether a call takes more memory than another one: (args, kwargs) each, with data. A refused call does not."""
    found = [_taken(reference, *call) for call in (before, after)]
    return found[1] > GROWTH * found[0] + SPARE_BYTES


def _taken(reference: Callable[..., Any], args: Any, kwargs: Any) -> int:
    """Bytes that a call allocates on the host, in all; 0 where it is refused."""
    args, kwargs = _codec.clone_tree([args, kwargs])  # an operand may be its `out`, too
    with contextlib.suppress(Exception), torch.no_grad():
        with profile(profile_memory=True) as seen:
            reference(*args, **kwargs)
        return sum(max(0, event.self_cpu_memory_usage) for event in seen.function_events or ())
    return 0


def without_data(tree: Any) -> Any:
    """Arguments of the same sizes, strides and dtypes on the meta device."""
    if isinstance(tree, torch.Tensor):
        return torch.empty_strided(tree.shape, tree.stride(), dtype=tree.dtype, device="meta")
    if isinstance(tree, torch.device):
        return torch.device("meta")
    if isinstance(tree, dict):
        return {key: without_data(item) for key, item in tree.items()}
    if isinstance(tree, list | tuple) and not isinstance(tree, torch.Size):
        items = [without_data(item) for item in tree]
        return type(tree)(*items) if hasattr(tree, "_fields") else type(tree)(items)
    return tree
