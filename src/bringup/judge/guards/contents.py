"""Kinds of contents: runs of equal values, numbers of few significant bits."""

from __future__ import annotations

import random
from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from bringup.judge.guards._redraw import Redraw

if TYPE_CHECKING:
    import torch

    from bringup.judge._case import CaseJudge
    from bringup.judge.guards._rerun import Rerunner

RUNS = (4, 12)  # binary logarithms of the shortest run and the longest
FEW = 16  # values: among fewer a round one may show nothing
BITS = (1, 4)  # significant bits of a number that is cut


class Contents(Redraw):
    """More calls for each dtype with values that occur in the case, otherwise arranged or cut, as the seed draws it.

    Of operators whose arguments have no structure, where an exact reference says what is right. Integers of every
    magnitude are the audit's: only a suite knows which integers may be any.
    """

    id = "contents"
    catches = "short cuts for blocks of equal values, for round numbers"
    misses = "values that are rarer"
    advice = "compute every element by the same formula"
    draws = MappingProxyType({"runs": "values", "round": "values"})
    most = 1 << 14

    def ordered(self, cases: Sequence[CaseJudge], chance: random.Random, what: str) -> list[CaseJudge]:
        """Runs fill blocks: large cases first. For round numbers any will do that has some values."""
        found = super().ordered(cases, chance, what)
        return sorted(found, key=lambda case: -_elements(case) if what == "runs" else _moderate(case) < FEW)

    def make(self, rerun: Rerunner, case: CaseJudge, what: str, chance: random.Random) -> CaseJudge | None:
        """Exchange the contents of every tensor of data."""
        if not rerun.free(case):
            return None
        change, words = (_runs, "with runs of equal values") if what == "runs" else (_cut, "with round numbers")
        new = {n: change(tensor, chance) for n in rerun.data(case) if (tensor := case.tensors[n][1]).numel()}
        if not new or (what == "round" and not all(tensor.is_floating_point() for tensor in new.values())):
            return None
        made = rerun.exchanged(case, new, words)
        return made if made is not None and rerun.fits(made) else None


def _elements(case: CaseJudge) -> int:
    sizes: list[int] = [tensor.numel() for _, tensor in case.tensors]
    return max(sizes)


def _moderate(case: CaseJudge) -> int:
    """How many values are neither so small nor so large that cutting them gives powers of two, or whole numbers."""
    return sum(int(((t.abs() > 1 / 8) & (t.abs() < 64)).sum()) for _, t in case.tensors if t.is_floating_point())


def _runs(tensor: torch.Tensor, chance: random.Random) -> torch.Tensor:
    """Values of the tensor, each repeated."""
    import torch

    count = tensor.numel()
    longest = min(RUNS[1], count.bit_length() - 1)
    runs = [1 << longest]  # one at least that fills a block
    while sum(runs) < count:
        runs.append(int(2 ** chance.uniform(min(RUNS[0], longest), longest)))
    chance.shuffle(runs)
    places = [place for run in runs for place in [chance.randrange(count)] * run]
    return tensor.reshape(-1)[torch.tensor(places[-count:])].reshape(tensor.shape)


def _cut(tensor: torch.Tensor, chance: random.Random) -> torch.Tensor:
    """The tensor's values with few significant bits each, cut towards zero."""
    import torch

    mantissa, exponent = torch.frexp(tensor.double())
    generator = torch.Generator().manual_seed(chance.getrandbits(32))
    scale = 2.0 ** torch.randint(BITS[0], BITS[1] + 1, tensor.shape, generator=generator).double()
    return torch.ldexp(torch.trunc(mantissa * scale) / scale, exponent).to(tensor.dtype)
