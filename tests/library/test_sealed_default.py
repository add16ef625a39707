"""The seal is the default on `vpe`, and what `$BRINGUP_SEALED` says otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from library_kernels import ADD
from library_testkit import make_library

import bringup
from bringup.library import NotEnabled


@pytest.mark.parametrize(
    ("said", "sealed"), [(None, "sealed"), ("", "sealed"), ("1", "sealed"), ("0", ""), ("strict", "strict")]
)
def test_the_environment_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: Any, sealed: str) -> None:
    monkeypatch.delenv("BRINGUP_SEALED")
    if said is not None:
        monkeypatch.setenv("BRINGUP_SEALED", said)
    with bringup.enable(make_library(tmp_path / "kernels", {"add.out": ADD}), device="vpe:permissive") as enabled:
        found = "" if enabled.sealer is None else ("strict" if enabled.sealer.strict else "sealed")
    assert found == sealed


def test_what_is_asked_for_goes_before_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRINGUP_SEALED", "1")
    library = make_library(tmp_path / "kernels", {"add.out": ADD})
    with bringup.enable(library, device="vpe:permissive", sealed=False) as enabled:
        assert enabled.sealer is None


def test_another_word_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRINGUP_SEALED", "yes")
    with pytest.raises(NotEnabled, match=r"\$BRINGUP_SEALED is 'yes'; it is 1 .*, 0 .* or strict"):
        bringup.enable(make_library(tmp_path / "kernels", {"add.out": ADD}), device="vpe:permissive")
