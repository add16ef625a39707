"""Wrong functions are refused by OpInfo's cases or by the families that draw values; PyTorch's own by none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from wrong_functions import WRONG, Wrong

from bringup.suites import get_suite
from bringup.suites._opinfo_calls import Call
from bringup.suites.audit._vet import run

sys.path.insert(0, str(Path(__file__).parents[1] / "suites"))
from families_testkit import call_of, family, wrong_result


def test_the_collection_is_broad() -> None:
    assert len(WRONG) >= 60
    assert len({wrong.operator for wrong in WRONG}) >= 40


@pytest.mark.thinned
@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: f"{wrong.operator}-{wrong.dtype}-{wrong.what}")
def test_a_wrong_function_is_refused(wrong: Wrong) -> None:
    sources = (
        lambda: get_suite("opinfo").own_cases(wrong.operator, wrong.dtype),  # type: ignore[attr-defined]
        lambda: family(wrong.operator, "accuracy", wrong.dtype),
        lambda: family(wrong.operator, "values", wrong.dtype),
    )
    for source in sources:
        for case in source():
            try:
                actual = run(Call(wrong.function, case.args, dict(case.kwargs)))
            except Exception:  # a form of the call that the wrong function does not take: no finding
                continue
            if wrong_result(case, actual) is not None:
                return
    raise AssertionError(f"nothing shows that {wrong.operator} is wrong: {wrong.what}")


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "name", ["exp", "lerp", "var", "softmax", "mm", "nn.functional.conv2d", "nn.functional.layer_norm"]
)
def test_pytorchs_own_result_is_right(name: str, threads: int) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for dtype in ("float32", "bfloat16", "float16"):
            for case in get_suite("opinfo").own_cases(name, dtype):  # type: ignore[attr-defined]
                assert wrong_result(case, run(call_of(case))) is None, str(case.case)
    finally:
        torch.set_num_threads(before)
