"""Which elements of a result a call leaves as an argument has them, whatever that has: asked of the reference.

`index_copy` leaves the rows that no index names, and a kernel may leave them to a copy. `clamp` leaves numbers within
its bounds: that is for a kernel to find out, also in a call in which all of them happen to be.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import torch

from bringup.judge import _codec, _compare
from bringup.suites import CaseInputs

LARGE = 1 << 12  # elements; of more than that each filling has many that must stay
FILLINGS, FILLINGS_LARGE = 8, 2
SEED = 0  # of values that no candidate sees
WIDE = 1000.0


class Output(NamedTuple):
    """A tensor that a call returns, or one among its arguments after it: its place among those, depth first."""

    kind: Literal["result", "argument"]
    place: int

    def of(self, result: Any, args: Any, kwargs: Any) -> torch.Tensor:
        """Return it. Raises IndexError."""
        found = _codec.tensors_of(result, "") if self.kind == "result" else _compare.input_paths(tuple(args), kwargs)
        return found[self.place][1]


def stays(inputs: CaseInputs, number: int, output: Output, elements: torch.Tensor) -> bool:
    """Whether elements of an output are what an argument has in their places, whatever that is.

    Args:
        inputs: the case.
        number: the argument's place among the tensors of the call, depth first; of as many elements as the output.
        output: which of the reference's.
        elements: bool[elements], in row-major order.

    The reference is asked with other values in the argument; where it refuses all of them, with its own in other
    places. True where it refuses these, too; not of a polynomial of any degree, and other values may be of one that
    takes hours.
    """
    if inputs.standard is not None and inputs.standard.rule.degree:
        return False
    for fillings in (_others, _turned):
        answers = [
            answer
            for values in fillings(_compare.input_paths(tuple(inputs.args), dict(inputs.kwargs))[number][1])
            if (answer := _asked(inputs, number, output, elements, values)) is not None
        ]
        if answers:
            return all(answers)
    return True


def bits(tensor: torch.Tensor) -> torch.Tensor:
    """Return a host tensor's elements in row-major order, each as its bytes: uint8[elements, bytes]."""
    flat = tensor.detach().clone(memory_format=torch.contiguous_format).reshape(-1)
    return flat.view(torch.uint8).reshape(flat.numel(), flat.element_size())


def _asked(
    inputs: CaseInputs, number: int, output: Output, elements: torch.Tensor, values: torch.Tensor
) -> bool | None:
    """Whether they stay with these values in the argument; None where the reference refuses the call."""
    args, kwargs = _codec.clone_tree([tuple(inputs.args), dict(inputs.kwargs)])
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            tensor = _compare.input_paths(tuple(args), kwargs)[number][1]
            _once(tensor).copy_(_once(values.expand_as(tensor)))
            before, nans = bits(tensor), tensor.isnan().reshape(-1)
            left = output.of(inputs.reference(*args, **kwargs), args, kwargs)
            after = bits(left)
    except Exception:  # whatever PyTorch raises of such values
        return None
    if after.shape != before.shape:
        return False
    kept = (after == before).all(dim=-1) | (nans & left.isnan().reshape(-1))  # a NaN may get other bits
    return bool(kept[elements].all())


def _once(tensor: torch.Tensor) -> torch.Tensor:
    """The same elements, each of those once that are repeated along a dimension."""
    for dim, (size, step) in enumerate(zip(tensor.shape, tensor.stride(), strict=True)):
        if step == 0 and size > 1:
            tensor = tensor.narrow(dim, 0, 1)
    return tensor


def _others(tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    """Values of the dtype: in turn of all magnitudes, infinities and NaNs among them, and of few."""
    generator = torch.Generator().manual_seed(SEED)
    shape, dtype = tensor.shape, tensor.dtype
    for turn in range(FILLINGS if tensor.numel() <= LARGE else FILLINGS_LARGE):
        if dtype.is_complex:
            parts = [_floats(shape, torch.float32, generator, turn) for _ in range(2)]
            yield torch.complex(*parts).to(dtype)
        elif dtype.is_floating_point:
            yield _floats(shape, dtype, generator, turn)
        elif dtype is torch.bool:
            yield torch.rand(shape, generator=generator) < 0.5
        else:
            # Neither the smallest nor -1: PyTorch's kernels divide these on the host, which ends the process.
            info = torch.iinfo(dtype)
            some = torch.tensor([info.min + 1, info.max, 0, 1, info.max // 3, info.min // 5], dtype=dtype)
            small = torch.randint(max(info.min, -100), 100, shape, generator=generator)
            small[small == -1] = 2
            yield small.to(dtype) if turn % 2 else _picked(some, shape, generator)


def _floats(shape: torch.Size, dtype: torch.dtype, generator: torch.Generator, turn: int) -> torch.Tensor:
    info = torch.finfo(dtype)
    large = info.max / 16  # sums of few do not overflow
    some = [float("inf"), -float("inf"), float("nan"), large, -large, info.tiny, 0.0, -1.0, 0.25]
    wide = WIDE * torch.randn(shape, generator=generator)
    return wide.to(dtype) if turn % 2 else _picked(torch.tensor(some, dtype=dtype), shape, generator)


def _picked(some: torch.Tensor, shape: torch.Size, generator: torch.Generator) -> torch.Tensor:
    return some[torch.randint(len(some), shape, generator=generator)]


def _turned(tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    """Its own values in other places."""
    flat = tensor.detach().clone(memory_format=torch.contiguous_format).reshape(-1)
    for steps in (1, max(1, flat.numel() // 2)):
        yield flat.roll(steps).reshape(tensor.shape)
