"""Mutants that a person has found to do the same as the original, each with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

import yaml
from pydantic import Field, TypeAdapter, ValidationError

from bringup.errors import ConfigError, not_yaml
from bringup.verdict import Record

SHIPPED = "equivalent.yaml"


class Mark(Record):
    """One mutant that is no bug: `mutant` is the beginning of its digest, at least twelve digits.

    A mark holds for one text only. After any other change of the candidate the mutant has another digest, and has to
    be looked at again.
    """

    mutant: str = Field(pattern=r"^[0-9a-f]{12,64}$")
    reason: str = Field(min_length=10)
    mutator: str = ""  # for readers
    line: int | None = None  # for readers
    suite: str = "opinfo"  # whose kernel it is: `take` is an operator of two suites
    note: str = ""  # for readers


class Equivalents:
    """The marks of several files."""

    def __init__(self, marks: Mapping[str, list[Mark]] | None = None) -> None:
        self._marks = {operator: list(entries) for operator, entries in (marks or {}).items()}

    def reason(self, operator: str, digest: str) -> str | None:
        """Return why a mutant is equivalent, or None when nobody has marked it."""
        for mark in self.marks(operator):
            if digest.startswith(mark.mutant):
                return mark.reason
        return None

    def marks(self, operator: str) -> list[Mark]:
        """Return the marks of one operator."""
        return self._marks.get(operator, [])

    def stale(self, operator: str, digests: set[str], suite: str = "opinfo") -> list[Mark]:
        """Return the marks of a suite's operator that belong to none of these mutants."""
        marks = [mark for mark in self.marks(operator) if mark.suite == suite]
        return [mark for mark in marks if not any(name.startswith(mark.mutant) for name in digests)]

    def __len__(self) -> int:
        return sum(map(len, self._marks.values()))


def load_equivalents(*paths: Path, shipped: bool = True) -> Equivalents:
    """Read the shipped marks and those of `paths`; raises ConfigError naming file and field."""
    marks: dict[str, list[Mark]] = {}
    texts = [(str(path), _read(path)) for path in paths]
    if shipped:
        texts.insert(0, (SHIPPED, files("bringup.mutation").joinpath(SHIPPED).read_text(encoding="utf-8")))
    for source, text in texts:
        try:
            data = TypeAdapter(dict[str, list[Mark]]).validate_python(yaml.safe_load(text) or {})
        except yaml.YAMLError as error:
            raise ConfigError(source, not_yaml(error)) from error
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(map(str, first["loc"]))
            raise ConfigError(source, f"field {field}: {first['msg']}") from error
        for operator, entries in data.items():
            marks.setdefault(operator, []).extend(entries)
    return Equivalents(marks)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(str(path), f"cannot be read: {error.strerror}") from error
