"""Suites: where operators and their test inputs come from. One file a suite."""

from bringup.suites._additions import FILES, Addition, Additions, additions_of, read_additions, write_additions
from bringup.suites._base import (
    CaseInputs,
    Suite,
    SuiteDefaults,
    argument_dtypes,
    elements_of,
    get_suite,
    suite_of_file,
    suite_of_shapes,
    suites,
)
from bringup.suites._cache import cache_directory, device_locks, torch_build
from bringup.suites._conformance import check_suite
from bringup.suites._devices import on_device
from bringup.suites._opinfo_source import resurvey
from bringup.suites._select import select
from bringup.suites.aten import survey_aten

__all__ = [
    "FILES",
    "Addition",
    "Additions",
    "CaseInputs",
    "Suite",
    "SuiteDefaults",
    "additions_of",
    "argument_dtypes",
    "cache_directory",
    "check_suite",
    "device_locks",
    "elements_of",
    "get_suite",
    "on_device",
    "read_additions",
    "resurvey",
    "select",
    "suite_of_file",
    "suite_of_shapes",
    "suites",
    "survey_aten",
    "torch_build",
    "write_additions",
]
