"""Whether one call only moves its input's elements: asked of the reference, with values of our own."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from bringup.judge._codec import tensors_of
from bringup.suites import CaseInputs

LARGE = 1 << 16  # from here on few fillings will do: each has many elements that must agree
FILLINGS, FILLINGS_LARGE = 8, 3
SCALE, NOT_ZERO = 100.0, 0.75
CONSTANTS = 64  # different numbers in a result that are no element's: more are computed
SEED = 0  # of values that no candidate sees
# Gradients for which the forward call's input says its sizes, and nothing else, by the name of ATen's operators.
SIZES_ALONE = frozenset(
    {f"{name}_backward" for name in ("avg_pool2d", "avg_pool3d", "_adaptive_avg_pool2d", "_adaptive_avg_pool3d")}
    | {f"{name}{n}d_backward" for name in ("reflection_pad", "replication_pad") for n in (1, 2, 3)}
)
WIDE = 32  # bits of a dtype that holds any code
SPARE_BITS = 16  # of codes beyond those that count elements: so that no constant is one
BESIDE = (1, 2)  # whole numbers for the pivots, counts or indices beside the data


def rearranges(
    inputs: CaseInputs, results: list[torch.Tensor], outs: Collection[str] = (), sizes_alone: Collection[int] = ()
) -> bool:
    """Whether a result of the call is made of one tensor's elements, and of constants, by sizes alone.

    The reference is called again, with other values in the tensor's place. Each element of a result must come from the
    same element every time, or be the same number, and not all from where they are: what leaves every element in its
    place moves nothing, in whatever dtype (a sum over one element). A result of another dtype moves nothing: casts are
    known by name.

    An operator of several tensors of floating point computes, also in a call in which all but one of them happen not
    to matter (a factor of 0, no elements, two equal bounds, a window in the padding): wrappers broadcast operands by
    copies there, as they do elsewhere.

    Args:
        inputs: the case; one that is refused says no. What stands beside its one tensor of floating point (pivots,
            counts) must not matter: where it does (indices), it says no. Where there are only whole numbers and truth
            values, each tensor is the data once; but where PyTorch takes several of floating point in their place, it
            says no.
        results: its right results.
        outs: keyword arguments that it only writes. The reference gets others in their place.
        sizes_alone: places of arguments of which the operator knows the sizes alone: these are no data.
    """
    asked = {key: value for key, value in inputs.kwargs.items() if key not in outs}
    shapes = [tensor for place in sizes_alone for _, tensor in tensors_of(list(inputs.args[place : place + 1]), "")]
    found = [tensor for _, tensor in tensors_of([list(inputs.args), asked], "")]
    given = [tensor for tensor in found if not any(tensor is one for one in shapes)]
    floats = [tensor for tensor in given if tensor.is_floating_point()]
    if inputs.raises or len(floats) > 1 or (not floats and _several_data(inputs, given, outs)):
        return False
    data = floats or given
    return any(
        _moved(inputs, results, outs, source, [tensor for tensor in found if tensor is not source])
        for source in data
        if len(data) == 1 or any(_may_hold(result, source) for result in results)
    )


def sizes_alone(operator: str) -> tuple[int, ...]:
    """Return the places of arguments of which an operator or overload knows the sizes alone."""
    return (1,) if operator.partition(".")[0] in SIZES_ALONE else ()


def _may_hold(result: torch.Tensor, source: torch.Tensor) -> bool:
    """Whether a right result may be made of this tensor's elements and few constants, by what it holds."""
    if result.dtype != source.dtype or not result.numel() or not _plain(result) or not _plain(source):
        return False
    if result.dtype is torch.bool:
        return True
    flat = result.reshape(-1)
    others = flat[torch.isin(flat, source.reshape(-1), invert=True) & ~flat.isnan()]
    return others.numel() < flat.numel() and int(torch.unique(others).numel()) <= CONSTANTS


def _several_data(inputs: CaseInputs, given: Sequence[torch.Tensor], outs: Collection[str]) -> bool:
    """Whether several tensors of whole numbers are data, and not places or counts: they may be of floating point."""
    if len(given) < 2:
        return False
    tree: Any = [
        tuple(inputs.args),
        {name: value for name, value in inputs.kwargs.items() if name not in {"out", *outs}},
    ]
    for tensor in given:
        tree = _exchanged(tree, tensor, tensor.to(torch.float32))
    args, kwargs = tree
    written = {name: value for name, value in inputs.kwargs.items() if isinstance(value, torch.Tensor) and name in outs}
    own = {name: torch.empty(0, dtype=value.dtype) for name, value in written.items()}
    wide = {name: torch.empty(0, dtype=torch.float32) for name in written}
    for room in [{}, own, wide] if written else [{}]:  # of a comparison or an index, and of what computes
        with contextlib.suppress(Exception), torch.no_grad(), torch.random.fork_rng(devices=[]):
            inputs.reference(*args, **kwargs, **room)
            return True
    return False


def _moved(
    inputs: CaseInputs,
    results: list[torch.Tensor],
    outs: Collection[str],
    source: torch.Tensor,
    beside: Sequence[torch.Tensor],
) -> bool:
    """Whether a result is made of this tensor's elements; asked in the widest dtype of its kind, else in its own."""
    if not source.numel() or not _plain(source):
        return False
    wide = torch.float64 if source.is_floating_point() else torch.int64
    for dtype in dict.fromkeys((wide, source.dtype) if source.dtype is not torch.bool else (source.dtype,)):
        with contextlib.suppress(Exception):  # whatever a reference says of values, or of a dtype, that no case has
            return _moved_as(dtype, inputs, results, outs, source, beside)
    return False


def _moved_as(
    dtype: torch.dtype,
    inputs: CaseInputs,
    results: list[torch.Tensor],
    outs: Collection[str],
    source: torch.Tensor,
    beside: Sequence[torch.Tensor],
) -> bool:
    generator = torch.Generator().manual_seed(SEED)
    found: dict[int, list[_Found]] = {}
    for _ in range(2):
        codes = Codes.drawn(source.shape, dtype, generator)
        answers = [_answer(inputs, source, digits, outs) for digits in codes.digits]
        if any(len(answer) != len(results) or not all(map(_plain, answer)) for answer in answers):
            return False
        for number, result in enumerate(results):
            if result.numel() and result.dtype == source.dtype and found.get(number) != []:
                one = codes.found([answer[number] for answer in answers])
                found.setdefault(number, []).extend([] if one is None else [one])
    places = {number: agreed for number, both in found.items() if (agreed := _agreed(both, source.numel())) is not None}
    fillings = FILLINGS if source.numel() <= LARGE else FILLINGS_LARGE
    for turn in range(fillings):
        if not places:
            return False
        values = _few(source, dtype, generator)
        # The last times what stands beside the data is exchanged, too: for ones, then for twos.
        number = max(0, turn + 1 + len(BESIDE) - fillings)
        made = _answer(inputs, source, values, outs, beside, BESIDE[number - 1] if number else None)
        places = {number: known for number, known in places.items() if _follows(values, made[number], *known)}
    return bool(places)


_Found = tuple[torch.Tensor, torch.Tensor]
"""From which element each of a result's comes, -1 for none; and what the element is."""


@dataclass(frozen=True)
class Codes:
    """A number for each element of a tensor, which shows where an element of a result comes from.

    Written in a dtype that holds whole numbers of few bits only, it takes several tensors of digits. Integers are
    negative: large ones that were taken for a count or a size would fill the memory.
    """

    shape: torch.Size
    order: torch.Tensor
    first: int
    digits: tuple[torch.Tensor, ...]
    bits: int
    sign: int

    @classmethod
    def drawn(cls, shape: torch.Size, dtype: torch.dtype, generator: torch.Generator) -> Codes:
        """Draw a sequence of numbers that begins anywhere, in any order."""
        count, bits = shape.numel(), _bits(dtype)
        length = 1 if bits > WIDE else -(-(count.bit_length() + SPARE_BITS) // bits)
        first = int(torch.randint(1 << 30, 1 << 31, (), generator=generator))
        if bits <= WIDE:
            first %= (1 << (bits * length)) - count
        order = torch.randperm(count, generator=generator)
        codes = order + first
        sign = -1 if dtype.is_signed and not dtype.is_floating_point else 1
        digits = [sign * ((codes >> (bits * place)) & ((1 << bits) - 1)) for place in range(length)]
        return cls(shape, order, first, tuple(one.reshape(shape).to(dtype) for one in digits), bits, sign)

    def found(self, answers: Sequence[torch.Tensor]) -> _Found | None:
        """Where a result's elements come from, by its answer to each of the digits; None where it makes no sense."""
        if any(answer.shape != answers[0].shape for answer in answers):
            return None
        flat = [answer.reshape(-1) for answer in answers]
        numbers = [self.sign * one.to(torch.int64) for one in flat]
        whole = torch.stack([one == self.sign * number for one, number in zip(flat, numbers, strict=True)]).all(0)
        whole &= torch.stack([(number >= 0) & (number >> self.bits == 0) for number in numbers]).all(0)
        code = sum((number << (self.bits * place) for place, number in enumerate(numbers)), torch.tensor(-self.first))
        inside = whole & (code >= 0) & (code < self.order.numel())
        places = torch.empty_like(self.order)
        places[self.order] = torch.arange(self.order.numel())
        return torch.where(inside, places[torch.where(inside, code, 0)], -1), flat[0]


def _bits(dtype: torch.dtype) -> int:
    """How many bits whole numbers may have that a dtype holds exactly."""
    if dtype is torch.bool:
        return 1
    if dtype.is_floating_point:
        return int(-math.log2(torch.finfo(dtype).eps)) + 1
    return int(torch.iinfo(dtype).max).bit_length()


def _agreed(found: Sequence[_Found], elements: int) -> _Found | None:
    """What two codes say together: from where each element comes, and the constants among them.

    None where they differ, where each element comes from its own place, or none from any.
    """
    if len(found) < 2 or found[0][0].shape != found[1][0].shape:
        return None
    (places, made), (others, again) = found
    moved = (places == others) & (places >= 0)
    if not bool((moved | (made == again)).all()) or not bool(moved.any()):
        return None
    places = torch.where(moved, places, -1)
    if places.numel() == elements and torch.equal(places, torch.arange(elements)):
        return None
    return places, torch.where(moved, torch.zeros_like(made), made)


def _plain(tensor: torch.Tensor) -> bool:
    return tensor.layout == torch.strided and not tensor.is_complex()


def _few(source: torch.Tensor, dtype: torch.dtype, generator: torch.Generator) -> torch.Tensor:
    """Ordinary values, and zeros among them."""
    there = torch.rand(source.shape, generator=generator) < NOT_ZERO
    if not dtype.is_floating_point:
        least, most = (0, 2) if dtype is torch.bool else (max(-100, torch.iinfo(dtype).min), 100)
        return (torch.randint(least, most, source.shape, generator=generator) * there).to(dtype)
    return (SCALE * torch.randn(source.shape, generator=generator, dtype=torch.float64) * there).to(dtype)


def _answer(
    inputs: CaseInputs,
    source: torch.Tensor,
    values: torch.Tensor,
    outs: Collection[str],
    beside: Sequence[torch.Tensor] = (),
    number: int | None = None,
) -> list[torch.Tensor]:
    args, kwargs = _exchanged([tuple(inputs.args), dict(inputs.kwargs)], source, values.clone())
    for other in beside if number is not None else ():
        args, kwargs = _exchanged([args, kwargs], other, torch.full_like(other, number))
    for name in outs:
        for _, out in tensors_of(kwargs.get(name), ""):
            kwargs[name] = _exchanged(kwargs[name], out, _room(out, source, values))
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        return [tensor for _, tensor in tensors_of(inputs.reference(*args, **kwargs), "")]


def _room(out: torch.Tensor, source: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """A tensor for a result, of the values' dtype where the case has the source's."""
    return torch.empty(0, dtype=values.dtype if out.dtype == source.dtype else out.dtype)


def _exchanged(tree: Any, old: torch.Tensor, new: torch.Tensor) -> Any:
    """Return a tree of arguments with one tensor in another's place."""
    if tree is old:
        return new
    if isinstance(tree, list | tuple):
        return type(tree)(_exchanged(item, old, new) for item in tree)
    if isinstance(tree, dict):
        return {key: _exchanged(item, old, new) for key, item in tree.items()}
    return tree


def _follows(values: torch.Tensor, result: torch.Tensor, places: torch.Tensor, constants: torch.Tensor) -> bool:
    """Whether a result is what lies in these places, in its dtype, and these constants."""
    wanted = torch.where(places < 0, constants, values.reshape(-1)[places])
    return bool(torch.equal(result.reshape(-1), wanted.to(result.dtype)))
