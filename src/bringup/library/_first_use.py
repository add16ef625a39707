"""First calls of each kind are compared with PyTorch's, while the program waits: what nobody judged is judged in use.

A judge asks for thousands of calls, and a program makes others: of sizes that no case has, say. A kernel that is wrong
there alone cannot be told from a right one by any number of cases. Here it can: before a program gets the first result
of a kind of call (sizes, strides, dtypes, classes of numbers), the CPU's kernel computes it, too, and the judge's own
tables say whether the two are the same. Others of a kind are compared again, since other values may be wrong: less and
less often, and which is drawn, so that no count of calls tells.
"""

from __future__ import annotations

import functools
import random
import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from bringup.device.reach import reaches_beyond
from bringup.library._call import signature, tensors_in
from bringup.library._hosted import LEAST_BYTES, SHARE, hosted, on_host, parts
from bringup.library.errors import WrongResult
from bringup.library.schemas import WRITES_UNSAID, Schema, operator

ALIGNED = 128  # bytes: what an address is told apart by, as where kernels are sealed
KINDS = 1 << 16  # that are remembered of a kernel
NUMBERS = 8  # of which each is compared once, where calls of a kind differ in their numbers
UNKNOWN = "for overloads of which nothing says what is right"
LARGE = f"of more than {LEAST_BYTES >> 20} MiB and {SHARE:.0%} of the free memory"
RANDOM = "for random numbers"
MEANWHILE = "whose arguments something else has written meanwhile"
REFUSED = "which the CPU's kernel refuses"
TRAPS = "of which the CPU's kernel may end the process"
OUTSIDE = re.compile(r"^.*\bout of (?:bounds|range)\b.*$", re.MULTILINE)
"""What PyTorch says of indices that name nothing: no kernel is asked to look at them, and no result is right."""
SLOW = "which took the CPU too long"
SECONDS = 60.0  # for the reference and what it may be off by: series take as many steps as an argument says
SELDOM = 50  # calls of a kind, on average, of which one is compared at least

Compute = Callable[[], Any]


class FirstUses:
    """What is compared of one enabled library's calls."""

    def __init__(self, target: str, *, sealed: bool) -> None:
        """`target`: whose arithmetic counts (subnormals, float64); `sealed`: kernels keep what they only read."""
        self._named, self._sealed = target, sealed
        self.compared = 0
        """How many calls were."""
        self.left_out: Counter[str] = Counter()
        """How many were not, by why."""

    def of(self, schema: Schema) -> FirstUse:
        """What watches over the kernel of an overload."""
        return FirstUse(self, schema)

    def made(
        self, schema: Schema, values: Sequence[Any], compute: Compute, seed: int | None = None
    ) -> tuple[Any, bool]:
        """Make a call; return its result, and whether the next of the kind need not be compared for this one's sake.

        Raises WrongResult where it is none. `seed`: what the wrapper gets.
        """
        args, kwargs = _copied(schema, values)
        if args is None:
            self.left_out[LARGE] += 1
            return compute(), True
        from bringup.judge import in_use

        try:
            call = _apart(lambda: self._call(schema, args, kwargs, seed))
        except in_use.Trapped:
            self.left_out[TRAPS] += 1
            return compute(), False
        result = compute()
        if call is None:
            self.left_out[RANDOM if schema.random else UNKNOWN] += 1
            return result, True
        made = result
        if made is None:  # a kept call: its results are in its arguments
            outs = [value for value, p in zip(values, schema.parameters, strict=True) if p.written and p.keyword_only]
            made = outs[0] if len(outs) == 1 else tuple(outs) or None
        # Of both: a result that shares memory with an argument shows.
        storages = parts([*values, made], whole=reaches_beyond(schema.name))
        after = _split(schema, [on_host(value, storages) for value in values])
        told = on_host(made, storages)
        unasked = _unasked(schema, values)
        try:
            difference = _apart(lambda: call.difference(told, *after, unasked), SECONDS)
        except TimeoutError:
            self.left_out[SLOW] += 1
            return result, True
        except in_use.Refused as refused:
            error = refused.by  # whatever PyTorch's own kernel raises of what this one has taken
            if type(error) in (IndexError, RuntimeError) and (found := OUTSIDE.search(str(error))):
                raise type(error)(f"{found[0]}; the kernel takes it, PyTorch's own for the CPU refuses it") from None
            self.left_out[REFUSED] += 1
            return result, False
        if difference and self._sealed and not _same(_read(schema, args, kwargs), _read(schema, *after)):
            self.left_out[MEANWHILE] += 1  # no sealed call can have done that
            return result, False
        self.compared += 1
        if difference:
            raise WrongResult(f"its result is not PyTorch's: {difference}")
        return result, True

    def _call(self, schema: Schema, args: Any, kwargs: Any, seed: int | None) -> Any:
        from bringup.judge import in_use

        return in_use.call_of(schema.name, operator(schema.name), args, kwargs, self._target, seed)

    @functools.cached_property
    def _target(self) -> Any:
        from bringup.targets import get_target

        return get_target(self._named) if self._named.startswith("vpe") else None


class FirstUse:
    """Counts the calls of one kernel by their kind."""

    def __init__(self, owner: FirstUses, schema: Schema) -> None:
        self._owner, self._schema = owner, schema
        self._exact = not schema.tensors
        self._uses: Counter[Any] = Counter()
        self._next: dict[Any, int] = {}  # which call of a kind is compared next
        self._chance = random.Random()
        self._numbers: dict[Any, set[Any]] = {}

    def __call__(self, values: Sequence[Any], compute: Compute, seed: int | None = None) -> Any:
        """Make a call: `compute` calls the kernel, with this seed if it draws.

        Raises WrongResult, and what that raises.
        """
        kind = signature(values, self._exact), _places(values)
        if len(self._uses) >= KINDS:
            self._uses.clear()
            self._next.clear()
            self._numbers.clear()
        self._uses[kind] += 1
        uses = self._uses[kind]
        numbers = tuple([value.hex() for value in values if type(value) is float])  # -0.0 is another one than 0.0
        known = self._numbers.setdefault(kind, set())
        new = bool(numbers) and len(known) < NUMBERS and numbers not in known
        if new or uses >= self._next.get(kind, 1):
            # What comes next is decided once it is done: until then other threads' calls are compared as well. Where
            # nothing was compared, or it was wrong, who goes on all the same is told again.
            result, done = self._owner.made(self._schema, values, compute, seed)
            if done:
                self._next[kind] = uses + 1 + int(self._chance.uniform(0, 2) * min(uses, SELDOM))
                if new:
                    known.add(numbers)
            else:
                self._next[kind] = uses + 1
            return result
        return compute()


def _unasked(schema: Schema, values: Sequence[Any]) -> frozenset[int]:
    """Places of results that nobody asks a gradient formula for: PyTorch's CPU kernels give some all the same."""
    masks = [value for value, p in zip(values, schema.parameters, strict=True) if p.name == "output_mask"]
    return frozenset(place for mask in masks for place, asked in enumerate(mask) if not asked)


def _apart(function: Callable[[], Any], seconds: float | None = None) -> Any:
    """Call a function where no mode of the program's is in force: its own device, gradients, hooks of functions.

    Raises TimeoutError where that takes longer; it goes on then, beside the program.
    """
    found: list[Any] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            with torch.no_grad():
                found.append(function())
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, name="bringup-first-use", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise TimeoutError
    if raised:
        raise raised[0]
    return found[0]


def _places(values: Sequence[Any]) -> tuple[Any, ...]:
    """Which arguments share memory, how far apart they begin in it, and where below `ALIGNED` bytes."""
    first: dict[int, tuple[int, int]] = {}
    found = []
    for tensor in tensors_in(values):
        if tensor.layout is torch.strided:
            begin = tensor.storage_offset() * tensor.element_size()
            number, base = first.setdefault(tensor.untyped_storage()._cdata, (len(first), begin))
            found.append((number, begin - base, begin % ALIGNED))
    return tuple(found)


def _copied(schema: Schema, values: Sequence[Any]) -> tuple[Any, Any]:
    """Positional and keyword arguments of a call with copies of their tensors on the host; None for much memory."""
    copies = hosted(values, whole=reaches_beyond(schema.name))
    return (None, None) if copies is None else _split(schema, copies)


def _read(schema: Schema, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[torch.Tensor]:
    """The tensors of a call that it only reads, none of whose memory it may write."""
    given = dict(zip((p.name for p in schema.parameters if not p.keyword_only), args, strict=False)) | dict(kwargs)
    unsaid = WRITES_UNSAID.get(schema.name.partition(".")[0], frozenset())
    of: dict[bool, list[Any]] = {False: [], True: []}
    for p in schema.parameters:
        if p.name in given:
            of[p.written or p.name in unsaid].append(given[p.name])
    written = {tensor.untyped_storage()._cdata for tensor in tensors_in(of[True]) if tensor.layout is torch.strided}
    read = [tensor for tensor in tensors_in(of[False]) if tensor.layout is torch.strided and not tensor.is_quantized]
    return [tensor for tensor in read if tensor.untyped_storage()._cdata not in written]


def _same(before: Sequence[torch.Tensor], after: Sequence[torch.Tensor]) -> bool:
    """Whether tensors have the same bytes."""
    return all(torch.equal(_flat(one), _flat(other)) for one, other in zip(before, after, strict=True))


def _flat(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.resolve_conj().resolve_neg().contiguous().reshape(-1).view(torch.uint8)


def _split(schema: Schema, values: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
    """Positional and keyword arguments of completed ones."""
    named = list(zip(schema.parameters, values, strict=True))
    args = [value for parameter, value in named if not parameter.keyword_only]
    kwargs = {parameter.name: value for parameter, value in named if parameter.keyword_only}
    kwargs.pop("generator", None)
    return args, kwargs
