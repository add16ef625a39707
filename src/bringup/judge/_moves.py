"""Whether one call only moves its input's elements: asked of the reference, with values of our own."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import torch

from bringup.judge._codec import tensors_of
from bringup.suites import CaseInputs

MOST = 1 << 16  # elements of an input: what larger calls do, smaller ones of the same operator do
FILLINGS = 8  # that must agree: an element of few may be the largest by chance
SCALE, NOT_ZERO = 100.0, 0.75
SEED = 0  # of values that no candidate sees
BESIDE = (1, 2)  # whole numbers for the pivots, counts or indices beside the data


def rearranges(inputs: CaseInputs, results: list[torch.Tensor], outs: Collection[str] = ()) -> bool:
    """Whether a result of the call is made of one tensor's elements, and of constants, by sizes alone.

    The reference is called again, with other values in the tensor's place. Each element of a result must come from the
    same element every time, or be the same number, and not all from where they are: what leaves every element in its
    place moves nothing, in whatever dtype (a sum over one element). A result of another dtype moves nothing: casts are
    known by name, and of truth values many agree by chance.

    Args:
        inputs: the case; one with several tensors of data, or that is refused or writes into an argument, says no.
            What whole numbers beside the data say (pivots) must not matter: where they do (indices), it says no.
        results: its right results.
        outs: keyword arguments that it only writes. The reference gets others in their place.
    """
    asked = {key: value for key, value in inputs.kwargs.items() if key not in outs}
    given = [tensor for _, tensor in tensors_of([list(inputs.args), asked], "")]
    data = [tensor for tensor in given if tensor.is_floating_point()] if len(given) > 1 else given
    if len(data) != 1 or inputs.raises or inputs.requires or not 0 < data[0].numel() <= MOST:
        return False
    (source,) = data
    if source.dtype == torch.bool or not _plain(source):
        return False
    beside = [tensor for tensor in given if tensor is not source]
    generator = torch.Generator().manual_seed(SEED)
    try:
        first, second = (_distinct(source, generator) for _ in range(2))
        answer, again = (_answer(inputs, source, values, outs) for values in (first, second))
        if len(answer) != len(results) or not all(map(_plain, answer)):
            return False
        places = {
            number: found
            for number, (result, made) in enumerate(zip(results, answer, strict=True))
            if result.numel() and result.dtype == source.dtype
            and (found := _places(first, made, second, again[number])) is not None
        }  # fmt: skip
        for turn in range(FILLINGS):
            if not places:
                return False
            values = _few(source, generator)
            # The last times what stands beside the data is exchanged, too: for ones, then for twos.
            number = max(0, turn + 1 + len(BESIDE) - FILLINGS)
            made = _answer(inputs, source, values, outs, beside, BESIDE[number - 1] if number else None)
            kept = {number: found for number, found in places.items() if _follows(values, made[number], *found)}
            places = kept
    except Exception:  # whatever a reference says of values, or of a dtype, that no case has
        return False
    return bool(places)


def _plain(tensor: torch.Tensor) -> bool:
    return tensor.layout == torch.strided and not tensor.is_complex()


def _distinct(source: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Values of the same shape in the widest dtype of the same kind; no two are equal, or hardly any."""
    if source.is_floating_point():
        return SCALE * torch.randn(source.shape, generator=generator, dtype=torch.float64)
    return torch.randint(-(1 << 40), 1 << 40, source.shape, generator=generator)


def _few(source: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """The same with ordinary values, and zeros among them."""
    values = SCALE * torch.randn(source.shape, generator=generator, dtype=torch.float64)
    values *= torch.rand(source.shape, generator=generator) < NOT_ZERO
    return values if source.is_floating_point() else values.to(torch.int64)


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


def _places(
    values: torch.Tensor, result: torch.Tensor, others: torch.Tensor, again: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor] | None:
    """From which element each of a result's comes, -1 for a constant, and the constants.

    None where each comes from its own, or none moves; `again` is the result for `others` in the place of `values`.
    """
    flat, made = values.reshape(-1), result.reshape(-1)
    if again.shape != result.shape:
        return None
    same = torch.arange(flat.numel())
    ordered, order = flat.sort()
    found = order[torch.searchsorted(ordered, made).clamp(max=flat.numel() - 1)]
    constant = (made == again.reshape(-1)) & (flat[found] != made)
    found = torch.where(constant, -1, found)
    if torch.equal(found, same) or bool((found < 0).all()):
        return None
    return found, torch.where(constant, made, 0)


def _follows(values: torch.Tensor, result: torch.Tensor, places: torch.Tensor, constants: torch.Tensor) -> bool:
    """Whether a result is what lies in these places, in its dtype, and these constants."""
    wanted = torch.where(places < 0, constants, values.reshape(-1)[places])
    return bool(torch.equal(result.reshape(-1), wanted.to(result.dtype)))
