"""One argument of a call exchanged, and whether PyTorch refuses the call then for a reason that a wrapper can know."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import torch

from bringup.suites._opinfo_calls import Call
from bringup.suites._opinfo_samples import Sample
from bringup.suites.audit._meta import on_meta
from bringup.suites.audit._subject import Draft
from bringup.suites.audit._tree import exchanged, tensors
from bringup.suites.audit._vet import raised

# Errors that no wrapper can know, or has to: of the device, layout, autograd, values, PyTorch's build.
# "permute(sparse_coo)" begins what permute says of any tensor.
UNKNOWABLE = re.compile(
    r"device|(?<!permute\()sparse|strided tensors only|requires_grad|autograd|memory location"
    r"|unsupported operation|overlap"
    r"|not implemented for|std_var_all|internal error|64 dims|is out of bounds|storage of size"
    r"|tried to access|TensorAccessor|_LinAlgError|is zero and using|pivots passed|step must be nonzero",
    re.I,
)


def places(call: Call) -> list[tuple[int | str, Any]]:
    """List the arguments of a call with their position or name."""
    return [*enumerate(call.args), *call.kwargs.items()]


def with_value(call: Call, place: int | str, value: Any) -> Call:
    """Return the call with another value at a position or name."""
    args = tuple(value if number == place else old for number, old in enumerate(call.args))
    return Call(call.reference, args, {name: value if name == place else old for name, old in call.kwargs.items()})


def rank_of(call: Call) -> int:
    """Return the largest number of dimensions of the call's tensors."""
    return max((leaf.tensor.dim() for leaf in tensors(call)), default=0)


def whole_numbers(value: Any) -> bool:
    """Whether a value is a list or tuple of integers, and not empty."""
    return isinstance(value, list | tuple) and bool(value) and all(type(item) is int for item in value)


def refused(call: Call) -> bool:
    """Whether PyTorch refuses the call for a reason that sizes and numbers show.

    It does so with zeros and with ones as indices, with lengths that add up to a size of the data, and with masks that
    hold everywhere and nowhere.
    """
    error = raised(call)
    if not error or UNKNOWABLE.search(error):
        return False
    zeros = {leaf.index: torch.zeros_like(leaf.tensor) for leaf in tensors(call) if not _data(leaf.tensor)}
    masks = [index for index, tensor in zeros.items() if tensor.dtype is torch.bool]
    ones = {index: torch.ones_like(tensor) for index, tensor in zeros.items() if index not in masks}
    others = [zeros] * bool(zeros) + [{**zeros, **{index: ~zeros[index] for index in masks}}] * bool(masks)
    others += [{**zeros, **ones}] * bool(ones)
    lengths = {index: tensor for index, tensor in ones.items() if tensor.dim() and tensor.numel()}
    for size in sorted({size for leaf in tensors(call) if _data(leaf.tensor) for size in leaf.tensor.shape}):
        others += [{**zeros, **{index: _adding_up(tensor, size) for index, tensor in lengths.items()}}] * bool(lengths)
    return all(raised(exchanged(call, other)) for other in others)


def _adding_up(tensor: torch.Tensor, size: int) -> torch.Tensor:
    """Whole numbers of a tensor's shape and dtype whose last dimension adds up to `size`."""
    parts = torch.zeros_like(tensor)
    parts[..., -1] = size
    return parts


def _data(tensor: torch.Tensor) -> bool:
    return bool(tensor.is_floating_point() or tensor.is_complex())


def knowable(call: Call) -> bool:
    """Whether the error shows without any value: on the meta device."""
    if any(leaf.tensor.layout is not torch.strided for leaf in tensors(call)):
        return False
    try:
        on_meta(call)
    except NotImplementedError:
        return False
    except Exception as error:
        return not UNKNOWABLE.search(str(error))
    return False


def taken_or_refused(sample: Sample, call: Call, words: str) -> Iterator[Draft]:
    """Yield a call like a sample's as PyTorch takes it, or as it refuses it unless its parser does."""
    error = raised(call)
    if not error:
        yield Draft(words, call, sample.variant, sample.entry, group=words)
    elif not error.startswith("TypeError") and refused(call):  # a TypeError is the parser's
        yield Draft(f"{words}, refused", call, sample.variant, sample.entry, fails=True, group=words)
