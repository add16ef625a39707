"""Which elements of a result a call leaves as an argument has them, whatever that has: asked of the reference.

`index_copy` leaves the rows that no index names, and a kernel may leave them to a copy. `clamp` leaves numbers within
its bounds: that is for a kernel to find out, also in a call in which all of them happen to be.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, Literal, NamedTuple

import torch
from torch.utils import _pytree as pytree

from bringup.judge import _codec, _compare
from bringup.suites import CaseInputs

LARGE = 1 << 22  # elements: of so many fewer fillings will do
FEW = 4
SMALL = 4  # whole numbers from 0 on that may be counts: larger ones would fill the memory
MOST_TRIED = 6  # tensors of whole numbers of which it is tried which ones are indices
WIDE = 1000.0


class Output(NamedTuple):
    """A tensor that a call returns, or one among its arguments after it: its place among those, depth first."""

    kind: Literal["result", "argument"]
    place: int

    def of(self, result: Any, args: Any, kwargs: Any) -> torch.Tensor:
        """Return it. Raises IndexError."""
        found = _codec.tensors_of(result, "") if self.kind == "result" else _compare.input_paths(tuple(args), kwargs)
        return found[self.place][1]


def stays(inputs: CaseInputs, number: int, output: Output, elements: torch.Tensor, *, counts: bool = False) -> bool:
    """Whether elements of an output are what an argument has in their places, whatever that is.

    Args:
        inputs: the case.
        number: the argument's place among the tensors of the call, depth first; of as many elements as the output.
        output: which of the reference's.
        elements: bool[elements], in row-major order.
        counts: whether whole numbers may say sizes of the result: then they are small.

    The reference is asked with other values in the argument, and in whatever else is data: an addition leaves what a
    zero is added to, and few of those that are drawn are zeros. Indices and masks stay, which PyTorch takes no
    fractions for. Where it refuses all other values, it is asked with its own in other places. True where it refuses
    these, too; not of a polynomial of any degree, and other values may be of one that takes hours.
    """
    if inputs.standard is not None and inputs.standard.rule.degree:
        return False
    given = [tensor for _, tensor in _compare.input_paths(tuple(inputs.args), dict(inputs.kwargs))]
    places = [number, *_data(inputs, given, number, output)]
    # Of what is at hand, which no candidate sees: nobody can foresee what is drawn.
    seed = zlib.crc32(bits(given[number]).numpy().tobytes())
    for fillings in (_others, _turned):
        drawn = zip(*(fillings(given[place], seed + place, counts=counts) for place in places), strict=False)
        answers = [
            answer
            for values in drawn
            if (answer := _asked(inputs, dict(zip(places, values, strict=True)), number, output, elements)) is not None
        ]
        if answers:
            return all(answers)
    return True


def _data(inputs: CaseInputs, given: Sequence[torch.Tensor], number: int, output: Output) -> list[int]:
    """The places of the other tensors that are data, and no indices or masks."""
    own = output.place if output.kind == "argument" else None
    others = [place for place, tensor in enumerate(given) if place not in (number, own) and tensor.numel()]
    fractions = {place for place in others if given[place].is_floating_point() or given[place].is_complex()}
    whole = [place for place in others if place not in fractions]
    source = given[number]
    first = () if source.is_floating_point() or source.is_complex() else (number,)
    for count in range(len(whole), -1, -1):  # as many as may be are data
        for some in itertools.combinations(whole, count) if len(whole) <= MOST_TRIED else ():
            if _takes_fractions(inputs, {*first, *some}, output):
                return sorted({*fractions, *some})
    alike = {place for place in whole if given[place].dtype == source.dtype}  # of what is for whole numbers alone
    return sorted(fractions | alike)


def _as_fractions(which: Set[int], value: Any) -> Any:
    return value.float() if id(value) in which else value


def _takes_fractions(inputs: CaseInputs, places: Set[int], output: Output) -> bool:
    """Whether the reference takes tensors of floating point in the place of these of whole numbers or truth values."""
    for dtype in (None, torch.float32, torch.float64, torch.bool):
        args, kwargs = _codec.clone_tree([tuple(inputs.args), dict(inputs.kwargs)])
        paths = _compare.input_paths(tuple(args), kwargs)
        exchanged = {id(paths[place][1]) for place in places}
        if output.kind == "argument" and dtype is not None:
            name = paths[output.place][0].split()[-1]
            if name not in kwargs:
                return False
            kwargs[name] = torch.empty(0, dtype=dtype)
        try:
            with torch.no_grad(), torch.random.fork_rng(devices=[]):
                args, kwargs = pytree.tree_map(
                    lambda v, ids=exchanged: v.float() if id(v) in ids else v, [args, kwargs]
                )
                inputs.reference(*args, **kwargs)
        except Exception:  # whatever PyTorch raises of such a dtype
            continue
        return True
    return False


def bits(tensor: torch.Tensor) -> torch.Tensor:
    """Return a host tensor's elements in row-major order, each as its bytes: uint8[elements, bytes]."""
    flat = tensor.detach().clone(memory_format=torch.contiguous_format).reshape(-1)
    return flat.view(torch.uint8).reshape(flat.numel(), flat.element_size())


def _asked(
    inputs: CaseInputs, values: Mapping[int, torch.Tensor], number: int, output: Output, elements: torch.Tensor
) -> bool | None:
    """Whether they stay with these values in the arguments; None where the reference refuses the call."""
    args, kwargs = _codec.clone_tree([tuple(inputs.args), dict(inputs.kwargs)])
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            given = [tensor for _, tensor in _compare.input_paths(tuple(args), kwargs)]
            for place, made in values.items():
                put(given[place], made)
            before, nans = bits(given[number]), given[number].isnan().reshape(-1)
            result = inputs.reference(*args, **kwargs)
    except Exception:  # whatever PyTorch raises of such values
        return None
    try:
        left = output.of(result, args, kwargs)
    except IndexError:  # PyTorch has fewer results
        return False
    after = bits(left)
    if after.shape != before.shape:
        return False
    kept = (after == before).all(dim=-1) | (nans & left.isnan().reshape(-1))  # a NaN may get other bits
    return bool(kept[elements].all())


def put(tensor: torch.Tensor, values: torch.Tensor) -> None:
    """Write values of the same sizes into a tensor; of those that are repeated along a dimension the first ones."""
    for dim, (size, step) in enumerate(zip(tensor.shape, tensor.stride(), strict=True)):
        if step == 0 and size > 1:
            tensor, values = tensor.narrow(dim, 0, 1), values.narrow(dim, 0, 1)
    tensor.copy_(values)


def _others(tensor: torch.Tensor, seed: int, *, counts: bool) -> Iterator[torch.Tensor]:
    """Values of the dtype: each element gets all that are special, one after the other, and some of usual size."""
    generator = torch.Generator().manual_seed(seed)
    dtype = tensor.dtype
    if dtype.is_complex:
        for parts in zip(*(_others(tensor.real, seed + one, counts=counts) for one in range(2)), strict=True):
            yield torch.complex(*(part.float() for part in parts)).to(dtype)
        return
    if dtype is torch.bool:
        some = torch.tensor([False, True])
    elif counts and not dtype.is_floating_point:
        some = torch.arange(SMALL).to(dtype)
    elif dtype.is_floating_point:
        info = torch.finfo(dtype)
        large = info.max / 16  # sums of few do not overflow
        values = [float("inf"), -float("inf"), float("nan"), large, -large, info.tiny, 0.0, -1.0, 0.25]
        some = torch.tensor(values, dtype=dtype)
    else:
        # Neither the smallest nor -1: PyTorch's kernels divide these on the host, which ends the process.
        whole = torch.iinfo(dtype)
        values = [whole.min + 1, whole.max, 0, 1, 2, whole.max // 3, whole.min // 5]
        some = torch.tensor(values, dtype=dtype)
    begins = torch.randint(len(some), tensor.shape, generator=generator)
    for turn in range(len(some) if tensor.numel() <= LARGE else FEW):
        yield some[(begins + turn) % len(some)]
        if turn < FEW and not counts:
            wide = WIDE * torch.randn(tensor.shape, generator=generator)
            yield wide.to(dtype) if dtype.is_floating_point else _usual(wide, dtype)


def _usual(wide: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    if dtype is torch.bool:
        return wide > 0
    whole = torch.iinfo(dtype)
    made = wide.clamp(max(whole.min + 1, -WIDE), min(whole.max, WIDE)).to(torch.int64)
    return torch.where(made == -1, 2, made).to(dtype)


def _turned(tensor: torch.Tensor, seed: int, *, counts: bool) -> Iterator[torch.Tensor]:
    """Its own values in other places."""
    flat = tensor.detach().clone(memory_format=torch.contiguous_format).reshape(-1)
    for steps in (1, max(1, flat.numel() // 2)):
        yield flat.roll(steps).reshape(tensor.shape)
