"""Calls of an overload in dtypes that OpInfo's samples do not give it: one of its own calls with tensors cast.

PyTorch's compositions ask a device for more dtypes than the samples have: a decomposition compares int64 positions, a
mask is combined as bool. What the CPU's kernel takes, the gate asks for. Imports torch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.utils import _pytree as pytree

from bringup.accuracy import copy_arguments
from bringup.suites._aten import MOVERS
from bringup.suites._aten_cases import case_of_call, recorded
from bringup.suites._aten_facts import Overload, Recipe
from bringup.suites._aten_parents import Parent, doubles
from bringup.suites._aten_record import Recorded
from bringup.suites._base import CaseInputs
from bringup.verdict import CaseId

FAMILY = "dtypes"
DTYPES = ("float32", "bfloat16", "float16", "int32", "int64", "bool", "uint8", "int8", "int16")
WIDE = "float64"  # of what only moves bytes, which any chip can, and of what PyTorch's own functions ask for in it
FLOATS, INTEGERS = (*DTYPES[:3], WIDE), ("int64", "int32")
MOST = 1 << 16  # elements of a case
EACH = 3  # cases of an argument in a dtype, at most
ALIKE, ALONE = "alike", "alone"  # what is cast with an argument: all tensors of its dtype, or nothing
NAMED = "named"  # cast are the results alone, and what names their dtype: `sum(x, dtype=torch.float64)`

Sound = Callable[[CaseInputs], bool]


@dataclass(frozen=True)
class Own:
    """A call of the overload's own cases: where it stands in the survey, and the call."""

    source: str  # dtype of the case
    index: int
    call: Recorded

    def key(self, parameter: str, dtype: str, what: str) -> str:
        """Return the key of the case in which an argument of this call is cast."""
        return f"{FAMILY}/{self.source}/{self.index}/{parameter}/{dtype}/{what}"


def cases_by_key(
    facts: Overload, parent: Parent, dtype: str, seed: int, keys: Iterable[str], sound: Sound
) -> dict[str, CaseInputs]:
    """Build the cases with these keys, in the gate's `dtype` under `seed`.

    Those that do not come about, that PyTorch refuses or that are not sound are left out.
    """
    wanted: dict[str, list[tuple[str, Recipe, list[str]]]] = {}
    for key in keys:
        _, source, index, *how = key.split("/")
        recipes = facts.cases.get(source, ())
        if int(index) < len(recipes):
            wanted.setdefault(source, []).append((key, recipes[int(index)], how))
    found: dict[str, CaseInputs] = {}
    for source, entries in wanted.items():
        calls = recorded(facts.name, [recipe for _, recipe, _ in entries], source, seed)
        for key, recipe, how in entries:
            identity = CaseId(operator=facts.name, dtype=dtype, index=0, seed=seed)
            made = _case(identity, facts, parent, recipe, calls[recipe], how) if recipe in calls else None
            if made is not None and sound(made):
                notes = {**made.notes, "family": FAMILY, "key": key, "seed": seed}
                found[key] = replace(made, title=f"{FAMILY}: {made.title}"[:300], notes=notes)
    return found


def dtypes_wanted(facts: Overload, parent: Parent, seed: int, sound: Sound) -> dict[str, list[str]]:
    """Choose the keys, by the gate's dtype, that give each argument every dtype that it takes on the CPU.

    Only dtypes that no own case gives it, and of outputs only those of calls without other tensors. Up to three calls
    of a dtype: one with many elements, one with a strided tensor, one that is called otherwise.
    """
    own = [
        Own(source, index, found[recipe])
        for source, recipes in facts.cases.items()
        for found in (recorded(facts.name, recipes, source, seed),)
        for index, recipe in enumerate(recipes)
        if recipe in found
    ]
    chosen: dict[str, list[str]] = {}
    known: dict[str, set[str]] = {}
    wide = facts.name in doubles() or (parent.same and parent.public in MOVERS)
    dtypes = (*DTYPES, WIDE) if wide else DTYPES
    for parameter in _parameters(facts):
        for one in own:
            known.setdefault(parameter, set()).update(filter(None, [_dtype_of(facts, one.call, parameter)]))
    for parameter, its in known.items():
        before = set(its)
        for dtype in dtypes:
            sources = _sources(facts, dtype, before) if dtype not in its else []
            # The largest of all calls; where none of them can be cast, those of one dtype.
            for olds in (sources, *([old] for old in sources)):
                fitting = [one for old in olds for one in own if _dtype_of(facts, one.call, parameter) == old]
                if dtype == WIDE and facts.name not in doubles():
                    fitting = [one for one in fitting if _moves(facts, one.call, parameter)]
                calls = _spread(fitting)
                keys = _sound_keys(facts, parent, seed, calls, parameter, dtype, sound)
                for one, key, gate in keys:
                    chosen.setdefault(gate, []).append(key)
                    old = _dtype_of(facts, one.call, parameter)
                    alike = [other for other in known if _dtype_of(facts, one.call, other) == old]
                    for other in alike if key.endswith(ALIKE) else [parameter]:
                        known[other].add(dtype)
                if keys:
                    break
    if facts.name in doubles():
        naming = _spread([one for one in own if one.call.kwargs.get("dtype") is torch.float32])
        named = _sound_keys(facts, parent, seed, naming, "dtype", WIDE, sound)
        for _, key, gate in named:
            chosen.setdefault(gate, []).append(key)
    return chosen


def _sound_keys(
    facts: Overload, parent: Parent, seed: int, calls: Sequence[Own], parameter: str, dtype: str, sound: Sound
) -> list[tuple[Own, str, str]]:
    """Return (call, key, the gate's dtype) for the calls in which an argument can be cast to a dtype."""
    found = []
    # A dtype of its own makes sense for indices; what mixtures of values give is asked by the family `promotion`.
    for one in calls:
        old = _dtype_of(facts, one.call, parameter)
        ways = (ALIKE, ALONE) if old in INTEGERS and dtype in INTEGERS else (ALIKE,) if old else (NAMED,)
        for what in ways:
            key = one.key(parameter, dtype, what)
            recipe = facts.cases[one.source][one.index]
            identity = CaseId(operator=facts.name, dtype=dtype, index=0, seed=seed)
            made = _case(identity, facts, parent, recipe, one.call, [parameter, dtype, what])
            if made is None or not _makes_elements(made):
                continue
            # What computes with floating-point numbers stays a case of their dtype: only indices were cast.
            read = [value for name, value in made.kwargs.items() if name not in facts.writes]
            floats = dtype not in FLOATS and any(tensor.is_floating_point() for tensor in _tensors(made.args, read))
            gate = one.source if floats and old in INTEGERS else dtype
            if cases_by_key(facts, parent, gate, seed, [key], sound):
                found.append((one, key, gate))
                break
    return found


def _parameters(facts: Overload) -> Iterator[str]:
    """Yield the parameters whose dtypes callers choose: inputs; where there are none, outputs."""
    inputs = [*facts.positional, *(name for name in facts.keywords if name not in facts.writes)]
    yield from inputs
    if "Tensor" not in facts.schema_text.partition("->")[0].replace("Tensor(", "") and facts.writes:
        yield from (name for name in facts.writes if name not in inputs)


def _sources(facts: Overload, dtype: str, known: Collection[str]) -> list[str]:
    """Return the dtypes that are cast to `dtype`, those of its kind first. A mask stays one, gradients are floats."""
    if not facts.forward and dtype not in FLOATS:
        return [other for other in INTEGERS if other in known and dtype in INTEGERS]
    order = (*FLOATS, *INTEGERS) if dtype in FLOATS else (*INTEGERS, *FLOATS)
    return [other for other in order if other in known]


def _spread(calls: Sequence[Own]) -> list[Own]:
    """Choose calls: the largest, the first with a strided tensor, the first that is called otherwise than these."""
    fitting = [one for one in calls if 0 < _elements(one.call) <= MOST]
    if not fitting:  # what comes empty may be sized by the call
        return list(calls[:: max(1, len(calls) // EACH)][:EACH])
    chosen = [max(range(len(fitting)), key=lambda place: _elements(fitting[place].call))]
    chosen += [place for place, one in enumerate(fitting) if place not in chosen and _strided(one)][:1]
    forms = {_form(fitting[place].call) for place in chosen}
    chosen += [place for place, one in enumerate(fitting) if _form(one.call) not in forms][: EACH - len(chosen)]
    return [fitting[place] for place in sorted(chosen)]


def _makes_elements(case: CaseInputs) -> bool:
    """Whether a call gives a tensor with elements: only these show that a kernel takes a dtype."""
    try:
        with torch.no_grad():
            args, kwargs = copy_arguments(case.args, dict(case.kwargs))
            return any(tensor.numel() for tensor in _tensors(case.reference(*args, **kwargs)))
    except Exception:  # whatever PyTorch raises of a dtype that it does not take
        return False


def _strided(one: Own) -> bool:
    return not all(tensor.is_contiguous() for tensor in _tensors(one.call.args, one.call.kwargs))


def _form(call: Recorded) -> tuple[Any, ...]:
    return len(call.args), tuple(sorted(call.kwargs)), tuple(t.dim() for t in _tensors(call.args, call.kwargs))


def _tensors(*values: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(values) if isinstance(leaf, torch.Tensor)]


def _elements(call: Recorded) -> int:
    return sum(tensor.numel() for tensor in _tensors(call.args, call.kwargs))


def _value_of(facts: Overload, call: Recorded, parameter: str) -> Any:
    if parameter in call.kwargs:
        return call.kwargs[parameter]
    place = facts.positional.index(parameter) if parameter in facts.positional else len(call.args)
    return call.args[place] if place < len(call.args) else None


def _dtype_of(facts: Overload, call: Recorded, parameter: str) -> str:
    """Return the dtype of an argument of a call; "" where it has no tensors, or tensors of several dtypes."""
    dtypes = {str(tensor.dtype).removeprefix("torch.") for tensor in _tensors(_value_of(facts, call, parameter))}
    return dtypes.pop() if len(dtypes) == 1 else ""


def _case(
    identity: CaseId, facts: Overload, parent: Parent, recipe: Recipe, call: Recorded, how: Sequence[str]
) -> CaseInputs | None:
    parameter, dtype, what = how
    if what == NAMED:
        results = _tensors([call.kwargs[name] for name in facts.writes if name in call.kwargs])
        old = str(call.kwargs[parameter]).removeprefix("torch.")
        call = retyped(call, getattr(torch, old), getattr(torch, dtype), results)
        call = replace(call, kwargs={**call.kwargs, parameter: getattr(torch, dtype)})
    else:
        old = _dtype_of(facts, call, parameter)
        if not old or old == dtype:
            return None
        alone = _tensors(_value_of(facts, call, parameter)) if what == ALONE else None
        call = retyped(call, getattr(torch, old), getattr(torch, dtype), alone)
    try:
        if dtype == WIDE and facts.name not in doubles() and not moves_bytes(call):
            return None
        return case_of_call(identity, facts, parent, recipe, call)
    except Exception:  # whatever PyTorch raises of a dtype that it does not take
        return None


def _moves(facts: Overload, call: Recorded, parameter: str) -> bool:
    """Whether a call with an argument, and all of its dtype, in float64 only moves bytes."""
    try:
        return moves_bytes(retyped(call, getattr(torch, _dtype_of(facts, call, parameter)), torch.float64))
    except Exception:  # whatever PyTorch raises of a dtype that it does not take
        return False


def moves_bytes(call: Recorded) -> bool:
    """Whether a call does the same to bytes of float64 numbers as to the integers with these bits; numbers likewise.

    Adding to zeros looks like moving: other values are tried, too. Raises what PyTorch raises.
    """

    def bits(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value.view(torch.int64) if value.dtype is torch.float64 else value
        return torch.int64 if value is torch.float64 else value

    def number(value: Any) -> Any:
        return int(torch.tensor(float(value), dtype=torch.float64).view(torch.int64))

    def result(args: Any, kwargs: Any) -> list[torch.Tensor]:
        with torch.no_grad():
            args, kwargs = copy_arguments(args, dict(kwargs))
            found = call.operator(*args, **kwargs)
        return _tensors(found, args, kwargs)

    def raised(value: Any) -> Any:
        return value + 1.5 if isinstance(value, torch.Tensor) and value.dtype is torch.float64 else value

    schema = call.operator._schema.arguments
    numbers = {argument.name for argument in schema if str(argument.type) == "number"}
    for given in ((call.args, dict(call.kwargs)), pytree.tree_map(raised, (call.args, dict(call.kwargs)))):
        args, kwargs = pytree.tree_map(bits, given)
        args = [number(v) if a.name in numbers else v for v, a in zip(args, schema, strict=False)]
        kwargs = {name: number(v) if name in numbers else v for name, v in kwargs.items()}
        ours, theirs = result(args, kwargs), [bits(tensor) for tensor in result(*given)]
        if len(ours) != len(theirs) or not all(map(torch.equal, ours, theirs)):
            return False
    return True


def retyped(
    call: Recorded, old: torch.dtype, new: torch.dtype, alone: Sequence[torch.Tensor] | None = None
) -> Recorded:
    """Return a call with all tensors of dtype `old`, and arguments that name it, in `new`; or the tensors `alone`.

    Shapes, strides, offsets and shared memory stay; values are cast so that they have a meaning in `new`.
    """
    only = None if alone is None else {id(tensor) for tensor in alone}
    storages: dict[int, torch.Tensor] = {}

    def one(value: Any) -> Any:
        if isinstance(value, torch.dtype) and value is old and only is None:
            return new
        if not isinstance(value, torch.Tensor) or value.dtype is not old:
            return value
        if only is not None and id(value) not in only:
            return value
        storage = value.untyped_storage()
        if storage._cdata not in storages:
            count = storage.nbytes() // value.element_size()
            storages[storage._cdata] = cast(value.as_strided((count,), (1,), 0), new)
        return storages[storage._cdata].as_strided(value.size(), value.stride(), value.storage_offset())

    args, kwargs = pytree.tree_map(one, (call.args, dict(call.kwargs)))
    return replace(call, args=args, kwargs=kwargs)


def cast(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return values of the same kind in another dtype: True where positive, no negative numbers without a sign."""
    if dtype is torch.bool:
        return tensor > 0
    if not dtype.is_floating_point and tensor.is_floating_point():
        limits = torch.iinfo(torch.int32)
        tensor = tensor.double().round().nan_to_num(0.0).clamp(limits.min, limits.max).long()
    if not dtype.is_signed:
        tensor = tensor.abs()
    return tensor.to(dtype)
