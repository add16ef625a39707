"""What tests of the audit's families share: the cases of one family, and which of them notice a mistake."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch

from bringup.accuracy import copy_arguments
from bringup.judge._case_limits import limits_of, output_limits
from bringup.judge._compare import compare
from bringup.suites import CaseInputs
from bringup.suites._opinfo_calls import Call
from bringup.suites.audit import FAMILIES
from bringup.suites.audit._build import family_cases
from bringup.suites.audit._subject import Subject
from bringup.suites.audit._vet import run
from bringup.suites.opinfo import OpInfoSuite
from bringup.verdict import Mismatch


@cache
def family(name: str, which: str, dtype: str = "float32") -> Sequence[CaseInputs]:
    return family_cases(subject(name, dtype), which, FAMILIES[which], 0, 0)


@cache
def subject(name: str, dtype: str) -> Subject:
    gate = OpInfoSuite()
    return Subject(gate.operator(name), gate.facts[name], dtype, 0)


def call_of(case: CaseInputs) -> Call:
    return Call(case.reference, case.args, dict(case.kwargs))


def noticed(cases: Sequence[CaseInputs], wrong: Callable[..., Any]) -> list[str]:
    """Return the titles of the cases on which `wrong` differs from PyTorch, or raises where PyTorch does not."""
    found = []
    for case in cases:
        try:
            actual = run(Call(wrong, case.args, dict(case.kwargs)))
        except Exception:
            if not case.raises:
                found.append(case.title)
            continue
        if case.raises or wrong_result(case, actual) is not None:
            found.append(case.title)
    return found


def wrong_result(case: CaseInputs, actual: Any) -> Mismatch | None:
    """Return what is wrong with a result, by the rules of the judge; arguments and memory apart."""
    args, kwargs = copy_arguments(case.args, dict(case.kwargs))
    with torch.no_grad():
        expected = case.reference(*args, **kwargs)
    limits = limits_of(case, (expected, args, kwargs))
    if case.postprocess is not None:
        structural = compare(expected, actual, float("inf"), float("inf"))
        if structural is not None and structural.aspect != "values":
            return structural
        expected, actual = case.postprocess(expected), case.postprocess(actual)
    return compare(expected, actual, case.rtol, case.atol, limits=output_limits(case, limits, expected))
