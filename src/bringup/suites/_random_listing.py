"""The overloads of `aten` that draw random numbers: which there are, what a kernel is given. Imports no torch."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import yaml

from bringup.operators import CallShape, DocNode, Operator

CASES = 10  # in each dtype


@dataclass(frozen=True)
class Random:
    """One overload that draws, as `data/aten-random.yaml` has it."""

    name: str
    signature: str  # the schema's, with a seed in its generator's place
    public: str  # the function that a user calls
    text: str  # what is drawn
    types: tuple[str, ...]  # of the positional arguments
    dtypes: tuple[str, ...] = ("float32", "bfloat16", "float16")
    writes: tuple[str, ...] = ("self",)
    keywords: tuple[str, ...] = ()  # beside the seed


@functools.cache
def _data() -> dict[str, Any]:
    source = files("bringup.suites").joinpath("data", "aten-random.yaml")
    loaded: dict[str, Any] = yaml.load(source.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    return loaded


@functools.cache
def random_overloads() -> dict[str, Random]:
    """Return the overloads by name."""
    found = {}
    for name, given in _data()["operators"].items():
        fields: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in given.items()
        }
        found[name] = Random(name, **fields)
    return found


def operator_of_random(one: Random, suite: str) -> Operator:
    """Return the record of an overload that draws random numbers."""
    kinds = (*one.types, "int", *("Tensor" for _ in one.keywords))
    return Operator(
        name=one.name,
        suite=suite,
        category="Other",
        case_counts=dict.fromkeys(one.dtypes, CASES),
        overloads=(f"aten.{one.name}" if "." in one.name else f"aten.{one.name}.default",),
        signature=one.signature,
        call_shapes=(CallShape(positional=len(one.types), keywords=("seed", *one.keywords), types=kinds),),
        mutates=bool(one.writes),
        writes=one.writes,
    )


def docs_of_random(one: Random) -> list[DocNode]:
    """Return what a model is told of it."""
    return [DocNode(name=one.name, text=f"{one.text}\n\n{_data()['seed']}")]
