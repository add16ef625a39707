"""Operators that may read: other values with a result of the same sizes give the same sizes, so the same commands."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from bringup.device.transcript import kernels_of, told_by_data
from bringup.judge.guards._base import Rerun, largest

if TYPE_CHECKING:
    import torch

    from bringup.judge._case import CaseJudge
    from bringup.judge._outcome import Outcome
    from bringup.judge.guards._rerun import Rerunner

DRAWN = 4  # cases of a dtype, small ones among them: little fits into what may be read
FLAG = 8  # bytes of a number that says of a result which is no tensor: how many elements are to blame, perhaps
SMALLEST = 8  # beside these
ALONE = 2  # of one element
TRIES = 12
SMALL = 128  # elements: as many flags as may be read
ZEROS = (0.3, 0.7)  # share of the elements that are zeros
DRAWS = 6  # of other values, until the result has the same sizes
HALF = 0.5  # of tensors of flags are drawn anew, and of these flags
MOST_MOVES, MOST_STEP = 64, 8  # of pairs of whole numbers; that one gives to another


class Shuffled(Rerun):
    """More calls whose values are those of a call before in other places, where sizes of the result are the same.

    Also with other values that have the same smallest and largest ones, and the same sum where they are integers; and
    with values that have little in common with the old ones but which of them are equal, and which zero. What is read
    (a size) is then the same, too, and so is all that the wrapper asks for. Who reads something else reads
    values, and answers in Python what a kernel is to answer. Where the result is a truth value, one number may differ.
    """

    id = "shuffled"
    catches = "answers that the host makes of the bytes that it may read: places, orders, bits"
    misses = "what neither places nor amounts change, and `item`"
    advice = "read the size or the flag, and nothing else; where things are, a kernel must find out and use"

    def applies(self, judging: Any) -> bool:
        """Only what has been read can be made something of."""
        return bool(judging.reads.nbytes)

    def sweep(self, rerun: Rerunner, cases: Sequence[CaseJudge]) -> tuple[Outcome, CaseJudge] | None:
        """Ask for drawn cases twice."""
        chance = rerun.chance(self.id, cases[0].inputs.case.dtype, "")
        kernels = {name for case in cases for name in kernels_of(case.asked.transcript)}
        asked = [case for case in cases if not case.inputs.requires and largest(case)]
        usable = [case for case in asked if largest(case) > 1]
        order = chance.sample(usable, len(usable))
        found = 0
        alone = [case for case in asked if largest(case) == 1]
        for case in chance.sample(alone, min(ALONE, len(alone))):  # there is no other place for the only value
            if isinstance(outcome := self._asked(rerun, case, chance, kernels, "renamed", mixes=False), tuple):
                return outcome
        for case in sorted(order, key=largest)[:SMALLEST]:  # whose values may fit into what is read
            for change, mixes in (("moved", False), ("moved", True), ("balanced", False), ("renamed", False)):
                outcome = self._asked(rerun, case, chance, kernels, change, mixes=mixes)
                if isinstance(outcome, tuple):
                    return outcome
        for case in sorted(order, key=lambda case: largest(case) > SMALL)[:DRAWN] + order[:TRIES]:
            outcome = self._asked(rerun, case, chance, kernels)
            if outcome is None:
                continue
            if isinstance(outcome, tuple):
                return outcome
            found += 1
            if found == DRAWN:
                break
        return None

    def _asked(
        self, rerun: Rerunner, case: CaseJudge, chance: random.Random, kernels: set[str], change: str = "moved", *,
        mixes: bool = True,
    ) -> tuple[Outcome, CaseJudge] | bool | None:  # fmt: skip
        """Return what is wrong, True where nothing is, None where the case cannot be asked.

        `change`: what becomes of the values in the second call, of `CHANGES`; `mixes`: zeros among those of both.
        """
        from bringup.judge._outcome import cheated

        words, alter = CHANGES[change]
        mixed = (rerun.altered(case, lambda tensors: _mix(tensors, chance)) if mixes else None) or case
        # A wrapper that reads values reads others, also where the answer is the same.
        for _ in range(1 if change == "moved" else DRAWS):
            moved = rerun.altered(mixed, lambda tensors: alter(tensors, chance), any_answer=True)
            if moved is not None and rerun.alike(mixed, moved):
                break
        else:
            return None
        one = rerun.call(mixed, {})
        if change != "moved" or mixed is case:
            rerun.renew_guest()  # who remembers what it has read would know that this is the second of two
        other = rerun.call(moved, {})
        if one.outcome.kind == "passed" and other.outcome.kind not in ("passed", "wrong", "untested"):
            return rerun.failed(other.outcome.guard or self.id, f"with {words}: ", other.outcome, moved), moved
        if not one.outcome.kind == other.outcome.kind == "passed":
            return None  # a small error on changed values is the audit's business
        read = max(sum(map(len, run.asked.answers or ())) // 2 for run in (one, other))
        if one.asked.answers != other.asked.answers and read > (0 if one.tensors else FLAG):
            text = (
                f"with {words}, and a result of the same sizes, the wrapper reads something else in {read} bytes: "
                "sizes and flags would be the same, so it reads values"
            )
            return cheated(self.id, text).with_call(moved), moved
        told = told_by_data(one.transcript, other.transcript, kernels | kernels_of(one.transcript))
        if told <= rerun.read_bytes:
            return True
        text = (
            f"with {words}, and a result of the same sizes, the wrapper asks the device for other things: {told} bytes "
            f"of arguments, grids, sizes and uploads differ, {rerun.read_bytes} may; the host computes from what it "
            "reads"
        )
        return cheated(self.id, text).with_call(moved), moved


def _mix(tensors: Sequence[torch.Tensor], chance: random.Random) -> None:
    """Put zeros among the values of each tensor, in drawn places."""
    import torch

    generator = torch.Generator().manual_seed(chance.getrandbits(32))
    for tensor in tensors:
        if tensor.numel() > 1:
            rest = torch.rand(tensor.shape, generator=generator) >= chance.uniform(*ZEROS)
            tensor.copy_(rest if tensor.dtype is torch.bool else torch.where(rest, tensor, torch.zeros_like(tensor)))


def _shuffle(tensors: Sequence[torch.Tensor], chance: random.Random) -> None:
    """Put the values of each tensor into other places."""
    import torch

    generator = torch.Generator().manual_seed(chance.getrandbits(32))
    for tensor in tensors:
        flat = tensor.clone().reshape(-1)
        mixed = flat[torch.randperm(flat.numel(), generator=generator)]
        # Of few elements many orders are the same.
        tensor.copy_((flat.roll(1) if torch.equal(mixed, flat) else mixed).reshape(tensor.shape))


def _exchange(tensors: Sequence[torch.Tensor], chance: random.Random) -> None:
    """Have each value of each tensor occur in other places, more or less often; of integers change values.

    How many different ones there are, or their sum may be read, as well as the smallest and the largest one.
    """
    import torch

    generator = torch.Generator().manual_seed(chance.getrandbits(32))
    for tensor in tensors:
        if tensor.is_floating_point() and not bool(tensor.isnan().any()):
            values, which = torch.unique(tensor, return_inverse=True)
            drawn = torch.randint(len(values), (which.numel(),), generator=generator)
            order = torch.randperm(which.numel(), generator=generator)[: len(values)]
            drawn[order] = torch.arange(len(values))
            tensor.copy_(values[drawn].reshape(tensor.shape))
        elif _whole(tensor):
            flat = tensor.reshape(-1).tolist()
            tensor.copy_(torch.tensor(_balanced(flat, chance), dtype=tensor.dtype).reshape(tensor.shape))


def _rename(tensors: Sequence[torch.Tensor], chance: random.Random) -> None:
    """Give equal fractions another value, zeros none: nothing stays but which are equal, and which zero.

    Of whole numbers the smallest, the largest or the sum may be a size: they are exchanged as `_exchange` does it. Of
    flags there are as many, or any.
    """
    import torch

    generator = torch.Generator().manual_seed(chance.getrandbits(32))
    for tensor in tensors:
        if tensor.dtype is torch.bool and tensor.numel() and chance.random() < HALF:
            tensor.copy_(torch.rand(tensor.shape, generator=generator) < HALF)
        elif not tensor.numel() or not tensor.is_floating_point() or bool(tensor.isnan().any()):
            (_exchange if _whole(tensor) else _shuffle)([tensor], chance)
        else:
            values, which = torch.unique(tensor, return_inverse=True)
            size = float(values.double().abs().nan_to_num(posinf=1.0).mean() or 1.0)
            new = (torch.randn(len(values), generator=generator, dtype=torch.float64) * size).to(tensor.dtype)
            new[~values.isfinite()] = values[~values.isfinite()]
            new[values == 0] = 0
            if len(new.unique()) == len(values):
                tensor.copy_(new[which].reshape(tensor.shape))


def _whole(tensor: torch.Tensor) -> bool:
    import torch

    return not (tensor.is_floating_point() or tensor.is_complex() or tensor.dtype is torch.bool)


CHANGES: dict[str, tuple[str, Callable[[Sequence[Any], random.Random], None]]] = {
    "moved": ("the same values in other places", _shuffle),
    "balanced": ("other values of the same range and sum", _exchange),
    "renamed": ("other values, as many different ones", _rename),
}
"""What becomes of values: in words, and what does it, in turns until the result has the same sizes."""


def _balanced(values: list[int], chance: random.Random) -> list[int]:
    """Other whole numbers with the same sum, the same smallest and the same largest one."""
    values = list(values)
    least, most = min(values, default=0), max(values, default=0)
    ends = {values.index(least), values.index(most)} if values else set()
    inner = [place for place in range(len(values)) if place not in ends]
    for _ in range(min(len(inner), MOST_MOVES) if len(inner) > 1 else 0):
        one, other = chance.sample(inner, 2)
        step = chance.randint(0, min(most - values[one], values[other] - least, MOST_STEP))
        values[one] += step
        values[other] -= step
    return values
