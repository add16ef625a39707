"""Commands that judge nothing start fast: they import neither torch nor Triton."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROBE = """
import sys
from bringup.cli.main import main
sys.argv = ["bringup", *{arguments!r}]
try:
    main()
except SystemExit as stop:
    assert not stop.code, stop.code
heavy = [name for name in ("torch", "triton", "llvmlite") if name in sys.modules]
print("HEAVY", heavy)
"""


@pytest.mark.thinned
@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["ops", "list"],
        ["ops", "show", "exp"],
        ["ops", "show", "exp", "--docs"],
        ["prompt", "exp"],
        ["prompt", "exp", "--target", "vpe:pe64"],
        ["runs", "--runs-dir", "/nonexistent-folder-of-runs"],
    ],
)
def test_no_torch(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROBE.format(arguments=arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip().endswith("HEAVY []")


def test_a_plug_in_for_triton_does_not_load_the_rest() -> None:
    code = (
        "import sys, triton; "
        "print(sorted(m for m in sys.modules if m.startswith('bringup') and not m.startswith('bringup.vpe')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['bringup']"
    code = "import sys, triton; print('llvmlite' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
