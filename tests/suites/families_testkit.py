"""What tests of the audit's families share: the cases of one family, and which of them notice a mistake."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from bringup.judge._compare import compare
from bringup.suites import CaseInputs
from bringup.suites._opinfo_calls import Call
from bringup.suites.audit import FAMILIES
from bringup.suites.audit._build import family_cases
from bringup.suites.audit._subject import Subject
from bringup.suites.audit._vet import run
from bringup.suites.opinfo import OpInfoSuite


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
        if case.raises or compare(run(call_of(case)), actual, case.rtol, case.atol) is not None:
            found.append(case.title)
    return found
