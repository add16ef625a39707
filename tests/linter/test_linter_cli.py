"""`bringup lint` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bringup.cli._judging import read_candidate
from bringup.cli.main import build_app
from bringup.errors import ConfigError, FormatError, UnknownName

CLEAN = """@triton.jit
def kernel_a(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


def wrapper(input):
    out = torch.empty_like(input)
    kernel_a[(1,)](input, out, input.numel(), B=64)
    return out
"""
LEAKY = CLEAN.replace("return out", "return out.sum()")
runner = CliRunner()


def run(*arguments: str, stdin: str | None = None) -> tuple[int, str]:
    result = runner.invoke(build_app(), ["lint", *arguments], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def test_clean_file(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(CLEAN)
    assert run(str(path)) == (0, "clean\n")
    code, output = run(str(path), "--json")
    assert code == 0
    assert json.loads(output)["violations"] == []


def test_a_byte_order_mark_and_other_ends_of_lines_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(("\ufeff" + CLEAN).replace("\n", "\r\n").encode())
    assert run(str(path)) == (0, "clean\n")
    assert read_candidate(path).source == CLEAN


def test_violations_show_source_and_caret(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(LEAKY)
    code, output = run(str(path))
    assert code == 1
    assert "[tensor-method]" in output
    assert "return out.sum()" in output
    assert "1 violation of 1 rule" in output
    lines = output.splitlines()
    at = next(i for i, line in enumerate(lines) if "| " in line and "out.sum()" in line)
    assert lines[at + 1].index("^") == lines[at].index("out.sum()")
    assert run(str(path), "--rules", "paper") == (0, "clean\n")


def test_json_and_operator(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(CLEAN)
    code, output = run(str(path), "--op", "argmax", "--json")
    assert code == 1
    record = json.loads(output)
    assert record["operator"] == "argmax"
    assert [v["rule"] for v in record["violations"]] == ["wrapper-signature"]
    assert "dim" in record["violations"][0]["message"]


def test_a_reply_is_parsed_first(tmp_path: Path) -> None:
    path = tmp_path / "reply.md"
    path.write_text(f"Here:\n```python\n{CLEAN}```\n")
    assert run(str(path))[0] == 0
    assert run("-", stdin=f"```python\n{LEAKY}```\n")[0] == 1
    code, output = run("-", stdin="```python\ndef wrapper(x:\n```\n")
    assert code == 1
    assert "[format-syntax]" in output
    assert run("-", stdin="def f(x): pass\n")[1].count("[format-no-wrapper]") == 1


def test_rules_are_listed() -> None:
    code, output = run("--list-rules", "--json")
    assert code == 0
    assert "tensor-method" in json.loads(output)
    assert "tl-scope" in run("--list-rules")[1]


def test_faults(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no file"):
        run()
    with pytest.raises(FormatError, match="cannot be read"):
        run(str(tmp_path / "none.py"))
    (tmp_path / "b.py").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(FormatError, match="UTF-8"):
        run(str(tmp_path / "b.py"))
    (tmp_path / "a.py").write_text(CLEAN)
    with pytest.raises(ConfigError, match="full or paper"):
        run(str(tmp_path / "a.py"), "--rules", "none")
    with pytest.raises(UnknownName, match="did you mean cuda"):
        run(str(tmp_path / "a.py"), "--target", "cudaa")
    with pytest.raises(UnknownName, match="argmax"):
        run(str(tmp_path / "a.py"), "--op", "argmaxx")


@pytest.mark.parametrize("rule_set", ["full", "paper"])
def test_the_documentation_lists_every_rule(rule_set: str) -> None:
    from bringup.linter import RULES

    text = (Path(__file__).parents[2] / "docs" / "linter.md").read_text(encoding="utf-8")
    for rule in RULES[rule_set]:  # type: ignore[index]
        assert f"| `{rule.id}` | {rule.title} |" in text
