"""Operators that are a trivial candidate by definition, with the reason; read from data, no torch."""

from __future__ import annotations

import functools
from importlib.resources import files

import yaml

from bringup.verdict import Record

DATA = "trivial-by-definition.yaml"


class Definition(Record):
    """What the operators are by definition, and why."""

    operators: tuple[str, ...]
    trivial: tuple[str, ...]
    dtypes: tuple[str, ...] = ()  # empty: all
    suites: tuple[str, ...] = ()  # empty: all

    def holds(self, dtype: str, suite: str) -> bool:
        """Whether the entry is about a dtype's gate in a suite, given with what follows a colon or without."""
        return (not self.dtypes or dtype in self.dtypes) and (not self.suites or suite.partition(":")[0] in self.suites)

    reason: str


@functools.cache
def definitions() -> tuple[Definition, ...]:
    """Return the reviewed entries of the data file."""
    text = files("bringup.audit").joinpath("data", DATA).read_text(encoding="utf-8")
    return tuple(
        Definition.model_validate(
            {
                **entry,
                "operators": entry["operators"].split(),
                "trivial": entry["trivial"].split(),
                "dtypes": entry.get("dtypes", "").split(),
                "suites": entry.get("suites", "").split(),
            }
        )
        for entry in yaml.load(text, Loader=yaml.CSafeLoader)
    )


@functools.cache
def _index() -> dict[tuple[str, str], tuple[Definition, ...]]:
    index: dict[tuple[str, str], tuple[Definition, ...]] = {}
    for entry in definitions():
        for operator in entry.operators:
            for trivial in entry.trivial:
                index[operator, trivial] = (*index.get((operator, trivial), ()), entry)
    return index


def marks(operator: str, trivial: str) -> tuple[Definition, ...]:
    """Return the entries on an operator, or on what an overload of ATen is one of (`floor` of `floor.out`)."""
    index = _index()
    return index.get((operator, trivial)) or index.get((operator.partition(".")[0], trivial), ())


def definition_of(operator: str, dtype: str, trivial: str, suite: str = "opinfo") -> str | None:
    """Return why the operator is that trivial candidate by definition in that dtype; None when it is not."""
    return next((entry.reason for entry in marks(operator, trivial) if entry.holds(dtype, suite)), None)
