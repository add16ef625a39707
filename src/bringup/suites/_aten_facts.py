"""What the survey of a bare device found out: the overloads that reach its key, and the calls that are their cases.

Facts only, no torch. `_aten_survey.py` writes them, `aten.py` turns them into operators.
"""

from __future__ import annotations

import functools
import gzip
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from bringup.errors import EnvironmentFault
from bringup.files import write_atomically
from bringup.verdict import Record

FORMAT = 1  # of the data file; a file of another format is surveyed anew


class Recipe(Record):
    """How to cause one call again: the `ordinal`-th call that reaches the device in a run of a public sample."""

    public: str  # operator of `opinfo`
    sample: int  # its index under the case's dtype
    direction: str  # "f" or "b", as `_aten_record.Direction`
    ordinal: int


class Overload(Record):
    """One overload that reaches the device's key."""

    name: str  # "add.out"
    schema_text: str  # as PyTorch prints it
    positional: tuple[str, ...]  # names of the parameters that can be given by position
    keywords: tuple[str, ...] = ()  # of those that cannot
    forward: bool = True  # without gradients too; False: in backward passes only
    parents: dict[str, int] = Field(default_factory=dict)  # public operator -> its samples that cause a call
    alone_of: tuple[str, ...] = ()  # public operators that cause no call of another overload without gradients
    mutates: bool = False
    writes: tuple[str, ...] = ()  # parameters that the schema marks as written
    random: bool = False
    views: bool = False  # the schema says that a result shares memory with an argument
    dynamic: bool = False  # the shape of the result, or a Python number, hangs on values
    results: int = 1  # tensors returned
    counts: dict[str, int] = Field(default_factory=dict)  # dtype -> different calls seen
    call_shapes: tuple[tuple[int, tuple[str, ...], tuple[str, ...]], ...] = ()  # positional, keywords, types of both
    examples: tuple[str, ...] = ()  # calls as text
    cases: dict[str, tuple[Recipe, ...]] = Field(default_factory=dict)  # dtype -> chosen calls, in order
    times: dict[str, tuple[int, ...]] = Field(default_factory=dict)  # likewise: how often a program made each call


class AtenSurvey(Record):
    """All overloads of one torch version, sorted by name."""

    torch: str
    format: int = FORMAT
    surveyed: tuple[str, ...]  # public operators whose samples were run
    without: tuple[str, ...] = ()  # of these, those that need no kernel in any sample without gradients
    failed: dict[str, dict[str, int]] = Field(default_factory=dict)  # public operator -> error -> runs that it ended
    overloads: tuple[Overload, ...]


def write_aten(path: Path, survey: AtenSurvey) -> None:
    """Write a survey as gzipped JSON, one overload a line; the same facts give the same bytes."""
    head = survey.model_dump(exclude={"overloads"})
    lines = ",\n".join(json.dumps(_packed(one), separators=(",", ":")) for one in survey.overloads)
    text = json.dumps(head)[:-1] + f', "overloads": [\n{lines}\n]}}\n'
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, gzip.compress(text.encode(), mtime=0), durable=False)


def _packed(overload: Overload) -> dict[str, Any]:
    record = overload.model_dump(mode="json", exclude_defaults=True)
    record["cases"] = {
        dtype: [[r.public, r.sample, r.direction, r.ordinal] for r in recipes]
        for dtype, recipes in overload.cases.items()
    }
    return record


def _unpacked(record: Mapping[str, Any]) -> dict[str, Any]:
    def recipe(packed: Iterable[Any]) -> Recipe:
        public, sample, direction, ordinal = packed
        # thousands: what is wrong with one shows when it is run
        return Recipe.model_construct(public=public, sample=sample, direction=direction, ordinal=ordinal)

    cases = {dtype: tuple(map(recipe, recipes)) for dtype, recipes in record["cases"].items()}
    return {**record, "cases": cases}


@functools.lru_cache(maxsize=4)
def read_aten(data: bytes, source: str) -> AtenSurvey | None:
    """Read a survey; None when it has another format; raises EnvironmentFault when it is broken.

    Half a second, so that the latest are remembered: nobody changes the records.
    """
    try:
        raw = json.loads(gzip.decompress(data))
        if raw.get("format") != FORMAT:
            return None
        raw["overloads"] = [_unpacked(one) for one in raw["overloads"]]
        return AtenSurvey.model_validate(raw)
    except (OSError, EOFError, ValueError, KeyError, TypeError, ValidationError) as error:
        again = "delete it, or run `bringup ops survey --suite aten`"
        raise EnvironmentFault(f"{source}: not a survey ({error}); {again}") from error
