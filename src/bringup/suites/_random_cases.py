"""Cases of the overloads that draw random numbers: calls with a seed, of which each number is a function.

What is compared are statements about a result (`CaseInputs.postprocess`), each True for a right one: the wording of a
statement, and what it says is wrong, is what a report shows. Imports torch.
"""

from __future__ import annotations

import functools
import hashlib
import math
import random
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from bringup.accuracy import copy_arguments
from bringup.suites._base import CaseInputs
from bringup.suites._opinfo_samples import seed_of
from bringup.suites._random_defined import Defined, defined, largest
from bringup.suites._random_listing import CASES, Random
from bringup.verdict import CaseId


class Chance(random.Random):
    """What lengths, and numbers among the arguments, are drawn with.

    The gate's own cases have numbers that a prompt can show. Where a seed is drawn, and in the audit, numbers are
    drawn, too: else a kernel might be right for those few.
    """

    plain = True

    def numbers(self, shown: Sequence[tuple[Any, ...]], draw: Callable[[], tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Return the numbers of cases that take turns, of which the default is one."""
        if self.plain:
            return list(shown)
        return [*(one for one in shown if not one), *(draw() for _ in range(DRAWN))]

    def long(self) -> int:
        """Return a length of the larger cases."""
        if self.plain:
            return MANY + self.randrange(1, 999)
        return int(2 ** self.uniform(math.log2(MANY), math.log2(MOST)))

    def medium(self) -> int:
        """Return a length between the small cases' and the larger ones'."""
        return int(self.power(6, math.log2(MANY)))

    def power(self, low: float, high: float) -> float:
        """Return a number of any magnitude between two powers of two."""
        return float(2.0 ** self.uniform(low, high))


MANY = 1 << 14  # numbers in the larger cases
MOST = 1 << 18  # in those of a drawn length
RANKS = 6  # dimensions at most, where these are drawn
DRAWN = 4  # sets of numbers that are drawn for an overload in one dtype
FARTHEST = 48  # elements before a window: beyond all remainders by which wrappers tell addresses apart
ALIKE = 0.3  # of the tensors have equal chances, or are what an activation gives
EXACT = 48.0  # binary logarithm of whole numbers that are looked at in double precision
GATE = "aten"  # the suite whose cases of seed 0 are published


@dataclass(frozen=True)
class Drawn:
    """One call."""

    args: tuple[Any, ...]
    out: torch.Tensor | None = None


def random_cases(one: Random, dtype: str, seed: int, salt: str) -> list[CaseInputs]:
    """Build the cases of an overload in one dtype; `salt` tells the cases of a gate from those of its audit."""
    packet, _, overload = one.name.partition(".")
    operator = getattr(getattr(torch.ops.aten, packet), overload or "default")
    made = []
    for index, drawn in enumerate(_calls(one.name, getattr(torch, dtype), seed, salt)):
        if seed or salt != GATE:
            drawn = _laid(drawn, Chance(f"{salt} {one.name} {dtype} {index} {seed} laid"))
        given = hashlib.sha256(f"{salt}\0{one.name}\0{dtype}\0{index}\0{seed}".encode()).digest()
        kwargs: dict[str, Any] = {"seed": int.from_bytes(given[:8], "big") >> 1}
        if drawn.out is not None:
            kwargs["out"] = drawn.out
        notes = {"public": one.public, "family": "random", "key": f"random/{index}", "seed": seed}
        if drawn.out is not None:
            notes["device_places"] = ()
        case = CaseId(operator=one.name, dtype=dtype, index=index, seed=seed)
        title = f"{one.public}: {_text(drawn.args)}"[:300]
        made.append(random_case(case, one.name, operator, drawn.args, kwargs, title, notes))
    assert len(made) == CASES, (one.name, dtype, len(made))
    return made


def random_case(
    case: CaseId, name: str, operator: Any, args: Sequence[Any], kwargs: Mapping[str, Any], title: str,
    notes: Mapping[str, Any] | None = None,
) -> CaseInputs:  # fmt: skip
    """Make a case of a call with a seed (`kwargs`): its reference, and what must hold of its results."""
    return CaseInputs(
        case=case,
        variant="",
        args=tuple(args),
        kwargs=dict(kwargs),
        reference=reference_of(name, operator),
        postprocess=_Statements(name, args, kwargs),
        postprocess_for=functools.partial(_Statements, name),
        notes={"random": True, **(notes or {})},
        title=title,
    )


def _laid(drawn: Drawn, chance: Chance) -> Drawn:
    """Have half of the tensors begin behind others' elements, as windows of a program's do, and end with the memory."""

    def laid(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or not value.is_contiguous() or chance.random() < 0.5:
            return value
        begin = chance.randrange(1, FARTHEST)
        memory = torch.zeros(begin + value.numel(), dtype=value.dtype)
        memory[begin:] = value.reshape(-1)
        return memory[begin:].view(value.shape)

    return Drawn(tuple(map(laid, drawn.args)), laid(drawn.out))


def _text(args: tuple[Any, ...]) -> str:
    return ", ".join(f"{list(a.shape)}" if isinstance(a, torch.Tensor) else str(a) for a in args)


def reference_of(name: str, operator: Any) -> Callable[..., Any]:
    """Return PyTorch's function with a seed in its generator's place, which draws the numbers that are defined.

    What PyTorch refuses it refuses. The program's generators stay as they are.
    """
    takes = any(argument.name == "generator" for argument in operator._schema.arguments)

    def reference(*args: Any, seed: int, **kwargs: Any) -> Any:
        right = defined(name, copy_arguments(args, {})[0], seed).right
        if takes:
            # A method warns in Python, an overload in the program's stderr: of bounds that a dtype does not hold.
            method = torch.Tensor.random_ if name.startswith("random_") else operator
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = method(*args, generator=torch.Generator(), **kwargs)
        else:
            state = torch.default_generator.get_state()
            try:
                result = operator(*args, **kwargs)
            finally:
                torch.default_generator.set_state(state)
        leaves = [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]
        for leaf, numbers in zip(leaves, right(), strict=True):
            leaf.copy_(numbers.reshape(leaf.shape))
        return result

    return reference


class _Statements:
    """What must hold of a call's results; made of its arguments once it is asked: a guard may still change them."""

    def __init__(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        self._name, self._args, self._seed = name, args, int(kwargs["seed"])

    def __call__(self, result: Any) -> dict[str, bool | str]:
        return self._defined.statements(result)

    @functools.cached_property
    def _defined(self) -> Defined:
        return defined(self._name, copy_arguments(self._args, {})[0], self._seed)


# ---------------------------------------------------------------------- calls


def _calls(name: str, dtype: torch.dtype, seed: int, salt: str) -> list[Drawn]:
    key = f"{salt} {name} {dtype}"
    generator = torch.Generator()
    generator.manual_seed(seed_of(seed, name, f"random.{salt}", str(dtype)))
    lengths = Chance(f"{key} {seed}")
    lengths.plain = not seed and salt == GATE
    return list(_BY_NAME[name](dtype, generator, lengths))


def _places(dtype: torch.dtype, lengths: Chance) -> Iterator[torch.Tensor]:
    """Yield eight tensors to be filled: nothing in them may show in the result."""
    yield _hostile((lengths.long(),) if lengths.plain else _folded(lengths.long(), lengths), dtype)
    yield _hostile((lengths.randrange(65, 90), 257) if lengths.plain else (lengths.medium(),), dtype)
    small = (lengths.randrange(2, 9), lengths.randrange(2, 9))
    yield _hostile(small if lengths.plain else _folded(math.prod(small), lengths), dtype)
    yield _hostile((), dtype)
    yield _hostile((0, 3), dtype)
    yield _hostile((129, lengths.randrange(128, 140)), dtype).t()
    yield _hostile((65, 2 * lengths.randrange(129, 150)), dtype)[:, ::2]
    yield _hostile((MANY + 3,), dtype)[3:]


def _folded(count: int, lengths: Chance) -> tuple[int, ...]:
    """A shape of about so many elements, of one to six dimensions."""
    shape: list[int] = []
    for _ in range(lengths.randrange(RANKS)):
        shape.append(lengths.randrange(1, 5))
    shape.append(max(1, count // math.prod(shape)))
    lengths.shuffle(shape)
    return tuple(shape)


def _hostile(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    if dtype.is_floating_point:
        return torch.full(shape, math.nan, dtype=dtype)
    return torch.full(shape, torch.iinfo(dtype).max, dtype=dtype)


def _filled(dtype: torch.dtype, lengths: Chance, numbers: Sequence[tuple[Any, ...]]) -> Iterator[Drawn]:
    """Yield ten calls that fill a tensor, with the given numbers in turns, the long ones with each."""
    places = list(_places(dtype, lengths))
    places += [_hostile((MANY,), dtype), _hostile((33, 513), dtype)]
    for turn, place in enumerate(places):
        given = numbers[turn % len(numbers)]
        yield Drawn((place, *given))


def _uniform(dtype: torch.dtype, generator: torch.Generator, lengths: Chance) -> Iterator[Drawn]:
    def draw() -> tuple[float, float]:
        low = lengths.choice((1, -1)) * lengths.power(-6, 6)
        ends = torch.tensor([low, low + lengths.power(-1, 5) * abs(low)]).to(dtype)  # that rounding keeps
        return float(ends[0]), float(ends[1])

    yield from _filled(dtype, lengths, lengths.numbers([(), (-2.0, 3.0), (0.0, 0.125)], draw))


def _normal(dtype: torch.dtype, generator: torch.Generator, lengths: Chance) -> Iterator[Drawn]:
    def draw() -> tuple[float, float]:
        std = lengths.power(-6, 4)
        return lengths.uniform(-4, 4) * std, std

    yield from _filled(dtype, lengths, lengths.numbers([(), (-1.0, 0.5), (0.0, 0.02)], draw))


def _exponential(dtype: torch.dtype, generator: torch.Generator, lengths: Chance) -> Iterator[Drawn]:
    numbers = lengths.numbers([(), (0.5,), (8.0,)], lambda: (lengths.power(-4, 5),))
    yield from _filled(dtype, lengths, numbers)


def _random(dtype: torch.dtype, generator: torch.Generator, lengths: Chance) -> Iterator[Drawn]:
    yield from _filled(dtype, lengths, [()])


def _beyond(most: float, dtype: torch.dtype, lengths: Chance) -> float:
    """The binary logarithm of the largest bound: sometimes beyond what a floating dtype holds exactly."""
    return most + 3 if dtype.is_floating_point and lengths.random() < ALIKE else most


def _random_to(dtype: torch.dtype, generator: torch.Generator, lengths: Chance) -> Iterator[Drawn]:
    most = min(math.log2(largest(dtype)), EXACT)

    def draw() -> tuple[int]:
        return (max(1, int(lengths.power(0, _beyond(most, dtype, lengths)))),)

    numbers = lengths.numbers([(5,), (200,), (1,)], draw)
    yield from _filled(dtype, lengths, numbers)


def _random_from(dtype: torch.dtype, generator: torch.Generator, lengths: Chance) -> Iterator[Drawn]:
    most = min(math.log2(largest(dtype)) - 1, EXACT)

    def draw() -> tuple[int, int]:
        signed = dtype.is_floating_point or torch.iinfo(dtype).min < 0
        ends = _beyond(most, dtype, lengths)
        low = (lengths.choice((1, -1)) if signed else 1) * int(lengths.power(0, ends))
        high = low + max(1, int(lengths.power(0, ends)))
        return low, high if dtype.is_floating_point else min(high, largest(dtype) - 1)

    yield from _filled(dtype, lengths, lengths.numbers([(-3, 4), (7, 107), (0, 2)], draw))


def _bernoulli(dtype: torch.dtype, generator: torch.Generator, lengths: Chance) -> Iterator[Drawn]:
    def draw() -> tuple[float]:
        p = lengths.choice((lengths.random(), lengths.power(-12, -1)))  # rare events, too
        return (lengths.choice((p, 1 - p)),)

    yield from _filled(dtype, lengths, lengths.numbers([(), (0.1,), (0.9,), (0.0,), (1.0,)], draw))


def _bernoulli_tensor(dtype: torch.dtype, generator: torch.Generator, lengths: Chance) -> Iterator[Drawn]:
    places = [*_places(dtype, lengths), _hostile((MANY,), dtype), _hostile((33, 513), dtype)]
    for turn, place in enumerate(places):
        p = (torch.rand(place.shape, generator=generator) ** (1 if lengths.plain else lengths.choice((1, 4)))).to(dtype)
        if not lengths.plain and lengths.random() < ALIKE:
            p = torch.full_like(p, lengths.random())
        if turn % 3 == 1:
            p = (p > 0.5).to(dtype)  # sure things
        elif turn % 3 == 2 and p.dim() == 2:
            p = p.t().contiguous().t()
        yield Drawn((place, p))


def _dropout(dtype: torch.dtype, generator: torch.Generator, lengths: Chance) -> Iterator[Drawn]:
    plans: list[tuple[float, bool | None]] = [
        (0.5, True), (0.1, True), (0.9, None), (0.5, True), (0.3, True), (0.2, True), (0.5, False), (0.75, True),
        (0.5, True), (0.25, True),
    ]  # fmt: skip
    if not lengths.plain:
        plans = [(lengths.uniform(0.02, 0.98), train) for _, train in plans]
    places = [*_places(dtype, lengths), _hostile((33, 513), dtype), _hostile((MANY,), dtype)]
    places[4] = _hostile((1, 1), dtype)  # PyTorch does not ask for an empty tensor's mask, nor with p of 0 or 1
    for place, (p, train) in zip(places, plans, strict=True):
        values = torch.randn(place.shape, generator=generator).to(dtype)
        if not lengths.plain and lengths.random() < ALIKE:
            values = values.relu()
        yield Drawn((place.copy_(values), p, train))


def _randperm(dtype: torch.dtype, generator: torch.Generator, lengths: Chance) -> Iterator[Drawn]:
    fixed = (MANY, lengths.randrange(1000, 5000), 0, 1, 2, 7, 127, 1025, lengths.randrange(257, 999), 4096)
    drawn = (int(lengths.power(1, 3.3)) + 1, int(lengths.power(1, 3.3)) + 1, int(lengths.power(7, 15)))
    for n in fixed if lengths.plain else (*fixed[:7], *drawn):
        yield Drawn((n,), out=_hostile((n,), dtype))


def _multinomial(dtype: torch.dtype, generator: torch.Generator, lengths: Chance) -> Iterator[Drawn]:
    plans = [
        ((8,), MANY, True), ((64, 10), 512, True), ((37,), 37, False), ((4096, 12), 1, False), ((2, 5), 3, False),
        ((1,), 1, False), ((300, 130), 64, False), ((5, 257), 900, True), ((4096, 6), 1, True), ((40, 33), 2, False),
    ]  # fmt: skip
    if not lengths.plain:
        plans[0] = ((lengths.randrange(2, 40),), lengths.randrange(MANY, 2 * MANY), True)
        plans[1] = ((lengths.randrange(8, 60), lengths.randrange(3, 40)), lengths.randrange(200, 700), True)
        plans[8] = ((lengths.randrange(999, 9999), lengths.randrange(2, 30)), 1, True)
    for shape, count, replacement in plans:
        weights = torch.rand(shape, generator=generator) + 0.1
        if not lengths.plain and lengths.random() < 0.5:  # few columns have most of the weight
            weights = torch.exp((4 if replacement else 1.5) * torch.randn(shape, generator=generator))
            weights = weights / weights.amax(-1, keepdim=True)
        if shape[-1] > 4 and (replacement or count < shape[-1] - 1):
            weights[..., lengths.randrange(shape[-1])] = 0
        if not lengths.plain and lengths.random() < 0.5:  # probabilities, as softmax gives them
            weights = weights / weights.sum(-1, keepdim=True)
        weights = weights.to(dtype)
        yield Drawn((weights, count, replacement))


_BY_NAME: dict[str, Callable[[torch.dtype, torch.Generator, Chance], Iterator[Drawn]]] = {
    "native_dropout": _dropout,
    "bernoulli_.float": _bernoulli,
    "bernoulli_.Tensor": _bernoulli_tensor,
    "uniform_": _uniform,
    "normal_": _normal,
    "exponential_": _exponential,
    "random_": _random,
    "random_.to": _random_to,
    "random_.from": _random_from,
    "randperm.generator_out": _randperm,
    "multinomial": _multinomial,
}
