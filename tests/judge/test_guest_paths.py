"""What of this process's path the judge's processes get: installed things, nothing of the program that runs here."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from bringup.judge._processes import PATHS, process_environment


def paths(scratch: Path) -> list[str]:
    scratch.mkdir()
    process_environment("run", str(scratch), None, {})
    return list(json.loads((scratch / PATHS).read_text()))


def test_the_folders_of_a_script_and_of_the_shell_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script, started, installed = tmp_path / "script", tmp_path / "started", tmp_path / "installed"
    for folder in (script, started, installed):
        folder.mkdir()
    main = ModuleType("__main__")
    main.__file__ = str(script / "train.py")
    monkeypatch.setitem(sys.modules, "__main__", main)
    monkeypatch.chdir(started)
    monkeypatch.setattr(sys, "path", [str(script), str(started), "", str(installed), *sys.path])
    found = paths(tmp_path / "one")
    assert str(installed) in found
    assert str(script) not in found
    assert str(started) not in found


def test_a_folder_that_holds_bringup_itself_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "src" / "bringup").mkdir(parents=True)
    (tmp_path / "src" / "bringup" / "__init__.py").touch()
    monkeypatch.chdir(tmp_path / "src")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "src"), *sys.path])
    assert str(tmp_path / "src") in paths(tmp_path / "one")


def test_a_folder_into_which_packages_are_installed_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "site" / "acme-1.0.dist-info").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "site")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site"), *sys.path])
    assert str(tmp_path / "site") in paths(tmp_path / "one")
