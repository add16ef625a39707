"""What a prompt and `bringup measure` say of a diagnosis: figures, lines of the source, what could not be used."""

from __future__ import annotations

import pytest

from bringup.cli.measure import _print
from bringup.judge import CaseTiming, Diagnosis, LineCost, Measured, Times
from bringup.search.prompting import _diagnosis
from bringup.verdict import CaseId, Verdict


def measured(**diagnosis: object) -> Measured:
    times = Times(median=1e-4, low=1e-4, high=1e-4)
    said = Diagnosis.model_validate({"bound": "memory", "summary": "Bytes.", **diagnosis})
    case = CaseTiming(case=CaseId(operator="exp", dtype="float32", index=0), device=times, diagnosis=said)
    return Measured(verdict=Verdict(kind="passed", summary="passed"), cases=(case,), device="cuda")


LINES = (
    LineCost(line=5, text="  v = tl.load(x + i)", figures={"% of the modelled time": 62.5, "DMA bytes": 4096}),
    LineCost(line=9, text="tl.store(y + i, v)", figures={"% of the modelled time": 20}),
)
MISSING = ("ncu: not installed (no `ncu` in the path)", f"proton: failed: {'why ' * 80}")


def test_a_prompt_names_the_lines_and_what_is_missing_in_one_short_line() -> None:
    said = _diagnosis(measured(lines=LINES, missing=MISSING))
    assert said[1] == "line 5, `v = tl.load(x + i)`: % of the modelled time 62.5, DMA bytes 4096"
    assert said[2].startswith("line 9, ")
    assert said[3].startswith("not known are the figures of what could not be used: ncu: not installed (no `ncu`")
    assert len(said[3]) < 300
    assert len(said) == 4


def test_a_prompt_says_nothing_of_tools_where_none_is_missing() -> None:
    assert _diagnosis(measured()) == ("bound by memory: Bytes.",)


def test_measure_prints_the_lines(capsys: pytest.CaptureFixture[str]) -> None:
    _print(measured(lines=LINES))
    printed = " ".join(capsys.readouterr().out.split())
    assert "line 5, `v = tl.load(x + i)`: % of the modelled time 62.5" in printed
