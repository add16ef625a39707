"""The table of classes: what "right" means for an operator, read from `data/classes.yaml`. Imports no torch."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

import yaml

Kind = Literal["exact", "rounding", "accumulating", "composite", "factors", "undefined"]
KINDS: tuple[Kind, ...] = ("exact", "rounding", "accumulating", "composite", "factors", "undefined")


@dataclass(frozen=True)
class Rule:
    """What "right" means for one operator; the head of `data/classes.yaml` defines every field."""

    kind: Kind
    zero_sign: bool = True  # exact: the sign of a zero counts
    ulps: float = 0.5  # of float32
    half: float = 0.0  # of float16 or bfloat16, beyond rounding once
    argument: float = 0.0
    one: float = 0.0
    spread: float = 0.0
    largest: float = 0.0
    sizes: str = ""  # a function of `_conditions`: the sizes of what is added up
    positions: str = ""  # a function of `_positions`: what rounding computed positions in a tensor can change
    poles: str = ""  # a function of `_poles`: where the result is infinite, and the least size that arithmetic gives
    open: str = ""  # a function of `_open`: elements that nothing is known of, so that any value is right
    mean: int = -1  # composite: index of the output that is a mean
    squares: bool = False  # composite: a root of a mean of squares
    root: int = -1  # composite: the place of a norm's degree: its root of a sum multiplies what that is off by
    least: int = 0
    fixed: int = -1  # the place of a floating-point argument that holds flags
    norm: str = ""  # composite: "matrix" or "column", of whose elements the most sensitive one speaks for all
    quotient: bool = False  # composite: of a norm that is computed by itself: moves at least as much as that does
    counts: str = ""  # an argument of integers that counts, and stays one where other integers are data
    degree: bool = False  # an operand says how many steps the reference makes
    epsilon: str = ""  # the keyword of a tolerance that is by default the dtype's epsilon times the longer side
    without: str = ""
    place: int = -1
    inexact: str = ""  # dtypes in which PyTorch divides integers on the way: no exact reference there
    either: str = ""  # dtypes in which PyTorch overflows on the way: its own result is right too
    reason: str = ""


UNKNOWN = Rule("undefined", reason="the table of classes does not know the operator")


@functools.cache
def table() -> Mapping[str, Rule]:
    """Return the rule of every operator in the table."""
    source = files("bringup.accuracy").joinpath("data", "classes.yaml")
    loaded = yaml.load(source.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    rules: dict[str, Rule] = {}
    for name in loaded["exact"].split():
        rules[name] = Rule("exact")
    for name in loaded["exact_integer"].split():
        rules[name] = Rule("exact", open="unheld")
    for name in loaded["exact_remainder"].split():
        rules[name] = Rule("exact", open="far_apart")
    for name in loaded["exact_order"].split():
        rules[name] = Rule("exact", zero_sign=False)
    for kind in ("rounding", "accumulating", "composite"):
        for name, given in loaded[kind].items():
            rules[name] = _rule(kind, given)
    for reason, names in loaded["factors"].items():
        rules |= {name: Rule("factors", reason=reason) for name in names.split()}
    for reason, names in loaded["undefined"].items():
        rules |= {name: Rule("undefined", reason=reason) for name in names.split()}
    return rules


def _rule(kind: Any, given: Any) -> Rule:
    fields: dict[str, Any] = dict(given) if isinstance(given, dict) else {"ulps": float(given)}
    if kind == "composite":
        fields.setdefault("half", 1.0)
    return Rule(kind, **fields)


def rule_of(operator: str) -> Rule:
    """Return the rule of an operator; what the table does not know has no exact reference."""
    return table().get(operator, UNKNOWN)
