"""What a stored audit adds to a run's report: 'trusted' beside 'covered'."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from bringup.audit import AUDIT_FOLDER, AuditRecord, load_all
from bringup.report.model import AuditCounts, OperatorRow, share
from bringup.store import Run


def audits_of(run: Run) -> Mapping[str, AuditRecord]:
    """Return the audits kept in the run's folder, by operator; raises StoreError for a broken one."""
    return load_all(run.folder / AUDIT_FOLDER)


def with_audit(row: OperatorRow, record: AuditRecord | None) -> OperatorRow:
    """Add to a covered operator what the audit of its candidate says; an audit of another candidate says nothing."""
    if record is None or row.status != "covered" or record.basis.candidate != row.candidate:
        return row
    if record.standing in {"not applicable", "gate not judged", "no audit"}:
        return row
    words = ", ".join(f"{family} {count}" for family, count in record.families.items())
    if record.covered is False and record.gate is not None:
        words = f"the gate refuses it now: {record.gate.summary}"
    return row.model_copy(update={"trusted": record.trusted, "audit": words})


def audit_counts(operators: Sequence[OperatorRow], audits: Mapping[str, AuditRecord]) -> AuditCounts | None:
    """Count the covered operators with an audit; None when there is none."""
    audited = [row for row in operators if row.trusted is not None]
    if not audited:
        return None
    trusted = sum(bool(row.trusted) for row in audited)
    families: Counter[str] = Counter()
    for row in audited:
        families.update(audits[row.name].families.keys())
    return AuditCounts(
        audited=len(audited),
        trusted=trusted,
        of_audited=share(trusted, len(audited)),
        of_covered=share(trusted, sum(row.status == "covered" for row in operators)),
        families=dict(families.most_common()),
    )
