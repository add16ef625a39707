"""The same values elsewhere in memory: an answer may not depend on where its arguments lie."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from bringup.judge.guards._redraw import MOST, Redraw

if TYPE_CHECKING:
    import torch

    from bringup.judge._case import CaseJudge
    from bringup.judge.guards._rerun import Rerunner

RANKS = {"two dimensions": (2, 2), "three dimensions": (3, 3), "four dimensions": (4, 8)}
# Layouts that users have, by the order of dimensions from the outermost on; a column is x[:, :1], columns x[:, :n].
USUAL = {"channels last": (0, 2, 3, 1), "channels last in 3D": (0, 2, 3, 4, 1), "a column": (0, 1), "columns": (0, 1)}
SLICE = "a slice"  # x[n:], of every tensor
COLUMNS = (2, 64)  # of the matrix that a column is taken from
OFTEN = 0.75  # a tensor beside the first one is laid anew
WORDS = "with the same values laid down otherwise in memory"
LARGE = "several blocks"  # of elements: more than a program takes at once


class Relaid(Redraw):
    """More calls for each dtype, with arguments that lie otherwise in memory, as the verdict's seed draws it.

    Dense in another order of dimensions, for two dimensions, three and more; at offsets, with steps between neighbours
    and between rows; windows that lie on one another. Where no case has so many dimensions, one is folded anew.
    Channels last, columns and slices, which users have most, are laid down in every verdict where a case will do.
    """

    id = "relaid"
    catches = "strides taken for others in some dtype, rank or order of dimensions; windows, offsets, steps, rows apart"
    misses = "a layout that is drawn once in a hundred verdicts"
    advice = "go by the strides and the offset that a tensor has, or take `contiguous()` of it"
    most = 1 << 17
    first = frozenset({"two dimensions"})
    draws = MappingProxyType(
        dict.fromkeys((*RANKS, *USUAL, SLICE, "one dimension", "steps and offsets", "overlapping", LARGE), "layout")
    )

    def ordered(self, cases: Sequence[CaseJudge], chance: random.Random, what: str) -> list[CaseJudge]:
        """Cases of the rank first, then those that may be folded to have it; large ones for nothing but blocks."""
        found = [case for case in super().ordered(cases, chance, what) if (_size(case) > MOST) == (what == LARGE)]
        if what in USUAL:
            fitting = [case for case in found if any(_lies(tensor, what) for _, tensor in case.tensors)]
            folding = [case for case in found if _folded_shape([t for _, t in case.tensors], what, chance) is not None]
            return [*fitting[:2], *(case for case in folding if case not in fitting[:2])]
        least, most = {"one dimension": (1, 1), **RANKS}.get(what, (0, 8))
        fitting = [case for case in found if least <= _rank(case) <= most]
        return [*fitting[:2], *(case for case in found if case not in fitting and what in RANKS)]

    def make(self, rerun: Rerunner, case: CaseJudge, what: str, chance: random.Random) -> CaseJudge | None:
        """Lay the tensors of a case down anew."""
        from bringup.judge import _layouts

        if what == "overlapping":
            return self._overlapping(rerun, case, chance)
        if what in USUAL:
            return self._usual(rerun, case, what, chance)
        if what == SLICE:
            return self._sliced(rerun, case, chance)
        tensors = [tensor for _, tensor in case.tensors]
        if what in RANKS and not RANKS[what][0] <= _rank(case) <= RANKS[what][1]:
            shape = _common(tensors)
            folded = _layouts.refolded(shape, RANKS[what][0], chance) if shape is not None else None
            plain = self._folded(rerun, case, folded)
            if plain is None:
                return None
            case, tensors = plain, [tensor for _, tensor in plain.tensors]
        ways = [_layouts.permuted] if what in RANKS else [_layouts.scattered]
        lay = chance.choice([_layouts.permuted, _layouts.scattered] if what == LARGE else ways)
        main = max(range(len(tensors)), key=lambda n: (tensors[n].dim(), tensors[n].numel()))
        new = {
            number: lay(tensor, chance)
            for number, tensor in enumerate(tensors)
            if tensor.numel() > 1 and (number == main or chance.random() < OFTEN)
        }
        if all(new[n].stride() == tensors[n].stride() and not new[n].storage_offset() for n in new):
            return None
        made = rerun.exchanged(case, new, WORDS)
        return made if made is not None and made.agrees(case) else None

    def _folded(self, rerun: Rerunner, case: CaseJudge, shape: Sequence[int] | None) -> CaseJudge | None:
        """Give all tensors that have dimensions another shape, where the answer is the same in that shape.

        Indices name places in the old one; some of PyTorch's kernels write there without a look (pooling backwards).
        """
        if shape is None or _has_indices(case):
            return None
        tensors = [tensor.reshape(shape) if tensor.dim() else tensor for _, tensor in case.tensors]
        plain = rerun.exchanged(case, dict(enumerate(tensors)), WORDS)
        return plain if plain is not None and _refolds(plain, case) else None

    def _usual(self, rerun: Rerunner, case: CaseJudge, what: str, chance: random.Random) -> CaseJudge | None:
        """Lay every tensor of the rank down as users do."""
        from bringup.judge import _layouts

        if not any(_lies(tensor, what) for _, tensor in case.tensors):
            plain = self._folded(rerun, case, _folded_shape([t for _, t in case.tensors], what, chance))
            if plain is None:
                return None
            case = plain
        padding = chance.randrange(*COLUMNS) - 1 if what in ("a column", "columns") else 0
        new = {
            number: _layouts.laid(tensor, list(USUAL[what]), 1, padding)
            for number, (_, tensor) in enumerate(case.tensors)
            if _lies(tensor, what)
        }
        made = rerun.exchanged(case, new, f"with the same values laid down as {what}")
        return made if made is not None and made.agrees(case) else None

    def _sliced(self, rerun: Rerunner, case: CaseJudge, chance: random.Random) -> CaseJudge | None:
        """Lay every tensor down behind other elements of its memory."""
        from bringup.judge import _layouts

        new = {
            number: _layouts.behind(tensor, chance) for number, (_, tensor) in enumerate(case.tensors) if tensor.numel()
        }
        made = rerun.exchanged(case, new, "with the same values behind other elements") if new else None
        return made if made is not None and made.agrees(case) else None

    def _overlapping(self, rerun: Rerunner, case: CaseJudge, chance: random.Random) -> CaseJudge | None:
        """Let elements of arguments share memory: of data that are only read."""
        from bringup.judge import _layouts

        if not rerun.free(case) or rerun.operator.mutates or rerun.operator.writes:
            return None
        new: dict[int, torch.Tensor] = {}
        for number in rerun.data(case):
            shared = _layouts.overlapping(case.tensors[number][1], chance)
            if shared is not None and (not new or chance.random() < OFTEN):
                new[number] = shared
        made = rerun.exchanged(case, new, "with arguments whose elements share memory") if new else None
        return made if made is not None and rerun.fits(made) else None


def _size(case: CaseJudge) -> int:
    return sum(tensor.numel() for _, tensor in case.tensors)


def _rank(case: CaseJudge) -> int:
    return max((sum(size > 1 for size in tensor.shape) for _, tensor in case.tensors), default=0)


def _lies(tensor: torch.Tensor, what: str) -> bool:
    """Whether a tensor can lie so, and that is another layout than the contiguous one."""
    if tensor.dim() != len(USUAL[what]) or not tensor.numel():
        return False
    if what in ("a column", "columns"):
        return bool(tensor.shape[0] > 1 and (tensor.shape[1] == 1) == (what == "a column"))
    return bool(tensor.shape[1] > 1 and math.prod(tensor.shape[2:]) > 1)


def _folded_shape(tensors: Sequence[torch.Tensor], what: str, chance: random.Random) -> list[int] | None:
    """A shape for such a layout for tensors that have one in common; None where there is none."""
    from bringup.judge import _layouts

    shape = _common(tensors)
    if shape is None or shape.numel() < 2:
        return None
    return [shape.numel(), 1] if what == "a column" else _layouts.refolded(shape, len(USUAL[what]), chance)


def _common(tensors: Sequence[torch.Tensor]) -> torch.Size | None:
    """The one shape of all tensors that have dimensions."""
    shapes = {tensor.shape for tensor in tensors if tensor.dim()}
    return next(iter(shapes)) if len(shapes) == 1 else None


def _has_indices(case: CaseJudge) -> bool:
    import torch

    kinds = {tensor.is_floating_point() for _, tensor in case.tensors if tensor.dtype is not torch.bool}
    return len(kinds) > 1


def _refolds(folded: CaseJudge, case: CaseJudge) -> bool:
    """Whether the answer is the other's in another shape, as an elementwise operator's is."""
    import torch

    new, old = folded.answer(), case.answer()
    return (
        isinstance(new, torch.Tensor)
        and isinstance(old, torch.Tensor)
        and new.shape == next(t.shape for _, t in folded.tensors if t.dim())
        and new.dtype == old.dtype
        and torch.equal(torch.nan_to_num(new.reshape(-1)), torch.nan_to_num(old.reshape(-1)))
    )
