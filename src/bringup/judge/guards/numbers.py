"""Numbers among the arguments: an answer is right for others than those that the cases have."""

from __future__ import annotations

import itertools
import math
import random
import re
from collections.abc import Callable, Iterator, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from bringup.judge._named import around
from bringup.judge.guards._redraw import Redraw

if TYPE_CHECKING:
    import torch

    from bringup.judge._case import CaseJudge
    from bringup.judge._named import Named
    from bringup.judge._outcome import Outcome
    from bringup.judge.guards._rerun import Rerunner

FACTOR = 1.0  # binary logarithm of how much larger or smaller a number becomes, at most
AROUND_ZERO = (0.125, 1.0)  # what a zero becomes
ACROSS = (0.5, 5.0)  # binary logarithms of how far a number comes to lie from 1, on the other side of it
FAR = (1e6, 1e-9, 1e4, 1e-4)
SHIFTS = (1 << 16, 1 << 10)  # a whole number of more than 16 bits, and by how much more it may be
PROBE = 1 << 12  # a whole number with which a call whose number is a size shows it, and does no harm
WIDE = 40  # bits of one that is wider than an int32
TINY, HUGE = (-34.0, -12.0), (1.0, 5.0)  # binary logarithms of tolerances
CALLS = 3  # of the reference for one number
FEW = 1 << 10  # elements of a case with other whole numbers
NARROW = 32  # bits of an integer below which PyTorch cuts whole numbers to it, each operator in its own way
CHOICES = re.compile(r"(\w+_)?(mode|reduction)")  # parameters whose whole numbers name one of a few ways
# Parameters that say once more what the sizes of a result say. Where elements are picked by them, and
# they say otherwise, PyTorch's kernels for small and for large results disagree (`upsample_nearest2d`).
SCALES = re.compile(r"scales(_[dhw])?")

ALL = "all numbers"
NEAR = ("one number", ALL)
SPECIAL = {"-0.0": -0.0, "NaN": math.nan, "infinity": math.inf, "-infinity": -math.inf}
DISTANT = ("the other side of 1", "far", "extreme")
NAMED = ("a number of the source", "another number of the source")
NAMED_WHOLE = "a whole number of the source"
WHOLE = ("a far whole number", "an extreme whole number", NAMED_WHOLE)
# For which classes: what computes may overflow on its way to a finite result, in whatever order it does that.
SAFE = {
    "NaN": ("exact",),
    **dict.fromkeys(("infinity", "-infinity", "extreme"), ("exact", "exact_order")),
    **dict.fromkeys(("far", *NAMED, *WHOLE), ("exact", "exact_order", "rounding", "accumulating")),
}
OVERFLOWING = ("NaN", "infinity", "-infinity", "extreme")
SIZES = ("own", "tiny", "huge")
THRESHOLDS = {
    f"{side} the {which} threshold, {size}": (place, size, side)
    for place, which in enumerate(("first", "second"))
    for size in SIZES
    for side in ("within", "beyond")
}
_DEFAULT = re.compile(r"(\w+)(?:: ?[\w?]+)?\s*=\s*(-?[\d.]+(?:e[-+]?\d+)?)(?=[,)\s])")


class Numbers(Redraw):
    """More calls for each dtype with other numbers among the arguments, and with operands at such a number.

    Asked for where the reference takes them, and an exact one says what is right. NaN, infinity and extremes are for
    operators that compute nothing, far numbers for such that do so in one step; whole numbers, and such as are far from
    those of the cases, for calls that have results of the same sizes with them, and no more work: else the number is a
    size.
    """

    id = "numbers"
    catches = (
        "tables of the numbers that cases have: fills, factors, slopes; -0.0, NaN, infinity and the dtype's extremes "
        "taken for others; a formula for one side of 1; whole numbers cut to few bits; tolerances that are not felt"
    )
    misses = "numbers that decide about sizes; several far numbers at once"
    advice = "pass numbers to the kernel, and compute with them; none is special"
    draws = MappingProxyType(dict.fromkeys((*NEAR, *SPECIAL, *DISTANT, *NAMED, *WHOLE, *THRESHOLDS), "values"))
    most = 1 << 14

    def takes(self, case: CaseJudge) -> bool:
        """Whether a case may be asked for with other numbers; it needs no tensor."""
        inputs = case.inputs
        if inputs.raises or inputs.requires:
            return False
        return int(sum(t.numel() for _, t in case.tensors)) <= self.most

    def ordered(self, cases: Sequence[CaseJudge], chance: random.Random, what: str) -> list[CaseJudge]:
        """Cases first that give a number; what replaces NaN and infinity is felt where a case has some."""
        is_one = _is_whole if what in WHOLE else _is_number

        def lacks(case: CaseJudge) -> int:
            given = what in THRESHOLDS or bool(_found([case.args, case.kwargs], is_one))
            finite = what in SPECIAL and all(bool(t.isfinite().all()) for _, t in case.tensors)
            return (not given) + finite

        return sorted(super().ordered(cases, chance, what), key=lacks)

    def make(self, rerun: Rerunner, case: CaseJudge, what: str, chance: random.Random) -> CaseJudge | None:
        """Draw one number anew, or all, or the operands at one."""
        if not rerun.exact(case):
            return None
        if what in THRESHOLDS:
            return self._at_threshold(rerun, case, chance, *THRESHOLDS[what])
        if what in NEAR:
            return self._near(rerun, case, what, chance)
        if what in SAFE and (rerun.kind(case) not in SAFE[what] or rerun.of_degree(case)):
            return None
        if what not in OVERFLOWING and not rerun.finite(case):
            return None  # times less it would be finite, for who computes it in that order
        places = _places(rerun, case, _is_whole if what in WHOLE else _is_number)
        if not places or (what in WHOLE and not _takes_whole(case)):
            return None
        before = rerun.made(case) if case.tensors else None
        for number, put in chance.sample(places, len(places)):
            for other in itertools.islice(_others(what, number, _dtype(case), rerun.named, chance), CALLS):
                args, kwargs = put(other)
                if what in WHOLE and self._is_size(rerun, case, before, put, other):
                    continue
                if not rerun.same_class(case, before, args, kwargs):
                    continue
                words = f"with another number among the arguments ({other!r} for {number!r})"
                made = rerun.renumbered(case, args, kwargs, words)
                felt = made is not None and not made.same_bits(case)
                if made is not None and felt and rerun.fits(made, finite=_is_finite(what, rerun.kind(case))):
                    return made
        return None

    def found(self, rerun: Rerunner, made: CaseJudge, what: str) -> Outcome | None:
        """A whole number with which a loop never ends is a size after all: nothing is said of it."""
        outcome = super().found(rerun, made, what)
        return None if outcome is not None and what in WHOLE and outcome.kind == "timed_out" else outcome

    @staticmethod
    def _is_size(
        rerun: Rerunner, case: CaseJudge, before: Any, put: Callable[[Any], tuple[Any, Any]], other: int
    ) -> bool:
        """Whether a whole number decides about sizes or work: asked with a moderate one, which does no harm.

        As many results as a number of 31 bits says cannot even be counted.
        """
        probe = put(PROBE if other > 0 else -PROBE)
        return not rerun.same_class(case, before, *probe) or rerun.takes_more(case, *probe)

    def _near(self, rerun: Rerunner, case: CaseJudge, what: str, chance: random.Random) -> CaseJudge | None:
        if what == ALL:
            numbers = _numbers([case.args, case.kwargs])
            names = _names(rerun, case, _is_number)
            kept = (
                [_says_sizes(rerun, name) for name in names] if len(names) == len(numbers) else [False] * len(numbers)
            )
            if kept.count(False) < 2:
                return None
            new = [n if stays else _other(n, chance) for n, stays in zip(numbers, kept, strict=True)]
            args, kwargs = _exchanged([case.args, case.kwargs], iter(new))
        else:
            places = _places(rerun, case, _is_number)
            if not places:
                return None
            number, put = chance.choice(places)
            new = [_other(number, chance)]
            args, kwargs = put(new[0])
        told = ", ".join(f"{number:.6g}" for number in new)
        made = rerun.renumbered(case, args, kwargs, f"with other numbers among the arguments ({told})")
        return made if made is not None and rerun.fits(made) else None

    def _at_threshold(
        self, rerun: Rerunner, case: CaseJudge, chance: random.Random, place: int, size: str, side: str
    ) -> CaseJudge | None:
        """Give two like operands of a comparison, as far apart as one of its tolerances just allows, or does not."""
        from bringup.judge import _thresholds

        known = {name: value for name, value in _defaults(rerun).items() if _is_number(value) and value > 0}
        given = {name: value for name, value in case.kwargs.items() if _is_number(value) and value > 0}
        names = sorted({*known, *given})
        pair = _like(rerun, case) if _compares(case) and place < len(names) else None
        if pair is None:
            return None
        name, (one, other) = names[place], pair
        number = {**known, **given}[name]
        if size != "own":
            number = 2 ** chance.uniform(*(TINY if size == "tiny" else HUGE))
        kwargs = dict(case.kwargs) if size == "own" else {**case.kwargs, name: number}
        for relative in (False, True):
            operands = _thresholds.operands(case.tensors[one][1], number, chance, relative=relative)
            words = f"with operands {side} what {name}={number:.6g} allows"
            made = [rerun.exchanged(case, {one: moved, other: operands[0]}, words, **kwargs) for moved in operands[1:]]
            if None in made or made[0].same_answer(made[1]):  # type: ignore[union-attr,arg-type]
                continue
            asked = made[side == "beyond"]
            if asked is not None and rerun.fits(asked):
                return asked
        return None


def _is_finite(what: str, kind: str) -> bool:
    """Whether results must be finite: at a pole only the sign of a zero would be asked, which sums of numbers lose."""
    return what not in SPECIAL or (SPECIAL[what] == 0 and kind not in SAFE["infinity"])


def _defaults(rerun: Rerunner) -> dict[str, float | int]:
    """The numbers that the operator's signature has as defaults, by parameter; only of those that the wrapper has."""
    return {
        name: float(text) if "." in text or "e" in text else int(text)
        for name, text in _DEFAULT.findall(rerun.operator.signature)
        if name in rerun.parameters and text.strip("-.")
    }


def _places(
    rerun: Rerunner, case: CaseJudge, is_one: Callable[[Any], bool]
) -> list[tuple[Any, Callable[[Any], tuple[Any, Any]]]]:
    """The numbers of one kind that a call has, or leaves at a default, and what makes a call with another."""
    numbers = _found([case.args, case.kwargs], is_one)
    names = _names(rerun, case, is_one)

    def among(place: int) -> Callable[[Any], tuple[Any, Any]]:
        def put(other: Any) -> tuple[Any, Any]:
            new = iter([*numbers[:place], other, *numbers[place + 1 :]])
            args, kwargs = _exchanged([case.args, case.kwargs], new, is_one)
            return args, kwargs

        return put

    def beside(name: str) -> Callable[[Any], tuple[Any, Any]]:
        return lambda other: (case.args, {**case.kwargs, name: other})

    left = [(name, value) for name, value in _defaults(rerun).items() if is_one(value) and name not in case.kwargs]
    found = [(name, number, among(place)) for place, (name, number) in enumerate(zip(names, numbers, strict=True))]
    found += [(name, value, beside(name)) for name, value in left]
    return [
        (number, put) for name, number, put in found if not CHOICES.fullmatch(name) and not _says_sizes(rerun, name)
    ]


def _says_sizes(rerun: Rerunner, name: str) -> bool:
    return SCALES.fullmatch(name) is not None and bool(rerun.operator.moves)


def _names(rerun: Rerunner, case: CaseJudge, is_one: Callable[[Any], bool]) -> list[str]:
    """The parameter of each number, in the order of `_found`."""
    parameters = [*parameters_of(rerun.operator.signature), *[""] * len(case.args)]
    named = [*zip(parameters, case.args, strict=False), *case.kwargs.items()]
    return [name for name, value in named for _ in _found(value, is_one)]


def parameters_of(signature: str) -> list[str]:
    """The names in a signature, as Python (`mode: str = "sum"`) or a schema (`int mode=0`) has them."""
    inside = signature.partition("(")[2].rpartition(")")[0].partition(") ->")[0]
    flat = re.sub(r"\[[^\[\]]*\]", "", inside)
    plain = [text.partition("=")[0].partition(":")[0].split() for text in flat.split(",")]
    return [words[-1] for words in plain if words and words[-1].isidentifier()]


def _like(rerun: Rerunner, case: CaseJudge) -> tuple[int, int] | None:
    """The first two tensors of floating-point data that have the same shape, and some element."""
    data = [n for n in rerun.data(case) if not case.is_out(n)]
    for place, one in enumerate(data):
        for other in data[place + 1 :]:
            a, b = case.tensors[one][1], case.tensors[other][1]
            if a.is_floating_point() and a.dtype == b.dtype and a.shape == b.shape and a.numel():
                return one, other
    return None


def _compares(case: CaseJudge) -> bool:
    """Whether the answer is a truth value, or a tensor of such."""
    import torch

    answer = case.answer()
    return isinstance(answer, bool) or (isinstance(answer, torch.Tensor) and answer.dtype is torch.bool)


def _takes_whole(case: CaseJudge) -> bool:
    """Whether a case is small, and what it says of far whole numbers defined."""
    import torch

    tensors = [tensor for _, tensor in case.tensors]
    narrow = [t for t in tensors if t.dtype is not torch.bool and not t.is_floating_point() and not t.is_complex()
              and torch.iinfo(t.dtype).bits < NARROW]  # fmt: skip
    return not narrow and sum(tensor.numel() for tensor in tensors) <= FEW


def _dtype(case: CaseJudge) -> torch.dtype:
    """The dtype of a case, or the narrowest of its tensors' where these hold integers: PyTorch cuts numbers to it."""
    import torch

    found: torch.dtype = getattr(torch, case.inputs.case.dtype)
    if found.is_floating_point or found is torch.bool:
        return found
    kinds = {tensor.dtype for _, tensor in case.tensors}
    whole = [kind for kind in kinds if not (kind.is_floating_point or kind.is_complex or kind is torch.bool)]
    return min([found, *whole], key=lambda kind: torch.iinfo(kind).bits)


def _others(what: str, number: Any, dtype: torch.dtype, names: Named, chance: random.Random) -> Iterator[Any]:
    """What a number may become, in the order in which it is tried."""
    import torch

    if what in SPECIAL:
        yield SPECIAL[what]
    elif what == "the other side of 1":
        for _ in range(CALLS):
            other = 2 ** chance.uniform(*ACROSS)
            yield math.copysign(other if abs(number) < 1 else 1 / other, number)
    elif what == "far":
        yield from (math.copysign(far, number) for far in chance.sample(FAR, len(FAR)))
    elif what == "extreme" and dtype.is_floating_point:
        info = torch.finfo(dtype)
        yield from chance.sample((info.max, info.min, info.tiny), 3)
    elif what in NAMED or what == NAMED_WHOLE:
        kind = torch.float32 if what in NAMED else torch.int64
        for group in (names.compared, names.others):
            of_each = [list(around(one, kind)) for one in group]
            drawn = [chance.choice(values) for values in of_each if values]
            yield from (one for one in chance.sample(drawn, len(drawn)) if one != number)
    elif what == "a far whole number":
        size, more = SHIFTS
        signs = chance.sample((1, -1), 2)
        yield from (sign * (size + chance.randrange(more)) for sign in signs)
    elif what == "an extreme whole number" and not dtype.is_floating_point and dtype is not torch.bool:
        limits = torch.iinfo(dtype)
        wide = chance.choice((1, -1)) * (1 << WIDE) + chance.randrange(1 << 16)
        within = [limits.max, limits.min, *([wide] if limits.bits > WIDE else [])]
        yield from chance.sample(within, len(within))


def _other(number: float, chance: random.Random) -> float:
    if not number:
        return chance.uniform(*AROUND_ZERO)
    return number * 2 ** chance.uniform(-FACTOR, FACTOR)


def _is_number(value: Any) -> bool:
    return type(value) is float and math.isfinite(value)


def _is_whole(value: Any) -> bool:
    return type(value) is int


def _found(tree: Any, is_one: Callable[[Any], bool]) -> list[Any]:
    """The numbers of one kind in a tree of arguments, depth first."""
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, list | tuple):
        return [number for item in tree for number in _found(item, is_one)]
    return [tree] if is_one(tree) else []


def _numbers(tree: Any) -> list[float]:
    """The finite floating-point numbers of a tree of arguments, depth first."""
    return _found(tree, _is_number)


def _exchanged(tree: Any, new: Any, is_one: Callable[[Any], bool] = _is_number) -> Any:
    """The tree with its numbers of one kind, in that order, exchanged."""
    if isinstance(tree, dict):
        return {key: _exchanged(item, new, is_one) for key, item in tree.items()}
    if not _found(tree, is_one):
        return tree
    if isinstance(tree, list | tuple):
        items = [_exchanged(item, new, is_one) for item in tree]
        return type(tree)(*items) if hasattr(tree, "_fields") else type(tree)(items)
    return next(new)
