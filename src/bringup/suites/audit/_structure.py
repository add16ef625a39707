"""What the reviewed file `data/audit.yaml` says of operators: whose values or sizes may be changed, and how far."""

from __future__ import annotations

import functools
from importlib.resources import files

import yaml

from bringup.operators import Operator


@functools.cache
def groups() -> dict[str, frozenset[str]]:
    """Return the groups of operator names; the file holds the reason for each group."""
    source = files("bringup.suites").joinpath("data", "audit.yaml")
    loaded: dict[str, str] = yaml.load(source.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    return {group: frozenset(names.split()) for group, names in loaded.items()}


def among(group: str, operator: Operator) -> bool:
    """Whether the operator is in a group."""
    return operator.name in groups()[group]


def structured(operator: Operator) -> bool:
    """Whether the values of the operator's arguments have a structure that a change would break."""
    if operator.category == "Linear Algebra":
        return not among("free_linear_algebra", operator)
    return among("structured", operator)


def takes_nonfinite(operator: Operator) -> bool:
    """Whether the operator's results at infinities and NaN are part of its definition."""
    if structured(operator) or among("finite_only", operator) or among("casts", operator):
        return False
    if operator.category == "Deep Learning":
        return among("nonfinite_networks", operator)
    return operator.category in ("Elementwise", "Reduction", "Shape Manipulation", "Indexing & Selection")
