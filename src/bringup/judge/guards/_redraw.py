"""What the guards have in common that call again with arguments that are made anew: which cases, and how often."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bringup.judge.guards._base import Rerun

if TYPE_CHECKING:
    from bringup.judge._case import CaseJudge
    from bringup.judge._outcome import Outcome
    from bringup.judge.guards._rerun import Rerunner

TRIES = 4  # cases for one draw: where the first will not do, another may
MOST = 1 << 12  # elements of a case's tensors: a place in memory is as wrong in a small one


class Redraw(Rerun):
    """One draw after another, each on cases of one dtype that passed: say what is drawn, and `make` a call of it.

    What is right is asked of the reference, and the wrapper is asked only where the reference agrees with itself.
    """

    # What is drawn, each for one more call of a dtype where a case will do, and the family of tests that it belongs to.
    # Where a suite's prompts do not speak of that family, nobody can be asked for it.
    draws: Mapping[str, str]
    # Those that programs have most: each is the first call of a guest.
    first: frozenset[str] = frozenset()

    def sweep(self, rerun: Rerunner, cases: Sequence[CaseJudge]) -> tuple[Outcome, CaseJudge] | None:
        """Draw, and judge what was drawn."""
        usable = [case for case in cases if self.takes(case)]
        for what, family in self.draws.items() if usable else ():
            if not rerun.told(family):
                continue
            chance = rerun.chance(self.id, usable[0].inputs.case.dtype, what)
            for case in self.ordered(usable, chance, what)[:TRIES]:
                made = self.make(rerun, case, what, chance)
                if made is not None:
                    outcome = self.found(rerun, made, what)
                    if outcome is not None:
                        return outcome, made
                    break
        return None

    def takes(self, case: CaseJudge) -> bool:
        """Whether a case has tensors that can be laid down anew."""
        inputs, tensors = case.inputs, [tensor for _, tensor in case.tensors]
        if inputs.raises or inputs.requires or not tensors:
            return False
        if _rounds_twice(case):
            return False
        storages = {tensor.untyped_storage()._cdata for tensor in tensors}
        return len(storages) == len(tensors) and 1 < sum(t.numel() for t in tensors) <= self.most and _plain(tensors)

    most = MOST

    def found(self, rerun: Rerunner, made: CaseJudge, what: str) -> Outcome | None:
        """Call the wrapper on what was drawn; return what is wrong."""
        return rerun.found(self.id, made, first=what in self.first)

    def ordered(self, cases: Sequence[CaseJudge], chance: random.Random, what: str) -> list[CaseJudge]:
        """Return the cases that a draw may use, in the order in which it tries them."""
        return chance.sample(cases, len(cases))

    def make(self, rerun: Rerunner, case: CaseJudge, what: str, chance: random.Random) -> CaseJudge | None:
        """Return a call that is made of a case; None where there is none, or the reference disagrees with itself."""
        raise NotImplementedError


def _rounds_twice(case: CaseJudge) -> bool:
    """Whether a number of float64 without dimension is rounded before it is computed with.

    A chip without float64 does so, and a bound that is right for the case's other values need not be for new ones.
    """
    import torch

    standard = case.inputs.standard
    if standard is not None and standard.rule.kind == "exact":
        return False
    doubles = [t for _, t in case.tensors if t.dtype is torch.float64 and not t.dim()]
    return any(float(t) != float(t.float()) and not bool(t.isnan()) for t in doubles)


def _plain(tensors: Sequence[object]) -> bool:
    import torch

    return all(
        isinstance(t, torch.Tensor)
        and t.layout is torch.strided
        and not (t.is_quantized or t.is_conj() or t.is_neg() or t.requires_grad)
        for t in tensors
    )
