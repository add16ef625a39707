"""`bringup knowledge`: as typed, with what is wrong said in a line."""

from __future__ import annotations

import json
import shutil

import pytest
from typer.testing import CliRunner

from bringup.cli.main import build_app
from bringup.errors import BringupError
from bringup.knowledge import load, shipped

RUNNER = CliRunner()


def run(*arguments):
    return RUNNER.invoke(build_app(), ["knowledge", *map(str, arguments)])


def error(*arguments):
    done = run(*arguments)
    assert isinstance(done.exception, BringupError), done.output
    assert done.exception.exit_code == 2
    return str(done.exception)


def test_list_narrows():
    every = json.loads(run("list", "--json").stdout)
    assert len(every) == len(load().files)
    some = json.loads(run("list", "--platform", "vpe:pe64", "--concern", "special", "--json").stdout)
    assert 0 < len(some) < len(every)
    assert all("special" in one["concerns"] and {"any", "vpe"} & set(one["platforms"]) for one in some)
    assert json.loads(run("list", "--unreviewed", "--json").stdout) == []
    assert f"of {len(every)} files" in run("list", "--section", "samples").stdout


def test_search_by_text_leaves_out_what_has_none_of_the_words():
    found = json.loads(run("search", "maxnreg", "--json").stdout)["chosen"]
    assert found[0]["path"] == "hardware/nvidia/registers.md"
    assert all("maxnreg" in load().get(one["path"]).text for one in found)


def test_search_as_a_prompt_does(tmp_path):
    file = tmp_path / "mm.py"
    file.write_text("@triton.jit\ndef kernel_mm(a, b):\n    tl.dot(a, b)\n\n\ndef wrapper(a, b):\n    return a\n")
    arguments = ("--target", "cuda:sm_90", "--concern", "compute", "--op", "mm", "--file", file, "--tokens", 500)
    found = json.loads(run("search", *arguments, "--json").stdout)
    assert found["tokens"] <= 500
    assert any("uses tl.dot" in why for why in found["chosen"][0]["why"])
    assert found["left_out"]
    full = run("search", *arguments, "--full").stdout
    assert all(f"### {one['title']}" in full for one in found["chosen"])


def test_what_cannot_be_searched():
    assert "nothing to search by" in error("search")
    assert "unknown concern 'memry'; did you mean memory?" in error("search", "--concern", "memry")
    assert "no such folder" in error("search", "x", "--knowledge", "/none/such")
    assert "cannot be read" in error("search", "--file", "/none/such.py")
    done = run("search", "zzzz")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "nothing fits" in done.stderr
    assert "no file is about the platform 'nvida'; did you mean nvidia" in run("search", "--target", "nvida").stderr


def test_show():
    out = run("show", "hardware/vpe/pe64").stdout
    assert "sources   src/bringup/vpe/profiles/pe64.yaml" in out
    assert json.loads(run("show", "masks", "--json").stdout)["path"] == "guidance/triton/masks.md"
    assert "did you mean" in error("show", "guidance/triton/mask")


def test_a_folder_is_checked_mended_and_used(tmp_path):
    folder = tmp_path / "kb"
    shutil.copytree(shipped() / "constraints", folder / "constraints")
    (folder / "notes.md").write_text("My notes\n")
    done = run("lint", folder)
    assert done.exit_code == 1
    assert done.stdout.splitlines()[0].startswith("notes.md: no front matter")
    assert "index.md: missing" in done.stdout
    assert "left out: notes.md" in run("list", "--knowledge", folder).stderr
    (folder / "notes.md").unlink()
    assert run("index", folder).exit_code == 0
    assert run("lint", folder).exit_code == 0
    assert json.loads(run("lint", folder, "--json").stdout)["faults"] == []


@pytest.mark.parametrize("command", ["lint", "index"])
def test_a_folder_without_files(tmp_path, command):
    assert error(command, tmp_path)
    assert "no such folder" in error(command, tmp_path / "none")
