"""From a configuration to what a run will do: which operators, from which kernels, and whether it can work at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bringup.clients.recording import (
    chosen_operators,
    recorded_operators,
)
from bringup.config import ALONE, ClientConfig, RunConfig
from bringup.errors import ConfigError, UnknownName, UnknownOperator
from bringup.operators import Operator
from bringup.runs.planned import is_planned, planned
from bringup.runs.starts import starting_kernels
from bringup.store import OperatorInfo
from bringup.suites import get_suite, select
from bringup.targets import get_target, located


@dataclass(frozen=True)
class Plan:
    """The operators of a run, in scheduling order; those asked for by name but not eligible, with the reason."""

    operators: tuple[Operator, ...]
    excluded: dict[str, str] = field(default_factory=dict)
    refine: dict[str, str] = field(default_factory=dict)  # operator -> source to start from
    only: frozenset[str] | None = None  # those that this process works on; None: all that are open
    again: frozenset[str] = frozenset()  # unanswered ones that are asked about once more

    def infos(self, dtypes: tuple[str, ...]) -> tuple[OperatorInfo, ...]:
        """Return what the store keeps of the operators."""
        return tuple(
            OperatorInfo(
                name=op.name,
                category=op.category,
                case_counts={d: n for d, n in op.case_counts.items() if d in dtypes and n},
                cases_added=sum(n for d, n in op.added_counts.items() if d in dtypes),
            )
            for op in self.operators
        )


def check(config: RunConfig) -> None:
    """Raise ConfigError for settings that contradict each other; costs nothing, touches nothing."""
    if not config.dtypes:
        raise ConfigError("dtypes", "is empty", "name at least one, or leave the field out")
    if config.states.summarise and config.summariser is None:
        raise ConfigError("states.summarise", "is on without a summariser", "describe its client in `summariser`")
    if len(config.chain) > config.attempts.attempts:
        raise ConfigError(
            "then",
            f"{len(config.chain)} clients in turn for {config.attempts.attempts} attempts: the last are never asked",
            f"set attempts.attempts to {len(config.chain)} or more (--attempts)",
        )
    sections = [("client", config.client), *((f"then.{i}", section) for i, section in enumerate(config.then))]
    for name, section in (*sections, ("summariser", config.summariser)):
        if section is None:
            continue
        if section.base_url and urlsplit(section.base_url).password:
            # the configuration is stored with the run, and keys never reach the store
            raise ConfigError(
                f"{name}.base_url",
                "holds a password",
                f"give the key in an environment variable named by {name}.key_variable",
            )
        if config.budget.money is not None and section.model not in config.prices:
            raise ConfigError(
                "budget.money",
                f"the price of model '{section.model}' ({name}) is not known",
                f"add it to `prices` (per million tokens), and set {name}.model",
            )


def make_plan(config: RunConfig, root: Path) -> Plan:
    """Choose the operators and find the kernels to refine; raises UnknownName, RetiredName or ConfigError."""
    check(config)
    get_target(config.target)  # a name that is not known is worth more than what its recordings lack
    suite = get_suite(config.suite_spec)
    for dtype in config.dtypes:
        if dtype not in suite.dtypes:
            known = ", ".join(suite.dtypes)
            raise ConfigError("dtypes", f"'{dtype}' is not a dtype of the suite {suite.name}", f"use some of {known}")
    wanted = list(patterns(config))
    chosen = select(suite, wanted)
    if any(map(is_planned, _split(config.ops))):
        # Sessions begin in the order of the plan: what is stopped early has made what was most useful.
        place = {name: number for number, name in enumerate(wanted)}
        chosen.sort(key=lambda op: place.get(_named(op.name), len(place)))
    if config.skip:
        left_out = {op.name for op in select(suite, _split(config.skip))}
        chosen = [op for op in chosen if op.name not in left_out]
    eligible = tuple(op for op in chosen if op.exclusion is None)
    excluded = {op.name: op.exclusion for op in chosen if op.exclusion is not None}
    if not eligible:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in list(excluded.items())[:3])
        raise ConfigError("ops", f"no eligible operator ({reasons or 'nothing chosen'})", "see `bringup ops list`")
    refine = starting_kernels(config, eligible, root)
    return Plan(operators=eligible, excluded=excluded, refine=refine)


def settled(config: RunConfig) -> RunConfig:
    """Return `config` with every path in it made absolute, for processes in other directories and for later days.

    Where no dtypes are given, they are the suite's.

    Raises ConfigError for a target's profile that is missing or broken.
    """

    def client(section: ClientConfig) -> ClientConfig:
        return section.model_copy(update={"path": _absolute(section.path)})

    dtypes = config.dtypes if "dtypes" in config.model_fields_set else get_suite(config.suite_spec).dtypes
    update: dict[str, Any] = {
        "dtypes": dtypes,
        "suite": _absolute_file(config.suite),
        "target": located(config.target),
        "additions": config.additions if config.additions == ALONE else _absolute(config.additions),
        "refine_from": _absolute(config.refine_from),
        "client": client(config.client),
        "then": tuple(client(section) for section in config.then),
        "summariser": client(config.summariser) if config.summariser is not None else None,
    }
    # what was not given stays not given: the defaults of a command depend on it
    return config.model_copy(update={name: value for name, value in update.items() if value != getattr(config, name)})


def _absolute_file(suite: str) -> str:
    """Return a suite with the absolute path of the file that it is named with, if there is one."""
    name, _, options = suite.partition(":")
    return f"{name}:{_absolute(options)}" if options else suite


def _absolute(path: str | None) -> str | None:
    """Return the absolute path of what there is; a name (of a run, of a shipped set) stays."""
    if path is None or not Path(path).expanduser().exists():
        return path
    return str(Path(path).expanduser().resolve())


@dataclass(frozen=True)
class _Asked:
    """The operators of a run as a suite, for patterns."""

    name: str
    found: tuple[Operator, ...]

    def operators(self) -> Iterator[Operator]:
        """Return those asked for when the run began."""
        return iter(self.found)


def narrowed(plan: Plan, run: str, ops: Iterable[str], skip: Iterable[str]) -> frozenset[str] | None:
    """Return the operators of a run that `ops` (all, when empty) chooses and `skip` does not; None for all.

    Raises UnknownName for a pattern that matches none of the run's.
    """
    asked: Any = _Asked(run, plan.operators)
    names = [op.name for op in plan.operators]

    def matching(patterns: list[str]) -> set[str]:
        found: set[str] = set()
        for pattern in patterns:
            try:
                found |= {op.name for op in select(asked, [pattern])}
            except UnknownOperator:
                raise UnknownName("operator", pattern, names, f"run {run}") from None
        return found

    ops, skip = _split(ops), _split(skip)
    if not ops and not skip:
        return None
    chosen = (matching(ops) if ops else set(names)) - matching(skip)
    if not chosen:
        raise ConfigError("ops", "no operator of the run is left", "see `bringup status`")
    return frozenset(chosen)


def _split(patterns: Iterable[str]) -> list[str]:
    return [part for entry in patterns for part in (p.strip() for p in entry.split(",")) if part]


def _named(operator: str) -> str:
    """The pattern of one operator: `all` alone would be every operator."""
    return "[a]ll" if operator == "all" else operator


def patterns(config: RunConfig) -> Iterable[str]:
    """Yield the patterns of `ops`: commas split, `recorded`, `chosen` and `@plan` replaced by what they mean."""
    for pattern in _split(config.ops):
        if is_planned(pattern):
            yield from map(_named, planned(pattern, config.suite, config.target))
        elif pattern in ("recorded", "chosen"):
            path = config.client.path if config.client.name == "recorded" else None
            names = (recorded_operators if pattern == "recorded" else chosen_operators)(path, config.target)
            yield from map(_named, names)
        else:
            yield pattern
