"""Repeatability: the same call gives the same bits, also in another program order; another seed gives others."""

from __future__ import annotations

import itertools
import re
import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bringup.device.seeds import BITS, SEED
from bringup.device.timing import MOST
from bringup.judge.guards import _resized
from bringup.judge.guards._base import Rerun

if TYPE_CHECKING:
    import torch

    from bringup.judge._case import CaseJudge
    from bringup.judge._outcome import Outcome
    from bringup.judge.guards._rerun import Rerunner, Run
    from bringup.operators import Operator

# Operators for which PyTorch itself documents a non-deterministic implementation
# (torch.use_deterministic_algorithms): several elements may be added into one with floating-point atomics, whose order
# is not fixed. Their results stay within tolerance, but need not repeat bit by bit.
ATOMIC = frozenset(
    {"bincount", "histogram", "histogramdd", "index_add", "index_put", "index_reduce", "nn.functional.ctc_loss"}
    | {"nn.functional.embedding_bag", "put", "scatter_add", "scatter_reduce", "_unsafe_masked_index_put_accumulate"}
)
# The same of overloads that no public operator does the work of alone (of others, `start` names it): parts of these
# operators, and gradients of which several meet in an element of what was padded, pooled, sampled or resized.
ATOMIC_OVERLOADS = re.compile(
    r"_histogramdd_from_bin_(cts|tensors)|_ctc_loss_backward|_embedding_bag_backward"
    r"|(_adaptive_avg_pool[23]d|adaptive_max_pool[23]d|avg_pool3d|grid_sampler_[23]d|(reflection|replication)_pad[123]d"
    r"|_?upsample_\w+)_backward(\.grad_input)?"
)
SEED_BITS = 3  # of the 63 of the seed that a case gives: one that is turned over must matter, wherever it is
SEEDS = 24  # that must give about as many different results as so many of PyTorch's do
SETS, FAR = 16, 6.0  # of PyTorch's seeds, and how many of their standard deviations a kernel's may be fewer by
FEW = 256  # numbers at most in a case that so many seeds are tried on
SMALL = 8  # such cases
POOLED, MOST_SEEDS = 512, 160  # numbers of all seeds together, of which their distribution shows, and seeds at most
OTHERS = 3  # seeds that are drawn beside three near ones, for a large case
SEEDED = "with another seed: "
NAMED = f"={SEED}"  # an argument of a launch, as transcripts have it
NOT_PASSED = (
    "no launch has the seed among its arguments as the wrapper was given it: that is a number in the seed's place, the "
    "device knows the seed; pass it on unchanged, and compute with it in the kernel"
)
MANY = 10  # cases of a dtype that are drawn to find some


def may_add_in_any_order(operator: Operator) -> bool:
    """Whether results may hang on the order of additions by atomics, as PyTorch documents it for its own."""
    known = operator.name in ATOMIC or operator.start in ATOMIC
    return known or ATOMIC_OVERLOADS.fullmatch(operator.name) is not None


class Repeat(Rerun):
    """Two calls, the second with the programs in another order where the target can do that."""

    id = "repeat"
    catches = "races, uninitialised memory, results that depend on chance or on the order of programs"
    misses = "what happens once in many runs"
    per_dtype = 1

    def choose(self, cases: Sequence[CaseJudge]) -> list[CaseJudge]:
        """Where chance decides, a case whose result it decides: with a probability of 1 every seed gives the same."""
        telling = [case for case in cases if case.inputs.notes.get("random")]
        return super().choose(telling or cases)

    def check(self, rerun: Rerunner, case: CaseJudge) -> Outcome | None:
        """Compare the bits of two calls."""
        for choice in _choices(case):
            outcome = self._twice(rerun, case, choice)
            if outcome is not None:
                return outcome
        return None

    def _twice(self, rerun: Rerunner, case: CaseJudge, choice: int) -> Outcome | None:
        """Compare two calls with the same alternatives: another kernel may sum in another order."""
        one = rerun.call(case, {"choice": choice})
        # An order that everybody knows would be one that a race suits.
        chance = rerun.chance(self.id, case.inputs.case.dtype, "order")
        other = rerun.call(case, {"choice": choice, "order": chance.getrandbits(31)})
        for run in (one, other):
            if run.outcome.kind != "passed":
                return rerun.failed(self.id, "called once more: ", run.outcome, case)
        if may_add_in_any_order(rerun.operator):
            return None
        difference = rerun.first_difference(one, other)
        if difference is None:
            return self._seeded(rerun, case, one, choice) if case.inputs.notes.get("random") else None
        return rerun.wrong(
            self.id,
            f"two calls on the same input differ: {difference}; memory is read or returned that nothing has written, "
            "or the result depends on the order of programs",
            case,
        )

    def find(self, rerun: Rerunner, cases: Mapping[str, Sequence[CaseJudge]]) -> tuple[Outcome, CaseJudge] | None:
        """Beside what each dtype is asked for: many seeds on a small case of one of them."""
        found = super().find(rerun, cases)
        drawing = [of_dtype[0] for of_dtype in cases.values() if of_dtype and "random" in of_dtype[0].inputs.notes]
        if found is not None or not drawing:
            return found
        every = [case for of_dtype in cases.values() for case in of_dtype if case.inputs.notes.get("random")]
        for largest in sorted(every, key=lambda case: -sum(t.numel() for _, t in case.tensors))[:1]:
            for choice in _choices(largest):
                if (outcome := self._strangers(rerun, largest, choice)) is not None:
                    return outcome, largest
        chance = rerun.chance(self.id, "", "small")
        drawn = [one for case in drawing for one in rerun.reseeded(case, MANY, 0)]
        small = [
            case for case in (*(case for of_dtype in cases.values() for case in of_dtype), *drawn)
            if case.inputs.notes.get("random") and 1 < sum(t.numel() for _, t in case.tensors) <= FEW
        ]  # fmt: skip
        alike = {case.inputs.title: case for case in small}  # one of each kind
        for case in chance.sample(list(alike.values()), min(SMALL, len(alike))):
            for choice in _choices(case):
                if (outcome := self._streams(rerun, case, choice)) is not None:
                    return outcome, case
        return None

    def _run(self, rerun: Rerunner, case: CaseJudge, seed: int, choice: int) -> tuple[CaseJudge, Run]:
        """Make the call with another seed; return it with what came of it."""
        changed = rerun.given(case, seed=seed)
        return changed, rerun.call(changed, {"choice": choice})

    def _streams(self, rerun: Rerunner, case: CaseJudge, choice: int) -> Outcome | None:
        """Ask for the few numbers of many seeds: there must be about as many kinds as PyTorch's generator gives.

        Together they follow the distribution, which few numbers do not show.
        """
        chance = rerun.chance(self.id, case.inputs.case.dtype, "streams")
        ours, all_of_them = set(), []
        seeds: set[int] = set()  # the same one twice gives the same numbers
        numbers = max((tensor.numel() for tensor in _resized.results(case)), default=1)
        for turn in range(min(max(SEEDS, POOLED // numbers + 1), MOST_SEEDS)):
            seed = chance.getrandbits(BITS)
            while seed in seeds:
                seed = chance.getrandbits(BITS)
            seeds.add(seed)
            changed, run = self._run(rerun, case, seed, choice)
            if run.outcome.kind != "passed":
                return rerun.failed(self.id, SEEDED, run.outcome, changed)
            all_of_them.append(tuple(tensor for _, tensor in run.tensors))
            if turn < SEEDS:
                ours.add(rerun.bits_of(run))
        theirs = [
            len({rerun.right_bits(rerun.given(case, seed=chance.getrandbits(BITS))) for _ in range(SEEDS)})
            for _ in range(SETS)
        ]
        usual = statistics.mean(theirs)
        if len(ours) < usual - FAR * statistics.stdev(theirs) - 1:
            text = f"{SEEDS} seeds give {len(ours)} different results where PyTorch's generator gives {usual:.1f}"
            return rerun.wrong(self.id, f"{text}: all bits of a seed count{_unless_passed(run)}", case)
        statements = getattr(case.inputs.postprocess, "of_many", None)
        for words, holds in (statements(all_of_them) if statements else {}).items():
            if not holds:
                text = f"of the numbers of {len(all_of_them)} seeds it does not hold that {words}"
                return rerun.wrong(self.id, text, case)
        return None

    def _strangers(self, rerun: Rerunner, case: CaseJudge, choice: int) -> Outcome | None:
        """Ask for the numbers of seeds that are drawn, one after the other, or differ by a bit: no two have to do."""
        statements = getattr(case.inputs.postprocess, "of_two", None)
        if statements is None:
            return None
        chance = rerun.chance(self.id, case.inputs.case.dtype, "strangers")
        first = chance.getrandbits(BITS - 1)
        near = [first, first + 1, first ^ (1 << chance.randrange(2, 62))]
        seeds = [*near, *(chance.getrandbits(BITS) for _ in range(OTHERS))]
        found: list[tuple[torch.Tensor, ...]] = []
        for seed in seeds:
            changed, run = self._run(rerun, case, seed, choice)
            if run.outcome.kind != "passed":
                return rerun.failed(self.id, SEEDED, run.outcome, changed)
            found.append(tuple(tensor for _, tensor in run.tensors))
        for (one, a), (other, b) in itertools.combinations(zip(seeds, found, strict=True), 2):
            for words, holds in statements(a, b).items():
                if not holds:
                    return rerun.wrong(self.id, f"of seeds {one} and {other} it does not hold that {words}", case)
        return None

    def _seeded(self, rerun: Rerunner, case: CaseJudge, one: Run, choice: int) -> Outcome | None:
        """Ask for the numbers of other seeds: they must differ, be as random, and be drawn by kernels."""
        chance = rerun.chance(self.id, case.inputs.case.dtype, "seeds")
        for place in chance.sample(range(BITS), SEED_BITS):
            changed, run = self._run(rerun, case, int(case.kwargs["seed"]) ^ (1 << place), choice)
            if run.outcome.kind != "passed":
                return rerun.failed(self.id, SEEDED, run.outcome, changed)
            if rerun.first_difference(one, run) is None:
                text = f"seeds that differ in bit {place} give the same numbers: all {BITS} bits count"
                return rerun.wrong(self.id, text + _unless_passed(one), changed)
        return None


def _unless_passed(run: Run) -> str:
    """What to do about a seed that no launch of a call has as it is; "" where one has."""
    passed = any(word.endswith(NAMED) for line in run.transcript for word in line.split(" "))
    return "" if passed else f"; {NOT_PASSED}"


def _choices(case: CaseJudge) -> range:
    """The numbers of alternatives that a call may have: one where a wrapper tries nothing."""
    return range(MOST if any(" or " in line for line in case.asked.transcript) else 1)
