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


def definition_of(operator: str, dtype: str, trivial: str) -> str | None:
    """Return why the operator is that trivial candidate by definition in that dtype; None when it is not."""
    for entry in _index().get((operator, trivial), ()):
        if not entry.dtypes or dtype in entry.dtypes:
            return entry.reason
    return None
