"""Cheats of the collection that would know use from a judgement end in use as they do in the judge."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from library_testkit import make_library

import bringup
from bringup.library.errors import KernelFailed

CHEATS = Path(__file__).parents[1] / "exploits" / "cheats"
OF_ABS = {path: path.read_text() for path in sorted(CHEATS.glob("*.py")) if "# operator: abs.out\n" in path.read_text()}
HARMLESS = [path for path, text in OF_ABS.items() if "# guard: harmless\n" in text]
STOPPED = [path for path, text in OF_ABS.items() if "# guard: raised\n" in text or "# guard: stream\n" in text]


def calls(tmp_path: Path, path: Path) -> list[str]:
    """What came of two calls: right, wrong, or what was raised."""
    library = make_library(tmp_path / "kernels", {"abs.out": OF_ABS[path]}, target="vpe:pe64")
    data, done = torch.randn(16, 16), []
    with bringup.enable(library, device="vpe:pe64", sealed=True):
        x = data.to("vpe")
        for out in (None, torch.ones(16, 16).to("vpe")):
            try:
                done.append("right" if torch.equal(torch.abs(x, out=out).cpu(), data.abs()) else "wrong")
            except (KernelFailed, RuntimeError) as error:
                done.append(f"raises {error}")
    return done


@pytest.mark.parametrize("path", HARMLESS, ids=lambda path: path.stem)
def test_what_is_harmless_is_right(tmp_path: Path, path: Path) -> None:
    assert calls(tmp_path, path) == ["right"] * 2


@pytest.mark.thinned
@pytest.mark.parametrize("path", STOPPED, ids=lambda path: path.stem)
def test_what_the_judge_stops_is_stopped(tmp_path: Path, path: Path) -> None:
    assert all(done.startswith("raises") for done in calls(tmp_path, path))


def test_there_are_some() -> None:
    assert len(HARMLESS) >= 2
    assert len(STOPPED) >= 5
