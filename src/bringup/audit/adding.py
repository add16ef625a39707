"""Write chosen audit cases into an additions file, and check the marks 'by definition' against the table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path

from bringup.audit.vacuity import Choices, OperatorResult
from bringup.config import ALONE
from bringup.errors import ConfigError
from bringup.suites import FILES, Addition, read_additions, torch_build, write_additions

VACUOUS = "vacuous:"  # reasons of cases that were added because a trivial candidate passed


def additions_path(suite: str) -> Path:
    """Return the additions file of a suite as `get_suite` names it: PATH of `opinfo:PATH`, else the shipped file.

    Raises ConfigError for a suite that is to have no additions, or that cannot have any.
    """
    base, _, given = suite.partition(":")
    if base not in FILES:
        raise ConfigError(f"suite {suite}", "takes no gate additions", f"suites that do: {', '.join(FILES)}")
    if given == ALONE:
        raise ConfigError(
            f"suite {suite}", "has no file of additions to write to", f"name one as {base}:PATH, or in --out"
        )
    return Path(given) if given else Path(str(files("bringup.suites"))) / "data" / FILES[base][0]


def add_choices(choices: Iterable[Choices], suite: str, path: Path | None = None) -> tuple[Path, int]:
    """Append the chosen cases to the suite's additions file, or to `path`; return the file and how many are new.

    The audit moves on to fresh values in the families that the cases come from.
    """
    path = additions_path(suite) if path is None else path
    additions = read_additions(path) if path.is_file() else read_additions(None)
    before = additions.total
    for found in choices:
        for choice in found.chosen:
            reason = f"{VACUOUS} {', '.join(choice.kills)} passes"
            case = Addition(key=choice.key, seed=choice.seed, reason=reason)
            additions = additions.with_cases(choice.operator, choice.dtype, [case])
    if additions.total > before:
        if not additions.torch:
            additions = additions.model_copy(update={"torch": ".".join(torch_build().split(".")[:2])})
        write_additions(path, additions)
    return path, additions.total - before


def forget_choices(suite: str, path: Path | None = None) -> int:
    """Take the cases that were added for vacuity out of an additions file, and return how many they were.

    Published cases stay, and so do the audit's fresh draws: what a session may have seen is never drawn again.
    """
    path = additions_path(suite) if path is None else path
    if not path.is_file():
        return 0
    additions = read_additions(path)
    kept = additions.without_cases(lambda case: case.reason.startswith(VACUOUS))
    if kept.total < additions.total:
        write_additions(path, kept)
    return additions.total - kept.total


def stale_definitions(results: Mapping[str, OperatorResult]) -> Iterator[tuple[str, str, str, int]]:
    """Yield (operator, dtype, candidate, case) where a case refuses what is marked as true by definition."""
    for name, result in results.items():
        for dtype, found in result.judged.items():
            for trivial, case in found.killed_by.items():
                if result.definition(dtype, trivial) is not None:
                    yield name, dtype, trivial, case
