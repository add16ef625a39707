"""Calls like a case's with tensors of other sizes: whether the reference can afford them, and what makes them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from bringup.judge.guards._redraw import Redraw

if TYPE_CHECKING:
    import torch

    from bringup.judge._case import CaseJudge
    from bringup.judge._outcome import Outcome
    from bringup.judge.guards._rerun import Rerunner

MOST_MADE = 1 << 20  # elements of all that the reference makes on its way
MOST_RESULT = 1 << 16
ONE_STEP = ("exact", "rounding")  # classes of operators whose infinities are those of the exact results


class Resized(Redraw):
    """A guard that makes tensors of other sizes."""

    most = 1 << 14

    def takes(self, case: CaseJudge) -> bool:
        """Whether a case has tensors to resize: none without elements, which would stay so."""
        return super().takes(case) and all(
            tensor.numel() or case.is_out(number) for number, (_, tensor) in enumerate(case.tensors)
        )

    def found(self, rerun: Rerunner, made: CaseJudge, what: str) -> Outcome | None:
        """Nothing is said of speed here, or of a device that is too small for so large a call, unless that is often."""
        outcome = super().found(rerun, made, what)
        nbytes = sum(tensor.numel() * tensor.element_size() for _, tensor in made.tensors)
        return None if outcome is not None and rerun.excuses(outcome, nbytes) else outcome


def given_sizes(case: CaseJudge) -> list[tuple[int, ...]]:
    """Return the shapes of a case's tensors; what is written into has none, for it has the size of the result."""
    return [() if case.is_out(number) else tuple(tensor.shape) for number, (_, tensor) in enumerate(case.tensors)]


def affordable(
    case: CaseJudge, sizes: Sequence[tuple[int, ...]], lengths: Mapping[int, int], most: int = MOST_RESULT
) -> bool:
    """Whether the reference makes little of tensors of these sizes, as far as can be said without data.

    `most`: elements of a result.
    """
    import torch

    from bringup.judge import _codec, _grown
    from bringup.judge._size_class import made

    results = max((tensor.numel() for _, tensor in _codec.tensors_of(case.answer(), "")), default=0)
    if results <= _broadcast([tuple(tensor.shape) for n, (_, tensor) in enumerate(case.tensors) if not case.is_out(n)]):
        return _broadcast(sizes) <= most
    given = iter(
        [
            torch.empty(one, dtype=tensor.dtype, device="meta")
            for one, (_, tensor) in zip(sizes, case.tensors, strict=True)
        ]
    )
    args, kwargs = _codec.with_tensors([case.args, case.kwargs], given)
    args = tuple(_grown.renumbered(arg, lengths) for arg in args)
    kwargs = {name: _grown.renumbered(value, lengths) for name, value in kwargs.items()}
    found = made(case.inputs.reference, args, kwargs)
    return found is not None and sum(one.numel() for one, _ in found[0]) <= most and found[1] <= max(most, MOST_MADE)


def remade(
    rerun: Rerunner,
    case: CaseJudge,
    tensors: Mapping[int, torch.Tensor],
    lengths: Mapping[int, int],
    words: str,
    most: int = MOST_RESULT,
    right: Callable[[CaseJudge], bool] | None = None,
) -> CaseJudge | None:
    """Return the case with other tensors and lengths, and an `out` as large as its result is then.

    `right`: whether the reference is, on other values; by default where any values will do.

    `tensors`: by number, for all but what is written into. None where PyTorch refuses it, makes too much of it, or
    where its answer cannot be compared.
    """
    import torch

    outs = case.outs
    new = {**tensors, **{number: torch.empty(0, dtype=case.tensors[number][1].dtype) for number in outs}}
    made = rerun.remade(case, new, lengths, words)
    found = [] if made is None else results(made)
    if made is None or _has_nan(found) or len(found) != len(results(case)):
        return None
    if sum(tensor.numel() for tensor in found) > max(most, sum(tensor.numel() for tensor in results(case))):
        return None  # what is not known without data shows now
    if outs:
        if len(outs) != len(found):
            return None
        new |= {n: torch.zeros(one.shape, dtype=new[n].dtype) for n, one in zip(outs, found, strict=True)}
        made = rerun.remade(case, new, lengths, words)
        if made is None:
            return None
    if right is not None:
        return made if right(made) else None
    return made if rerun.fits(made, finite=rerun.kind(case) not in ONE_STEP) else None


def own(tensor: torch.Tensor, size: Sequence[int], chance: random.Random) -> torch.Tensor:
    """The tensor's own values, drawn again and again."""
    import torch

    generator = torch.Generator().manual_seed(chance.getrandbits(32))
    places = torch.randint(0, tensor.numel(), (math.prod(size),), generator=generator)
    return tensor.detach().reshape(-1)[places].reshape(tuple(size))


def results(case: CaseJudge) -> list[torch.Tensor]:
    """The tensors of the reference's answer."""
    from bringup.judge import _codec

    return [tensor for _, tensor in _codec.tensors_of(case.answer(), "")]


def _broadcast(sizes: Sequence[tuple[int, ...]]) -> int:
    """Elements of what tensors of these sizes broadcast to; of the largest where they do not."""
    import torch

    try:
        return int(torch.broadcast_shapes(*sizes).numel())
    except RuntimeError:
        return max(math.prod(one) for one in sizes)


def _has_nan(tensors: Sequence[torch.Tensor]) -> bool:
    return any(bool(tensor.isnan().any()) for tensor in tensors)
