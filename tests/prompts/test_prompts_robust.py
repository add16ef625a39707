"""Prompts on extreme material: nothing raises, nothing grows without bounds, no secret gets out."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bringup.candidate import Candidate, FormatProblem
from bringup.dialect import load_dialect
from bringup.operators import CallShape, DocNode, Operator
from bringup.prompts import SITUATION_OF, feedback_prompt, first_prompt, refine_prompt, summarise_prompt
from bringup.prompts._text import clean, fenced, number, oneline, short
from bringup.verdict import CaseId, Difference, Mismatch, TensorSummary, Verdict, Violation

DIALECT = load_dialect("triton")

text = st.one_of(
    st.text(max_size=80),
    st.sampled_from(
        ["", "{{ 7 * 7 }}", "{% raise %}", "```", "````python\n", "\x1b[31m", "\0", "\ud800", "|", "x" * 14_000]
    ),
)
floats = st.one_of(st.none(), st.floats(), st.sampled_from([float("nan"), float("inf"), 1e308, -0.0, 5e-324]))
counts = st.integers(min_value=0, max_value=2**70)
shapes = st.lists(st.integers(min_value=-3, max_value=2**63), max_size=6).map(tuple)
summaries = st.builds(
    TensorSummary, dtype=text, shape=shapes, stride=shapes, minimum=floats, maximum=floats, mean=floats, nans=counts,
    infs=counts, values=st.one_of(st.none(), text),
)  # fmt: skip
violations = st.builds(Violation, rule=text, message=text, line=st.integers(), advice=text, source=text)
mismatches = st.builds(
    Mismatch,
    aspect=st.sampled_from(["structure", "dtype", "shape", "stride", "values", "aliasing", "mutation", "device"]),
    output=text, message=text, expected=st.one_of(st.none(), summaries), actual=st.one_of(st.none(), summaries),
    max_abs_error=floats, mean_abs_error=floats, max_rel_error=floats, mismatched=st.one_of(st.none(), counts),
    elements=st.one_of(st.none(), counts), rtol=floats, atol=st.floats(),
    first=st.lists(st.builds(Difference, index=shapes, expected=text, actual=text), max_size=30).map(tuple),
)  # fmt: skip
verdicts = st.builds(
    Verdict,
    kind=st.sampled_from([*SITUATION_OF, "lint"]), summary=text,
    case=st.one_of(st.none(), st.builds(CaseId, operator=text, dtype=text, index=st.integers())),
    call=text, inputs=st.lists(summaries, max_size=16).map(tuple),
    violations=st.lists(violations, max_size=24).map(tuple),
    mismatch=st.one_of(st.none(), mismatches), exception=text, log=text, kernel=text, compiled_for=text,
    cases_passed=counts, cases_total=counts, passed_by_dtype=st.dictionaries(text, counts, max_size=6),
    environment=st.just({"OPENAI_API_KEY": "very-secret-value"}),
)  # fmt: skip
operators = st.builds(
    Operator, name=text, suite=text, category=st.just("Other"), case_counts=st.dictionaries(text, counts, max_size=3),
    overloads=st.lists(text, max_size=4).map(tuple), signature=text, mutates=st.booleans(),
    call_shapes=st.lists(
        st.builds(CallShape, positional=st.integers(0, 9), keywords=st.lists(text, max_size=3).map(tuple)), max_size=30
    ).map(tuple),
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(operators, verdicts, text, text)
def test_feedback_never_raises(operator: Operator, verdict: Verdict, debugger: str, summary: str) -> None:
    prompt = feedback_prompt(operator, verdict, DIALECT, debugger=debugger, summary=summary)
    assert prompt.text.strip()
    assert len(prompt.text) < 250_000
    assert "very-secret-value" not in prompt.text
    assert "\x1b" not in prompt.text
    prompt.text.encode("utf-8")


@settings(max_examples=15, deadline=None)
@given(operators, st.lists(st.builds(DocNode, name=text, text=text), max_size=8), text)
def test_tasks_never_raise(operator: Operator, docs: list[DocNode], source: str) -> None:
    assert first_prompt(operator, docs, DIALECT, target="t").text
    assert refine_prompt(operator, docs, DIALECT, Candidate(source=source), target="t").text
    assert summarise_prompt(operator, source).text
    problem = FormatProblem(kind="syntax", explanation=source)
    assert feedback_prompt(operator, problem, DIALECT).text


def test_template_markup_in_data_stays_text() -> None:
    operator = Operator(name="x", suite="s", category="Other")
    verdict = Verdict(kind="raised", summary="{{ 7 * 7 }}", exception="{% for x in y %}")
    rendered = feedback_prompt(operator, verdict, DIALECT).text
    assert "{{ 7 * 7 }}" in rendered
    assert "{% for x in y %}" in rendered


def test_secrets_of_the_environment_never_appear(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1234567890abcdef")
    monkeypatch.setenv("MY_DATABASE_PASSWORD", "correct-horse-battery")
    monkeypatch.setenv("HARMLESS", "visible-text")
    operator = Operator(name="x", suite="s", category="Other")
    verdict = Verdict(
        kind="raised",
        summary="KeyError: sk-1234567890abcdef",
        exception="token=correct-horse-battery visible-text",
        environment={"OPENAI_API_KEY": "sk-1234567890abcdef", "host": "machine-7"},
    )
    rendered = feedback_prompt(operator, verdict, DIALECT).text
    assert "sk-1234567890abcdef" not in rendered
    assert "correct-horse-battery" not in rendered
    assert "machine-7" not in rendered
    assert "[redacted]" in rendered
    assert "visible-text" in rendered


def test_long_logs_are_cut_in_the_middle() -> None:
    operator = Operator(name="x", suite="s", category="Other")
    log = "first line\n" + "noise\n" * 50_000 + "last line\n"
    rendered = feedback_prompt(operator, Verdict(kind="compile", summary="", log=log), DIALECT).text
    assert "first line" in rendered
    assert "last line" in rendered
    assert "characters left out" in rendered
    assert len(rendered) < 20_000


def test_helpers() -> None:
    assert short("abc", 5) == "abc"
    assert len(short("x" * 10_000, 1000)) < 1100
    assert clean("a\r\nb\x1b[1;31mc\x07") == "a\nbc"
    assert clean("/home/u/.venv/lib/python3/site-packages/triton/a.py") == "site-packages/triton/a.py"
    assert fenced("a ``` b", "") == "````\na ``` b\n````"
    assert oneline("a |\n b") == "a \\| b"
    assert [number(v) for v in (1.0, 0.1, float("nan"), float("-inf"), 1e300)] == ["1", "0.1", "nan", "-inf", "1e+300"]
