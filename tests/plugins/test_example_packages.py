"""The packages of `examples/` as their users meet them: built, installed beside bringup, found by their entry points.

Nothing of them is on the path of this process; each command is a process of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KERNEL = ROOT / "examples" / "bringup-fused" / "candidates" / "scale_shift.py"
PACKAGES = ("bringup-loom", "bringup-fused")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which both packages are built and installed; nothing is fetched."""
    place = tmp_path_factory.mktemp("site")
    sources = tmp_path_factory.mktemp("sources")  # building leaves files behind
    for package in PACKAGES:
        shutil.copytree(ROOT / "examples" / package, sources / package)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps", "--no-index"]
    done = subprocess.run(
        [*pip, "--target", str(place), *(str(sources / package) for package in PACKAGES)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return place


def bringup(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(site), "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, "-m", "bringup.cli.main", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=site,
    )


def test_they_are_found(site: Path) -> None:
    listed = json.loads(bringup(site, "targets", "list", "--json").stdout)
    assert {"name": "loom", "profiles": [], "unavailable": None} in listed
    shown = json.loads(bringup(site, "targets", "show", "loom", "--json").stdout)
    assert shown["dialect"]["limits"] == {"programs": 16, "block": 1 << 20}
    assert "tl.device_assert" not in shown["dialect"]["tl_functions"]
    rules = json.loads(bringup(site, "lint", "--list-rules", "--target", "loom", "--json").stdout)
    assert rules["loom-loop"].startswith("a kernel that uses tl.program_id")
    operators = bringup(site, "ops", "list", "--suite", "fused").stdout
    assert "scale_shift" in operators
    prompt = bringup(site, "prompt", "scale_shift", "--suite", "fused", "--target", "loom")
    assert prompt.returncode == 0, prompt.stderr
    assert "A launch has at most 16 programs" in prompt.stdout
    assert "range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK)" in prompt.stdout  # the worked example


@pytest.mark.long
def test_a_kernel_is_judged_on_the_third_chip_by_the_third_suite(site: Path, tmp_path: Path) -> None:
    where = ("--suite", "fused", "--target", "loom")
    good = bringup(site, "test", "scale_shift", str(KERNEL), *where, "--json")
    assert good.returncode == 0, good.stdout + good.stderr
    verdict = json.loads(good.stdout)
    assert (verdict["kind"], verdict["cases_passed"], verdict["cases_total"]) == ("passed", 18, 18)
    wrong = tmp_path / "wrong.py"
    wrong.write_text(KERNEL.read_text().replace("a * b + c", "a * b - c"))
    bad = bringup(site, "test", "scale_shift", str(wrong), *where, "--json")
    assert (bad.returncode, json.loads(bad.stdout)["kind"]) == (1, "wrong")


@pytest.mark.long
def test_what_is_not_for_the_chip_is_refused(site: Path, tmp_path: Path) -> None:
    """By its lint rule, with the line; and by its device where the linter is off."""
    once = tmp_path / "once.py"
    loop = "    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):\n        i = start"
    text = KERNEL.read_text()
    assert loop in text
    text = text.replace(loop, "    if True:\n        i = tl.program_id(0) * BLOCK")
    once.write_text(text.replace("min(triton.cdiv(n, 256), 16)", "triton.cdiv(n, 16)").replace("BLOCK=256", "BLOCK=16"))
    where = ("--suite", "fused", "--target", "loom")
    linted = bringup(site, "test", "scale_shift", str(once), *where, "--json")
    assert linted.returncode == 1
    assert [v["rule"] for v in json.loads(linted.stdout)["violations"]] == ["loom-loop"]
    run = bringup(site, "test", "scale_shift", str(once), *where, "--no-lint", "--dtype", "float32", "--json")
    verdict = json.loads(run.stdout)
    assert verdict["kind"] == "raised", verdict
    assert "63 programs, loom has 16 cores" in verdict["summary"]


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("package", [pytest.param("bringup-loom", marks=pytest.mark.long), "bringup-fused"])
def test_their_own_tests_pass(site: Path, package: str) -> None:
    """With the conformance suites that we ship."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(ROOT / "examples" / package / "tests")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(site)},
        cwd=site,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
