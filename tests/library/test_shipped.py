"""The library that ships: its files are what its index says, and a small GPT trains on it with no fall-back."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bringup.library import Library

ROOT = Path(__file__).parents[2]


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, cwd=ROOT, check=False,
        env={key: value for key, value in os.environ.items() if key != "BRINGUP_LIBRARY"} | environment,
    )  # fmt: skip


def check_training(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Losses are those of the CPU, and kernels served all calls."""
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert next(float(line.split()[-1]) for line in lines if line.startswith("largest")) < 1e-4
    assert not any("computed by the CPU" in line for line in lines)
    assert sum("calls of" in line and "kernels of" in line for line in lines) == 1
    return lines


def test_its_files_are_what_the_index_says() -> None:
    done = run("-m", "bringup.cli.main", "library", "verify", "--library", "kernels")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_gpt_trains_beside_the_cpu() -> None:
    check_training(run("examples/train_gpt.py", "--steps", "3"))


@pytest.mark.long
@pytest.mark.parametrize("sparse", [[], ["--sparse"]])
def test_dlrm_trains_beside_the_cpu(sparse: list[str]) -> None:
    check_training(run("examples/train_dlrm.py", "--steps", "2", *sparse))


@pytest.mark.long
def test_a_model_trains_sealed(tmp_path: Path) -> None:
    """As it is by default: wrappers run in guests, and what they asked for runs here in the next process, too."""
    where = {"BRINGUP_SEALED": "1", "XDG_CACHE_HOME": str(tmp_path)}
    for guests in (True, False):
        lines = check_training(run("examples/train_dlrm.py", "--steps", "2", **where))
        asked, kept = (
            int(word) for line in lines if line.startswith("sealed: ") for word in line.split() if word.isdigit()
        )
        assert (asked > 0) == guests
        assert kept > 0


@pytest.mark.long
def test_a_missing_kernel_is_an_error_and_not_the_cpu(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "kernels", tmp_path / "kernels")
    removed = run("-m", "bringup.cli.main", "library", "remove", "mul.out", "--library", str(tmp_path / "kernels"))
    assert removed.returncode == 0, removed.stdout + removed.stderr
    done = run("examples/train_gpt.py", "--steps", "1", "--library", str(tmp_path / "kernels"))
    assert done.returncode != 0
    assert "no kernel for aten::mul.out" in done.stderr
    done = run("examples/train_dlrm.py", "--steps", "1", "--library", str(tmp_path / "kernels"), "--fallback")
    assert done.returncode == 1, done.stderr
    assert "mul.out" in next(line for line in done.stdout.splitlines() if "computed by the CPU" in line)


def test_commands_read_what_ships_where_there_is_no_other(tmp_path: Path) -> None:
    def here(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "bringup.cli.main", *arguments],
            capture_output=True, text=True, cwd=tmp_path, check=False,
            env={key: value for key, value in os.environ.items() if key != "BRINGUP_LIBRARY"},
        )  # fmt: skip

    done = here("library", "list", "add.out", "--json")
    assert json.loads(done.stdout)["library"] == str(ROOT / "kernels"), done.stderr
    done = here("library", "remove", "add.out")  # what changes a library means the one here alone
    assert done.returncode == 2
    assert "no kernel library" in done.stderr
    assert (ROOT / "kernels" / "add.out" / "kernel.py").is_file()
    Library.create(tmp_path / "kernels", "vpe:pe64")
    assert json.loads(here("library", "list", "--json").stdout)["library"] == str((tmp_path / "kernels").resolve())
