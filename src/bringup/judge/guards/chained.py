"""Results as arguments: what the wrapper returned is what it is given next, again and again."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bringup.judge.guards import _resized
from bringup.judge.guards._base import Rerun, largest

if TYPE_CHECKING:
    import torch

    from bringup.judge._case import CaseJudge
    from bringup.judge._outcome import Outcome
    from bringup.judge.guards._rerun import Rerunner, Run

DEPTH, DEEP = (8, 14), (20, 150)  # calls of a chain; of one in float32 and of any one, drawn by their logarithm
MOST = 1 << 15  # elements of a case's tensors
LARGEST = 2.0**60  # of the numbers of a result that goes on
TRIES = 40  # cases of a dtype


class Chained(Rerun):
    """Calls whose data are the result of the call before, as layers and steps of a program follow on each other.

    Where a result has the shape and dtype of arguments: it takes the place of one of them, or of all. Each dtype has
    two chains, of which one begins with its largest such case: marks may need room. In float32 each way has one,
    elsewhere the way is drawn. Two chains are much longer; how long is drawn. Also of exact operators, which may choose
    signs of zeros.
    """

    id = "chained"
    catches = "what a kernel leaves in its results, within what they may be off by, and looks for in its arguments"
    misses = "marks that another kernel looks for; counts beyond the length that is drawn"
    advice = "compute every result from the values alone, in the same way for all values"

    def find(self, rerun: Rerunner, cases: Mapping[str, Sequence[CaseJudge]]) -> tuple[Outcome, CaseJudge] | None:
        """Follow the chains of each dtype."""
        chance = rerun.chance(self.id, "", "chains")
        chains: list[tuple[CaseJudge, list[int]]] = []
        for of_dtype in cases.values():
            orders = chance.sample(list(of_dtype), len(of_dtype)), sorted(of_dtype, key=largest, reverse=True)
            starts = [self._start(rerun, order) for order in orders]
            chains += [one for n, one in enumerate(starts) if one is not None and one not in starts[:n]]
        single = [number for number, (case, _) in enumerate(chains) if case.inputs.case.dtype == "float32"]
        deep = {chance.randrange(len(chains)), chance.choice(single or [0])} if chains else set()
        for number, (case, places) in enumerate(chains):
            ways = [places, *([place] for place in places)] if len(places) > 1 else [places]
            taken = ways if number in single else [chance.choice(ways)]
            far = chance.choice(taken) if number in deep else []
            for chosen in taken:
                depth = int(math.exp(chance.uniform(*map(math.log, DEEP)))) if chosen == far else chance.randint(*DEPTH)
                if (found := self._follow(rerun, case, chosen, depth)) is not None:
                    return found
        return None

    def _start(self, rerun: Rerunner, cases: Sequence[CaseJudge]) -> tuple[CaseJudge, list[int]] | None:
        """A case with a result that may stand in arguments' places, and the numbers of these."""
        usable = [case for case in cases if 1 < largest(case) <= MOST]
        for case in usable[:TRIES]:
            if case.inputs.raises or not rerun.free(case):
                continue
            results = _resized.results(case)
            data = [number for number in rerun.data(case) if not case.is_out(number)]
            places = [number for number in data if results and _fits(case, number, results[0])]
            if places:
                return case, places
        return None

    def _follow(
        self, rerun: Rerunner, case: CaseJudge, places: Sequence[int], depth: int
    ) -> tuple[Outcome, CaseJudge] | None:
        run = rerun.call(case, {})
        for turn in range(1, depth):
            made = _result(run)
            if run.outcome.kind != "passed" or made is None or not _fits(case, places[0], made):
                return None  # of the first, `fresh` and others say what is wrong
            if not bool((made.double().abs() <= LARGEST).all()):
                return None  # no bound holds for infinities, nor for products that overflow on the way
            words = f"with the result of the call before, {turn} deep"
            given = rerun.exchanged(case, {place: made.clone() for place in places}, words)
            if given is None:
                return None
            run = rerun.call(given, {})
            if run.outcome.kind == "wrong" and not rerun.defined(given):
                return None  # not even PyTorch's own result is right there
            if run.outcome.kind not in ("passed", "untested"):
                return rerun.failed(run.outcome.guard or self.id, f"{words}: ", run.outcome, given), given
        return None


def _result(run: Run) -> torch.Tensor | None:
    return next((tensor for _, tensor in run.tensors), None)


def _fits(case: CaseJudge, place: int, made: torch.Tensor | None) -> bool:
    given = case.tensors[place][1]
    return made is not None and (made.shape, made.dtype) == (given.shape, given.dtype)
