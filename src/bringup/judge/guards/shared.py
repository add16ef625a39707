"""Arguments that share memory: one tensor given twice, views of one storage, an `out=` that is an operand."""

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


NANS = 0.25  # share of the elements of a tensor that is given twice with NaNs
TWICE, PARTS = "twice", "part"
ONLY = {"transpose": "transpose", "rows": "rows", PARTS: ""}


class Shared(Redraw):
    """More calls for each dtype in which two arguments are one tensor, or lie in one storage, or `out` is an argument.

    `out=` that is an operand is asked for where PyTorch's own result is that of a separate one, bit for bit. An `out`
    that shares a part of an operand's memory is not: PyTorch refuses it.
    """

    id = "shared"
    catches = "operands told apart by their addresses; results that are written while operands are still read"
    misses = "parts that are shared otherwise than by a transpose, a shift or a row that is repeated"
    advice = "nothing follows from two tensors being one; where `out` shares memory with an input, compute first"
    draws = MappingProxyType(
        {
            TWICE: "layout", "twice, with NaNs": "values", "views": "layout", PARTS: "layout", "transpose": "layout",
            "rows": "layout", "out": "out",
        }
    )  # fmt: skip

    def ordered(self, cases: Sequence[CaseJudge], chance: random.Random, what: str) -> list[CaseJudge]:
        """Cases first in which two tensors, or a tensor and the result, are alike."""
        return sorted(super().ordered(cases, chance, what), key=lambda case: not _alike(case, what == "out"))

    def make(self, rerun: Rerunner, case: CaseJudge, what: str, chance: random.Random) -> CaseJudge | None:
        """Let two arguments share memory."""
        if what == "out":
            return out_as_operand(rerun, case, chance)
        pairs = [
            (one, other)
            for one in range(len(case.tensors))
            for other in range(one + 1, len(case.tensors))
            if case.tensors[one][1].dtype == case.tensors[other][1].dtype
            and min(case.tensors[one][1].numel(), case.tensors[other][1].numel())
            and not case.is_out(one)
            and not case.is_out(other)
        ]
        chance.shuffle(pairs)
        for one, other in pairs[:2]:
            if what in ONLY:
                made = self._part(rerun, case, one, other, chance, ONLY[what])
            elif what == "views":
                made = self._views(rerun, case, one, other, chance)
            else:
                made = self._twice(rerun, case, one, other, chance, nans=what != TWICE)
            if made is not None:
                return made
        return None

    def _twice(
        self, rerun: Rerunner, case: CaseJudge, one: int, other: int, chance: random.Random, *, nans: bool
    ) -> CaseJudge | None:
        """Give the later tensor in the earlier one's place too: divisors, exponents and the like come late."""
        tensor = case.tensors[other][1]
        data = rerun.data(case)
        if tensor.shape != case.tensors[one][1].shape or not {one, other} <= set(data) or not rerun.free(case):
            return None
        places = {one, other}
        if chance.random() < 0.5:  # everywhere
            places |= {n for n in data if _kind(case.tensors[n][1]) == _kind(tensor) and not case.is_out(n)}
        words = "twice" if len(places) == 2 else f"{len(places)} times"
        if nans:
            if not tensor.is_floating_point() or rerun.kind(case) not in ("exact", "exact_order"):
                return None
            tensor, words = _with_nans(tensor, chance), f"{words}, and NaNs in it"
        apart = rerun.exchanged(case, {n: tensor.clone() for n in places}, "")
        made = rerun.exchanged(case, dict.fromkeys(places, tensor.clone()), f"with one tensor given {words}")
        if apart is None or made is None or not rerun.fits(apart, finite=not nans) or not made.same_bits(apart):
            return None
        return made

    def _part(
        self, rerun: Rerunner, case: CaseJudge, one: int, other: int, chance: random.Random, only: str
    ) -> CaseJudge | None:
        """Give a tensor, and beside it its transpose, the same shifted, or one of its rows again and again."""
        from bringup.judge import _layouts

        if not {one, other} <= set(rerun.data(case)) or not rerun.free(case):
            return None
        if rerun.operator.mutates or rerun.operator.writes:
            return None
        found = _layouts.beside_itself(case.tensors[other][1], case.tensors[one][1].shape, chance, only)
        if found is None:
            return None
        left, right, words = found
        apart = rerun.exchanged(case, {one: left.clone(), other: right.clone()}, "")
        made = rerun.exchanged(case, {one: left, other: right}, f"with a tensor beside {words}")
        if apart is None or made is None or not rerun.fits(apart) or not made.agrees(apart):
            return None
        return made

    def _views(self, rerun: Rerunner, case: CaseJudge, one: int, other: int, chance: random.Random) -> CaseJudge | None:
        from bringup.judge import _layouts

        left, right = _layouts.side_by_side(case.tensors[one][1], case.tensors[other][1], chance)
        made = rerun.exchanged(case, {one: left, other: right}, "with two arguments that are views of one storage")
        return made if made is not None and made.agrees(case) else None


def out_as_operand(rerun: Rerunner, case: CaseJudge, chance: random.Random) -> CaseJudge | None:
    """Return the case with an argument of the result's shape and dtype as `out` too; None where PyTorch minds."""
    import torch

    answer = case.answer()
    named = next((n for n, (path, _) in enumerate(case.tensors) if path == "argument out"), None)
    if not isinstance(answer, torch.Tensor) or (named is None and "out" not in rerun.parameters):
        return None
    places = [
        number
        for number, (_, tensor) in enumerate(case.tensors)
        if number != named and tensor.shape == answer.shape and tensor.dtype == answer.dtype
    ]
    for number in chance.sample(places, len(places)):
        operand = case.tensors[number][1].clone(memory_format=torch.contiguous_format)
        separate, words = torch.zeros_like(operand), "with an `out` that is an operand"
        other = rerun.exchanged(case, {number: operand}, "", out=separate)
        made = rerun.exchanged(case, {number: operand}, words, out=operand)
        if other is not None and made is not None and made.same_bits(other) and made.agrees(made):
            return made
    return None


def _with_nans(tensor: torch.Tensor, chance: random.Random) -> torch.Tensor:
    import torch

    generator = torch.Generator().manual_seed(chance.getrandbits(32))
    chosen = torch.rand(tensor.shape, generator=generator) < NANS
    chosen.view(-1)[chance.randrange(tensor.numel())] = True
    return torch.where(chosen, float("nan"), tensor)


def _alike(case: CaseJudge, with_result: bool) -> bool:
    import torch

    found = [tensor for _, tensor in case.tensors]
    found += [answer] if with_result and isinstance(answer := case.answer(), torch.Tensor) else []
    kinds = [_kind(tensor) for tensor in found if tensor.numel() > 1]
    return len(set(kinds)) < len(kinds)


def _kind(tensor: torch.Tensor) -> tuple[torch.Size, torch.dtype]:
    return tensor.shape, tensor.dtype
