"""From what a text leaves open to the choices that make sense on a target."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from bringup.candidate import FormatProblem, digest, parse_source
from bringup.search.parameters._find import KEPT, NATIVE, SWAPPED, WIDENED, Found, find
from bringup.search.parameters._text import ModuleText
from bringup.search.parameters.space import DEFAULT, Choice, Freedom, Parameter, Space, Value

_SMALLEST = 16  # elements of a block that is not one of rows
_REACH = 16  # how far a block's size may go from where it is, as a factor
_MOST_ROWS = 128
_GROUPS = (1, 2, 4, 8, 16, 4096)  # rows of tiles that are visited column by column; the last one: all of them
_FEWEST_PROGRAMS = 64


def space(source: str, freedom: Freedom | None = None) -> Space:
    """Return what `source` leaves open within `freedom`; ValueError when it is not Python."""
    room = freedom if freedom is not None else Freedom()
    parameters = []
    for found in _found(source)[1]:
        choices = _choices(found, room)
        if len(choices) > 1:
            parameters.append(
                Parameter(
                    name=found.name,
                    kind=found.kind,
                    function=found.function,
                    line=found.line,
                    choices=choices,
                    present=found.present,
                )
            )
    return Space(source=digest(source), parameters=tuple(parameters))


def apply(source: str, choice: Choice | Mapping[str, Value]) -> str:
    """Return `source` with a choice written into it and everything else as it is.

    Raises ValueError for a parameter that the source does not have, or a value that is none of its kind.
    """
    values = choice.values if isinstance(choice, Choice) else dict(choice)
    known = {found.name: found for found in _found(source)[1]}
    for name, value in values.items():
        if name not in known:
            raise ValueError(f"no parameter {name} in this source; it has {', '.join(known) or 'none'}")
        if value != known[name].present and not _fits(known[name], value):
            raise ValueError(f"{name}: {value!r} is no value of a parameter of the kind {known[name].kind}")
    # Swapping the axes of a grid moves text that may hold other parameters: it comes last.
    swaps = {name: value for name, value in values.items() if known[name].kind == "axes"}
    changed = _written(source, {name: value for name, value in values.items() if name not in swaps})
    return _written(changed, swaps)


@functools.lru_cache(maxsize=8)  # a search writes one choice after the other into the same text
def _found(source: str) -> tuple[ModuleText, tuple[Found, ...]]:
    module = ModuleText(source)
    return module, tuple(find(module))


def _written(source: str, values: Mapping[str, Value]) -> str:
    if not values:
        return source
    module, parameters = _found(source)
    changed = module.apply(
        edit
        for found in parameters
        if found.name in values and values[found.name] != found.present
        for edit in found.edits(values[found.name])
    )
    if isinstance(problem := parse_source(changed), FormatProblem):  # still Python
        raise ValueError(problem.explanation)
    return changed


def _fits(found: Found, value: Value) -> bool:
    if found.kind == "operands":
        return value == NATIVE
    if found.kind == "axes":
        return value == SWAPPED
    if found.kind == "input_precision":
        return isinstance(value, str) and value.isidentifier() and value != DEFAULT
    whole = isinstance(value, int) and not isinstance(value, bool) and value > 0
    return whole and (found.kind != "block" or int(value) & (int(value) - 1) == 0)


def _choices(found: Found, room: Freedom) -> tuple[Value, ...]:
    match found.kind:
        case "block":
            return _blocks(found, room)
        case "programs":
            return _programs(int(found.present), room)
        case "num_warps":
            return _options(found.present, room.num_warps, room.warps)
        case "num_stages":
            return _options(found.present, room.num_stages, room.stages)
        case "input_precision":
            return (found.present, *(one for one in room.precisions if one != found.present))
        case "operands":
            return (WIDENED, NATIVE)
        case "axes":
            return (KEPT, SWAPPED)
        case "order":
            return _GROUPS


def _blocks(found: Found, room: Freedom) -> tuple[Value, ...]:
    present = int(found.present)
    if present < _SMALLEST:  # rows of a block, or lines of a program
        low, high = 1, _MOST_ROWS
    else:
        low, high = max(_SMALLEST, present // _REACH), present * _REACH
    if found.dot:
        low, high = max(low, room.dot), 256
    sizes = {1 << power for power in range(31) if low <= 1 << power <= min(high, room.block)}
    return tuple(sorted({*sizes, present}))


def _programs(present: int, room: Freedom) -> tuple[Value, ...]:
    found = {1 << power for power in range(31) if _FEWEST_PROGRAMS <= 1 << power <= room.programs}
    if room.processors:
        found = {room.processors * times for times in (1, 2, 4, 8, 16, 32) if room.processors * times <= room.programs}
        found |= {1 << power for power in range(12, 17) if 1 << power <= room.programs}
    return tuple(sorted({*found, present}))


def _options(present: Value, choices: tuple[int, ...], default: int) -> tuple[Value, ...]:
    """Put the compiler's own choice where its number stands, so that neighbours are alike."""
    if not choices:
        return (present,)
    if isinstance(present, int):
        return tuple(sorted({*choices, present}))
    if present != DEFAULT:
        return (present, *choices)  # an expression of the source
    return tuple(DEFAULT if one == default else one for one in sorted({*choices, default}))
