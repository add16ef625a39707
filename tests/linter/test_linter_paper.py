"""The narrower rule set: exactly the published groups, with their holes, for ablations."""

from __future__ import annotations

import pytest

from bringup.candidate import Candidate
from bringup.dialect import load_dialect
from bringup.linter import RULES, lint

DIALECT = load_dialect("triton")
KERNEL = "@triton.jit\ndef kernel_a(x, B: tl.constexpr):\n    v = tl.load(x + tl.arange(0, B))\n    tl.store(x, v)\n\n"


def rules(body: str, kernel: str = KERNEL) -> set[str]:
    source = f"{kernel}def wrapper(input):\n    {body}\n    return input\n"
    return {v.rule for v in lint(Candidate(source=source), DIALECT, rule_set="paper")}


def test_the_groups() -> None:
    assert {r.id for r in RULES["paper"]} == {
        "module-restrictions",
        "module-scope-restrictions",
        "forbidden-tensor-methods",
        "forbidden-function-arguments",
        "forbidden-functions",
        "format",
    }


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ("torch.sum(input)", "module-restrictions"),
        ("torch.linalg.svd(input)", "module-restrictions"),
        ("tl.arange(0, 4)", "module-scope-restrictions"),
        ("input.cpu()", "forbidden-tensor-methods"),
        ("input.cuda()", "forbidden-tensor-methods"),
        ("torch.device('cpu')", "forbidden-function-arguments"),
        ("torch.device(type='cuda')", "forbidden-function-arguments"),
        ("eval('1')", "forbidden-functions"),
        ("exec('1')", "forbidden-functions"),
        ("compile('1', '', 'exec')", "forbidden-functions"),
        ("import os", "format"),
    ],
)
def test_what_it_catches(body: str, rule: str) -> None:
    assert rules(body) == {rule}


def test_tl_allowlist_and_names() -> None:
    assert rules("pass", KERNEL.replace("tl.load", "tl.log1p")) == {"module-restrictions"}
    assert rules("pass", KERNEL.replace("kernel_a", "device_a")) == {"module-scope-restrictions", "format"}
    assert "format" in {v.rule for v in lint(Candidate(source=KERNEL), DIALECT, rule_set="paper")}  # no wrapper


@pytest.mark.parametrize(
    "hole",
    [
        "input.sum()",
        "input.mean()",
        "input @ input",
        "input + 1",
        "input.to('cpu')",
        "torch.empty(3, device='cpu')",
        "getattr(torch, 'special').airy_ai(input)",
        "__import__('os')",
        "globals()",
        "t = torch; t.sum(input)",
        "torch.zeros_like(input)",
        "torch.tensor(1)",
        "float(input)",
        "kernel_a.fn",
    ],
)
def test_the_published_holes_stay_open_here_and_are_closed_in_the_full_set(hole: str) -> None:
    assert rules(hole) == set()
    source = f"{KERNEL}def wrapper(input):\n    {hole}\n    kernel_a[(1,)](input, B=4)\n    return input\n"
    assert lint(Candidate(source=source), DIALECT)
