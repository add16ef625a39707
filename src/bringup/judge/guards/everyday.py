"""Large calls as users make them: whole tensors of one law, of several blocks, in several unusual ways at once."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bringup.judge.guards import _resized

if TYPE_CHECKING:
    import torch

    from bringup.judge._case import CaseJudge
    from bringup.judge._outcome import Outcome
    from bringup.judge.guards._rerun import Rerunner

NORMAL, MIXED = "standard normal numbers", "blocks of several laws"
OUT, THREE, MANY, LAID = "out", "three dimensions", "many dimensions", "laid otherwise"
FAMILIES = {"": "values", OUT: "out", THREE: "shapes", MANY: "shapes", LAID: "layout"}
RANKS = (4, 6)  # of many dimensions
OFTEN = 0.5  # one more axis beside that which is asked for
CASES = 3  # that are tried for one draw
ATTEMPTS = 9  # calls of the reference for one draw
HOPELESS = 6  # cases of a dtype that cannot be made large: then no other is tried
MAGNITUDES, RANGE = "their magnitudes", "moved into the range of the case"
MOVES = ("", MAGNITUDES, RANGE)
VALUES = 3  # laws that are tried where the first gives no answer that can be compared


class Everyday(_resized.Resized):
    """More calls for each dtype with tensors of several blocks whose values follow laws, as the seed draws it.

    Size, layout, rank and `out=` are crossed: a call may have several of these at once. Each law has a whole tensor in
    some dtype, normal numbers in every one, and blocks in one tensor of each dtype. Of operators whose arguments have
    no structure, where an exact reference says what is right. Where values of a law are outside of the operator's
    domain, they are moved into the range of the case's own.
    """

    id = "everyday"
    catches = (
        "wrong results for whole blocks of normal numbers, of numbers from 0 to 1, bytes, masks, probabilities, sorted "
        "ones; for large calls with `out=`, of three and more dimensions, or laid otherwise"
    )
    misses = "other laws; a law of a whole tensor in one dtype alone; three unusual ways at once"
    advice = "compute every element by the same formula, whatever its block, shape, layout and `out=`"

    def __init__(self) -> None:
        """Cases that cannot be made large are tried once."""
        self.draws: Mapping[str, str] = {}
        self._plan: dict[str, tuple[str, str]] = {}  # draw -> law and axis
        self._small: set[int] = set()
        self._attempts: Counter[str] = Counter()

    def find(self, rerun: Rerunner, cases: Mapping[str, Sequence[CaseJudge]]) -> tuple[Outcome, CaseJudge] | None:
        """Deal the laws out to the dtypes, and judge what was drawn."""
        plans = planned(list(cases), rerun.chance(self.id, "", "plan"))
        for dtype, of_dtype in cases.items():
            self._plan = {f"{law}, {axis}": (law, axis) for law, axis in plans.get(dtype, ())}
            self.draws = dict.fromkeys(self._plan, "values")
            self._small, self._attempts = set(), Counter()
            if (found := self.sweep(rerun, of_dtype)) is not None:
                return found
        return None

    def ordered(self, cases: Sequence[CaseJudge], chance: random.Random, what: str) -> list[CaseJudge]:
        """A few cases of which none has been found to stay small."""
        if len(self._small) >= HOPELESS:
            return []
        return [case for case in super().ordered(cases, chance, what) if id(case) not in self._small][:CASES]

    def make(self, rerun: Rerunner, case: CaseJudge, what: str, chance: random.Random) -> CaseJudge | None:
        """Return a large call of the case's kind."""
        import torch

        from bringup.judge import _laws

        law, axis = self._plan[what]
        if not rerun.free(case) or not rerun.told(FAMILIES[axis]):
            return None
        if axis == OUT and "out" not in rerun.parameters:
            axis = ""
        known = [law]
        if axis:
            others = [other for other in _laws.laws(getattr(torch, case.inputs.case.dtype)) if other != law]
            known += chance.sample(others, VALUES - 1)
        for sizes, lengths in _shapes(case, law, axis, chance):
            if not _resized.affordable(case, sizes, lengths):
                continue
            for drawn in known:
                for moved in MOVES:
                    if self._attempts[what] >= ATTEMPTS or rerun.explodes:
                        return None
                    self._attempts[what] += 1
                    made = _filled(rerun, case, sizes, lengths, (drawn, moved), chance)
                    crossed = None if made is None else _crossed(rerun, made, axis, chance)
                    if crossed is not None:
                        return crossed
        if not axis:
            self._small.add(id(case))
        return None


def planned(dtypes: Sequence[str], chance: random.Random) -> dict[str, list[tuple[str, str]]]:
    """Return what is drawn in each dtype: laws, each with what else is unusual about the call.

    Large calls with `out=`, and such of three dimensions, are made in every dtype of floating point.
    """
    import torch

    from bringup.judge import _laws

    known = {name: getattr(torch, name) for name in dtypes if isinstance(getattr(torch, name, None), torch.dtype)}
    floats = [name for name, dtype in known.items() if dtype.is_floating_point]
    whole = [
        name for name, dtype in known.items() if name not in floats and dtype is not torch.bool and not dtype.is_complex
    ]
    plans: dict[str, list[tuple[str, str]]] = {}
    rest = [law for law in _laws.LAWS if law != NORMAL]
    chance.shuffle(rest)
    for number, name in enumerate(chance.sample(floats, len(floats))):
        axes = [OUT, THREE, chance.choice((MANY, LAID)), *([LAID, MANY, THREE, OUT, ""] * 2)]
        dealt = rest[number :: len(floats)]
        dealt += [NORMAL] * (2 - len(dealt))
        plans[name] = [(NORMAL, ""), (MIXED, ""), *zip(dealt, axes, strict=False)]
    for number, name in enumerate(chance.sample(whole, len(whole))):
        law = chance.choice(list(_laws.WHOLE))
        plans[name] = [(MIXED, ""), (law, (OUT, THREE, MANY, LAID)[number % 4])]
    return plans


def _shapes(
    case: CaseJudge, law: str, axis: str, chance: random.Random
) -> list[tuple[list[tuple[int, ...]], Mapping[int, int]]]:
    from bringup.judge import _grown, _laws

    rank = 3 if axis == THREE else chance.randint(*RANKS) if axis == MANY else 0
    line = True if axis == THREE else False if axis == MANY else chance.choice((True, False, None))
    least = _laws.MIXED_BLOCK * len(_laws.LAWS) if law == MIXED else _grown.LEAST
    return list(_grown.shapes(_resized.given_sizes(case), chance, least, rank, line))


def _filled(
    rerun: Rerunner, case: CaseJudge, sizes: Sequence[tuple[int, ...]], lengths: Mapping[int, int],
    law: tuple[str, str], chance: random.Random,
) -> CaseJudge | None:  # fmt: skip
    """Return the case with tensors of these sizes, the largest that holds data of a law; perhaps others too."""
    import torch

    data = [number for number in rerun.data(case) if not case.is_out(number)]
    if not data:
        return None
    main = max(data, key=lambda n: math.prod(sizes[n]))
    new: dict[int, torch.Tensor] = {}
    for number, (_, tensor) in enumerate(case.tensors):
        size = torch.Size(sizes[number])
        if case.is_out(number):
            continue
        if number == main or (number in data and tensor.is_floating_point() and chance.random() < OFTEN):
            values = _values(law, size, tensor, chance)
            new[number] = values if number == main or _within(values, tensor) else _resized.own(tensor, size, chance)
        elif size != tensor.shape:
            new[number] = _resized.own(tensor, size, chance)
    return _resized.remade(rerun, case, new, lengths, f"with {law[0]}{law[1] and f', {law[1]}'}")


def _crossed(rerun: Rerunner, made: CaseJudge, axis: str, chance: random.Random) -> CaseJudge | None:
    """Lay the tensors down otherwise, and give an `out`, or leave either, as is drawn."""
    from bringup.judge import _layouts

    if not axis:
        return made
    crossed, words = made, made.inputs.title
    if axis == LAID or (rerun.told("layout") and chance.random() < OFTEN):
        lay = chance.choice((_layouts.permuted, _layouts.scattered))
        new = {n: lay(tensor, chance) for n, (_, tensor) in enumerate(made.tensors) if tensor.numel() > 1}
        laid = rerun.exchanged(made, new, f"{words}, laid down otherwise")
        if laid is not None and laid.agrees(made):
            crossed = laid
        elif axis == LAID:
            return None
    if axis != OUT and not (rerun.told("out") and chance.random() < OFTEN):
        return crossed
    written = _with_out(rerun, crossed, chance)
    return written if written is not None or axis == OUT else crossed


def _with_out(rerun: Rerunner, case: CaseJudge, chance: random.Random) -> CaseJudge | None:
    """Return the call with an `out` for its one result: full of what shows, contiguous or laid otherwise."""
    import torch

    from bringup.judge import _layouts

    answer = case.answer()
    if any(map(case.is_out, range(len(case.tensors)))):  # it has one, laid otherwise with the others
        return case
    if "out" not in rerun.parameters or not isinstance(answer, torch.Tensor) or not answer.numel():
        return None
    empty = torch.zeros(answer.shape, dtype=answer.dtype)
    out = chance.choice((lambda tensor, _: tensor, _layouts.permuted, _layouts.scattered))(empty, chance)
    made = rerun.exchanged(case, {}, f"{case.inputs.title}, and `out`", out=out)
    if made is None or not made.agrees(made):
        return None
    result = made.answer()
    return made if isinstance(result, torch.Tensor) and case.same_answer(made) else None


def _values(law: tuple[str, str], size: torch.Size, tensor: torch.Tensor, chance: random.Random) -> torch.Tensor:
    """Values of a law, or blocks of values of all of them; as they are, their magnitudes, or in a tensor's range."""
    import torch

    from bringup.judge import _laws

    name, moved = law
    if name == MIXED:
        laws = _laws.laws(tensor.dtype)
        block = -(-size.numel() // len(laws))
        parts = [_values((one, moved), torch.Size([block]), tensor, chance) for one in chance.sample(laws, len(laws))]
        return torch.cat(parts)[: size.numel()].reshape(size)
    values = _laws.drawn(name, size, tensor.dtype, chance)
    if moved == MAGNITUDES:
        return values.abs()
    return _laws.ranged(values, tensor) if moved == RANGE else values


def _within(values: torch.Tensor, tensor: torch.Tensor) -> bool:
    """Whether values are no further from zero than those that a tensor has: sizes and degrees may be meant."""
    return bool(values.double().abs().max() <= tensor.double().abs().max())
