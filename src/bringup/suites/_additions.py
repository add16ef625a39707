"""Gate additions, as data: cases of the audit that were published, so that they belong to the gate from then on.

A gate that a trivial candidate passes gets cases of the `audit` suite that refuse it; a case that failed in an audit
may be published as well, so that a session can work on it. What is published is no audit any more: the audit draws
its family's values anew (`audit_draws` counts how often). The shipped file is part of the suite; a user's own file,
named as `opinfo:PATH`, comes on top of it; `opinfo:alone` has OpInfo's own cases only, as in the papers. Nothing here
builds a case.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import Field, ValidationError

from bringup.config import ALONE
from bringup.errors import ConfigError, EnvironmentFault, not_yaml
from bringup.files import write_atomically
from bringup.verdict import Record

SHIPPED = "gate-additions.yaml"
BREADTH = "gate-breadth.json"
ACCURACY = "gate-accuracy.json"  # of the same form: values over whole ranges, small, subnormal, far from zero
ARGUMENTS = "gate-arguments.json"  # the same: numbers, dtypes, matrices that no sample has, and what does not fit
# The files that ship, by suite: the one that commands write to comes first.
FILES: Mapping[str, tuple[str, ...]] = {
    "opinfo": (SHIPPED, BREADTH, ACCURACY, ARGUMENTS),
    "aten": ("aten-additions.yaml", "aten-breadth.json"),
}
BREADTH_REASON = "breadth"
HEADER = """\
# Cases of the audit suite that belong to the gate; written by `bringup audit vacuity --add` and `... publish`.
# operator -> dtype -> cases: the key in the audit suite, the seed it is drawn with, and why it was added.
# audit_draws: how often the audit has moved on to fresh values, by operator, dtype and family of cases.
"""


class Addition(Record):
    """One published case: `key` is the audit case's `notes["key"]`, drawn with `seed`."""

    key: str
    seed: int = 0
    reason: str

    @property
    def family(self) -> str:
        """The audit family that the case comes from."""
        return family_of(self.key)

    def gate_seed(self, operator: str, dtype: str, seed: int) -> int:
        """Return what the case is drawn with in a gate under `seed`: 0 has the values that it was published with."""
        return self.seed if seed == 0 else drawn_seed(seed, operator, dtype, self.family, self.seed + 1)


class Additions(Record):
    """The content of an additions file."""

    format: Literal[1] = 1
    torch: str = ""  # version with which the cases were chosen
    additions: dict[str, dict[str, tuple[Addition, ...]]] = Field(default_factory=dict)
    audit_draws: dict[str, dict[str, dict[str, int]]] = Field(default_factory=dict)

    def of(self, operator: str, dtype: str) -> tuple[Addition, ...]:
        """Return the published cases of an operator in one dtype."""
        return self.additions.get(operator, {}).get(dtype, ())

    def counts(self, operator: str) -> dict[str, int]:
        """Return the number of published cases by dtype."""
        return {dtype: len(cases) for dtype, cases in self.additions.get(operator, {}).items() if cases}

    def draws(self, operator: str, dtype: str) -> dict[str, int]:
        """Return how often the audit has moved on, by family."""
        return self.audit_draws.get(operator, {}).get(dtype, {})

    @property
    def total(self) -> int:
        """Number of published cases."""
        return sum(len(cases) for dtypes in self.additions.values() for cases in dtypes.values())

    def with_cases(self, operator: str, dtype: str, cases: Iterable[Addition], *, redraw: bool = True) -> Additions:
        """Return a copy with more published cases; with `redraw` the audit moves on in their families."""
        known = {(a.key, a.seed) for a in self.of(operator, dtype)}
        fresh = tuple(case for case in cases if (case.key, case.seed) not in known)
        if not fresh:
            return self
        added = {name: dict(dtypes) for name, dtypes in self.additions.items()}
        added.setdefault(operator, {})[dtype] = (*self.of(operator, dtype), *fresh)
        draws = {name: {d: dict(f) for d, f in dtypes.items()} for name, dtypes in self.audit_draws.items()}
        if redraw:
            families = draws.setdefault(operator, {}).setdefault(dtype, {})
            for family in sorted({case.family for case in fresh}):
                families[family] = families.get(family, 0) + 1
        return self.model_copy(update={"additions": added, "audit_draws": draws})

    def without_cases(self, unwanted: Callable[[Addition], bool]) -> Additions:
        """Return a copy without the unwanted cases; the audit's draws stay."""
        kept = {
            operator: {
                dtype: left for dtype, cases in dtypes.items() if (left := tuple(c for c in cases if not unwanted(c)))
            }
            for operator, dtypes in self.additions.items()
        }
        return self.model_copy(update={"additions": {name: dtypes for name, dtypes in kept.items() if dtypes}})

    def merged(self, other: Additions) -> Additions:
        """Return these additions followed by `other`'s."""
        added = {name: dict(dtypes) for name, dtypes in self.additions.items()}
        for operator, dtypes in other.additions.items():
            for dtype, cases in dtypes.items():
                known = {(case.key, case.seed) for case in self.of(operator, dtype)}
                fresh = tuple(case for case in cases if (case.key, case.seed) not in known)
                if fresh:
                    added.setdefault(operator, {})[dtype] = (*self.of(operator, dtype), *fresh)
        draws = {name: {d: dict(f) for d, f in dtypes.items()} for name, dtypes in self.audit_draws.items()}
        for operator, by_dtype in other.audit_draws.items():
            for dtype, families in by_dtype.items():
                mine = draws.setdefault(operator, {}).setdefault(dtype, {})
                for family, count in families.items():
                    mine[family] = mine.get(family, 0) + count
        return self.model_copy(update={"additions": added, "audit_draws": draws})


def family_of(key: str) -> str:
    """Return the family of an audit case from its key: `values` of `values/special/0`."""
    return key.partition("/")[0]


def drawn_seed(seed: int, operator: str, dtype: str, family: str, draw: int) -> int:
    """Return the seed of a family's `draw`-th values: the given seed at first, then a hash of all five."""
    if not draw:
        return seed
    text = f"audit\0{seed}\0{operator}\0{dtype}\0{family}\0{draw}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") | 1


def shipped_additions(suite: str = "opinfo") -> Additions:
    """Return the additions of a suite that ship with bringup: cases that close vacuous gates, breadth, values."""
    return _shipped(suite)


@functools.cache
def _shipped(suite: str) -> Additions:
    data, found = files("bringup.suites").joinpath("data"), Additions()
    for name in FILES[suite]:
        if (source := data.joinpath(name)).is_file():
            text = source.read_text(encoding="utf-8")
            found = found.merged(_parse(text, name) if name.endswith(".yaml") else _breadth(json.loads(text)))
    return found


def _breadth(content: Mapping[str, Any]) -> Additions:
    """Read what `bringup.audit.breadth` chose: one seed, and keys by operator and dtype."""
    make, same = Addition.model_construct, {"seed": content["seed"], "reason": BREADTH_REASON}  # thousands: unchecked
    added = {
        operator: {dtype: tuple(make(key=key, **same) for key in keys) for dtype, keys in found.items()}
        for operator, found in content["operators"].items()
    }
    return Additions.model_construct(torch=content["torch"], additions=added, audit_draws={})


def additions_for(path: str | None, suite: str = "opinfo") -> Additions:
    """Return a suite's shipped additions, and on top of them those of the user's file; raises ConfigError.

    The path `alone` stands for no additions at all.
    """
    if path == ALONE:
        return Additions()
    shipped = shipped_additions(suite)
    return shipped if path is None else shipped.merged(read_additions(path))


def additions_of(spec: str) -> Additions:
    """Return the published cases of a suite as `get_suite` names it, none for a suite that has no such files.

    Raises ConfigError when the user's file cannot be read.
    """
    suite, _, path = spec.partition(":")
    return additions_for(path or None, suite) if suite in FILES else Additions()


def read_additions(path: Path | str | None) -> Additions:
    """Read an additions file; None is an empty one. Raises ConfigError."""
    if path is None:
        return Additions()
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise ConfigError(str(path), f"gate additions cannot be read: {reason}", "see docs/audit.md") from error
    return _parse(text, str(path))


def _parse(text: str, source: str) -> Additions:
    try:
        return Additions.model_validate(yaml.load(text, Loader=yaml.CSafeLoader) or {})
    except yaml.YAMLError as error:
        raise ConfigError(source, not_yaml(error)) from error
    except ValidationError as error:
        item = error.errors()[0]
        raise ConfigError(source, f"field {'.'.join(map(str, item['loc']))}: {item['msg']}", "see docs/audit.md") from (
            error
        )


def write_additions(path: Path, additions: Additions) -> None:
    """Write an additions file, sorted, in one step; raises EnvironmentFault."""
    lines = [HEADER, f"format: {additions.format}\n"]
    if additions.torch:
        lines.append(f'torch: "{additions.torch}"\n')
    lines.append("additions:\n" if additions.total else "additions: {}\n")
    for operator, dtypes in sorted(additions.additions.items()):
        lines.append(f"  {_scalar(operator)}:\n")
        for dtype, cases in dtypes.items():
            lines.append(f"    {dtype}:\n")
            lines += [
                f"      - {{key: {_scalar(c.key)}, seed: {c.seed}, reason: {_scalar(c.reason)}}}\n" for c in cases
            ]
    lines.append("audit_draws:\n" if additions.audit_draws else "audit_draws: {}\n")
    for operator, by_dtype in sorted(additions.audit_draws.items()):
        lines.append(f"  {_scalar(operator)}:\n")
        for dtype, families in by_dtype.items():
            drawn = ", ".join(f"{_scalar(family)}: {count}" for family, count in sorted(families.items()))
            lines.append(f"    {dtype}: {{{drawn}}}\n")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, "".join(lines).encode())
    except OSError as error:
        raise EnvironmentFault(f"{path}: gate additions cannot be written: {error.strerror}") from error
    _shipped.cache_clear()


def _scalar(text: str) -> str:
    """Return a YAML scalar on one line, quoted only where needed."""
    rendered: str = yaml.safe_dump(text, default_flow_style=True, width=10_000, allow_unicode=True)
    return rendered.removesuffix("\n").removesuffix("\n...")
