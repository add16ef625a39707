"""Audit: tests that no model ever sees decide 'trusted'; and whether the gate's own cases prove anything."""

from bringup.audit.adding import add_choices, additions_path, forget_choices, stale_definitions
from bringup.audit.definition import Definition, definition_of, definitions
from bringup.audit.publish import MOST_PUBLISHED, Published, default_path, publish
from bringup.audit.records import (
    AUDIT_FOLDER,
    STANDINGS,
    AuditRecord,
    Basis,
    Example,
    Standing,
    Totals,
    family_of_result,
    load_all,
    totals_of,
)
from bringup.audit.subjects import Subject, Subjects, of_file, of_kernels, of_library, of_recordings, of_run
from bringup.audit.vacuity import TRIVIAL, Choice, Choices, DtypeResult, OperatorResult, choose, survey
from bringup.audit.work import Options, audit, cases_digest

__all__ = [
    "AUDIT_FOLDER",
    "MOST_PUBLISHED",
    "STANDINGS",
    "TRIVIAL",
    "AuditRecord",
    "Basis",
    "Choice",
    "Choices",
    "Definition",
    "DtypeResult",
    "Example",
    "OperatorResult",
    "Options",
    "Published",
    "Standing",
    "Subject",
    "Subjects",
    "Totals",
    "add_choices",
    "additions_path",
    "audit",
    "cases_digest",
    "choose",
    "default_path",
    "definition_of",
    "definitions",
    "family_of_result",
    "forget_choices",
    "load_all",
    "of_file",
    "of_kernels",
    "of_library",
    "of_recordings",
    "of_run",
    "publish",
    "stale_definitions",
    "survey",
    "totals_of",
]
