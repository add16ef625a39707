"""Suites: where operators and their test inputs come from. One file a suite."""

from bringup.suites._base import CaseInputs, Suite, get_suite, suites
from bringup.suites._conformance import check_suite
from bringup.suites._devices import on_device
from bringup.suites._select import select
from bringup.suites.opinfo import resurvey

__all__ = ["CaseInputs", "Suite", "check_suite", "get_suite", "on_device", "resurvey", "select", "suites"]
