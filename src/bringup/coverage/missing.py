"""The plan for a target: a measurement of it, what its library holds by now, captured programs, and what it can do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bringup.coverage._library import chosen_library
from bringup.coverage.planning import Goal, Order, goals_of, order, without
from bringup.coverage.records import OperatorResult, Results
from bringup.coverage.shipping import changes, file_name, stale
from bringup.errors import ConfigError

SUITE = "aten"
WORTH = 10.0  # names that a captured program is worth


@dataclass(frozen=True)
class Planned:
    """What to make next for a target, and what that was concluded from."""

    order: Order
    results: Results
    library: Path | None
    since: int
    """Overloads that were missing, and that the library serves by now."""
    served: tuple[str, ...] = ()
    """Captured programs that lack nothing."""
    stale: str = ""
    """That the library's kernels are not those that were measured, in one line; empty where they are."""


def results_file(target: str, library: Path | None, given: Path | None = None) -> Path:
    """Return the file of a target's measurement: the one given, else `coverage-TARGET.jsonl` here or in the library.

    Raises ConfigError where there is none.
    """
    name = file_name(target)
    places = [given] if given is not None else [Path(name), *([library / name] if library else [])]
    for place in places:
        if place.is_file():
            return place
    make = f"make it: bringup coverage --target {target} --gradients"
    if given is not None:
        raise ConfigError(str(given), "no such measurement", make)
    raise ConfigError(f"coverage of {target}", f"there is no measurement {name}, here or in the library", make)


def plan(
    target: str,
    library: Path | None = None,
    results: Path | None = None,
    captures: Sequence[Path] = (),
    *,
    worth: float = WORTH,
    progress: Callable[[int, int, str], None] | None = None,
) -> Planned:
    """Work out which kernels to make next for a target.

    Args:
        target: `vpe:PROFILE` or `cuda`, as the measurement names it.
        library: Folder of the library; None takes the one that is meant here.
        results: File of the measurement; None: `coverage-TARGET.jsonl` here or in the library.
        captures: Files of captured programs that shall run.
        worth: How many names each of these is worth.
        progress: Told while the calls of a capture are worked out.

    Raises ConfigError for a measurement that is missing or of another target, and what reading the files raises.
    """
    from bringup.suites import get_suite
    from bringup.targets import get_target

    found_target = get_target(target)
    name = f"vpe:{found_target.profile}" if found_target.name.startswith("vpe") else found_target.name
    folder, content = chosen_library(library)
    measured = Results.read(results_file(name, folder, results))
    if measured.header.target != name:
        raise ConfigError(
            str(measured.path), f"a measurement of {measured.header.target}, not of {name}", "name one with --results"
        )
    suite = {op.name: op for op in get_suite(SUITE).operators()}
    cannot = {op.name: op.exclusion or op.not_applicable(found_target.features) for op in suite.values()}
    serves = serving(suite, name)
    found = list(measured.operators.values())
    have = _in_library(folder, name)
    # A kernel that is the one measured lacks what it lacked there, for whatever reason: a dtype, say.
    same = measured.header.library_digest.partition(" ")[0] == content
    found_changes = changes(measured.header.kernels, folder)
    since = frozenset() if same else have
    if found_changes is not None:
        since = _in_library(folder, name, frozenset((*found_changes.new, *found_changes.changed)))
    goals = [_made_by(goal, serves) for goal in goals_of(found, since)]
    programs = [_made_by(_program(path, have, found, worth, progress), serves) for path in captures]
    goals += [program for program in programs if program.needs]
    called = {name for result in found for direct, parts in result.needs.items() for name in (direct, *parts)}
    return Planned(
        order(goals, lambda kernel: cannot.get(kernel, f"no sample of the suite {SUITE} calls it")),
        measured,
        folder,
        len(since & called),
        tuple(program.name for program in programs if not program.needs),
        stale(measured.header, folder),
    )


def serving(kernels: Iterable[str], target: str) -> Mapping[str, str]:
    """Return the kernel that serves each overload that these kernels can serve, in other forms too. Imports torch."""
    from bringup.library.routing import Device, forms

    device = Device(target.partition(":")[0], target, "", "", "")
    return {served.overload: served.kernel for served in forms(kernels, device)}


def _in_library(folder: Path | None, target: str, only: frozenset[str] | None = None) -> frozenset[str]:
    """Return every overload that the library serves there, or those that its kernels of the overloads `only` serve."""
    if folder is None or only == frozenset():
        return frozenset()
    from bringup.library import Library
    from bringup.library.enabling import device_of
    from bringup.library.routing import choose

    library = Library.open(folder)
    device = device_of(target, library)
    kernels = choose(library, device).serving
    return frozenset(serving([kernel for kernel in kernels if only is None or kernel in only], target))


def _made_by(goal: Goal, serves: Mapping[str, str]) -> Goal:
    """Name kernels in the place of the forms that they serve."""
    needs: dict[str, frozenset[str]] = {}
    for direct, parts in goal.needs.items():
        kernel = serves.get(direct, direct)
        made = frozenset(serves.get(part, part) for part in parts)
        needs[kernel] = needs.get(kernel, made) | made
    return Goal(goal.kind, goal.name, needs, goal.weight)


def _program(
    path: Path,
    have: frozenset[str],
    found: Sequence[OperatorResult],
    worth: float,
    progress: Callable[[int, int, str], None] | None,
) -> Goal:
    """Return what a captured program lacks: the overloads that it asks a device for and that nothing serves.

    What was composed wherever a name called it is composed for the program, too; what a decomposition lacked there, it
    lacks here.
    """
    from bringup.suites import get_suite

    lacked = {name for result in found for name in result.needs}
    composed = {name for result in found for name in result.composed} - lacked
    parts: dict[str, frozenset[str]] = {}
    for result in found:
        for direct, lacking in result.needs.items():
            parts[direct] = parts.get(direct, frozenset()) | frozenset(lacking)
    # Random operators are no cases of a captured program; `bringup capture coverage` leaves them out, too.
    asked = [op.name for op in get_suite(f"captured:{path}", progress).operators() if op.exclusion is None]
    needs = {name: parts.get(name, frozenset({name})) for name in asked if name not in have and name not in composed}
    return without(Goal("model", str(path), needs, worth), have)
