"""Which arguments a reference writes: found by asking it again with other values in them.

Bits that are equal before and after a call do not say that nobody wrote them: a NaN may have been written over a NaN.
"""

from __future__ import annotations

import torch

from bringup.judge import _codec, _compare
from bringup.suites import CaseInputs

# Of both signs and either side of 1: no function in place leaves all of them as they are unless it writes nothing.
VALUES = (-2.0, 0.0, 3.0)


def same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors have the same dtype, shape and bits; their strides may differ."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    left, right = (_dense(t).view(torch.uint8) for t in (one, other))
    return bool(torch.equal(left, right))


def written(inputs: CaseInputs, number: int) -> bool:
    """Whether the reference writes a tensor among the arguments, whatever it holds.

    Args:
        inputs: the case.
        number: the tensor's place among those of the call, depth first.
    """
    return any(not same_bits(before, after) for before, after in _asked(inputs, number))


def overwritten(inputs: CaseInputs, number: int, reference: torch.Tensor) -> bool:
    """Whether the reference writes every element of the tensor, whatever it holds: it leaves `reference` always."""
    asked = _asked(inputs, number)
    return bool(asked) and all(_same_values(after, reference) for _, after in asked)


def _asked(inputs: CaseInputs, number: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Return what the tensor held before and after calls with other values in it; none where PyTorch refuses one."""
    found = []
    for value in VALUES:
        args, kwargs = _codec.clone_tree([tuple(inputs.args), dict(inputs.kwargs)])
        tensor = _compare.input_paths(args, kwargs)[number][1]
        try:
            tensor.fill_(abs(value) if not tensor.dtype.is_signed else value)
            before = tensor.clone()
            with torch.no_grad():
                inputs.reference(*args, **kwargs)
        except Exception:  # whatever PyTorch raises: of overlapping elements, of the values
            return []
        found.append((before, tensor))
    return found


def _same_values(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    return bool(((one == other) | (one.isnan() & other.isnan())).all())


def _dense(tensor: torch.Tensor) -> torch.Tensor:
    # Not `contiguous()`: it leaves the stride of a single element as it is, which cannot be seen as bytes then.
    return tensor.detach().clone(memory_format=torch.contiguous_format).reshape(-1)
