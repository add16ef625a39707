"""The example: other people's kernels, from a folder that knows nothing of this project."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "triton_tutorials.py"


@pytest.mark.long
def test_tutorial_kernels_run_on_the_chip_without_limits(tmp_path):
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 5
    assert all(": right on vpe:0" in line for line in lines)


def test_kernels_themselves_know_nothing_of_bringup():
    text = EXAMPLE.read_text(encoding="utf-8")
    kernels = text[text.index("# --- vector add") : text.index("CHECKS:")]
    assert "bringup" not in kernels
    assert "vpe" not in kernels
