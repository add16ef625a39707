"""Audit: tests that no model ever sees decide 'trusted'; and whether the gate's own cases prove anything."""

from bringup.audit.adding import add_choices, additions_path, stale_definitions
from bringup.audit.definition import Definition, definition_of, definitions
from bringup.audit.vacuity import TRIVIAL, Choice, Choices, DtypeResult, OperatorResult, choose, survey

__all__ = [
    "TRIVIAL",
    "Choice",
    "Choices",
    "Definition",
    "DtypeResult",
    "OperatorResult",
    "add_choices",
    "additions_path",
    "choose",
    "definition_of",
    "definitions",
    "stale_definitions",
    "survey",
]
