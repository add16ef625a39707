"""The file of a measurement: one line says what was measured, each further line is the result of one operator."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from bringup.errors import ConfigError, FormatError
from bringup.files import write_atomically
from bringup.verdict import Record

FORMAT = 1
Form = Literal["call", "in-place", "out=", "gradient"]
FORMS: tuple[Form, ...] = ("call", "in-place", "out=", "gradient")
Kind = Literal["missing", "wrong", "raised", "crashed", "timed_out"]
Status = Literal["covered", "missing", "failed", "not_applicable"]
How = Literal["own", "composed", "none", "unknown", ""]
KEPT = 12  # failures of an operator that are kept, one of each sort first
KEPT_MISSING = 2  # of these, for lack of a kernel: which ones lack stands in `needs`


class Header(Record):
    """What was measured: results of two measurements are comparable, and one can go on, where these agree."""

    format: int = FORMAT
    target: str
    library: str = ""
    """Folder of the library; empty: the bare device, or what `enable` brings."""
    library_digest: str = ""
    kernels: dict[str, str] | None = None
    """Digest of what the library has for each overload; None where that was not noted."""
    enable: str = ""
    """`MODULE:FUNCTION` that put kernels behind the device."""
    gradients: bool
    suite: str
    """Digest of the cases."""
    torch: str
    triton: str = ""
    device: str = ""
    """Digest of the target's figures."""
    eligible: int
    """How many names the suite has that count, whether or not they were measured here."""

    def key(self) -> dict[str, Any]:
        """What must agree for a measurement to go on."""
        return self.model_dump(exclude={"library", "kernels"})  # the library's digest stands for its kernels


class Failure(Record):
    """One case of one form that did not pass."""

    dtype: str
    index: int
    form: Form
    kind: Kind
    message: str


class Tally(Record):
    """How many cases of a form passed."""

    passed: int = 0
    total: int = 0
    failed: dict[Kind, int] = Field(default_factory=dict)


class OperatorResult(Record):
    """What came of all cases of one operator."""

    operator: str
    status: Status
    how: How = ""
    """Of a covered one: every call by at most one kernel (`own`), by several or by PyTorch's decompositions
    (`composed`), without any (`none`: memory, views and copies), or not observed (`unknown`)."""
    forms: dict[Form, Tally] = Field(default_factory=dict)
    kernels: dict[str, int] = Field(default_factory=dict)
    """Calls of kernels, by overload."""
    composed: dict[str, int] = Field(default_factory=dict)
    """Calls that PyTorch's decompositions in Python served, by overload."""
    needs: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Overloads that were called and that nothing serves; with each, what its decomposition lacks (itself, if it has
    none)."""
    gradient_only: tuple[str, ...] = ()
    """Of `needs`, the overloads that nothing but gradients calls."""
    failures: tuple[Failure, ...] = ()
    failed: dict[Kind, int] = Field(default_factory=dict)
    reason: str = ""
    seconds: float = 0.0

    @property
    def passed(self) -> int:
        """Cases of all forms that passed."""
        return sum(tally.passed for tally in self.forms.values())

    @property
    def total(self) -> int:
        """Cases of all forms."""
        return sum(tally.total for tally in self.forms.values())


def chosen_failures(failures: Iterable[Failure]) -> tuple[Failure, ...]:
    """Return some of the failures: one of each kind, form and dtype first, wrong results and crashes before lacks."""
    weight = {"crashed": 0, "timed_out": 0, "wrong": 1, "raised": 2, "missing": 3}
    seen: Counter[tuple[str, str, str]] = Counter()
    ranked = []
    lacking = 0
    for failure in failures:
        sort = (failure.kind, failure.form, failure.dtype)
        lacking += failure.kind == "missing"
        if failure.kind != "missing" or lacking <= KEPT_MISSING:
            ranked.append((seen[sort], weight[failure.kind], failure))
        seen[sort] += 1
    ranked.sort(key=lambda one: one[:2])
    return tuple(failure for _, _, failure in ranked[:KEPT])


class Results:
    """A measurement's file, read whole; new results are appended, each a line that is on the disk when it counts."""

    def __init__(self, path: Path, header: Header, found: Iterable[OperatorResult]) -> None:
        """Use `read` or `start`."""
        self.path = path
        self.header = header
        self.operators = {result.operator: result for result in found}

    @classmethod
    def read(cls, path: Path) -> Results:
        """Read a file; a last line that was cut off by an interruption is left out. Raises FormatError."""
        return _read(path)[0]

    @classmethod
    def start(cls, path: Path, header: Header, *, anew: bool = False) -> Results:
        """Begin a measurement, or go on with the one in the file.

        Raises ConfigError where the file holds another measurement, FormatError where it is none.
        """
        if path.exists() and not anew:
            results, whole = _read(path)
            if results.header.key() != header.key() and results.operators:
                one, other = results.header.key(), header.key()
                differing = next(name for name in one if one[name] != other[name])
                raise ConfigError(
                    str(path),
                    f"holds another measurement ({differing} is {one[differing]!r} there, {other[differing]!r} now)",
                    "give another file with --out, or --anew to overwrite it",
                )
            if results.header.key() == header.key():
                os.truncate(path, whole)
                return results
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(header.model_dump_json() + "\n", encoding="utf-8")
        except OSError as error:
            raise ConfigError(
                str(path), f"cannot be written: {error.strerror}", "give another file with --out"
            ) from None
        return cls(path, header, ())

    @classmethod
    def refreshed(cls, path: Path, header: Header, kept: Iterable[OperatorResult]) -> Results:
        """Write a file anew with results of an earlier measurement that still hold; raises ConfigError."""
        results = cls(path, header, kept)
        lines = [header.model_dump_json(), *(one.model_dump_json() for one in results.operators.values())]
        try:
            write_atomically(path, "".join(f"{line}\n" for line in lines).encode())
        except OSError as error:
            raise ConfigError(str(path), f"cannot be written: {error.strerror}") from None
        return results

    def add(self, result: OperatorResult) -> None:
        """Append a result. Raises ConfigError where the file cannot be written."""
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(result.model_dump_json() + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise ConfigError(str(self.path), f"cannot be written: {error.strerror}") from None
        self.operators[result.operator] = result


def _read(path: Path) -> tuple[Results, int]:
    """Return the results in a file, and how many of its bytes are whole lines."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FormatError(f"{path}: cannot be read: {error.strerror}") from None
    whole = data.rfind(b"\n") + 1
    lines = data[:whole].splitlines()
    try:
        first = json.loads(lines[0]) if lines else None
        if not isinstance(first, dict) or "eligible" not in first:
            raise FormatError(f"{path}: not a measurement of `bringup coverage`")
        if first.get("format") != FORMAT:
            raise FormatError(f"{path}: a measurement of another format ({first.get('format')}); measure anew (--anew)")
        header = Header.model_validate(first)
    except (ValueError, ValidationError):
        raise FormatError(f"{path}: not a measurement of `bringup coverage`") from None
    found = []
    for number, line in enumerate(lines[1:], 2):
        try:
            found.append(OperatorResult.model_validate_json(line))
        except ValidationError:
            raise FormatError(f"{path}:{number}: not the result of an operator; measure anew (--anew)") from None
    return Results(path, header, found), whole
