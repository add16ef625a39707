"""What a job takes along of its target and its suite, so that a process without their files can judge it."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from bringup.candidate import digest
from bringup.errors import BringupError, ConfigError
from bringup.operators import Operator
from bringup.suites import get_suite, suites
from bringup.targets import get_target, located
from bringup.verdict import Record

Stamp = tuple[int, int] | None


class JobRefused(BringupError):
    """A job that cannot be judged here as it was meant: what it names is missing, or another one."""


class TargetRef(Record):
    """A target, with the profile that it was chosen with."""

    name: str  # NAME or NAME:PROFILE, as its user calls it
    profile: str = ""  # text of the whole profile; "": the name says it all

    @property
    def digest(self) -> str:
        """SHA-256 of the profile."""
        return digest(self.profile)

    def same_as(self, other: TargetRef) -> bool:
        """Whether a job for one can be judged on the other: profiles count by content, wherever they lie."""
        if self.profile or other.profile:
            return (_base(self.name), self.profile) == (_base(other.name), other.profile)
        return self.name == other.name


class SuiteRef(Record):
    """A suite, with the user's additions to it."""

    name: str  # without the path of a file
    additions: str = ""  # text of the user's file of additions
    digest: str  # the suite's own, of all that its cases are made of; "": whatever the suite is where it is judged


def target_ref(spec: str) -> TargetRef:
    """Return a target by its content; raises as `get_target` does."""
    name = located(spec)
    return TargetRef(name=name, profile=get_target(name).profile_text())


def local_target(target: TargetRef, folder: Path) -> str:
    """Return what `get_target` takes here for a target, whose profile is written into `folder` if need be.

    A shipped profile of the same content goes by its name. Raises UnknownName, or ConfigError for a profile that can
    neither be found nor read.
    """
    base, _, profile = target.name.partition(":")
    if not target.profile:
        return located(target.name)
    if profile in {"", *get_target(base).profiles()} and get_target(target.name).profile_text() == target.profile:
        return target.name
    file = folder / f"{target.digest[:16]}.yaml"
    file.write_text(target.profile, encoding="utf-8")
    try:
        return located(f"{base}:{file}")
    except ConfigError as error:
        raise JobRefused(f"target {target.name}: this version of bringup cannot read the job's profile: {error}") from (
            error
        )


def suite_ref(spec: str) -> SuiteRef:
    """Return a suite by its content; raises UnknownName, or ConfigError for its additions."""
    base = _base(spec)
    if hasattr(suites.factory(base), "packed"):  # a suite of files that can change at any time, and go along
        suite: Any = get_suite(spec)
        return SuiteRef(name=base, additions=suite.packed(), digest=suite.digest())
    return _suite_ref(spec, _stamp(spec))


@functools.lru_cache(maxsize=64)
def _suite_ref(spec: str, stamp: Stamp) -> SuiteRef:
    base, _, option = spec.partition(":")
    text = _text(option) if stamp else ""
    return SuiteRef(name=base if text else spec, additions=text, digest=get_suite(spec).digest())


def local_operator(operator: Operator, suite: SuiteRef, folder: Path) -> Operator:
    """Return a job's operator with the suite that rebuilds its cases here; additions are written into `folder`.

    Raises UnknownName for a suite that is not here, JobRefused where the suite's cases are others.
    """
    spec = suite.name
    if suite.additions:
        file = folder / f"{digest(suite.additions)[:16]}.yaml"
        if not file.exists():
            file.write_text(suite.additions, encoding="utf-8")
        spec = f"{spec}:{file}"
    if suite_ref(spec).digest != suite.digest and suite.digest:
        raise JobRefused(
            f"operator {operator.name}: the suite {suite.name} is another here than where the job was made, and may "
            "have other cases; judge with the versions of bringup and PyTorch of the job, or make it anew"
        )
    return operator.model_copy(update={"suite": spec})


def _base(spec: str) -> str:
    return spec.partition(":")[0]


def _stamp(spec: str) -> Stamp:
    """When the file that a suite is named with was written, and its size; None where it is named without one."""
    option = spec.partition(":")[2]
    try:
        found = Path(option).stat() if option else None
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size) if found is not None else None


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(path, f"cannot be read: {error}") from error
