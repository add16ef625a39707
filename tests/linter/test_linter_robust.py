"""The linter on code that was never written for it: it raises on nothing, and it is quick."""

from __future__ import annotations

import ast
import asyncio
import dataclasses
import gc
import inspect
import json
import statistics
import subprocess
import sys
import textwrap
import time
import typing
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bringup.candidate import Candidate
from bringup.dialect import load_dialect
from bringup.linter import lint

DIALECT = load_dialect("triton")
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "module", [ast, asyncio.tasks, dataclasses, inspect, json.decoder, statistics, textwrap, typing, subprocess]
)
def test_real_modules_do_not_break_it(module: ModuleType) -> None:
    source = Path(str(module.__file__)).read_text(encoding="utf-8")
    for rule_set in ("full", "paper"):
        violations = lint(Candidate(source=source), DIALECT, rule_set=rule_set)  # type: ignore[arg-type]
        assert violations
        lines = source.count("\n") + 1
        assert all(1 <= v.line <= lines for v in violations)
        keys = [(v.line, v.column, v.rule, v.message) for v in violations]
        assert keys == sorted(keys)
        assert len(set(keys)) == len(keys)


STATEMENTS = [
    "x = {e}", "x += {e}", "if {e}:\n    x = {e}\nelse:\n    y = {e}", "for x in {e}:\n    y = {e}", "return {e}",
    "while {e}:\n    x = {e}\n    break", "x, *y = {e}", "x = [a for a in ({e}) if ({e})]", "del x",
    "assert {e}",
    "def inner(x={e}, *a, **k):\n    return {e}",
    "match {e}:\n    case [a, *b]:\n        x = a\n    case {{'k': v, **r}}:\n"
    "        x = v\n    case int() | str() as s:\n        x = s",
    "x: int = {e}", "raise ValueError({e})", "x[{e}] = {e}",
    "x = y = {e}", "with {e} as x:\n    pass", "try:\n    x = {e}\nexcept* ValueError as q:\n    x = q",
]  # fmt: skip
EXPRESSIONS = [
    "input", "x", "y", "1", "'s'", "None", "input.shape", "input.sum()", "x.shape[0]", "(x, y)", "[x]", "{1: x}", "{x}",
    "torch.empty(1)", "x @ y", "-x", "not x", "x if y else input", "lambda q: q + x", "f'{x!r:>{y}}'", "(x := y)",
    "x[1:, None]", "x[...]", "isinstance(x, torch.Tensor)", "x is None", "x < y < 2", "x and y or input", "k[(1,)](x)",
    "torch", "tl.sum(x)", "x.T.a.b()", "{**x}", "[*x, *y]", "f(*x, **y)", "{a: b for a, b in x}", "(a for a in x)",
]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(STATEMENTS), st.sampled_from(EXPRESSIONS), st.booleans()), max_size=8))
def test_any_statements_are_linted(parts: list[tuple[str, str, bool]]) -> None:
    host = "\n".join(s.replace("{{", "{").replace("}}", "}").replace("{e}", e) for s, e, k in parts if not k)
    kernel = "\n".join(s.replace("{{", "{").replace("}}", "}").replace("{e}", e) for s, e, k in parts if k)
    source = (
        "@triton.jit\ndef kernel_a(x, y):\n    pass\n"
        + textwrap.indent(kernel, "    ")
        + "\n\ndef wrapper(input, x=None, y=2):\n    pass\n"
        + textwrap.indent(host, "    ")
        + "\n"
    )
    ast.parse(source)
    for violation in lint(Candidate(source=source), DIALECT):
        assert violation.rule != "syntax"


def test_a_200_line_candidate_is_linted_quickly() -> None:
    """The aim is 5 ms; the bound is generous, for a shared machine under load."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        from linter import candidate_of
    finally:
        sys.path.pop(0)
    candidate = candidate_of(200)
    assert 190 <= candidate.source.count("\n") <= 215
    assert lint(candidate, DIALECT) == []
    times = []
    for _ in range(15):
        start = time.perf_counter()
        lint(candidate, DIALECT)
        times.append(time.perf_counter() - start)
    assert statistics.median(times) < 0.050


def test_the_garbage_collector_is_left_as_it_was() -> None:
    assert gc.isenabled()
    lint(Candidate(source="def wrapper(x):\n    return x\n"), DIALECT)
    assert gc.isenabled()


def test_linting_imports_neither_torch_nor_triton() -> None:
    code = (
        "import sys\n"
        "from bringup.candidate import Candidate\nfrom bringup.dialect import load_dialect\n"
        "from bringup.linter import lint\nimport bringup.prompts\n"
        "lint(Candidate(source='def wrapper(x): return x'), load_dialect('triton'))\n"
        "assert not {'torch', 'triton', 'numpy'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
