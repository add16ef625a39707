"""Sizes and values at the numbers that the candidate's own source names: what changes there is tested there."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from bringup.judge._named import Named, around
from bringup.judge.guards import _resized
from bringup.judge.guards._redraw import TRIES
from bringup.suites.audit._structure import among

if TYPE_CHECKING:
    import torch

    from bringup.judge._case import CaseJudge
    from bringup.judge._outcome import Outcome
    from bringup.judge.guards._rerun import Rerunner

LEAST, LONGEST = 6, (1 << 14) + 1  # lengths that are tried; there are cases of all smaller ones
MOST = 1 << 16  # elements of a tensor
SIZES = 16  # calls of such sizes in all
FAR, FARTHEST = 2, 1 << 23  # calls of larger sizes that are named, and elements of one
ALTOGETHER = 1 << 24  # elements of all tensors of such a call
PROGRAMS, BLOCKS = (1 << 8, 1 << 16), (1 << 6, 1 << 14)  # what a limit of programs, and a block, may be
BESIDE = (-1, 0, 1)
LENGTH, ELEMENTS, LINES = "a dimension of {}", "{} elements", "{} elements in lines"
COUNTED = (1 << 16, 1 << 17)  # equal elements that are counted or added up: what a counter of 16 bits takes for none
EQUAL = {
    f"{kind} equal elements, {fill}": (shape, fill)
    for kind, shape in (("{}", ELEMENTS), ("lines of {}", LENGTH))
    for fill in ("zeros", "others")
}
LARGE = (13 << 19, FARTHEST)  # elements of a call in the audit: float32 does not hold the halves between their places
VALUES = ("values", "values in another case")
PLANTED = 0.5  # share of the elements that are such values
ROOM = 1 << 10  # elements of tensors that can be given as many as wanted
MODERATE = 1e4  # values of operands of operators that may take them for an amount of work
SHAPES = 3  # that are tried for one draw and case
AUDITS = ("audit", "aten-audit")  # the suites that may take longer


class Boundaries(_resized.Resized):
    """More calls at the numbers that stand in the candidate's source, and right beside them, as the seed draws it.

    A source that treats some sizes or values differently says from which number on. A dimension, or all elements of
    tensors that are alike, become as many; half of the data becomes such values, those that are compared first. Of
    operators whose arguments have no structure, where an exact reference says what is right. Two boundaries are no
    source's: counts that 16 bits do not hold, where a result is smaller than its argument, and, in the audit, places
    that float32 does not tell apart.
    """

    id = "boundaries"
    catches = (
        "wrong results from a size or a value on that the source names: the branch for long rows, for one block, for "
        "large arguments; special sizes and values"
    )
    misses = "numbers that come about by computing; conditions on several of them; other arguments than tensors' sizes"
    advice = "each branch must be right up to its bound, at it and beyond it; the numbers in your source are tested"

    def __init__(self) -> None:
        """What is drawn hangs on the source."""
        self.draws: Mapping[str, str] = {}
        self._sizes: dict[str, tuple[str, int]] = {}

    def find(self, rerun: Rerunner, cases: Mapping[str, Sequence[CaseJudge]]) -> tuple[Outcome, CaseJudge] | None:
        """Deal the sizes out to the dtypes; values are drawn in each."""
        chance = rerun.chance(self.id, "", "sizes")
        audits = rerun.operator.suite in AUDITS
        dealt = [*sizes(rerun.named, chance), *far(rerun.named, chance, audits)]
        dealt += [(kind, chance.choice(COUNTED)) for kind in EQUAL]
        dealt += [(LINES, chance.randrange(*LARGE))] if audits else []
        dtypes = list(cases)
        rerun.chance(self.id, "", "dtypes").shuffle(dtypes)
        for place, dtype in enumerate(dtypes):
            self._sizes = {kind.format(number): (kind, number) for kind, number in dealt[place :: len(dtypes)]}
            self.draws = {**dict.fromkeys(VALUES, "values"), **dict.fromkeys(self._sizes, "shapes")}
            if (found := self.sweep(rerun, cases[dtype])) is not None:
                return found
        return None

    def ordered(self, cases: Sequence[CaseJudge], chance: random.Random, what: str) -> list[CaseJudge]:
        """Tensors that are alike can have any size: such cases first, or at last where one length is drawn."""
        equal = self._sizes.get(what, ("",))[0] in EQUAL
        found = [
            case for case in super().ordered(cases, chance, what) if _shapes(case) and (not equal or _reduces(case))
        ]
        first = TRIES - 1 if self._sizes.get(what, ("",))[0] == LENGTH else 0
        return [*found[:first], *sorted(found[first:], key=lambda case: len(_shapes(case)) > 1)]

    def make(self, rerun: Rerunner, case: CaseJudge, what: str, chance: random.Random) -> CaseJudge | None:
        """Return a call with such values, or of such a size."""
        if not rerun.free(case):
            return None
        return self._of_values(rerun, case, chance) if what in VALUES else self._of_size(rerun, case, what, chance)

    def _of_size(self, rerun: Rerunner, case: CaseJudge, what: str, chance: random.Random) -> CaseJudge | None:
        from bringup.judge import _grown

        kind, number = self._sizes[what]
        kind, fill = EQUAL.get(kind, (kind, ""))
        shapes = _grown.of_length if kind == LENGTH else _grown.of_lines if kind == LINES else _grown.of_elements
        many = bool(fill) or number > (LONGEST if kind == LENGTH else MOST)
        most, result = (ALTOGETHER, FARTHEST + 1) if many else (_grown.MOST, _resized.MOST_RESULT)
        for changed, lengths in itertools.islice(shapes(_resized.given_sizes(case), number, chance, most), SHAPES):
            if not _resized.affordable(case, changed, lengths, result):
                continue
            new = {
                n: _resized.own(tensor, size, chance)
                for n, ((_, tensor), size) in enumerate(zip(case.tensors, changed, strict=True))
                if not case.is_out(n) and size != tuple(tensor.shape)
            }
            if fill:
                data = set(rerun.data(case))
                new = {n: _equal(one, fill == "zeros", n) if n in data else one for n, one in new.items()}
            named = "more than your source names" if many else "which your source names or lies beside"
            words = f"with {what}" if fill or kind == LINES else f"with {what}, {named}"
            made = _resized.remade(rerun, case, new, lengths, words, result)
            if made is not None and not (fill == "others" and _cancels(made)):
                return made
        return None

    def _of_values(self, rerun: Rerunner, case: CaseJudge, chance: random.Random) -> CaseJudge | None:
        from bringup.judge import _grown

        data = {n for n in rerun.data(case) if not case.is_out(n)}
        if not data:
            return None
        # A second operand may say how much work there is, if not so much as a degree.
        alone = len(case.args) + len(case.kwargs) == 1
        most = 0.0 if rerun.of_degree(case) else math.inf if alone or rerun.kind(case) == "exact" else MODERATE
        if among("multiplied", rerun.operator):
            most = min(most, 1.0)  # some products overflow and others are zero: NaN, or not, by the order
        given = _resized.given_sizes(case)
        for (shapes, lengths), limit in itertools.product(
            [*_grown.of_elements(given, ROOM, chance), (given, {})], dict.fromkeys((most, 0.0))
        ):
            if not _resized.affordable(case, shapes, lengths):
                continue
            new: dict[int, torch.Tensor] = {}
            planted_any = False
            for n, ((_, tensor), size) in enumerate(zip(case.tensors, shapes, strict=True)):
                if case.is_out(n):
                    continue
                filled = tensor if size == tuple(tensor.shape) else _resized.own(tensor, size, chance)
                changed = planted(filled, rerun.named, chance, limit) if n in data else None
                planted_any = planted_any or changed is not None
                new[n] = filled if changed is None else changed
            if planted_any:
                made = _resized.remade(rerun, case, new, lengths, "with values that your source names")
                if made is not None:
                    return made
        return None


def _reduces(case: CaseJudge) -> bool:
    """Whether results are smaller than the largest argument."""
    given = max((math.prod(size) for size in _resized.given_sizes(case)), default=0)
    return all(tensor.numel() < given for tensor in _resized.results(case))


def _cancels(case: CaseJudge) -> bool:
    """Whether a result of equal elements is zero: what is left then is how the sums before were rounded."""
    return any(tensor.is_floating_point() and not tensor.any() for tensor in _resized.results(case))


def _equal(tensor: torch.Tensor, zeros: bool, number: int) -> torch.Tensor:
    """One value everywhere: 0, or the largest; for every second tensor the other one, so that no two are alike."""
    if zeros == (number % 2 == 0):
        return tensor.new_zeros(tensor.shape)
    flat = tensor.reshape(-1)
    value = flat[flat.double().abs().argmax()]
    return value.expand(tensor.shape).clone()


def _shapes(case: CaseJudge) -> set[tuple[int, ...]]:
    return {size for size in _resized.given_sizes(case) if math.prod(size) > 1}


def sizes(names: Named, chance: random.Random) -> Iterator[tuple[str, int]]:
    """Yield up to `SIZES` sizes: of what, and how many; those first that a source compares with."""
    drawn: dict[tuple[str, int], None] = {}
    for group in (names.compared, names.others):
        known = [number for number in group if isinstance(number, int) and LEAST <= number <= MOST]
        queues = []
        for number in chance.sample(known, len(known)):
            near = [(kind, number + by) for kind in (LENGTH, ELEMENTS) for by in BESIDE]
            near = [one for one in near if one[0] == ELEMENTS or one[1] <= LONGEST]
            queues.append(chance.sample(near, len(near)))
        drawn |= dict.fromkeys(one for turn in itertools.zip_longest(*queues) for one in turn if one is not None)
    yield from itertools.islice(drawn, SIZES)


def far(names: Named, chance: random.Random, products: bool) -> Iterator[tuple[str, int]]:
    """Yield up to `FAR` sizes beyond larger numbers that are named: what a source compares with first.

    Half as much again: of a sum that ends at the number one element more would show nothing.

    `products`: then those beyond what so many programs do with blocks of one size, where a source names both.
    """
    drawn: dict[tuple[str, int], None] = {}
    for group in (names.compared, names.others):
        known = [
            number for number in group if isinstance(number, int) and number >= LONGEST and _beyond(number) <= FARTHEST
        ]
        queues = []
        for number in chance.sample(known, len(known)):
            kinds = (LENGTH, ELEMENTS) if number >= MOST else (LENGTH,)
            queues.append([(kind, _beyond(number)) for kind in chance.sample(kinds, len(kinds))])
        drawn |= dict.fromkeys(one for turn in itertools.zip_longest(*queues) for one in turn if one is not None)
    yield from itertools.islice(drawn, FAR)
    if products:
        whole = [number for number in dict.fromkeys(names.all) if isinstance(number, int)]
        programs, blocks = ([n for n in whole if least <= n < most] for least, most in (PROGRAMS, BLOCKS))
        found = {_beyond(a * b) for a in programs for b in blocks if a * b > MOST and _beyond(a * b) <= FARTHEST}
        yield from ((ELEMENTS, number) for number in sorted(found)[-1:])


def _beyond(number: int) -> int:
    return number + number // 2 + 1


def planted(tensor: torch.Tensor, names: Named, chance: random.Random, limit: float) -> torch.Tensor | None:
    """Return the tensor with such values in half of its places: those in its own range, or up to a limit.

    None where there is no such value. Integers stay in the range of their magnitudes: which may be any, only a suite
    knows.
    """
    import torch

    if tensor.dtype is torch.bool or tensor.is_complex() or not tensor.numel():
        return None
    own = tensor.detach().double()
    own = own[own.isfinite()]
    most = float(own.abs().max()) if own.numel() else 0.0
    least = float(own.min()) if own.numel() else 0.0
    found: dict[float, None] = {}
    for group in (names.compared, names.others):
        of_each = [list(around(number, tensor.dtype)) for number in chance.sample(group, len(group))]
        turns = itertools.zip_longest(*(chance.sample(values, len(values)) for values in of_each))
        found |= dict.fromkeys(value for turn in turns for value in turn if value is not None)
    if not limit:
        top = float(own.max()) if own.numel() else 0.0
        found = {value: None for value in found if least <= value <= top}
    elif tensor.is_floating_point():
        found = {value: None for value in found if abs(value) <= max(limit, most)}
    else:
        found = {value: None for value in found if abs(value) <= most and (value >= 0 or least < 0)}
    pool = list(found)[: max(1, int(tensor.numel() * PLANTED))]
    if not pool:
        return None
    values_of = torch.tensor(pool, dtype=torch.float64 if tensor.is_floating_point() else torch.int64)
    count = max(len(pool), int(tensor.numel() * PLANTED))
    drawn = torch.tensor([place % len(pool) for place in range(count)])
    places = torch.tensor(chance.sample(range(tensor.numel()), count))
    flat = tensor.detach().clone(memory_format=torch.contiguous_format).view(-1)
    flat[places] = values_of[drawn].to(tensor.dtype)
    return flat.view(tensor.shape)
