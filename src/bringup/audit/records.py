"""What an audit leaves behind: one JSON file an operator, apart from the run's own store, never in a prompt."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, get_args

from pydantic import Field, ValidationError

from bringup.errors import StoreError
from bringup.files import file_stem, write_atomically
from bringup.verdict import NO_CASE, CaseResult, Record, Verdict

FORMAT = 1
AUDIT_FOLDER = "audit"  # in a run's folder
# trusted: the gate and every case of the audit passed. not covered: the gate refuses the candidate. no audit: the audit
# has no case for the operator. not judged: the judge itself failed on it.
Standing = Literal["trusted", "failed", "not covered", "not applicable", "gate not judged", "no audit", "not judged"]
STANDINGS: tuple[Standing, ...] = get_args(Standing)


class Basis(Record):
    """What an audit's outcome hangs on: with the same basis it need not be judged again."""

    candidate: str  # digest of the source
    target: str
    suite: str  # of the gate: "opinfo", or "opinfo:PATH" with a file of additions
    dtypes: tuple[str, ...]
    seed: int = 0
    gate_cases: dict[str, int] = Field(default_factory=dict)  # the gate as it was, added cases included
    draws: dict[str, dict[str, int]] = Field(default_factory=dict)  # dtype -> family -> fresh draws of the audit
    version: str = ""  # of bringup
    cases: str = ""  # digest of the code that builds the audit's cases


class Example(Record):
    """The first failing case of one family, judged alone: the whole verdict, with call and mismatch."""

    family: str
    verdict: Verdict


class AuditRecord(Record):
    """The audit of one candidate."""

    format: Literal[1] = 1
    operator: str
    origin: str  # where the candidate comes from, for readers
    basis: Basis
    gate: Verdict | None = None  # None: not judged here
    covered: bool | None = None  # by the gate judged here or, without one, by the candidate's run
    audit: Verdict | None = None  # None: the candidate is not worth it (the linter refuses it)
    examples: tuple[Example, ...] = ()
    seconds: float = 0.0
    fault: str = ""  # what the judge itself failed on; such a record is never stored

    @property
    def standing(self) -> Standing:
        """What the audit says of the candidate."""
        if self.fault:
            return "not judged"
        caseless = self.audit is not None and self.audit.kind == "untested" and self.audit.summary == NO_CASE
        if "untested" in {v.kind for v in (self.gate, None if caseless else self.audit) if v is not None}:
            return "not applicable"
        if self.covered is False:
            return "not covered"
        if caseless:
            return "no audit"
        if self.audit is None or not self.audit.passed:
            return "failed"
        return "trusted" if self.covered else "gate not judged"

    @property
    def trusted(self) -> bool:
        """Whether the gate and every case of the audit passed."""
        return self.standing == "trusted"

    @property
    def families(self) -> dict[str, int]:
        """Failing cases of the audit by family, in the order in which they were judged."""
        failures = self.audit.failures if self.audit is not None else ()
        return dict(Counter(family_of_result(result) for result in failures))

    @property
    def skipped(self) -> dict[str, int]:
        """Cases of the audit that were not asked, by reason."""
        return self.audit.environment.skipped if self.audit is not None else {}


def family_of_result(result: CaseResult) -> str:
    """Return the audit family of a failing case: what its title begins with."""
    return result.title.partition(":")[0] or "other"


class Totals(Record):
    """An audit of several candidates in numbers."""

    candidates: int
    standings: dict[str, int]
    cases: int  # of the audit that were judged
    cases_failed: int
    families: dict[str, int]  # family -> failing cases
    operators_by_family: dict[str, int]  # family -> operators with failing cases
    guards: dict[str, int]  # guard -> failing cases that it found
    skipped: dict[str, int]  # reason -> cases that were not asked


def totals_of(records: Iterable[AuditRecord]) -> Totals:
    """Count over all records."""
    records = list(records)
    families: Counter[str] = Counter()
    operators: Counter[str] = Counter()
    guards: Counter[str] = Counter()
    skipped: Counter[str] = Counter()
    standings = dict.fromkeys(STANDINGS, 0)
    cases = failed = 0
    for record in records:
        standings[record.standing] += 1
        families.update(record.families)
        operators.update(record.families.keys())
        skipped.update(record.skipped)
        if record.audit is not None:
            cases += record.audit.cases_total
            failed += len(record.audit.failures)
            guards.update(result.guard for result in record.audit.failures if result.guard)
    return Totals(
        candidates=len(records),
        standings={name: count for name, count in standings.items() if count},
        cases=cases,
        cases_failed=failed,
        families=dict(families.most_common()),
        operators_by_family=dict(operators.most_common()),
        guards=dict(guards.most_common()),
        skipped=dict(skipped.most_common()),
    )


def record_file(folder: Path, operator: str) -> Path:
    """Return the file of an operator's audit."""
    return folder / f"{file_stem(operator)}.json"


def save(folder: Path, record: AuditRecord, source: str) -> None:
    """Write a record, and beside it the candidate's source as OP.py; each in one step. Raises StoreError.

    With the sources the folder is a library: `bringup run --refine-from DIR` starts from them.
    """
    path = record_file(folder, record.operator)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in ((path.with_suffix(".py"), source), (path, record.model_dump_json(indent=1) + "\n")):
            write_atomically(file, text.encode())
    except OSError as error:
        raise StoreError(f"audit {path}: cannot be written: {error.strerror}; give a folder with --out") from error


def load(path: Path) -> AuditRecord:
    """Read one record; raises StoreError."""
    try:
        return AuditRecord.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise StoreError(f"audit {path}: cannot be read: {error.strerror}") from error
    except (ValueError, ValidationError) as error:
        raise StoreError(f"audit {path}: not a record of an audit; delete it and audit again") from error


def load_all(folder: Path) -> Mapping[str, AuditRecord]:
    """Read every record of a folder by operator, sorted; an absent folder has none. Raises StoreError."""
    records = [load(path) for path in sorted(folder.glob("*.json"))] if folder.is_dir() else []
    return {record.operator: record for record in records}
