"""Calls of ordinary sizes that no case has: a few elements, some hundred, some thousand, and such as programs have."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from bringup.judge.guards import _resized
from bringup.judge.guards.shared import out_as_operand

if TYPE_CHECKING:
    import torch

    from bringup.judge._case import CaseJudge
    from bringup.judge.guards._rerun import Rerunner

FEW, HUNDREDS, THOUSANDS, PROGRAMS = "few elements", "some hundred elements", "some thousand elements", "usual sizes"
ELEMENTS = {FEW: (2, 40), HUNDREDS: (41, 999), THOUSANDS: (1000, 8191)}  # of the largest tensor
SMALL = (FEW, HUNDREDS)  # what operators that take many steps for a matrix are asked for
USUAL = (16, 32, 48, 64, 100, 128, 224, 256, 512, 768, 1024)
MOST = 1 << 14  # elements of all tensors together, where sizes are such
SHAPES = 4  # that are tried for one draw and case
IN_PLACE = 0.25  # of the calls have an operand as `out`, where that is possible
HALF = 0.5  # of the tensors begin behind an offset, where some do
NOISE = 0.25  # of the smallest singular value: what is put beside the blocks of a matrix
AS_IT_IS = 0.3  # how often a length stays, where another one changes


class Ordinary(_resized.Resized):
    """A few more calls for each dtype whose tensors have other sizes than those of any case, as the seed draws them.

    Each length becomes another one wherever it occurs. Values are the case's own: drawn where the operator asks for no
    structure; of linear algebra, which does, the same in each block along the diagonal of square matrices, and drawn
    elsewhere. Every second kind of size is the first call of a guest, as each is in use.
    """

    id = "ordinary"
    catches = "wrong results at sizes that no case has, in first calls above all"
    misses = "sizes of a narrow class, such as one in a hundred"
    advice = "compute every size by the same formula; choose nothing by a size but blocks and grids that are right"

    draws = dict.fromkeys((FEW, HUNDREDS, THOUSANDS, PROGRAMS), "shapes")
    first = frozenset((FEW, THOUSANDS))

    def takes(self, case: CaseJudge) -> bool:
        """Whether a case can be made of another size, if functions of its result are compared."""
        return super().takes(case) and (case.inputs.postprocess is None or case.inputs.postprocess_for is not None)

    def make(self, rerun: Rerunner, case: CaseJudge, what: str, chance: random.Random) -> CaseJudge | None:
        """Return a call of such a size; None where PyTorch takes none."""
        free = rerun.free(case)
        given = [(n, tensor) for n, (_, tensor) in enumerate(case.tensors) if not case.is_out(n)]
        if not free and (what not in SMALL or not _of_matrices(rerun, case)):
            return None
        known = _resized.given_sizes(case)
        for sizes, lengths in _shapes(known, what, chance):
            if not _resized.affordable(case, sizes, lengths):
                continue
            new = {
                n: _resized.own(tensor, sizes[n], chance) if free else tiled(tensor, sizes[n], chance)
                for n, tensor in given
                if sizes[n] != tuple(tensor.shape)
            }
            words = f"with other sizes ({', '.join('x'.join(map(str, sizes[n])) for n, _ in given)})"
            right = None if free else lambda made: rerun.finite(made) and rerun.defined(made)
            made = _resized.remade(rerun, case, new, lengths, words, right=right)
            if made is not None:
                return self._crossed(rerun, made, chance) if free else made
        return None

    def _crossed(self, rerun: Rerunner, made: CaseJudge, chance: random.Random) -> CaseJudge:
        """Have tensors begin somewhere in their memory, as those that a program cuts out of others; or one be `out`.

        A size that no case has, and what is unusual about a call, may be right each by itself.
        """
        from bringup.judge import _layouts

        way = chance.random()
        if way < IN_PLACE and rerun.told("out"):
            return out_as_operand(rerun, made, chance) or made
        if way > 1 - AS_IT_IS or not rerun.told("layout"):
            return made
        moved = [n for n, (_, tensor) in enumerate(made.tensors) if tensor.numel() and chance.random() < HALF]
        new = {n: _layouts.behind(made.tensors[n][1], chance) for n in moved}
        laid = rerun.exchanged(made, new, f"{made.inputs.title}, behind an offset") if new else None
        return laid if laid is not None and laid.agrees(made) else made


def _shapes(
    sizes: Sequence[tuple[int, ...]], what: str, chance: random.Random
) -> Iterator[tuple[list[tuple[int, ...]], Mapping[int, int]]]:
    """Yield sizes of this kind for tensors of these, and which length became which."""
    known = sorted({length for one in sizes for length in one if length > 1})
    low, high = ELEMENTS.get(what, (2, MOST // 4))
    for number in range(SHAPES if known else 0):
        if what == PROGRAMS and number < SHAPES // 2:
            tried = [{old: chance.choice(USUAL) for old in known} for _ in range(SHAPES)]
            lengths = min(tried, key=lambda new: sum(math.prod(new.get(n, n) for n in one) for one in sizes))
        else:
            lengths = _drawn(sizes, known, chance.randint(low, high), chance)
        changed = [tuple(lengths.get(length, length) for length in one) for one in sizes]
        if changed != list(sizes) and sum(map(math.prod, changed)) <= MOST:
            yield changed, {old: new for old, new in lengths.items() if old != new}


def _drawn(
    sizes: Sequence[tuple[int, ...]], known: Sequence[int], elements: int, chance: random.Random
) -> dict[int, int]:
    """Another length for most of those that are known, with which the largest tensor has about so many elements."""
    largest = max(sizes, key=math.prod)
    moved = [length for length in known if chance.random() > AS_IT_IS] or [chance.choice(known)]
    if not set(moved) & set(largest):
        moved.append(chance.choice([length for length in largest if length > 1]))
    stays = math.prod(length for length in largest if length not in moved)
    places = sum(length in moved for length in largest)
    each = max(1.0, elements / stays) ** (1 / places)
    spread = [chance.uniform(-1, 1) for _ in moved]
    middle = sum(by * largest.count(length) for by, length in zip(spread, moved, strict=True)) / places
    return {length: max(1, round(each * 2 ** (by - middle))) for by, length in zip(spread, moved, strict=True)}


def _of_matrices(rerun: Rerunner, case: CaseJudge) -> bool:
    """Whether a case is of linear algebra, has no pivots, and something exact says what is right."""
    numbers = all(tensor.is_floating_point() for n, (_, tensor) in enumerate(case.tensors) if not case.is_out(n))
    return numbers and rerun.operator.category == "Linear Algebra" and rerun.kind(case) in ("composite", "factors")


def tiled(tensor: torch.Tensor, size: Sequence[int], chance: random.Random) -> torch.Tensor:
    """The tensor's own values in another size, with what structure they have.

    A square matrix that stays one has them in the blocks of its diagonal, and little or zeros beside these: it stays
    triangular, symmetric, positive definite, orthogonal or invertible. Others have drawn ones, none twice the same:
    rows would be alike, and which of them is chosen first would be open.
    """
    import torch

    if len(size) < 2 or size[-1] != size[-2] or tensor.shape[-1] != tensor.shape[-2]:
        generator = torch.Generator().manual_seed(chance.getrandbits(32))
        drawn = _resized.own(tensor, size, chance)
        return drawn * torch.rand(tuple(size), generator=generator).add(1).div(2).to(tensor.dtype)
    found = tensor.detach().clone(memory_format=torch.contiguous_format)
    for dim, length in enumerate(size):
        found = found.index_select(dim, torch.arange(length) % tensor.shape[dim])
    block = torch.arange(size[-1]) // tensor.shape[-1]
    return torch.where(block[:, None] == block, found, _beside(tensor, size, chance))


def _beside(tensor: torch.Tensor, size: Sequence[int], chance: random.Random) -> torch.Tensor:
    """What stands beside the blocks: of the kind that the matrices are of, and so little that they stay so."""
    import torch

    nothing = torch.zeros(tuple(size), dtype=tensor.dtype)
    data = tensor.detach().double()
    across = data.mT @ data
    lower, upper = not data.triu(1).any(), not data.tril(-1).any()
    orthogonal = torch.allclose(across, torch.eye(data.shape[-1], dtype=torch.float64), atol=1e-2)
    if not tensor.numel() or not data.isfinite().all() or (lower and upper) or orthogonal:
        return nothing
    generator = torch.Generator().manual_seed(chance.getrandbits(32))
    drawn = torch.rand(tuple(size), generator=generator, dtype=torch.float64) - 0.5
    if lower or upper:
        drawn = drawn.tril() if lower else drawn.triu()
    elif torch.equal(data, data.mT):
        drawn = (drawn + drawn.mT) / 2
    most = NOISE * float(torch.linalg.svdvals(data).min()) / max(float(torch.linalg.matrix_norm(drawn, 2).max()), 1e-9)
    return (drawn * most).to(tensor.dtype)
