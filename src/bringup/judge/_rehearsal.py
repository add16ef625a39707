"""Calls that nothing runs for: what guest and device are told of one, and where its arguments are said to lie."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch

from bringup.device import space
from bringup.device.transcript import digest
from bringup.judge import _circumstances, _codec
from bringup.judge._reply import RETURNS, ending, returned

SHARES = (0.6, 0.25, 0.15)  # of the calls lie behind the one before, where an earlier one lay, anywhere
FAR = 0.15  # of a witness's calls that count lie where no judged one does
FEW, RENEWED = 8, 0.02  # addresses that are given again, and how often one of them is exchanged
LARGE = (22.0, 24.0)  # binary logarithm of the elements of a tensor that is to be large
MOST_BYTES = 1 << 30  # of the arguments of a call whose sizes are drawn
USUAL = (32, 64, 128, 256, 512, 768, 1024, 2048, 4096, 8192)  # sizes of a call that is to be a program's
TRIES = 100  # to find a place that is free
SMALL = 5  # sizes of a call that is to be small are up to that
ALIGNED = 128  # bytes: who chooses a kernel by the alignment of an address must see the same one


class Wanted:
    """What a rehearsed call must ask for, and the answers to its reads with which it must."""

    def __init__(self, transcript: Sequence[str], answers: Sequence[str]) -> None:
        """`transcript`: lines, the last of which says how the call ends; `answers` in hexadecimal digits."""
        self.transcript, self.answers = tuple(transcript), tuple(answers)

    def __bool__(self) -> bool:
        """Whether anything is known."""
        return bool(self.transcript)

    @cached_property
    def digest(self) -> str:
        """Of the lines without the last one, as the device process has it."""
        return digest(self.transcript[:-1])

    @cached_property
    def _returned(self) -> Any:
        text = self.transcript[-1] if self.transcript else ""
        return json.loads(text.removeprefix(RETURNS)) if text.startswith(RETURNS) else None

    def told(self, lines: Sequence[str] | None, names: list[str], reply: dict[str, Any]) -> tuple[str, ...]:
        """Return the lines of a call: what it asked for (None: what it must), and how it ended."""
        asked = self.transcript[:-1] if lines is None else tuple(lines)
        same = "result" in reply and returned(reply, names) == self._returned
        whole = (*asked, self.transcript[-1] if same else ending(reply, names))
        return self.transcript if whole == self.transcript else whole


@dataclass(frozen=True)
class RehearsedCall:
    """A call that nothing runs for."""

    request: dict[str, Any]
    """The guest's for all calls of the case."""
    bases: Sequence[int]
    """Where the storages of its arguments are said to lie."""
    wanted: Wanted
    """What it must ask for."""
    sizes: Sequence[int]
    """Bytes of these storages, which may be more than in the request."""
    around: Mapping[str, Any] = field(default_factory=dict)
    """Its circumstances: `_circumstances`."""

    @property
    def words(self) -> str:
        """What is unusual about the call."""
        return _circumstances.words(self.around, larger=list(self.sizes) != self.request["sizes"])

    def to_guest(self) -> dict[str, Any]:
        """What the guest is asked: what it would be if the call were judged, and the circumstances if there are any."""
        around = {"around": dict(self.around)} if self.around else {}
        return {**self.request, "bases": list(self.bases), "sizes": list(self.sizes), **around}

    def plain(self, reply: dict[str, Any]) -> dict[str, Any]:
        """Return the answer as it would be in the usual circumstances: storages as large, no gradients."""
        if "storages" not in reply:
            return reply
        if self.sizes == self.request["sizes"] and "gradient" not in self.around:
            return reply
        storages = [list(one) for one in reply["storages"]]
        for one, size in zip(storages, self.request["sizes"], strict=False):
            one[1] = size
        trees = ("result", "after") if "gradient" in self.around else ()
        return {
            **reply, "storages": storages,
            **{name: _circumstances.without_gradients(reply.get(name)) for name in trees},
        }  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """What the device must know."""
        return {
            "bases": list(self.bases), "sizes": list(self.sizes), "answers": list(self.wanted.answers),
            "wanted": self.wanted.digest,
        }  # fmt: skip


class Places:
    """Where the storages of rehearsed calls are said to lie: drawn so that no call can be told by its addresses.

    Most lie behind the one before, as those of judged calls do; some where an earlier one lay, as memory that is freed
    comes again; some anywhere. An address keeps its remainder by `ALIGNED`.
    """

    def __init__(self, reached: int) -> None:
        """`reached`: up to where the inputs of judged calls lay in this guest."""
        self._next = reached
        self._old: dict[int, list[int]] = {}

    def drawn(self, sizes: Sequence[int], bases: Sequence[int], chance: random.Random) -> list[int]:
        """Return an address for each storage, 0 for empty ones; `bases`: where they lay in a judged call."""
        draw = chance.choices((self._behind, self._earlier, self._anywhere), SHARES)[0]
        return _placed(sizes, bases, chance, draw, self._behind)

    def first(self, sizes: Sequence[int]) -> list[int]:
        """Return where the storages of a guest's first call lie, judged or sealed."""
        found = laid_out(sizes)
        self._next = max([self._next, *(at + size for at, size in zip(found, sizes, strict=True))])
        return found

    def later(self, sizes: Sequence[int], bases: Sequence[int], chance: random.Random) -> list[int]:
        """As `drawn`, but where no first call lies: behind all others, as judged calls do, or far from them."""
        draw = self._anywhere if chance.random() < FAR else self._behind
        return _placed(sizes, bases, chance, draw, self._anywhere)

    def _behind(self, size: int, remainder: int, chance: random.Random) -> int:
        at = _aligned(self._next + space.GAP, remainder)
        if at + size + ALIGNED > space.END:
            at = space.MIDDLE + ALIGNED + remainder
        self._next = at + size
        known = self._old.setdefault(remainder, [])
        if len(known) < FEW:
            known.append(at)
        elif chance.random() < RENEWED:
            known[chance.randrange(FEW)] = at
        return at

    def _earlier(self, size: int, remainder: int, chance: random.Random) -> int:
        known = [at for at in self._old.get(remainder, ()) if at + size + ALIGNED < space.END]
        return chance.choice(known) if known else self._behind(size, remainder, chance)

    def _anywhere(self, size: int, remainder: int, chance: random.Random) -> int:
        steps = chance.randrange(1, max(2, (space.END - space.MIDDLE - size) // ALIGNED - 1))
        return space.MIDDLE + steps * ALIGNED + remainder


Draw = Callable[[int, int, random.Random], int]


def _placed(sizes: Sequence[int], bases: Sequence[int], chance: random.Random, draw: Draw, again: Draw) -> list[int]:
    """Draw a place for each storage, again where it would meet another; in a row where that finds none."""
    found, taken = [], list[tuple[int, int]]()
    for size, base in zip(sizes, bases, strict=True):
        at = draw(size, base % ALIGNED, chance) if size else 0
        tries = 0
        while size and any(at < end + ALIGNED and begin < at + size + ALIGNED for begin, end in taken):
            at, tries = again(size, base % ALIGNED, chance), tries + 1
            if tries > TRIES:
                return _in_a_row(sizes, bases)
        found.append(at)
        taken += [(at, at + size)] if size else []
    return found


def _in_a_row(sizes: Sequence[int], bases: Sequence[int]) -> list[int]:
    """One storage behind the other, from the beginning: what is as large as the range has no other place."""
    found, at = [], space.MIDDLE
    for size, base in zip(sizes, bases, strict=True):
        found.append(_aligned(at + space.GAP, base % ALIGNED) if size else 0)
        at = found[-1] + size if size else at
    return found if at < space.END else list(bases)


def laid_out(sizes: Sequence[int]) -> list[int]:
    """Return where storages of so many bytes lie in the first call of a guest's, judged or sealed; 0 for empty ones."""
    found, at = [], space.MIDDLE
    for size in sizes:
        found.append(space.after(at, 0) if size else 0)
        at = found[-1] + size if size else at
    return found


def _aligned(at: int, remainder: int) -> int:
    return at + (remainder - at) % ALIGNED


def without_a_tensor(request: dict[str, Any]) -> dict[str, Any] | None:
    """Return a request that PyTorch refuses: the first tensor among the positional arguments is a text instead."""
    args = request["args"]["tuple"]
    places = [place for place, value in enumerate(args) if isinstance(value, dict) and "t" in value]
    if not places:
        return None
    changed = ["no tensor" if place == places[0] else value for place, value in enumerate(args)]
    return {**request, "args": {"tuple": changed}}


def of_other_sizes(request: dict[str, Any], chance: random.Random, *, large: bool = False) -> dict[str, Any] | None:
    """Return a request with one of the sizes exchanged for another one, wherever it stands; None where there is none.

    Nobody asks whether PyTorch takes it: what is asked for follows from it either way. Sizes are such that a kernel
    made for the old one will do: between the same powers of two, and a multiple of 16 where the old one is. `large`:
    such that the tensors that have it are of some MiB instead.
    """
    told = _codec.descriptions([request["args"], request["kwargs"]])
    sizes = sorted({size for one in told for size in one["shape"] if size > 1})
    if not sizes or len({one["t"] for one in told}) < len(told):
        return None
    old = chance.choice(sizes)
    top = 1 << (old - 1).bit_length()
    near = [n for n in range(top // 2 + 1, top + 1) if n != old and (n % 16 == 0) == (old % 16 == 0)]
    if not near and not large:
        return None
    if large:
        shape = max((one["shape"] for one in told if old in one["shape"]), key=math.prod)
        elements = 2 ** chance.uniform(*LARGE)
        grown = elements * old ** shape.count(old) / max(1, math.prod(shape))
        new = max(2, int(grown ** (1 / shape.count(old))))
    else:
        new = chance.choice(near)
    return _resized(request, {old: new})


def of_small_sizes(request: dict[str, Any], chance: random.Random) -> dict[str, Any] | None:
    """Return a request with all sizes exchanged for small ones, as `of_other_sizes` does with one of them."""
    return _of_sizes(request, lambda: chance.randint(2, SMALL))


def of_usual_sizes(request: dict[str, Any], chance: random.Random) -> dict[str, Any] | None:
    """Return a request with all sizes exchanged for such as programs have, as `of_other_sizes` does with one."""
    return _of_sizes(request, lambda: chance.choice(USUAL))


def _of_sizes(request: dict[str, Any], size: Callable[[], int]) -> dict[str, Any] | None:
    told = _codec.descriptions([request["args"], request["kwargs"]])
    sizes = sorted({size for one in told for size in one["shape"] if size > 1})
    if not sizes or len({one["t"] for one in told}) < len(told):
        return None
    return _resized(request, {old: size() for old in sizes})


def _resized(request: dict[str, Any], new: Mapping[int, int]) -> dict[str, Any] | None:
    """Return a request with other sizes, by the old ones; its tensors are dense. None where that takes much memory."""
    storages = list(request["sizes"])

    def changed(value: Any) -> Any:
        if isinstance(value, list):
            return [changed(item) for item in value]
        if not isinstance(value, dict):
            return value
        if "t" not in value:
            return {key: changed(item) if key in ("tuple", "dict") else item for key, item in value.items()}
        shape = [new.get(size, size) for size in value["shape"]]
        strides, reach = list(value["stride"]), 1
        for dim in sorted(range(len(shape)), key=lambda dim: (value["stride"][dim], -dim)):
            if value["stride"][dim]:
                strides[dim], reach = reach, reach * shape[dim]
        storages[value["t"]] = reach * getattr(torch, value["dtype"]).itemsize if all(shape) else 0
        return {**value, "shape": shape, "stride": strides, "offset": 0}

    found = {**request, "args": changed(request["args"]), "kwargs": changed(request["kwargs"]), "sizes": storages}
    return found if sum(storages) <= MOST_BYTES else None
