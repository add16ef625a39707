"""`bringup prompt` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bringup.cli.main import build_app
from bringup.errors import ConfigError, FormatError, UnknownName
from bringup.prompts import SITUATIONS, template_digest
from bringup.verdict import Verdict

runner = CliRunner()


def run(*arguments: str) -> tuple[str, str]:
    result = runner.invoke(build_app(), ["prompt", *arguments])
    if result.exception is not None:
        raise result.exception
    assert result.exit_code == 0
    return result.stdout, result.stderr


@pytest.mark.thinned
@pytest.mark.parametrize("situation", SITUATIONS)
def test_every_situation_renders(situation: str) -> None:
    out, err = run("argmax", "--situation", situation)
    assert out.strip()
    sample = situation not in {"first", "system"}
    assert ("is a sample" in err) == sample
    assert "sample" not in out
    record = json.loads(run("argmax", "--situation", situation, "--json")[0])
    assert record["text"] == out
    assert record["sample"] == sample
    assert record["template_digest"] == template_digest(situation)


def test_first_prompt_of_a_real_operator() -> None:
    out, _ = run("nn.functional.logsigmoid")
    assert "`nn.functional.logsigmoid`" in out
    assert "## Documentation" in out
    assert "### exp" in out
    assert "bfloat16" in run("exp", "--dtype", "bfloat16")[0]


def test_stats() -> None:
    out, _ = run("argmax", "--stats")
    assert "tokens_estimate" in out
    assert "## " not in out


def test_other_chips_that_kernels_are_compiled_for() -> None:
    plain = run("exp")[0]
    assert "also compiled for" not in plain
    for situation in ("first", "refine"):
        chosen = ["exp", "--situation", situation, "--compile-for", "cuda:sm_90", "--compile-for", "hip:gfx942"]
        nvidia, amd = run(*chosen)[0].split("Every kernel is also compiled for ")[1:]
        assert nvidia.startswith("cuda:sm_90, which must succeed")
        assert "- NVIDIA H100: 132 multiprocessors" in nvidia
        assert "32 threads each" in nvidia
        assert amd.startswith("hip:gfx942, which must succeed")
        assert "304 compute units" in amd
        assert "64 threads each" in amd
    with pytest.raises(ConfigError, match=r"--compile-for.*sm_90"):
        run("exp", "--compile-for", "sm_90")


def test_from_files(tmp_path: Path) -> None:
    candidate = tmp_path / "c.py"
    candidate.write_text("def wrapper(input, dim=None, keepdim=False):\n    return input.sum()\n")
    out, err = run("argmax", "--situation", "lint", "--candidate", str(candidate))
    assert "[tensor-method] line 2" in out
    assert not err
    assert "return input.sum()" in run("argmax", "--situation", "refine", "--candidate", str(candidate))[0]
    verdict = tmp_path / "v.json"
    verdict.write_text(Verdict(kind="raised", summary="boom at line 3").model_dump_json())
    out, err = run("argmax", "--verdict", str(verdict))
    assert "boom at line 3" in out
    assert not err
    out, _ = run("argmax", "--situation", "refine", "--candidate", str(candidate), "--verdict", str(verdict))
    assert "boom at line 3" in out
    reply = tmp_path / "r.md"
    reply.write_text("I give up.\n```json\n{}\n```\n")
    assert "no fenced Python block" in run("argmax", "--situation", "format_error", "--candidate", str(reply))[0]


def test_faults(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="argmax"):
        run("argmaxx")
    with pytest.raises(ConfigError, match="first, refine"):
        run("argmax", "--situation", "nonsense")
    with pytest.raises(ConfigError, match="dtype"):
        run("argmax", "--dtype", "float8")
    with pytest.raises(FormatError, match="cannot be read"):
        run("argmax", "--verdict", str(tmp_path / "none.json"))
    (tmp_path / "v.json").write_text('{"kind": "odd", "summary": ""}')
    with pytest.raises(FormatError, match="kind"):
        run("argmax", "--verdict", str(tmp_path / "v.json"))
    (tmp_path / "v.json").write_text('{"kind": "passed", "summary": ""}')
    with pytest.raises(ConfigError, match="passed"):
        run("argmax", "--verdict", str(tmp_path / "v.json"))
    (tmp_path / "v.json").write_text('{"kind": "wrong", "summary": ""}')
    with pytest.raises(ConfigError, match="wrong"):
        run("argmax", "--verdict", str(tmp_path / "v.json"), "--situation", "crash")
    (tmp_path / "c.py").write_text("def f(): pass\n")
    with pytest.raises(FormatError, match="wrapper"):
        run("argmax", "--situation", "refine", "--candidate", str(tmp_path / "c.py"))
