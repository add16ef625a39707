"""Whether one call only moves its input's elements: asked of the reference, with values of our own."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import torch

from bringup.judge._codec import tensors_of
from bringup.suites import CaseInputs

MOST = 1 << 16  # elements of an input: what larger calls do, smaller ones of the same operator do
FILLINGS = 8  # that must agree: an element of few may be the largest by chance
SCALE, NOT_ZERO = 100.0, 0.75
SEED = 0  # of values that no candidate sees


def rearranges(inputs: CaseInputs, results: list[torch.Tensor], outs: Collection[str] = ()) -> bool:
    """Whether a result of the call is made of its one tensor's elements by sizes alone.

    The reference is called again, with other values in the tensor's place. Each element of a result must come from the
    same element every time, and not all from where they are: what leaves every element in its place moves nothing,
    in whatever dtype (a sum over one element). A result of another dtype moves nothing: casts are known by name, and of
    truth values many agree by chance.

    Args:
        inputs: the case; one with several tensors, or that is refused or writes into an argument, says no.
        results: its right results.
        outs: keyword arguments that it only writes. The reference gets others in their place.
    """
    asked = {key: value for key, value in inputs.kwargs.items() if key not in outs}
    given = [tensor for _, tensor in tensors_of([list(inputs.args), asked], "")]
    if len(given) != 1 or inputs.raises or inputs.requires or not 0 < given[0].numel() <= MOST:
        return False
    (source,) = given
    if source.dtype == torch.bool or not _plain(source):
        return False
    generator = torch.Generator().manual_seed(SEED)
    try:
        first = _distinct(source, generator)
        answer = _answer(inputs, source, first, outs)
        if len(answer) != len(results) or not all(map(_plain, answer)):
            return False
        places = {
            number: found
            for number, (result, made) in enumerate(zip(results, answer, strict=True))
            if result.numel() and result.dtype == source.dtype and (found := _places(first, made)) is not None
        }
        for _ in range(FILLINGS):
            if not places:
                return False
            values = _few(source, generator)
            answer = _answer(inputs, source, values, outs)
            places = {number: found for number, found in places.items() if _follows(values, answer[number], found)}
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
    inputs: CaseInputs, source: torch.Tensor, values: torch.Tensor, outs: Collection[str]
) -> list[torch.Tensor]:
    args, kwargs = _exchanged([tuple(inputs.args), dict(inputs.kwargs)], source, values.clone())
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


def _places(values: torch.Tensor, result: torch.Tensor) -> torch.Tensor | None:
    """From which element each of a result's comes; None where each comes from its own."""
    flat, made = values.reshape(-1), result.reshape(-1)
    same = torch.arange(flat.numel())
    ordered, order = flat.sort()
    found = order[torch.searchsorted(ordered, made).clamp(max=flat.numel() - 1)]
    return None if torch.equal(found, same) else found


def _follows(values: torch.Tensor, result: torch.Tensor, places: torch.Tensor) -> bool:
    """Whether a result is what lies in these places, in its dtype."""
    wanted = values.reshape(-1)[places].to(result.dtype)
    return bool(torch.equal(result.reshape(-1), wanted))
