"""Evidence: what a verdict rests on, in a form that lets anybody judge again and compare."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from bringup.candidate import Candidate
from bringup.config import JudgeConfig
from bringup.errors import FormatError
from bringup.judge.guards import IDS
from bringup.judge.job import JobTemplate, JudgeJob
from bringup.suites import get_suite
from bringup.verdict import CaseId, Record, Verdict, VerdictKind


class Evidence(Record):
    """Everything that a verdict depends on, and what it said."""

    candidate: str  # SHA-256 of the source
    operator: str
    suite: str
    target: str
    chip: str = ""  # digest of the target's figures (the profile's, say)
    versions: dict[str, str] = Field(default_factory=dict)  # bringup, python, torch, triton, numpy
    compile_for: tuple[str, ...] = ()
    bounds: dict[str, int] = Field(default_factory=dict)  # of a guest's process, where they were not the usual ones
    guards: tuple[str, ...] = ()
    isolation: Any = ""  # how the worker was kept apart
    dtypes: tuple[str, ...] = ()  # asked for
    # only these indices, in all dtypes or by dtype; None: all
    cases: tuple[int, ...] | dict[str, tuple[int, ...] | None] | None = None
    seed: int = 0
    fresh_seed: int | None = None  # of the guards that draw
    keep_going: bool = False
    device_modes: tuple[str, ...] = ()  # that variables asked for: `race`, `blocking`
    kind: VerdictKind
    guard: str = ""
    failing: CaseId | None = None
    cases_total: int = 0
    passed_by_dtype: dict[str, int] = Field(default_factory=dict)
    # of the cases that passed: the dtypes of each argument's tensors, by position ("0") or keyword ("out")
    argument_dtypes: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    seconds: float = 0.0


class Bundle(Record):
    """An evidence file: the evidence and the candidate's source."""

    evidence: Evidence
    source: str

    def job(self, target: str | None = None) -> JudgeJob:
        """Return the job of judging the candidate again as it was judged, or on another target.

        Raises UnknownName or ConfigError for a target, suite or operator that is not here.
        """
        old = self.evidence
        # Guards that the evidence does not know, from an earlier version, are on.
        off = tuple(guard for guard in IDS if guard not in old.guards) if old.guards else ()
        config = JudgeConfig(compile_for=old.compile_for, without_guards=off)
        return JobTemplate(target or old.target, config).job(
            Candidate(source=self.source),
            get_suite(old.suite).operator(old.operator),
            dtypes=old.dtypes or None,
            cases=old.cases,
            seed=old.seed,
            fresh_seed=old.fresh_seed,
            keep_going=old.keep_going,
        )


def evidence_of(verdict: Verdict, candidate: Candidate, operator: str, suite: str) -> Evidence:
    """Collect the evidence for a verdict that a judge has given."""
    # The suite's name, not its digest, is what makes the operator's cases again.
    return Evidence(
        candidate=candidate.digest,
        operator=operator,
        suite=suite,
        kind=verdict.kind,
        guard=verdict.guard,
        failing=verdict.case,
        cases_total=verdict.cases_total,
        passed_by_dtype=verdict.passed_by_dtype,
        seconds=verdict.seconds,
        **verdict.environment.model_dump(include=set(Evidence.model_fields)),
    )


def write_evidence(path: Path, evidence: Evidence, candidate: Candidate) -> None:
    """Write an evidence file; raises FormatError when it cannot be written."""
    text = Bundle(evidence=evidence, source=candidate.source).model_dump_json(indent=1)
    try:
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise FormatError(f"{path}: the evidence cannot be written: {error.strerror}") from error


def read_evidence(path: Path) -> Bundle:
    """Read an evidence file; raises FormatError for another file, or a source that is not the one that was judged."""
    try:
        bundle = Bundle.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise FormatError(f"{path}: cannot be read: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        raise FormatError(
            f"{path}: not an evidence file: {first['msg']}; `bringup test --evidence` writes one"
        ) from error
    if Candidate(source=bundle.source).digest != bundle.evidence.candidate:
        raise FormatError(f"{path}: the source in it is not the one that the evidence is about (another digest)")
    return bundle


def differences(before: Evidence, after: Evidence) -> list[str]:
    """Say what came out differently; empty when the two verdicts agree."""
    found = []
    if (before.kind, before.guard) != (after.kind, after.guard):
        names = [f"{e.kind}{f' (guard {e.guard})' if e.guard else ''}" for e in (before, after)]
        found.append(f"verdict {names[0]}, now {names[1]}")
    if before.cases_total != after.cases_total:
        found.append(f"{before.cases_total} cases, now {after.cases_total}")
    if before.failing != after.failing and before.kind == after.kind != "passed":
        found.append(f"failed at {before.failing}, now at {after.failing}")
    for dtype in sorted(set(before.passed_by_dtype) | set(after.passed_by_dtype)):
        one, other = before.passed_by_dtype.get(dtype, 0), after.passed_by_dtype.get(dtype, 0)
        if one != other:
            found.append(f"{dtype}: {one} cases passed, now {other}")
    return found


def circumstances(before: Evidence, after: Evidence) -> list[str]:
    """Say what was different about the two judgements: versions, target, guards, modes of the device, isolation."""
    found = [
        f"{name} {before.versions.get(name, 'none')}, now {after.versions.get(name, 'none')}"
        for name in sorted(set(before.versions) | set(after.versions))
        if before.versions.get(name) != after.versions.get(name)
    ]
    if before.target != after.target:
        found.append(f"target {before.target}, now {after.target}")
    elif before.chip != after.chip:
        found.append(f"the figures of {before.target} have changed")
    if set(before.guards) != set(after.guards):
        found += _changed("guard", before.guards, after.guards)
    found += [f"mode {mode} of the device is off now" for mode in before.device_modes if mode not in after.device_modes]
    found += [f"mode {mode} of the device is on now" for mode in after.device_modes if mode not in before.device_modes]
    if before.isolation != after.isolation:
        found.append("the worker's isolation is another")
    return found


def _changed(word: str, before: Iterable[str], after: Iterable[str]) -> list[str]:
    one, other = set(before), set(after)
    return [f"{word} {n} is off now" for n in sorted(one - other)] + [f"{word} {n} is new" for n in sorted(other - one)]
