"""Choosing operators of a suite by patterns."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator
from pathlib import Path

from bringup.errors import ConfigError, UnknownOperator
from bringup.operators import Operator
from bringup.suites._base import Suite


def select(suite: Suite, patterns: Iterable[str]) -> list[Operator]:
    """Return the operators that the patterns name, each once, in the suite's order.

    A pattern is `all` (every eligible operator; `[a]ll` is the operator of that name), an exact name (of an excluded
    operator too: it was asked for by name), a glob (`special.*`, `*pool*`; eligible operators only), or `@file` with
    one pattern a line and `#` comments: there `all` is the operator, as in any list of names. Raises UnknownOperator,
    with close names, for a pattern that matches nothing, and ConfigError for a file that cannot be read.
    """
    operators = {operator.name: operator for operator in suite.operators()}
    chosen: set[str] = set()
    for pattern in _expand(patterns, set()):
        found = _matches(pattern, operators)
        if not found:
            raise UnknownOperator(pattern, operators, _where(suite, pattern, operators))
        chosen |= found
    return [operator for name, operator in operators.items() if name in chosen]


def _matches(pattern: str, operators: dict[str, Operator]) -> set[str]:
    if pattern in operators and pattern != "all":
        return {pattern}
    return {
        name
        for name, operator in operators.items()
        if operator.exclusion is None and (pattern == "all" or fnmatch.fnmatchcase(name, pattern))
    }


def _where(suite: Suite, pattern: str, operators: dict[str, Operator]) -> str:
    excluded = [operator for name, operator in operators.items() if fnmatch.fnmatchcase(name, pattern)]
    if not excluded:
        return suite.name
    return f"{suite.name} (only excluded operators match, {excluded[0].name} first: {excluded[0].exclusion})"


def _split(patterns: Iterable[str]) -> Iterator[str]:
    """Yield what commas separate: no operator has one in its name."""
    return (part for pattern in patterns for part in map(str.strip, pattern.split(",")) if part)


def _expand(patterns: Iterable[str], open_files: set[Path]) -> Iterator[str]:
    for pattern in _split(patterns):
        if pattern.startswith("@"):
            path = Path(pattern[1:]).expanduser()
            if path.resolve() in open_files:
                raise ConfigError(str(path), "names itself as a list of operators")
            try:
                lines = path.read_text(encoding="utf-8").splitlines()
            except (OSError, UnicodeDecodeError) as error:
                reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
                raise ConfigError(str(path), f"list of operators cannot be read: {reason}") from error
            listed = [line.partition("#")[0].strip() for line in lines]
            yield from _expand(
                ["[a]ll" if line == "all" else line for line in listed if line], open_files | {path.resolve()}
            )
        else:
            yield pattern
