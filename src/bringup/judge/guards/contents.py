"""Kinds of contents: runs of equal values, zeros, few significant bits, low lines, operands a bit apart, NaNs."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from bringup.judge.guards._base import largest
from bringup.judge.guards._redraw import Redraw
from bringup.suites.audit._structure import among

if TYPE_CHECKING:
    import torch

    from bringup.judge._case import CaseJudge
    from bringup.judge.guards._rerun import Rerunner

RUNS = (4, 12)  # binary logarithms of the shortest run and the longest
FEW = 16  # values: among fewer a round one may show nothing
BITS = (1, 4)  # significant bits of a number that is cut
SPARSE = (0.8, 0.99)  # share of the elements that are zero
NANS, LINES = "NaNs", {"all far below zero": None, "lines along the last dimension": -1}
LOW, SQUARED = 0.99, 3e15  # of the largest number of a dtype, whose negative fills lines; what may be squared and added
SEEKING = re.compile(r"(.*\.)?_?((log_)?softm(ax|in)|log(cum)?sumexp)(\.\w+)?")  # operators that take a maximum first
LINE_SHARE = 0.5  # of the lines that become low
FLIPPED = 0.1  # and of those in which two operands differ


class Contents(Redraw):
    """More calls for each dtype with values that occur in the case, otherwise arranged or cut, as the seed draws it.

    Of operators whose arguments have no structure, where an exact reference says what is right. Integers of every
    magnitude are the audit's: only a suite knows which integers may be any. NaNs get other signs and payloads where a
    case has some, and the reference answers the same.
    """

    id = "contents"
    catches = (
        "short cuts for blocks of equal values, sparse ones, round numbers; near values that are taken for equal; NaNs "
        "told by their bits; a maximum that starts above the lowest number"
    )
    misses = "values that are rarer"
    advice = "compute every element by the same formula"
    draws = MappingProxyType(
        dict.fromkeys(("runs", "sparse", "round", "neighbours", "a bit apart", NANS, *LINES), "values")
    )
    most = 1 << 14

    def ordered(self, cases: Sequence[CaseJudge], chance: random.Random, what: str) -> list[CaseJudge]:
        """Runs fill blocks: large cases first. For round numbers any will do that has some values."""
        found = super().ordered(cases, chance, what)
        if what == "round":
            return sorted(found, key=lambda case: _moderate(case) < FEW)
        if what == NANS:
            return [case for case in found if any(bool(t.isnan().any()) for t in _floats(case).values())]
        if what in LINES:
            return [case for case in found if _lined(case)]
        if what not in ("runs", "sparse"):
            return sorted(found, key=lambda case: (not _pairs(case, range(len(case.tensors))), _moderate(case) < FEW))
        return sorted(found, key=lambda case: -largest(case))

    def make(self, rerun: Rerunner, case: CaseJudge, what: str, chance: random.Random) -> CaseJudge | None:
        """Exchange the contents of every tensor of data."""
        if what == NANS:
            nans = {n: _other_nans(tensor, chance) for n, tensor in _floats(case).items()}
            made = rerun.exchanged(case, nans, "with NaNs of other signs and payloads") if nans else None
            return made if made is not None and made.agrees(case) else None
        if not rerun.free(case):
            return None
        if what in LINES:
            return self._lines(rerun, case, chance, LINES[what])
        if what in ("neighbours", "a bit apart"):
            return self._nearly_equal(rerun, case, chance, last=what == "neighbours")
        change, words = CHANGES[what]
        new = {n: change(tensor, chance) for n in rerun.data(case) if (tensor := case.tensors[n][1]).numel()}
        if not new or (what == "round" and not all(tensor.is_floating_point() for tensor in new.values())):
            return None
        made = rerun.exchanged(case, new, words)
        return made if made is not None and rerun.fits(made) else None

    def _lines(self, rerun: Rerunner, case: CaseJudge, chance: random.Random, axis: int | None) -> CaseJudge | None:
        """Give lines along a dimension, or all, one number far below zero: what a maximum starts with is not below.

        Of operators along a dimension: the lowest number where nothing is computed or a maximum is taken first, else
        one that may be squared.
        """
        data = [n for n in rerun.data(case) if n in _lined(case)]
        if not data or not {"dim", "axis"} & set(rerun.parameters) or among("multiplied", rerun.operator):
            return None  # of products some would overflow beside zeros, and be NaN or not by their order
        number = chance.choice(data)
        seeks = rerun.kind(case) == "exact" or SEEKING.fullmatch(rerun.operator.name)
        new = {number: _low_lines(case.tensors[number][1], axis, math.inf if seeks else SQUARED, chance)}
        made = rerun.exchanged(case, new, "with one number far below zero, everywhere or in lines")
        return made if made is not None and rerun.fits(made) else None

    def _nearly_equal(self, rerun: Rerunner, case: CaseJudge, chance: random.Random, *, last: bool) -> CaseJudge | None:
        """Give two operands the same values, but for one bit of some: the `last`, or any."""
        import torch

        answer = case.answer()
        compares = isinstance(answer, bool) or (isinstance(answer, torch.Tensor) and answer.dtype is torch.bool)
        data = [n for n in rerun.data(case) if case.tensors[n][1].numel() > 1 and not case.is_out(n)]
        # Which integers may be any, only a suite knows; those that are compared may.
        like = [
            (one, other) for one, other in _pairs(case, data) if compares or case.tensors[one][1].is_floating_point()
        ]
        if not like:
            return None
        one, other = chance.choice(like)
        tensor = case.tensors[one][1]
        new = {one: tensor.clone(), other: _flipped(tensor, chance, last)}
        made = rerun.exchanged(case, new, "with two arguments that differ by a bit in some elements")
        return made if made is not None and rerun.fits(made) else None


def _pairs(case: CaseJudge, numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Return pairs of tensors of one shape and dtype, of more than one element that are no flags."""
    import torch

    found = [(n, case.tensors[n][1]) for n in numbers if case.tensors[n][1].numel() > 1]
    return [
        (one, other)
        for one, a in found
        for other, b in found
        if one < other and a.shape == b.shape and a.dtype == b.dtype and a.dtype is not torch.bool
    ]


def _floats(case: CaseJudge) -> dict[int, torch.Tensor]:
    """The tensors by number that can hold NaNs of several bits."""
    return {
        n: tensor
        for n, (_, tensor) in enumerate(case.tensors)
        if tensor.is_floating_point() and tensor.element_size() > 1 and not case.is_out(n)
    }


def _other_nans(tensor: torch.Tensor, chance: random.Random) -> torch.Tensor:
    """The tensor with other signs and payloads of its NaNs, which stay quiet."""
    import torch

    words = {2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()]
    width = 8 * tensor.element_size()
    payload = -int(torch.tensor(torch.finfo(tensor.dtype).eps, dtype=torch.float64).log2()) - 1  # bits; one is "quiet"
    whole = tensor.detach().clone(memory_format=torch.contiguous_format)
    bits = whole.view(-1).view(words)
    for place in whole.view(-1).isnan().nonzero().reshape(-1).tolist():
        drawn = (int(bits[place]) % (1 << width - 1) >> payload << payload) | chance.getrandbits(payload)
        bits[place] = drawn - (chance.getrandbits(1) << width - 1)
    return whole


def _lined(case: CaseJudge) -> list[int]:
    """The numbers of the tensors of floating point that have lines."""
    return [n for n, tensor in _floats(case).items() if tensor.dim() and tensor.numel() > 1]


def _low_lines(tensor: torch.Tensor, axis: int | None, most: float, chance: random.Random) -> torch.Tensor:
    """The tensor with some lines along an axis far below zero, the same number everywhere; all of it without one."""
    import torch

    # Of doubles, too, what float32 holds: a chip without float64 computes in that.
    largest = min(torch.finfo(tensor.dtype).max, torch.finfo(torch.float32).max)
    lowest = torch.tensor(-min(most, LOW * largest), dtype=torch.float64).to(tensor.dtype)
    if axis is None:
        return lowest.expand(tensor.shape).clone()
    sizes = [1 if at == axis % tensor.dim() else n for at, n in enumerate(tensor.shape)]
    generator = torch.Generator().manual_seed(chance.getrandbits(32))
    chosen = torch.rand(sizes, generator=generator) < LINE_SHARE
    chosen.view(-1)[chance.randrange(chosen.numel())] = True
    return torch.where(chosen, lowest, tensor)


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


def _sparse(tensor: torch.Tensor, chance: random.Random) -> torch.Tensor:
    """The tensor with zeros in the place of most of its values."""
    import torch

    generator = torch.Generator().manual_seed(chance.getrandbits(32))
    rest = torch.rand(tensor.shape, generator=generator) >= chance.uniform(*SPARSE)
    return torch.where(rest, tensor, tensor.new_zeros(()))


def _flipped(tensor: torch.Tensor, chance: random.Random, last: bool) -> torch.Tensor:
    """The tensor with one bit turned over in some elements: the last, or any of a mantissa or an integer."""
    import torch

    width = tensor.element_size() * 8
    bits = {8: torch.uint8, 16: torch.int16, 32: torch.int32, 64: torch.int64}[width]
    if tensor.is_floating_point():
        most = -int(torch.tensor(torch.finfo(tensor.dtype).eps).log2())
    else:
        most = width - 1
    place = 0 if last else chance.randrange(most)
    generator = torch.Generator().manual_seed(chance.getrandbits(32))
    chosen = torch.rand(tensor.shape, generator=generator) < FLIPPED
    chosen.view(-1)[chance.randrange(tensor.numel())] = True
    whole = tensor.clone(memory_format=torch.contiguous_format)
    return (whole.view(bits) ^ (chosen.to(bits) << place)).view(tensor.dtype)


def _cut(tensor: torch.Tensor, chance: random.Random) -> torch.Tensor:
    """The tensor's values with few significant bits each, cut towards zero."""
    import torch

    mantissa, exponent = torch.frexp(tensor.double())
    generator = torch.Generator().manual_seed(chance.getrandbits(32))
    scale = 2.0 ** torch.randint(BITS[0], BITS[1] + 1, tensor.shape, generator=generator).double()
    return torch.ldexp(torch.trunc(mantissa * scale) / scale, exponent).to(tensor.dtype)


CHANGES = {
    "runs": (_runs, "with runs of equal values"),
    "sparse": (_sparse, "with zeros in most places"),
    "round": (_cut, "with round numbers"),
}
