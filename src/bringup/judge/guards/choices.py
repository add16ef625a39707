"""Flags, words and kinds of numbers among the arguments: what a call may choose, where cases show one way alone."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bringup.judge.guards import _resized
from bringup.judge.guards._redraw import Redraw
from bringup.judge.guards.numbers import CHOICES, parameters_of

if TYPE_CHECKING:
    import torch

    from bringup.judge._case import CaseJudge
    from bringup.judge._outcome import Outcome
    from bringup.judge.guards._rerun import Rerunner

TRIES = 24  # cases for one choice: not each has data in which it shows
FORMS = 12  # of calls that are asked for with other kinds of numbers, in one dtype
AT_RANDOM = 2  # calls in which all choices are drawn
KINDS = {"whole": "whole numbers", "fraction": "fractions", "same": "numbers"}
NAMED = 3  # ways that a whole number names (`mode=2`), at most
WHERE = frozenset((
    "out", "device", "pin_memory", "requires_grad", "layout", "memory_format", "dtype", "generator", "non_blocking",
    "inplace", "assume_unique", "include_last_offset", "sorted",
    "training", "train",
))  # fmt: skip
"""What says where or as what a result comes: cases of their own ask for these; what a caller promises of data,
what leaves an order open, and what decides which others are needed: PyTorch crashes where they are not there."""
WORDS: Mapping[str, tuple[str | None, ...]] = {
    "mode": (
        "reduced", "complete", "r", "nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear", "area",
        "constant", "reflect", "replicate", "circular", "sum", "mean", "max", "full", "valid", "same",
    ),
    "rounding_mode": ("trunc", "floor", None),
    "reduction": ("none", "mean", "sum"),
    "reduce": ("sum", "prod", "mean", "amax", "amin", "add", "multiply"),
    "interpolation": ("linear", "lower", "higher", "midpoint", "nearest"),
    "side": ("left", "right"),
    "indexing": ("ij", "xy"),
    "norm": ("forward", "backward", "ortho"),
    "UPLO": ("L", "U"),
    "padding": ("valid", "same"),
    "padding_mode": ("zeros", "border", "reflection"),
    "approximate": ("none", "tanh"),
    "ord": ("fro", "nuc"),
    "p": ("fro", "nuc"),
}  # fmt: skip
"""What texts PyTorch's operators know, by parameter; those of other operators are refused, and then not asked for."""
_DEFAULT = re.compile(r"(\w+)(?:: ?[^=,()]+)?\s*=\s*(True|False|None|\"[^\"]*\"|'[^']*')(?=[,)\s])")
_SCHEMA = re.compile(r"\bTensor\??(?:\(\w+!?\)|\[\d*\])? \w|\bScalar\??(?:\[\d*\])? \w")
_FLAGS = re.compile(r"\bbool\??(?:\[\d*\])? (\w+)")
_SCALARS = re.compile(r"\bScalar\??(?:\[\d*\])? (\w+)")

Put = Callable[[Any], tuple[tuple[Any, ...], dict[str, Any]]]
Make = Callable[["CaseJudge", random.Random], "CaseJudge | None"]


@dataclass(frozen=True)
class Place:
    """An argument of a call, given or left at its default, and what makes a call with another."""

    name: str
    value: Any
    put: Put


class Choices(Redraw):
    """More calls for each dtype in which a flag, a word or a number that names a way has another value than its case.

    Each value of each, on a case in which the result shows it, where PyTorch takes it; all of them drawn at once. For
    each form of a call: numbers that are whole where the case's are not, and the other way round; and a whole number
    in a tensor of no dimension as the last operand.
    """

    id = "choices"
    catches = (
        "flags and words that are ignored, or read for one dtype or together with one other argument only; paths of "
        "their own for numbers that are whole"
    )
    misses = "words that no other operator has; several rare choices at once"
    advice = "read every argument of the signature: a flag or a word that no case gives is asked for, too"
    most = 1 << 14

    def sweep(self, rerun: Rerunner, cases: Sequence[CaseJudge]) -> tuple[Outcome, CaseJudge] | None:
        """Ask for each choice once in a dtype."""
        usable = [case for case in cases if self.takes(case)]
        for what, some, make in self._asked(rerun, usable):
            chance = rerun.chance(self.id, usable[0].inputs.case.dtype, what)
            for case in chance.sample(some, len(some))[:TRIES]:
                made = make(case, chance)
                if made is not None:
                    outcome = self.found(rerun, made, what)
                    if outcome is not None:
                        return outcome, made
                    break
        return None

    def takes(self, case: CaseJudge) -> bool:
        """Whether a case may be asked for with other arguments; it needs no tensor."""
        inputs = case.inputs
        if inputs.raises or inputs.requires:
            return False
        if inputs.postprocess is not None and inputs.postprocess_for is None:
            return False  # what is compared may know the old choice
        if any(tensor.dtype in _wide() and tensor.dim() for _, tensor in case.tensors):
            return False  # of such data nothing is asked but that it is moved
        return int(sum(t.numel() for _, t in case.tensors)) <= self.most

    def _asked(self, rerun: Rerunner, cases: Sequence[CaseJudge]) -> Iterator[tuple[str, Sequence[CaseJudge], Make]]:
        """Yield each choice by its words, the cases that may show it, and what makes a call of one."""
        if not cases:
            return
        known = words_of(rerun, cases)
        if rerun.told("numbers"):
            wanted: dict[tuple[str, str], Any] = {}
            for case in cases:
                for place in places(rerun, case):
                    wanted |= {(place.name, repr(other)): other for other in others(place, known)}
            for (name, text), other in wanted.items():
                for square in (False, True):
                    yield f"{name}={text} {square}", cases, self._one(rerun, known, name, other, square)
            if len(wanted) > 1:
                for turn in range(AT_RANDOM):
                    yield f"all choices, {turn}", cases, self._all(rerun, known)
        if rerun.mixes():
            by_form: dict[tuple[str, ...], list[CaseJudge]] = {}
            for case in cases:
                by_form.setdefault(form(case), []).append(case)
            for kind, of_kind in (("float", "whole"), ("int", "fraction"), ("", "same"), ("torch.float", "operand")):
                if of_kind == "fraction" and not _is_floating(cases[0]):
                    continue  # PyTorch divides by what is left of it
                forms = [one for one in by_form if any(word.rpartition("=")[2].startswith(kind) for word in one[1:])]
                chance = rerun.chance(self.id, cases[0].inputs.case.dtype, of_kind)
                for one in chance.sample(forms, min(FORMS, len(forms))):
                    if of_kind == "operand":
                        for plain in (False, True):
                            yield f"{one} {of_kind} {plain}", by_form[one], self._operand(rerun, plain)
                        continue
                    absents = optional(rerun, by_form[one][0])
                    for absent in absents if of_kind == "same" else ("", *absents):
                        yield f"{one} {of_kind} {absent}", by_form[one], self._kinds(rerun, of_kind, absent)

    def _one(self, rerun: Rerunner, known: Words, name: str, other: Any, square: bool) -> Make:
        def make(case: CaseJudge, chance: random.Random) -> CaseJudge | None:
            for place in places(rerun, case):
                if place.name == name and any(_same(one, other) for one in others(place, known)):
                    args, kwargs = place.put(other)
                    words = f"with {name}={other!r}"
                    if not square:
                        return self._made(rerun, case, args, kwargs, words)
                    alike = _alike(args)
                    return None if alike is None else self._made(rerun, case, alike, kwargs, f"{words}, square")
            return None

        return make

    def _all(self, rerun: Rerunner, known: Words) -> Make:
        def make(case: CaseJudge, chance: random.Random) -> CaseJudge | None:
            args, kwargs = tuple(case.args), dict(case.kwargs)
            told = []
            for place in places(rerun, case):
                found = others(place, known)
                if found and chance.random() < 0.5:
                    other = chance.choice(found)
                    args, kwargs = _together((args, kwargs), (tuple(case.args), case.kwargs), place.put(other))
                    told.append(f"{place.name}={other!r}")
            return self._made(rerun, case, args, kwargs, f"with {', '.join(told)}") if len(told) > 1 else None

        return make

    def _kinds(self, rerun: Rerunner, kind: str, absent: str) -> Make:
        """Whole numbers for all that are none, or a fraction more for those that are; one argument is left out."""
        names = scalars_of(rerun)

        def other(place: Place, chance: random.Random) -> Any:
            value = place.value
            if place.name == absent:
                return None
            if names is not None and place.name not in names:
                return value
            if kind == "whole" and type(value) is float:
                return chance.choice((1, -1)) * chance.randrange(2, 9)
            return value + chance.choice((0.25, 0.5, -0.5)) if kind == "fraction" and type(value) is int else value

        def make(case: CaseJudge, chance: random.Random) -> CaseJudge | None:
            args, kwargs = tuple(case.args), dict(case.kwargs)
            for place in places(rerun, case):
                new = other(place, chance)
                if not _same(new, place.value):
                    args, kwargs = _together((args, kwargs), (tuple(case.args), case.kwargs), place.put(new))
            if not rerun.same_class(case, None, args, kwargs):
                return None  # the number is a size
            words = f"with {KINDS[kind]} among the arguments" + f", without {absent}" * bool(absent)
            return self._made(rerun, case, args, kwargs, words)

        return make

    def _operand(self, rerun: Rerunner, plain: bool) -> Make:
        """A whole number in place of the last operand, or a tensor of one and of no dimension."""
        import torch

        def make(case: CaseJudge, chance: random.Random) -> CaseJudge | None:
            given = [place for place, value in enumerate(case.args) if isinstance(value, torch.Tensor)]
            if len(given) < 2 or given[-1] == 0 or not case.args[given[-1]].is_floating_point():
                return None
            if plain and not takes_numbers(rerun, given[-1]):
                return None
            number = chance.choice((1, -1)) * chance.randrange(2, 6)
            one = number if plain else torch.tensor(number)
            args = tuple(one if place == given[-1] else value for place, value in enumerate(case.args))
            words = f"with a whole number ({number}) as operand"
            return self._made(rerun, case, args, case.kwargs, words if plain else f"{words}, of no dimension")

        return make

    def _made(self, rerun: Rerunner, case: CaseJudge, args: Any, kwargs: Any, words: str) -> CaseJudge | None:
        """Return the call where PyTorch takes it, shows what is asked for, and answers it in one way."""
        made = rerun.renumbered(case, args, kwargs, words)
        if made is None and (turned := _turned(args)) is not None:
            made = rerun.renumbered(case, turned, kwargs, words)  # `left=False`: from the other side
        if made is None or not _shows(made, case):
            return None
        sized = _sized(made)
        made = rerun.exchanged(made, sized, words) if sized else made
        return made if made is not None and rerun.defined(made) else None


def _shows(made: CaseJudge, case: CaseJudge) -> bool:
    """Whether a call has elements in its first result, and other results than the case."""
    import torch

    results = _resized.results(made)
    if any(one.layout is not torch.strided for one in results):
        return False
    before = _resized.results(case)
    if bool(results) != bool(before) or (results and not results[0].numel()):
        return False
    if any(one.dtype in _wide() for one in results) and not any(one.dtype in _wide() for one in before):
        return False  # a float64 number is no data, until nothing else is left beside it
    return len(made.tensors) != len(case.tensors) or not made.same_bits(case)


def _wide() -> tuple[torch.dtype, ...]:
    import torch

    return (torch.float64, torch.complex64, torch.complex128)


def _is_floating(case: CaseJudge) -> bool:
    import torch

    return bool(getattr(torch, case.inputs.case.dtype).is_floating_point)


def _sized(case: CaseJudge) -> dict[int, torch.Tensor]:
    """Return what is written where its size is another afterwards, of that size: as a dispatcher hands it on."""
    from bringup.judge import _compare

    _, args, kwargs = case.expected(case.inputs)
    pairs = zip(case.tensors, _compare.input_paths(args, kwargs), strict=True)
    return {n: new.new_zeros(new.shape) for n, ((_, old), (_, new)) in enumerate(pairs) if old.shape != new.shape}


def _turned(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The arguments with the last two dimensions of the second one exchanged."""
    import torch

    if len(args) < 2 or not isinstance(args[1], torch.Tensor) or args[1].dim() < 2:
        return None
    return (args[0], args[1].mT.contiguous(), *args[2:])


def _alike(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The arguments with a second matrix that is square like the first: what stands on either side of it fits."""
    import torch

    if len(args) < 2 or not all(isinstance(one, torch.Tensor) and one.dim() > 1 for one in args[:2]):
        return None
    if args[0].shape[-1] != args[0].shape[-2] or args[0].dtype != args[1].dtype or args[0].shape == args[1].shape:
        return None
    return (args[0], args[0].flip(-1).contiguous(), *args[2:])


Words = Mapping[str, Sequence[str | None]]


def words_of(rerun: Rerunner, cases: Sequence[CaseJudge]) -> Words:
    """Return the texts that may stand for a parameter: those that are known, and those that cases have."""
    found: dict[str, dict[str | None, None]] = {name: dict.fromkeys(words) for name, words in WORDS.items()}
    own: dict[str, dict[str | None, None]] = {}
    for case in cases:
        for place in places(rerun, case):
            if isinstance(place.value, str):
                own.setdefault(place.name, {})[place.value] = None
    for name, words in own.items():  # who has a word of his own has all words of his own
        found[name] = {**found[name], **words} if words.keys() <= found.get(name, {}).keys() else words
    return {name: list(words) for name, words in found.items()}


def others(place: Place, known: Words) -> list[Any]:
    """Return what else an argument may be; nothing for numbers and tensors."""
    value, name = place.value, place.name
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, str) or (value is None and None in known.get(name, ())):
        return [word for word in known.get(name, ()) if word != value]
    if type(value) is int and CHOICES.fullmatch(name):
        return [way for way in range(NAMED) if way != value]
    return []


def places(rerun: Rerunner, case: CaseJudge) -> list[Place]:
    """Return the arguments of a call that are no tensors: those given, and those whose default the signature says."""
    args, kwargs = tuple(case.args), dict(case.kwargs)

    def at(place: int) -> Put:
        return lambda other: ((*args[:place], other, *args[place + 1 :]), kwargs)

    def by(name: str) -> Put:
        return lambda other: (args, {**kwargs, name: other})

    names = _names(rerun, case.args)
    found = [Place(name, value, at(n)) for n, (name, value) in enumerate(zip(names, args, strict=True)) if name]
    found += [Place(name, value, by(name)) for name, value in kwargs.items()]
    given = {one.name for one in found}
    for name, text in _DEFAULT.findall(rerun.operator.signature):
        if name not in given and name in rerun.parameters and not _of_another_way(rerun, args, name):
            found.append(Place(name, ast.literal_eval(text), by(name)))
    flags = _FLAGS.findall(rerun.operator.signature) if _SCHEMA.search(rerun.operator.signature) else None

    def usable(one: Place) -> bool:
        # a call of another overload than the signature's has flags under other names
        is_flag = not isinstance(one.value, bool) or flags is None or one.name in flags
        return is_flag and one.name not in WHERE and _plain(one.value)

    return [one for one in found if usable(one)]


def _of_another_way(rerun: Rerunner, args: Sequence[Any], name: str) -> bool:
    """Whether a parameter belongs to another alternative of the signature than a call's.

    PyTorch says so itself, but where it takes a tensor of one whole number for the number: for `dim`, say, in the place
    of `other`.
    """
    if not any(_one_whole_number(value) for value in args):
        return False
    ways = [parameters_of(text) for text in rerun.operator.signature.split(";")]
    return not all(name in way for way in ways if len(way) >= len(args))


def _one_whole_number(value: Any) -> bool:
    import torch

    return isinstance(value, torch.Tensor) and not value.dim() and not value.is_floating_point()


def form(case: CaseJudge) -> tuple[str, ...]:
    """Return which arguments a call has, and as what; flags and words are what they are."""
    return (*map(_kind, case.args), *(f"{name}={_kind(one)}" for name, one in sorted(case.kwargs.items())))


def _kind(value: Any) -> str:
    if isinstance(value, bool | str):
        return repr(value)
    return str(getattr(value, "dtype", type(value).__name__))


def scalars_of(rerun: Rerunner) -> frozenset[str] | None:
    """Return the parameters that take numbers of any kind, as a schema has them; None where the signature is Python's.

    Where a schema says `float` or `int`, a wrapper is always given one.
    """
    signature = rerun.operator.signature
    return frozenset(_SCALARS.findall(signature)) if _SCHEMA.search(signature) else None


def optional(rerun: Rerunner, case: CaseJudge) -> list[str]:
    """Return the numbers that a call gives and could leave out, where another is given."""
    absent = {name for name, text in _DEFAULT.findall(rerun.operator.signature) if text == "None"}
    numbers = [one.name for one in places(rerun, case) if type(one.value) in (int, float)]
    return [name for name in numbers if name in absent] if len(numbers) > 1 else []


def takes_numbers(rerun: Rerunner, place: int) -> bool:
    """Whether a number may stand where a tensor does: what PyTorch's parser hands on to an overload of `Tensor other`.

    It does where the operator has another overload that takes one there.
    """
    import torch

    if scalars_of(rerun) is None:
        return True  # a public function: the reference says what it takes
    packet = getattr(torch.ops.aten, rerun.operator.name.partition(".")[0], None)
    if packet is None:
        return False
    own = _names(rerun, range(place + 1))[place]
    schemas = [getattr(packet, name)._schema.arguments for name in packet.overloads()]
    return any(len(one) > place and (one[place].name, str(one[place].type)) == (own, "number") for one in schemas)


def _names(rerun: Rerunner, args: Sequence[Any]) -> list[str]:
    known = parameters_of(rerun.operator.signature)
    return [*known, *[""] * len(args)][: len(args)]


def _plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and one == other


def _together(now: Any, before: Any, after: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Add to the arguments as they are `now` what a place has changed between `before` and `after`."""
    args = tuple(new if new is not old else own for own, old, new in zip(now[0], before[0], after[0], strict=True))
    changed = {name: value for name, value in after[1].items() if name not in before[1] or value is not before[1][name]}
    return args, {**now[1], **changed}
