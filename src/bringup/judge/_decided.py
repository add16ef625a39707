"""Whether what a wrapper decides of a call follows from its metadata: asked of the reference with other values.

Operators whose result has a size or a truth value that depends on data read it, once kernels have found it. Who reads
nothing knows sizes, dtypes and numbers, which is enough where two shapes differ or nothing has elements, and no more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree as pytree

from bringup.judge import _codec, _compare
from bringup.judge._stays import put
from bringup.suites import CaseInputs

SEED = 0  # of values that no candidate sees
MOST = 4  # values from 0 on: larger ones, taken for a count, would fill the memory
LARGEST = 1 << 20  # of the one that stands in one place
UNDECIDED = (
    "the wrapper reads nothing, and what it returns is not the same for all values of the tensors: their sizes do not "
    "say it; have a kernel find out, and read what it has found"
)


def decided(inputs: CaseInputs, answer: Any) -> bool:
    """Whether the reference answers with the same sizes, truth values and numbers whatever the tensors hold.

    Args:
        inputs: the case.
        answer: the reference's, or another right one.

    True also where it refuses all other values.
    """
    generator = torch.Generator().manual_seed(SEED)
    numbers = [one for one in pytree.tree_leaves([inputs.args, dict(inputs.kwargs)]) if type(one) is int]
    top = min(max([MOST, *numbers]), LARGEST) + MOST  # beyond what a number among the arguments may say
    fillings: tuple[Callable[[torch.Tensor], Any], ...] = (
        torch.zeros_like,
        torch.ones_like,
        lambda tensor: _one_of(tensor, top),
        lambda tensor: (torch.arange(tensor.numel()) % MOST).reshape(tensor.shape),
        lambda tensor: torch.randint(MOST, tensor.shape, generator=generator),
    )
    wanted = _shown(answer)
    for filling in fillings:
        args, kwargs = _codec.clone_tree([tuple(inputs.args), dict(inputs.kwargs)])
        try:
            with torch.no_grad(), torch.random.fork_rng(devices=[]):
                for _, tensor in _compare.input_paths(tuple(args), kwargs):
                    put(tensor, filling(tensor))
                found = _shown(inputs.reference(*args, **kwargs))
        except Exception:  # whatever PyTorch raises of such values
            continue
        if found != wanted:
            return False
    return True


def _one_of(tensor: torch.Tensor, number: int) -> torch.Tensor:
    """Zeros, and in one place a number, as far as the dtype holds it."""
    found = torch.zeros(tensor.shape, dtype=torch.int64)
    if not tensor.is_floating_point() and not tensor.is_complex():
        number = 1 if tensor.dtype is torch.bool else min(number, torch.iinfo(tensor.dtype).max)
    found.reshape(-1)[:1] = number
    return found.to(tensor.dtype)


def _shown(answer: Any) -> list[Any]:
    """What the host knows of an answer."""
    return [list(one.shape) if isinstance(one, torch.Tensor) else one for one in pytree.tree_leaves(answer)]
