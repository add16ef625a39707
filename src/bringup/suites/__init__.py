"""Suites: where operators and their test inputs come from. One file a suite."""

from bringup.suites._base import CaseInputs, Suite, get_suite, suites

__all__ = ["CaseInputs", "Suite", "get_suite", "suites"]
